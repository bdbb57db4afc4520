/* JSON through jansson. Out of memory shows as a document that cannot be printed. */
#include "cli.h"

#include <jansson.h>
#include <math.h>

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
