/* Recorded machines: what is told about each, and that broken ones tell nothing wrong. */
#include "test_chip.h"

AREA(chip, "recorded machines, broken ones, this one; features need processor and system")

#define GB (UINT64_C(1) << 30)
#define KB UINT64_C(1024)

TEST(chip, recorded_machines) {
    const unsigned arm82 = EG_CPU_NEON | EG_CPU_FP16 | EG_CPU_DOTPROD;
    const unsigned m2 = arm82 | EG_CPU_FHM | EG_CPU_I8MM | EG_CPU_BF16;
    const unsigned avx2 = EG_CPU_SSE42 | EG_CPU_AVX | EG_CPU_AVX2 | EG_CPU_FMA | EG_CPU_F16C;
    const struct {
        const char *root, *name, *vendor, *model, *system, *arch, *hypervisor, *row;
        uint32_t family, number, stepping;
        unsigned features, cores, threads;
        uint64_t memory, available, slc;
    } rows[] = {
        {"m1-asahi", "Apple M1", "Apple", "Apple MacBook Pro (13-inch, M1, 2020)",
         "Linux 6.6.3-414.asahi.fc39.aarch64+16k", "aarch64", "", "M1", 0x61, 0x23, 0x11,
         arm82 | EG_CPU_FHM, 8, 8, 7913920 * KB, 6011392 * KB, 8192 * KB},
        {"m2-max-macos", "Apple M2 Max", "Apple", "Mac14,6", "macOS 14.5", "aarch64", "", "M2 Max",
         0xda33d83d, 5, 0, m2 | EG_CPU_APPLE_AMX, 12, 12, 32 * GB,
         (401232 + 512004 + 30125) * 16 * KB, 49152 * KB},
        {"m2-macos", "Apple M2", "Apple", "Mac14,2", "macOS 14.5", "aarch64", "", "M2", 0xda33d83d,
         2, 0, m2 | EG_CPU_APPLE_AMX, 8, 8, 8 * GB, (65536 + 87381 + 8192) * 16 * KB, 8192 * KB},
        {"m2-pro-macos", "Apple M2 Pro", "Apple", "Mac14,12", "macOS 14.5", "aarch64", "", "M2 Pro",
         0xda33d83d, 4, 0, m2 | EG_CPU_APPLE_AMX, 12, 12, 16 * GB,
         (131072 + 174762 + 16384) * 16 * KB, 24576 * KB},
        {"m2-ultra-macos", "Apple M2 Ultra", "Apple", "Mac14,14", "macOS 14.5", "aarch64", "",
         "M2 Ultra", 0xda33d83d, 5, 0, m2 | EG_CPU_APPLE_AMX, 24, 24, 64 * GB,
         (524288 + 699050 + 65536) * 16 * KB, 98304 * KB},
        {"m3-macos", "Apple M3", "Apple", "Mac15,12", "macOS 14.5", "aarch64", "", "M3", 0xfa33415e,
         2, 0, m2 | EG_CPU_APPLE_AMX, 8, 8, 16 * GB, (131072 + 174762 + 16384) * 16 * KB,
         8192 * KB},
        {"m3-pro-macos", "Apple M3 Pro", "Apple", "Mac15,6", "macOS 14.5", "aarch64", "", "M3 Pro",
         0x5f4dea93, 4, 0, m2 | EG_CPU_APPLE_AMX, 12, 12, 18 * GB,
         (147456 + 196608 + 18432) * 16 * KB, 12288 * KB},
        {"m3-ultra-macos", "Apple M3 Ultra", "Apple", "Mac15,14", "macOS 15.4", "aarch64", "",
         "M3 Ultra", 0x72015832, 5, 0, m2 | EG_CPU_APPLE_AMX, 32, 32, 96 * GB,
         (786432 + 1048576 + 98304) * 16 * KB, 98304 * KB},
        {"m4-macos", "Apple M4", "Apple", "Mac16,10", "macOS 15.3", "aarch64", "", "M4", 0x6f5129ac,
         2, 0, m2 | EG_CPU_SME | EG_CPU_SME2, 10, 10, 16 * GB, (120034 + 211870 + 10233) * 16 * KB,
         8192 * KB},
        {"m5-max-macos", "Apple M5 Max", "Apple", "Mac17,7", "macOS 26.3", "aarch64", "", "M5 Max",
         0xf76c5b1a, 5, 0, m2 | EG_CPU_SME | EG_CPU_SME2, 18, 18, 128 * GB,
         (2204118 + 1501177 + 8841) * 16 * KB, 0},
        {"pi5", "Cortex-A76", "ARM", "Raspberry Pi 5 Model B Rev 1.0", "Linux 6.6.51+rpt-rpi-2712",
         "aarch64", "", NULL, 0x41, 0xd0b, 0x41, arm82, 4, 4, 8256320 * KB, 7004288 * KB, 0},
        {"server-2s", "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", "Intel", "PowerEdge R640",
         "Linux 6.1.0-18-amd64", "x86_64", "", NULL, 6, 85, 4, avx2 | EG_CPU_AVX512, 8, 16,
         197569888 * KB, 190217216 * KB, 0},
        {"hybrid", "12th Gen Intel(R) Core(TM) i3-1215U", "Intel", "", "Linux 6.8.0-41-generic",
         "x86_64", "", NULL, 6, 154, 4, avx2 | EG_CPU_AVX_VNNI, 6, 8, 16053844 * KB, 12582912 * KB,
         0},
        /* the container's limit is below the machine's memory; idle file pages do not count */
        {"vm", "AMD EPYC 7B12", "AMD", "Google Compute Engine", "Linux 5.10.0-28-cloud-amd64",
         "x86_64", "unknown", NULL, 23, 49, 0, avx2, 1, 2, 512 * 1024 * KB,
         (512 - 200 + 60) * 1024 * KB, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[512];
        eg_chip chip;
        eg_error error = {0};
        chip_warnings warnings = {0};
        CHECK_OK(eg_chip_detect(fixture(root, rows[i].root), chip_warn, &warnings, &chip, &error),
                 error);
#define CHECK_TEXT(field, expected) \
    CHECK(strcmp(chip.field, expected) == 0, "%s: " #field " '%s'", rows[i].root, chip.field)
        CHECK_TEXT(name, rows[i].name);
        CHECK_TEXT(vendor, rows[i].vendor);
        CHECK_TEXT(model, rows[i].model);
        CHECK_TEXT(system, rows[i].system);
        CHECK_TEXT(arch, rows[i].arch);
        CHECK_TEXT(hypervisor, rows[i].hypervisor);
        CHECK(chip.in_table == (rows[i].row != NULL), "%s: in_table", rows[i].root);
        CHECK_TEXT(row.name, rows[i].row ? rows[i].row : "");
        CHECK(chip.cpu_family == rows[i].family && chip.cpu_model == rows[i].number &&
                  chip.cpu_stepping == rows[i].stepping,
              "%s: %x/%x/%x", rows[i].root, chip.cpu_family, chip.cpu_model, chip.cpu_stepping);
        CHECK(chip.features == rows[i].features, "%s: features %x", rows[i].root, chip.features);
        CHECK(chip.cores == rows[i].cores && chip.threads == rows[i].threads,
              "%s: %u cores, %u threads", rows[i].root, chip.cores, chip.threads);
        CHECK(chip.memory_bytes == rows[i].memory, "%s: memory %llu", rows[i].root,
              (unsigned long long)chip.memory_bytes);
        CHECK(chip.memory_available == rows[i].available, "%s: available %llu", rows[i].root,
              (unsigned long long)chip.memory_available);
        CHECK(eg__memory_available(root) == rows[i].available, "%s: available", rows[i].root);
        CHECK(chip.slc_bytes == rows[i].slc, "%s: SLC", rows[i].root);
        CHECK(warnings.count == 0, "%s: %s", rows[i].root, warnings.text);
        chip_check_sane(&chip, rows[i].root);
    }
}

/* In a container on Asahi Linux the device tree is hidden; the cores still say which chip it is. */
TEST(chip, chip_without_device_tree) {
    static const struct {
        const char *part;
        const char *name; /* "" = ambiguous or hidden */
    } rows[] = {{"0x023", "Apple M1"}, {"0x029", ""}, {"0x000", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        const char *root = test_folder();
        eg_chip chip;
        eg_error error = {0};
        snprintf(text, sizeof text,
                 "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x61\n"
                 "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: %s\nCPU revision\t: 1\n",
                 rows[i].part);
        chip_file_write(root, "proc/cpuinfo", text, strlen(text));
        CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
        CHECK(strcmp(chip.name, rows[i].name) == 0 && chip.in_table == (rows[i].name[0] != 0),
              "part %s is '%s'", rows[i].part, chip.name);
        CHECK(strcmp(chip.vendor, "Apple") == 0, "part %s: '%s'", rows[i].part, chip.vendor);
        CHECK(!(chip.features & EG_CPU_APPLE_AMX), "Linux does not save AMX registers");
    }
}

TEST(chip, counts_from_cpuinfo) {
    char source[512];
    static char text[20000];
    const char *root = test_folder();
    size_t size = chip_file_read(fixture(source, "server-2s"), "proc/cpuinfo", text, sizeof text);
    chip_file_write(root, "proc/cpuinfo", text, size);
    eg_chip chip;
    eg_error error = {0};
    CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
    CHECK(chip.cores == 8 && chip.threads == 16 && chip.packages == 2,
          "%u cores, %u threads, %u packages", chip.cores, chip.threads, chip.packages);
}

TEST(chip, caches_from_files) {
    static const struct {
        const char *path, *text;
    } files[] = {
        {"proc/cpuinfo", "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n"},
        {"index0/level", "1\n"},
        {"index0/type", "Data\n"},
        {"index0/size", "48K\n"},
        {"index0/coherency_line_size", "64\n"},
        {"index1/level", "1\n"},
        {"index1/type", "Instruction\n"},
        {"index1/size", "64K\n"},
        {"index2/level", "2\n"},
        {"index2/type", "Unified\n"},
        {"index2/size", "2M\n"},
        {"index2/shared_cpu_list", "0-1\n"},
        {"index3/level", "3\n"},
        {"index3/type", "Unified\n"},
        {"index3/size", "8192K\n"},
        {"index3/shared_cpu_list", "0,1-2,3\n"}};
    const char *root = test_folder();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s%s", i ? "sys/devices/system/cpu/cpu0/cache/" : "",
                 files[i].path);
        chip_file_write(root, path, files[i].text, strlen(files[i].text));
    }
    chip_file_write(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "1800000\n", 8);
    chip_file_write(root, "proc/device-tree/hypervisor/compatible", "xen,xen-4.17\0xen,xen", 21);
    eg_chip chip;
    eg_error error = {0};
    CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
    const eg_core_kind *kind = &chip.kinds[0];
    CHECK(chip.cores == 4 && strcmp(kind->name, "Core") == 0, "%u cores", chip.cores);
    CHECK(kind->l1d_bytes == 48 * KB && kind->l1i_bytes == 64 * KB && kind->l2_bytes == 2048 * KB &&
              kind->l2_cores == 2,
          "L1 %llu L2 %llu of %u", (unsigned long long)kind->l1d_bytes,
          (unsigned long long)kind->l2_bytes, kind->l2_cores);
    CHECK(chip.l3_bytes == 8192 * KB && chip.l3_count == 1 && chip.cache_line == 64, "L3");
    CHECK(strcmp(chip.topology_source, "cpuinfo") == 0, "'%s'", chip.topology_source);
    CHECK(kind->max_mhz == 1800 && strcmp(chip.hypervisor, "xen") == 0, "%g MHz, '%s'",
          kind->max_mhz, chip.hypervisor);
}

TEST(chip, memory_limits) {
    enum { FILES = 6 };
    static const struct {
        const char *what;
        const char *files[FILES][2];
        uint64_t total, available; /* MB */
    } rows[] = {
        {"no limit", {{"sys/fs/cgroup/memory.max", "max"}}, 1000, 500},
        {"a limit", {{"sys/fs/cgroup/memory.max", "209715200"}}, 200, 200},
        {"used up",
         {{"sys/fs/cgroup/memory.max", "209715200"}, {"sys/fs/cgroup/memory.current", "314572800"}},
         200,
         0},
        {"a limit above the memory",
         {{"sys/fs/cgroup/memory.max", "9223372036854771712"}},
         1000,
         500},
        {"a limit that leaves more than is there",
         {{"sys/fs/cgroup/memory.max", "943718400"}, {"sys/fs/cgroup/memory.current", "0"}},
         900,
         500},
        {"a group below the top",
         {{"proc/self/cgroup", "0::/a/b"},
          {"sys/fs/cgroup/a/b/memory.max", "max"},
          {"sys/fs/cgroup/a/memory.max", "314572800"},
          {"sys/fs/cgroup/a/memory.current", "104857600"},
          {"sys/fs/cgroup/c/memory.max", "1048576"}},
         300,
         200},
        {"version 1",
         {{"proc/self/cgroup", "9:name=systemd:/\n4:cpuset,memory:/x\n0::/"},
          {"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "314572800"},
          {"sys/fs/cgroup/memory/x/memory.usage_in_bytes", "209715200"},
          {"sys/fs/cgroup/memory/x/memory.stat", "inactive_file 9\ntotal_inactive_file 52428800"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"}},
         300,
         150},
        {"version 1, mounted in a container",
         {{"proc/self/cgroup", "4:memory:/docker/0123"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "314572800"},
          {"sys/fs/cgroup/memory/memory.usage_in_bytes", "209715200"}},
         300,
         100},
        {"nonsense",
         {{"proc/self/cgroup", "::::\n0::/../../etc\n:"},
          {"sys/fs/cgroup/memory.max", "-1"},
          {"sys/fs/cgroup/memory.current", "many"}},
         1000,
         500},
    };
    static const char meminfo[] = "MemTotal: 1024000 kB\nMemAvailable: 512000 kB\n";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *root = test_folder();
        chip_file_write(root, "proc/meminfo", meminfo, strlen(meminfo));
        for (int k = 0; k < FILES && rows[i].files[k][0]; k++)
            chip_file_write(root, rows[i].files[k][0], rows[i].files[k][1],
                            strlen(rows[i].files[k][1]));
        eg_chip chip;
        eg_error error = {0};
        CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
        CHECK(chip.memory_bytes >> 20 == rows[i].total, "%s: %llu bytes", rows[i].what,
              (unsigned long long)chip.memory_bytes);
        CHECK(chip.memory_available >> 20 == rows[i].available && chip.memory_available,
              "%s: %llu available", rows[i].what, (unsigned long long)chip.memory_available);
    }
}

/* Everything that makes a machine another one changes the fingerprint, and nothing else does. */
TEST(chip, fingerprints) {
    char root[512];
    eg_chip chip, again;
    eg_error error = {0};
    CHECK_OK(eg_chip_detect(fixture(root, "m2-max-macos"), NULL, NULL, &chip, &error), error);
    CHECK_OK(eg_chip_detect(root, NULL, NULL, &again, &error), error);
    CHECK(strcmp(chip.fingerprint, again.fingerprint) == 0, "two runs differ");
    char seen[32][24];
    size_t count = 0;
    strcpy(seen[count++], chip.fingerprint);
#define CHANGED(change)                                                                    \
    do {                                                                                   \
        again = chip;                                                                      \
        again.change;                                                                      \
        eg__chip_fingerprint(&again);                                                      \
        for (size_t k = 0; k < count; k++)                                                 \
            CHECK(strcmp(seen[k], again.fingerprint) != 0, "%s changes nothing", #change); \
        strcpy(seen[count++], again.fingerprint);                                          \
    } while (0)
    CHANGED(vendor[0] = 'X');
    CHANGED(name[0] = 'X');
    CHANGED(arch[0] = 'X');
    CHANGED(cpu_family += 1);
    CHANGED(cpu_model += 1);
    CHANGED(cpu_stepping += 1);
    CHANGED(kind_count = 3);
    CHANGED(kinds[0].cores += 1);
    CHANGED(kinds[0].threads += 1);
    CHANGED(kinds[0].l1i_bytes += 64);
    CHANGED(kinds[0].l1d_bytes += 64);
    CHANGED(kinds[0].l2_bytes += 64);
    CHANGED(kinds[0].l2_cores += 1);
    CHANGED(kinds[0].name[0] = 'X');
    CHANGED(l3_bytes += 64);
    CHANGED(l3_count += 1);
    CHANGED(packages += 1);
    CHANGED(numa_nodes += 1);
    CHANGED(memory_bytes *= 2);
    again = chip;
    again.memory_bytes -= 5000000; /* another kernel */
    again.memory_available = 1;
    strcpy(again.system, "Linux 99");
    eg__chip_fingerprint(&again);
    CHECK(strcmp(chip.fingerprint, again.fingerprint) == 0, "another kernel is another machine");
}
