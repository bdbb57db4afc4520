/* A small writer of .gguf for tests: it writes what it is told, right or wrong. */
#ifndef EG__TEST_GGUF_H
#define EG__TEST_GGUF_H

#include "formats/files/bytes.h"
#include "formats/files/gguf.h"
#include "test_formats.h"

typedef struct gguf_bytes {
    unsigned char *bytes;
    size_t size, room;
} gguf_bytes;

static inline void gguf_add(gguf_bytes *g, const void *bytes, size_t size) {
    if (g->size + size > g->room) {
        g->room = 2 * (g->size + size);
        unsigned char *larger = test_alloc(g->room);
        if (g->size) memcpy(larger, g->bytes, g->size);
        free(g->bytes);
        g->bytes = larger;
    }
    if (size) memcpy(g->bytes + g->size, bytes, size);
    g->size += size;
}
static inline void gguf_u32(gguf_bytes *g, uint32_t value) {
    unsigned char at[4];
    eg__put32(at, value);
    gguf_add(g, at, sizeof at);
}
static inline void gguf_u64(gguf_bytes *g, uint64_t value) {
    unsigned char at[8];
    eg__put64(at, value);
    gguf_add(g, at, sizeof at);
}
static inline void gguf_text(gguf_bytes *g, const char *text) {
    gguf_u64(g, strlen(text));
    gguf_add(g, text, strlen(text));
}
static inline void gguf_zeros(gguf_bytes *g, size_t count) {
    for (size_t i = 0; i < count; i++) gguf_add(g, "", 1);
}
static inline void gguf_head(gguf_bytes *g, uint32_t version, uint64_t tensors, uint64_t entries) {
    gguf_add(g, "GGUF", 4);
    gguf_u32(g, version);
    gguf_u64(g, tensors);
    gguf_u64(g, entries);
}
/* A key and the type behind it; the value is the caller's. */
static inline void gguf_key(gguf_bytes *g, const char *key, uint32_t type) {
    gguf_text(g, key);
    gguf_u32(g, type);
}
static inline void gguf_array(gguf_bytes *g, const char *key, uint32_t type, uint64_t count) {
    gguf_key(g, key, 9);
    gguf_u32(g, type);
    gguf_u64(g, count);
}
static inline void gguf_key_text(gguf_bytes *g, const char *key, const char *text) {
    gguf_key(g, key, EG_GGUF_TEXT);
    gguf_text(g, text);
}
static inline void gguf_key_u32(gguf_bytes *g, const char *key, uint32_t value) {
    gguf_key(g, key, EG_GGUF_U32);
    gguf_u32(g, value);
}
/* `shape` fastest first, as in files. */
static inline void gguf_tensor(gguf_bytes *g, const char *name, uint32_t rank,
                               const uint64_t *shape, uint32_t type, uint64_t offset) {
    gguf_text(g, name);
    gguf_u32(g, rank);
    for (uint32_t i = 0; i < rank; i++) gguf_u64(g, shape[i]);
    gguf_u32(g, type);
    gguf_u64(g, offset);
}
static inline void gguf_pad(gguf_bytes *g, size_t alignment) {
    while (g->size % alignment) gguf_zeros(g, 1);
}
/* The same bytes in a block of exactly their size, so that the address sanitizer sees an access beyond. */
static inline unsigned char *gguf_exact(const gguf_bytes *g, size_t size) {
    unsigned char *exact = test_alloc(size);
    if (size) memcpy(exact, g->bytes, size);
    return exact;
}

#endif
