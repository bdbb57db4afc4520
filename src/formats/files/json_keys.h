/* Which keys an object in JSON may have: a table of them, and one check. Only files built with jansson
 * include this. */
#ifndef EG__JSON_KEYS_H
#define EG__JSON_KEYS_H

#include "base/base.h"

#include <jansson.h>

typedef struct eg__json_key {
    const char *name;
    unsigned where;  /* bits, as the table's owner counts them: for what it has a meaning */
    unsigned needed; /* and for what it must be there */
} eg__json_key;

/* `object` is an object, and every key of it is one that the table has for one of the bits of
 * `where`. EG_ERR_FORMAT names a key that is unknown, that does not apply there and has a value
 * other than null, or that is required and missing. `what` names the object for messages: "an
 * LTC". */
eg_status eg__json_keys_check(const json_t *object, size_t count, const eg__json_key *keys,
                              unsigned where, const char *what, eg_error *error);

#endif
