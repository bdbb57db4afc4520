/* Products with quantized numbers, of every instruction set, against sums in double and exact integers. */
#include "test_quantized.h"

#include <float.h>
#include <math.h>

AREA(quantized, "products with f16, bf16, int8, int4 against exact sums")

static const eg__operation operations[] = {EG__OP_gemm_f16, EG__OP_gemm_bf16, EG__OP_gemm_i8,
                                           EG__OP_gemm_i4,  EG__OP_gemm_i8i8, EG__OP_gemm_i4i8};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The error of an element in units of 2^-24 (sizes of its terms added up); of integers the terms are
 * the scaled sums of groups. */
static const double bound = 6;
static double worst;
static size_t products;

static void claim(void) {
    test_claim("%zu products by %s, worst error %.2g x 2^-24 of the terms' sizes", products,
               kernel_isas(EG__OP_gemm_i8i8), worst);
}

static void result_check(const quantized_problem *p, const eg__gemm_quantized_args *args,
                         const char *what) {
    for (size_t i = 0; i < args->m; i++)
        for (size_t j = 0; j < args->b.n; j++) {
            const double add = args->add ? args->add[j] : 0, got = args->c[i * args->c_stride + j];
            const double want = p->exact[i * p->n + j] + add;
            const double unit = ldexp(p->size[i * p->n + j] + fabs(add), -24);
            const double error = fabs(got - want) / (unit > 0 ? unit : 1);
            CHECK(error <= bound, "%s: C[%zu][%zu] is %g, exact %g, error %g", what, i, j, got,
                  want, error);
            worst = fmax(worst, error);
        }
    CHECK(kernel_gap_broken(args->m, args->b.n, args->c_stride, args->c) == SIZE_MAX,
          "%s: wrote into a gap", what);
    products++;
}

static void product_check(const eg__kernel *row, const quantized_problem *p, size_t m,
                          const eg__packed_quantized *b, unsigned variant) {
    const eg__gemm_quantized_args args = quantized_args(row, p, m, b, variant & 1, variant & 2);
    char what[160];
    snprintf(what, sizeof what, "%s %s m %zu n %zu k %zu, %zu groups%s%s%s",
             eg__operation_name(row->operation), row->isa, m, b->n, p->k, p->groups,
             p->offsets ? " offsets" : "", variant & 1 ? " gaps" : "", variant & 2 ? " add" : "");
    quantized_function(row)(&args);
    result_check(p, &args, what);
}

static const size_t heights[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                 13, 14, 15, 16, 17, 18, 19, 20, 48, 49, 100};
static const size_t widths[] = {1, 3, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 65, 70};
static const size_t depths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 31, 64, 100, 129, 257, 300};
static const struct {
    size_t block;
    bool uneven;
} cuts[] = {{0, false}, {32, false}, {128, false}, {13, false}, {60, true}};
enum {
    HEIGHTS = sizeof heights / sizeof *heights,
    WIDTHS = sizeof widths / sizeof *widths,
    DEPTHS = sizeof depths / sizeof *depths,
    CUTS = sizeof cuts / sizeof *cuts,
};

/* All heights with all widths for one right side; few of them for each, all of them over the tests. */
static void shapes_check(const quantized_problem *p, uint64_t *state) {
    for (size_t w = 0; w < WIDTHS; w++) {
        const eg__packed_quantized b = quantized_packed(p, widths[w]);
        for (size_t h = 0; h < HEIGHTS; h++)
            for (const eg__kernel *row = NULL; (row = kernel_next(p->operation, row));) {
                const unsigned pick = (unsigned)(test_random(state) * 4096 + 4096);
                const unsigned some = kernel_is_ref(row) ? 500 : kernel_is_fast(row) ? 5 : 20;
                if (pick / 4 % (kernel_quick() ? eg__max(some, 120) : some)) continue;
                product_check(row, p, heights[h], &b, pick % 4);
            }
    }
}

TEST(quantized, every_shape) {
    uint64_t state = 1;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t d = 0; d < DEPTHS; d++)
            for (size_t c = 0; c < CUTS; c++) {
                if (c && (cuts[c].block > depths[d] || o < 2)) continue;
                if (kernel_quick() && (o + d + c) % 3) continue;
                quantized_problem p =
                    quantized_problem_make(operations[o], 100, 70, depths[d], cuts[c].block,
                                           cuts[c].uneven, (c + d) % 2, &state);
                quantized_problem_solve(&p);
                shapes_check(&p, &state);
                quantized_problem_free(&p);
            }
    claim();
}

/* Several blocks of the depth, of rows and of columns. */
TEST(quantized, large_shapes) {
    static const struct {
        size_t m, n, k, block;
        bool uneven, offsets;
    } large[] = {{1, 300, 1500, 0, false, false},   {1, 200, 2048, 128, false, true},
                 {9, 100, 1100, 0, false, true},    {26, 130, 1027, 600, false, false},
                 {53, 129, 1500, 700, true, true},  {130, 65, 520, 32, false, true},
                 {97, 333, 513, 511, false, false}, {5, 700, 100, 8, false, true}};
    uint64_t state = 2;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t s = 0; s < sizeof large / sizeof *large; s++) {
            if (kernel_quick() && (o + s) % 4) continue;
            quantized_problem p =
                quantized_problem_make(operations[o], large[s].m, large[s].n, large[s].k,
                                       large[s].block, large[s].uneven, large[s].offsets, &state);
            quantized_problem_solve(&p);
            const eg__packed_quantized b = quantized_packed(&p, p.n);
            for (const eg__kernel *row = NULL; (row = kernel_next(operations[o], row));)
                if (!kernel_is_ref(row)) product_check(row, &p, p.m, &b, (unsigned)(s + o) % 4);
            quantized_problem_free(&p);
        }
    claim();
}

/* An epilogue sees every element once, after its sum is finished. */
static void epilogue_negate(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                            size_t column, size_t columns) {
    const eg__gemm_quantized_args *args = user;
    CHECK(c == args->c + row * args->c_stride + column && c_stride == args->c_stride &&
              row + rows <= args->m && column + columns <= args->b.n,
          "rows %zu+%zu of %zu, columns %zu+%zu of %zu", row, rows, args->m, column, columns,
          args->b.n);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) c[i * c_stride + j] = -c[i * c_stride + j];
}

TEST(quantized, epilogue) {
    static const size_t sizes[][4] = {{1, 5, 9, 0},     {1, 130, 600, 32}, {7, 40, 20, 8},
                                      {30, 70, 700, 0}, {50, 97, 33, 33},  {3, 17, 1, 0}};
    uint64_t state = 3;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            quantized_problem p =
                quantized_problem_make(operations[o], sizes[s][0], sizes[s][1], sizes[s][2],
                                       sizes[s][3], false, s % 2, &state);
            quantized_problem_solve(&p);
            const eg__packed_quantized b = quantized_packed(&p, p.n);
            for (const eg__kernel *row = NULL; (row = kernel_next(operations[o], row));) {
                eg__gemm_quantized_args args = quantized_args(row, &p, p.m, &b, true, true);
                const eg__epilogue epilogue = {epilogue_negate, &args};
                args.epilogue = &epilogue;
                quantized_function(row)(&args);
                for (size_t i = 0; i < p.m; i++)
                    for (size_t j = 0; j < p.n; j++) args.c[i * args.c_stride + j] *= -1;
                result_check(&p, &args, row->isa);
            }
            quantized_problem_free(&p);
        }
}

/* Nothing to do means nothing touched; without a depth C is what is added. */
static void epilogue_forbidden(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                               size_t column, size_t columns) {
    (void)user, (void)c, (void)c_stride;
    CHECK(false, "called for %zu+%zu x %zu+%zu of nothing", row, rows, column, columns);
}

TEST(quantized, empty_shapes) {
    static const size_t sizes[][3] = {{0, 5, 3}, {5, 0, 3}, {0, 0, 0}, {3, 20, 0}, {1, 5, 0}};
    const eg__epilogue epilogue = {epilogue_forbidden, NULL};
    uint64_t state = 4;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            quantized_problem p = quantized_problem_make(operations[o], sizes[s][0], sizes[s][1],
                                                         sizes[s][2], 0, false, true, &state);
            const eg__packed_quantized b = quantized_packed(&p, p.n);
            for (const eg__kernel *row = NULL; (row = kernel_next(operations[o], row));)
                for (int add = 0; add < 2; add++) {
                    eg__gemm_quantized_args args = quantized_args(row, &p, p.m, &b, true, add);
                    if (!p.m || !p.n) args.epilogue = &epilogue;
                    quantized_function(row)(&args);
                    for (size_t i = 0; i < p.m; i++)
                        for (size_t j = 0; j < p.n; j++)
                            CHECK(args.c[i * args.c_stride + j] == (add ? p.add[j] : 0),
                                  "%s %s: C[%zu][%zu]", eg__operation_name(operations[o]), row->isa,
                                  i, j);
                }
            quantized_problem_free(&p);
        }
}

/* The largest sums that there are: instructions that add pairs in 16 bits would saturate. */
TEST(quantized, extreme_integers) {
    static const int extremes[][2] = {{-128, 127}, {127, 127}, {-128, -127}, {127, -127}};
    static const size_t depth[] = {4096, 300, 6};
    uint64_t state = 5;
    for (size_t o = 4; o < OPERATIONS; o++)
        for (size_t e = 0; e < 4; e++)
            for (size_t d = 0; d < 3; d++) {
                quantized_problem p = quantized_problem_make(
                    operations[o], 9, 50, depth[d], d == 1 ? 128 : 0, false, d == 2, &state);
                for (size_t i = 0; i < p.n * p.k; i++) {
                    if (p.type == EG_I8) ((int8_t *)p.values)[i] = (int8_t)extremes[e][0];
                    else eg__nibble_set(p.values, i, extremes[e][0] < 0 ? -8 : 7);
                }
                /* the scale of a row is 1, so that integers are what they are */
                for (size_t i = 0; i < p.m * p.k; i++)
                    p.a[i] = (float)(i % 3 && i / p.k % 2 ? -extremes[e][1] : extremes[e][1]);
                for (size_t i = 0; i < p.groups * p.n; i++) p.scale[i] = 1;
                quantized_problem_solve(&p);
                const eg__packed_quantized b = quantized_packed(&p, p.n);
                for (const eg__kernel *row = NULL; (row = kernel_next(operations[o], row));) {
                    const eg__gemm_quantized_args args =
                        quantized_args(row, &p, p.m, &b, false, false);
                    quantized_function(row)(&args);
                    for (size_t i = 0; i < p.m * p.n; i++)
                        CHECK(args.c[i] == (float)p.exact[i],
                              "%s %s q %d a %d k %zu: C[%zu] is %.9g, not %.9g",
                              eg__operation_name(operations[o]), row->isa, extremes[e][0],
                              extremes[e][1], p.k, i, (double)args.c[i], p.exact[i]);
                }
                quantized_problem_free(&p);
            }
}

/* Rows of nothing but zeros, of tiny and of huge numbers, and with NaN or an infinity, beside others
 * that they must not touch. */
TEST(quantized, odd_rows) {
    static const float odd[] = {0,     1e-38f, 0x1p-149f, 0x1p-101f, 0x1p-100f,
                                1e34f, NAN,    INFINITY,  -INFINITY};
    enum { M = 12, ODD = sizeof odd / sizeof *odd };
    uint64_t state = 6;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t s = 0; s < 4; s++) {
            quantized_problem p = quantized_problem_make(operations[o], M, 35, s < 2 ? 70 : 21,
                                                         s % 2 ? 32 : 0, false, s > 2, &state);
            for (size_t i = 0; i < ODD; i++)
                for (size_t k = 0; k < p.k; k++) {
                    const bool whole = isfinite(odd[i]);
                    if (whole) p.a[i * p.k + k] = odd[i] * (k % 3 ? 0.5f : -0.25f);
                    else if (k == p.k - 2) p.a[i * p.k + k] = odd[i];
                }
            quantized_problem_solve(&p);
            const eg__packed_quantized b = quantized_packed(&p, p.n);
            for (const eg__kernel *row = NULL; (row = kernel_next(operations[o], row));)
                for (size_t m = 1; m <= M; m += M - 1)
                    for (size_t first = 0; first + m <= M; first++) {
                        quantized_problem part = p;
                        part.a += first * p.k, part.m = m;
                        const eg__gemm_quantized_args args =
                            quantized_args(row, &part, m, &b, false, false);
                        quantized_function(row)(&args);
                        for (size_t i = 0; i < m * p.n; i++) {
                            const double want = p.exact[first * p.n + i], got = args.c[i];
                            const double near = ldexp(p.size[first * p.n + i], -21) + 1e-44;
                            CHECK(!isfinite(want) ? !isfinite(got) : fabs(got - want) <= near,
                                  "%s %s: m %zu, row %zu: %g, not %g",
                                  eg__operation_name(operations[o]), row->isa, m, first + i / p.n,
                                  got, want);
                        }
                    }
            quantized_problem_free(&p);
        }
}
