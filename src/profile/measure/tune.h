/* What of tuning can be tested without a clock. */
#ifndef EG__TUNE_H
#define EG__TUNE_H

#include "kernels/gemm/gemm.h"

enum { EG__TUNE_CANDIDATES = 9, EG__TUNE_ROWS = 672, EG__TUNE_DEPTH = 4096 };
/* The model's blocks, then those of half and double the size. */
size_t eg__tune_candidates(eg__gemm_blocks model, eg__gemm_blocks out[EG__TUNE_CANDIDATES]);
/* The speed of the other over that of the model, from seconds of each case: a geometric mean. */
double eg__tune_gain(size_t count, const double *model, const double *other);
/* The size from which on all gains (sizes ascend) are worth it; 0 = none. */
unsigned eg__tune_least(size_t count, const unsigned *sizes, const double *gains);

#endif
