/* Helpers of the tests of products. */
#include "test_gemm.h"

#include <math.h>

enum { SLOT_A, SLOT_B, SLOT_C, SLOT_SCRATCH };

void gemm_problem_solve(gemm_problem *p) {
    for (size_t i = 0; i < p->m; i++) {
        double *exact = p->exact + i * p->n, *size = p->size + i * p->n;
        for (size_t j = 0; j < p->n; j++) exact[j] = size[j] = 0;
        for (size_t l = 0; l < p->k; l++) {
            const double a = p->a[i * p->k + l];
            const float *b = p->b + l * p->n;
            for (size_t j = 0; j < p->n; j++) {
                exact[j] += a * b[j];
                size[j] += fabs(a * b[j]);
            }
        }
    }
}

gemm_problem gemm_problem_make(size_t m, size_t n, size_t k, uint64_t *state) {
    gemm_problem p = {.m = m, .n = n, .k = k};
    p.a = test_alloc(m * k * sizeof *p.a);
    p.b = test_alloc(k * n * sizeof *p.b);
    p.start = test_alloc(m * n * sizeof *p.start);
    p.exact = test_alloc(m * n * sizeof *p.exact);
    p.size = test_alloc(m * n * sizeof *p.size);
    kernel_random(m * k, p.a, state);
    kernel_random(k * n, p.b, state);
    kernel_random(m * n, p.start, state);
    return p;
}

void gemm_problem_free(gemm_problem *p) {
    free(p->a), free(p->b), free(p->start), free(p->exact), free(p->size);
}

const float *gemm_packed(const gemm_problem *p, size_t n) {
    float *packed = kernel_walled(SLOT_B, eg__gemm_packed_size(p->k, n) * sizeof *packed);
    eg__gemm_pack_f32(p->k, n, p->b, p->n, 1, packed);
    return packed;
}

const eg__gemm_blocks *gemm_blocks;

eg__gemm_f32_args gemm_args(const eg__kernel *row, const gemm_problem *p, size_t m, size_t n,
                            const float *packed, bool gaps, bool accumulate) {
    const size_t a_stride = p->k + (gaps ? 3 : 0), c_stride = n + (gaps ? 5 : 0);
    const size_t a_size = kernel_extent(m, p->k, a_stride), c_size = kernel_extent(m, n, c_stride);
    const eg__kernel_shape shape = {.m = m, .n = n, .k = p->k, .blocks = gemm_blocks};
    const size_t scratch_size = eg__kernel_scratch(row, &shape) / sizeof(float);
    float *a = kernel_walled(SLOT_A, a_size * sizeof *a);
    float *c = kernel_walled(SLOT_C, c_size * sizeof *c);
    float *scratch = scratch_size ? kernel_walled(SLOT_SCRATCH, scratch_size * sizeof *c) : NULL;
    kernel_fill(a_size, a, NAN);
    kernel_fill(c_size, c, KERNEL_GUARD);
    kernel_fill(scratch_size, scratch, NAN);
    for (size_t i = 0; i < m; i++) {
        memcpy(a + i * a_stride, p->a + i * p->k, p->k * sizeof *a);
        if (accumulate) memcpy(c + i * c_stride, p->start + i * p->n, n * sizeof *c);
        else kernel_fill(n, c + i * c_stride, NAN);
    }
    return (eg__gemm_f32_args){.m = m,
                               .n = n,
                               .k = p->k,
                               .a = a,
                               .a_stride = a_stride,
                               .b = packed,
                               .c = c,
                               .c_stride = c_stride,
                               .accumulate = accumulate,
                               .scratch = scratch,
                               .blocks = gemm_blocks};
}
