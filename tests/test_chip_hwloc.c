/* Cores and caches as hwloc tells them, and what is kept away from hwloc. */
#include "test_chip.h"

#define KB UINT64_C(1024)

TEST(chip, topologies) {
    static const struct {
        const char *root;
        unsigned kinds, kind;
        const char *name;
        unsigned cores, threads;
        uint64_t l1i, l1d, l2; /* KB */
        unsigned l2_cores;
        double mhz;
        uint64_t l3; /* KB */
        unsigned l3_count, packages, nodes, line, page;
    } rows[] = {
        {"m1-asahi", 2, 0, "Performance", 4, 4, 192, 128, 12288, 4, 3204, 0, 0, 1, 1, 128, 16384},
        {"m1-asahi", 2, 1, "Efficiency", 4, 4, 128, 64, 4096, 4, 2064, 0, 0, 1, 1, 128, 16384},
        {"pi5", 1, 0, "Core", 4, 4, 64, 64, 512, 1, 2400, 2048, 1, 1, 1, 64, 16384},
        {"server-2s", 1, 0, "Core", 8, 16, 32, 32, 1024, 1, 3700, 16896, 2, 2, 2, 64, 4096},
        {"hybrid", 2, 0, "Performance", 2, 4, 32, 48, 1280, 1, 4400, 10240, 1, 1, 1, 64, 4096},
        {"hybrid", 2, 1, "Efficiency", 4, 4, 64, 32, 2048, 4, 3300, 10240, 1, 1, 1, 64, 4096},
        {"vm", 1, 0, "Core", 1, 2, 32, 32, 512, 1, 0, 16384, 1, 1, 1, 64, 4096},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[512];
        eg_chip chip;
        eg_error error = {0};
        CHECK_OK(eg_chip_detect(fixture(root, rows[i].root), NULL, NULL, &chip, &error), error);
        const eg_core_kind *kind = &chip.kinds[rows[i].kind];
        CHECK(chip.kind_count == rows[i].kinds && strcmp(kind->name, rows[i].name) == 0,
              "%s %u: %u kinds, '%s'", rows[i].root, rows[i].kind, chip.kind_count, kind->name);
        CHECK(kind->cores == rows[i].cores && kind->threads == rows[i].threads,
              "%s %u: %u cores, %u threads", rows[i].root, rows[i].kind, kind->cores,
              kind->threads);
        CHECK(kind->l1i_bytes == rows[i].l1i * KB && kind->l1d_bytes == rows[i].l1d * KB,
              "%s %u: L1 %llu and %llu", rows[i].root, rows[i].kind,
              (unsigned long long)kind->l1i_bytes, (unsigned long long)kind->l1d_bytes);
        CHECK(kind->l2_bytes == rows[i].l2 * KB && kind->l2_cores == rows[i].l2_cores,
              "%s %u: L2 %llu of %u", rows[i].root, rows[i].kind,
              (unsigned long long)kind->l2_bytes, kind->l2_cores);
        CHECK(kind->max_mhz == rows[i].mhz, "%s: %g MHz", rows[i].root, kind->max_mhz);
        CHECK(chip.l3_bytes == rows[i].l3 * KB && chip.l3_count == rows[i].l3_count, "%s: L3 %u",
              rows[i].root, chip.l3_count);
        CHECK(chip.packages == rows[i].packages && chip.numa_nodes == rows[i].nodes,
              "%s: %u packages, %u nodes", rows[i].root, chip.packages, chip.numa_nodes);
        CHECK(chip.cache_line == rows[i].line && chip.page_size == rows[i].page,
              "%s: line %u, page %u", rows[i].root, chip.cache_line, chip.page_size);
        CHECK(strcmp(chip.topology_source, "hwloc 2.9.0") == 0, "'%s'", chip.topology_source);
    }
}

/* A damaged export is left out with a reason; the processors of cpuinfo remain. */
TEST(chip, damaged_export) {
    char root[512];
    eg_chip chip;
    eg_error error = {0};
    chip_warnings warnings = {0};
    CHECK_OK(eg_chip_detect(fixture(root, "broken-xml"), chip_warn, &warnings, &chip, &error),
             error);
    CHECK(strstr(warnings.text, "hwloc.xml' is ignored: it has no end"), "%s", warnings.text);
    CHECK(chip.cores == 4 && strcmp(chip.topology_source, "cpuinfo") == 0, "'%s'",
          chip.topology_source);
}

/* Only the processors that the recorded process was allowed to use count. */
TEST(chip, disallowed_processors) {
    char source[512];
    static char xml[20000];
    const char *root = test_folder();
    size_t size = chip_file_read(fixture(source, "server-2s"), "hwloc.xml", xml, sizeof xml);
    static const char all[] = "allowed_cpuset=\"0x0000ffff\"";
    char *at = size ? strstr(xml, all) : NULL;
    CHECK(at, "no allowed set in the fixture");
    if (!at) return;
    memcpy(at, "allowed_cpuset=\"0x00000107\"", sizeof all - 1); /* 0 with its twin 8, 1, 2 */
    chip_file_write(root, "hwloc.xml", xml, size);
    eg_chip chip;
    eg_error error = {0};
    CHECK_OK(eg_chip_detect(root, NULL, NULL, &chip, &error), error);
    CHECK(chip.cores == 3 && chip.threads == 4, "%u cores, %u threads", chip.cores, chip.threads);
}

TEST(chip, what_hwloc_may_load) {
#define SETS "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\""
    static const struct {
        const char *xml, *fault; /* NULL = fine */
    } rows[] = {
        {"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">"
         "<object type=\"NUMANode\" " SETS "/>\n<object type=\"PU\" " SETS "/></topology>\n",
         NULL},
        {"<topology><object type=\"NUMANode\" " SETS "/></topology>", "no processor or no memory"},
        {"<topology><object type=\"PU\" " SETS "/></topology>", "no processor or no memory"},
        {"<topology version=\"2.0\"></topology>\n", "no processor or no memory"},
        {"", "no end"},
        {"<", "no end"},
        {"<topology version=\"2.0\"", "no end"},
        {"<topology version=\"2.0\">", "no end"},
        {"<topology version=\"1.0\"></topology>", "a version other than 2"},
        {"<topology></topology><topology></topology>", "something after the end"},
        {"<topology></object>", "an end without a beginning"},
        {"</topology>", "an end without a beginning"},
        {"<object type=\"Misc\"/>", "an element in the wrong place"},
        {"<topology><info><object type=\"Misc\"/></info></topology>",
         "an object in the wrong place"},
        {"<topology><script/></topology>", "an unknown element"},
        {"<topology><object " SETS "/></topology>", "an object without type or sets"},
        {"<topology><object type=\"Core\" cpuset=\"0x1\"/></topology>",
         "an object without type or sets"},
        {"<topology><object type=\"Bore\"/></topology>", "an object of an unknown type"},
        {"<topology><object type=\"Core\" cpuset=\"0xf...f\"/></topology>", "a set that is none"},
        {"<topology><object type=\"Core\" cpuset=\"\"/></topology>", "a set that is none"},
        {"<topology><object type=\"Core\" cpuset=\",0x1\"/></topology>", "a set that is none"},
        {"<topology><object type=\"Core\" cpuset=\"0x1,\"/></topology>", "a set that is none"},
        {"<topology><object type=\"Core\" cpuset=\"0x1,,0xff\"/></topology>",
         "an object without type or sets"},
        {"<topology><object type=\"Core\" gp_index=\"-1\"/></topology>", "a number that is none"},
        {"<topology><info name=\"a\" value=/></topology>", "a broken attribute"},
        {"<topology><info name=\"a/></topology>", "a broken attribute"},
        {"<topology><info<info/></topology>", "a strange character"},
        {"<topology>\x01</topology>", "text between tags"},
        {"<topology>1 2</topology>", "text between tags"},
        {"<topology><indexes>1 2</indexes></topology>", "no processor or no memory"},
        {"<topology><info name=\"\x01\"/></topology>", "a strange character"},
        {"<!DOCTYPE topology>", "a strange heading"},
        {"<topology><!-- --></topology>", "a strange heading"},
        {"<topology><=/></topology>", "a broken tag"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__text text = eg__text_of_bytes(rows[i].xml, strlen(rows[i].xml));
        const char *fault = eg__hwloc_xml_fault(&text);
        CHECK(!fault == !rows[i].fault && (!fault || strcmp(fault, rows[i].fault) == 0), "%s: '%s'",
              rows[i].xml, fault ? fault : "fine");
    }
}
