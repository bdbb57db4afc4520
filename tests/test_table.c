/* Tables of numbers, dates and labels: from text, from arrays, and what is none. */
#include "test_npz.h"
#include "elegans/elegans.h"
#include "formats/tables/table.h"

#include <math.h>
#include <time.h>

AREA(table, "numbers, dates and labels of text, arrays as columns, refusals, any bytes")

static eg_status decode_bytes(test_memory *test, const void *text, size_t length,
                              const eg_table_options *options, eg_table *out, eg_error *error) {
    static const eg_table_options defaults = {0};
    /* exactly as long as it is, so that the sanitizer sees its end */
    char *bytes = test_alloc(length);
    memcpy(bytes, text, length);
    eg_status status =
        eg__table_from_text(test->memory, bytes, length, options ? options : &defaults, out, error);
    free(bytes);
    return status;
}

static eg_status decode(test_memory *test, const char *text, const eg_table_options *options,
                        eg_table *out, eg_error *error) {
    return decode_bytes(test, text, strlen(text), options, out, error);
}

/* ---- text: a table as one line, so that rows of a test can say what they expect */

static void describe(const eg_table *t, char *out, size_t room) {
    size_t at = 0;
    out[0] = 0;
#define ADD(...) (at += (size_t)snprintf(out + at, at < room ? room - at : 0, __VA_ARGS__))
    for (uint64_t i = 0; i < t->columns; i++) {
        const eg_column *kind = t->kinds ? &t->kinds[i] : NULL;
        ADD("%s%s", i ? " | " : "", t->names ? t->names[i] : "-");
        ADD("%c", !kind ? '=' : "#@$"[kind->kind]);
        for (uint64_t row = 0; row < t->rows; row++) {
            const double value = t->values[row * t->columns + i];
            if (kind && kind->kind == EG_COLUMN_LABEL && !isnan(value))
                ADD(" %s", kind->labels[(size_t)value]);
            else ADD(" %.12g", isnan(value) ? (double)NAN : value);
        }
        for (size_t k = 0; kind && k < kind->label_count; k++)
            ADD("%s%s", k ? "," : " : ", kind->labels[k]);
    }
#undef ADD
    CHECK(at < room, "no room");
}

TEST(table, kinds_of_columns) {
    static const eg_table_options bare = {.no_header = 1}, lacking = {.short_header = 1};
    static const struct {
        const eg_table_options *options;
        const char *text, *expected;
    } rows[] = {
        {NULL, "1,2\n3,4\n", "-= 1 3 | -= 2 4"},
        {NULL, "a,b\n\"1\",2\n3,\"4\"\n", "a= 1 3 | b= 2 4"},
        {NULL, "a,b\n,NA\nnan,NaN\n", "a= nan nan | b= nan nan"},
        {NULL, "t,x\n1970-01-02,1\n\"1970-01-01 00:01\",2\n", "t@ 86400 60 | x# 1 2"},
        {NULL, "t\n1970-01-02\n\n1970-01-03\nNA\n", "t@ 86400 nan 172800 nan"},
        {NULL, "x\nb\na\nb\n", "x$ b a b : a,b"},
        {&bare, "u\r\nv \r\n \r\n", "-$ u v : u,v"},
        {NULL, "x,y\nb,1\n,2\na,3\nNA,4\n", "x$ b nan a nan : a,b | y# 1 2 3 4"},
        {NULL, "x\n1\ntwo\n1.0\n1\n", "x$ 1 two 1.0 1 : 1,1.0,two"},
        {NULL, "x\n1\n\"1\"\nb\n\"b\"\n", "x$ 1 1 b b : 1,b"},
        {NULL, "x\n1970-01-02\n7\n", "x$ 1970-01-02 7 : 1970-01-02,7"},
        {NULL, "x\n7\n1970-01-02\n", "x$ 7 1970-01-02 : 1970-01-02,7"},
        {NULL, "x\n1970-01-02\n1970-01-32\n", "x$ 1970-01-02 1970-01-32 : 1970-01-02,1970-01-32"},
        {NULL, "x\n\"say \"\"hi\"\"\"\n\"a,b\"\n\" \"\n", "x$ say \"hi\" a,b   :  ,a,b,say \"hi\""},
        {NULL, "x\nB\na\n\xc3\xa4\nab\n", "x$ B a \xc3\xa4 ab : B,a,ab,\xc3\xa4"},
        {NULL, "x,y,z\nu,1,s\nv,2,r\n", "x$ u v : u,v | y# 1 2 | z$ s r : r,s"},
        /* a date is no name */
        {NULL, "1970-01-02,5\n1970-01-03,6\n", "-@ 86400 172800 | -# 5 6"},
        {NULL, "a,b\n", "a= | b="},
        {&bare, "a,1\nb,2\n", "-$ a b : a,b | -# 1 2"},
        {&bare, "1,2\n", "-= 1 | -= 2"},
        {&lacking, "a,b\n1,2,3\n4,5,6\n", "= 1 4 | a= 2 5 | b= 3 6"},
        {&lacking, "a\n1,x\n2,y\n", "# 1 2 | a$ x y : x,y"},
        {&lacking, "7,8\n1,2,3\n", "= 1 | 7= 2 | 8= 3"}, /* so these must be names */
        {&lacking, "a,b\n1,2\n", "a= 1 | b= 2"},         /* a complete one is fine */
        {&lacking, "1,2\n3,4\n", "-= 1 3 | -= 2 4"},
        {&lacking, "a,b\n", "a= | b="},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table t;
        eg_error error = {0};
        char found[400];
        CHECK_OK(decode(&test, rows[i].text, rows[i].options, &t, &error), error);
        describe(&t, found, sizeof found);
        CHECK(strcmp(found, rows[i].expected) == 0, "row %zu: '%s'", i, found);
        CHECK(t.steps == 0, "row %zu: recordings", i);
        eg__table_release(test.memory, &t);
    }
    test_memory_close(&test);
}

TEST(table, lines_of_rows) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_table t;
    eg_error error = {0};
    CHECK_OK(decode(&test, "a,\"b\nc\"\n1,2\n\"x\ny\n\",3\r\n4,5\n", NULL, &t, &error), error);
    CHECK(t.rows == 3 && t.lines[0] == 3 && t.lines[1] == 4 && t.lines[2] == 7, "lines %d %d %d",
          (int)t.lines[0], (int)t.lines[1], (int)t.lines[2]);
    eg__table_release(test.memory, &t);
    CHECK(!t.lines && !t.kinds, "something is left");
    CHECK_OK(decode(&test, "1\n2\n", &(eg_table_options){.numbers_only = 1}, &t, &error), error);
    CHECK(t.lines[0] == 1 && t.lines[1] == 2 && !t.kinds, "numbers have lines, too");
    eg__table_release(test.memory, &t);
    test_memory_close(&test);
}

TEST(table, broken_text) {
    static const eg_table_options numbers = {.numbers_only = 1}, lacking = {.short_header = 1};
    static const struct {
        const eg_table_options *options;
        const char *text, *part;
    } rows[] = {
        {NULL, "", "the file has no lines"},
        {NULL, "a,b\n1,2\n3\n", "line 3: 1 fields where 2 belong"},
        {NULL, "a,b\n1,2,3\n",
         "line 2: 3 fields where 2 belong: the header has one name less; one that lacks the "
         "first needs --short-header"},
        {&numbers, "a,b\n1,2,3\n", "one name less"},
        {&lacking, "a,b\n1,2,3,4\n", "line 2: 4 fields where 2 belong"},
        {&lacking, "a,b\n1\n", "line 2: 1 fields where 2 belong"},
        {&lacking, "a,b\n1,2,3\n1,2\n", "line 3: 2 fields where 3 belong"},
        {&lacking, "a,b\n1,2\n1,2,3\n", "line 3: 3 fields where 2 belong"},
        {NULL, "x\na\n\"b\n", "line 3, field 1: a quote does not end"},
        {&numbers, "a,t\n1,2015-02-04\n", "line 2, field 2 ('t'): '2015-02-04' is not a number"},
        {&numbers, "x\none\n", "line 2, field 1 ('x'): 'one' is not a number"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    eg_table t;
    eg_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(decode(&test, rows[i].text, rows[i].options, &t, &error), error, EG_ERR_FORMAT,
                    rows[i].part);
        CHECK(!t.values && !t.names && !t.kinds && !t.lines && !t.rows, "row %zu: left", i);
    }
    /* only where it is the header that is short */
    static const char *const others[] = {"1,2\n1,2,3\n", "a,b\n1,2\n1,2,3\n", "a,b\n1,2,3,4\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_FAILS(decode(&test, others[i], NULL, &t, &error), error, EG_ERR_FORMAT, "belong");
        CHECK(!strstr(error.message, "--short-header"), "%s", error.message);
    }
    CHECK_FAILS(decode_bytes(&test, "x,y\n1,a\n2,b\0c\n", 14, NULL, &t, &error), error,
                EG_ERR_FORMAT, "line 3, field 2: a zero byte: is this UTF-8?");
    CHECK_FAILS(decode_bytes(&test, "x\0,y\n", 5, NULL, &t, &error), error, EG_ERR_FORMAT,
                "line 1, field 1: a zero byte");
    test_memory_close(&test);
}

/* 200000 different labels in the worst order, and beside them few that come often. */
TEST(table, many_labels) {
    enum { ROWS = 200000, WIDE = 24 };
    char *text = malloc((size_t)ROWS * WIDE + 8), *at = text;
    at += sprintf(at, "x,y\n");
    for (int i = 0; i < ROWS; i++)
        at += sprintf(at, "n%06d,%s\n", ROWS - 1 - i, i & 1 ? "on" : "off");
    test_memory test;
    test_memory_open(&test, 0);
    eg_table t;
    eg_error error = {0};
    const clock_t start = clock();
    CHECK_OK(decode_bytes(&test, text, (size_t)(at - text), NULL, &t, &error), error);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(t.kinds[0].label_count == ROWS && t.kinds[1].label_count == 2, "%zu and %zu labels",
          t.kinds[0].label_count, t.kinds[1].label_count);
    bool right = true;
    for (int i = 0; i < ROWS; i++)
        right = right && t.values[2 * i] == ROWS - 1 - i && t.values[2 * i + 1] == (i & 1);
    CHECK(right && strcmp(t.kinds[0].labels[ROWS - 1], "n199999") == 0, "the labels differ");
    /* a fraction of one; comparing each with each would be 20000 million comparisons */
    CHECK(seconds < 20, "%g s", seconds);
    eg__table_release(test.memory, &t);
    test_memory_close(&test);
    free(text);
}

/* ---- arrays */

static eg_status load(eg_context *context, const char *file, eg_table *out, eg_error *error) {
    char path[300];
    snprintf(path, sizeof path, "%s", test_path(file));
    return eg_table_read(context, path, NULL, out, error);
}

TEST(table, arrays_of_numpy) {
    static const struct {
        const char *file;
        uint64_t steps;
        const char *expected;
    } rows[] = {
        {"fixtures/table/f64_3.npy", 0, "-= 0 0.25 0.5"},
        {"fixtures/table/f64_2x3.npy", 0, "-= 0 0.75 | -= 0.25 1 | -= 0.5 1.25"},
        {"fixtures/table/f32_2x3x2.npy", 3,
         "-= 0 0.5 1 1.5 2 2.5 | -= 0.25 0.75 1.25 1.75 2.25 2.75"},
        {"fixtures/table/f16_4x1.npy", 0, "-= 0 0.25 0.5 0.75"},
        {"fixtures/table/i64_2x2.npy", 0,
         "-= -1.09951162778e+12 -1.09951162777e+12 | -= -1.09951162778e+12 -1.09951162777e+12"},
        {"fixtures/npy/i8_2x2x2.npy", 2, "-= -1 1 3 5 | -= 0 2 4 6"},
        {"fixtures/npy/i32_3x1.npy", 0, "-= -1 0 1"},
        {"fixtures/npy/u8_4.npy", 0, "-= 255 0 1 2"},
        {"fixtures/npy/bool_3x3.npy", 0, "-= 1 1 1 | -= 0 1 1 | -= 1 1 1"},
        {"fixtures/npy/fortran_2x3.npy", 0,
         "-= -1 2 | -= 0 3 | -= 1 4"}, /* no tensor, but a table */
        {"fixtures/table/rows.npz", 0, "x.1= 0 0.5 1 | x.2= 0.25 0.75 1.25 | y= 0 1 2 | ok= 0 1 0"},
        {"fixtures/table/recordings.npz", 3,
         "x.1= 0 0.5 1 1.5 2 2.5 | x.2= 0.25 0.75 1.25 1.75 2.25 2.75 | t= 0 1 2 3 4 5 | "
         "kind= 0 0 0 1 1 1 | site.1= 10 10 10 12 12 12 | site.2= 11 11 11 13 13 13"},
    };
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table t;
        char found[400];
        CHECK_OK(load(context, rows[i].file, &t, &error), error);
        describe(&t, found, sizeof found);
        CHECK(strcmp(found, rows[i].expected) == 0, "%s: '%s'", rows[i].file, found);
        CHECK(t.steps == rows[i].steps && !t.lines && !t.kinds, "%s: steps of %d", rows[i].file,
              (int)t.steps);
        eg_table_release(context, &t);
    }
    eg_context_destroy(context);
}

/* The same numbers in every type and both orders. */
TEST(table, numbers_of_any_width) {
    static const char *const types[] = {"|i1", "|u1", "<i2", "<u2", ">i2", ">u2", "<i4",
                                        "<u4", ">i4", ">u4", "<i8", "<u8", ">i8", "<f4",
                                        ">f4", "<f8", ">f8", "<f2", ">f2"};
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500}; /* 0 .. 5 */
    eg_context *context;
    eg_error error = {0};
    char path[300];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    snprintf(path, sizeof path, "%s/any.npy", test_folder());
    for (size_t i = 0; i < 2 * (sizeof types / sizeof *types); i++) {
        const char *type = types[i / 2];
        const unsigned size = (unsigned)(type[2] - '0');
        unsigned char bytes[128 + 6 * 8];
        memset(bytes, ' ', 128);
        memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
        const int length = snprintf((char *)bytes + 10, 100,
                                    "{'descr': '%s', 'fortran_order': %s, 'shape': (2, 3)}", type,
                                    i % 2 ? "True" : "False");
        bytes[10 + length] = ' ';
        bytes[127] = '\n';
        for (unsigned k = 0; k < 6; k++) {
            /* the k-th in the file is, in C order, number k; in Fortran's, the one at (k % 2, k / 2) */
            const unsigned number = i % 2 ? k % 2 * 3 + k / 2 : k;
            uint64_t bits = number;
            const float single = (float)number;
            const double wide = number;
            uint32_t word;
            if (type[1] == 'f' && size == 2) bits = halves[number];
            if (type[1] == 'f' && size == 4) memcpy(&word, &single, 4), bits = word;
            if (type[1] == 'f' && size == 8) memcpy(&bits, &wide, 8);
            for (unsigned n = 0; n < size; n++)
                bytes[128 + k * size + n] =
                    (unsigned char)(bits >> 8 * (type[0] == '>' ? size - 1 - n : n));
        }
        test_file_write(path, bytes, 128 + 6 * size);
        eg_table t;
        char found[200];
        CHECK_OK(eg_table_read(context, path, NULL, &t, &error), error);
        describe(&t, found, sizeof found);
        CHECK(strcmp(found, "-= 0 3 | -= 1 4 | -= 2 5") == 0, "%s, order %zu: '%s'", type, i % 2,
              found);
        eg_table_release(context, &t);
    }
    /* no byte order, where there must be one */
    unsigned char wrong[128 + 8] = "\x93NUMPY\x01\x00\x76\x00"
                                   "{'descr': '|f8', 'fortran_order': False, 'shape': (1,)}";
    memset(wrong + 10 + strlen((char *)wrong + 10), ' ', 128 - 10 - strlen((char *)wrong + 10));
    wrong[127] = '\n';
    test_file_write(path, wrong, sizeof wrong);
    eg_table none;
    CHECK_FAILS(eg_table_read(context, path, NULL, &none, &error), error, EG_ERR_UNSUPPORTED,
                "'|f8'");
    eg_context_destroy(context);
}

/* ---- other signs, other orders, other encodings */
TEST(table, hints) {
    static const char decimal[] = "; decimal commas need --decimal ,",
                      dates[] = "; dates in this order need --dates mdy or dmy";
    static const struct {
        const char *text, *hint;
    } rows[] = {{"1,5", decimal},
                {"-0,25e3", decimal},
                {"1,2,3", ""},
                {"1.234,5", ""},
                {"a,b", ""},
                {"15", ""},
                {"", ""},
                {"oops", ""},
                {"2/4/2015", dates},
                {"13.1.2015", dates},
                {"1/13/2015", dates},
                {"2015-02-04", ""},
                {"2015-02-04 17:51", ""}, /* no option would help */
                {"99/99/2015", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(strcmp(eg_table_hint(rows[i].text), rows[i].hint) == 0, "'%s': '%s'", rows[i].text,
              eg_table_hint(rows[i].text));
}

TEST(table, options_of_text) {
    static const struct {
        const char *text;
        eg_table_options options;
        const char *expected; /* or a part of the message */
        eg_status status;
    } rows[] = {
        {"a;b\n1,5;2\n-0,25;1e3\n", {.decimal = ','}, "a= 1.5 -0.25 | b= 2 1000", EG_OK},
        {"a,b\n\"1,5\",2\n", {.decimal = ','}, "a= 1.5 | b= 2", EG_OK},
        /* which of both is the decimal sign? */
        {"a;b\n1.234,5;2\n",
         {.decimal = ',', .numbers_only = 1},
         "'1.234,5' is not a number",
         EG_ERR_FORMAT},
        {"a;b\n1.5;2\n",
         {.decimal = ',', .numbers_only = 1},
         "'1.5' is not a number",
         EG_ERR_FORMAT},
        {"a;b\n1,5;2\n",
         {.numbers_only = 1},
         "line 2, field 1 ('a'): '1,5' is not a number; decimal commas need --decimal ,",
         EG_ERR_FORMAT},
        {"t;b\n2/4/2015;2\n",
         {.numbers_only = 1},
         "'2/4/2015' is not a number; dates in this order need --dates mdy or dmy",
         EG_ERR_FORMAT},
        {"t,a\n02/04/1970,1\n2/4/1970 1:00 AM,2\n",
         {.dates = EG_DATES_MDY},
         "t@ 2937600 2941200 | a# 1 2",
         EG_OK},
        {"t,a\n04.02.1970 01:00,1\n1970-02-04,2\n",
         {.dates = EG_DATES_DMY},
         "t@ 2941200 2937600 | a# 1 2",
         EG_OK},
        {"caf\xe9,b\n1,2\n", {.encoding = "latin1"}, "caf\xc3\xa9= 1 | b= 2", EG_OK},
        {"a,\x80\n1,2\n", {.encoding = "windows-1252"}, "a= 1 | \xe2\x82\xac= 2", EG_OK},
        {"a,\x9f\xa0\n1,2\n", {.encoding = "cp1252"}, "a= 1 | \xc5\xb8\xc2\xa0= 2", EG_OK},
        {"a,\x80\n1,2\n", {.encoding = "iso-8859-1"}, "a= 1 | \xc2\x80= 2", EG_OK},
        {"caf\xe9,b\n1,2\n",
         {0},
         "line 1, field 1: 'caf?' is not UTF-8; if the file is of another encoding, say so: --encoding latin1",
         EG_ERR_FORMAT},
        {"a,b\n1,x\n2,caf\xe9\n", {0}, "line 3, field 2: 'caf?' is not UTF-8", EG_ERR_FORMAT},
        {"a,b\n1,\xc3\n", {0}, "line 2, field 2", EG_ERR_FORMAT}, /* cut in a letter */
        {"a,b\n1,2\n",
         {.encoding = "ebcdic"},
         "encoding 'ebcdic' is not utf-8, latin1",
         EG_ERR_UNSUPPORTED},
        {"a,b\n1,2\n", {.decimal = ';'}, "decimal ';' is neither", EG_ERR_ARGUMENT},
        {"a,b\n1,2\n", {.dates = (eg_date_order)3}, "order 3 of dates", EG_ERR_ARGUMENT},
    };
    eg_context *context;
    eg_error error = {0};
    char path[300];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    snprintf(path, sizeof path, "%s/text.csv", test_folder());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_table t;
        char found[300];
        test_file_write(path, rows[i].text, strlen(rows[i].text));
        const eg_status status = eg_table_read(context, path, &rows[i].options, &t, &error);
        CHECK(status == rows[i].status, "row %zu: %s, %s", i, eg_status_name(status),
              status ? error.message : "");
        if (status) {
            CHECK(strstr(error.message, rows[i].expected), "row %zu: %s", i, error.message);
            continue;
        }
        describe(&t, found, sizeof found);
        CHECK(strcmp(found, rows[i].expected) == 0, "row %zu: '%s'", i, found);
        eg_table_release(context, &t);
    }
    eg_context_destroy(context);
}

/* A column as it was written. */
TEST(table, texts_of_a_column) {
    static const char text[] = "t,a\n2015-02-04 17:51,1\n\"0.10\",2\n,3\n";
    static const char *const want[] = {"2015-02-04 17:51", "0.10", ""};
    test_memory test;
    test_memory_open(&test, 0);
    eg_table t;
    eg_error error = {0};
    const eg_table_options options = {.texts = "t"}, none = {.texts = "no such"};
    CHECK_OK(decode_bytes(&test, text, sizeof text - 1, &options, &t, &error), error);
    for (int i = 0; i < 3; i++)
        CHECK(t.texts && strcmp(t.texts[i], want[i]) == 0, "row %d: '%s'", i,
              t.texts ? t.texts[i] : "none");
    eg__table_release(test.memory, &t);
    CHECK_OK(decode_bytes(&test, text, sizeof text - 1, &none, &t, &error), error);
    CHECK(!t.texts, "texts of a column that is not there");
    eg__table_release(test.memory, &t);
    test_memory_close(&test);
}

TEST(table, arrays_that_are_no_tables) {
    static const struct {
        const char *file;
        eg_status status;
        const char *part;
    } rows[] = {
        {"fixtures/table/bad_rank4.npy", EG_ERR_FORMAT,
         "rank 4: neither [rows], [rows, columns] nor [recordings, steps, columns] in '"},
        {"fixtures/table/bad_rank0.npy", EG_ERR_FORMAT, "rank 0: neither"},
        {"fixtures/table/bad_empty.npy", EG_ERR_FORMAT, "no values: extent 1 is 0 in '"},
        {"fixtures/npy/bad_complex.npy", EG_ERR_UNSUPPORTED, "type '<c8'"},
        {"fixtures/npy/empty.npz", EG_ERR_FORMAT, "the archive has no arrays"},
        {"fixtures/npy/bad_checksum.npz", EG_ERR_FORMAT, "checksum"},
        {"fixtures/npy/bad_twice.npz", EG_ERR_FORMAT, "two arrays"},
        {"fixtures/table/bad_rows.npz", EG_ERR_FORMAT,
         "array 'mean' has 2 rows where 'x' has 3 in '"},
        {"fixtures/table/bad_steps.npz", EG_ERR_FORMAT, "array 'z' has 4 steps where 'x' has 3"},
        {"fixtures/table/bad_rank.npz", EG_ERR_FORMAT, "rank 0: neither"},
        {"fixtures/table/bad_empty.npz", EG_ERR_FORMAT, "extent 2 is 0 in array 'z' in '"},
        {"fixtures/table/none.npy", EG_ERR_FILE, "none.npy"},
        {"fixtures/table/none.npz", EG_ERR_FILE, "none.npz"},
        {"fixtures/table/none.txt", EG_ERR_FILE, "none.txt"},
    };
    eg_context *context;
    eg_error error = {0};
    eg_table t;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(load(context, rows[i].file, &t, &error), error, rows[i].status, rows[i].part);
        CHECK(strstr(error.message, rows[i].file) && !t.values && !t.names && !t.columns, "'%s'",
              error.message);
    }
    const char *const path = "x.csv";
    CHECK_FAILS(eg_table_read(NULL, path, NULL, &t, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_table_read(context, NULL, NULL, &t, &error), error, EG_ERR_ARGUMENT, "no path");
    CHECK_FAILS(eg_table_read(context, path, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_table_read(context, path, &(eg_table_options){.short_header = 1, .no_header = 1},
                              &t, &error),
                error, EG_ERR_ARGUMENT, "not both");
    eg_context_destroy(context);
}

/* ---- real files */

TEST(table, occupancy) {
    static const struct {
        const char *file;
        int lacking;
        uint64_t rows;
        double first, last, sum, carbon; /* of dates; of CO2: from Python */
    } rows[] = {
        {"occupancy/datatraining.txt", 0, 8143, 1423072260, 1423560780, 11590066419826,
         4939106.058333328},
        {"occupancy/datatest.txt", 0, 2665, 1422886740, 1423046580, 3792206148070,
         1913220.7428571428},
        {"occupancy/datatest2.txt", 1, 9752, 1423666080, 1424251140, 13886444361686,
         7345448.558333338},
    };
    if (!test_data("occupancy")) return test_skip("ELEGANS_DATA is not set");
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s", test_data(rows[i].file));
        eg_table t;
        const eg_table_options options = {.short_header = rows[i].lacking};
        if (rows[i].lacking)
            CHECK_FAILS(eg_table_read(context, path, NULL, &t, &error), error, EG_ERR_FORMAT,
                        "--short-header");
        CHECK_OK(eg_table_read(context, path, &options, &t, &error), error);
        CHECK(t.rows == rows[i].rows && t.columns == 8, "%d x %d", (int)t.rows, (int)t.columns);
        if (t.rows != rows[i].rows || t.columns != 8 || !t.kinds) continue;
        CHECK(strcmp(t.names[0], rows[i].lacking ? "" : "id") == 0, "'%s'", t.names[0]);
        double sum = 0, carbon = 0;
        for (uint64_t row = 0; row < t.rows; row++) {
            sum += t.values[row * 8 + 1];
            carbon += t.values[row * 8 + 5];
        }
        CHECK(t.values[1] == rows[i].first && t.values[(t.rows - 1) * 8 + 1] == rows[i].last &&
                  sum == rows[i].sum && fabs(carbon - rows[i].carbon) < 1e-6,
              "%.17g .. %.17g, %.17g, %.17g", t.values[1], t.values[(t.rows - 1) * 8 + 1], sum,
              carbon);
        for (int k = 0; k < 8; k++)
            CHECK(t.kinds[k].kind == (k == 1 ? EG_COLUMN_DATE : EG_COLUMN_NUMBER), "column %d", k);
        CHECK(t.lines[t.rows - 1] == t.rows + 1, "line %d", (int)t.lines[t.rows - 1]);
        eg_table_release(context, &t);
    }
    eg_context_destroy(context);
}

/* ---- any bytes, and memory that runs out */

static const char sample[] = "t,\"a \"\"b\"\"\",x\r\n\"2015-02-04 17:51:00\",on,1.5\r\n"
                             "2015-02-04T17:52:00.5+01:00,,-2e3\r\n,\"o\nff\",NA\r\n";

/* Every cut, and every byte replaced by those that have a meaning: a status or a whole table. */
TEST(table, damaged_text) {
    static const char bytes[] = {0, '"', ',', '\n', '\r', '-', ':', 'x', '9', (char)0xff};
    test_memory test;
    test_memory_open(&test, 0);
    const size_t length = sizeof sample - 1;
    for (size_t option = 0; option < 8; option++) {
        const eg_table_options options = {.numbers_only = option & 1,
                                          .short_header = option >> 1 & 1,
                                          .no_header = option >> 2 & 1};
        for (size_t i = 0; i < length * (1 + sizeof bytes); i++) {
            char text[sizeof sample];
            memcpy(text, sample, sizeof sample);
            size_t size = length;
            if (i < length) size = i;
            else text[i % length] = bytes[i / length - 1];
            eg_table t;
            eg_error error = {0};
            eg_status status = decode_bytes(&test, text, size, &options, &t, &error);
            CHECK(!status == !error.message[0] && (!status || !t.values), "case %zu: '%s'", i,
                  error.message);
            for (uint64_t k = 0; k < t.rows * t.columns; k++) {
                const eg_column *kind = t.kinds ? &t.kinds[k % t.columns] : NULL;
                CHECK(!kind || kind->kind != EG_COLUMN_LABEL || isnan(t.values[k]) ||
                          t.values[k] < (double)kind->label_count,
                      "case %zu: label %g", i, t.values[k]);
            }
            eg__table_release(test.memory, &t);
        }
    }
    test_memory_close(&test);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator, .no_cache = true};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_table t;
    eg_npz *archive;
    status =
        eg__table_from_text(memory, sample, sizeof sample - 1, &(eg_table_options){0}, &t, error);
    eg__table_release(memory, &t);
    if (!status) status = eg__npz_open(memory, user, &archive, error);
    if (!status) {
        status = eg__table_from_archive(memory, archive, user, &t, error);
        eg__table_release(memory, &t);
        eg_npz_close(archive);
    }
    eg__memory_destroy(memory);
    return status;
}

TEST(table, every_allocation) {
    char path[300];
    snprintf(path, sizeof path, "%s", test_path("fixtures/table/recordings.npz"));
    int failed = test_every_allocation(attempt, path);
    CHECK(failed >= 20, "only %d allocations", failed);
}
