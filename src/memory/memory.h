/* Tracked memory: the library allocates only through this. One eg__memory per context. */
#ifndef EG__MEMORY_H
#define EG__MEMORY_H

#include "base/base.h"
#include "elegans/memory.h"

typedef struct eg__memory eg__memory;

/* The memory node near the calling thread; -1 = not known. `user` is the allocator's. */
typedef int (*eg__memory_node)(void *user);

typedef struct eg__memory_options {
    eg_allocator allocator; /* all zero = the system's, NUMA-local where there are several nodes */
    eg__memory_node node;   /* of that allocator; NULL = it knows no nodes. With it, a cached block
                             * of 64 KiB or more goes only to threads near the node it lies on. */
    uint64_t budget;        /* bytes held and cached together; 0 = no limit */
    bool no_cache;          /* freed blocks go straight back to the allocator */
} eg__memory_options;

/* `options` may be NULL. The object is taken from the same allocator, with EG_TAG_CONTEXT. */
eg_status eg__memory_create(eg__memory **out, const eg__memory_options *options, eg_error *error);
/* NULL is fine. Memory that was not freed before is leaked: it stays allocated, so that a leak
 * detector or a counting allocator shows it, and it can no longer be freed. */
void eg__memory_destroy(eg__memory *memory);

/* `size` bytes, aligned to 64, contents undefined. NULL (and `error` filled, EG_ERR_MEMORY or
 * EG_ERR_BUDGET) when there is none; nothing is counted then. A size of 0 gives a valid pointer to
 * nothing. Any thread; the allocator is called without a lock held. */
void *eg__memory_take(eg__memory *memory, eg_tag tag, size_t size, eg_error *error);
void *eg__memory_take_zeroed(eg__memory *memory, eg_tag tag, size_t size, eg_error *error);
/* `count` zeroed elements of `size` bytes; EG_ERR_OVERFLOW when the product overflows. */
void *eg__memory_take_array(eg__memory *memory, eg_tag tag, size_t count, size_t size,
                            eg_error *error);
/* Grows an array so that `need` more elements of `size` bytes fit after the `used` ones; the new
 * part is zeroed. False, with the old array untouched, when memory is short. */
bool eg__memory_grow(eg__memory *memory, eg_tag tag, void **array, size_t used, size_t *room,
                     size_t need, size_t size);
/* `length` bytes of `text` and a terminator. */
char *eg__memory_take_text(eg__memory *memory, eg_tag tag, const char *text, size_t length,
                           eg_error *error);
void eg__memory_give(eg__memory *memory, void *block); /* NULL is fine; any thread */

/* ---- space: a contiguous zeroed range of which only the used part costs memory and is counted. A
 * small one, or one of a context with a custom allocator, is ordinary memory, all of it used. Any
 * thread, one at a time. */
enum { EG__SPACE_LEAST = 1 << 20 }; /* below this size, mapping pages costs more than it saves */
typedef struct eg__space {
    void *data; /* NULL = there is none */
    size_t size, used;
    eg_tag tag;
    bool mapped;
    void *block; /* not mapped: what it lies in */
} eg__space;
eg_status eg__space_open(eg__memory *memory, eg_tag tag, size_t size, eg__space *out,
                         eg_error *error);
/* The same, all of it used from the beginning and in whole pages of its own, so that devices can
 * import it; the pool may cache it. */
eg_status eg__space_take(eg__memory *memory, eg_tag tag, size_t size, eg__space *out,
                         eg_error *error);
/* Makes a part usable. EG_ERR_BUDGET when it does not fit. */
eg_status eg__space_use(eg__memory *memory, eg__space *space, size_t offset, size_t size,
                        eg_error *error);
/* Releases a used part: its whole pages go back to the system. */
void eg__space_drop(eg__memory *memory, eg__space *space, size_t offset, size_t size);
void eg__space_close(eg__memory *memory, eg__space *space); /* one without data is fine */

void eg__memory_figures_get(const eg__memory *memory, eg_tag tag, eg_memory_figures *out);
/* Every tag and, last, all together, at one moment. */
void eg__memory_figures_all(const eg__memory *memory, eg_memory_figures out[EG_TAG_COUNT + 1]);
void eg__memory_pool_figures_get(const eg__memory *memory, eg_memory_pool_figures *out);
/* Bytes that can still be allocated, including cached ones; UINT64_MAX = no limit. */
uint64_t eg__memory_left(const eg__memory *memory);
void eg__memory_peak_reset(eg__memory *memory);
uint64_t eg__memory_cache_empty(eg__memory *memory);
void eg__memory_mark_get(const eg__memory *memory, eg_memory_mark *out);
void eg__memory_growth_get(const eg__memory *memory, const eg_memory_mark *mark, uint64_t tolerance,
                           eg_memory_growth *out);

/* ---- failure injection: an allocator for tests that fails the k-th request and no other (tried
 * again after a release, it is still the same request and fails, too). Wraps `inner` (all zero =
 * the system's). */
typedef struct eg__failing_allocator {
    eg_allocator inner;
    int64_t fail_at;                /* 1 = the first request fails; 0 = none */
    int64_t requests;               /* seen so far; atomic */
    int64_t live;                   /* blocks not given back; atomic */
    size_t failed_size, again_size; /* the allocator's own; atomic */
} eg__failing_allocator;
eg_allocator eg__failing_allocator_use(eg__failing_allocator *state);

/* ---- arena: memory taken in order and given back by scope, all at once. One thread. */
typedef struct eg__arena eg__arena;
typedef struct eg__arena_scope {
    struct eg__chunk *chunk;
    size_t used;
    struct eg__chunk *large;
} eg__arena_scope;
/* `chunk_size` 0 = 64 KiB, of which 64 bytes are the arena's own; what does not fit into one gets a
 * chunk to itself. Chunks are taken when they are needed. */
eg_status eg__arena_create(eg__arena **out, eg__memory *memory, eg_tag tag, size_t chunk_size,
                           eg_error *error);
void eg__arena_destroy(eg__arena *arena); /* NULL is fine */
/* Aligned to 64, contents undefined; NULL and `error` filled when there is none. */
void *eg__arena_take(eg__arena *arena, size_t size, eg_error *error);
eg__arena_scope eg__arena_scope_begin(eg__arena *arena);
/* Frees everything allocated since; the chunks, large ones included, stay with the arena, so that
 * an equal next scope allocates nothing. */
void eg__arena_scope_end(eg__arena *arena, eg__arena_scope scope);

#endif
