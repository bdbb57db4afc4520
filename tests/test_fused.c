/* Every operation of fused_f32 alone: lengths, shapes, gaps, kinds of operands and outputs in place,
 * against the reference. */
#include "test_kernels.h"
#include "test_vmath.h"

AREA(fused, "every elementwise operation in every shape and operand kind")

static size_t runs;

/* Half ordinary numbers, half the ends of ranges: limits of functions, zeros, denormals. */
static float value(uint64_t *state) {
    static const float ends[] = {0.0f,   -0.0f,   1.0f,  -1.0f,     0.5f,     2.0f,     NAN,
                                 1e-40f, -1e-45f, 88.8f, -103.5f,   -87.5f,   9.5f,     -4.5f,
                                 1e30f,  -1e30f,  4e4f,  -31000.0f, INFINITY, -INFINITY};
    const float pick = test_random(state), other = test_random(state);
    if (pick < 0) return other * 4;
    return ends[(size_t)(pick * (float)(sizeof ends / sizeof *ends))];
}

/* A superinstruction ends with a function, whose bound is its own. */
static eg__fused_op last_part(eg__fused_op op) {
    switch (op) {
    case EG__FUSED_ADD_TANH:
    case EG__FUSED_FMA_TANH: return EG__FUSED_TANH;
    case EG__FUSED_ADD_SIGMOID:
    case EG__FUSED_FMA_SIGMOID: return EG__FUSED_SIGMOID;
    case EG__FUSED_ADD_SILU: return EG__FUSED_SILU;
    default: return op;
    }
}

/* 0 for what has one right answer. */
static double tolerance(eg__fused_op op) {
    op = last_part(op);
    for (size_t f = 0; f < VMATH_FUNCTIONS; f++)
        if (vmath_functions[f].op == op && op != EG__FUSED_SQRT)
            return vmath_functions[f].bound + 0.5;
    return op == EG__FUSED_POW ? 1 : 0;
}

static bool close_enough(eg__fused_op op, float got, float want, float x) {
    const double allowed = tolerance(op);
    if (last_part(op) != op) x = 200; /* the function sees a sum, at most so large */
    op = last_part(op);
    if (allowed == 0) return kernel_same(got, want);
    double scale = 0;
    for (size_t f = 0; f < VMATH_FUNCTIONS; f++)
        if (vmath_functions[f].op == op && isfinite(x)) scale = vmath_functions[f].scale * fabs(x);
    return float_error(got, want, scale) <= allowed;
}

/* One instruction over rows x columns; `gap` floats between rows. */
typedef struct run {
    eg__fused_op op;
    uint8_t kind[3];
    size_t rows, columns, gap;
    bool in_place; /* the output is the memory of the first input */
} run;

static size_t operand_size(const run *r, eg__fused_kind kind) {
    switch (kind) {
    case EG__FULL: return kernel_extent(r->rows, r->columns, r->columns + r->gap);
    case EG__ROW: return kernel_extent(r->rows, 1, 1 + r->gap);
    case EG__COLUMN: return r->columns;
    default: return 1;
    }
}

/* The arguments in walled memory from `slot` on; the output is the last operand. */
static eg__fused_f32_args run_args(const run *r, eg__fused_program *program, unsigned slot) {
    const unsigned inputs = eg__fused_op_inputs(r->op);
    uint64_t state = r->rows * 1000 + r->columns + (unsigned)r->op;
    eg__fused_f32_args args = {.program = program, .rows = r->rows, .columns = r->columns};
    *program = (eg__fused_program){.length = 1, .operands = (uint8_t)(inputs + 1)};
    program->code[0] =
        (eg__fused_instruction){(uint8_t)r->op, EG__OPERAND(inputs), EG__OPERAND(0),
                                inputs > 1 ? EG__OPERAND(1) : 0, inputs > 2 ? EG__OPERAND(2) : 0};
    for (unsigned i = 0; i <= inputs; i++) {
        program->kind[i] = i < inputs ? r->kind[i] : EG__FULL;
        const size_t size = operand_size(r, program->kind[i]);
        float *data = kernel_walled(slot + i, size * sizeof *data);
        for (size_t k = 0; k < size; k++) data[k] = i < inputs ? value(&state) : KERNEL_GUARD;
        args.operand[i].data = data;
        args.operand[i].stride = (program->kind[i] == EG__ROW ? 1 : r->columns) + r->gap;
    }
    if (r->in_place) args.operand[inputs].data = args.operand[0].data;
    return args;
}

static void run_check(const eg__kernel *row, const run *r) {
    eg__fused_program program, same;
    const unsigned out = eg__fused_op_inputs(r->op);
    eg__fused_f32_args args = run_args(r, &program, 0), want = run_args(r, &same, 4);
    eg_error error = {0};
    CHECK_OK(eg__fused_check(&program, &error), error);
    float *x =
        kernel_walled_copy(8, args.operand[0].data, operand_size(r, program.kind[0]) * sizeof *x);
    row->function.fused_f32(&args);
    eg__fused_f32_ref(&want);
    const size_t stride = args.operand[out].stride;
    for (size_t i = 0; i < operand_size(r, EG__FULL); i++) {
        const float got = args.operand[out].data[i], exact = want.operand[out].data[i];
        const bool gap = i % stride >= r->columns;
        const float input = gap                        ? 0 /* without columns there is no x */
                            : r->kind[0] == EG__FULL   ? x[i]
                            : r->kind[0] == EG__SCALAR ? x[0]
                            : r->kind[0] == EG__ROW    ? x[i / stride * (1 + r->gap)]
                                                       : x[i % stride];
        CHECK(gap ? kernel_same(got, exact) : close_enough(r->op, got, exact, input),
              "%s %s, %zu x %zu gap %zu kinds %u %u %u%s: element %zu is %a, not %a", row->isa,
              eg__fused_op_name(r->op), r->rows, r->columns, r->gap, r->kind[0], r->kind[1],
              r->kind[2], r->in_place ? " in place" : "", i, (double)got, (double)exact);
    }
    runs++;
}

static void each_kernel(const run *r) {
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));)
        if (!kernel_is_ref(row)) run_check(row, r);
}

static void claim(void) {
    test_claim("%zu runs of %d operations with %s", runs, EG__FUSED_COUNT,
               kernel_isas(EG__OP_fused_f32));
}

TEST(fused, every_length) {
    static const size_t more[] = {63, 64, 65, 127, 128, 129, 255, 256, 257, 1000};
    for (int op = 0; op < EG__FUSED_COUNT; op++)
        for (size_t i = 0; i < 51; i++) {
            if (kernel_quick() && (i + (unsigned)op) % 7) continue;
            run r = {.op = op, .rows = 1, .columns = i <= 40 ? i : more[i - 41]};
            each_kernel(&r);
            r.in_place = true;
            each_kernel(&r);
        }
    claim();
}

TEST(fused, every_shape_and_kind) {
    static const size_t shapes[][2] = {{0, 4},   {3, 0},   {2, 3},   {3, 1},  {5, 8},
                                       {7, 17},  {33, 5},  {65, 1},  {4, 64}, {3, 255},
                                       {2, 300}, {19, 16}, {2, 513}, {257, 2}};
    const size_t count = sizeof shapes / sizeof *shapes;
    for (int op = 0; op < EG__FUSED_COUNT; op++) {
        const unsigned combinations = 1u << 2 * eg__fused_op_inputs(op); /* four kinds each */
        for (unsigned kinds = 0; kinds < combinations; kinds++)
            for (size_t s = 0; s < count; s++) {
                if (kernel_quick() && (s + kinds * 3 + (unsigned)op) % 53) continue;
                run r = {.op = op,
                         .kind = {kinds & 3, kinds >> 2 & 3, kinds >> 4 & 3},
                         .rows = shapes[s][0],
                         .columns = shapes[s][1],
                         .gap = (s + kinds) % 3};
                each_kernel(&r);
                r.in_place = r.kind[0] == EG__FULL;
                if (r.in_place) each_kernel(&r);
            }
    }
    claim();
}

/* The reference itself, against what the operations say in so many words. */
TEST(fused, reference_values) {
    static const struct {
        eg__fused_op op;
        float a, b, c, want;
    } rows[] = {
        {EG__FUSED_COPY, -0.0f, 9, 9, -0.0f},
        {EG__FUSED_ADD, 2, 3, 9, 5},
        {EG__FUSED_SUB, 2, 3, 9, -1},
        {EG__FUSED_MUL, 2, 3, 9, 6},
        {EG__FUSED_DIV, 3, 2, 9, 1.5f},
        {EG__FUSED_DIV, 1, -0.0f, 9, -INFINITY},
        {EG__FUSED_MIN, 2, 3, 9, 2},
        {EG__FUSED_MIN, NAN, 3, 9, NAN},
        {EG__FUSED_MIN, 3, NAN, 9, NAN},
        {EG__FUSED_MAX, 2, 3, 9, 3},
        {EG__FUSED_MAX, NAN, 3, 9, NAN},
        {EG__FUSED_MAX, 3, NAN, 9, NAN},
        {EG__FUSED_FMA, 2, 3, 4, 10},
        {EG__FUSED_FMA, 0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f, 0x1p-46f},
        /* half a step above a tie that the next rounding would break the wrong way */
        {EG__FUSED_FMA, 0x1.000002p0f, 0x1p-24f, 0x1.fffffep29f, 0x1.fffffep29f},
        {EG__FUSED_FMA, 0x1.8p0f, 0x1p-24f, 0x1.000002p0f, 0x1.000004p0f},
        {EG__FUSED_NEG, 0.0f, 9, 9, -0.0f},
        {EG__FUSED_ABS, -3, 9, 9, 3},
        {EG__FUSED_ABS, -0.0f, 9, 9, 0.0f},
        {EG__FUSED_SQRT, 9, 9, 9, 3},
        {EG__FUSED_SQRT, -1, 9, 9, NAN},
        {EG__FUSED_RSQRT, 16, 9, 9, 0.25f},
        {EG__FUSED_RSQRT, 0, 9, 9, INFINITY},
        {EG__FUSED_EXP, 0, 9, 9, 1},
        {EG__FUSED_LOG, 1, 9, 9, 0},
        {EG__FUSED_LOG, -1, 9, 9, NAN},
        {EG__FUSED_TANH, 20, 9, 9, 1},
        {EG__FUSED_SIGMOID, 0, 9, 9, 0.5f},
        {EG__FUSED_SIGMOID, -800, 9, 9, 0},
        {EG__FUSED_SOFTPLUS, 0, 9, 9, 0.693147181f},
        {EG__FUSED_SOFTPLUS, -200, 9, 9, 0},
        {EG__FUSED_SOFTPLUS, 200, 9, 9, 200},
        {EG__FUSED_ERF, 1, 9, 9, 0.842700793f},
        {EG__FUSED_GELU, 1, 9, 9, 0.841344746f},
        {EG__FUSED_GELU, -8, 9, 9, -4.97676846e-15f},
        {EG__FUSED_SILU, 1, 9, 9, 0.731058579f},
        {EG__FUSED_RELU, -2, 9, 9, 0},
        {EG__FUSED_RELU, 2, 9, 9, 2},
        {EG__FUSED_RELU, NAN, 9, 9, NAN},
        {EG__FUSED_SIN, 1, 9, 9, 0.841470985f},
        {EG__FUSED_COS, 1, 9, 9, 0.540302306f},
        {EG__FUSED_ROUND_F16, 2049, 9, 9, 2048},
        {EG__FUSED_ROUND_F16, -65520, 9, 9, -INFINITY},
        {EG__FUSED_ROUND_F16, 0x1.8p-24f, 9, 9, 0x1p-23f},
        {EG__FUSED_ROUND_BF16, 257, 9, 9, 256},
        {EG__FUSED_ROUND_BF16, -259, 9, 9, -260},
        {EG__FUSED_ROUND_BF16, NAN, 9, 9, NAN},
        {EG__FUSED_POW, 2, 10, 9, 1024},
        {EG__FUSED_LT, 1, 2, 9, 1},
        {EG__FUSED_LT, 2, 2, 9, 0},
        {EG__FUSED_LT, NAN, 2, 9, 0},
        {EG__FUSED_LE, 2, 2, 9, 1},
        {EG__FUSED_LE, 3, 2, 9, 0},
        {EG__FUSED_EQ, 0.0f, -0.0f, 9, 1},
        {EG__FUSED_EQ, NAN, NAN, 9, 0},
        {EG__FUSED_NE, NAN, NAN, 9, 1},
        {EG__FUSED_NE, 2, 2, 9, 0},
        {EG__FUSED_SELECT, 1, 2, 3, 2},
        {EG__FUSED_SELECT, -0.0f, 2, 3, 3},
        {EG__FUSED_SELECT, NAN, 2, 3, 2},
        {EG__FUSED_LERP, 2, 4, 0.25f, 2.5f},
        {EG__FUSED_ADD_TANH, 0.25f, 0.75f, 9, 0.761594156f},
        {EG__FUSED_ADD_SIGMOID, 3, -3, 9, 0.5f},
        {EG__FUSED_ADD_SILU, 0.5f, 0.5f, 9, 0.731058579f},
        {EG__FUSED_ADD_RELU, 1, -3, 9, 0},
        {EG__FUSED_ADD_RELU, 1, 3, 9, 4},
        {EG__FUSED_FMA_TANH, 0.5f, 1, 0.5f, 0.761594156f},
        {EG__FUSED_FMA_SIGMOID, 2, 2, -4, 0.5f},
    };
    bool seen[EG__FUSED_COUNT] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            eg__fused_program program = {
                .length = 1, .operands = 4, .kind = {EG__SCALAR, EG__SCALAR, EG__SCALAR, EG__FULL}};
            program.code[0] =
                (eg__fused_instruction){(uint8_t)rows[i].op, EG__OPERAND(3), EG__OPERAND(0),
                                        EG__OPERAND(1), EG__OPERAND(2)};
            float a = rows[i].a, b = rows[i].b, c = rows[i].c, out = 9;
            const eg__fused_f32_args args = {
                &program, 1, 1, {{&a, 0}, {&b, 0}, {&c, 0}, {&out, 1}}};
            row->function.fused_f32(&args);
            const float want = rows[i].want;
            CHECK(kernel_is_ref(row) ? kernel_same(out, want)
                                     : close_enough(rows[i].op, out, want, a),
                  "%s %s(%a, %a, %a) is %a, not %a", row->isa, eg__fused_op_name(rows[i].op),
                  (double)a, (double)b, (double)c, (double)out, (double)want);
            seen[rows[i].op] = true;
        }
    for (int op = 0; op < EG__FUSED_COUNT; op++)
        CHECK(seen[op], "no row for %s", eg__fused_op_name(op));
}
