/* Structs of callers that were compiled with another version. */
#include "base/abi.h"
#include "base/base.h"

#include <string.h>

/* Every such struct begins with its size. */
static size_t size_of(const void *theirs, size_t first) {
    size_t size;
    memcpy(&size, theirs, sizeof size);
    return size ? size : first;
}

eg_status eg__options_take(void *kept, size_t now, size_t first, const char *name,
                           const void *given, eg_error *error) {
    const size_t size = given ? size_of(given, first) : now;
    memset(kept, 0, now);
    if (size < first)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "%s.size is %zu bytes, but the first version has %zu", name, size, first);
    for (size_t i = now; i < size; i++)
        if (((const unsigned char *)given)[i])
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "%s of %zu bytes uses a field that version %s of the library "
                            "does not have",
                            name, size, eg_version());
    if (given) memcpy(kept, given, size < now ? size : now);
    memcpy(kept, &now, sizeof now);
    return EG_OK;
}

void eg__info_give(void *out, size_t now, size_t first, const void *info) {
    const size_t size = size_of(out, first), known = size < now ? size : now;
    const size_t skip = sizeof size; /* theirs stays as it was */
    if (known > skip) memcpy((char *)out + skip, (const char *)info + skip, known - skip);
    if (size > now) memset((char *)out + now, 0, size - now);
}
