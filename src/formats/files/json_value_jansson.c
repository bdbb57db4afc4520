/* Documents of JSON, looked up and written again, through jansson's getters. */
#include "formats/files/json_value.h"
#include "formats/files/json_read.h"

#include <math.h>

eg_status eg__json_value_read(eg__memory *memory, const char *text, size_t length,
                              eg__json_value **out, eg_error *error) {
    return eg__json_read(memory, text, length, out, error);
}

void eg__json_value_free(eg__json_value *value) { json_decref(value); }

static double number_of(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const eg__json_value *eg__json_get(const eg__json_value *object, const char *key) {
    return json_object_get(object, key);
}
const char *eg__json_text(const eg__json_value *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
double eg__json_number(const eg__json_value *object, const char *key) {
    return number_of(json_object_get(object, key));
}
bool eg__json_flag(const eg__json_value *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}
bool eg__json_is_list(const eg__json_value *value) { return json_is_array(value); }
size_t eg__json_length(const eg__json_value *list) { return json_array_size(list); }
const eg__json_value *eg__json_item(const eg__json_value *list, size_t index) {
    return json_array_get(list, index);
}
double eg__json_item_number(const eg__json_value *list, size_t index) {
    return number_of(json_array_get(list, index));
}

void eg__json_each(const eg__json_value *object, eg__json_visit each, void *user) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!each(user, key, value)) return;
    }
}

/* ---- writing */
static bool put_member(void *user, const char *key, const eg__json_value *value) {
    eg__json_put_value(user, key, value);
    return true;
}

void eg__json_put_value(eg__json *json, const char *key, const eg__json_value *value) {
    if (json->depth == EG__JSON_DEPTH) {
        eg__json_fail(json, EG_ERR_FORMAT, "values nested more than %d deep in '%.60s'",
                      EG__JSON_DEPTH, json->key ? json->key : "");
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        eg__json_open_object(json, key);
        eg__json_each(value, put_member, json);
        eg__json_close(json);
        break;
    case JSON_ARRAY:
        eg__json_open_list(json, key);
        for (size_t i = 0; i < json_array_size(value); i++)
            eg__json_put_value(json, NULL, json_array_get(value, i));
        eg__json_close(json);
        break;
    case JSON_STRING: eg__json_put_text(json, key, json_string_value(value)); break;
    case JSON_INTEGER: eg__json_put_integer(json, key, json_integer_value(value)); break;
    case JSON_REAL: eg__json_put_number(json, key, json_real_value(value)); break;
    case JSON_NULL: eg__json_put_null(json, key); break;
    default: eg__json_put_flag(json, key, json_is_true(value));
    }
}
