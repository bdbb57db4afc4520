/* Products with a right side as files have it, of every instruction set, against sums in double and exact
 * integers. */
#include "test_kernels.h"

#include <math.h>

AREA(infile, "products with f32, f16, bf16, Q8_0, Q4_0 as they lie against exact sums")

static const struct kind {
    eg__operation operation;
    eg__infile_format format;
    bool integers;
} kinds[] = {
    {EG__OP_infile_f32, EG__INFILE_F32, false},   {EG__OP_infile_f16, EG__INFILE_F16, false},
    {EG__OP_infile_bf16, EG__INFILE_BF16, false}, {EG__OP_infile_q8, EG__INFILE_Q8_0, false},
    {EG__OP_infile_q4, EG__INFILE_Q4_0, false},   {EG__OP_infile_q8i8, EG__INFILE_Q8_0, true},
    {EG__OP_infile_q4i8, EG__INFILE_Q4_0, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };
enum { SLOT_A, SLOT_W, SLOT_C, SLOT_ADD, SLOT_SCRATCH };

/* The error of an element in units of 2^-24 (sizes of its products added up). */
static const double bound = 10;
static double worst;
static size_t products;

static eg__infile_function *function_of(const eg__kernel *row) {
    switch (row->operation) {
    case EG__OP_infile_f32: return row->function.infile_f32;
    case EG__OP_infile_f16: return row->function.infile_f16;
    case EG__OP_infile_bf16: return row->function.infile_bf16;
    case EG__OP_infile_q8: return row->function.infile_q8;
    case EG__OP_infile_q4: return row->function.infile_q4;
    case EG__OP_infile_q8i8: return row->function.infile_q8i8;
    default: return row->function.infile_q4i8;
    }
}

/* ---- a problem */
typedef struct problem {
    struct kind kind;
    size_t m, n, k, bytes; /* of a row of W */
    float *a, *add;        /* m x k; m x n */
    uint8_t *w;
    double *exact, *size; /* m x n: what it is, and what its roundings are measured by */
} problem;

static void weights_make(problem *p, uint64_t *state) {
    p->bytes = eg__infile_bytes(p->kind.format, p->k);
    p->w = test_alloc(p->n * p->bytes + 1);
    for (size_t i = 0; i < p->n * p->bytes; i++)
        p->w[i] = (uint8_t)(test_random(state) * 128 + 128);
    if (eg__infile_is_blocks(p->kind.format)) { /* all bytes are numbers, but not all are scales */
        for (size_t at = 0; at < p->n * p->bytes;
             at += eg__infile_traits_of(p->kind.format)->block_bytes) {
            const float scale = test_random(state) / 16;
            uint16_t half;
            eg__f32_to_f16_ref(1, &scale, &half);
            memcpy(p->w + at, &half, sizeof half);
        }
        return;
    }
    for (size_t i = 0; i < p->n * p->k; i++) {
        const float x = test_random(state);
        uint16_t half;
        if (p->kind.format == EG__INFILE_F16) eg__f32_to_f16_ref(1, &x, &half);
        else eg__f32_to_bf16_ref(1, &x, &half);
        if (p->kind.format == EG__INFILE_F32) memcpy(p->w + 4 * i, &x, sizeof x);
        else memcpy(p->w + 2 * i, &half, sizeof half);
    }
}

static void solve_integers(problem *p, size_t i, size_t j) {
    const size_t block_bytes = eg__infile_traits_of(p->kind.format)->block_bytes;
    double sum = 0, size = 0;
    for (size_t b = 0; b < p->k / EG__BLOCK; b++) {
        const uint8_t *block = p->w + j * p->bytes + b * block_bytes;
        int8_t values[EG__BLOCK];
        float scale;
        int32_t dot = 0, sizes = 0;
        eg__infile_quantize(p->a + i * p->k + b * EG__BLOCK, values, &scale);
        for (size_t t = 0; t < EG__BLOCK; t++) {
            const int product = values[t] * eg__infile_traits_of(p->kind.format)->integer(block, t);
            dot += product;
            sizes += abs(product);
        }
        const double both = (double)scale * eg__infile_block_scale(block);
        sum += both * dot;
        size += fabs(both) * sizes;
    }
    p->exact[i * p->n + j] = sum;
    p->size[i * p->n + j] = size;
}

static void solve_floats(problem *p, size_t i, size_t j) {
    double sum = 0, size = 0;
    for (size_t t = 0; t < p->k; t++) {
        const double term = (double)p->a[i * p->k + t] *
                            (double)eg__infile_number(p->kind.format, p->w + j * p->bytes, t);
        sum += term;
        size += fabs(term);
    }
    p->exact[i * p->n + j] = sum;
    p->size[i * p->n + j] = size;
}

static problem problem_make(struct kind kind, size_t m, size_t n, size_t k, uint64_t *state) {
    problem p = {.kind = kind, .m = m, .n = n, .k = k};
    p.a = test_alloc((m * k + 1) * sizeof *p.a);
    p.add = test_alloc(m * n * sizeof *p.add);
    p.exact = test_alloc(m * n * sizeof *p.exact);
    p.size = test_alloc(m * n * sizeof *p.size);
    kernel_random(m * k, p.a, state);
    kernel_random(m * n, p.add, state);
    weights_make(&p, state);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            if (kind.integers) solve_integers(&p, i, j);
            else solve_floats(&p, i, j);
    return p;
}

static void problem_free(problem *p) {
    free(p->a);
    free(p->add);
    free(p->w);
    free(p->exact);
    free(p->size);
}

/* ---- what a kernel is called with */
enum { GAPS = 1, BIAS = 2, ADD = 4, EPILOGUE = 8, VARIANTS = 16 };

/* Adds what tells every place from every other: each must be handed over once. */
static double place_value(size_t row, size_t column) {
    return (double)(row % 64) / 8 + (double)(column % 32) / 4;
}
static void place_add(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                      size_t column, size_t columns) {
    (void)user;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            c[i * c_stride + j] += (float)place_value(row + i, column + j);
}

/* The first m rows and n columns; every buffer ends at a wall, W wherever that leaves it. */
static eg__infile_args args_make(const problem *p, size_t m, size_t n, unsigned variant) {
    static const eg__epilogue places = {place_add, NULL};
    static const eg__gemm_blocks blocks = {24, 64};
    const size_t gap = variant & GAPS ? 3 : 0;
    eg__infile_args g = {.m = m,
                         .n = n,
                         .k = p->k,
                         .a_stride = p->k + gap,
                         .c_stride = n + gap,
                         .epilogue = variant & EPILOGUE ? &places : NULL,
                         .blocks = variant & (GAPS | BIAS) ? &blocks : NULL};
    float *a = kernel_walled(SLOT_A, kernel_extent(m, p->k, g.a_stride) * sizeof *a);
    for (size_t i = 0; i < m; i++) memcpy(a + i * g.a_stride, p->a + i * p->k, p->k * sizeof *a);
    g.a = a;
    g.w = kernel_walled_copy(SLOT_W, p->w, n * p->bytes);
    g.c = kernel_walled(SLOT_C, kernel_extent(m, n, g.c_stride) * sizeof *g.c);
    kernel_fill(kernel_extent(m, n, g.c_stride), g.c, KERNEL_GUARD);
    if (variant & (BIAS | ADD)) {
        g.add_stride = variant & ADD ? p->n : 0;
        g.add = kernel_walled_copy(SLOT_ADD, p->add,
                                   kernel_extent(variant & ADD ? m : 1, n, p->n) * sizeof *g.add);
    }
    g.scratch = kernel_walled(
        SLOT_SCRATCH,
        eg__infile_lines(eg__infile_scratch(p->kind.format, p->kind.integers, m, p->k, g.blocks)) +
            64);
    g.scratch = (void *)(((uintptr_t)g.scratch + 63) / 64 * 64);
    return g;
}

static void product_check(const eg__kernel *row, const problem *p, size_t m, size_t n,
                          unsigned variant) {
    const eg__infile_args g = args_make(p, m, n, variant);
    function_of(row)(&g);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double add = g.add ? p->add[i * g.add_stride + j] : 0;
            const double place = g.epilogue ? place_value(i, j) : 0;
            const double want = p->exact[i * p->n + j] + add + place;
            const double got = g.c[i * g.c_stride + j];
            const double unit =
                ldexp(p->size[i * p->n + j] + fabs(add) + place + fabs(want) / 4 + 1e-30, -24);
            const double error = fabs(got - want) / unit;
            CHECK(error <= bound, "%s %s %zu x %zu x %zu variant %u: C[%zu][%zu] is %g, not %g: %g",
                  eg__operation_name(row->operation), row->isa, m, n, p->k, variant, i, j, got,
                  want, error);
            worst = fmax(worst, error);
        }
    CHECK(kernel_gap_broken(m, n, g.c_stride, g.c) == SIZE_MAX, "%s %s: wrote into a gap",
          eg__operation_name(row->operation), row->isa);
    products++;
}

static const size_t heights[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 31, 50};
static const size_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 48, 63, 95, 96, 97, 200};
static const size_t depths[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 129, 300};
static const size_t blocks[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void shapes_check(const problem *p, uint64_t *state) {
    for (size_t w = 0; w < COUNT(widths); w++)
        for (size_t h = 0; h < COUNT(heights); h++)
            for (const eg__kernel *row = NULL; (row = kernel_next(p->kind.operation, row));) {
                const unsigned pick = (unsigned)(test_random(state) * 4096 + 4096);
                if (pick / VARIANTS % (kernel_is_ref(row) ? 200 : kernel_quick() ? 60 : 4))
                    continue;
                product_check(row, p, heights[h], widths[w], pick % VARIANTS);
            }
}

TEST(infile, every_shape) {
    uint64_t state = 1;
    for (size_t o = 0; o < KINDS; o++) {
        const bool is_blocks = eg__infile_is_blocks(kinds[o].format);
        for (size_t d = 0; d < (is_blocks ? COUNT(blocks) : COUNT(depths)); d++) {
            if (kernel_quick() && (o + d) % 4) continue;
            problem p = problem_make(kinds[o], 50, 200,
                                     is_blocks ? EG__BLOCK * blocks[d] : depths[d], &state);
            shapes_check(&p, &state);
            problem_free(&p);
        }
    }
    test_claim("%zu products by %s, worst error %.2g x 2^-24 of the products' sizes", products,
               kernel_isas(EG__OP_infile_q8i8), worst);
}

/* Many rows, long rows, many chunks. */
TEST(infile, large_shapes) {
    static const size_t large[][3] = {
        {1, 500, 2048}, {3, 300, 1088}, {130, 193, 1056}, {200, 97, 544}};
    uint64_t state = 2;
    for (size_t o = 0; o < KINDS; o++)
        for (size_t s = 0; s < COUNT(large); s++) {
            if (kernel_quick() && (o + s) % 4) continue;
            problem p = problem_make(kinds[o], large[s][0], large[s][1], large[s][2], &state);
            for (const eg__kernel *row = NULL; (row = kernel_next(kinds[o].operation, row));)
                if (!kernel_is_ref(row))
                    product_check(row, &p, p.m, p.n, (unsigned)(5 * s + o) % VARIANTS);
            problem_free(&p);
        }
}

/* Columns are the same bits whoever computes them: cuts between threads are between chunks. */
TEST(infile, cuts) {
    uint64_t state = 3;
    static const size_t rows[] = {1, 3, 7, 30};
    for (size_t o = 0; o < KINDS; o++)
        for (size_t h = 0; h < COUNT(rows); h++)
            for (const eg__kernel *row = NULL; (row = kernel_next(kinds[o].operation, row));) {
                const size_t n = 2 * EG__STORED_CHUNK + 29, m = rows[h];
                problem p = problem_make(kinds[o], m, n, 160, &state);
                eg__infile_args g = args_make(&p, m, n, 0);
                function_of(row)(&g);
                float *whole = test_alloc(m * n * sizeof *whole);
                memcpy(whole, g.c, m * n * sizeof *whole);
                memset(g.c, 0, m * n * sizeof *whole);
                for (size_t at = 0; at < n; at += EG__STORED_CHUNK) {
                    eg__infile_args part = g;
                    part.w += at * p.bytes;
                    part.c += at;
                    part.n = eg__min(EG__STORED_CHUNK, n - at);
                    function_of(row)(&part);
                }
                const size_t at = kernel_difference(m * n, whole, g.c);
                CHECK(at == SIZE_MAX, "%s %s: element %zu of %zu rows is another in a part",
                      eg__operation_name(row->operation), row->isa, at, m);
                free(whole);
                problem_free(&p);
            }
}

/* Rows that are not finite, that are zero, or nearly. */
TEST(infile, odd_rows) {
    enum { K = 96, N = 20 };
    uint64_t state = 4;
    static const float odd[] = {INFINITY, -INFINITY, NAN, 0, 1e-39f, 3e38f};
    for (size_t o = 0; o < KINDS; o++)
        for (size_t i = 0; i < COUNT(odd); i++)
            for (size_t m = 1; m < 12; m += 10) {
                problem p = problem_make(kinds[o], m, N, K, &state);
                for (size_t k = 0; k < K && isfinite(odd[i]); k++) p.a[k] = odd[i] * (float)(k % 2);
                if (!isfinite(odd[i])) p.a[40] = odd[i];
                for (const eg__kernel *row = NULL; (row = kernel_next(kinds[o].operation, row));) {
                    const eg__infile_args g = args_make(&p, m, N, 0);
                    function_of(row)(&g);
                    for (size_t j = 0; j < N; j++) {
                        const float y = g.c[j];
                        const bool fits = isnan(odd[i])       ? isnan(y)
                                          : isinf(odd[i])     ? !isfinite(y)
                                          : fabsf(odd[i]) < 1 ? fabsf(y) < 1e-34f
                                                              : true;
                        CHECK(fits, "%s %s: %g of a row with %g",
                              eg__operation_name(row->operation), row->isa, (double)y,
                              (double)odd[i]);
                    }
                    for (size_t r = 1; r < m; r++)
                        for (size_t j = 0; j < N; j++)
                            CHECK(isfinite(g.c[r * N + j]), "%s %s: another row has %g",
                                  eg__operation_name(row->operation), row->isa,
                                  (double)g.c[r * N + j]);
                }
                problem_free(&p);
            }
}
