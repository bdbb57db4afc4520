/* What the tests of products share: a problem with its exact answer, and arguments in walled memory. */
#ifndef EG__GEMM_TEST_H
#define EG__GEMM_TEST_H

#include "test_kernels.h"

typedef struct gemm_problem {
    size_t m, n, k;
    float *a, *b, *start; /* contiguous; `start` is what C holds before it is added to */
    double *exact, *size; /* the product, and the same of the absolute values */
} gemm_problem;

/* Random numbers within [-1, 1), not solved yet. */
gemm_problem gemm_problem_make(size_t m, size_t n, size_t k, uint64_t *state);
void gemm_problem_solve(gemm_problem *p);
void gemm_problem_free(gemm_problem *p);

/* The first n columns of B, packed; valid until the next call. */
const float *gemm_packed(const gemm_problem *p, size_t n);
/* The first m rows and n columns of the problem, A, C and what `row` needs as scratch in walled memory. With `gaps` there
 * is something between the rows: NaN in A, guards in C. C holds NaN or, with `accumulate`, the start.
 * Valid until the next call. */
/* The blocks of the arguments that gemm_args makes; NULL at first. */
extern const eg__gemm_blocks *gemm_blocks;
eg__gemm_f32_args gemm_args(const eg__kernel *row, const gemm_problem *p, size_t m, size_t n,
                            const float *packed, bool gaps, bool accumulate);

#endif
