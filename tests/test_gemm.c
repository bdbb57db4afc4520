/* gemm_f32 and gemv_f32 of every instruction set against sums in double, over shapes that are ways
 * to be wrong. */
#include "test_gemm.h"

#include <math.h>

AREA(gemm, "matrix products against sums in double")

static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 257, 513, 600, 1025};
enum { DEPTHS = sizeof depths / sizeof *depths };

/* The error of an element in units of 2^-24 (its terms' sizes added up). With random signs partial
 * sums stay small beside that, so that few roundings show, whatever the depth; a term too many or
 * too few is a thousand times more. */
static const double bound = 6;
static double worst;
static size_t products;

static void claim(void) {
    test_claim("%zu products by %s, worst error %.2g x 2^-24 sum|a||b|", products,
               kernel_isas(EG__OP_gemm_f32), worst);
}

static void element_check(const gemm_problem *p, size_t i, size_t j, float got, bool accumulate,
                          const char *what) {
    const size_t at = i * p->n + j;
    const double start = accumulate ? p->start[at] : 0;
    const double unit = ldexp(p->size[at] + fabs(start), -24);
    const double error = fabs(got - (p->exact[at] + start)) / (unit > 0 ? unit : 1);
    CHECK(error <= bound, "%s: C[%zu][%zu] is %g, exact %g, error %g", what, i, j, (double)got,
          p->exact[at] + start, error);
    worst = fmax(worst, error);
}

/* The first m rows and n columns of the problem; `packed` holds those n columns. */
static void gemm_check(const eg__kernel *row, const gemm_problem *p, size_t m, size_t n,
                       const float *packed, bool gaps, bool accumulate) {
    eg__gemm_f32_args args = gemm_args(row, p, m, n, packed, gaps, accumulate);
    char what[120];
    snprintf(what, sizeof what, "%s m %zu n %zu k %zu%s%s", row->isa, m, n, p->k,
             gaps ? " gaps" : "", accumulate ? " accumulate" : "");
    row->function.gemm_f32(&args);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            element_check(p, i, j, args.c[i * args.c_stride + j], accumulate, what);
    CHECK(kernel_gap_broken(m, n, args.c_stride, args.c) == SIZE_MAX, "%s: wrote into a gap", what);
    products++;
}

TEST(gemm, every_small_shape) {
    enum { M = 20, N = 50 };
    uint64_t state = 1;
    for (size_t d = 0; d < DEPTHS; d++) {
        gemm_problem p = gemm_problem_make(M, N, depths[d], &state);
        gemm_problem_solve(&p);
        for (size_t n = 1; n <= N; n++) {
            const float *packed = gemm_packed(&p, n);
            for (size_t m = 1; m <= M; m++)
                for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) {
                    unsigned pick = (unsigned)(test_random(&state) * 16 + 16);
                    if (kernel_quick() && (m * 50 + n * 7 + d) % 53) continue;
                    if (kernel_is_ref(row) && (m * 50 + n * 7 + d) % 23) continue; /* slow */
                    if (!kernel_is_fast(row) && p.k > 100 && (m * 50 + n * 7 + d) % 5) continue;
                    gemm_check(row, &p, m, n, packed, pick & 1, pick & 2);
                }
        }
        gemm_problem_free(&p);
    }
    claim();
}

/* Rows or a bias that a product ends with. */
TEST(gemm, what_is_added) {
    enum { M = 19, N = 53, SLOT = 9 };
    static const size_t depths_added[] = {1, 16, 64, 100, 1025};
    uint64_t state = 5;
    for (size_t d = 0; d < sizeof depths_added / sizeof *depths_added; d++) {
        gemm_problem p = gemm_problem_make(M, N, depths_added[d], &state);
        gemm_problem_solve(&p);
        for (size_t n = 1; n <= N; n += 4) {
            const float *packed = gemm_packed(&p, n);
            for (size_t m = 1; m <= M; m++)
                for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) {
                    if (kernel_quick() && (m * 50 + n * 7 + d) % 53) continue;
                    const size_t stride = m % 2 ? N : 0; /* rows, or one row for all */
                    const size_t size = kernel_extent(m, n, stride);
                    eg__gemm_f32_args args = gemm_args(row, &p, m, n, packed, m % 3 == 0, false);
                    args.add = kernel_walled_copy(SLOT, p.start, size * sizeof(float));
                    args.add_stride = stride;
                    row->function.gemm_f32(&args);
                    for (size_t i = 0; i < m; i++)
                        for (size_t j = 0; j < n; j++) {
                            const double start = p.start[i * stride + j], at = p.exact[i * N + j];
                            const double unit = ldexp(p.size[i * N + j] + fabs(start), -24);
                            const float got = args.c[i * args.c_stride + j];
                            CHECK(fabs(got - (at + start)) <= bound * unit,
                                  "%s m %zu n %zu k %zu: C[%zu][%zu] is %g, exact %g", row->isa, m,
                                  n, p.k, i, j, (double)got, at + start);
                        }
                }
        }
        gemm_problem_free(&p);
    }
}

/* Products that take A in blocks, several blocks of the depth, several bands of rows, and the last
 * band of a single row. `quick` ones are small enough for an emulator. */
static const struct {
    size_t m, n, k;
    bool copies, quick;
} large[] = {
    {33, 40, 1500, false, true},   {300, 30, 600, false, false},  {170, 319, 600, false, false},
    {169, 321, 513, true, false},  {341, 337, 1027, true, false}, {2, 320, 43013, true, false},
    {7, 500, 12301, true, false},  {500, 321, 180, true, false},  {4537, 320, 19, true, false},
    {3361, 321, 26, true, true},   {171, 322, 512, true, false},  {85, 333, 2050, true, false},
    {24, 1000, 3600, true, false},
};

TEST(gemm, large_shapes) {
    uint64_t state = 2;
    for (size_t s = 0; s < sizeof large / sizeof *large; s++) {
        const size_t m = large[s].m, n = large[s].n, k = large[s].k;
        if (kernel_quick() && !large[s].quick) continue;
        CHECK(eg__gemm_copies_a(m, n, k) == large[s].copies, "m %zu n %zu k %zu copies", m, n, k);
        gemm_problem p = gemm_problem_make(m, n, k, &state);
        gemm_problem_solve(&p);
        const float *packed = gemm_packed(&p, n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
            if (!kernel_is_ref(row))
                for (unsigned variant = s % 2;
                     variant < (kernel_quick() || !kernel_is_fast(row) ? 2 : 4); variant += 2)
                    gemm_check(row, &p, m, n, packed, variant & 2, variant & 1);
        gemm_problem_free(&p);
    }
    claim();
}

/* Blocks of any size give the product, and their rows do not change a bit of it. */
TEST(gemm, blocks_of_any_size) {
    static const struct {
        eg__gemm_blocks blocks;
        int same; /* bits as case .. */
    } cases[] = {{{168, 512}, 0}, {{24, 512}, 0},  {{480, 512}, 0}, {{24, 64}, 3},
                 {{96, 64}, 3},   {{72, 1024}, 5}, {{24, 1024}, 5}, {{168, 2048}, 7}};
    enum { CASES = sizeof cases / sizeof *cases };
    static const size_t shapes[][3] = {
        {169, 321, 1200}, {500, 330, 2100}, {12, 40, 1100}, {600, 320, 150}, {1501, 60, 40}};
    uint64_t state = 5;
    for (size_t s = 0; s < (kernel_quick() ? 1 : 5); s++) {
        const size_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        gemm_problem p = gemm_problem_make(m, n, k, &state);
        gemm_problem_solve(&p);
        const float *packed = gemm_packed(&p, n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) {
            float *results[CASES] = {NULL};
            if (kernel_is_ref(row) || (m * n * k > 1000000 && !kernel_is_fast(row))) continue;
            for (int c = 0; c < CASES; c++) {
                gemm_blocks = &cases[c].blocks;
                gemm_check(row, &p, m, n, packed, c % 2, false);
                eg__gemm_f32_args args = gemm_args(row, &p, m, n, packed, false, false);
                row->function.gemm_f32(&args);
                results[c] = test_alloc(m * n * sizeof(float));
                memcpy(results[c], args.c, m * n * sizeof(float));
                const size_t at = kernel_difference(m * n, results[c], results[cases[c].same]);
                CHECK(at == SIZE_MAX, "%s: rows of %zu change C[%zu]", row->name, gemm_blocks->rows,
                      at);
            }
            gemm_blocks = NULL;
            eg__gemm_f32_args args = gemm_args(row, &p, m, n, packed, false, false);
            row->function.gemm_f32(&args);
            CHECK(kernel_difference(m * n, args.c, results[0]) == SIZE_MAX,
                  "%s: no blocks are those of unknown caches", row->name);
            for (int c = 0; c < CASES; c++) free(results[c]);
        }
        gemm_problem_free(&p);
    }
    gemm_blocks = NULL;
}

TEST(gemm, blocks_from_caches) {
    enum { KIB = 1024 };
    static const struct {
        uint64_t first, second;
        size_t rows, depth;
    } cases[] = {
        {0, 0, 168, 512},
        {32 * KIB, 512 * KIB, 168, 512},
        {48 * KIB, 2048 * KIB, 168, 512},
        {63 * KIB, 0, 168, 512},
        {64 * KIB, 1024 * KIB, 168, 512},
        {128 * KIB, 3072 * KIB, 168, 1024}, /* M1: 12 MB for four cores */
        {192 * KIB, 3072 * KIB, 168, 2048},
        {32 * KIB, 256 * KIB, 72, 512},
        {32 * KIB, 16 * KIB, 24, 512},
        {0, 128 * KIB, 24, 512},
        {UINT64_MAX, UINT64_MAX, 168, 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg__gemm_blocks b = eg__gemm_blocks_for(cases[i].first, cases[i].second);
        CHECK(b.rows == cases[i].rows && b.depth == cases[i].depth, "case %zu: %zu x %zu", i,
              b.rows, b.depth);
    }
}

TEST(gemm, one_row) {
    static const size_t wide[] = {63, 64, 65, 79, 80, 81, 97, 112, 113, 127, 128, 129, 200, 257};
    enum { NARROW = 50, WIDE = sizeof wide / sizeof *wide, N = 257 };
    uint64_t state = 3;
    for (size_t d = 0; d < DEPTHS; d++) {
        gemm_problem p = gemm_problem_make(1, N, depths[d], &state);
        gemm_problem_solve(&p);
        for (size_t w = 0; w < NARROW + WIDE; w++) {
            const size_t n = w < NARROW ? w : wide[w - NARROW];
            if (kernel_quick() && (w + d) % 13) continue;
            const float *packed = gemm_packed(&p, n);
            for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemv_f32, row));)
                for (int add = 0; add < 2; add++) {
                    eg__gemm_f32_args args = gemm_args(row, &p, 1, n, packed, false, add);
                    eg__gemv_f32_args vector = {n,      p.k,    args.a,
                                                packed, args.c, add ? args.c : NULL};
                    char what[100];
                    snprintf(what, sizeof what, "gemv %s n %zu k %zu add %d", row->isa, n, p.k,
                             add);
                    row->function.gemv_f32(&vector);
                    for (size_t j = 0; j < n; j++) element_check(&p, 0, j, vector.y[j], add, what);
                }
        }
        gemm_problem_free(&p);
    }
}

/* Nothing to do means nothing touched, not even an epilogue. */
static void epilogue_forbidden(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                               size_t column, size_t columns) {
    (void)user, (void)c, (void)c_stride;
    CHECK(false, "called for %zu+%zu x %zu+%zu of nothing", row, rows, column, columns);
}

TEST(gemm, empty_shapes) {
    static const size_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 0}, {0, 400}};
    const eg__epilogue epilogue = {epilogue_forbidden, NULL};
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            float *nothing = kernel_walled(0, 0);
            eg__gemm_f32_args args = {.m = sizes[s][0],
                                      .n = sizes[s][1],
                                      .k = 3,
                                      .a = nothing,
                                      .a_stride = 3,
                                      .b = nothing,
                                      .c = nothing,
                                      .c_stride = sizes[s][1],
                                      .epilogue = &epilogue};
            row->function.gemm_f32(&args);
        }
}

/* A NaN or an infinity in A or B must reach exactly the elements it belongs to. */
TEST(gemm, nan_and_infinity) {
    static const size_t sizes[][3] = {{2, 3, 4},    {5, 17, 9},    {6, 16, 33},
                                      {13, 50, 70}, {9, 24, 1030}, {1, 40, 21}};
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    uint64_t state = 5;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t v = 0; v < 6; v++) {
            gemm_problem p = gemm_problem_make(sizes[s][0], sizes[s][1], sizes[s][2], &state);
            const size_t row_at = p.m / 2, depth_at = p.k - 2, column_at = p.n - 1;
            if (v < 3) p.a[row_at * p.k + depth_at] = specials[v];
            else p.b[depth_at * p.n + column_at] = specials[v - 3];
            p.b[depth_at * p.n] = 0; /* 0 times infinity is NaN */
            gemm_problem_solve(&p);
            const float *packed = gemm_packed(&p, p.n);
            for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) {
                eg__gemm_f32_args args = gemm_args(row, &p, p.m, p.n, packed, false, false);
                row->function.gemm_f32(&args);
                for (size_t i = 0; i < p.m * p.n; i++) {
                    const double want = p.exact[i], got = args.c[i];
                    CHECK(isnan(want)   ? isnan(got)
                          : isinf(want) ? got == want
                                        : fabs(got - want) < 1e-3,
                          "%s m %zu n %zu k %zu, case %zu: C[%zu] is %g, not %g", row->isa, p.m,
                          p.n, p.k, v, i, got, want);
                }
            }
            gemm_problem_free(&p);
        }
}

TEST(gemm, packing) {
    static const size_t sizes[][2] = {{0, 5},   {1, 1},   {3, 15},  {5, 16}, {7, 17},
                                      {33, 31}, {20, 32}, {11, 33}, {4, 100}};
    uint64_t state = 6;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t k = sizes[s][0], n = sizes[s][1], size = eg__gemm_packed_size(k, n);
        const size_t stride = n + 3, turned_stride = k + 2;
        float *b = kernel_walled(0, kernel_extent(k, n, stride) * sizeof *b);
        float *turned = kernel_walled(1, kernel_extent(n, k, turned_stride) * sizeof *b);
        float *packed = kernel_walled(2, size * sizeof *b);
        float *packed_turned = kernel_walled(3, size * sizeof *b);
        kernel_random(kernel_extent(k, n, stride), b, &state);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++) turned[j * turned_stride + i] = b[i * stride + j];
        kernel_fill(size, packed, NAN), kernel_fill(size, packed_turned, NAN);
        eg__gemm_pack_f32(k, n, b, stride, 1, packed);
        eg__gemm_pack_f32(k, n, turned, 1, turned_stride, packed_turned);
        CHECK(kernel_difference(size, packed, packed_turned) == SIZE_MAX,
              "k %zu n %zu: a transposed matrix packs differently", k, n);
        for (size_t j = 0; j < eg__gemm_panels(n) * EG__PANEL; j++)
            for (size_t i = 0; i < k; i++) {
                float got = packed[j / EG__PANEL * EG__PANEL * k + i * EG__PANEL + j % EG__PANEL];
                CHECK(got == (j < n ? b[i * stride + j] : 0), "k %zu n %zu: (%zu, %zu) is %g", k, n,
                      i, j, (double)got);
            }
    }
}
