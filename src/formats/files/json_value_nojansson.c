/* A build without jansson: no document can be read, so there is nothing to look up. */
#include "formats/files/json_value.h"

#include <math.h>

eg_status eg__json_value_read(eg__memory *memory, const char *text, size_t length,
                              eg__json_value **out, eg_error *error) {
    (void)memory, (void)text, (void)length;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}
void eg__json_value_free(eg__json_value *value) { (void)value; }
const eg__json_value *eg__json_get(const eg__json_value *object, const char *key) {
    (void)object, (void)key;
    return NULL;
}
const char *eg__json_text(const eg__json_value *object, const char *key) {
    (void)object, (void)key;
    return "";
}
double eg__json_number(const eg__json_value *object, const char *key) {
    (void)object, (void)key;
    return (double)NAN;
}
bool eg__json_flag(const eg__json_value *object, const char *key) {
    (void)object, (void)key;
    return false;
}
bool eg__json_is_list(const eg__json_value *value) {
    (void)value;
    return false;
}
size_t eg__json_length(const eg__json_value *list) {
    (void)list;
    return 0;
}
const eg__json_value *eg__json_item(const eg__json_value *list, size_t index) {
    (void)list, (void)index;
    return NULL;
}
double eg__json_item_number(const eg__json_value *list, size_t index) {
    (void)list, (void)index;
    return (double)NAN;
}
void eg__json_each(const eg__json_value *object, eg__json_visit each, void *user) {
    (void)object, (void)each, (void)user;
}
void eg__json_put_value(eg__json *json, const char *key, const eg__json_value *value) {
    (void)json, (void)key, (void)value;
}
