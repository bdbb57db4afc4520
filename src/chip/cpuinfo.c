/* /proc/cpuinfo: who the processor is and how many there are. */
#include "chip/detect.h"

#include <string.h>

typedef struct reading {
    const eg__log *log;
    eg_chip *chip;
    eg__cpuinfo *counts;
    bool has_features;
    uint64_t package;        /* of the block being read; EG__CORES_LIMIT = unknown so far */
    uint64_t seen[256 / 64]; /* packages whose cores are counted */
    uint32_t midr, block;    /* the fastest core so far, and the one being read */
} reading;

static uint32_t number(const reading *r, const char *what, const char *value, uint64_t high) {
    return (uint32_t)eg__plausible(r->log, what, value, 0, high);
}

/* Every processor of a package repeats how many cores the package has: count each package once. */
static void count_package(reading *r, const char *value) {
    unsigned cores = number(r, "number of cores", value, EG__CORES_LIMIT);
    if (r->package >= 256 || r->seen[r->package / 64] >> r->package % 64 & 1) return;
    r->seen[r->package / 64] |= UINT64_C(1) << r->package % 64;
    r->counts->packages++;
    if (r->counts->cores + cores <= EG__CORES_LIMIT) r->counts->cores += cores;
}

static bool read_count(reading *r, const char *key, const char *value) {
    if (strcmp(key, "processor") == 0) {
        if (r->counts->processors < EG__CORES_LIMIT) r->counts->processors++;
        r->package = EG__CORES_LIMIT;
        r->block = 0;
    } else if (strcmp(key, "physical id") == 0) {
        r->package = number(r, "package", value, EG__CORES_LIMIT);
    } else if (strcmp(key, "cpu cores") == 0) {
        count_package(r, value);
    } else return false;
    return true;
}

static bool read_x86(reading *r, const char *key, const char *value) {
    eg_chip *chip = r->chip;
    if (strcmp(key, "vendor_id") == 0) {
        char id[16];
        eg__text_clean(id, sizeof id, value, strlen(value));
        snprintf(chip->vendor, sizeof chip->vendor, "%s", eg__vendor_name(id));
    } else if (strcmp(key, "model name") == 0) {
        if (!chip->name[0]) eg__text_clean(chip->name, sizeof chip->name, value, strlen(value));
    } else if (strcmp(key, "cpu family") == 0) {
        chip->cpu_family = number(r, "processor family", value, 0xffff);
    } else if (strcmp(key, "model") == 0) {
        chip->cpu_model = number(r, "processor model", value, 0xffff);
    } else if (strcmp(key, "stepping") == 0) {
        chip->cpu_stepping = number(r, "processor stepping", value, 0xffff);
    } else return false;
    return true;
}

static void read_arm(reading *r, const char *key, const char *value) {
    static const struct {
        const char *key, *what;
        unsigned shift;
        uint64_t high;
    } rows[] = {{"CPU implementer", "implementer", 24, 255},
                {"CPU variant", "variant", 20, 15},
                {"CPU part", "part", 4, 0xfff},
                {"CPU revision", "revision", 0, 15}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(key, rows[i].key) == 0)
            r->block |= number(r, rows[i].what, value, rows[i].high) << rows[i].shift;
    if (strcmp(key, "CPU revision") == 0) /* the last line of a block */
        r->midr = r->midr ? eg__midr_bigger(r->midr, r->block) : r->block;
}

static void read_features(reading *r, const char *value, bool x86) {
    r->has_features = true;
    r->chip->features = eg__features_from_words(value);
    /* which hypervisor it is, cpuid knows and this file does not */
    if (x86 && strstr(value, " hypervisor"))
        snprintf(r->chip->hypervisor, sizeof r->chip->hypervisor, "unknown");
    if (!r->chip->arch[0])
        snprintf(r->chip->arch, sizeof r->chip->arch, x86 ? "x86_64" : "aarch64");
}

void eg__cpuinfo_read(eg__text *file, const eg__log *log, eg_chip *chip, eg__cpuinfo *counts) {
    reading r = {.log = log, .chip = chip, .counts = counts, .package = EG__CORES_LIMIT};
    char line[8192]; /* the flags of a new x86 take 2 KB */
    memset(counts, 0, sizeof *counts);
    while (eg__line_read(file, line, sizeof line)) {
        char *key, *value;
        if (!eg__line_split(line, &key, &value)) continue;
        if (read_count(&r, key, value)) continue;
        bool x86 = strcmp(key, "flags") == 0;
        if (x86 || strcmp(key, "Features") == 0) {
            if (!r.has_features) read_features(&r, value, x86);
        } else if (counts->processors > 1 || !read_x86(&r, key, value)) {
            read_arm(&r, key, value);
        }
    }
    if (r.midr) eg__midr_decode(r.midr, chip);
    if (!counts->processors)
        eg__log_write(log, EG_LOG_WARNING, "chip: no processor in cpuinfo, cores not told");
    if (!counts->cores || counts->cores > counts->processors) counts->cores = counts->processors;
}
