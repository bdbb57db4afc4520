/* Windows: pieces of recordings that a model sees at once. */
#include "train/data.h"

/* Those of one recording into `out` when it is not NULL; returns how many there are. */
static size_t cut(const eg_data_options *o, uint64_t first, uint64_t rows, eg__window *out) {
    const uint64_t window = o->window ? o->window : rows, stride = o->stride ? o->stride : window;
    uint64_t start = 0;
    size_t count = 0;
    while (start < rows && rows - start >= window) {
        if (out) out[count] = (eg__window){first + start, window};
        count++;
        if (rows - start == window || rows - start <= stride) return count; /* no rows left */
        start += stride;
    }
    /* one shorter window covers the remaining rows; more of them would only repeat these */
    if (o->partial && start < rows) {
        if (out) out[count] = (eg__window){first + start, rows - start};
        count++;
    }
    return count;
}

eg_status eg__data_windows(eg__store *s, const eg_data_options *o, eg_data **out, eg_error *error) {
    size_t count = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i < s->recordings; i++) {
        const uint64_t rows = s->starts[i + 1] - s->starts[i];
        count += cut(o, s->starts[i], rows, NULL);
        if (rows > longest) longest = rows;
    }
    if (!count)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a window of %llu rows is longer than the longest recording, "
                        "which has %llu",
                        (unsigned long long)o->window, (unsigned long long)longest);
    const eg_status status = eg__data_part(s, count, out, error);
    if (status) return status;
    count = 0;
    for (size_t i = 0; i < s->recordings; i++)
        count += cut(o, s->starts[i], s->starts[i + 1] - s->starts[i], (*out)->windows + count);
    eg__data_measure(*out);
    return EG_OK;
}
