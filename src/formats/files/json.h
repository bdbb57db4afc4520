/* The one way to make JSON in the library: text written in order, into tracked memory, with a failure that stays.
 *
 *     eg__json json;
 *     eg__json_begin(&json, memory);
 *     eg__json_open_object(&json, NULL);
 *     eg__json_put_count(&json, "units", 28);
 *     eg__json_close(&json);
 *     status = eg__json_end(&json, &text, &length, error);
 *
 * What JSON cannot say (text that is NULL or not UTF-8, a number that is not finite) and memory that is not there
 * make the whole document failed: calls after that do nothing, and the end returns the first fault, which names
 * the key and the value, and no text. */
#ifndef EG__JSON_H
#define EG__JSON_H

#include "memory/memory.h"

enum { EG__JSON_DEPTH = 32 };

typedef struct eg__json {
    eg__memory *memory;
    char *text;
    size_t length, room;
    char closers[EG__JSON_DEPTH]; /* of what is open */
    unsigned depth;
    unsigned digits; /* of numbers: significant ones; 0 = as many as read back as the same */
    bool indented;   /* by two blanks, a line for each value; false = no blanks at all */
    bool follows;    /* something stands before in what is open */
    const char *key; /* the last one, for messages */
    eg_error fault;  /* EG_OK = none yet */
} eg__json;

void eg__json_begin(eg__json *json, eg__memory *memory); /* then set `digits` and `indented` */
/* Terminated text in memory (EG_TAG_FILE) that the caller gives back; `length` and `error` may be NULL. NULL after
 * a failure. Call it in any case: it gives back what the document holds. */
eg_status eg__json_end(eg__json *json, char **text, size_t *length, eg_error *error);
/* A fault of the caller's own, when there was none before. */
void eg__json_fail(eg__json *json, eg_status status, const char *format, ...) EG_PRINTF(3, 4);

/* `key` is NULL in a list and at the top. Keys must stay until the end, where messages name them; `text` is copied. */
void eg__json_open_object(eg__json *json, const char *key);
void eg__json_open_list(eg__json *json, const char *key);
void eg__json_close(eg__json *json);
void eg__json_put_text(eg__json *json, const char *key, const char *text);
void eg__json_put_integer(eg__json *json, const char *key, int64_t value);
void eg__json_put_count(eg__json *json, const char *key, uint64_t value); /* below 2^63 */
void eg__json_put_number(eg__json *json, const char *key, double value);  /* see `digits` */
void eg__json_put_flag(eg__json *json, const char *key, bool value);
void eg__json_put_null(eg__json *json, const char *key);
/* Text that may come from anywhere (a path, a name that the firmware gave): bytes that are not UTF-8 are shown as
 * \xNN, so that they can be seen and the document can be read. */
void eg__json_put_shown(eg__json *json, const char *key, const char *text);

#endif
