/* JSON that is read: the same documents as jansson's own parser accepts, with the same values. */
#include "test.h"
#include "formats/files/json_read.h"

AREA(json_read, "JSON read: what jansson's parser takes, and the same of it; every truncation")

static const char *const rows[] = {
    /* taken */
    "{}", " [ ] \n", "{\"a\":1,\"b\":[true,false,null]}", "[0,-0,-1,1.5,-0.0,1e3,1E-3,0.1e+2]",
    "[9223372036854775807,-9223372036854775808]", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
    "[\"\\u00e4\\u20ac\\ud83d\\udc1b\\u007f\\u0080\\u07ff\\u0800\\uffff\"]",
    "[\"\xc3\xa4\xf0\x9f\x90\x9b\"]", "{\"\":0,\" \":{\"\\u0061\":[[[{}]]]}}",
    "[1.7976931348623157e308,5e-324,123456789012345678e-3]",
    "[\"0123456789012345678901234567890123456789\"]", "[\"\xef\xbf\xbf\",\"\x7f\"]", "[1e-400]",
    /* refused */
    "", " ", "1", "\"a\"", "null", "{", "[", "{]", "[}", "[1,]", "{\"a\":1,}", "{\"a\"}",
    "{\"a\":}", "{a:1}", "{'a':1}", "[1 2]", "[01]", "[1.]", "[.5]", "[+1]", "[-]", "[1e]", "[1e+]",
    "[0x10]", "[nan]", "[NaN]", "[Infinity]", "[tru]", "[truex]", "[nullnull]", "{}{}", "[] x",
    "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "[\"\n\"]", "[\"\t\"]", "[\"\\x41\"]",
    "[\"\\ u0041\"]", "[\"\\u12\"]", "[\"\\u12g4\"]", "[\"\\u0000\"]", "[\"\\ud800\"]",
    "[\"\\ud800x\"]", "[\"\\ud800\\u0041\"]", "[\"\\udc00\"]", "[\"\\ud800\\ud800\"]", "[\"\xff\"]",
    "[\"\xc0\x80\"]", "[\"\xed\xa0\x80\"]", "[\"\xc3\"]", "[\"a", "[\"a\\", "[9223372036854775808]",
    "[-9223372036854775809]", "[1e400]", "\xef\xbb\xbf{}", "[1]\xff", "[,1]", "{,}",
    "{\"a\":1 \"b\":2}", "[\v1]", "/**/[]", "[1]//"};

static void compare(eg__memory *memory, const char *text, size_t length) {
    char *exact = test_alloc(length ? length : 1);
    memcpy(exact, text, length);
    json_t *ours = NULL, *theirs = json_loadb(exact, length, JSON_REJECT_DUPLICATES, NULL);
    eg_error error = {0};
    const eg_status status = eg__json_read(memory, exact, length, &ours, &error);
    CHECK((status == EG_OK) == (ours != NULL), "'%.*s': a status without a document", (int)length,
          text);
    CHECK(!ours == !theirs, "'%.*s': %s, jansson: %s", (int)length, text,
          ours ? "taken" : error.message, theirs ? "taken" : "refused");
    CHECK(!ours || !theirs || json_equal(ours, theirs), "'%.*s' means something else", (int)length,
          text);
    json_decref(ours);
    json_decref(theirs);
    free(exact);
}

TEST(json_read, as_jansson) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t length = 0; length <= strlen(rows[i]); length++)
            compare(memory, rows[i], length);
    compare(memory, "{}\0", 3);
    compare(memory, "[\"a\0b\"]", 7);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    CHECK(held.current == 0, "%llu bytes are left", (unsigned long long)held.current);
    eg__memory_destroy(memory);
}

TEST(json_read, depth) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    enum { MANY = 100000 };
    char *text = test_alloc(MANY);
    json_t *document;
    memset(text, '[', MANY);
    CHECK_FAILS(eg__json_read(memory, text, MANY, &document, &error), error, EG_ERR_FORMAT,
                "nested too deeply");
    memset(text + 1000, ']', 1000);
    CHECK_OK(eg__json_read(memory, text, 2000, &document, &error), error);
    json_decref(document);
    free(text);
    eg__memory_destroy(memory);
}

TEST(json_read, messages) {
    static const struct {
        const char *text, *part;
        eg_status status;
    } wrong[] = {
        {"{\"a\":\n tru}", "bad JSON at byte 7, line 2: no value near 'tru}'", EG_ERR_FORMAT},
        {"{\"a\":1,\n\"a\":2}", "byte 8, line 2: duplicate object key near '\"a\":2}'",
         EG_ERR_FORMAT},
        {"[1e999]", "a number that does not fit near '1e999]'", EG_ERR_OVERFLOW},
        {"[1", "']' expected near 'the end'", EG_ERR_FORMAT}};
    eg__memory *memory;
    eg_error error = {0};
    json_t *document;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(eg__json_read(memory, wrong[i].text, strlen(wrong[i].text), &document, &error),
                    error, wrong[i].status, wrong[i].part);
    eg__memory_destroy(memory);
}
