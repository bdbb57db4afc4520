/* Blocks of memory: a header with a checksum before each of them. */
#include "memory/block.h"
#include "memory/guard.h"

#include <assert.h>

eg__block *eg__block_allocate(const eg_allocator *allocator, size_t capacity) {
    size_t size = sizeof(eg__block) + capacity;
    eg__block *block = allocator->allocate(allocator->user, size, EG__ALIGNMENT);
    if (block && (uintptr_t)block % EG__ALIGNMENT) {
        allocator->release(allocator->user, block, size);
        return NULL;
    }
    if (block) block->capacity = capacity;
    return block;
}

void eg__block_release(const eg_allocator *allocator, eg__block *block) {
    size_t size = sizeof *block + block->capacity;
    eg__guard_open(block, size);
    allocator->release(allocator->user, block, size);
}

/* Each field is multiplied by a different odd number, so that a change of any field changes the
 * sum. */
static uint64_t seal_of(const eg__block *block) {
    return UINT64_C(0x656c6567616e7321) + (uintptr_t)block * UINT64_C(3) +
           (uintptr_t)block->owner * UINT64_C(5) + block->size * UINT64_C(7) +
           block->capacity * UINT64_C(11) + (uint64_t)block->tag * 13;
}

void *eg__block_hold(eg__block *block, const eg__memory *owner, eg_tag tag, size_t size, int node) {
    block->owner = owner;
    block->size = size;
    block->tag = tag;
    block->node = node;
    block->newer = block->older = NULL;
    block->seal = seal_of(block);
    char *taken = (char *)(block + 1);
    eg__guard_open(taken, size);
    eg__guard_close(taken + size, block->capacity - size);
    eg__guard_close(block, sizeof *block);
    return taken;
}

eg__block *eg__block_unhold(void *taken, const eg__memory *owner) {
    (void)owner; /* unused in a build without assertions */
    assert((uintptr_t)taken % EG__ALIGNMENT == 0 && "not a block of this library");
    eg__block *block = (eg__block *)taken - 1;
    eg__guard_open(block, sizeof *block);
    assert(block->seal == seal_of(block) && "not a block, given back twice, or overwritten");
    assert(block->owner == owner && "block of another owner");
    block->seal = 0;
    eg__guard_close(taken, block->capacity);
    return block;
}
