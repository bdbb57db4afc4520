/* Parts of data sets: windows, splits as numpy draws them, units, batches, any options, threads. */
#include "test_tables.h"

#include <pthread.h>

AREA(data_parts, "windows, splits as numpy draws them, units, batches, random options, threads")

/* Rows 0, 1, 2, ... of two columns that are the same, in recordings of `steps`. */
static eg_table counting(double *values, uint64_t rows, uint64_t steps) {
    for (uint64_t i = 0; i < rows; i++) values[2 * i] = values[2 * i + 1] = (double)i;
    eg_table table = table_of(rows, 2, NULL, values);
    table.steps = steps;
    return table;
}

static const char *
starts_text(const eg_data *data) { /* "0+4 4+2"; a static buffer for each of two */
    static char texts[2][2000];
    static int turn;
    char *text = texts[turn = !turn];
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(data, &info);
    text[0] = 0;
    for (uint64_t i = 0; i < info.windows; i++) {
        uint64_t first, length;
        eg_data_window(data, i, &first, &length);
        snprintf(text + strlen(text), 2000 - strlen(text), "%s%d+%d", i ? " " : "", (int)first,
                 (int)length);
    }
    return text;
}

TEST(data_parts, windows) {
    static const struct {
        uint64_t rows, steps, window, stride;
        int partial;
        const char *want;
        int longest, lengths;
    } rows[] = {
        {10, 0, 0, 0, 0, "0+10", 10, 0},
        {10, 4, 0, 0, 0, "0+4 4+4 8+2", 4, 1},
        {10, 0, 4, 0, 0, "0+4 4+4", 4, 0},
        {10, 0, 4, 0, 1, "0+4 4+4 8+2", 4, 1},
        {8, 0, 4, 0, 1, "0+4 4+4", 4, 0},
        {10, 0, 4, 3, 0, "0+4 3+4 6+4", 4,
         0}, /* the end of a window may be that of the recording */
        {10, 0, 4, 3, 1, "0+4 3+4 6+4", 4, 0},
        {11, 0, 4, 3, 1, "0+4 3+4 6+4 9+2", 4, 1}, /* one shorter window, not all that would fit */
        {7, 0, 5, 1, 1, "0+5 1+5 2+5", 5, 0},
        {10, 0, 2, 5, 0, "0+2 5+2", 2, 0},
        {11, 0, 2, 5, 1, "0+2 5+2 10+1", 2, 1},
        {3, 0, 4, 0, 1, "0+3", 3, 0},
        {9, 5, 4, 0, 0, "0+4 5+4", 4, 0},
        {9, 6, 4, 2, 1, "0+4 2+4 6+3", 4, 1},
        {5, 0, 2, UINT64_MAX, 1, "0+2", 2, 0},
        {5, 0, 1, 0, 0, "0+1 1+1 2+1 3+1 4+1", 1, 0},
    };
    data_test test;
    data_test_open(&test);
    double values[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_table table = counting(values, rows[i].rows, rows[i].steps);
        const eg_data_options options = {
            .window = rows[i].window, .stride = rows[i].stride, .partial = rows[i].partial};
        eg_data *data;
        eg_data_info info = {.size = sizeof info};
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
        CHECK_TEXT(starts_text(data), rows[i].want);
        eg_data_info_get(data, &info);
        CHECK((int)info.steps == rows[i].longest && info.lengths == rows[i].lengths,
              "row %zu: %d steps, lengths %d", i, (int)info.steps, info.lengths);
        uint64_t first, length;
        eg_data_window(data, info.windows, &first, &length);
        CHECK(first == rows[i].rows && length == 0, "past the last window");
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* RandomState(7).permutation(12) is 7 10 2 5 0 1 11 8 3 6 9 4; RandomState(0).permutation(5) is
 * 2 0 1 3 4. */
TEST(data_parts, splits) {
    static const struct {
        uint64_t rows, steps, window, stride;
        eg_split split;
        const char *first, *second;
    } rows[] = {
        {24,
         2,
         0,
         0,
         {EG_SPLIT_RECORDINGS, 0.34, 0, 7}, /* 4.08 of 12 */
         "0+2 2+2 6+2 8+2 12+2 16+2 18+2 22+2",
         "4+2 10+2 14+2 20+2"},
        {24,
         2,
         1,
         0,
         {EG_SPLIT_AUTO, 0.1, 0, 7}, /* ten or more recordings */
         "0+1 1+1 2+1 3+1 4+1 5+1 6+1 7+1 8+1 9+1 10+1 11+1 12+1 13+1 16+1 17+1 18+1 19+1 20+1 21+1 "
         "22+1 23+1",
         "14+1 15+1"},
        {10, 2, 0, 0, {EG_SPLIT_AUTO, 0.4, 0, 0}, "2+2 6+2 8+2", "0+2 4+2"}, /* each one window */
        {10, 0, 2, 0, {EG_SPLIT_AUTO, 0.4, 0, 0}, "0+2 2+2 4+2", "6+2 8+2"},
        {10, 0, 2, 0, {EG_SPLIT_WINDOWS, 0.4, 0, 0}, "2+2 6+2 8+2", "0+2 4+2"},
        {10, 0, 2, 0, {EG_SPLIT_WINDOWS, 0.001, 0, 0}, "0+2 2+2 6+2 8+2", "4+2"}, /* one at least */
        {10, 0, 2, 0, {EG_SPLIT_TIME, 0.3, 0, 0}, "0+2 2+2 4+2", "8+2"}, /* 6+2 is across */
        {10, 5, 2, 1, {EG_SPLIT_TIME, 0.4, 0, 0}, "0+2 1+2 5+2 6+2", "3+2 8+2"},
        {10, 0, 2, 1, {EG_SPLIT_AT, 0, 4, 0}, "0+2 1+2 2+2", "4+2 5+2 6+2 7+2 8+2"},
        {10, 5, 5, 0, {EG_SPLIT_AT, 0, 5, 0}, "0+5", "5+5"},
        {100,
         0,
         1,
         0,
         {EG_SPLIT_TIME, 0.29, 0, 0},
         NULL, /* 29, though 0.29 * 100 is below it */
         "71+1 72+1 73+1 74+1 75+1 76+1 77+1 78+1 79+1 80+1 81+1 82+1 83+1 84+1 85+1 86+1 87+1 88+1 "
         "89+1 90+1 91+1 92+1 93+1 94+1 95+1 96+1 97+1 98+1 99+1"},
    };
    data_test test;
    data_test_open(&test);
    static double values[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_table table = counting(values, rows[i].rows, rows[i].steps);
        const eg_data_options options = {
            .inputs = "2", .time = "1", .window = rows[i].window, .stride = rows[i].stride};
        eg_data *data, *first, *second;
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
        CHECK_OK(eg_data_split(data, &rows[i].split, &first, &second, &test.error), test.error);
        eg_data_destroy(data); /* parts live on */
        if (rows[i].first) CHECK_TEXT(starts_text(first), rows[i].first);
        CHECK_TEXT(starts_text(second), rows[i].second);
        eg_data_destroy(first);
        eg_data_destroy(second);
    }
    data_test_close(&test);
}

TEST(data_parts, parts_of_parts) {
    data_test test;
    data_test_open(&test);
    double values[40];
    const eg_table table = counting(values, 20, 0);
    const eg_data_options options = {.inputs = "1", .window = 2};
    const eg_split half = {EG_SPLIT_TIME, 0.5, 0, 0}, fifth = {EG_SPLIT_TIME, 0.2, 0, 0};
    eg_data *data, *first, *second, *inner, *last;
    eg_data_info info = {.size = sizeof info};
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    CHECK_OK(eg_data_split(data, &half, &first, &second, &test.error), test.error);
    CHECK_OK(eg_data_split(first, &fifth, &inner, &last, &test.error), test.error);
    CHECK_TEXT(starts_text(inner), "0+2 2+2 4+2 6+2");
    CHECK_TEXT(starts_text(last), "8+2"); /* the end of what the part has, not of the recording */
    eg_data_info_get(last, &info);
    CHECK(info.rows == 20 && info.recordings == 1 && info.windows == 1, "%d rows", (int)info.rows);
    CHECK_TEXT(window_text(last, NULL, 0), "8 9|1 1||");
    eg_data *const all[] = {first, data, last, inner, second};
    for (int i = 0; i < 5; i++) eg_data_destroy(all[i]);
    eg_data_destroy(NULL);
    data_test_close(&test);
}

TEST(data_parts, refused_splits) {
    static const struct {
        eg_split split;
        const char *part;
    } rows[] = {
        {{(eg_split_kind)9, 0.5, 0, 0}, "unknown split 9"},
        {{EG_SPLIT_TIME, 0, 0, 0}, "fraction '0' is not within 0..1"},
        {{EG_SPLIT_TIME, 1, 0, 0}, "fraction '1'"},
        {{EG_SPLIT_WINDOWS, -0.5, 0, 0}, "fraction '-0.5'"},
        {{EG_SPLIT_WINDOWS, NAN, 0, 0}, "fraction 'nan'"},
        {{EG_SPLIT_AT, 0, 3, 0}, "a split at a time needs a column of times"},
        {{EG_SPLIT_RECORDINGS, 0.5, 0, 0},
         "the first part would be empty: 2 windows, split by 'recordings'"},
        {{EG_SPLIT_TIME, 0.9, 0, 0}, "the first part would be empty"},
    };
    data_test test;
    data_test_open(&test);
    double values[20];
    const eg_table table = counting(values, 10, 0);
    eg_data_options options = {.inputs = "1", .window = 5};
    eg_data *data, *first, *second;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(eg_data_split(data, &rows[i].split, &first, &second, &test.error), test.error,
                    EG_ERR_ARGUMENT, rows[i].part);
        CHECK(!first && !second, "row %zu: something is left", i);
    }
    CHECK_FAILS(eg_data_split(data, NULL, &first, &second, &test.error), test.error,
                EG_ERR_ARGUMENT, "no data, split");
    eg_data_destroy(data);
    options.time = "2";
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    eg_split at = {EG_SPLIT_AT, 0, NAN, 0};
    CHECK_FAILS(eg_data_split(data, &at, &first, &second, &test.error), test.error, EG_ERR_ARGUMENT,
                "the time to split at is not a number");
    at.at = INFINITY;
    CHECK_FAILS(eg_data_split(data, &at, &first, &second, &test.error), test.error, EG_ERR_ARGUMENT,
                "the second part would be empty");
    eg_data_destroy(data);
    CHECK(!eg_split_name((eg_split_kind)5) && strcmp(eg_split_name(EG_SPLIT_AT), "at") == 0,
          "names");
    data_test_close(&test);
}

/* ---- units: numpy's mean and std of 1 2 4 8 are 3.75 and 2.680951323690902; of 2 4 8: 14/3, 2.4944383 */
TEST(data_parts, units) {
    static const double values[] = {0, 1, 0.1, NAN, 1, 2,   0.1, 3, 3, 4,    0.1, 5,
                                    7, 8, 0.1, 7,   8, NAN, 0.1, 9, 9, 1000, 0.1, 9};
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(6, 4, NULL, values); /* the last row is in no window */
    eg_data_options options = {.time = "1",
                               .inputs = "2,3",
                               .targets = "4",
                               .missing = EG_MISSING_MEAN,
                               .window = 3,
                               .stride = 1};
    const eg_split split = {EG_SPLIT_AT, 0, 1, 0};
    eg_data *data, *first, *second;
    float mean[2], scale[2], y_mean[1], y_scale[1], time;
    options.stride = 2; /* 0-2, 2-4 */
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    CHECK_OK(eg_data_scaling(data, 1, mean, scale, y_mean, y_scale, &time, &test.error),
             test.error);
    CHECK(mean[0] == 3.75f && scale[0] == 2.680951323690902f, "%.9g %.9g", (double)mean[0],
          (double)scale[0]);
    CHECK(mean[1] == 0.1f && scale[1] == 1, "%.9g %.9g", (double)mean[1], (double)scale[1]);
    /* 3 5 7 9: mean 6, deviation sqrt(5) */
    CHECK(y_mean[0] == 6 && y_scale[0] == 2.23606797749979f, "%.9g %.9g", (double)y_mean[0],
          (double)y_scale[0]);
    /* 1 (the median of 1 2 4 1 1, before the first) 1 2 4 1 */
    CHECK(time == 1, "time %g", (double)time);
    CHECK_FAILS(eg_data_scaling(data, 1, mean, scale, NULL, NULL, &time, &test.error), test.error,
                EG_ERR_ARGUMENT, "no output pointer");
    CHECK_FAILS(eg_data_scaling(NULL, 0, mean, scale, NULL, NULL, &time, &test.error), test.error,
                EG_ERR_ARGUMENT, "no data");
    eg_data_destroy(data);
    /* those of a part are of its windows alone */
    options.stride = 1;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    CHECK_FAILS(eg_data_split(data, &split, &first, &second, &test.error), test.error,
                EG_ERR_ARGUMENT, "the first part would be empty");
    const eg_split random = {EG_SPLIT_WINDOWS, 0.25, 0,
                             1}; /* RandomState(1).permutation(4): 3 2 0 1 */
    CHECK_OK(eg_data_split(data, &random, &first, &second, &test.error), test.error);
    CHECK_TEXT(starts_text(second), "3+3");
    CHECK_OK(eg_data_scaling(second, 0, mean, scale, NULL, NULL, &time, &test.error), test.error);
    CHECK(mean[0] == 504 && scale[0] == 496, "%g %g", (double)mean[0], (double)scale[0]);
    CHECK(time == 1, "the median of 4 1 1 is not %g", (double)time);
    eg_data_destroy(data);
    eg_data_destroy(first);
    eg_data_destroy(second);
    /* no times, a column without a single number */
    options = (eg_data_options){.inputs = "1,2", .missing = EG_MISSING_MEAN};
    const eg_table nothing = table_of(2, 2, NULL, (const double[]){1, NAN, 3, NAN});
    CHECK_OK(eg_data_create(test.context, 1, &nothing, &options, &data, &test.error), test.error);
    CHECK_OK(eg_data_scaling(data, 1, mean, scale, NULL, NULL, &time, &test.error), test.error);
    CHECK(mean[0] == 2 && scale[0] == 1 && mean[1] == 0 && scale[1] == 1 && time == 1, "nothing");
    CHECK_TEXT(window_text(data, NULL, 0), "1 0 3 0|1 1||");
    eg_data_destroy(data);
    data_test_close(&test);
}

/* ---- a part that is shorter than a window */
TEST(data_parts, parts_without_room_for_a_window) {
    static const struct {
        uint64_t rows, steps, window, stride;
        double fraction;
        const char *first, *second; /* NULL = it fails */
    } cases[] = {
        {300, 0, 64, 32, 0.1, "0+64 32+64 64+64 96+64 128+64 160+64 192+64", "270+30"},
        {100, 0, 64, 32, 0.1, "0+64", "90+10"},
        {80, 0, 64, 32, 0.25, "0+60", "60+20"}, /* none into either part */
        {100, 50, 20, 10, 0.2, "0+20 10+20 20+20 50+20 60+20 70+20", "40+10 90+10"},
        {64, 0, 0, 0, 0.25, "0+48", "48+16"}, /* one recording, which is one window */
        {1, 0, 0, 0, 0.5, NULL, NULL},
    };
    data_test test;
    data_test_open(&test);
    double values[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg_table table = counting(values, cases[i].rows, cases[i].steps);
        const eg_data_options options = {.window = cases[i].window, .stride = cases[i].stride};
        const eg_split split = {.kind = cases[i].steps ? EG_SPLIT_TIME : EG_SPLIT_AUTO,
                                .fraction = cases[i].fraction};
        eg_data *whole, *first, *second;
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &whole, &test.error),
                 test.error);
        const eg_status status = eg_data_split(whole, &split, &first, &second, &test.error);
        CHECK((status == EG_OK) == (cases[i].first != NULL), "case %zu: %s", i,
              status ? test.error.message : "no failure");
        if (!status) {
            CHECK_TEXT(starts_text(first), cases[i].first);
            CHECK_TEXT(starts_text(second), cases[i].second);
        }
        eg_data_destroy(whole);
        eg_data_destroy(first);
        eg_data_destroy(second);
    }
    data_test_close(&test);
}

/* The same of a part: rows of the other one are not taken. */
TEST(data_parts, shorter_windows_of_a_part) {
    double values[200];
    const eg_table table = counting(values, 100, 0);
    const eg_data_options options = {.window = 20, .stride = 10};
    const eg_split half = {.kind = EG_SPLIT_TIME, .fraction = 0.5},
                   some = {.kind = EG_SPLIT_TIME, .fraction = 0.1};
    data_test test;
    eg_data *parts[7];
    data_test_open(&test);
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &parts[0], &test.error), test.error);
    CHECK_OK(eg_data_split(parts[0], &half, &parts[1], &parts[2], &test.error), test.error);
    CHECK_OK(eg_data_split(parts[1], &some, &parts[3], &parts[4], &test.error), test.error);
    CHECK_TEXT(starts_text(parts[3]), "0+20 10+20 20+20");
    CHECK_TEXT(starts_text(parts[4]), "45+5");
    CHECK_OK(eg_data_split(parts[2], &some, &parts[5], &parts[6], &test.error), test.error);
    CHECK_TEXT(starts_text(parts[5]), "50+20 60+20 70+20");
    CHECK_TEXT(starts_text(parts[6]), "95+5");
    for (int i = 0; i < 7; i++) eg_data_destroy(parts[i]);
    data_test_close(&test);
}

/* ---- what is missing is counted in the part that lacks it, each row once */
TEST(data_parts, missing_values_of_a_part) {
    enum { ROWS = 12 };
    static const char *const names[] = {"a", "b", "y", "k"};
    static const struct {
        eg_missing missing;
        int last;
        uint64_t counts[2][5]; /* covered, missing, dropped, missing targets, rows without; twice */
    } cases[] = {
        /* windows of 4, stride 2, split in the middle by time: rows 0..5 and 6..11 */
        {EG_MISSING_MEAN, 0, {{6, 2, 0, 3, 1}, {6, 1, 0, 2, 0}}},
        {EG_MISSING_MEAN, 1, {{6, 2, 0, 2, 1}, {6, 1, 0, 1, 0}}},
        /* rows 0 1 3 4 and 7 8 9 10: what was left out belongs to the row after it, or to the last */
        {EG_MISSING_DROP, 0, {{4, 2, 1, 3, 1}, {4, 1, 1, 2, 0}}},
    };
    double values[ROWS][4];
    for (int i = 0; i < ROWS; i++) {
        const double row[4] = {i, 1, i % 2, i < 6 ? 0 : 1};
        memcpy(values[i], row, sizeof row);
    }
    values[2][0] = values[2][1] = NAN;                /* two inputs of one row */
    values[11][1] = NAN;                              /* one of the last */
    values[1][2] = values[3][2] = values[3][3] = NAN; /* a target, and both of a row */
    values[7][3] = values[9][2] = NAN;
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(ROWS, 4, names, &values[0][0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg_data_options options = {.inputs = "a,b",
                                         .targets = "y,k",
                                         .missing = cases[i].missing,
                                         .last = cases[i].last,
                                         .window = 4,
                                         .stride = 2};
        const eg_split split = {.kind = EG_SPLIT_TIME, .fraction = 0.5};
        eg_data *whole, *parts[2];
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &whole, &test.error),
                 test.error);
        CHECK_OK(eg_data_split(whole, &split, &parts[0], &parts[1], &test.error), test.error);
        for (int k = 0; k < 2; k++) {
            eg_data_info d = {.size = sizeof d};
            eg_data_info_get(parts[k], &d);
            const uint64_t got[] = {d.covered, d.missing, d.dropped, d.missing_targets,
                                    d.without_target};
            for (int n = 0; n < 5; n++)
                CHECK(got[n] == cases[i].counts[k][n], "case %zu, part %d, count %d: %d, not %d", i,
                      k, n, (int)got[n], (int)cases[i].counts[k][n]);
            eg_data_destroy(parts[k]);
        }
        eg_data_destroy(whole);
    }
    data_test_close(&test);
}

/* Classes and values of targets, of a part alone. */
TEST(data_parts, targets_of_a_part) {
    static const char *const names[] = {"a", "y", "k"};
    static const double values[] = {0, 1, 0, 1, 0, 0, 2, 1, 0, 3, NAN, 1, 4, 3, 1, 5, -2, 1};
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(6, 3, names, values);
    const eg_split split = {.kind = EG_SPLIT_TIME, .fraction = 0.5};
    eg_data *whole, *first, *second;
    eg_data_options options = {.inputs = "a", .targets = "y", .window = 2, .stride = 1};
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &whole, &test.error), test.error);
    CHECK_OK(eg_data_split(whole, &split, &first, &second, &test.error), test.error);
    eg_target_info t = {.size = sizeof t};
    eg_data_target_info(first, 0, &t);
    CHECK(t.rows == 3 && t.zeros == 1 && t.ones == 2 && t.least == 0 && t.most == 1, "first: %d",
          (int)t.rows);
    eg_data_target_info(second, 0, &t);
    CHECK(t.rows == 2 && !t.zeros && !t.ones && t.least == -2 && t.most == 3, "second: %d",
          (int)t.rows);
    eg_data_target_info(second, 1, &t);
    CHECK(!t.rows && !eg_data_class_rows(second, 0), "a target that is not there");
    eg_data_destroy(whole);
    eg_data_destroy(first);
    eg_data_destroy(second);
    options.targets = "k";
    options.classes = 1;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &whole, &test.error), test.error);
    CHECK_OK(eg_data_split(whole, &split, &first, &second, &test.error), test.error);
    CHECK(eg_data_class_rows(whole, 0) == 3 && eg_data_class_rows(whole, 1) == 3, "whole");
    CHECK(eg_data_class_rows(first, 0) == 3 && !eg_data_class_rows(first, 1), "first");
    CHECK(!eg_data_class_rows(second, 0) && eg_data_class_rows(second, 1) == 3, "second");
    eg_data_destroy(whole);
    eg_data_destroy(first);
    eg_data_destroy(second);
    data_test_close(&test);
}

/* ---- batches: two windows and an empty one, padded; time comes first */
TEST(data_parts, batches) {
    static const char *const wants[] = {
        "0 2 -99 0 1 3 -99 0 0 0 -99 0 0 0 -99 0|1 1 -99 1 1 1 -99 1 1 1 -99 1 1 1 -99 1|"
        "0 0.5 -99 0 0.25 0 -99 0 0 0 -99 0 0 0 -99 0|1 1 -99 0 1 0 -99 0 0 0 -99 0 0 0 -99 0|2 2 -99 0",
        "0 2 -99 0 1 3 -99 0 0 0 -99 0 0 0 -99 0|1 1 -99 1 1 1 -99 1 1 1 -99 1 1 1 -99 1|"
        "0.25 0 -99 0|1 0 -99 0|2 2 -99 0"};
    data_test test;
    data_test_open(&test);
    double values[8];
    const eg_table table = counting(values, 4, 2);
    values[7] = NAN;
    const eg_scaling units = {.output_mean = (float[]){0}, .output_scale = (float[]){4}};
    for (int last = 0; last < 2; last++) {
        const eg_data_options options = {.inputs = "1", .targets = "2", .last = last};
        eg_data *data;
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
        test_batch b = test_batch_make(data, 4, 4);
        const size_t rows = last ? 4 : 16;
        eg_data_fill(data, &units, 0, 4, 4, 0, &b.of);
        eg_data_fill(data, &units, 1, 4, 4, 1, &b.of);
        eg_data_fill(data, &units, 2, 4, 4, 3, &b.of); /* there is none */
        eg_data_fill(data, &units, 0, 4, 4, 4, &b.of); /* no such sample: nothing happens */
        char text[600] = "";
        const float *const parts[] = {b.of.x, b.of.timespans, b.of.target, b.of.weight,
                                      b.of.lengths};
        const size_t counts[] = {16, 16, rows, rows, 4};
        for (int i = 0; i < 5; i++) {
            test_append(text, sizeof text, parts[i], counts[i]);
            if (i < 4) strcat(text, "|");
        }
        CHECK_TEXT(text, wants[last]);
        /* less time than the window has, and nothing but x */
        const eg_train_batch alone = {.x = b.of.x};
        eg_data_fill(data, NULL, 1, 1, 1, 0, &alone);
        CHECK(b.of.x[0] == 2 && b.of.x[1] == 2, "%g %g", (double)b.of.x[0], (double)b.of.x[1]);
        test_batch_free(&b);
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* Rows of all widths: vectors and what is left of them, values that are missing at every place. */
TEST(data_parts, wide_rows) {
    enum { MOST = 19, ROWS = 23 };
    data_test test;
    data_test_open(&test);
    float mean[MOST], scale[MOST];
    uint64_t state = 9;
    for (int i = 0; i < MOST; i++) {
        mean[i] = test_random(&state);
        scale[i] = 2 + test_random(&state);
    }
    for (uint64_t width = 1; width <= MOST; width++) {
        double *values = test_alloc((size_t)(ROWS * width) * sizeof *values);
        for (uint64_t i = 0; i < ROWS * width; i++)
            values[i] = i % (width + 1) == 0 ? NAN : (double)test_random(&state);
        const eg_table table = table_of(ROWS, width, NULL, values);
        const eg_data_options options = {.missing = EG_MISSING_MEAN};
        const eg_scaling units = {.input_mean = mean, .input_scale = scale};
        eg_data *data;
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
        test_batch b = test_batch_make(data, 1, ROWS);
        eg_data_fill(data, &units, 0, 1, ROWS, 0, &b.of);
        for (uint64_t i = 0; i < ROWS * width; i++) {
            const uint64_t k = i % width;
            const float want = isnan(values[i]) ? 0 : ((float)values[i] - mean[k]) / scale[k];
            CHECK(b.of.x[i] == want, "%d wide, value %d is %g, not %g", (int)width, (int)i,
                  (double)b.of.x[i], (double)want);
        }
        test_batch_free(&b);
        eg_data_destroy(data);
        free(values);
    }
    data_test_close(&test);
}

/* What a model gets is what it trains on: a batch as a trainer has it. */
TEST(data_parts, a_trainer) {
    data_test test;
    data_test_open(&test);
    static double values[60];
    for (int i = 0; i < 20; i++) {
        values[3 * i] = 0.5 * i;
        values[3 * i + 1] = sin(0.3 * i);
        values[3 * i + 2] = cos(0.3 * i);
    }
    const eg_table table = table_of(20, 3, NULL, values);
    const eg_data_options options = {
        .time = "1", .inputs = "2", .targets = "3", .window = 6, .partial = 1};
    eg_data *data;
    eg_model *model;
    eg_trainer *trainer;
    eg_train_result result;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    CHECK_OK(eg_model_open(test.context, "cfc:autoncp:8:1,in=1,seed=1", &model, &test.error),
             test.error);
    const eg_train_options with = {.batch = 5, .time = 6, .timespans = 1, .lengths = 1};
    CHECK_OK(eg_trainer_create(model, &with, &trainer, &test.error), test.error);
    const eg_train_batch batch = eg_trainer_batch(trainer);
    double first = 0;
    for (int step = 0; step < 30; step++) {
        for (uint64_t i = 0; i < 5; i++) eg_data_fill(data, NULL, i, 5, 6, i, &batch);
        CHECK_OK(eg_trainer_step(trainer, 0.01, &result, &test.error), test.error);
        if (!step) first = result.loss;
    }
    CHECK(result.loss < 0.7 * first, "a loss of %g after %g", result.loss, first);
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    eg_data_destroy(data);
    data_test_close(&test);
}

/* ---- any options: a status or data whose windows lie in its rows; the sanitizers watch */
static uint64_t next(uint64_t *state, uint64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* A list of columns: mostly one that can be. */
static const char *pick(uint64_t *state) {
    static const char *const good[] = {"a", "b", "1-3", "x", "x.1,a", "2,4", "4-5"},
                             *const bad[] = {"d,", "1-last", "e", "",   "-",
                                             "1-", "a,a",    ",", "99", "4-9"};
    return next(state, 12) ? good[next(state, 7)] : bad[next(state, 10)];
}

static void check_data(data_test *test, const eg_data *data, uint64_t *state) {
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(data, &info);
    CHECK(info.windows && info.inputs && info.steps, "nothing in it");
    const eg_split split = {(eg_split_kind)next(state, 6), (double)next(state, 11) / 10,
                            (double)next(state, 9), (uint32_t)next(state, 5)};
    eg_data *first, *second;
    if (!eg_data_split(data, &split, &first, &second, NULL)) {
        eg_data_info a = {.size = sizeof a}, b = {.size = sizeof b};
        eg_data_info_get(first, &a);
        eg_data_info_get(second, &b);
        CHECK(a.windows && b.windows && a.covered && b.covered, "parts of %d: %d %d",
              (int)info.windows, (int)a.windows, (int)b.windows);
        CHECK(split.kind == EG_SPLIT_WINDOWS || a.covered + b.covered <= info.rows,
              "%d and %d rows of %d", (int)a.covered, (int)b.covered, (int)info.rows);
        eg_data_destroy(first);
        eg_data_destroy(second);
    }
    float mean[8], scale[8], y_mean[8], y_scale[8], time = 0;
    CHECK_OK(
        eg_data_scaling(data, !info.classes, mean, scale, y_mean, y_scale, &time, &test->error),
        test->error);
    const eg_scaling units = {mean, scale, info.classes ? NULL : y_mean,
                              info.classes ? NULL : y_scale, time};
    for (uint64_t i = 0; i <= info.windows; i++) {
        uint64_t first_row, length;
        eg_data_window(data, i, &first_row, &length);
        CHECK(first_row + length <= info.rows && length <= info.steps, "window %d", (int)i);
        test_batch b = test_batch_make(data, 2, info.steps);
        eg_data_fill(data, next(state, 2) ? &units : NULL, i, 2, info.steps, 1, &b.of);
        for (uint64_t t = 0; t < info.steps; t++) {
            const float *x = b.of.x + (2 * t + 1) * info.inputs;
            for (uint64_t k = 0; k < info.inputs; k++) CHECK(isfinite(x[k]), "%g", (double)x[k]);
            CHECK(b.of.timespans[2 * t + 1] >= 0, "span %g", (double)b.of.timespans[2 * t + 1]);
        }
        test_batch_free(&b);
    }
}

TEST(data_parts, any_options) {
    static const char *const names[] = {"a", "b", "c", "x.1", "x.2", "d"}, *const texts[] = {"p",
                                                                                             "q"};
    static const char *const known[] = {"p", "0", "1", "2", "3", "q"};
    eg_column kinds[6] = {{0}};
    data_test test;
    data_test_open(&test);
    uint64_t state = 5;
    int made = 0, turns = getenv("ELEGANS_QUICK") ? 1000 : 6000;
    kinds[5] = (eg_column){EG_COLUMN_LABEL, 2, texts};
    for (int turn = 0; turn < turns; turn++) {
        const uint64_t rows = next(&state, 12);
        double *values = test_alloc((size_t)rows * 6 * sizeof *values);
        eg_table tables[2];
        for (uint64_t i = 0; i < rows * 6; i++)
            values[i] = next(&state, 60) ? (double)next(&state, i % 6 == 5 ? 2 : 4) : NAN;
        for (uint64_t i = 0; i < rows && next(&state, 60); i++) values[6 * i + 2] = (double)(i / 2);
        tables[0] = tables[1] = table_of(rows, 6, next(&state, 4) ? names : NULL, values);
        tables[0].kinds = tables[1].kinds = kinds;
        tables[0].steps = next(&state, 5);
        const eg_data_options options = {
            .inputs = next(&state, 2) ? NULL : pick(&state),
            .targets = next(&state, 4) ? pick(&state) : NULL,
            .time = next(&state, 2) ? NULL : "3",
            .timespans = next(&state, 6) ? NULL : pick(&state),
            .group = next(&state, 6) ? NULL : pick(&state),
            .classes = !next(&state, 4),
            .labels = next(&state, 2) ? NULL : known,
            .label_count = next(&state, 7),
            .missing = (eg_missing)(next(&state, 20) ? 1 + next(&state, 4) : next(&state, 7)),
            .ahead = next(&state, 3) ? 0 : next(&state, 4),
            .window = next(&state, 5),
            .stride = next(&state, 4),
            .partial = (int)next(&state, 2),
            .last = (int)next(&state, 2)};
        eg_data *data;
        const size_t count = 1 + (size_t)next(&state, 2);
        test.error.message[0] = 0;
        if (!eg_data_create(test.context, count, tables, &options, &data, &test.error)) {
            check_data(&test, data, &state);
            made++;
        } else CHECK(test.error.message[0] && !data, "turn %d: no message", turn);
        eg_data_destroy(data);
        free(values);
    }
    CHECK(made > turns / 20, "only %d of %d were data", made, turns);
    data_test_close(&test);
}

/* ---- threads: parts are made, read and destroyed at the same time */
static void *in_thread(void *user) {
    const eg_data *data = user;
    for (uint32_t seed = 0; seed < 20; seed++) {
        const eg_split split = {EG_SPLIT_WINDOWS, 0.3, 0, seed};
        eg_data *first = NULL, *second = NULL;
        if (eg_data_split(data, &split, &first, &second, NULL)) return user;
        float x[8];
        uint64_t row, length;
        const eg_train_batch out = {.x = x};
        eg_data_fill(second, NULL, 0, 1, 4, 0, &out);
        eg_data_window(second, 0, &row, &length);
        eg_data_destroy(first);
        eg_data_destroy(second);
        if (length != 4 || x[0] != (float)row) return user;
    }
    return NULL;
}

TEST(data_parts, threads) {
    data_test test;
    data_test_open(&test);
    static double values[400];
    const eg_table table = counting(values, 200, 0);
    const eg_data_options options = {.inputs = "1,2", .window = 4};
    eg_data *data;
    pthread_t threads[4];
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_thread, data);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong, "thread %d read something else", i);
    }
    eg_data_destroy(data);
    data_test_close(&test);
}
