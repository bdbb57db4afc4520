/* Inflates a member piece by piece, so that an array unpacks straight into its tensor. */
#include "formats/files/zip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { INPUT_SIZE = 65536 };

struct eg__inflate {
    z_stream stream;
    eg__memory *memory;
    const eg__source *source;
    uint64_t at, left; /* what of the source is still to be read */
    bool ended;
    eg_error memory_error; /* why zlib got no memory */
    unsigned char input[INPUT_SIZE];
};

static voidpf take_for_zlib(voidpf opaque, uInt items, uInt size) {
    eg__inflate *state = opaque;
    return eg__memory_take_array(state->memory, EG_TAG_FILE, items, size, &state->memory_error);
}

static void give_for_zlib(voidpf opaque, voidpf block) {
    eg__inflate *state = opaque;
    eg__memory_give(state->memory, block);
}

static eg_status explain(const eg__inflate *state, int code, eg_error *error) {
    if (code == Z_MEM_ERROR)
        return eg__fail(error, state->memory_error.status, "%s", state->memory_error.message);
    return eg__fail(error, EG_ERR_FORMAT, "damaged deflate data%s%s", state->stream.msg ? ": " : "",
                    state->stream.msg ? state->stream.msg : "");
}

eg_status eg__inflate_begin(eg__inflate **out, eg__memory *memory, const eg__source *source,
                            uint64_t offset, uint64_t size, eg_error *error) {
    *out = NULL;
    void *block;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, sizeof **out, &block, error);
    if (status) return status;
    eg__inflate *state = block;
    memset(state, 0, offsetof(eg__inflate, input));
    state->memory = memory;
    state->source = source;
    state->at = offset;
    state->left = size;
    state->stream.zalloc = take_for_zlib;
    state->stream.zfree = give_for_zlib;
    state->stream.opaque = state;
    int code = inflateInit2(&state->stream, -MAX_WBITS); /* negative: no header of zlib's own */
    if (code != Z_OK) {
        status = explain(state, code, error);
        eg__memory_give(memory, state);
        return status;
    }
    *out = state;
    return EG_OK;
}

static eg_status refill(eg__inflate *state, eg_error *error) {
    size_t count = state->left < INPUT_SIZE ? (size_t)state->left : INPUT_SIZE;
    eg_status status = eg__source_read(state->source, state->at, state->input, count, error);
    if (status) return status;
    state->at += count;
    state->left -= count;
    state->stream.next_in = state->input;
    state->stream.avail_in = (uInt)count;
    return EG_OK;
}

/* Inflates until `size` bytes are there or the data end; *got says how many there are. */
static eg_status inflate_some(eg__inflate *state, unsigned char *out, size_t size, size_t *got,
                              eg_error *error) {
    z_stream *stream = &state->stream;
    for (*got = 0; *got < size && !state->ended;) {
        if (stream->avail_in == 0 && state->left) {
            eg_status status = refill(state, error);
            if (status) return status;
        }
        uInt room = (uInt)eg__min(size - *got, INT_MAX);
        stream->next_out = out + *got;
        stream->avail_out = room;
        int code = inflate(stream, Z_NO_FLUSH);
        *got += room - stream->avail_out;
        state->ended = code == Z_STREAM_END;
        /* Z_BUF_ERROR: nothing could be done, that is, the input is at its end. */
        if (code == Z_BUF_ERROR) return EG_OK;
        if (code != Z_OK && code != Z_STREAM_END) return explain(state, code, error);
    }
    return EG_OK;
}

eg_status eg__inflate_read(eg__inflate *state, void *out, size_t size, eg_error *error) {
    size_t got;
    eg_status status = inflate_some(state, out, size, &got, error);
    if (status || got == size) return status;
    return eg__fail(error, EG_ERR_FORMAT, "deflate data end %zu bytes early", size - got);
}

eg_status eg__inflate_finish(eg__inflate *state, eg_error *error) {
    unsigned char beyond;
    size_t got;
    eg_status status = inflate_some(state, &beyond, 1, &got, error);
    if (status) return status;
    if (!got && state->ended && !state->left && !state->stream.avail_in) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "deflate data do not end where the directory says");
}

void eg__inflate_end(eg__inflate *state) {
    if (!state) return;
    inflateEnd(&state->stream);
    eg__memory_give(state->memory, state);
}
