/* Memory near the thread that asks for it, on machines with several memory nodes. */
#ifndef EG__NUMA_H
#define EG__NUMA_H

#include "memory/memory.h"

/* Smaller blocks come from the heap, where many of them share the pages that are placed. */
enum { EG__NUMA_LEAST = 64 << 10 };

/* The system's allocator; where there are several nodes, blocks of EG__NUMA_LEAST bytes and more
 * lie on the calling thread's node and *node tells which that is, else *node is NULL and nothing
 * is kept. */
eg_allocator eg__numa_open(eg__memory_node *node);
void eg__numa_close(const eg_allocator *allocator);

#endif
