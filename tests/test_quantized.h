/* Products with quantized numbers, for tests: a right side of any type and groups, and its exact results. */
#ifndef EG__TEST_SMALL_H
#define EG__TEST_SMALL_H

#include "test_kernels.h"

typedef struct quantized_problem {
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
} quantized_problem;

/* Groups of `block` rows (0 = one group), or where `uneven` of all sizes up to it. */
quantized_problem quantized_problem_make(eg__operation operation, size_t m, size_t n, size_t k,
                                         size_t block, bool uneven, bool offsets, uint64_t *state);
void quantized_problem_solve(quantized_problem *p);
void quantized_problem_free(quantized_problem *p);
/* Its first n columns, packed into memory that ends at a wall; and its first m rows as arguments. */
eg__packed_quantized quantized_packed(const quantized_problem *p, size_t n);
eg__gemm_quantized_args quantized_args(const eg__kernel *row, const quantized_problem *p, size_t m,
                                       const eg__packed_quantized *b, bool gaps, bool add);
eg__gemm_quantized_function *quantized_function(const eg__kernel *row);

#endif
