/* Entropy of bytes in memory, and of bytes that come in pieces. */
#include "engine/context.h"
#include "signal/entropy.h"

#include <string.h>

enum { PIECE = 65536 };

struct eg_entropy {
    eg__memory *memory;
    eg__entropy_window window;
    int64_t *rise;
    size_t rise_used, rise_room;
    /* the most recent bytes: those in the window, and those that will enter */
    unsigned char *bytes;
    size_t used, room;
    uint64_t origin, at; /* position of bytes[0]; the next position to output */
    bool ended;
};

static eg_status check(const eg_context *context, uint64_t *window, eg_error *error) {
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    if (*window == 0) *window = EG_ENTROPY_WINDOW;
    if (*window <= EG_ENTROPY_WINDOW_MAX) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "window of '%llu' bytes is larger than %d",
                    (unsigned long long)*window, EG_ENTROPY_WINDOW_MAX);
}

eg_status eg_entropy_of(eg_context *context, const void *bytes, size_t count, uint64_t window,
                        float *out, eg_error *error) {
    const eg_status status = check(context, &window, error);
    if (status || !count) return status;
    eg_error own;
    if (!error) error = &own;
    eg__memory *memory = eg__context_memory(context);
    const uint64_t most = eg__min(window, count);
    int64_t *rise = eg__memory_take_array(memory, EG_TAG_OTHER, most, sizeof *rise, error);
    if (!rise) return error->status;
    eg__entropy_rises(rise, 0, most);
    eg__entropy_window w = {.rise = rise, .length = window};
    eg__entropy_slide(&w, bytes, 0, count, 0, count, out);
    eg__memory_give(memory, rise);
    return EG_OK;
}

eg_status eg_entropy_create(eg_context *context, uint64_t window, eg_entropy **out,
                            eg_error *error) {
    *out = NULL;
    const eg_status status = check(context, &window, error);
    if (status) return status;
    eg_error own;
    if (!error) error = &own;
    eg__memory *memory = eg__context_memory(context);
    eg_entropy *e = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *e, error);
    if (!e) return error->status;
    e->memory = memory;
    e->window.length = window;
    *out = e;
    return EG_OK;
}

void eg_entropy_destroy(eg_entropy *entropy) {
    if (!entropy) return;
    eg__memory_give(entropy->memory, entropy->rise);
    eg__memory_give(entropy->memory, entropy->bytes);
    eg__memory_give(entropy->memory, entropy);
}

/* Drops the bytes that have left the window once they are the majority, so that each byte is moved
 * about once. */
static void forget(eg_entropy *e) {
    const size_t gone = (size_t)(e->window.low - e->origin);
    if (!gone || gone < e->used - gone) return;
    memmove(e->bytes, e->bytes + gone, e->used - gone);
    e->used -= gone;
    e->origin += gone;
}

static eg_status grow_bytes(eg_entropy *e, size_t count) {
    void *bytes = e->bytes;
    const bool fits = eg__memory_grow(e->memory, EG_TAG_OTHER, &bytes, e->used, &e->room, count, 1);
    e->bytes = bytes;
    return fits ? EG_OK : EG_ERR_MEMORY;
}

static eg_status grow_rises(eg_entropy *e, size_t length) {
    if (length <= e->rise_used) return EG_OK;
    void *rise = e->rise;
    if (!eg__memory_grow(e->memory, EG_TAG_OTHER, &rise, e->rise_used, &e->rise_room,
                         length - e->rise_used, sizeof *e->rise))
        return EG_ERR_MEMORY;
    e->window.rise = e->rise = rise;
    eg__entropy_rises(e->rise, e->rise_used, length);
    e->rise_used = length;
    return EG_OK;
}

/* Room for `count` more bytes and for the counts that they may lead to. Both grow with the input, so
 * that a window larger than the input takes what the input needs. */
static eg_status make_room(eg_entropy *e, size_t count, eg_error *error) {
    forget(e);
    const size_t length = (size_t)eg__min(e->window.length, e->origin + e->used + count);
    if (!grow_bytes(e, count) && !grow_rises(e, length)) return EG_OK;
    return eg__fail(error, EG_ERR_MEMORY, "no memory for a window of '%llu' bytes",
                    (unsigned long long)e->window.length);
}

static size_t give(eg_entropy *e, float *out, uint64_t count) {
    eg__entropy_slide(&e->window, e->bytes, e->origin, e->origin + e->used, e->at, (size_t)count,
                      out);
    e->at += count;
    return (size_t)count;
}

eg_status eg_entropy_push(eg_entropy *entropy, const void *bytes, size_t count, float *out,
                          size_t *given, eg_error *error) {
    eg_entropy *e = entropy;
    const unsigned char *from = bytes;
    const uint64_t after = e->window.length - e->window.length / 2;
    *given = 0;
    if (e->ended) return eg__fail(error, EG_ERR_ARGUMENT, "bytes after the end of the input");
    while (count) {
        const size_t piece = eg__min(count, PIECE);
        const eg_status status = make_room(e, piece, error);
        if (status) return status;
        memcpy(e->bytes + e->used, from, piece);
        e->used += piece;
        from += piece, count -= piece;
        const uint64_t end = e->origin + e->used;
        /* position i is complete when byte i + after - 1 has arrived */
        if (end >= e->at + after) *given += give(e, out + *given, end - after + 1 - e->at);
    }
    return EG_OK;
}

size_t eg_entropy_end(eg_entropy *entropy, float *out, size_t room) {
    entropy->ended = true;
    return give(entropy, out, eg__min(room, entropy->origin + entropy->used - entropy->at));
}
