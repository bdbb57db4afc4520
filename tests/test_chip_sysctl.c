/* Macs: levels of cores, guests, Rosetta, old systems, Intel; from values of sysctl, put together from published facts. */
#include "test_chip.h"

#define KB UINT64_C(1024)

/* Level 0 is the fastest whatever it is called: on M5 Max the slow cores are "Performance". */
TEST(chip, levels_of_macos) {
    static const struct {
        const char *root;
        unsigned kind;
        const char *name;
        unsigned cores;
        uint64_t l1i, l1d, l2;
        unsigned l2_cores;
    } rows[] = {{"m2-max-macos", 0, "Performance", 8, 192, 128, 16384, 4},
                {"m2-max-macos", 1, "Efficiency", 4, 128, 64, 4096, 4},
                {"m2-macos", 0, "Performance", 4, 192, 128, 16384, 4},
                {"m2-macos", 1, "Efficiency", 4, 128, 64, 4096, 4},
                {"m2-pro-macos", 0, "Performance", 8, 192, 128, 16384, 4},
                {"m2-pro-macos", 1, "Efficiency", 4, 128, 64, 4096, 4},
                {"m2-ultra-macos", 0, "Performance", 16, 192, 128, 16384, 4},
                {"m2-ultra-macos", 1, "Efficiency", 8, 128, 64, 4096, 4},
                {"m3-macos", 0, "Performance", 4, 192, 128, 16384, 4},
                {"m3-macos", 1, "Efficiency", 4, 128, 64, 4096, 4},
                {"m3-pro-macos", 0, "Performance", 6, 192, 128, 16384, 6},
                {"m3-pro-macos", 1, "Efficiency", 6, 128, 64, 4096, 6},
                {"m3-ultra-macos", 0, "Performance", 24, 192, 128, 16384, 6},
                {"m3-ultra-macos", 1, "Efficiency", 8, 128, 64, 4096, 4},
                {"m4-macos", 0, "Performance", 4, 192, 128, 16384, 4},
                {"m4-macos", 1, "Efficiency", 6, 128, 64, 4096, 6},
                {"m5-max-macos", 0, "Super", 6, 192, 128, 16384, 6},
                {"m5-max-macos", 1, "Performance", 12, 128, 64, 8192, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[512];
        eg_chip chip;
        eg_error error = {0};
        CHECK_OK(eg_chip_detect(fixture(root, rows[i].root), NULL, NULL, &chip, &error), error);
        const eg_core_kind *kind = &chip.kinds[rows[i].kind];
        CHECK(chip.kind_count == 2 && strcmp(kind->name, rows[i].name) == 0, "%s %u: '%s'",
              rows[i].root, rows[i].kind, kind->name);
        CHECK(kind->cores == rows[i].cores && kind->threads == rows[i].cores &&
                  kind->l1i_bytes == rows[i].l1i * KB && kind->l1d_bytes == rows[i].l1d * KB &&
                  kind->l2_bytes == rows[i].l2 * KB && kind->l2_cores == rows[i].l2_cores,
              "%s %u: caches", rows[i].root, rows[i].kind);
        CHECK(chip.cache_line == 128 && chip.page_size == 16384 && chip.packages == 1 &&
                  chip.numa_nodes == 1 && chip.l3_bytes == 0,
              "%s: line %u page %u", rows[i].root, chip.cache_line, chip.page_size);
        CHECK(strcmp(chip.topology_source, "sysctl") == 0, "'%s'", chip.topology_source);
    }
}

/* Small machines that differ from a whole one in a single way. */
TEST(chip, macs_in_other_clothes) {
    static const char arm[] = "hw.optional.arm64: 1\nhw.memsize: 17179869184\n";
    static const char intel[] =
        "machdep.cpu.vendor: GenuineIntel\nmachdep.cpu.family: 6\nmachdep.cpu.model: 158\n"
        "machdep.cpu.stepping: 10\nmachdep.cpu.brand_string: Intel(R) Core(TM) i7-9750H CPU\n"
        "hw.physicalcpu: 6\nhw.logicalcpu: 12\nhw.l1icachesize: 32768\nhw.l1dcachesize: 32768\n"
        "hw.l2cachesize: 262144\nhw.l3cachesize: 12582912\nhw.optional.sse4_2: 1\n"
        "hw.optional.avx1_0: 1\nhw.optional.avx2_0: 1\nhw.cpufrequency_max: 2600000000\n"
        "hw.memsize: 17179869184\nhw.pagesize: 4096\n";
    static const struct {
        const char *what, *first, *second, *name, *arch, *hypervisor;
        unsigned features, cores;
        uint64_t l2;
        int in_table;
    } rows[] = {
        {"a guest", arm,
         "machdep.cpu.brand_string: Apple M1 (Virtual)\nkern.hv_vmm_present: 1\n"
         "hw.nperflevels: 1\nhw.perflevel0.physicalcpu: 4\n",
         "Apple M1", "aarch64", "apple", EG_CPU_NEON, 4, 0, 1},
        {"Rosetta", arm,
         "machdep.cpu.brand_string: VirtualApple @ 2.50GHz\nsysctl.proc_translated: 1\n"
         "hw.cpufamily: 1867590060\nhw.optional.arm.FEAT_SME: 1\nhw.optional.sse4_2: 1\n"
         "hw.physicalcpu: 10\n",
         "Apple M4", "x86_64", "", EG_CPU_SSE42, 10, 0, 1},
        {"macOS 11", arm,
         "machdep.cpu.brand_string: Apple M1\nhw.physicalcpu: 8\nhw.l2cachesize: 4194304\n"
         "hw.optional.armv8_2_fhm: 1\nhw.optional.neon_fp16: 1\n",
         "Apple M1", "aarch64", "", EG_CPU_NEON | EG_CPU_FP16 | EG_CPU_FHM | EG_CPU_APPLE_AMX, 8, 0,
         1},
        {"a chip to come", arm,
         "machdep.cpu.brand_string: Apple M9 Ultra\nhw.cpufamily: 123456\nhw.physicalcpu: 99\n",
         "Apple M9 Ultra", "aarch64", "", EG_CPU_NEON, 99, 0, 0},
        {"an Intel Mac", intel, "", "Intel(R) Core(TM) i7-9750H CPU", "x86_64", "",
         EG_CPU_SSE42 | EG_CPU_AVX | EG_CPU_AVX2, 6, 256 * KB, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        const char *root = test_folder();
        eg_chip chip;
        eg_error error = {0};
        snprintf(text, sizeof text, "%s%s", rows[i].first, rows[i].second);
        chip_file_write(root, "sysctl.txt", text, strlen(text));
        CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
        CHECK(strcmp(chip.name, rows[i].name) == 0, "%s: '%s'", rows[i].what, chip.name);
        CHECK(strcmp(chip.arch, rows[i].arch) == 0, "%s: '%s'", rows[i].what, chip.arch);
        CHECK(strcmp(chip.hypervisor, rows[i].hypervisor) == 0, "%s: '%s'", rows[i].what,
              chip.hypervisor);
        CHECK(chip.features == rows[i].features, "%s: features %x", rows[i].what, chip.features);
        CHECK(chip.cores == rows[i].cores, "%s: %u cores", rows[i].what, chip.cores);
        CHECK(chip.kinds[0].l2_bytes == rows[i].l2, "%s: L2", rows[i].what);
        CHECK(chip.in_table == rows[i].in_table, "%s: in_table", rows[i].what);
        chip_check_sane(&chip, rows[i].what);
    }
}
