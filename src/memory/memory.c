/* Tracked memory: takes blocks from the pool or the allocator, within the budget, and counts. */
#include "memory/numa.h"
#include "memory/state.h"
#include "memory/system.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static uint64_t held(const eg__memory *memory) { return memory->figures[EG_TAG_COUNT].current; }

static eg_status fail_memory(eg_error *error, eg_tag tag, size_t size) {
    return eg__fail(error, EG_ERR_MEMORY, "no memory for '%zu' bytes (%s)", size, eg_tag_name(tag));
}

static eg_status fail_budget(eg_error *error, eg_tag tag, size_t size, uint64_t holds,
                             uint64_t budget) {
    return eg__fail(error, EG_ERR_BUDGET,
                    "no room for '%zu' bytes (%s): '%" PRIu64 "' are held, the budget is '%" PRIu64
                    "'",
                    size, eg_tag_name(tag), holds, budget);
}

/* ---- counting, under the lock */

static void count_taken(eg__memory *memory, eg_tag tag, size_t size) {
    eg_memory_figures *both[] = {&memory->figures[tag], &memory->figures[EG_TAG_COUNT]};
    for (int i = 0; i < 2; i++) {
        both[i]->current += size;
        if (both[i]->peak < both[i]->current) both[i]->peak = both[i]->current;
        both[i]->total_allocated += size;
        both[i]->allocations++;
    }
}

static void count_given(eg__memory *memory, eg_tag tag, size_t size) {
    eg_memory_figures *both[] = {&memory->figures[tag], &memory->figures[EG_TAG_COUNT]};
    for (int i = 0; i < 2; i++) {
        both[i]->current -= size;
        both[i]->total_freed += size;
    }
}

/* Makes room for `size` bytes within the budget and books them as requested; what had to leave the
 * cache for them is in *evicted. False when they do not fit even without a cache. */
static bool reserve(eg__memory *memory, size_t size, eg__block **evicted) {
    uint64_t room = memory->budget - held(memory) - memory->requested;
    if (size > room) {
        memory->refusals++;
        return false;
    }
    *evicted = eg__pool_trim(&memory->pool, room - size);
    memory->requested += size;
    return true;
}

/* ---- the allocator, outside of the lock */

static uint64_t release_all(const eg__memory *memory, eg__block *block) {
    uint64_t bytes = 0;
    while (block) {
        eg__block *next = block->older;
        bytes += block->capacity;
        eg__block_release(&memory->allocator, block);
        block = next;
    }
    return bytes;
}

/* If the allocator fails: tries again after freeing the cache. */
static eg__block *allocate(eg__memory *memory, eg_tag tag, size_t size, size_t capacity) {
    eg__block *block = eg__block_allocate(&memory->allocator, capacity);
    if (!block && eg__memory_cache_empty(memory))
        block = eg__block_allocate(&memory->allocator, capacity);
    eg__memory_lock(memory);
    memory->requested -= size;
    if (block) {
        memory->misses++;
        count_taken(memory, tag, size);
    }
    eg__memory_unlock(memory);
    return block;
}

/* ---- taking */

static void *take(eg__memory *memory, eg_tag tag, size_t size, bool *fresh, eg_error *error) {
    assert((unsigned)tag < EG_TAG_COUNT);
    size_t capacity = eg__pool_capacity(size);
    if (!capacity) {
        fail_memory(error, tag, size);
        return NULL;
    }
    int node = -1;
    if (memory->node && capacity >= EG__NUMA_LEAST) node = memory->node(memory->allocator.user);

    eg__block *evicted = NULL;
    eg__memory_lock(memory);
    uint64_t holds = held(memory);
    eg__block *block = eg__pool_get(&memory->pool, capacity, node);
    bool fits = block || reserve(memory, size, &evicted);
    if (block) {
        memory->hits++;
        count_taken(memory, tag, size);
    }
    eg__memory_unlock(memory);

    if (!fits) {
        fail_budget(error, tag, size, holds, memory->budget);
        return NULL;
    }
    release_all(memory, evicted);
    *fresh = !block;
    if (!block) block = allocate(memory, tag, size, capacity);
    if (!block) {
        fail_memory(error, tag, size);
        return NULL;
    }
    return eg__block_hold(block, memory, tag, size, node);
}

void *eg__memory_take(eg__memory *memory, eg_tag tag, size_t size, eg_error *error) {
    return take(memory, tag, size, &(bool){false}, error);
}

/* Below this, writing zeros takes less time than faults on new pages. */
enum { RENEWED = 16 << 20 };

static void zero(const eg__memory *memory, char *taken, size_t size) {
    const size_t skip = -(uintptr_t)taken % EG__HUGE_PAGE;
    if (memory->zeroes && size >= RENEWED) {
        const size_t whole = (size - skip) / EG__HUGE_PAGE * EG__HUGE_PAGE;
        if (eg__pages_renew(taken + skip, whole)) {
            memset(taken, 0, skip);
            memset(taken + skip + whole, 0, size - skip - whole);
            return;
        }
    }
    memset(taken, 0, size);
}

/* Large memory costs time when it is used, not when it is taken: it may never be, and who uses it
 * may be another thread. */
void *eg__memory_take_zeroed(eg__memory *memory, eg_tag tag, size_t size, eg_error *error) {
    bool fresh = false;
    void *taken = take(memory, tag, size, &fresh, error);
    const bool is_zero =
        fresh && memory->zeroes && sizeof(eg__block) + eg__pool_capacity(size) >= EG__SYSTEM_ZEROED;
    if (taken && !is_zero) zero(memory, taken, size);
    return taken;
}

void *eg__memory_take_array(eg__memory *memory, eg_tag tag, size_t count, size_t size,
                            eg_error *error) {
    size_t bytes;
    if (eg__size_mul(count, size, &bytes)) return eg__memory_take_zeroed(memory, tag, bytes, error);
    eg__fail(error, EG_ERR_OVERFLOW, "size overflow: '%zu' times '%zu' bytes (%s)", count, size,
             eg_tag_name(tag));
    return NULL;
}

bool eg__memory_grow(eg__memory *memory, eg_tag tag, void **array, size_t used, size_t *room,
                     size_t need, size_t size) {
    if (used + need <= *room) return true;
    size_t larger = eg__max(64, eg__max(2 * *room, used + need));
    void *fresh = eg__memory_take_array(memory, tag, larger, size, NULL);
    if (!fresh) return false;
    if (*array) memcpy(fresh, *array, used * size);
    eg__memory_give(memory, *array);
    *array = fresh;
    *room = larger;
    return true;
}

char *eg__memory_take_text(eg__memory *memory, eg_tag tag, const char *text, size_t length,
                           eg_error *error) {
    size_t bytes;
    if (!eg__size_add(length, 1, &bytes)) {
        eg__fail(error, EG_ERR_OVERFLOW, "size overflow: text of '%zu' bytes (%s)", length,
                 eg_tag_name(tag));
        return NULL;
    }
    char *copy = eg__memory_take(memory, tag, bytes, error);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length); /* `text` may be NULL then */
    copy[length] = 0;
    return copy;
}

eg_status eg__memory_book(eg__memory *memory, eg_tag tag, size_t size, eg_error *error) {
    eg__block *evicted = NULL;
    eg__memory_lock(memory);
    const uint64_t holds = held(memory);
    const bool fits = reserve(memory, size, &evicted);
    if (fits) {
        memory->requested -= size;
        memory->misses++;
        count_taken(memory, tag, size);
    }
    eg__memory_unlock(memory);
    release_all(memory, evicted);
    return fits ? EG_OK : fail_budget(error, tag, size, holds, memory->budget);
}

void eg__memory_unbook(eg__memory *memory, eg_tag tag, size_t size) {
    eg__memory_lock(memory);
    count_given(memory, tag, size);
    eg__memory_unlock(memory);
}

/* ---- giving */

void eg__memory_give(eg__memory *memory, void *taken) {
    if (!taken) return;
    eg__block *block = eg__block_unhold(taken, memory), *leaving = block;
    eg__memory_lock(memory);
    count_given(memory, block->tag, block->size);
    if (!memory->no_cache) {
        eg__pool_put(&memory->pool, block);
        leaving = eg__pool_trim(&memory->pool, memory->budget - held(memory) - memory->requested);
    }
    eg__memory_unlock(memory);
    release_all(memory, leaving);
}

uint64_t eg__memory_cache_empty(eg__memory *memory) {
    eg__memory_lock(memory);
    eg__block *all = eg__pool_trim(&memory->pool, 0);
    eg__memory_unlock(memory);
    return release_all(memory, all);
}

/* ---- life */

eg_status eg__memory_create(eg__memory **out, const eg__memory_options *options, eg_error *error) {
    static const eg__memory_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    eg_allocator allocator = options->allocator;
    eg__memory_node node = options->node;
    if (!allocator.allocate != !allocator.release)
        return eg__fail(error, EG_ERR_ARGUMENT, "allocator has no '%s' function",
                        allocator.allocate ? "release" : "allocate");
    const size_t size = sizeof(eg__memory);
    uint64_t budget = options->budget ? options->budget : UINT64_MAX;
    if (size > budget) return fail_budget(error, EG_TAG_CONTEXT, size, 0, budget);

    bool opened = !allocator.allocate;
    if (opened) allocator = eg__numa_open(&node);
    eg__block *block = eg__block_allocate(&allocator, eg__pool_capacity(size));
    if (!block) {
        if (opened) eg__numa_close(&allocator);
        return fail_memory(error, EG_TAG_CONTEXT, size);
    }
    eg__memory *memory = (eg__memory *)(block + 1);
    eg__block_hold(block, memory, EG_TAG_CONTEXT, size, -1);
    memset(memory, 0, size);
    memory->allocator = allocator;
    memory->node = node;
    memory->allocator_opened = opened;
    memory->zeroes = allocator.allocate == eg__system_allocator().allocate;
    memory->no_cache = options->no_cache;
    memory->budget = budget;
    memory->misses = 1; /* this object: hits and misses add up to the allocations */
    count_taken(memory, EG_TAG_CONTEXT, size);
    pthread_mutex_init(&memory->lock, NULL);
    *out = memory;
    return EG_OK;
}

void eg__memory_destroy(eg__memory *memory) {
    if (!memory) return;
    eg__memory_cache_empty(memory);
    pthread_mutex_destroy(&memory->lock);
    eg_allocator allocator = memory->allocator;
    bool opened = memory->allocator_opened;
    eg__block_release(&allocator, eg__block_unhold(memory, memory));
    if (opened) eg__numa_close(&allocator);
}
