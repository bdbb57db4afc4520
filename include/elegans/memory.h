/* Who holds how much memory: allocators, figures per tag, the caching pool, leak checks.
 * Stable. */
#ifndef ELEGANS_MEMORY_H
#define ELEGANS_MEMORY_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where memory comes from. All zero means the system's. Both functions may be called from any
 * thread at any time; `allocate` returns NULL when it has nothing, and `alignment` is a power of
 * two, at least 64. `release` gets the size it was asked for. */
typedef struct eg_allocator {
    void *user;
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory, size_t size);
} eg_allocator;

/* What memory is used for. New tags go at the end. */
#define EG_TAG_MAP(X)            \
    X(EG_TAG_OTHER, "other")     \
    X(EG_TAG_CONTEXT, "context") \
    X(EG_TAG_CHIP, "chip")       \
    X(EG_TAG_TENSOR, "tensor")   \
    X(EG_TAG_WEIGHTS, "weights") \
    X(EG_TAG_ARENA, "arena")     \
    X(EG_TAG_GRAPH, "graph")     \
    X(EG_TAG_PROGRAM, "program") \
    X(EG_TAG_FILE, "file")       \
    X(EG_TAG_MEASURE, "measure") \
    X(EG_TAG_CACHE, "cache")

typedef enum eg_tag {
#define EG_TAG_ENUM(name, text) name,
    EG_TAG_MAP(EG_TAG_ENUM)
#undef EG_TAG_ENUM
        EG_TAG_COUNT
} eg_tag;

EG_API const char *eg_tag_name(eg_tag tag); /* "weights"; "all" for EG_TAG_COUNT; static */

/* Exact byte counts of what was asked for (not of what the system rounded it to). */
typedef struct eg_memory_figures {
    uint64_t current;         /* bytes held now */
    uint64_t peak;            /* most bytes held at once since the start or the last reset */
    uint64_t total_allocated; /* bytes ever taken */
    uint64_t total_freed;     /* bytes ever given back */
    uint64_t allocations;     /* how often memory was taken */
} eg_memory_figures;

/* The figures of one tag, or of all together for EG_TAG_COUNT. Any thread. */
EG_API eg_status eg_memory_query(const eg_context *context, eg_tag tag, eg_memory_figures *out,
                                 eg_error *error);

/* Sets every peak to what is held now. */
EG_API void eg_memory_reset_peak(eg_context *context);

/* The pool keeps freed blocks for the next taker of that size and holds the whole context under a
 * budget: `current` of all tags plus `cached` never exceeds it. A request that would go over it
 * empties the cache as far as needed; when that is not enough, it gets EG_ERR_BUDGET and nothing
 * has changed. (What the allocator is asked for is a little more: a block has 64 bytes in front and
 * is rounded up by at most 12.5 %, or to 64 bytes.) */
typedef struct eg_memory_pool_figures {
    uint64_t budget;   /* bytes; 0 = no limit */
    uint64_t cached;   /* bytes kept for reuse: not in `current` above, but within the budget */
    uint64_t hits;     /* taken from the cache */
    uint64_t misses;   /* taken from the allocator */
    uint64_t refusals; /* requests that would have gone over the budget */
} eg_memory_pool_figures;

EG_API eg_status eg_memory_pool_query(const eg_context *context, eg_memory_pool_figures *out,
                                      eg_error *error);

/* Gives every cached block back to the allocator; returns how many bytes that were. */
EG_API uint64_t eg_memory_empty_cache(eg_context *context);

/* ---- leaks: remember, work, compare */
typedef struct eg_memory_mark {
    uint64_t current[EG_TAG_COUNT];
    uint64_t total;
} eg_memory_mark;

typedef struct eg_memory_growth {
    int leaked;                   /* 1 when `total` is above the tolerance */
    int64_t total;                /* bytes held now minus bytes held at the mark */
    int64_t by_tag[EG_TAG_COUNT]; /* the same per tag: what grew */
} eg_memory_growth;

#define EG_LEAK_TOLERANCE UINT64_C(100000000) /* 0.1 GB: the default of `tolerance` below */

EG_API eg_status eg_memory_mark_take(const eg_context *context, eg_memory_mark *out,
                                     eg_error *error);
/* `tolerance` in bytes; 0 reports any growth. */
EG_API eg_status eg_memory_growth_check(const eg_context *context, const eg_memory_mark *mark,
                                        uint64_t tolerance, eg_memory_growth *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
