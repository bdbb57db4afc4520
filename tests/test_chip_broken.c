/* Recordings that are broken, absurd or not there: a warning or a status, and nothing wrong told. */
#include "test_chip.h"

#define KB UINT64_C(1024)

TEST(chip, broken_machines) {
    static const struct {
        const char *root;
        unsigned cores;
        uint64_t memory;
        const char *warnings[8];
    } rows[] = {
        {"broken-sysctl",
         4,
         0,
         {"'0' is no plausible hw.memsize", "memory size is not told", "'banana'",
          "'0' is no plausible hw.perflevel0.physicalcpu", "'1000000000'",
          "'9223372036854775808' is no plausible hw.perflevel1.l2cachesize", "'-65536'",
          "'18446744073709551616'"}},
        {"broken-cpuinfo",
         0,
         0,
         {"no processor in cpuinfo", "'0' is no plausible memory size", "memory size is not told",
          "'99999999999999999999' is no plausible available memory"}},
        {"broken-nomem", 1, 0, {"memory size is not told"}},
        {"broken-xml", 4, 8256320 * KB, {NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[512];
        eg_chip chip;
        eg_error error = {0};
        chip_warnings warnings = {0};
        CHECK_OK(eg_chip_detect(fixture(root, rows[i].root), chip_warn, &warnings, &chip, &error),
                 error);
        CHECK(chip.cores == rows[i].cores, "%s: %u cores", rows[i].root, chip.cores);
        CHECK(chip.memory_bytes == rows[i].memory, "%s: memory", rows[i].root);
        for (size_t k = 0; k < 8 && rows[i].warnings[k]; k++)
            CHECK(strstr(warnings.text, rows[i].warnings[k]), "%s: no '%s' in:\n%s", rows[i].root,
                  rows[i].warnings[k], warnings.text);
        chip_check_sane(&chip, rows[i].root);
    }
}

TEST(chip, no_machine_at_all) {
    char root[512];
    eg_chip chip;
    eg_error error = {0};
    CHECK_FAILS(eg_chip_detect(fixture(root, "broken-empty"), NULL, NULL, &chip, &error), error,
                EG_ERR_NOT_FOUND, "broken-empty'");
    CHECK(chip.cores == 0 && chip.name[0] == 0, "something was filled in");
    CHECK_FAILS(eg_chip_detect(test_folder(), NULL, NULL, &chip, &error), error, EG_ERR_NOT_FOUND,
                "no machine");
    CHECK_FAILS(eg_chip_detect("/no/such/folder", NULL, NULL, &chip, &error), error,
                EG_ERR_NOT_FOUND, "'/no/such/folder'");
    CHECK_FAILS(eg_chip_detect(NULL, NULL, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK(eg__memory_available("/no/such/folder") == 0, "memory of nothing");
    char longest[3000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK_FAILS(eg_chip_detect(longest, NULL, NULL, &chip, &error), error, EG_ERR_NOT_FOUND, "xxx");
}
