/* JSON as the library makes it: exact text, and a first fault that stays and is named. */
#include "test.h"
#include "formats/files/json.h"

#include <math.h>

AREA(json, "JSON made by one helper: exact text, first fault kept, no text after a failure")

static void make_everything(eg__json *json) {
    eg__json_open_object(json, NULL);
    eg__json_put_text(json, "text", "a\"b\\c\n\x01\x1f \xc3\xa4");
    eg__json_put_text(json, "empty", "");
    eg__json_put_integer(json, "low", INT64_MIN);
    eg__json_put_count(json, "high", INT64_MAX);
    eg__json_put_number(json, "tenth", 0.1);
    eg__json_put_number(json, "two", 2);
    eg__json_put_number(json, "large", 1e300);
    eg__json_put_flag(json, "yes", true);
    eg__json_open_list(json, "list");
    eg__json_open_list(json, NULL);
    eg__json_close(json);
    eg__json_open_object(json, NULL);
    eg__json_close(json);
    eg__json_put_count(json, NULL, 3);
    eg__json_close(json);
    eg__json_put_flag(json, "no", false);
    eg__json_close(json);
}

TEST(json, text) {
    static const char wanted[] =
        "{\"text\":\"a\\\"b\\\\c\\n\\u0001\\u001f \xc3\xa4\",\"empty\":\"\",\"low\":-9223372036854775808,"
        "\"high\":9223372036854775807,\"tenth\":0.1,\"two\":2.0,\"large\":1e+300,\"yes\":true,"
        "\"list\":[[],{},3],\"no\":false}";
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg__json json;
    char *text = NULL;
    size_t length = 0;
    eg__json_begin(&json, memory);
    make_everything(&json);
    CHECK_OK(eg__json_end(&json, &text, &length, &error), error);
    CHECK(text && strcmp(text, wanted) == 0 && length == strlen(wanted), "got %s", text);
    eg__memory_give(memory, text);
    eg__memory_destroy(memory);
}

/* For people: a line for each value, fewer digits, exponents as short as they can be; what is no text is shown. */
TEST(json, indented) {
    static const char wanted[] =
        "{\n  \"a\": [],\n  \"b\": [\n    null,\n    {},\n    0.333,\n    1e20,\n    1e-5,\n"
        "    -2.5e-100,\n    3.0\n  ],\n  \"c\": {\n    \"d\": \"caf\\\\xe9 \\\"\xc3\xa4\\n\",\n"
        "    \"e\": \"plain\"\n  }\n}";
    static const double numbers[] = {1.0 / 3, 1e20, 1e-5, -2.5e-100, 3};
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg__json json;
    char *text = NULL;
    eg__json_begin(&json, memory);
    json.indented = true;
    json.digits = 3;
    eg__json_open_object(&json, NULL);
    eg__json_open_list(&json, "a");
    eg__json_close(&json);
    eg__json_open_list(&json, "b");
    eg__json_put_null(&json, NULL);
    eg__json_open_object(&json, NULL);
    eg__json_close(&json);
    for (size_t i = 0; i < 5; i++) eg__json_put_number(&json, NULL, numbers[i]);
    eg__json_close(&json);
    eg__json_open_object(&json, "c");
    eg__json_put_shown(&json, "d", "caf\xe9 \"\xc3\xa4\n");
    eg__json_put_shown(&json, "e", "plain");
    eg__json_close(&json);
    eg__json_close(&json);
    CHECK_OK(eg__json_end(&json, &text, NULL, &error), error);
    CHECK(text && strcmp(text, wanted) == 0, "got %s", text);
    eg__memory_give(memory, text);
    eg__memory_destroy(memory);
}

/* One bad value amid good ones: which one, and what is said of it. */
enum { NO_TEXT, NOT_UTF8, BAD_KEY, NOT_A_NUMBER, TOO_FAR, TOO_LARGE, OWN, BAD_COUNT };

static void put_bad(eg__json *json, unsigned which) {
    switch (which) {
    case NO_TEXT: eg__json_put_text(json, "name", NULL); break;
    case NOT_UTF8: eg__json_put_text(json, "labels", "caf\xe9"); break;
    case BAD_KEY: eg__json_put_count(json, "k\xffy", 1); break;
    case NOT_A_NUMBER: eg__json_put_number(json, "mean", NAN); break;
    case TOO_FAR: eg__json_put_number(json, "scale", -INFINITY); break;
    case TOO_LARGE: eg__json_put_count(json, "seed", UINT64_MAX); break;
    default: eg__json_fail(json, EG_ERR_UNSUPPORTED, "no word for %d", 7);
    }
}

TEST(json, faults) {
    static const struct {
        eg_status status;
        const char *message;
    } rows[BAD_COUNT] = {
        [NO_TEXT] = {EG_ERR_ARGUMENT, "no text in 'name'"},
        [NOT_UTF8] = {EG_ERR_ARGUMENT, "text that is not UTF-8 in 'labels': 'caf?'"},
        [BAD_KEY] = {EG_ERR_ARGUMENT, "text that is not UTF-8"},
        [NOT_A_NUMBER] = {EG_ERR_ARGUMENT, "a number that is not finite in 'mean': 'nan'"},
        [TOO_FAR] = {EG_ERR_ARGUMENT, "a number that is not finite in 'scale': '-inf'"},
        [TOO_LARGE] = {EG_ERR_OVERFLOW, "'seed' is '18446744073709551615'"},
        [OWN] = {EG_ERR_UNSUPPORTED, "no word for 7"},
    };
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (unsigned i = 0; i < BAD_COUNT; i++) {
        eg__json json;
        char *text = (char *)&json;
        size_t length = 1;
        eg__json_begin(&json, memory);
        eg__json_open_object(&json, NULL);
        eg__json_put_text(&json, "good", "before");
        put_bad(&json, i);
        put_bad(&json, (i + 1) % BAD_COUNT); /* the first one counts */
        eg__json_put_text(&json, "good too", "after");
        eg__json_close(&json);
        CHECK_FAILS(eg__json_end(&json, &text, &length, &error), error, rows[i].status,
                    rows[i].message);
        CHECK(!text && !length, "row %u: text after a failure", i);
    }
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    CHECK(held.current == 0, "%llu bytes are left", (unsigned long long)held.current);
    eg__memory_destroy(memory);
}

TEST(json, memory) {
    eg__failing_allocator failing = {.fail_at = 0};
    for (int64_t k = 1; k < 100; k++) {
        failing = (eg__failing_allocator){.fail_at = 0};
        const eg__memory_options options = {.allocator = eg__failing_allocator_use(&failing)};
        eg__memory *memory;
        eg_error error = {0};
        CHECK_OK(eg__memory_create(&memory, &options, &error), error);
        const int64_t before = failing.requests;
        failing.fail_at = before + k;
        eg__json json;
        char *text;
        eg__json_begin(&json, memory);
        make_everything(&json);
        const eg_status status = eg__json_end(&json, &text, NULL, &error);
        CHECK((status == EG_OK) == (text != NULL), "k %d: text and status differ", (int)k);
        CHECK(!status || status == EG_ERR_MEMORY, "k %d: %s", (int)k, error.message);
        eg__memory_give(memory, text);
        const bool over = failing.requests < failing.fail_at;
        CHECK(over == (status == EG_OK), "k %d: %s", (int)k, eg_status_name(status));
        eg__memory_destroy(memory);
        CHECK(failing.live == 0, "k %d: %d blocks left", (int)k, (int)failing.live);
        if (over) {
            CHECK(k > 1, "nothing was taken");
            return;
        }
    }
}

/* What a label of a model is not: before, jansson's NULL left it out and all later ones moved. */
TEST(json, lists_keep_their_length) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg__json json;
    char *text;
    eg__json_begin(&json, memory);
    eg__json_open_list(&json, NULL);
    eg__json_put_text(&json, NULL, "a");
    eg__json_put_text(&json, NULL, "\xff");
    eg__json_put_text(&json, NULL, "c");
    eg__json_close(&json);
    CHECK_FAILS(eg__json_end(&json, &text, NULL, &error), error, EG_ERR_ARGUMENT, "not UTF-8");
    eg__memory_destroy(memory);
}
