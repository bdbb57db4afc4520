/* A build without jansson: --json says so. */
#include "cli/cli.h"

#include <math.h>

bool json_usable(void) { return false; }
json *json_new_object(void) { return NULL; }
json *json_new_list(void) { return NULL; }
void json_put(json *object, const char *key, json *value) { (void)object, (void)key, (void)value; }
void json_put_text(json *object, const char *key, const char *text) {
    (void)object, (void)key, (void)text;
}
void json_put_number(json *object, const char *key, double value) {
    (void)object, (void)key, (void)value;
}
void json_put_count(json *object, const char *key, uint64_t value) {
    (void)object, (void)key, (void)value;
}
void json_put_flag(json *object, const char *key, bool value) {
    (void)object, (void)key, (void)value;
}
void json_put_metric(json *object, const char *key, const eg_metric *metric) {
    (void)object, (void)key, (void)metric;
}
void json_append(json *list, json *value) { (void)list, (void)value; }
void json_append_count(json *list, uint64_t value) { (void)list, (void)value; }
void json_append_number(json *list, double value) { (void)list, (void)value; }
void json_append_text(json *list, const char *text) { (void)list, (void)text; }
static int missing(void) {
    return fail(EXIT_FAILED, "this build has no JSON (built without jansson)");
}
int json_print(json *document) {
    (void)document;
    return missing();
}
int json_write_line(json *document, FILE *file) {
    (void)document, (void)file;
    return missing();
}
json *json_read_texts(const char *path, char message[256]) {
    (void)path;
    snprintf(message, 256, "this build has no JSON (built without jansson)");
    return NULL;
}
int json_each_text(json *object, int (*each)(void *user, const char *key, const char *text),
                   void *user) {
    (void)object, (void)each, (void)user;
    return CLI_OK;
}
void json_free(json *document) { (void)document; }
json *json_read_file(const char *path, char message[256]) { return json_read_texts(path, message); }
json *json_read_text(const char *text) {
    (void)text;
    return NULL;
}
json *json_get(const json *object, const char *key) {
    (void)object, (void)key;
    return NULL;
}
double json_number(const json *object, const char *key) {
    (void)object, (void)key;
    return (double)NAN;
}
size_t json_length(const json *list) {
    (void)list;
    return 0;
}
double json_item_number(const json *list, size_t index) {
    (void)list, (void)index;
    return (double)NAN;
}
char *json_dump_text(const json *document) {
    (void)document;
    missing();
    return NULL;
}
