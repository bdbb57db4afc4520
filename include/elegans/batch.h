/* Finding a batch size: doubled while runs succeed, halved when they run out of memory.
 * Experimental. */
#ifndef ELEGANS_BATCH_H
#define ELEGANS_BATCH_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plain struct: takes no memory, cannot fail, one thread at a time. Read it, do not write it. */
typedef struct eg_batch {
    uint64_t size;        /* to try next; 0 = even `least` failed */
    uint64_t least, most; /* bounds */
    uint64_t works;       /* the largest that worked; 0 = none yet */
    uint64_t fails;       /* the smallest that failed and is remembered; 0 = none */
    uint64_t streak;      /* successes since the last failure */
} eg_batch;
/* After this many successes in a row a failure is forgotten: memory may be free again. */
enum { EG_BATCH_PATIENCE = 16 };

/* Begins with `first`, clamped to [least, most]. Zeros mean 32, 1 and 2^20. */
EG_API void eg_batch_begin(eg_batch *batch, uint64_t first, uint64_t least, uint64_t most);
/* `success`: whether a run with batch->size succeeded (0: out of memory or over the budget). Returns the size to try
 * next, which is batch->size: doubled after a success, unless that is known to fail; halved after a failure; 0 when
 * `least` has failed. */
EG_API uint64_t eg_batch_adjust(eg_batch *batch, int success);
/* 1: nothing larger is left to try, batch->works is the answer. */
EG_API int eg_batch_settled(const eg_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
