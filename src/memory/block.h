/* A block of memory with its header: what the pool keeps and holders get the inside of. */
#ifndef EG__BLOCK_H
#define EG__BLOCK_H

#include "memory/memory.h"

enum { EG__ALIGNMENT = 64 };

/* Lies in front of every block, so that giving it back needs only the pointer. Its size keeps what
 * follows aligned. */
typedef struct eg__block {
    _Alignas(EG__ALIGNMENT) const eg__memory *owner;
    size_t size;                     /* what its holder asked for */
    size_t capacity;                 /* what there is behind this header: its size class */
    struct eg__block *newer, *older; /* while cached: a ring per class */
    eg_tag tag;
    int node;      /* memory node it lies on; -1 = not known */
    uint64_t seal; /* tells a block of ours that is held from anything else */
} eg__block;
_Static_assert(sizeof(eg__block) == EG__ALIGNMENT, "what follows the header is aligned");

/* NULL when the allocator has nothing, or breaks its promise of alignment. */
eg__block *eg__block_allocate(const eg_allocator *allocator, size_t capacity);
void eg__block_release(const eg_allocator *allocator, eg__block *block);

/* Seals the header and returns what the holder gets; nobody else may touch the block then. */
void *eg__block_hold(eg__block *block, const eg__memory *owner, eg_tag tag, size_t size, int node);
/* The block of what eg__block_hold returned, now nobody's. Asserts that it is one. */
eg__block *eg__block_unhold(void *taken, const eg__memory *owner);

#endif
