/* Size classes and the rings of cached blocks. */
#include "memory/pool.h"

#include <assert.h>

/* With u = (number of 64-byte units) - 1, the class is a tiny floating-point number: the top four
 * bits of u, and how far they were shifted. */
typedef struct class {
    unsigned shift, top;
} class;

static class class_of(size_t size) {
    uint64_t last = size ? (uint64_t)(size - 1) / EG__ALIGNMENT : 0;
    unsigned shift = last < 16 ? 0 : 60 - (unsigned)__builtin_clzll(last);
    return (class){shift, (unsigned)(last >> shift)};
}

static unsigned index_of(size_t size) {
    class c = class_of(size);
    unsigned index = c.shift * 8 + c.top;
    assert(index < EG__POOL_CLASSES);
    return index;
}

size_t eg__pool_capacity(size_t size) {
    class c = class_of(size);
    size_t capacity = ((size_t)c.top + 1) << c.shift;
    if (!eg__size_mul(capacity, EG__ALIGNMENT, &capacity)) return 0;
    return capacity <= PTRDIFF_MAX - sizeof(eg__block) ? capacity : 0;
}

void eg__pool_put(eg__pool *pool, eg__block *block) {
    eg__block **newest = &pool->newest[index_of(block->capacity)];
    eg__block *next = *newest;
    if (next) {
        block->older = next;
        block->newer = next->newer; /* the oldest: the ring is closed there */
        next->newer->older = block;
        next->newer = block;
    } else block->older = block->newer = block;
    *newest = block;
    pool->cached += block->capacity;
}

static void remove_block(eg__pool *pool, unsigned index, eg__block *block) {
    eg__block **newest = &pool->newest[index];
    if (*newest == block) *newest = block->older == block ? NULL : block->older;
    block->newer->older = block->older;
    block->older->newer = block->newer;
    pool->cached -= block->capacity;
}

eg__block *eg__pool_get(eg__pool *pool, size_t capacity, int node) {
    unsigned index = index_of(capacity);
    eg__block *newest = pool->newest[index], *block = newest;
    if (!block) return NULL;
    while (block->node != node) {
        block = block->older;
        if (block == newest) return NULL;
    }
    remove_block(pool, index, block);
    return block;
}

eg__block *eg__pool_trim(eg__pool *pool, uint64_t most) {
    eg__block *removed = NULL;
    for (unsigned index = EG__POOL_CLASSES; index-- > 0 && pool->cached > most;)
        while (pool->newest[index] && pool->cached > most) {
            eg__block *oldest = pool->newest[index]->newer;
            remove_block(pool, index, oldest);
            oldest->older = removed;
            removed = oldest;
        }
    return removed;
}
