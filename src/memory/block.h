/* A block of memory with its header: the pool keeps blocks, users get the memory after the
 * header. */
#ifndef EG__BLOCK_H
#define EG__BLOCK_H

#include "memory/memory.h"

enum { EG__ALIGNMENT = 64 };

/* Lies in front of every block, so that giving it back needs only the pointer. Its size keeps what
 * follows aligned. */
typedef struct eg__block {
    _Alignas(EG__ALIGNMENT) const eg__memory *owner;
    size_t size;                     /* requested bytes */
    size_t capacity;                 /* bytes after this header: its size class */
    struct eg__block *newer, *older; /* while cached: a ring per class */
    eg_tag tag;
    int node;      /* NUMA node; -1 = unknown */
    uint64_t seal; /* checksum: identifies a block of ours that is in use */
} eg__block;
_Static_assert(sizeof(eg__block) == EG__ALIGNMENT, "what follows the header is aligned");

/* NULL when the allocator fails, or returns misaligned memory. */
eg__block *eg__block_allocate(const eg_allocator *allocator, size_t capacity);
void eg__block_release(const eg_allocator *allocator, eg__block *block);

/* Sets the checksum and returns the user's pointer. */
void *eg__block_hold(eg__block *block, const eg__memory *owner, eg_tag tag, size_t size, int node);
/* The block of a pointer that eg__block_hold returned; asserts the checksum. */
eg__block *eg__block_unhold(void *taken, const eg__memory *owner);

#endif
