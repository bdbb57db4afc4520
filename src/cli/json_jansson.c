/* JSON through jansson: all documents of the program are made and changed here. */
#include "cli/cli.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The first value that could not be added to a document, or "". An incomplete document must never
 * be written; so that callers need not check every call, a fault is remembered and checked when
 * writing. */
static char fault[200];

static void refuse(const char *format, ...) EG_PRINTF(1, 2);
static void refuse(const char *format, ...) {
    va_list arguments;
    if (fault[0]) return;
    va_start(arguments, format);
    vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
}

static json_t *checked(json_t *value) {
    if (!value) refuse("no memory for JSON");
    return value;
}

static void set(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, checked(value)) != 0) refuse("no memory for '%s'", key);
}

static void append(json_t *list, json_t *value) {
    if (json_array_append_new(list, checked(value)) != 0) refuse("no memory for a list in JSON");
}

/* Bytes that are not UTF-8 (a name the firmware gave, a path) are shown as \xNN, so that they can be seen and the
 * document can be read. */
static json_t *text_value(const char *text) {
    const size_t length = strlen(text);
    char *shown = malloc(4 * length + 1), *to = shown;
    if (!shown) return NULL;
    for (const char *at = text; *at;) {
        const size_t size = eg_utf8_length(at);
        if (size) memcpy(to, at, size), to += size;
        else to += sprintf(to, "\\x%02x", (unsigned)(unsigned char)*at);
        at += size ? size : 1;
    }
    json_t *value = json_stringn(shown, (size_t)(to - shown));
    free(shown);
    return value;
}

static json_t *count_value(uint64_t value) {
    if (value > INT64_MAX)
        refuse("a count of '%llu' is more than JSON here holds", (unsigned long long)value);
    return json_integer((json_int_t)value);
}

static json_t *number_value(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

bool json_usable(void) { return true; }
json *json_new_object(void) { return checked(json_object()); }
json *json_new_list(void) { return checked(json_array()); }
void json_put(json *object, const char *key, json *value) { set(object, key, value); }
void json_put_text(json *object, const char *key, const char *text) {
    set(object, key, text && text[0] ? text_value(text) : json_null());
}
void json_put_number(json *object, const char *key, double value) {
    set(object, key, number_value(value));
}
void json_put_count(json *object, const char *key, uint64_t value) {
    set(object, key, count_value(value));
}
void json_put_flag(json *object, const char *key, bool value) {
    set(object, key, json_boolean(value));
}

void json_put_metric(json *object, const char *key, const eg_metric *metric) {
    json *value = json_new_object();
    bool whole = metric->provenance == EG_COUNTED && fabs(metric->value) < 9e15 &&
                 metric->value == floor(metric->value);
    if (metric->provenance == EG_UNAVAILABLE) set(value, "value", json_null());
    else if (whole) set(value, "value", json_integer((json_int_t)metric->value));
    else json_put_number(value, "value", metric->value);
    json_put_text(value, "unit", metric->unit);
    json_put_text(value, "provenance", eg_provenance_name(metric->provenance));
    json_put_text(value, metric->provenance == EG_UNAVAILABLE ? "reason" : "source",
                  metric->source);
    set(object, key, value);
}

void json_append(json *list, json *value) { append(list, value); }
void json_append_count(json *list, uint64_t value) { append(list, count_value(value)); }
void json_append_number(json *list, double value) { append(list, number_value(value)); }
void json_append_text(json *list, const char *text) { append(list, text_value(text)); }

/* ---- writing: all of the text is there before any of it goes out. Into memory of the right size: where it
 * grows itself (json_dumps), jansson 2.14 leaves out the keys that it has no room for. */
static char *dump(const json *document, size_t flags) {
    const size_t size = document && !fault[0] ? json_dumpb(document, NULL, 0, flags) : 0;
    char *text = size ? malloc(size + 1) : NULL;
    if (text && json_dumpb(document, text, size, flags) == size) {
        text[size] = 0;
        return text;
    }
    free(text);
    refuse("no memory for the text of a JSON document");
    return NULL;
}

static int write_text(json *document, FILE *file, size_t flags) {
    char *text = dump(document, flags | JSON_REAL_PRECISION(10));
    json_decref(document);
    if (!text) return fail(EXIT_FAILED, "cannot write JSON: %s", fault);
    const bool bad = fputs(text, file) == EOF || fputc('\n', file) == EOF;
    free(text);
    return bad ? fail(EXIT_FAILED, "cannot write JSON: %s", strerror(errno)) : CLI_OK;
}

int json_print(json *document) { return write_text(document, stdout, JSON_INDENT(2)); }

int json_write_line(json *document, FILE *file) {
    const int code = write_text(document, file, JSON_COMPACT);
    if (code || fflush(file) == 0) return code;
    return fail(EXIT_FAILED, "cannot write JSON: %s", strerror(errno));
}

char *json_dump_text(const json *document) {
    char *text = dump(document, JSON_COMPACT);
    if (!text) fail(EXIT_FAILED, "cannot write JSON: %s", fault);
    return text;
}

/* ---- reading. jansson 2.14 does not look whether a token fits into its memory: it would read another text, or
 * abort. So want of memory ends the program while it parses, which is before any output is begun. */
static bool parsing;

static void *take(size_t size) {
    void *memory = malloc(size);
    if (!memory && parsing) exit(fail(EXIT_FAILED, "no memory to read JSON"));
    return memory;
}

static void parse_begin(void) {
    json_set_alloc_funcs(take, free);
    parsing = true;
}

static json_t *parse_end(json_t *document) {
    parsing = false;
    return document;
}

/* ---- objects of texts */

static json_t *text_of(const json_t *value) { /* NULL = it is something else */
    char number[EG_NUMBER_SIZE];
    if (json_is_boolean(value)) return json_string(json_is_true(value) ? "true" : "false");
    if (json_is_integer(value)) return json_sprintf("%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) {
        eg_number_format(number, json_real_value(value));
        return json_string(number);
    }
    if (json_is_string(value)) return json_string(json_string_value(value));
    if (!json_is_array(value)) return NULL;
    json_t *all = json_string(""), *item;
    size_t index;
    json_array_foreach((json_t *)(uintptr_t)value, index, item) {
        json_t *one = json_is_array(item) ? NULL : text_of(item);
        char *item_text = one ? list_item(json_string_value(one)) : NULL;
        json_t *longer = item_text && all ? json_sprintf("%s%s%s", json_string_value(all),
                                                         index ? "," : "", item_text)
                                          : NULL;
        free(item_text);
        json_decref(one);
        json_decref(all);
        all = longer;
    }
    return all;
}

json *json_read_file(const char *path, char message[256]) {
    json_error_t problem;
    parse_begin();
    json_t *document = parse_end(json_load_file(path, JSON_REJECT_DUPLICATES, &problem));
    if (!document && problem.line > 0)
        snprintf(message, 256, "%s (line %d)", problem.text, problem.line);
    else if (!document) snprintf(message, 256, "%s", problem.text);
    return document;
}

json *json_read_text(const char *text) {
    parse_begin();
    return parse_end(json_loads(text, JSON_REJECT_DUPLICATES, NULL));
}

json *json_read_texts(const char *path, char message[256]) {
    json_t *document = json_read_file(path, message);
    const char *key;
    parse_begin(); /* here, too, nothing may be left out */
    json_t *value, *texts = json_is_object(document) ? json_object() : NULL;
    if (document && !texts) snprintf(message, 256, "not a JSON object");
    json_object_foreach(document, key, value) {
        json_t *text = text_of(value);
        if (text && json_object_set_new(texts, key, text) == 0) continue;
        snprintf(message, 256, "'%.80s' is neither text, number, true, false nor a list of them",
                 key);
        json_decref(texts);
        texts = NULL;
        break;
    }
    json_decref(document);
    return parse_end(texts);
}

int json_each_text(json *object, int (*each)(void *user, const char *key, const char *text),
                   void *user) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        const int code = each(user, key, json_string_value(value));
        if (code) return code;
    }
    return CLI_OK;
}

void json_free(json *document) { json_decref(document); }

/* ---- reading: whole documents */
json *json_get(const json *object, const char *key) { return json_object_get(object, key); }
double json_number(const json *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
size_t json_length(const json *list) { return json_array_size(list); }
double json_item_number(const json *list, size_t index) {
    const json_t *value = json_array_get(list, index);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
