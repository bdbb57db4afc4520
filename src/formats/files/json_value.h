/* Read-only access to JSON documents, without jansson's header and also in builds without it. */
#ifndef EG__JSON_VALUE_H
#define EG__JSON_VALUE_H

#include "formats/files/json.h"

typedef struct json_t eg__json_value;

/* As eg__json_read; EG_ERR_UNSUPPORTED in a build without jansson. On failure *out is NULL. */
eg_status eg__json_value_read(eg__memory *memory, const char *text, size_t length,
                              eg__json_value **out, eg_error *error);
void eg__json_value_free(eg__json_value *value); /* NULL is fine */

/* What is not there, or of another kind, is NULL, "", NaN, false or 0; `object` and `list` may be NULL. */
const eg__json_value *eg__json_get(const eg__json_value *object, const char *key);
const char *eg__json_text(const eg__json_value *object, const char *key);
double eg__json_number(const eg__json_value *object, const char *key);
bool eg__json_flag(const eg__json_value *object, const char *key);
bool eg__json_is_list(const eg__json_value *value);
size_t eg__json_length(const eg__json_value *list);
const eg__json_value *eg__json_item(const eg__json_value *list, size_t index);
double eg__json_item_number(const eg__json_value *list, size_t index);
/* The members of an object in their order, until `each` returns false. */
typedef bool (*eg__json_visit)(void *user, const char *key, const eg__json_value *value);
void eg__json_each(const eg__json_value *object, eg__json_visit each, void *user);

/* All of it into a document that is written; deeper than EG__JSON_DEPTH is a fault of that document. */
void eg__json_put_value(eg__json *json, const char *key, const eg__json_value *value);

#endif
