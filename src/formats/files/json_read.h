/* JSON that is read, through jansson. Only files built with jansson include this. */
#ifndef EG__JSON_READ_H
#define EG__JSON_READ_H

#include "memory/memory.h"

#include <jansson.h>

/* The document, which the caller gives to json_decref; NULL after a failure, whose message names line and byte:
 * EG_ERR_FORMAT, EG_ERR_OVERFLOW (a number that does not fit) or EG_ERR_MEMORY. The document is an object or a
 * list, alone in the text. What is not UTF-8, keys that come twice, lone surrogates, zero bytes and nesting beyond
 * 1024 are refused. Objects keep the order of their keys. `memory` serves while it is read. */
eg_status eg__json_read(eg__memory *memory, const char *text, size_t length, json_t **out,
                        eg_error *error);

#endif
