/* How many samples at once: a size that grows while it works and shrinks when it does not.
 * Experimental. */
#ifndef ELEGANS_BATCH_H
#define ELEGANS_BATCH_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plain struct: no memory, no failure; of one thread at a time. Read it, do not write it. */
typedef struct eg_batch {
    uint64_t size;        /* to try next; 0 = not even the least works */
    uint64_t least, most; /* what it stays between */
    uint64_t works;       /* the largest that worked; 0 = none yet */
    uint64_t fails;       /* the smallest that did not, as far as that is remembered; 0 = none */
    uint64_t streak;      /* successes since the last failure */
} eg_batch;
/* After so many successes in a row a failure is forgotten: memory may be free again. */
enum { EG_BATCH_PATIENCE = 16 };

/* Begins with `first`, made to lie between the two others. Zeros: 32, 1 and 2^20. */
EG_API void eg_batch_begin(eg_batch *batch, uint64_t first, uint64_t least, uint64_t most);
/* What was done with batch->size worked (not 0), or did not (0: out of memory, over the budget). Returns
 * the size to try next, which is batch->size: after a success twice as many, as long as that is not known to
 * fail; after a failure half as many; 0 when the least has failed. */
EG_API uint64_t eg_batch_adjust(eg_batch *batch, int success);
/* 1: nothing larger is left to try, batch->works is the answer. */
EG_API int eg_batch_settled(const eg_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
