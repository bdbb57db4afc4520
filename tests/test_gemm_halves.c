/* gemm_f16f16 and gemm_bf16bf16 of every instruction set against sums in double, over shapes that are ways to be wrong. */
#include "test_gemm.h"

#include <math.h>

AREA(gemm_halves, "products of halves against sums in double")

static const eg_type types[] = {EG_F16, EG_BF16};
enum { TYPES = 2, SLOT_A = 4, SLOT_B, SLOT_C, SLOT_SCRATCH, SLOT_ADD };

/* In units of 2^-24 of the terms' sizes, as test_gemm.c has it. */
static const double bound = 6;
static double worst;
static size_t products;

static void claim(void) {
    char isas[100];
    snprintf(isas, sizeof isas, "%s", kernel_isas(EG__OP_gemm_bf16bf16));
    test_claim("%zu products, f16 by %s, bf16 by %s, worst error %.2g x 2^-24 sum|a||b|", products,
               kernel_isas(EG__OP_gemm_f16f16), isas, worst);
}

/* A problem whose numbers are halves, and these halves. */
typedef struct halves_problem {
    gemm_problem f32;
    eg_type type;
    uint16_t *a, *b;
} halves_problem;

static uint16_t *rounded(eg_type type, size_t n, float *x) {
    uint16_t *to = test_alloc(n * sizeof *to);
    (type == EG_F16 ? eg__f32_to_f16_ref : eg__f32_to_bf16_ref)(n, x, to);
    (type == EG_F16 ? eg__f16_to_f32_ref : eg__bf16_to_f32_ref)(n, to, x);
    return to;
}
static halves_problem halves_make(eg_type type, size_t m, size_t n, size_t k, uint64_t *state) {
    halves_problem p = {gemm_problem_make(m, n, k, state), type, NULL, NULL};
    p.a = rounded(type, m * k, p.f32.a);
    p.b = rounded(type, k * n, p.f32.b);
    gemm_problem_solve(&p.f32);
    return p;
}
static void halves_free(halves_problem *p) {
    gemm_problem_free(&p->f32);
    free(p->a), free(p->b);
}

static const uint16_t *halves_packed(const halves_problem *p, size_t n) {
    const size_t size = eg__gemm_halves_size(p->f32.k, n);
    uint16_t *packed = kernel_walled(SLOT_B, size * sizeof *packed);
    memset(packed, 0xff, size * sizeof *packed); /* NaN */
    eg__gemm_pack_halves(p->f32.k, n, p->b, p->f32.n, 1, packed);
    return packed;
}

/* Gaps between the rows of A are NaN, but for the half behind an odd k. */
static eg__gemm_halves_args halves_args(const eg__kernel *row, const halves_problem *p, size_t m,
                                        size_t n, const uint16_t *packed, bool gaps,
                                        bool accumulate) {
    const size_t k = p->f32.k, even = 2 * eg__gemm_pairs(k);
    const size_t a_stride = even + (gaps ? 6 : 0), c_stride = n + (gaps ? 5 : 0);
    const size_t a_size = kernel_extent(m, even, a_stride), c_size = kernel_extent(m, n, c_stride);
    const eg__kernel_shape shape = {.m = m, .n = n, .k = k, .blocks = gemm_blocks};
    const size_t scratch_size = eg__kernel_scratch(row, &shape) / sizeof(float);
    uint16_t *a = kernel_walled(SLOT_A, a_size * sizeof *a);
    float *c = kernel_walled(SLOT_C, c_size * sizeof *c);
    float *scratch = kernel_walled(SLOT_SCRATCH, (scratch_size + 15) / 16 * 64);
    memset(a, 0xff, a_size * sizeof *a);
    kernel_fill(c_size, c, KERNEL_GUARD);
    kernel_fill(scratch_size, scratch, NAN);
    for (size_t i = 0; i < m; i++) {
        memcpy(a + i * a_stride, p->a + i * k, k * sizeof *a);
        if (k % 2) a[i * a_stride + k] = 0x3f80;
        if (accumulate) memcpy(c + i * c_stride, p->f32.start + i * p->f32.n, n * sizeof *c);
        else kernel_fill(n, c + i * c_stride, NAN);
    }
    return (eg__gemm_halves_args){.m = m,
                                  .n = n,
                                  .k = k,
                                  .a = a,
                                  .a_stride = a_stride,
                                  .b = packed,
                                  .c = c,
                                  .c_stride = c_stride,
                                  .accumulate = accumulate,
                                  .scratch = scratch,
                                  .blocks = gemm_blocks};
}

static void run(const eg__kernel *row, const eg__gemm_halves_args *args) {
    if (row->operation == EG__OP_gemm_f16f16) row->function.gemm_f16f16(args);
    else row->function.gemm_bf16bf16(args);
}

/* The result of `args`, to which `start`, rows `stride` apart, was added; NULL = nothing. */
static void result_check(const eg__kernel *row, const halves_problem *p,
                         const eg__gemm_halves_args *args, const float *start, size_t stride) {
    for (size_t i = 0; i < args->m; i++)
        for (size_t j = 0; j < args->n; j++) {
            const size_t at = i * p->f32.n + j;
            const double more = start ? start[i * stride + j] : 0, want = p->f32.exact[at] + more;
            const double got = args->c[i * args->c_stride + j];
            const double unit = ldexp(p->f32.size[at] + fabs(more), -24);
            const double error = fabs(got - want) / (unit > 0 ? unit : 1);
            CHECK(error <= bound, "%s m %zu n %zu k %zu: C[%zu][%zu] is %g, exact %g, error %g",
                  row->name, args->m, args->n, args->k, i, j, got, want, error);
            worst = fmax(worst, error);
        }
    CHECK(kernel_gap_broken(args->m, args->n, args->c_stride, args->c) == SIZE_MAX,
          "%s m %zu n %zu k %zu: wrote into a gap", row->name, args->m, args->n, args->k);
    products++;
}

static void halves_check(const eg__kernel *row, const halves_problem *p, size_t m, size_t n,
                         const uint16_t *packed, unsigned variant) {
    const bool accumulate = variant & 2, rows = variant & 8;
    eg__gemm_halves_args args = halves_args(row, p, m, n, packed, variant & 1, accumulate);
    const float *start = accumulate ? p->f32.start : NULL;
    size_t stride = p->f32.n;
    if (!accumulate && variant & 4) { /* rows that are added, or one row for all */
        stride = args.add_stride = rows ? p->f32.n : 0;
        start = args.add =
            kernel_walled_copy(SLOT_ADD, p->f32.start, kernel_extent(m, n, stride) * sizeof(float));
    }
    run(row, &args);
    result_check(row, p, &args, start, stride);
}

TEST(gemm_halves, every_small_shape) {
    static const size_t depths[] = {0,  1,  2,  3,   4,   5,   7,   8,   9,
                                    16, 31, 64, 101, 257, 512, 513, 1027};
    enum { M = 20, N = 50 };
    uint64_t state = 1;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            halves_problem p = halves_make(types[t], M, N, depths[d], &state);
            for (size_t n = 1; n <= N; n++) {
                const uint16_t *packed = halves_packed(&p, n);
                for (size_t m = 1; m <= M; m++)
                    for (const eg__kernel *row = NULL;
                         (row = kernel_next(eg__halves_operation(types[t]), row));) {
                        const unsigned pick = (unsigned)(test_random(&state) * 16 + 16);
                        const size_t cell = m * 50 + n * 7 + d;
                        if (cell % (kernel_is_ref(row) ? 97 : kernel_quick() ? 53 : 3)) continue;
                        if (!kernel_is_fast(row) && depths[d] > 100 && cell % 7) continue;
                        halves_check(row, &p, m, n, packed, pick);
                    }
            }
            halves_free(&p);
        }
    claim();
}

/* Blocks of rows, of columns and of the depth; the last of one row, or of one column. */
TEST(gemm_halves, large_shapes) {
    static const struct {
        size_t m, n, k;
        bool quick;
    } large[] = {{33, 40, 1500, true},    {97, 65, 600, false},    {170, 319, 1201, false},
                 {193, 321, 1026, false}, {341, 337, 1027, false}, {2, 320, 86027, false},
                 {1, 330, 2049, true},    {500, 321, 180, false},  {96, 64, 1024, true}};
    uint64_t state = 2;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t s = 0; s < sizeof large / sizeof *large; s++) {
            if (kernel_quick() && !large[s].quick) continue;
            halves_problem p = halves_make(types[t], large[s].m, large[s].n, large[s].k, &state);
            const uint16_t *packed = halves_packed(&p, p.f32.n);
            for (const eg__kernel *row = NULL;
                 (row = kernel_next(eg__halves_operation(types[t]), row));)
                if (!kernel_is_ref(row) && (kernel_is_fast(row) || large[s].k < 5000))
                    for (unsigned variant = s % 4; variant < (kernel_is_fast(row) ? 16 : 4);
                         variant += 4)
                        halves_check(row, &p, p.f32.m, p.f32.n, packed, variant);
            halves_free(&p);
        }
    claim();
}

/* Blocks of any size give the product, and their rows do not change a bit of it. */
TEST(gemm_halves, blocks_of_any_size) {
    static const eg__gemm_blocks blocks[] = {{168, 512}, {24, 512}, {24, 64}, {96, 64}, {72, 1024}};
    enum { BLOCKS = sizeof blocks / sizeof *blocks, M = 201, N = 330, K = 1201 };
    uint64_t state = 5;
    for (size_t t = 0; t < TYPES; t++) {
        halves_problem p = halves_make(types[t], M, N, K, &state);
        const uint16_t *packed = halves_packed(&p, N);
        for (const eg__kernel *row = NULL;
             (row = kernel_next(eg__halves_operation(types[t]), row));) {
            float *before = test_alloc(M * N * sizeof *before);
            if (kernel_is_fast(row) && !kernel_quick())
                for (size_t i = 0; i < BLOCKS; i++) {
                    gemm_blocks = &blocks[i];
                    const eg__gemm_halves_args args =
                        halves_args(row, &p, M, N, packed, false, false);
                    run(row, &args);
                    result_check(row, &p, &args, NULL, 0);
                    if (i && blocks[i].depth == blocks[i - 1].depth)
                        CHECK(kernel_difference(M * N, args.c, before) == SIZE_MAX,
                              "%s: rows of %zu change C", row->name, blocks[i].rows);
                    memcpy(before, args.c, M * N * sizeof *before);
                }
            gemm_blocks = NULL;
            free(before);
        }
        halves_free(&p);
    }
}

/* Every element passes an epilogue once, when it is finished. */
static void epilogue_negate(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                            size_t column, size_t columns) {
    const eg__gemm_halves_args *args = user;
    CHECK(c == args->c + row * args->c_stride + column && c_stride == args->c_stride &&
              row + rows <= args->m && column + columns <= args->n,
          "rows %zu+%zu of %zu, columns %zu+%zu of %zu", row, rows, args->m, column, columns,
          args->n);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) c[i * c_stride + j] = -c[i * c_stride + j];
}

TEST(gemm_halves, epilogue) {
    static const size_t sizes[][3] = {{1, 5, 9},      {1, 130, 600}, {7, 40, 20}, {130, 70, 1300},
                                      {300, 330, 33}, {3, 17, 1},    {4, 20, 0}};
    uint64_t state = 3;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            halves_problem p = halves_make(types[t], sizes[s][0], sizes[s][1], sizes[s][2], &state);
            const uint16_t *packed = halves_packed(&p, p.f32.n);
            for (const eg__kernel *row = NULL;
                 (row = kernel_next(eg__halves_operation(types[t]), row));) {
                eg__gemm_halves_args args =
                    halves_args(row, &p, p.f32.m, p.f32.n, packed, true, false);
                const eg__epilogue epilogue = {epilogue_negate, &args};
                args.epilogue = &epilogue;
                run(row, &args);
                for (size_t i = 0; i < args.m; i++)
                    for (size_t j = 0; j < args.n; j++) args.c[i * args.c_stride + j] *= -1;
                result_check(row, &p, &args, NULL, 0);
                args.m = 0; /* nothing to do: nothing touched */
                run(row, &args);
                args.m = p.f32.m, args.n = 0;
                run(row, &args);
            }
            halves_free(&p);
        }
}

/* A NaN or an infinity in A or B reaches exactly the elements it belongs to. */
TEST(gemm_halves, nan_and_infinity) {
    static const size_t sizes[][3] = {{2, 3, 4},    {5, 17, 9},    {6, 16, 33},
                                      {13, 50, 71}, {9, 24, 1031}, {1, 40, 21}};
    uint64_t state = 5;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t v = 0; v < 4; v++) {
                halves_problem p =
                    halves_make(types[t], sizes[s][0], sizes[s][1], sizes[s][2], &state);
                const size_t at_k = p.f32.k - 1; /* beside the padding of an odd k */
                float special = v % 2 ? NAN : INFINITY;
                uint16_t *const bits = rounded(types[t], 1, &special);
                const size_t at = v < 2 ? p.f32.m / 2 * p.f32.k + at_k : at_k * p.f32.n + 1;
                (v < 2 ? p.a : p.b)[at] = *bits;
                (v < 2 ? p.f32.a : p.f32.b)[at] = special;
                free(bits);
                gemm_problem_solve(&p.f32);
                const uint16_t *packed = halves_packed(&p, p.f32.n);
                for (const eg__kernel *row = NULL;
                     (row = kernel_next(eg__halves_operation(types[t]), row));) {
                    const eg__gemm_halves_args args =
                        halves_args(row, &p, p.f32.m, p.f32.n, packed, false, false);
                    run(row, &args);
                    for (size_t i = 0; i < p.f32.m * p.f32.n; i++) {
                        const double want = p.f32.exact[i], got = args.c[i];
                        CHECK(isnan(want)   ? isnan(got)
                              : isinf(want) ? got == want
                                            : fabs(got - want) < 1e-3,
                              "%s m %zu n %zu k %zu, case %zu: C[%zu] is %g, not %g", row->name,
                              p.f32.m, p.f32.n, p.f32.k, v, i, got, want);
                    }
                }
                halves_free(&p);
            }
}

/* Every element of B is in its pair, whatever its strides; the rest is 0. */
TEST(gemm_halves, packing) {
    static const size_t sizes[][2] = {{0, 5},  {1, 1},   {2, 16},  {3, 15},  {5, 16},
                                      {7, 17}, {33, 31}, {20, 32}, {11, 33}, {4, 100}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t k = sizes[s][0], n = sizes[s][1], size = eg__gemm_halves_size(k, n);
        const size_t stride = n + 3, turned_stride = k + 2;
        uint16_t *b = kernel_walled(0, kernel_extent(k, n, stride) * sizeof *b);
        uint16_t *turned = kernel_walled(1, kernel_extent(n, k, turned_stride) * sizeof *b);
        uint16_t *packed = kernel_walled(2, size * sizeof *b);
        uint16_t *packed_turned = kernel_walled(3, size * sizeof *b);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++)
                turned[j * turned_stride + i] = b[i * stride + j] = (uint16_t)(i * 150 + j + 1);
        memset(packed, 0xff, size * sizeof *b), memset(packed_turned, 0xff, size * sizeof *b);
        eg__gemm_pack_halves(k, n, b, stride, 1, packed);
        eg__gemm_pack_halves(k, n, turned, 1, turned_stride, packed_turned);
        for (size_t at = 0; at < size; at++) {
            const size_t pairs = (k + 1) / 2, panel = at / (32 * pairs), in = at % (32 * pairs);
            const size_t i = in / 32 * 2 + in % 2, j = panel * 16 + in % 32 / 2;
            const unsigned want = i < k && j < n ? b[i * stride + j] : 0;
            CHECK(packed[at] == want && packed_turned[at] == want,
                  "k %zu n %zu: half %zu is %u and %u, not %u", k, n, at, packed[at],
                  packed_turned[at], want);
        }
    }
}
