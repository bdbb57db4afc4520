/* Helpers of the tests of src/chip: folders with a machine in them, and what holds for all. */
#include "test_chip.h"

#include <sys/stat.h>

void chip_file_write(const char *root, const char *path, const void *bytes, size_t size) {
    char full[700];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    CHECK(file, "cannot write %s", full);
    if (!file) return;
    CHECK(fwrite(bytes, 1, size, file) == size, "cannot write %s", full);
    fclose(file);
}

size_t chip_file_read(const char *root, const char *path, char *out, size_t size) {
    char full[700];
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *file = fopen(full, "rb");
    if (!file) return 0;
    size_t length = fread(out, 1, size, file);
    fclose(file);
    return length;
}

static bool is_clean(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > 126) return false;
    return length < size;
}

void chip_check_sane(const eg_chip *chip, const char *what) {
    unsigned cores = 0, threads = 0;
    CHECK(is_clean(chip->name, sizeof chip->name) && is_clean(chip->vendor, sizeof chip->vendor) &&
              is_clean(chip->model, sizeof chip->model) &&
              is_clean(chip->system, sizeof chip->system) &&
              is_clean(chip->arch, sizeof chip->arch) &&
              is_clean(chip->hypervisor, sizeof chip->hypervisor) &&
              is_clean(chip->topology_source, sizeof chip->topology_source),
          "%s: a text is not clean", what);
    CHECK(strlen(chip->fingerprint) == 16, "%s: fingerprint '%s'", what, chip->fingerprint);
    CHECK(chip->kind_count <= EG_CORE_KINDS_MAX, "%s: %u kinds", what, chip->kind_count);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        cores += kind->cores;
        threads += kind->threads;
        CHECK(kind->cores >= 1 && kind->cores <= kind->threads && kind->threads <= EG__CORES_LIMIT,
              "%s: kind %u has %u cores, %u threads", what, i, kind->cores, kind->threads);
        CHECK(kind->name[0] && is_clean(kind->name, sizeof kind->name), "%s: kind %u name", what,
              i);
        CHECK(kind->l1d_bytes <= EG__CACHE_LIMIT && kind->l1i_bytes <= EG__CACHE_LIMIT &&
                  kind->l2_bytes <= EG__CACHE_LIMIT,
              "%s: kind %u caches", what, i);
        CHECK(kind->max_mhz >= 0 && kind->max_mhz <= 100000, "%s: %g MHz", what, kind->max_mhz);
    }
    CHECK(chip->cores == cores && chip->threads == threads, "%s: sums", what);
    CHECK(chip->l3_bytes <= EG__CACHE_LIMIT && !chip->l3_count == !chip->l3_bytes, "%s: L3", what);
    CHECK(chip->cache_line <= EG__LINE_LIMIT && chip->page_size <= EG__PAGE_LIMIT, "%s: line",
          what);
    CHECK(chip->memory_bytes <= EG__MEMORY_LIMIT, "%s: memory", what);
    CHECK(!chip->memory_bytes || chip->memory_available <= chip->memory_bytes,
          "%s: more available than installed", what);
}

void chip_warn(void *user, eg_log_level level, const char *message) {
    chip_warnings *warnings = user;
    size_t at = strlen(warnings->text);
    warnings->count += level == EG_LOG_WARNING;
    snprintf(warnings->text + at, sizeof warnings->text - at, "%s\n", message);
}
