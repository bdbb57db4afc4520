/* A cache of freed blocks by size class. Not locked: the owner locks. */
#ifndef EG__POOL_H
#define EG__POOL_H

#include "memory/block.h"

/* 8 classes per doubling: a block is at most 12.5 % larger than what was asked for (up to 1 KiB:
 * rounded up to 64 bytes). 440 of them reach the largest size there can be. */
enum { EG__POOL_CLASSES = 440 };

typedef struct eg__pool {
    eg__block *newest[EG__POOL_CLASSES];
    uint64_t cached; /* sum of the capacities */
} eg__pool;

/* The capacity of a block for `size` bytes; 0 when no object can be that large. */
size_t eg__pool_capacity(size_t size);
void eg__pool_put(eg__pool *pool, eg__block *block);
/* The block of that class and node that was put last (its caches are warmest); NULL when none. */
eg__block *eg__pool_get(eg__pool *pool, size_t capacity, int node);
/* Removes blocks until at most `most` bytes are cached and returns them, chained by `older`. The
 * largest go first, because fewest have to; among equals, the oldest. */
eg__block *eg__pool_trim(eg__pool *pool, uint64_t most);

#endif
