/* Data sets from tables: columns, missing values, elapsed times, recordings, classes, refusals. */
#include "test_tables.h"

AREA(data,
     "tables to recordings: columns, missing values, elapsed times, classes, memory that runs out")

/* ---- columns */
static void names_text(const eg_data *data, const char *(*name)(const eg_data *, size_t),
                       char *out) {
    out[0] = 0;
    for (size_t i = 0; name(data, i); i++) {
        if (i) strcat(out, ",");
        strcat(out, name(data, i));
    }
}

TEST(data, lists_of_columns) {
    static const char *const names[] = {"a", "b", "x.1", "x.2", "x.y", "2-3", ""};
    static const double values[14] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    static const struct {
        const char *inputs, *want;
        eg_status status;
    } rows[] = {
        {NULL, "a,b,x.1,x.2,x.y,2-3", EG_OK}, /* a column without a name is an index */
        {"b", "b", EG_OK},
        {"2", "b", EG_OK},
        {"2-3", "2-3", EG_OK}, /* a name goes first */
        {"3-4", "x.1,x.2", EG_OK},
        {"x", "x.1,x.2", EG_OK},
        {"last", "7", EG_OK},
        {"6-last,1", "2-3,7,a", EG_OK},
        {" b ,\ta ", "b,a", EG_OK},
        {"", "inputs: an empty name in the list of columns ''", EG_ERR_ARGUMENT},
        {"a,,b", "inputs: an empty name in the list of columns 'a,,b'", EG_ERR_ARGUMENT},
        {"a,", "inputs: an empty name in the list of columns 'a,'", EG_ERR_ARGUMENT},
        {"b,2", "inputs: column 'b' is listed twice", EG_ERR_ARGUMENT},
        {"1-3,x", "inputs: column 'x.1' is listed twice", EG_ERR_ARGUMENT},
        {"c", "inputs: no column 'c'", EG_ERR_NOT_FOUND},
        {"4-3", "inputs: no column '4-3'", EG_ERR_NOT_FOUND},
        {"5-9", "inputs: no column '5-9'", EG_ERR_NOT_FOUND},
        {"0-2", "inputs: no column '0-2'", EG_ERR_NOT_FOUND},
        {"-2", "inputs: no column '-2'", EG_ERR_NOT_FOUND},
        {"x.", "inputs: no column 'x.'", EG_ERR_NOT_FOUND},
    };
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(2, 7, names, values);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_data_options options = {.inputs = rows[i].inputs};
        eg_data *data;
        char text[200] = "";
        const eg_status status =
            eg_data_create(test.context, 1, &table, &options, &data, &test.error);
        if (!status) names_text(data, eg_data_input, text);
        CHECK(status == rows[i].status, "'%s': %s", rows[i].inputs, eg_status_name(status));
        CHECK(status ? strstr(test.error.message, rows[i].want) != NULL
                     : strcmp(text, rows[i].want) == 0,
              "'%s': '%s'", rows[i].inputs, status ? test.error.message : text);
        CHECK(!status || !data, "something is left");
        eg_data_destroy(data);
    }
    char list[400];
    memset(list, 'n', sizeof list - 1);
    list[sizeof list - 1] = 0;
    eg_data *data;
    CHECK_FAILS(eg_data_create(test.context, 1, &table, &(eg_data_options){.inputs = list}, &data,
                               &test.error),
                test.error, EG_ERR_ARGUMENT, "is too long");
    data_test_close(&test);
}

TEST(data, other_columns_are_no_inputs) {
    static const char *const names[] = {"t", "who", "a", "day", "b", "y"};
    static const double values[] = {0, 1, 10, 5, 20, 30, 2, 1, 11, 6, 21, 31};
    static const eg_column kinds[] = {{0}, {0}, {0}, {.kind = EG_COLUMN_DATE}, {0}, {0}};
    data_test test;
    data_test_open(&test);
    eg_table table = table_of(2, 6, names, values);
    table.kinds = kinds;
    eg_data_options options = {.time = "t", .group = "who", .targets = "last"};
    eg_data *data;
    char text[100];
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    names_text(data, eg_data_input, text);
    CHECK_TEXT(text, "a,b");
    names_text(data, eg_data_target, text);
    CHECK_TEXT(text, "y");
    CHECK(!eg_data_class(data, 0), "there are no classes");
    CHECK_TEXT(window_text(data, NULL, 0), "10 20 11 21|2 2|30 31|1 1");
    eg_data_destroy(data);
    /* dates as times; without names, columns have numbers */
    table.names = NULL;
    options = (eg_data_options){.time = "4", .inputs = "3"};
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(data, &info);
    CHECK(info.dates && info.timespans && !info.targets, "dates %d", info.dates);
    CHECK_TEXT(eg_data_input(data, 0), "3");
    CHECK_TEXT(window_text(data, NULL, 0), "10 11|1 1||");
    eg_data_destroy(data);
    data_test_close(&test);
}

/* ---- names with everything in them */
TEST(data, quoted_names) {
    static const char *const names[] = {"a,b", "say \"hi\"", " blank ", "", "2", "x"};
    static const struct {
        const char *list;
        const char *want; /* names, with bars; or a part of the message */
        bool fails;
    } cases[] = {
        {"x", "x", false},
        {"\"a,b\"", "a,b", false},
        {"a,b", "a,b", false}, /* all of it is a name */
        {"x,\"a,b\" , \"say \"\"hi\"\"\",\" blank \"", "x|a,b|say \"hi\"| blank ", false},
        {"say \"hi\"", "say \"hi\"", false}, /* no quote at its beginning */
        {"4", "4", false},                   /* has no name */
        {"\"4\"", "no column has the name '4'", true},
        {"2", "2", false}, /* the name, not the number */
        {"\"x", "a quote does not end in '\"x'", true},
        {"\"x\"y", "a quote does not end", true},
        {"1-2", "a,b|say \"hi\"", false},
    };
    static const double values[] = {1, 2, 3, 4, 5, 6};
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(1, 6, names, values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg_data_options options = {.inputs = cases[i].list};
        eg_data *data;
        const eg_status status =
            eg_data_create(test.context, 1, &table, &options, &data, &test.error);
        CHECK((status != EG_OK) == cases[i].fails, "%s: %s", cases[i].list,
              status ? test.error.message : "no failure");
        if (status) {
            CHECK(strstr(test.error.message, cases[i].want), "%s", test.error.message);
            continue;
        }
        char text[200] = "";
        for (size_t k = 0; eg_data_input(data, k); k++)
            strcat(strcat(text, k ? "|" : ""), eg_data_input(data, k));
        CHECK_TEXT(text, cases[i].want);
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* A data set can be made of the table; or the message has this part. */
static void check_made(data_test *test, const eg_table *table, const eg_data_options *options,
                       size_t row, const char *part) {
    eg_data *data = NULL;
    const eg_status status = eg_data_create(test->context, 1, table, options, &data, &test->error);
    CHECK((status == EG_OK) == !part && (!part || strstr(test->error.message, part)), "row %zu: %s",
          row, status ? test->error.message : "no failure");
    eg_data_destroy(data);
}

/* A model keeps names: those that do not find their column again are refused. */
TEST(data, names_that_are_not_their_own) {
    static const char *const twice[] = {"a", "b", "a"}, *const number[] = {"a", "", "2"},
                             *const fine[] = {"a", "", "3"};
    static const struct {
        const char *const *names;
        const char *inputs, *part; /* NULL = fine */
    } cases[] = {{twice, NULL, "columns 1 and 3 are both called 'a'"},
                 {twice, "1,2", "rename one in the file, or use neither"}, /* 3 is left out */
                 {twice, "2", NULL},
                 {number, "1,2", NULL}, /* "2" is the third */
                 {number, "1-2", "columns 2 and 3 are both called '2'"},
                 {fine, "1-2", NULL}};
    static const double values[] = {1, 2, 3};
    char endless[257];
    memset(endless, 'n', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    const char *const long_names[] = {"a", endless, "c"};
    data_test test;
    data_test_open(&test);
    const eg_table wide = table_of(1, 3, long_names, values);
    eg_data *none;
    CHECK_FAILS(eg_data_create(test.context, 1, &wide, &(eg_data_options){0}, &none, &test.error),
                test.error, EG_ERR_ARGUMENT, "of column 2 is too long");
    endless[255] = 0;
    CHECK_OK(eg_data_create(test.context, 1, &wide, &(eg_data_options){0}, &none, &test.error),
             test.error);
    eg_data_destroy(none);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg_table table = table_of(1, 3, cases[i].names, values);
        const eg_data_options options = {.inputs = cases[i].inputs};
        check_made(&test, &table, &options, i, cases[i].part);
    }
    data_test_close(&test);
}

/* ---- missing inputs. Means and medians by hand, as numpy's nanmean and median have them. */
TEST(data, missing_inputs) {
    static const char *const names[] = {"t", "a", "b", "y"};
    static const double values[] = {0, NAN, 1, 1,   1, 2, NAN, 2, 3, 4,
                                    5, 3,   7, NAN, 7, 4, 8,   6, 9, NAN};
    static const struct {
        eg_missing missing;
        const char *raw, *standard;
    } rows[] = {
        {EG_MISSING_DROP, "4 5 6 9|5 5|3 0|1 0", "1 1 2 2|2.5 2.5|-3 0|1 0"},
        {EG_MISSING_PREVIOUS, "4 1 2 1 4 5 4 7 6 9|1.5 1 2 4 1|1 2 3 4 0|1 1 1 1 0",
         "0 0 0 0 1 1 1 1.5 2 2|0.75 0.5 1 2 0.5|-5 -4 -3 -2 0|1 1 1 1 0"},
        {EG_MISSING_MEAN, "4 1 2 5.5 4 5 4 7 6 9|1.5 1 2 4 1|1 2 3 4 0|1 1 1 1 0",
         "0 0 0 0 1 1 0 1.5 2 2|0.75 0.5 1 2 0.5|-5 -4 -3 -2 0|1 1 1 1 0"},
        {EG_MISSING_ZERO, "0 1 2 0 4 5 0 7 6 9|1.5 1 2 4 1|1 2 3 4 0|1 1 1 1 0",
         "-1 0 0 -0.25 1 1 -1 1.5 2 2|0.75 0.5 1 2 0.5|-5 -4 -3 -2 0|1 1 1 1 0"},
    };
    const eg_scaling units = {.input_mean = (float[]){2, 1},
                              .input_scale = (float[]){2, 4},
                              .output_mean = (float[]){6},
                              .output_scale = (float[]){1},
                              .time = 2};
    data_test test;
    data_test_open(&test);
    const eg_table table = table_of(5, 4, names, values);
    eg_data_options options = {.time = "t", .targets = "y"};
    eg_data *data;
    CHECK_FAILS(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error,
                EG_ERR_FORMAT, "row 1, column 'a': no value");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_data_info info = {.size = sizeof info};
        options.missing = rows[i].missing;
        CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
        eg_data_info_get(data, &info);
        CHECK(info.missing == 3, "%s: %d missing", eg_missing_name(rows[i].missing),
              (int)info.missing);
        CHECK_TEXT(window_text(data, NULL, 0), rows[i].raw);
        CHECK_TEXT(window_text(data, &units, 0), rows[i].standard);
        eg_data_destroy(data);
    }
    /* a mean alone says what is missing, and changes nothing else */
    options.missing = EG_MISSING_MEAN;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    static const float own[] = {70, 80};
    CHECK_TEXT(window_text(data, &(eg_scaling){.input_mean = own}, 0),
               "70 1 2 80 4 5 70 7 6 9|1.5 1 2 4 1|1 2 3 4 0|1 1 1 1 0");
    eg_data_destroy(data);
    CHECK(!eg_missing_name((eg_missing)5) &&
              strcmp(eg_missing_name(EG_MISSING_ERROR), "error") == 0,
          "names");
    data_test_close(&test);
}

TEST(data, previous_is_of_the_same_recording) {
    static const double values[] = {1, 3, NAN, NAN, NAN, 8};
    data_test test;
    data_test_open(&test);
    eg_table table = table_of(6, 1, NULL, values);
    table.steps = 3;
    const eg_data_options options = {.missing = EG_MISSING_PREVIOUS};
    eg_data *data;
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    CHECK_TEXT(window_text(data, NULL, 0), "1 3 3|1 1 1||");
    CHECK_TEXT(window_text(data, NULL, 1), "3.75 3.75 8|1 1 1||"); /* the mean of 1 3 3 8 */
    eg_data_destroy(data);
    data_test_close(&test);
}

/* ---- elapsed times */
TEST(data, timespans) {
    static const struct {
        double values[8]; /* a and elapsed time (or a time) of four rows */
        eg_data_options options;
        const char *want;
        int timespans;
        float span; /* the usual one */
    } rows[] = {
        {{1, 2, 2, 3, 3, 4, 4, 0}, {.timespans = "s"}, "1 2 3 4|2 3 4 0||", 1, 3},
        /* what a model learned goes before the median, but not before a column that says it */
        {{1, 2, 2, 3, 3, 4, 4, 0},
         {.timespans = "s", .first_timespan = 9},
         "1 2 3 4|2 3 4 0||",
         1,
         3},
        {{1, 5, 2, 5, 3, 9, 4, 11}, {.time = "s", .first_timespan = 9}, "1 2 3 4|9 0 4 2||", 1, 9},
        {{1, 5, 2, 5, 3, 9, 4, 11}, {.time = "s", .first_timespan = -1}, "1 2 3 4|0 0 4 2||", 1, 0},
        {{1, 2, NAN, 3, 3, 4, 4, 0},
         {.timespans = "s", .missing = EG_MISSING_DROP},
         "1 3 4|2 7 0||",
         1,
         4.5f},
        {{NAN, 2, 2, 3, 3, 4, 4, 0},
         {.timespans = "s", .missing = EG_MISSING_DROP},
         "2 3 4|5 4 0||",
         1,
         4.5f},
        {{1, 5, 2, 5, 3, 9, 4, 11}, {.time = "s"}, "1 2 3 4|3 0 4 2||", 1, 3},
        {{1, 5, 2, 5, 3, 5, 4, 5}, {.time = "s"}, "1 2 3 4|1 0 0 0||", 1, 1},
        /* a row that is left out needs no time */
        {{1, 5, NAN, NAN, 3, 9, 4, 11},
         {.time = "s", .missing = EG_MISSING_DROP},
         "1 3 4|3 4 2||",
         1,
         3},
        /* without times, rows are 1 apart, and so are those that are left out */
        {{1, 0, NAN, 0, 3, 0, 4, 0},
         {.inputs = "a", .missing = EG_MISSING_DROP},
         "1 3 4|1 2 1||",
         1,
         1},
        {{NAN, 0, 2, 0, 3, 0, NAN, 0},
         {.inputs = "a", .missing = EG_MISSING_DROP},
         "2 3|1 1||",
         0,
         1},
        {{1, 0, 2, 0, 3, 0, 4, 0}, {.inputs = "a"}, "1 2 3 4|1 1 1 1||", 0, 1},
    };
    static const char *const names[] = {"a", "s"};
    data_test test;
    data_test_open(&test);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_table table = table_of(4, 2, names, rows[i].values);
        eg_data *data;
        eg_data_info info = {.size = sizeof info};
        CHECK_OK(eg_data_create(test.context, 1, &table, &rows[i].options, &data, &test.error),
                 test.error);
        eg_data_info_get(data, &info);
        CHECK(info.timespans == rows[i].timespans, "row %zu: spans %d", i, info.timespans);
        CHECK(info.span == rows[i].span, "row %zu: %g passes before the first", i,
              (double)info.span);
        CHECK_TEXT(window_text(data, NULL, 0), rows[i].want);
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* ---- recordings */
TEST(data, recordings) {
    static const char *const names[] = {"g", "a", "y"};
    static const double one[] = {1, 1, 10, 1, 2, 20, 1, 3, 30, 2, 4, 40, 2, 5, 50},
                        two[] = {2, 6, 60, 2, NAN, 70, 2, 8, 80};
    data_test test;
    data_test_open(&test);
    eg_table tables[] = {table_of(5, 3, names, one), table_of(3, 3, names, two)};
    static const struct {
        uint64_t steps, ahead;
        const char *group;
        int recordings;
        const char *want; /* all of them, one after the other */
    } rows[] = {
        {0, 0, NULL, 2, "1 2 3 4 5|1 1 1 1 1|10 20 30 40 50|1 1 1 1 1;6 8|1 2|60 80|1 1;"},
        {0, 0, "g", 3, "1 2 3|1 1 1|10 20 30|1 1 1;4 5|1 1|40 50|1 1;6 8|1 2|60 80|1 1;"},
        {2, 0, NULL, 5, "1 2|1 1|10 20|1 1;3 4|1 1|30 40|1 1;5|1|50|1;6|1|60|1;8|1|80|1;"},
        {2, 0, "g", 5, "1 2|1 1|10 20|1 1;3|1|30|1;4 5|1 1|40 50|1 1;6|1|60|1;8|1|80|1;"},
        /* rows below are those of the table, also when they are left out themselves */
        {0, 1, "g", 3, "1 2|1 1|20 30|1 1;4|1|50|1;6|1|70|1;"},
        {0, 2, "g", 2, "1|1|30|1;6|1|80|1;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_data_options options = {.inputs = "a",
                                         .targets = "y",
                                         .group = rows[i].group,
                                         .ahead = rows[i].ahead,
                                         .missing = EG_MISSING_DROP};
        eg_data *data;
        eg_data_info info = {.size = sizeof info};
        char text[400] = "";
        tables[0].steps = tables[1].steps = rows[i].steps;
        CHECK_OK(eg_data_create(test.context, 2, tables, &options, &data, &test.error), test.error);
        eg_data_info_get(data, &info);
        for (uint64_t w = 0; w < info.windows; w++)
            strcat(strcat(text, window_text(data, NULL, w)), ";");
        CHECK((int)info.recordings == rows[i].recordings, "row %zu: %d recordings", i,
              (int)info.recordings);
        CHECK_TEXT(text, rows[i].want);
        /* where rows come from: the last one, which may have others left out before it */
        size_t table = 9;
        uint64_t row = 9;
        eg_data_row(data, info.rows - 1, &table, &row);
        CHECK(table == 1 && row == (rows[i].ahead ? 0 : 2), "row %zu: from %zu, %d", i, table,
              (int)row);
        eg_data_row(data, 0, &table, &row);
        CHECK(table == 0 && row == 0, "row %zu: from %zu, %d", i, table, (int)row);
        eg_data_row(data, info.rows, &table, &row);
        CHECK(table == 2, "past the last row");
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* ---- classes */
static const char *const animals[] = {"cat", "dog", "eel"}, *const fewer[] = {"dog", "ant", "4"};
static const eg_column labels[] = {{0}, {EG_COLUMN_LABEL, 3, animals}},
                       other_labels[] = {{0}, {EG_COLUMN_LABEL, 2, fewer}};

TEST(data, classes) {
    static const double numbers[] = {0, 7, 0, 3, 0, NAN, 0, 30}, seven[] = {0, 4},
                        minus[] = {0, -0.0, 0, 1}, named[] = {0, 2, 0, NAN, 0, 0},
                        others[] = {0, 1, 0, 0};
    static const char *const model[] = {"eel", "4", "cat"}, *const yes_no[] = {"1", "0"},
                             *const figures[] = {"30", "3", "7", "1"};
    eg_table plain = table_of(4, 2, NULL, numbers), four = table_of(1, 2, NULL, seven),
             signs = table_of(2, 2, NULL, minus), first = table_of(3, 2, NULL, named),
             second = table_of(2, 2, NULL, others);
    first.kinds = labels;
    second.kinds = other_labels;
    const struct {
        eg_table tables[3];
        size_t count;
        const char *const *labels;
        size_t label_count;
        const char *names, *want;
    } rows[] = {
        {{plain}, 1, NULL, 0, "3,7,30", "1 0 0 2|1 1 0 1;"}, /* in the order of numbers */
        {{plain}, 1, figures, 4, "30,3,7,1", "2 1 0 0|1 1 0 1;"},
        {{signs}, 1, NULL, 0, "0,1", "0 1|1 1;"},
        {{signs}, 1, yes_no, 2, "1,0", "1 0|1 1;"},
        {{first}, 1, NULL, 0, "cat,dog,eel", "2 0 0|1 0 1;"},
        {{first, second}, 2, NULL, 0, "ant,cat,dog,eel", "3 0 1|1 0 1;0 2|1 1;"},
        {{first, four}, 2, NULL, 0, "4,cat,dog,eel", "3 0 1|1 0 1;0|1;"},
        {{first, four}, 2, model, 3, "eel,4,cat", "0 0 2|1 0 1;1|1;"},
    };
    const eg_scaling units = {.output_mean = (float[]){5},
                              .output_scale = (float[]){3}}; /* not of classes */
    data_test test;
    data_test_open(&test);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_data_options options = {.inputs = "1",
                                         .targets = "2",
                                         .classes = 1,
                                         .labels = rows[i].labels,
                                         .label_count = rows[i].label_count};
        eg_data *data;
        eg_data_info info = {.size = sizeof info};
        char text[300] = "";
        CHECK_OK(eg_data_create(test.context, rows[i].count, rows[i].tables, &options, &data,
                                &test.error),
                 test.error);
        names_text(data, eg_data_class, text);
        CHECK_TEXT(text, rows[i].names);
        eg_data_info_get(data, &info);
        text[0] = 0;
        for (uint64_t w = 0; w < info.windows; w++) /* after the second '|': targets and weights */
            strcat(strcat(text, strchr(strchr(window_text(data, &units, w), '|') + 1, '|') + 1),
                   ";");
        CHECK_TEXT(text, rows[i].want);
        float mean[1], scale[1];
        CHECK_FAILS(eg_data_scaling(data, 1, mean, scale, mean, scale, NULL, &test.error),
                    test.error, EG_ERR_ARGUMENT, "classes have no units");
        eg_data_destroy(data);
    }
    data_test_close(&test);
}

/* A column that would be an input, were its commas known to be decimal ones, is named; texts are none. */
TEST(data, columns_of_decimal_commas) {
    static const char *const names[] = {"a", "b"}, *const commas[] = {"1,5", "2", "2,25"},
                             *const texts[] = {"1,5", "2,5", "none"};
    static const double values[] = {1, 0, 2, 1, 3, 2};
    static const struct {
        eg_column kinds[2];
        eg_data_options options;
        const char *part; /* NULL = fine */
    } rows[] = {{{{0}, {EG_COLUMN_LABEL, 3, commas}},
                 {0},
                 "inputs: column 'b' has labels, such as '1,5'; decimal commas need --decimal ,"},
                {{{0}, {EG_COLUMN_LABEL, 3, texts}}, {0}, NULL},
                {{{0}, {EG_COLUMN_LABEL, 3, commas}}, {.inputs = "a"}, NULL},
                {{{0}, {EG_COLUMN_LABEL, 3, commas}}, {.targets = "b", .classes = 1}, NULL}};
    data_test test;
    data_test_open(&test);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table table = table_of(3, 2, names, values);
        table.kinds = rows[i].kinds;
        check_made(&test, &table, &rows[i].options, i, rows[i].part);
    }
    data_test_close(&test);
}

/* ---- refusals */
typedef struct refusal {
    eg_data_options options;
    double values[8]; /* of a, t, y, k: two rows */
    eg_status status;
    const char *part;
} refusal;

TEST(data, refusals) {
    static const char *const names[] = {"a", "t", "y", "k"}, *const none[] = {NULL};
    static const uint64_t lines[] = {2, 5};
    static const eg_column kinds[] = {{0}, {0}, {0}, {EG_COLUMN_LABEL, 3, animals}};
    static const refusal rows[] = {
        {{.missing = (eg_missing)7}, {0}, EG_ERR_ARGUMENT, "unknown policy 7"},
        {{.time = "t", .timespans = "a"},
         {0},
         EG_ERR_ARGUMENT,
         "times 't' and one of elapsed times 'a'"},
        {{.classes = 1}, {0}, EG_ERR_ARGUMENT, "class labels are given, but no target column"},
        {{.classes = 1, .targets = "a,y"},
         {0},
         EG_ERR_ARGUMENT,
         "classes need one target column, got 2"},
        {{.classes = 1, .targets = "k", .labels = none, .label_count = 1},
         {0},
         EG_ERR_ARGUMENT,
         "label 1 is NULL"},
        {{.classes = 1, .targets = "k", .labels = none},
         {0},
         EG_ERR_ARGUMENT,
         "the list of labels is empty"},
        {{.classes = 1, .targets = "y"},
         {0, 0, NAN, 0, 0, 0, NAN, 0},
         EG_ERR_ARGUMENT,
         "the target has no class: all its values are missing"},
        {{.time = "z"}, {0}, EG_ERR_NOT_FOUND, "time: no column 'z'"},
        {{.timespans = "z"}, {0}, EG_ERR_NOT_FOUND, "spans: no column 'z'"},
        {{.group = "z"}, {0}, EG_ERR_NOT_FOUND, "group: no column 'z'"},
        {{.targets = "z"}, {0}, EG_ERR_NOT_FOUND, "targets: no column 'z'"},
        {{.inputs = "k"}, {0}, EG_ERR_ARGUMENT, "inputs: column 'k' has labels"},
        {{.targets = "k"}, {0}, EG_ERR_ARGUMENT, "targets: column 'k' has labels"},
        {{.time = "k"}, {0}, EG_ERR_ARGUMENT, "time: column 'k' has labels"},
        {{.timespans = "k"}, {0}, EG_ERR_ARGUMENT, "spans: column 'k' has labels"},
        {{.targets = "a,y", .group = "t"}, {0}, EG_ERR_ARGUMENT, "no column is left as an input"},
        {{.window = 3},
         {0},
         EG_ERR_ARGUMENT,
         "a window of 3 rows is longer than the longest recording, which has 2"},
        {{.targets = "y", .ahead = 2}, {0}, EG_ERR_ARGUMENT, "no row is left"},
        {{.inputs = "a", .missing = EG_MISSING_DROP},
         {NAN, 0, 0, 0, NAN},
         EG_ERR_ARGUMENT,
         "no row is left"},
        {{.inputs = "a"}, {0, 0, 0, 0, NAN}, EG_ERR_FORMAT, "line 5, column 'a': no value"},
        {{.inputs = "a"}, {INFINITY}, EG_ERR_FORMAT, "line 2, column 'a': 'inf' is beyond"},
        {{.inputs = "a"}, {1e39}, EG_ERR_FORMAT, "line 2, column 'a': '1e+39' is beyond"},
        {{.targets = "y"}, {0, 0, -1e39}, EG_ERR_FORMAT, "line 2, column 'y': '-1e+39' is beyond"},
        {{.targets = "y", .ahead = 1},
         {0, 0, 0, 0, 0, 0, INFINITY},
         EG_ERR_FORMAT,
         "line 5, column 'y': 'inf'"},
        {{.time = "t"},
         {0, 7, 0, 0, 0, 4},
         EG_ERR_FORMAT,
         "line 5, column 't': time goes back by 3"},
        {{.time = "t"}, {0, NAN}, EG_ERR_FORMAT, "line 2, column 't': no time"},
        {{.time = "t"},
         {0, INFINITY},
         EG_ERR_FORMAT,
         "line 2, column 't': time 'inf' is not finite"},
        {{.time = "t"}, {0, 0, 0, 0, 0, 1e39}, EG_ERR_FORMAT, "'1e+39' since the row before"},
        {{.timespans = "t"},
         {0, 1, 0, 0, 0, -2},
         EG_ERR_FORMAT,
         "line 5, column 't': elapsed time '-2'"},
        {{.timespans = "t"}, {0, NAN}, EG_ERR_FORMAT, "line 2, column 't': no elapsed time"},
        {{.timespans = "t"}, {0, INFINITY}, EG_ERR_FORMAT, "elapsed time 'inf' is beyond"},
        {{.group = "t"}, {0, 1, 0, 0, 0, NAN}, EG_ERR_FORMAT, "line 5, column 't': no group"},
        {{.classes = 1, .targets = "y"},
         {0, 0, 0, 0, 0, 0, 1.5},
         EG_ERR_FORMAT,
         "line 5, column 'y': '1.5' is no class number"},
        {{.classes = 1, .targets = "y"}, {0, 0, -1}, EG_ERR_FORMAT, "'-1' is no class number"},
        {{.classes = 1, .targets = "y"},
         {0, 0, INFINITY},
         EG_ERR_FORMAT,
         "'inf' is no class number"},
        {{.classes = 1, .targets = "k", .labels = fewer, .label_count = 2},
         {0, 0, 0, 1, 0, 0, 0, 2},
         EG_ERR_FORMAT,
         "line 5, column 'k': 'eel' is no label of the model"},
        {{.classes = 1, .targets = "y", .labels = fewer, .label_count = 3},
         {0, 0, 4, 0, 0, 0, 5},
         EG_ERR_FORMAT,
         "line 5, column 'y': '5' is no label of the model"},
        {{.classes = 1, .targets = "k"}, {0, 0, 0, 3}, EG_ERR_FORMAT, "column 'k': label '3' of 3"},
    };
    data_test test;
    data_test_open(&test);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table table = table_of(2, 4, names, rows[i].values);
        eg_data *data = (eg_data *)&table;
        table.lines = lines;
        table.kinds = kinds;
        CHECK_FAILS(eg_data_create(test.context, 1, &table, &rows[i].options, &data, &test.error),
                    test.error, rows[i].status, rows[i].part);
        CHECK(!data, "row %zu: something is left", i);
    }
    data_test_close(&test);
}

TEST(data, tables_that_do_not_go_together) {
    static const char *const ab[] = {"a", "b"}, *const ac[] = {"a", "c"},
                             *const nothing[] = {"", "b"};
    static const double values[] = {1, 2, 3, NAN};
    static const eg_column date[] = {{EG_COLUMN_DATE, 0, NULL}, {0}};
    const eg_table good = table_of(2, 2, ab, values);
    eg_table dates = good, empty = good, huge = good, long_one = good;
    dates.kinds = date;
    empty.values = NULL;
    huge.rows = UINT64_MAX / 2 + 1; /* times two columns is 0 */
    long_one.rows = UINT64_MAX / 2;
    const struct {
        eg_table second;
        const char *time;
        eg_status status;
        const char *part;
    } rows[] = {
        {table_of(2, 1, NULL, values), NULL, EG_ERR_ARGUMENT,
         "table 2 has 1 columns, the first has 2"},
        {table_of(2, 2, NULL, values), NULL, EG_ERR_ARGUMENT, "table 2 has no header"},
        {table_of(2, 2, ac, values), NULL, EG_ERR_ARGUMENT,
         "column 2 is 'c' in table 2, 'b' in the first"},
        {table_of(0, 0, ab, values), NULL, EG_ERR_ARGUMENT, "table 2 has no columns"},
        {empty, NULL, EG_ERR_ARGUMENT, "table 2 has no values"},
        {huge, NULL, EG_ERR_OVERFLOW, "rows of 2 columns do not fit"},
        {long_one, NULL, EG_ERR_OVERFLOW, ""},
        {dates, "a", EG_ERR_ARGUMENT, "time: dates in one table, but numbers in another"},
        {good, NULL, EG_ERR_FORMAT, "row 2 of table 1, column 'b': no value"},
    };
    data_test test;
    data_test_open(&test);
    eg_data *data;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_table tables[] = {good, rows[i].second};
        const eg_data_options options = {.time = rows[i].time};
        CHECK_FAILS(eg_data_create(test.context, 2, tables, &options, &data, &test.error),
                    test.error, rows[i].status, rows[i].part);
    }
    /* one that calls its index nothing goes with one that has a name for it */
    const eg_table tables[] = {good, table_of(1, 2, nothing, values)};
    const eg_data_options zero = {.missing = EG_MISSING_ZERO};
    CHECK_OK(eg_data_create(test.context, 2, tables, &zero, &data, &test.error), test.error);
    CHECK_TEXT(eg_data_input(data, 0), "b");
    CHECK(!eg_data_input(data, 1), "a is an index in one of them");
    eg_data_destroy(data);
    CHECK_FAILS(eg_data_create(test.context, 0, tables, &zero, &data, &test.error), test.error,
                EG_ERR_ARGUMENT, "no context, tables or output pointer");
    CHECK_FAILS(eg_data_create(NULL, 1, tables, &zero, &data, NULL), test.error, EG_ERR_ARGUMENT,
                "");
    data_test_close(&test);
}

/* ---- from a file */
TEST(data, a_file) {
    static const char text[] = "id,t,u,y\n1,0,0.5,1\n2,10,,2\n3,30,1.5,3\n4,40,2.5,4\n";
    char path[300];
    snprintf(path, sizeof path, "%s/data.csv", test_folder());
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && !fclose(file), "cannot write %s", path);
    data_test test;
    data_test_open(&test);
    eg_table table;
    eg_data *data;
    CHECK_OK(eg_csv_read(test.context, path, &table, &test.error), test.error);
    const eg_data_options options = {
        .inputs = "u", .targets = "y", .time = "t", .missing = EG_MISSING_PREVIOUS, .ahead = 1};
    CHECK_OK(eg_data_create(test.context, 1, &table, &options, &data, &test.error), test.error);
    eg_table_release(test.context, &table); /* it need not stay */
    CHECK_TEXT(window_text(data, NULL, 0), "0.5 0.5 1.5|15 10 20|2 3 4|1 1 1");
    eg_data_destroy(data);
    data_test_close(&test);
}

/* ---- memory that runs out */
static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    const eg_table *tables = user;
    const eg_context_options with = {.allocator = *allocator, .threads = 1};
    const eg_data_options options = {
        .inputs = "1", .targets = "2", .classes = 1, .time = "1", .group = "2", .window = 1};
    const eg_split split = {EG_SPLIT_RECORDINGS, 0.5, 0, 1};
    eg_context *context;
    eg_data *data = NULL, *first = NULL, *second = NULL;
    float mean[1], scale[1], time;
    eg_metrics *metrics = NULL;
    eg_status status = eg_context_create(&with, &context, error);
    if (status) return status;
    status = eg_data_create(context, 3, tables, &options, &data, error);
    if (!status) status = eg_data_split(data, &split, &first, &second, error);
    if (!status) status = eg_data_scaling(first, 0, mean, scale, NULL, NULL, &time, error);
    if (!status) status = eg_metrics_create(context, EG_LOSS_CLASSES, 3, 3, &metrics, error);
    eg_metrics_destroy(metrics);
    eg_data_destroy(data);
    eg_data_destroy(first);
    eg_data_destroy(second);
    eg_context_destroy(context);
    return status;
}

TEST(data, every_allocation) {
    static const double values[] = {0, 2, 1, 2, 2, 0, 3, 0}, number[] = {0, 4};
    eg_table tables[] = {table_of(4, 2, NULL, values), table_of(4, 2, NULL, values),
                         table_of(1, 2, NULL, number)};
    tables[0].kinds = tables[1].kinds = labels;
    int failed = test_every_allocation(attempt, tables);
    tables[0].kinds = tables[1].kinds = NULL;
    failed += test_every_allocation(attempt, tables);
    CHECK(failed > 30, "%d allocations failed", failed);
}
