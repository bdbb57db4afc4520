/* Feeds arbitrary bytes to each reader of a machine: a sysctl dump, /proc/cpuinfo, the chip table.
 * Whatever they say, nothing crashes and no absurd number of cores comes out. Start it with
 * tests/fixtures/chip as the corpus. */
#include "fuzz.h"
#include "chip/detect.h"

#include <string.h>

static void check_kinds(const eg_chip *chip) {
    require(chip->kind_count <= EG_CORE_KINDS_MAX);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        require(kind->cores >= 1 && kind->cores <= kind->threads);
        require(kind->threads <= EG__CORES_LIMIT && kind->l2_bytes <= EG__CACHE_LIMIT);
    }
}

static void feed_sysctl(eg__text *file) {
    eg__sysctl_facts facts;
    eg_chip chip = {0};
    eg__sysctl_dump_read(file, &facts);
    eg__sysctl_decode(&facts, NULL, &chip);
    check_kinds(&chip);
    require(chip.memory_bytes <= EG__MEMORY_LIMIT);
}

static void feed_cpuinfo(eg__text *file) {
    eg__cpuinfo counts;
    eg_chip chip = {0};
    eg__cpuinfo_read(file, NULL, &chip, &counts);
    require(counts.cores <= counts.processors && counts.processors <= EG__CORES_LIMIT);
}

static void feed_table(const uint8_t *bytes, size_t length) {
    eg_chip_row row;
    eg_error error = {0};
    for (size_t i = 0; i < 4; i++) {
        eg_status status = eg__chip_row_parse((const char *)bytes, length, i, &row, &error);
        require(!status == !error.message[0]);
        if (status) return;
        require(strnlen(row.notes, sizeof row.notes) < sizeof row.notes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static void (*const readers[])(eg__text *) = {feed_sysctl, feed_cpuinfo};
    for (size_t i = 0; length && i < sizeof readers / sizeof *readers; i++) {
        eg__text text = eg__text_of_bytes(bytes, length);
        readers[i](&text);
    }
    feed_table(bytes, length);
    return 0;
}
