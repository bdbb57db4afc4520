/* Products in parts: what an epilogue is handed, and that rows computed apart have the same bits. */
#include "test_gemm.h"

#include <math.h>

AREA(gemm_parts, "epilogues see every element once; rows apart give the same bits")

/* m, n, k: one tile, several tiles, several pieces for the epilogue, several bands and depths */
static const struct {
    size_t m, n, k;
    bool quick;
} shapes[] = {
    {1, 1, 0, true},        {1, 40, 3, true},      {2, 5, 7, true},
    {3, 24, 600, true},     {5, 50, 4, true},      {6, 100, 20, true},
    {7, 333, 12, true},     {9, 28, 33, true},     {12, 1000, 8, true},
    {20, 700, 9, true},     {64, 257, 530, false}, {100, 31, 1025, false},
    {171, 321, 513, false}, {3361, 330, 26, true}, {345, 400, 520, false},
    {1601, 70, 26, true}, /* bands */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* How many of `most` variants of a product to try: the reference and emulators are slow. */
static unsigned variants(const eg__kernel *row, const gemm_problem *p, unsigned most) {
    const bool large = p->m * p->n * p->k > 1000000;
    if (kernel_is_ref(row)) return kernel_quick() && large ? 0 : 1;
    return kernel_quick() ? (large ? 1 : 2) : most;
}

typedef struct record {
    const eg__gemm_f32_args *args;
    const float *plain; /* C without an epilogue, contiguous */
    unsigned char *seen;
    unsigned wrong;
} record;

/* Checks its piece of C and changes it: an element handed over twice, early or not at all shows. */
static void epilogue_record(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                            size_t column, size_t columns) {
    record *r = (record *)(uintptr_t)user;
    const eg__gemm_f32_args *args = r->args;
    r->wrong += c_stride != args->c_stride || !rows || !columns || row + rows > args->m ||
                column + columns > args->n || c != args->c + row * c_stride + column;
    if (r->wrong) return;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const size_t at = (row + i) * args->n + column + j;
            r->wrong += !kernel_same(c[i * c_stride + j], r->plain[at]) || r->seen[at]++;
            c[i * c_stride + j] = (float)at;
        }
}

static void epilogue_check(const eg__kernel *row, eg__gemm_f32_args *args, const float *plain) {
    const size_t size = args->m * args->n;
    record r = {args, plain, test_alloc(size), 0};
    const eg__epilogue epilogue = {epilogue_record, &r};
    memset(r.seen, 0, size);
    args->epilogue = &epilogue;
    row->function.gemm_f32(args);
    args->epilogue = NULL;
    CHECK(!r.wrong, "%s m %zu n %zu k %zu: a wrong piece", row->isa, args->m, args->n, args->k);
    for (size_t i = 0; i < size; i++) {
        float got = args->c[i / args->n * args->c_stride + i % args->n];
        CHECK(r.seen[i] == 1 && got == (float)i,
              "%s m %zu n %zu k %zu: element %zu handed over %d times", row->isa, args->m, args->n,
              args->k, i, r.seen[i]);
    }
    CHECK(kernel_gap_broken(args->m, args->n, args->c_stride, args->c) == SIZE_MAX,
          "%s m %zu n %zu k %zu: gap", row->isa, args->m, args->n, args->k);
    free(r.seen);
}

/* C without gaps. */
static float *gathered(const eg__gemm_f32_args *args) {
    float *out = test_alloc(args->m * args->n * sizeof *out);
    for (size_t i = 0; i < args->m; i++)
        memcpy(out + i * args->n, args->c + i * args->c_stride, args->n * sizeof *out);
    return out;
}

TEST(gemm_parts, epilogue_sees_every_element_once) {
    uint64_t state = 1;
    for (size_t s = 0; s < SHAPES; s++) {
        if (kernel_quick() && !shapes[s].quick) continue;
        gemm_problem p = gemm_problem_make(shapes[s].m, shapes[s].n, shapes[s].k, &state);
        const float *packed = gemm_packed(&p, p.n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
            for (unsigned variant = 0; variant < variants(row, &p, 4); variant++) {
                eg__gemm_f32_args args =
                    gemm_args(row, &p, p.m, p.n, packed, variant & 1, variant & 2);
                row->function.gemm_f32(&args);
                float *plain = gathered(&args);
                args = gemm_args(row, &p, p.m, p.n, packed, variant & 1, variant & 2);
                epilogue_check(row, &args, plain);
                free(plain);
            }
        gemm_problem_free(&p);
    }
}

/* out = tanh(C + bias[column]) * scale[row], to C itself and, before the factor, elsewhere. */
static const eg__fused_program gates = {
    .length = 4,
    .operands = 4,
    .kind = {EG__FULL, EG__COLUMN, EG__ROW, EG__FULL},
    .code = {{EG__FUSED_ADD, 0, EG__OPERAND(0), EG__OPERAND(1), 0},
             {EG__FUSED_TANH, 0, 0, 0, 0},
             {EG__FUSED_COPY, EG__OPERAND(3), 0, 0, 0},
             {EG__FUSED_MUL, EG__OPERAND(0), 0, EG__OPERAND(2), 0}}};

static void fused_check(const eg__kernel *row, const eg__kernel *fused, const gemm_problem *p,
                        const float *packed) {
    const size_t m = p->m, n = p->n;
    uint64_t state = 9;
    float *bias = kernel_walled(8, n * sizeof *bias), *scale = kernel_walled(9, m * sizeof *scale);
    kernel_random(n, bias, &state), kernel_random(m, scale, &state);
    float *result[2], *extra[2];
    for (int joint = 0; joint < 2; joint++) {
        eg__gemm_f32_args args = gemm_args(row, p, m, n, packed, true, false);
        extra[joint] = kernel_walled(10 + (unsigned)joint, m * n * sizeof *bias);
        eg__fused_epilogue part = {
            fused->function.fused_f32,
            {&gates, m, n, {{args.c, args.c_stride}, {bias, 0}, {scale, 1}, {extra[joint], n}}}};
        const eg__epilogue epilogue = eg__fused_epilogue_use(&part);
        if (joint) args.epilogue = &epilogue;
        row->function.gemm_f32(&args);
        if (!joint) fused->function.fused_f32(&part.args);
        CHECK(kernel_gap_broken(m, n, args.c_stride, args.c) == SIZE_MAX, "gap");
        result[joint] = gathered(&args);
    }
    CHECK(kernel_difference(m * n, result[0], result[1]) == SIZE_MAX &&
              kernel_difference(m * n, extra[0], extra[1]) == SIZE_MAX,
          "gemm %s, fused %s, m %zu n %zu k %zu: the epilogue differs from doing it after",
          row->isa, fused->isa, m, n, p->k);
    free(result[0]), free(result[1]);
}

TEST(gemm_parts, fused_epilogue_equals_doing_it_after) {
    uint64_t state = 2;
    for (size_t s = 0; s < SHAPES; s++) {
        if (kernel_quick() && (!shapes[s].quick || shapes[s].m > 1000)) continue;
        gemm_problem p = gemm_problem_make(shapes[s].m, shapes[s].n, shapes[s].k, &state);
        const float *packed = gemm_packed(&p, p.n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
            for (const eg__kernel *fused = NULL; (fused = kernel_next(EG__OP_fused_f32, fused));)
                if (strcmp(row->isa, fused->isa) == 0 && p.m * p.n * p.k < 20000000)
                    fused_check(row, fused, &p, packed);
        gemm_problem_free(&p);
    }
}

/* Random parts of at least two rows, each a product of its own, as several threads would do it. */
static void rows_apart_check(const eg__kernel *row, const gemm_problem *p, const float *packed,
                             bool accumulate, uint64_t *state) {
    eg__gemm_f32_args args = gemm_args(row, p, p->m, p->n, packed, false, accumulate);
    row->function.gemm_f32(&args);
    float *joint = gathered(&args);
    args = gemm_args(row, p, p->m, p->n, packed, false, accumulate);
    for (size_t from = 0, take; from < p->m; from += take) {
        const size_t left = p->m - from;
        take = 2 + (size_t)((test_random(state) + 1) * (float)p->m / 3);
        if (take + 2 > left) take = left;
        eg__gemm_f32_args part = args;
        part.m = take;
        part.a += from * args.a_stride;
        part.c += from * args.c_stride;
        const eg__kernel_shape shape = {.m = take, .n = p->n, .k = p->k, .blocks = args.blocks};
        if (!eg__kernel_scratch(row, &shape)) part.scratch = NULL;
        row->function.gemm_f32(&part);
    }
    size_t at = kernel_difference(p->m * p->n, joint, args.c);
    CHECK(at == SIZE_MAX, "%s m %zu n %zu k %zu: C[%zu][%zu] depends on the cut", row->isa, p->m,
          p->n, p->k, at / p->n, at % p->n);
    free(joint);
}

TEST(gemm_parts, rows_apart_have_the_same_bits) {
    uint64_t state = 3;
    for (size_t s = 0; s < SHAPES; s++) {
        if (shapes[s].m < 4 || (kernel_quick() && !shapes[s].quick)) continue;
        gemm_problem p = gemm_problem_make(shapes[s].m, shapes[s].n, shapes[s].k, &state);
        const float *packed = gemm_packed(&p, p.n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
            for (unsigned i = 0; i < variants(row, &p, 6); i++)
                rows_apart_check(row, &p, packed, i & 1, &state);
        gemm_problem_free(&p);
    }
}

/* The same for the columns of gemm, cut between panels, and of gemv, cut at multiples of 64. */
TEST(gemm_parts, columns_apart_have_the_same_bits) {
    static const size_t sizes[][2] = {{1, 64}, {1, 128}, {2, 16}, {5, 16}, {8, 32}, {13, 48}};
    uint64_t state = 4;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        gemm_problem p = gemm_problem_make(sizes[s][0], 217, 530, &state);
        const float *packed = gemm_packed(&p, p.n);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) {
            eg__gemm_f32_args args = gemm_args(row, &p, p.m, p.n, packed, false, false);
            row->function.gemm_f32(&args);
            float *joint = gathered(&args);
            for (size_t from = 0; from < p.n; from += sizes[s][1]) {
                eg__gemm_f32_args part = args;
                part.n = eg__min(sizes[s][1], p.n - from);
                part.b += from * p.k;
                part.c += from;
                row->function.gemm_f32(&part);
            }
            CHECK(kernel_difference(p.m * p.n, joint, args.c) == SIZE_MAX,
                  "%s m %zu, columns by %zu: the bits depend on the cut", row->isa, p.m,
                  sizes[s][1]);
            free(joint);
        }
        gemm_problem_free(&p);
    }
}

TEST(gemm_parts, one_row_is_a_vector) {
    uint64_t state = 5;
    gemm_problem p = gemm_problem_make(1, 150, 77, &state);
    const float *packed = gemm_packed(&p, p.n);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));)
        for (const eg__kernel *vector = NULL; (vector = kernel_next(EG__OP_gemv_f32, vector));) {
            if (strcmp(row->isa, vector->isa) != 0) continue;
            eg__gemm_f32_args args = gemm_args(row, &p, 1, p.n, packed, false, true);
            float *y = kernel_walled_copy(8, args.c, p.n * sizeof *y);
            eg__gemv_f32_args one = {p.n, p.k, args.a, packed, y, y};
            row->function.gemm_f32(&args);
            vector->function.gemv_f32(&one);
            CHECK(kernel_difference(p.n, args.c, y) == SIZE_MAX, "%s: gemm and gemv differ",
                  row->isa);
        }
    gemm_problem_free(&p);
}
