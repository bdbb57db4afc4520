/* JSON through jansson. Out of memory shows as a document that cannot be printed. */
#include "cli.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

bool json_usable(void) { return true; }
json *json_new_object(void) { return json_object(); }
json *json_new_list(void) { return json_array(); }

void json_put(json *object, const char *key, json *value) {
    json_object_set_new(object, key, value);
}

/* What is not valid UTF-8 (a name the firmware gave) becomes null rather than a broken document. */
void json_put_text(json *object, const char *key, const char *text) {
    json_t *value = text && text[0] ? json_string(text) : NULL;
    json_object_set_new(object, key, value ? value : json_null());
}

void json_put_number(json *object, const char *key, double value) {
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

void json_put_count(json *object, const char *key, uint64_t value) {
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void json_put_flag(json *object, const char *key, bool value) {
    json_object_set_new(object, key, json_boolean(value));
}

void json_put_metric(json *object, const char *key, const eg_metric *metric) {
    json_t *value = json_object();
    bool whole = metric->provenance == EG_COUNTED && fabs(metric->value) < 9e15 &&
                 metric->value == floor(metric->value);
    if (metric->provenance == EG_UNAVAILABLE) json_object_set_new(value, "value", json_null());
    else if (whole) json_object_set_new(value, "value", json_integer((json_int_t)metric->value));
    else json_put_number(value, "value", metric->value);
    json_put_text(value, "unit", metric->unit);
    json_put_text(value, "provenance", eg_provenance_name(metric->provenance));
    json_put_text(value, metric->provenance == EG_UNAVAILABLE ? "reason" : "source",
                  metric->source);
    json_object_set_new(object, key, value);
}

void json_append(json *list, json *value) { json_array_append_new(list, value); }
void json_append_count(json *list, uint64_t value) {
    json_array_append_new(list, json_integer((json_int_t)value));
}
void json_append_number(json *list, double value) {
    json_array_append_new(list, isfinite(value) ? json_real(value) : json_null());
}
void json_append_text(json *list, const char *text) {
    json_array_append_new(list, json_string(text));
}

int json_print(json *document) {
    int bad = !document || json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(document);
    if (bad) return fail(EXIT_FAILED, "cannot write JSON");
    putchar('\n');
    return EXIT_DONE;
}

bool json_write_line(json *document, FILE *file) {
    const bool bad = !document ||
                     json_dumpf(document, file, JSON_COMPACT | JSON_REAL_PRECISION(10)) ||
                     fputc('\n', file) == EOF || fflush(file) != 0;
    json_decref(document);
    return !bad;
}

/* ---- reading: objects of texts */
static json_t *text_of(const json_t *value) {
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
        json_t *longer = one && all ? json_sprintf("%s%s%s", json_string_value(all),
                                                   index ? "," : "", json_string_value(one))
                                    : NULL;
        json_decref(one);
        json_decref(all);
        all = longer;
    }
    return all;
}

json *json_read_texts(const char *path, char message[256]) {
    json_error_t problem;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    const char *key;
    json_t *value, *texts = json_is_object(document) ? json_object() : NULL;
    if (!document && problem.line > 0)
        snprintf(message, 256, "%s (line %d)", problem.text, problem.line);
    else if (!document) snprintf(message, 256, "%s", problem.text);
    else if (!texts) snprintf(message, 256, "not a JSON object");
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
    return texts;
}

int json_each_text(json *object, int (*each)(void *user, const char *key, const char *text),
                   void *user) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        const int code = each(user, key, json_string_value(value));
        if (code != -1) return code;
    }
    return -1;
}

void json_free(json *document) { json_decref(document); }

/* ---- reading: whole documents */
json *json_read_file(const char *path, char message[256]) {
    json_error_t problem;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    if (!document) snprintf(message, 256, "%s (line %d)", problem.text, problem.line);
    return document;
}

json *json_get(const json *object, const char *key) { return json_object_get(object, key); }
const char *json_text(const json *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
double json_number(const json *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
bool json_flag(const json *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}
size_t json_length(const json *list) { return json_array_size(list); }
json *json_item(const json *list, size_t index) { return json_array_get(list, index); }
double json_item_number(const json *list, size_t index) {
    const json_t *value = json_array_get(list, index);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
void json_each(json *object, bool (*each)(void *user, const char *key, json *value), void *user) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (!each(user, key, value)) return;
    }
}
char *json_dump_text(const json *document) { return json_dumps(document, JSON_COMPACT); }
