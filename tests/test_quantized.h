/* Products with quantized numbers, for tests: a right side of any type and groups, and its exact results. */
#ifndef EG__TEST_SMALL_H
#define EG__TEST_SMALL_H

#include "test_kernels.h"

typedef struct small_problem {
    eg__operation operation;
    eg_type type;
    bool integer; /* rows of A become int8 */
    bool offsets;
    size_t m, n, k, groups;
    uint32_t *end;
    void *values;   /* n x k, as stored */
    float *scale;   /* [groups][n] */
    int8_t *zero;   /* the same */
    float *a, *add; /* m x k; n */
    double *exact;  /* m x n, without `add` */
    double *size;   /* what its roundings are measured by */
} small_problem;

/* Groups of `block` rows (0 = one group), or where `uneven` of all sizes up to it. */
small_problem small_problem_make(eg__operation operation, size_t m, size_t n, size_t k,
                                 size_t block, bool uneven, bool offsets, uint64_t *state);
void small_problem_solve(small_problem *p);
void small_problem_free(small_problem *p);
/* Its first n columns, packed into memory that ends at a wall; and its first m rows as arguments. */
eg__packed_quantized small_packed(const small_problem *p, size_t n);
eg__gemm_quantized_args small_args(const small_problem *p, size_t m, const eg__packed_quantized *b,
                                   bool gaps, bool add);
eg__gemm_quantized_function *small_function(const eg__kernel *row);

#endif
