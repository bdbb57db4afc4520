/* A macOS machine from the values of sysctl; plain data, so that it is tested everywhere. */
#include "chip/detect.h"

#include <string.h>

#define LEVEL(n)                                                                                 \
    {"hw.perflevel" #n ".name", true}, {"hw.perflevel" #n ".physicalcpu", false},                \
        {"hw.perflevel" #n ".logicalcpu", false}, {"hw.perflevel" #n ".l1icachesize", false},    \
        {"hw.perflevel" #n ".l1dcachesize", false}, {"hw.perflevel" #n ".l2cachesize", false}, { \
        "hw.perflevel" #n ".cpusperl2", false                                                    \
    }

const eg__sysctl_key eg__sysctl_keys[EG__SYSCTL_KEYS] = {
    LEVEL(0),
    LEVEL(1),
    LEVEL(2),
    LEVEL(3),
    {"hw.nperflevels", false},
    {"machdep.cpu.brand_string", true},
    {"machdep.cpu.vendor", true},
    {"machdep.cpu.family", false},
    {"machdep.cpu.model", false},
    {"machdep.cpu.stepping", false},
    {"hw.model", true},
    {"hw.cpufamily", false},
    {"hw.cpusubfamily", false},
    {"hw.optional.arm64", false},
    {"sysctl.proc_translated", false},
    {"kern.osproductversion", true},
    {"kern.osrelease", true},
    {"kern.hv_vmm_present", false},
    {"hw.physicalcpu", false},
    {"hw.logicalcpu", false},
    {"hw.packages", false},
    {"hw.l1icachesize", false},
    {"hw.l1dcachesize", false},
    {"hw.l2cachesize", false},
    {"hw.l3cachesize", false},
    {"hw.cachelinesize", false},
    {"hw.pagesize", false},
    {"hw.memsize", false},
    {"hw.cpufrequency_max", false},
    {"vm.page_free_count", false},
    {"vm.page_purgeable_count", false},
    {"vm.page_pageable_external_count", false},
    {"hw.optional.arm.FEAT_FP16", false},
    {"hw.optional.neon_fp16", false},
    {"hw.optional.arm.FEAT_DotProd", false},
    {"hw.optional.arm.FEAT_I8MM", false},
    {"hw.optional.arm.FEAT_BF16", false},
    {"hw.optional.arm.FEAT_FHM", false},
    {"hw.optional.armv8_2_fhm", false},
    {"hw.optional.arm.FEAT_SME", false},
    {"hw.optional.arm.FEAT_SME2", false},
    {"hw.optional.sse4_2", false},
    {"hw.optional.avx1_0", false},
    {"hw.optional.avx2_0", false},
    {"hw.optional.fma", false},
    {"hw.optional.f16c", false},
    {NULL, false},
};

static const char *fact(const eg__sysctl_facts *facts, const char *key) {
    for (size_t i = 0; eg__sysctl_keys[i].name; i++)
        if (strcmp(eg__sysctl_keys[i].name, key) == 0) return facts->values[i];
    return "";
}

static uint64_t number(const eg__sysctl_facts *facts, const eg__log *log, const char *key,
                       uint64_t low, uint64_t high) {
    return eg__plausible(log, key, fact(facts, key), low, high);
}

static bool is_on(const eg__sysctl_facts *facts, const char *key) {
    return strcmp(fact(facts, key), "1") == 0;
}

static unsigned features_read(const eg__sysctl_facts *facts, bool arm) {
    static const struct {
        const char *key;
        bool arm;
        unsigned feature;
    } rows[] = {
        {"hw.optional.arm.FEAT_FP16", true, EG_CPU_FP16},
        {"hw.optional.neon_fp16", true, EG_CPU_FP16}, /* as macOS 11 called it */
        {"hw.optional.arm.FEAT_DotProd", true, EG_CPU_DOTPROD},
        {"hw.optional.arm.FEAT_I8MM", true, EG_CPU_I8MM},
        {"hw.optional.arm.FEAT_BF16", true, EG_CPU_BF16},
        {"hw.optional.arm.FEAT_FHM", true, EG_CPU_FHM},
        {"hw.optional.armv8_2_fhm", true, EG_CPU_FHM},
        {"hw.optional.arm.FEAT_SME", true, EG_CPU_SME},
        {"hw.optional.arm.FEAT_SME2", true, EG_CPU_SME2},
        {"hw.optional.sse4_2", false, EG_CPU_SSE42},
        {"hw.optional.avx1_0", false, EG_CPU_AVX},
        {"hw.optional.avx2_0", false, EG_CPU_AVX2},
        {"hw.optional.fma", false, EG_CPU_FMA},
        {"hw.optional.f16c", false, EG_CPU_F16C},
    };
    unsigned features = arm ? EG_CPU_NEON : 0; /* part of arm64 */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].arm == arm && is_on(facts, rows[i].key)) features |= rows[i].feature;
    return features;
}

/* sysctl prints the 32 bits of a cpufamily as a signed number. */
static uint32_t family_number(const char *text) {
    int64_t value;
    if (eg_integer_parse(text, strlen(text), INT32_MIN, UINT32_MAX, &value, NULL)) return 0;
    return (uint32_t)value;
}

static void identity_read(const eg__sysctl_facts *facts, const eg__log *log, bool apple,
                          eg_chip *chip) {
    const char *brand = fact(facts, "machdep.cpu.brand_string"), *guest = strstr(brand, " (V");
    size_t length = guest ? (size_t)(guest - brand) : strlen(brand); /* "Apple M1 (Virtual)" */
    eg__text_clean(chip->name, sizeof chip->name, brand, length);
    if (is_on(facts, "kern.hv_vmm_present"))
        snprintf(chip->hypervisor, sizeof chip->hypervisor, "apple");
    if (!apple) {
        snprintf(chip->vendor, sizeof chip->vendor, "%.31s",
                 eg__vendor_name(fact(facts, "machdep.cpu.vendor")));
        chip->cpu_family = (uint32_t)number(facts, log, "machdep.cpu.family", 0, 0xffff);
        chip->cpu_model = (uint32_t)number(facts, log, "machdep.cpu.model", 0, 0xffff);
        chip->cpu_stepping = (uint32_t)number(facts, log, "machdep.cpu.stepping", 0, 0xffff);
        return;
    }
    snprintf(chip->vendor, sizeof chip->vendor, "Apple");
    chip->cpu_family = family_number(fact(facts, "hw.cpufamily"));
    chip->cpu_model = (uint32_t)number(facts, log, "hw.cpusubfamily", 0, 0xffff);
    chip->in_table = eg_chip_table_find(chip->name, &chip->row, NULL) == EG_OK ||
                     eg__chip_table_find_only(0, chip->cpu_family, &chip->row);
    if (chip->in_table) snprintf(chip->name, sizeof chip->name, "Apple %s", chip->row.name);
}

/* Level 0 is the fastest whatever its name; names have changed meaning between chips. A level
 * without plausible cores is left out. */
static void level_read(const eg__sysctl_facts *facts, const eg__log *log, unsigned level,
                       eg_chip *chip) {
    enum { CORES, THREADS, L1I, L1D, L2, L2_CORES, COUNT };
    static const struct {
        const char *name;
        uint64_t high;
    } rows[COUNT] = {{"physicalcpu", EG__CORES_LIMIT},  {"logicalcpu", EG__CORES_LIMIT},
                     {"l1icachesize", EG__CACHE_LIMIT}, {"l1dcachesize", EG__CACHE_LIMIT},
                     {"l2cachesize", EG__CACHE_LIMIT},  {"cpusperl2", EG__CORES_LIMIT}};
    uint64_t values[COUNT];
    char key[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "hw.perflevel%u.%s", level, rows[i].name);
        values[i] = number(facts, log, key, 1, rows[i].high);
    }
    if (!values[CORES]) {
        eg__log_write(log, EG_LOG_WARNING, "chip: cores of level %u are not told", level);
        return;
    }
    eg_core_kind *kind = &chip->kinds[chip->kind_count++];
    snprintf(key, sizeof key, "hw.perflevel%u.name", level);
    eg__text_clean(kind->name, sizeof kind->name, fact(facts, key), strlen(fact(facts, key)));
    kind->cores = (unsigned)values[CORES];
    kind->threads = (unsigned)(values[THREADS] > values[CORES] ? values[THREADS] : values[CORES]);
    kind->l1i_bytes = values[L1I];
    kind->l1d_bytes = values[L1D];
    kind->l2_bytes = values[L2]; /* of one cluster */
    kind->l2_cores = kind->l2_bytes ? (unsigned)values[L2_CORES] : 0;
}

/* Without levels: an Intel Mac, or macOS 11. On Apple's chips the plain keys describe the slow
 * cores, so that only the number of cores is taken there. */
static void plain_read(const eg__sysctl_facts *facts, const eg__log *log, bool apple,
                       eg_chip *chip) {
    eg_core_kind *kind = &chip->kinds[0];
    kind->cores = (unsigned)number(facts, log, "hw.physicalcpu", 1, EG__CORES_LIMIT);
    kind->threads = (unsigned)number(facts, log, "hw.logicalcpu", 1, EG__CORES_LIMIT);
    if (kind->threads < kind->cores) kind->threads = kind->cores;
    if (!kind->cores) kind->cores = kind->threads;
    if (!kind->cores) {
        eg__log_write(log, EG_LOG_WARNING, "chip: cores are not told");
        return;
    }
    chip->kind_count = 1;
    if (apple) return;
    kind->l1i_bytes = number(facts, log, "hw.l1icachesize", 1, EG__CACHE_LIMIT);
    kind->l1d_bytes = number(facts, log, "hw.l1dcachesize", 1, EG__CACHE_LIMIT);
    kind->l2_bytes = number(facts, log, "hw.l2cachesize", 1, EG__CACHE_LIMIT);
    kind->l2_cores = kind->l2_bytes ? 1 : 0;
    kind->max_mhz = (double)number(facts, log, "hw.cpufrequency_max", 1000000, 100000000000) / 1e6;
    chip->l3_bytes = number(facts, log, "hw.l3cachesize", 1, EG__CACHE_LIMIT);
    chip->l3_count = chip->l3_bytes ? 1 : 0;
}

/* Pages that are free, of files, or that their owner gave up: what can be had without swapping. */
uint64_t eg__sysctl_memory_available(const eg__sysctl_facts *facts) {
    static const char *const counts[] = {"vm.page_free_count", "vm.page_purgeable_count",
                                         "vm.page_pageable_external_count"};
    uint64_t page = number(facts, NULL, "hw.pagesize", 512, EG__PAGE_LIMIT), bytes = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        bytes += page * number(facts, NULL, counts[i], 0, UINT32_MAX);
    return bytes;
}

static void memory_read(const eg__sysctl_facts *facts, const eg__log *log, eg_chip *chip) {
    chip->memory_bytes = number(facts, log, "hw.memsize", EG__MEMORY_LEAST, EG__MEMORY_LIMIT);
    if (!chip->memory_bytes) eg__log_write(log, EG_LOG_WARNING, "chip: memory size is not told");
    chip->memory_available = eg__sysctl_memory_available(facts);
    if (chip->memory_bytes && chip->memory_available > chip->memory_bytes) {
        eg__log_write(log, EG_LOG_WARNING,
                      "chip: more memory available than installed, taken as not told");
        chip->memory_available = 0;
    }
    chip->page_size = (unsigned)number(facts, log, "hw.pagesize", 512, EG__PAGE_LIMIT);
    chip->cache_line = (unsigned)number(facts, log, "hw.cachelinesize", 8, EG__LINE_LIMIT);
}

static void system_read(const eg__sysctl_facts *facts, bool arm, eg_chip *chip) {
    const char *product = fact(facts, "kern.osproductversion");
    const char *release = fact(facts, "kern.osrelease"), *model = fact(facts, "hw.model");
    if (product[0]) snprintf(chip->system, sizeof chip->system, "macOS %.48s", product);
    else if (release[0]) snprintf(chip->system, sizeof chip->system, "Darwin %.48s", release);
    snprintf(chip->arch, sizeof chip->arch, arm ? "aarch64" : "x86_64");
    eg__text_clean(chip->model, sizeof chip->model, model, strlen(model));
}

void eg__sysctl_decode(const eg__sysctl_facts *facts, const eg__log *log, eg_chip *chip) {
    bool apple = is_on(facts, "hw.optional.arm64");
    bool arm = apple && !is_on(facts, "sysctl.proc_translated"); /* not Rosetta */
    system_read(facts, arm, chip);
    identity_read(facts, log, apple, chip);
    memory_read(facts, log, chip);
    chip->features = features_read(facts, arm);
    /* nothing tells whether a guest may use Apple's undocumented instructions */
    if (arm && chip->in_table && !chip->hypervisor[0] && strcmp(chip->row.matrix_unit, "AMX") == 0)
        chip->features |= EG_CPU_APPLE_AMX;
    unsigned levels = (unsigned)number(facts, log, "hw.nperflevels", 1, EG_CORE_KINDS_MAX);
    for (unsigned level = 0; level < levels; level++) level_read(facts, log, level, chip);
    if (!levels) plain_read(facts, log, apple, chip);
    chip->packages = (unsigned)number(facts, log, "hw.packages", 1, EG__CORES_LIMIT);
    chip->numa_nodes = 1;
    snprintf(chip->topology_source, sizeof chip->topology_source, "sysctl");
}
