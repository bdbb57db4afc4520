/* The table of known chips: every way to look one up, every figure against the others. */
#include "test_chip.h"

#include <math.h>

AREA(chip_table, "every chip by every name, figures that agree with each other, broken tables")

static const char *const chips[] = {
    "M1",     "M1 Pro", "M1 Max",   "M1 Ultra", "M2",     "M2 Pro", "M2 Max", "M2 Ultra", "M3",
    "M3 Pro", "M3 Max", "M3 Ultra", "M4",       "M4 Pro", "M4 Max", "M5",     "M5 Pro",   "M5 Max"};
enum { CHIPS = sizeof chips / sizeof *chips };

TEST(chip_table, all_chips_are_there) {
    eg_error error = {0};
    eg_chip_row row;
    CHECK(eg_chip_table_size() == CHIPS, "%zu rows", eg_chip_table_size());
    for (size_t i = 0; i < CHIPS; i++) {
        CHECK_OK(eg_chip_table_get(i, &row, &error), error);
        CHECK(strcmp(row.name, chips[i]) == 0, "row %zu is '%s'", i, row.name);
    }
    CHECK_FAILS(eg_chip_table_get(CHIPS, &row, &error), error, EG_ERR_NOT_FOUND, "18");
    CHECK_FAILS(eg_chip_table_get(SIZE_MAX, &row, &error), error, EG_ERR_NOT_FOUND, "1844674");
    CHECK_FAILS(eg_chip_table_get(0, NULL, &error), error, EG_ERR_ARGUMENT, "no output pointer");
}

TEST(chip_table, lookups) {
    static const struct {
        const char *key, *name; /* NULL = not in the table */
    } rows[] = {{"M1 Max", "M1 Max"},
                {"Apple M1 Max", "M1 Max"},
                {"apple m1 max", "M1 Max"},
                {"T6001", "M1 Max"},
                {"t6001", "M1 Max"},
                {"apple,t6001", "M1 Max"},
                {"APPLE,T6001", "M1 Max"},
                {"0x1b588bb3", "M1"},
                {"0X1B588BB3", "M1"},
                {"0x17d5b93a", "M4 Pro"},
                {"T6034", "M3 Max"},
                {"T6031", "M3 Max"},
                {"apple,t6034", "M3 Max"},
                {"apple,t8103", "M1"},
                {"T6050", "M5 Pro"},
                {"T6051", "M5 Max"},
                {"M5", "M5"},
                {"", NULL},
                {"M", NULL},
                {"M1 ", NULL},
                {"T603", NULL},
                {"T6031|T6034", NULL},
                {"|", NULL},
                {"Apple", NULL},
                {"Apple ", NULL},
                {"0x0", NULL},
                {"0x", NULL},
                {"0x11b588bb3", NULL},
                {"458787763", NULL},
                {"M99 Giga", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_chip_row row;
        eg_error error = {0};
        if (rows[i].name) {
            CHECK_OK(eg_chip_table_find(rows[i].key, &row, &error), error);
            CHECK(strcmp(row.name, rows[i].name) == 0, "'%s' is '%s'", rows[i].key, row.name);
        } else {
            char quoted[64];
            snprintf(quoted, sizeof quoted, "'%s'", rows[i].key);
            CHECK_FAILS(eg_chip_table_find(rows[i].key, &row, &error), error, EG_ERR_NOT_FOUND,
                        quoted);
        }
    }
    eg_chip_row row;
    CHECK(eg_chip_table_find(NULL, &row, NULL) == EG_ERR_ARGUMENT, "no key");
    CHECK(eg_chip_table_find("M1", NULL, NULL) == EG_ERR_ARGUMENT, "no output pointer");
}

TEST(chip_table, only_one_row) {
    static const struct {
        uint32_t part, family;
        const char *name; /* NULL = none or several */
    } rows[] = {{0x22, 0, "M1"}, {0x23, 0, "M1"},       {0x29, 0, NULL},       {0, 0, NULL},
                {0x7f, 0, NULL}, {0, 0x6f5129ac, "M4"}, {0, 0x1b588bb3, NULL}, {0x69, 0, "M5 Max"},
                {0, 1, NULL},    {0, 0xfa33415e, "M3"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_chip_row row;
        bool found = eg__chip_table_find_only(rows[i].part, rows[i].family, &row);
        CHECK(found == (rows[i].name != NULL), "part %x family %x: %d", rows[i].part,
              rows[i].family, found);
        CHECK(!found || strcmp(row.name, rows[i].name) == 0, "part %x is '%s'", rows[i].part,
              found ? row.name : "");
    }
}

static void check_near(const char *chip, const char *what, double a, double b, double tolerance) {
    CHECK(isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance * fabs(b),
          "%s: %s is %g, the other figures say %g", chip, what, a, b);
}

/* The largest number of a list of bins must be the figure of the full chip. */
static void check_bins(const char *chip, const char *what, const char *bins, double full) {
    double largest = 0, previous = 0;
    for (const char *at = bins; *at;) {
        size_t length = strcspn(at, "/");
        double value = 0;
        CHECK(eg_number_parse(at, length, &value, NULL) == EG_OK, "%s: bins '%s'", chip, bins);
        CHECK(value > previous, "%s: bins '%s' do not rise", chip, bins);
        previous = value;
        largest = fmax(largest, value);
        at += length + (at[length] == '/');
    }
    check_near(chip, what, largest, full, 0);
}

TEST(chip_table, figures_agree) {
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        eg_chip_row r;
        eg_error error = {0};
        CHECK_OK(eg_chip_table_get(i, &r, &error), error);
        const char *rate = strchr(r.memory_type, '-');
        check_near(r.name, "fast core GFLOPS", r.fast_core_gflops,
                   r.fast_fma_pipes * 4 * 2 * r.fast_mhz / 1e3, 0.02);
        check_near(r.name, "GPU TFLOPS", r.gpu_tflops, r.gpu_cores * 128 * 2 * r.gpu_mhz / 1e6,
                   0.03);
        check_near(r.name, "memory GB/s", r.memory_gbs,
                   (rate ? atof(rate + 1) : 0) * r.memory_bus_bits / 8e3, 0.01);
        check_near(r.name, "matrix units", r.matrix_units, r.fast_clusters + r.slow_clusters, 0);
        check_bins(r.name, "cores", r.fast_core_bins, r.fast_cores);
        check_bins(r.name, "GPU cores", r.gpu_core_bins, r.gpu_cores);
        check_bins(r.name, "memory GB/s", r.memory_gbs_bins, r.memory_gbs);
        CHECK(r.year >= 2020 && r.year <= 2030, "%s: year %u", r.name, r.year);
        CHECK(r.fast_mhz > r.slow_mhz && r.slow_mhz > 1000, "%s: clocks", r.name);
        CHECK(r.fast_cores % r.fast_clusters == 0, "%s: clusters", r.name);
        CHECK(r.fast_l2_mb > r.slow_l2_mb && r.fast_l1d_kb > r.slow_l1d_kb, "%s: caches", r.name);
        CHECK(isnan(r.ane_fp16_tflops) || isnan(r.ane_tops) || r.ane_fp16_tflops <= r.ane_tops,
              "%s: measured above advertised", r.name);
        CHECK(isnan(r.slc_mb) || (r.slc_mb >= 8 && r.slc_mb <= 96), "%s: SLC", r.name);
        CHECK(r.soc[0] == 'T' && strncmp(r.device_tree, "apple,t", 7) == 0, "%s: ids", r.name);
        CHECK(r.cpufamily && r.fast_midr_part == r.slow_midr_part + 1, "%s: numbers", r.name);
        CHECK(strcmp(r.matrix_unit, r.name[1] < '4' ? "AMX" : "SME2") == 0, "%s: '%s'", r.name,
              r.matrix_unit);
        CHECK(r.confidence[0] && r.sources[0], "%s: no confidence or sources", r.name);
    }
}

TEST(chip_table, blank_is_unknown) {
    eg_chip_row row;
    eg_error error = {0};
    CHECK_OK(eg_chip_table_find("M5", &row, &error), error);
    CHECK(isnan(row.ane_tops) && isnan(row.slc_mb) && isnan(row.matrix_gflops), "blank is no NAN");
    CHECK(strcmp(row.fast_kind, "Super") == 0 && row.fast_name[0] == 0, "kind '%s' name '%s'",
          row.fast_kind, row.fast_name);
}

TEST(chip_table, cells) {
    static const char head[] = "name,year,fast_mhz,cpufamily,unheard_of,notes\n";
    static const struct {
        const char *text;
        eg_status status;
        const char *part;
    } rows[] = {
        {"A,1,2.5,0x1,x,\"a, \"\"b\"\"\"\n", EG_OK, ""},
        {"A,,,,,", EG_OK, ""},
        {"\"A\",1,2,0x1,,\n", EG_OK, ""},
        {"A,1,2,0x1,\n", EG_ERR_FORMAT, "too short"},
        {"A,1,2,0x1,x,y,z\n", EG_ERR_FORMAT, "broken row"},
        {"A,~12,2,0x1,x,y\n", EG_ERR_FORMAT, "'~12'"},
        {"A,-1,2,0x1,x,y\n", EG_ERR_FORMAT, "'-1'"},
        {"A,4294967296,2,0x1,x,y\n", EG_ERR_FORMAT, "'4294967296'"},
        {"A,1,2 MHz,0x1,x,y\n", EG_ERR_FORMAT, "'2 MHz'"},
        {"A,1,nan,0x1,x,y\n", EG_ERR_FORMAT, "'nan'"},
        {"A,1,2,17,x,y\n", EG_ERR_FORMAT, "'17'"},
        {"A,0x1,2,0x1,x,y\n", EG_ERR_FORMAT, "'0x1'"},
        {"\"A,1,2,0x1,x,y\n", EG_ERR_FORMAT, "broken row"},
        {"\"A\"B,1,2,0x1,x,y\n", EG_ERR_FORMAT, "broken row"},
        {"This name has more than thirty-one letters,1,2,0x1,x,y\n", EG_ERR_FORMAT, "too long"},
        {"", EG_ERR_NOT_FOUND, "number 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(head) + strlen(rows[i].text);
        char *csv = test_alloc(length); /* without a terminator */
        memcpy(csv, head, strlen(head));
        memcpy(csv + strlen(head), rows[i].text, strlen(rows[i].text));
        eg_chip_row row;
        eg_error error = {0};
        eg_status status = eg__chip_row_parse(csv, length, 0, &row, &error);
        CHECK(status == rows[i].status && strstr(error.message, rows[i].part), "'%s': %s '%s'",
              rows[i].text, eg_status_name(status), error.message);
        if (i == 0)
            CHECK(strcmp(row.notes, "a, \"b\"") == 0 && row.year == 1 && row.fast_mhz == 2.5,
                  "notes '%s'", row.notes);
        free(csv);
    }
}
