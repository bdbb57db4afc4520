/* Keys of a JSON object: unknown or inapplicable ones are refused by name. */
#include "formats/files/json_keys.h"

#include <stdio.h>
#include <string.h>

/* "a, b, c", cut where it is too long to be read. */
static void list_keys(size_t count, const eg__json_key *keys, unsigned where, char out[128]) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(keys[i].where & where)) continue;
        const size_t more = strlen(keys[i].name) + 2;
        if (used + more + 4 > 128) {
            snprintf(out + used, 128 - used, " ...");
            return;
        }
        used += (size_t)snprintf(out + used, 128 - used, "%s%s", used ? ", " : "", keys[i].name);
    }
}

typedef struct listing {
    unsigned where;
    size_t count;
    const eg__json_key *keys;
} listing;

static const char *name_at(void *user, size_t index) {
    const listing *all = user;
    if (index >= all->count) return NULL;
    return all->keys[index].where & all->where ? all->keys[index].name : ""; /* meaningless here */
}

eg_status eg__json_keys_check(const json_t *object, size_t count, const eg__json_key *keys,
                              unsigned where, const char *what, eg_error *error) {
    const char *name;
    json_t *value;
    char known[128], meant[EG_DID_YOU_MEAN_SIZE];
    if (!json_is_object(object)) return eg__fail(error, EG_ERR_FORMAT, "%s is no object", what);
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        size_t i = 0;
        while (i < count && strcmp(keys[i].name, name) != 0) i++;
        if (i < count && (keys[i].where & where || json_is_null(value))) continue;
        listing all = {where, count, keys};
        if (i == count && eg_did_you_mean(meant, name, name_at, &all)[0])
            return eg__fail(error, EG_ERR_FORMAT, "unknown key '%.60s' of %s%s", name, what, meant);
        list_keys(count, keys, where, known);
        return eg__fail(error, EG_ERR_FORMAT, "%s '%.60s' of %s, which has %s",
                        i < count ? "meaningless key" : "unknown key", name, what, known);
    }
    for (size_t i = 0; i < count; i++) {
        value = json_object_get(object, keys[i].name);
        if (keys[i].needed & where && (!value || json_is_null(value)))
            return eg__fail(error, EG_ERR_FORMAT, "no '%s' of %s", keys[i].name, what);
    }
    return EG_OK;
}
