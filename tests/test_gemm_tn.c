/* gemm_tn_f32 of every instruction set against sums in double, and the step that runs it. */
#include "test_gemm.h"
#include "graph/steps/program.h"

#include <math.h>

AREA(gemm_tn, "products with the left side transposed, as it lies")

static const size_t depths[] = {0, 1, 2, 7, 64, 127, 128, 129, 300};
enum { DEPTHS = sizeof depths / sizeof *depths };

/* The first m rows and n columns of C, from walled memory with or without gaps between rows. */
static void check(const eg__kernel *row, const gemm_problem *p, size_t m, size_t n, bool gaps) {
    const size_t a_stride = m + (gaps ? 3 : 0), b_stride = n + (gaps ? 1 : 0),
                 c_stride = n + (gaps ? 5 : 0), c_size = kernel_extent(m, n, c_stride);
    float *a = kernel_walled(0, kernel_extent(p->k, m, a_stride) * sizeof *a);
    float *b = kernel_walled(1, kernel_extent(p->k, n, b_stride) * sizeof *b);
    float *c = kernel_walled(2, c_size * sizeof *c);
    kernel_fill(kernel_extent(p->k, m, a_stride), a, NAN);
    kernel_fill(kernel_extent(p->k, n, b_stride), b, NAN);
    for (size_t k = 0; k < p->k; k++) {
        for (size_t i = 0; i < m; i++) a[k * a_stride + i] = p->a[i * p->k + k];
        for (size_t j = 0; j < n; j++) b[k * b_stride + j] = p->b[k * p->n + j];
    }
    kernel_fill(c_size, c, KERNEL_GUARD);
    static const eg__gemm_blocks blocks = {24, 64};
    const eg__gemm_tn_f32_args args = {
        m, n, p->k, a, a_stride, b, b_stride, c, c_stride, false, gaps ? &blocks : NULL};
    row->function.gemm_tn_f32(&args);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double exact = p->exact[i * p->n + j], unit = ldexp(p->size[i * p->n + j], -24);
            const double error = fabs(c[i * c_stride + j] - exact) / (unit > 0 ? unit : 1);
            CHECK(error <= 6, "%s m %zu n %zu k %zu%s: C[%zu][%zu] is %g, exact %g", row->isa, m, n,
                  p->k, gaps ? " gaps" : "", i, j, (double)c[i * c_stride + j], exact);
        }
    CHECK(kernel_gap_broken(m, n, c_stride, c) == SIZE_MAX, "%s m %zu n %zu: wrote into a gap",
          row->isa, m, n);
}

TEST(gemm_tn, every_small_shape) {
    enum { M = 14, N = 70 };
    uint64_t state = 1;
    size_t products = 0;
    for (size_t d = 0; d < DEPTHS; d++) {
        gemm_problem p = gemm_problem_make(M, N, depths[d], &state);
        gemm_problem_solve(&p);
        for (size_t n = 1; n <= N; n++)
            for (size_t m = 1; m <= M; m++)
                for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_tn_f32, row));) {
                    if (kernel_quick() && (m * 50 + n * 7 + d) % 53) continue;
                    if (kernel_is_ref(row) && (m * 50 + n * 7 + d) % 23) continue; /* slow */
                    check(row, &p, m, n, test_random(&state) > 0);
                    products++;
                }
        gemm_problem_free(&p);
    }
    test_claim("%zu products by %s", products, kernel_isas(EG__OP_gemm_tn_f32));
}

/* Parts of the depth follow the blocks, and are 128 rows for caches that are not known or small. */
TEST(gemm_tn, depth_of_blocks) {
    enum { KIB = 1024 };
    static const struct {
        uint64_t first;
        size_t depth;
    } cases[] = {{0, 128}, {32 * KIB, 128}, {48 * KIB, 128}, {128 * KIB, 256}, {192 * KIB, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg__gemm_blocks blocks = eg__gemm_blocks_for(cases[i].first, 2048 * KIB);
        CHECK(eg__gemm_tn_depth(&blocks) == cases[i].depth, "case %zu: %zu", i,
              eg__gemm_tn_depth(&blocks));
    }
    CHECK(eg__gemm_tn_depth(NULL) == 128, "%zu without blocks", eg__gemm_tn_depth(NULL));
    CHECK(eg__gemm_tn_depth(&(eg__gemm_blocks){24, 1}) == 1, "parts of no rows");
}

/* Rows of C are the same whoever computes the others: threads divide them. */
TEST(gemm_tn, parts_equal_the_whole) {
    enum { M = 23, N = 37, K = 260 };
    uint64_t state = 3;
    static float a[K * M], b[K * N], whole[M * N], part[M * N];
    kernel_random(K * M, a, &state);
    kernel_random(K * N, b, &state);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_tn_f32, row));) {
        eg__gemm_tn_f32_args args = {M, N, K, a, M, b, N, whole, N, false, NULL};
        row->function.gemm_tn_f32(&args);
        for (size_t cut = 1; cut < M; cut++) {
            args = (eg__gemm_tn_f32_args){cut, N, K, a, M, b, N, part, N, false, NULL};
            row->function.gemm_tn_f32(&args);
            args = (eg__gemm_tn_f32_args){M - cut,        N, K,     a + cut, M, b, N,
                                          part + cut * N, N, false, NULL};
            row->function.gemm_tn_f32(&args);
            CHECK(kernel_difference(M * N, whole, part) == SIZE_MAX, "%s: cut at %zu", row->isa,
                  cut);
        }
    }
}
