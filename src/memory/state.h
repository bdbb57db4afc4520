/* What an eg__memory is, for the files of this folder. */
#ifndef EG__MEMORY_STATE_H
#define EG__MEMORY_STATE_H

#include "memory/pool.h"

#include <pthread.h>

/* One plain lock: nothing is taken or given while a program runs, so it is never contended where
 * that would matter, and figures, pool and budget change together. The allocator is called outside
 * of it, because it may be slow and may be the user's. */
struct eg__memory {
    pthread_mutex_t lock;
    eg_allocator allocator;
    eg__memory_node node;
    bool allocator_opened; /* by us: close it */
    bool no_cache;
    bool zeroes;        /* the allocator is the system's: see EG__SYSTEM_ZEROED */
    uint64_t budget;    /* UINT64_MAX = no limit */
    uint64_t requested; /* bytes being asked of the allocator just now */
    eg_memory_figures figures[EG_TAG_COUNT + 1]; /* the last one is the total */
    uint64_t hits, misses, refusals;
    eg__pool pool;
};

/* Counts bytes of memory from elsewhere as allocated (within the budget) and as freed. */
eg_status eg__memory_book(eg__memory *memory, eg_tag tag, size_t size, eg_error *error);
void eg__memory_unbook(eg__memory *memory, eg_tag tag, size_t size);

/* Queries take a const pointer; the lock is mutable. */
static inline void eg__memory_lock(const eg__memory *memory) {
    pthread_mutex_lock((pthread_mutex_t *)&memory->lock);
}
static inline void eg__memory_unlock(const eg__memory *memory) {
    pthread_mutex_unlock((pthread_mutex_t *)&memory->lock);
}

#endif
