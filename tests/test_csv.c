/* Tables of numbers: good and broken files, what is written is read back, memory that runs out. */
#include "test_formats.h"
#include "elegans/elegans.h"
#include "formats/tables/table.h"

#include <locale.h>
#include <math.h>

AREA(csv, "tables of numbers: separators, quotes, headers, broken files, round trips")

static eg_status decode(test_memory *test, const char *text, eg_table *out, eg_error *error) {
    /* exactly as long as it is, so that the sanitizer sees its end */
    const size_t length = strlen(text);
    char *bytes = test_alloc(length);
    memcpy(bytes, text, length);
    eg_status status = eg__csv_decode(test->memory, bytes, length, out, error);
    free(bytes);
    return status;
}

TEST(csv, good_files) {
    static const struct {
        const char *text;
        uint64_t rows, columns;
        const char *first; /* name, NULL = no header */
        double values[6];
    } rows[] = {
        {"1,2\n3,4\n", 2, 2, NULL, {1, 2, 3, 4}},
        {"1,2\n3,4", 2, 2, NULL, {1, 2, 3, 4}},
        {"1,2\r\n3,4\r\n", 2, 2, NULL, {1, 2, 3, 4}},
        {"1,2\r\n3,4\r\n\r\n\r\n", 2, 2, NULL, {1, 2, 3, 4}},
        {"1,2\n\n\n", 1, 2, NULL, {1, 2}},
        {"a,b\n3,4\n", 1, 2, "a", {3, 4}},
        {"1,b\n3,4\n", 1, 2, "1", {3, 4}},
        {",x\n3,4\n", 1, 2, "", {3, 4}},
        {"a;b\n1;2\n", 1, 2, "a", {1, 2}},
        {"a\tb\n1\t2\n", 1, 2, "a", {1, 2}},
        {"a,1;b\n1;2\n", 1, 2, "a,1", {1, 2}},
        {"\"a;b\",c\n1,2\n", 1, 2, "a;b", {1, 2}},
        {"\xef\xbb\xbfx,y\n1,2\n", 1, 2, "x", {1, 2}},
        {"\"a \"\"b\"\"\",c\n1,2\n", 1, 2, "a \"b\"", {1, 2}},
        {"\"two\nlines\",c\n1,2\n", 1, 2, "two\nlines", {1, 2}},
        {" 1 , -2.5e3\n+3,.5\n", 2, 2, NULL, {1, -2500, 3, .5}},
        {"\"1\",\"2\"\n", 1, 2, NULL, {1, 2}},
        {",nan\nNA,NaN\n", 2, 2, NULL, {NAN, NAN, NAN, NAN}},
        {"1,inf\n-inf,4\n", 2, 2, NULL, {1, INFINITY, -INFINITY, 4}},
        {"x\n", 0, 1, "x", {0}},
        {"7", 1, 1, NULL, {7}},
        {"1,2,\n", 1, 3, NULL, {1, 2, NAN}},
        {"1,2,", 1, 3, NULL, {1, 2, NAN}},
        {"1\n\n3\n", 3, 1, NULL, {1, NAN, 3}}, /* of one field, one that is missing */
        {"\n1\n\n3\n\n\n", 3, 1, NULL, {1, NAN, 3}},
        {"1\n3\n  \n \r\n\n ", 2, 1, NULL, {1, 3}},
        {" \n1 \r\n3 ", 2, 1, NULL, {1, 3}},
        {"\n\r\n  \na,b\n\n1,2\n   \n\r\n3,4\n \n\n", 2, 2, "a", {1, 2, 3, 4}},
        {"a,b\r\n\r\n1,2\r\n \r\n3,4\r\n\r\n", 2, 2, "a", {1, 2, 3, 4}},
        {"a;b\n1;2\n\n3;4\n  ", 2, 2, "a", {1, 2, 3, 4}},
        {"1\t2\n\t\n3\t4\n", 3, 2, NULL, {1, 2, NAN, NAN, 3, 4}}, /* fields, though empty */
        /* records that are passed at once, and those that are not */
        {"a,b\n\"1\",2\n3,4\n", 2, 2, "a", {1, 2, 3, 4}},
        {"a,b\n1,2\n\"3\",\"4\"", 2, 2, "a", {1, 2, 3, 4}},
        {"a long name,another one;\n1;2\n123456789;987654321\n",
         2,
         2,
         "a long name,another one",
         {1, 2, 123456789, 987654321}},
        {"12345678,2345678,3456789\n1,2,3\n", 2, 3, NULL, {12345678, 2345678, 3456789, 1, 2, 3}},
        {"1700000000.125\n", 1, 1, NULL, {1700000000.125}},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table t;
        eg_error error = {0};
        CHECK_OK(decode(&test, rows[i].text, &t, &error), error);
        CHECK(t.rows == rows[i].rows && t.columns == rows[i].columns, "row %zu: %llu x %llu", i,
              (unsigned long long)t.rows, (unsigned long long)t.columns);
        CHECK(rows[i].first ? t.names && strcmp(t.names[0], rows[i].first) == 0 : !t.names,
              "row %zu: the first name is '%s'", i, t.names ? t.names[0] : "(none)");
        for (uint64_t k = 0; k < t.rows * t.columns; k++)
            CHECK(t.values[k] == rows[i].values[k] ||
                      (isnan(t.values[k]) && isnan(rows[i].values[k])),
                  "row %zu: value %d is %g", i, (int)k, t.values[k]);
        eg__table_release(test.memory, &t);
    }
    test_memory_close(&test);
}

TEST(csv, broken_files) {
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "the file has no lines"},
        {"\xef\xbb\xbf", "the file has no lines"},
        {"1,2\n3\n", "line 2: 1 fields where 2 belong"},
        {"1,2\n3,4,5\n", "line 2: 3 fields where 2 belong"},
        {"1,2\n3\n3,4\n", "line 2: 1 fields where 2 belong"},
        {"1,2\n\n3\n", "line 3: 1 fields where 2 belong"},
        {"a,b\n1,x\n", "line 2, field 2 ('b'): 'x' is not a number"},
        {"1,2\n3,4x\n", "line 2, field 2: '4x' is not a number"},
        {"1;2\n1,5;2\n", "line 2, field 1: '1,5' is not a number"},
        {"1,2\n0x10,2\n", "'0x10' is not a number"},
        {"1,2\n3,4\xff\n", "'4?' is not a number"},
        {"1,2\n1 2,3\n", "'1 2' is not a number"},
        {"a,\"b\n1,2\n", "line 1, field 2: a quote does not end"},
        {"a,b\n1,\"2\n", "line 2, field 2: a quote does not end"},
        {"a,b\n1,\"2\"3\n", "line 2, field 2: text after a quote"},
        {"a,b\n1,2\"\n", "line 2, field 2: a quote inside of a field"},
        {"\"two\nlines\",b\n1,x\n", "line 3, field 2"},
        {"1\n1\r2\n", "line 2, field 1: '1?2' is not a number"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table t;
        eg_error error = {0};
        CHECK_FAILS(decode(&test, rows[i].text, &t, &error), error, EG_ERR_FORMAT, rows[i].part);
        CHECK(!t.values && !t.names && !t.rows, "row %zu: something is left", i);
    }
    eg_table t;
    eg_error error = {0};
    CHECK_FAILS(eg__csv_decode(test.memory, "a\0b,c\n", 6, &t, &error), error, EG_ERR_FORMAT,
                "line 1, field 1: a zero byte");
    CHECK_FAILS(eg__csv_decode(test.memory, "1\n2\0", 4, &t, &error), error, EG_ERR_FORMAT,
                "line 2, field 1");
    test_memory_close(&test);
}

TEST(csv, columns_by_name_and_number) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_table t;
    eg_error error = {0};
    uint64_t at = 9;
    CHECK_OK(decode(&test, "t,x,x,3\n1,2,3,4\n", &t, &error), error);
    CHECK_OK(eg_table_column(&t, "t", &at, &error), error);
    CHECK(at == 0, "t is %d", (int)at);
    CHECK_OK(eg_table_column(&t, "2", &at, &error), error);
    CHECK(at == 1, "2 is %d", (int)at);
    CHECK_OK(eg_table_column(&t, "3", &at, &error), error); /* a name */
    CHECK(at == 3, "3 is %d", (int)at);
    CHECK_OK(eg_table_column(&t, "last", &at, &error), error);
    CHECK(at == 3, "last is %d", (int)at);
    CHECK_FAILS(eg_table_column(&t, "x", &at, &error), error, EG_ERR_ARGUMENT,
                "2 columns are called 'x'");
    CHECK_FAILS(eg_table_column(&t, "y", &at, &error), error, EG_ERR_NOT_FOUND, "no column 'y'");
    CHECK_FAILS(eg_table_column(&t, "0", &at, &error), error, EG_ERR_NOT_FOUND, "no column '0'");
    CHECK_FAILS(eg_table_column(&t, "5", &at, &error), error, EG_ERR_NOT_FOUND, "no column '5'");
    eg__table_release(test.memory, &t);
    CHECK_OK(decode(&test, "1,2\n", &t, &error), error);
    CHECK_FAILS(eg_table_column(&t, "a", &at, &error), error, EG_ERR_NOT_FOUND,
                "no column 'a': there are 2 columns, counted from 1");
    CHECK_FAILS(eg_table_column(NULL, "a", &at, &error), error, EG_ERR_ARGUMENT, "no table");
    eg__table_release(test.memory, &t);
    /* more names than a message has room for */
    CHECK_OK(decode(&test,
                    "c10,c11,c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,"
                    "c29\n0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9\n",
                    &t, &error),
             error);
    CHECK_FAILS(
        eg_table_column(&t, "zebra", &at, &error), error, EG_ERR_NOT_FOUND,
        "no column 'zebra'; columns: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, "
        "c21, c22, c23, c24, c25, c26, c27, ...");
    eg__table_release(test.memory, &t);
    test_memory_close(&test);
}

TEST(csv, rows_as_text) {
    static const struct {
        eg_csv_options options;
        double values[3];
        const char *text;
    } rows[] = {
        {{.digits = 0, .single = 0}, {1, 0.1, NAN}, "1,0.1,nan"},
        {{.digits = 0, .single = 1},
         {(double)0.1f, 1e-30f, (double)(1.0f / 3)},
         "0.1,1e-30,0.33333334"},
        {{.digits = 0, .single = 0}, {(double)0.1f, 0, 0}, "0.10000000149011612,0,0"},
        {{.digits = 4, .single = 0}, {-0.00001, 2.00005, INFINITY}, "0.0000,2.0000,inf"},
        {{.digits = 2, .single = 1}, {-1.5, -0.0, 1e20}, "-1.50,0.00,100000000000000000000.00"}};
    char text[200], tiny[4];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = eg_csv_row(text, sizeof text, rows[i].values, 3, &rows[i].options);
        CHECK(length == strlen(text) && strcmp(text, rows[i].text) == 0, "'%s'", text);
    }
    CHECK(eg_csv_row(tiny, sizeof tiny, (double[]){12, 345}, 2, NULL) == 6, "its length");
    CHECK(strcmp(tiny, "12,") == 0, "'%s'", tiny);
    CHECK(eg_csv_row(NULL, 0, (double[]){12, 345}, 2, NULL) == 6, "its length");
    CHECK(eg_csv_row(text, sizeof text, NULL, 0, NULL) == 0 && !text[0], "nothing is nothing");
}

static void check_round_trip(eg_context *context, const eg_table *table) {
    char path[300];
    snprintf(path, sizeof path, "%s/t.csv", test_folder());
    eg_error error = {0};
    eg_table back;
    CHECK_OK(eg_csv_write(context, path, table, NULL, &error), error);
    CHECK_OK(eg_csv_read(context, path, &back, &error), error);
    CHECK(back.rows == table->rows && back.columns == table->columns &&
              !back.names == !table->names,
          "%d x %d", (int)back.rows, (int)back.columns);
    for (uint64_t i = 0; back.names && i < back.columns; i++)
        CHECK(strcmp(back.names[i], table->names[i]) == 0, "'%s'", back.names[i]);
    for (uint64_t i = 0; i < back.rows * back.columns; i++)
        CHECK(back.values[i] == table->values[i] ||
                  (isnan(back.values[i]) && isnan(table->values[i])),
              "value %d: %.17g", (int)i, back.values[i]);
    eg_table_release(context, &back);
    eg_table_release(context, &back); /* all zero */
}

TEST(csv, round_trips) {
    static const char *const names[] = {"t", "a,b", "say \"hi\"", " blank ", "x;y", "l\nl"};
    double values[12] = {0.1,  1.0 / 3, NAN, -INFINITY, 1e308, 5e-324, 1700000000.125,
                         -0.0, 3,       4,   5,         6};
    const eg_table tables[] = {{.rows = 2, .columns = 6, .names = names, .values = values},
                               {.rows = 12, .columns = 1, .values = values},
                               {.columns = 6, .names = names},
                               {.rows = 1, .columns = 3, .values = values}};
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        check_round_trip(context, &tables[i]);
    /* and where numbers are written with a comma */
    char *old = strdup(setlocale(LC_NUMERIC, NULL));
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) check_round_trip(context, &tables[0]);
    setlocale(LC_NUMERIC, old);
    free(old);
    eg_context_destroy(context);
}

TEST(csv, bad_tables_are_not_written) {
    static const char *const numbers[] = {"1", "NA"};
    static const char *const holes[] = {"a", NULL};
    double values[2] = {1, 2};
    char path[300];
    snprintf(path, sizeof path, "%s/t.csv", test_folder());
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_FAILS(
        eg_csv_write(context, path,
                     &(eg_table){.rows = 1, .columns = 2, .names = numbers, .values = values}, NULL,
                     &error),
        error, EG_ERR_ARGUMENT, "names that are all numbers: '1'");
    CHECK_FAILS(eg_csv_write(context, path,
                             &(eg_table){.rows = 1, .columns = 2, .names = holes, .values = values},
                             NULL, &error),
                error, EG_ERR_ARGUMENT, "column 2 has no name");
    CHECK_FAILS(eg_csv_write(context, path, &(eg_table){.rows = 1, .columns = 0, .values = values},
                             NULL, &error),
                error, EG_ERR_ARGUMENT, "without columns");
    CHECK_FAILS(eg_csv_write(context, path, &(eg_table){.rows = 0, .columns = 2, .values = values},
                             NULL, &error),
                error, EG_ERR_ARGUMENT, "without rows");
    CHECK_FAILS(eg_csv_write(context, path, &(eg_table){.rows = 1, .columns = 2, .values = values},
                             &(eg_csv_options){.digits = 18}, &error),
                error, EG_ERR_ARGUMENT, "18 digits");
    CHECK_FAILS(eg_csv_write(context, "/nowhere/t.csv",
                             &(eg_table){.rows = 1, .columns = 2, .values = values}, NULL, &error),
                error, EG_ERR_FILE, "/nowhere/t.csv");
    CHECK_FAILS(eg_csv_write(NULL, path, NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no context");
    eg_table t;
    CHECK_FAILS(eg_csv_read(context, "/nowhere/t.csv", &t, &error), error, EG_ERR_FILE,
                "/nowhere/t.csv");
    CHECK_FAILS(eg_csv_read(NULL, path, &t, &error), error, EG_ERR_ARGUMENT, "no context");
    test_file_write(path, "a,b\n1,x\n", 8);
    CHECK_FAILS(eg_csv_read(context, path, &t, &error), error, EG_ERR_FORMAT, "t.csv'");
    eg_table_release(NULL, NULL);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator, .no_cache = true};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_table t;
    status = eg__csv_decode(memory, "a,b\n1,2\n", 8, &t, error);
    if (!status) status = eg__csv_save(memory, user, &t, NULL, error);
    eg__table_release(memory, &t);
    eg__memory_destroy(memory);
    return status;
}

TEST(csv, every_allocation) {
    char path[300];
    snprintf(path, sizeof path, "%s/t.csv", test_folder());
    int failed = test_every_allocation(attempt, path);
    CHECK(failed >= 4, "only %d allocations", failed);
}
