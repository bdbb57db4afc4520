/* Accuracy of the elementary functions of every fused_f32 kernel over the whole range of floats. */
#include "test_vmath.h"
#include "test_kernels.h"

#include <float.h>

AREA(vmath, "elementary functions against double over the range of floats")

enum { CHUNK = 4096, ROWS_MAX = 8 };

/* Every stride-th float, both signs, NaN and infinity included; stride is odd, so that the low bits
 * take all values. */
static uint64_t stride(void) { return kernel_quick() ? 104729 : 2053; }

static size_t chunk_next(uint64_t *bits, float *x) {
    size_t n = 0;
    for (; n < CHUNK && *bits < UINT64_C(1) << 32; n++, *bits += stride()) {
        const uint32_t low = (uint32_t)*bits;
        memcpy(&x[n], &low, sizeof low);
    }
    return n;
}

/* The worst error per kernel row, in the table's order. */
static void function_measure(const vmath_function *f, double worst[ROWS_MAX]) {
    static double exact[CHUNK];
    uint64_t bits = 0;
    float *x = kernel_walled(0, CHUNK * sizeof *x);
    for (size_t n; (n = chunk_next(&bits, x));) {
        float *y = kernel_walled(1, n * sizeof *y);
        for (size_t i = 0; i < n; i++) exact[i] = f->exact(x[i]);
        const eg__kernel *row = NULL;
        for (size_t r = 0; (row = kernel_next(EG__OP_fused_f32, row)); r++) {
            vmath_run(row, f->op, n, x, y);
            for (size_t i = 0; i < n; i++) {
                const double error = float_error(y[i], exact[i], f->scale * fabs((double)x[i]));
                worst[r] = error > worst[r] ? error : worst[r];
                CHECK(error <= f->bound, "%s %s(%a) is %a, exact %a: %g ulp", row->isa,
                      eg__fused_op_name(f->op), (double)x[i], (double)y[i], exact[i], error);
            }
        }
    }
}

TEST(vmath, within_their_bounds) {
    char text[200];
    size_t at =
        (size_t)snprintf(text, sizeof text, "worst ulp with %s:", kernel_isas(EG__OP_fused_f32));
    for (size_t f = 0; f < VMATH_FUNCTIONS; f++) {
        double worst[ROWS_MAX] = {0};
        function_measure(&vmath_functions[f], worst);
        if (f >= VMATH_PROMISED) continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %s", f ? "," : "",
                               eg__fused_op_name(vmath_functions[f].op));
        const eg__kernel *row = NULL;
        for (size_t r = 0; (row = kernel_next(EG__OP_fused_f32, row)); r++)
            at += (size_t)snprintf(text + at, sizeof text - at, " %.2f", worst[r]);
    }
    test_claim("%s", text);
}

/* A zero and its sign (gelu's is free), an infinity, a NaN, a limit: no tolerance. */
TEST(vmath, special_values) {
    static const float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, FLT_MAX, -FLT_MAX};
    enum { VALUES = sizeof values / sizeof *values, LENGTH = 77 };
    for (size_t f = 0; f < VMATH_FUNCTIONS; f++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            const vmath_function *function = &vmath_functions[f];
            const eg__fused_op op = function->op;
            for (size_t i = 0; i < VALUES; i++) {
                float x[LENGTH], y[LENGTH]; /* alone, or one value could send all to a slow path */
                kernel_fill(LENGTH, x, values[i]);
                vmath_run(row, op, LENGTH, x, y);
                const float want = (float)function->exact(values[i]);
                const bool rounded = isfinite(want) && want != 0 && want != 1 && want != -1;
                for (size_t j = 0; j < LENGTH; j++)
                    CHECK(kernel_same(y[j], want) || (op == EG__FUSED_GELU && y[j] == want) ||
                              (rounded && float_error(y[j], want, 0) <= function->bound),
                          "%s %s(%a) is %a, not %a", row->isa, eg__fused_op_name(op),
                          (double)values[i], (double)y[j], (double)want);
            }
        }
}

/* Denormals go in and come out: where f(x) tends to a multiple of x, to a constant, or underflows. */
TEST(vmath, denormals) {
    static const float values[] = {1e-45f, -1e-45f, 3e-42f, -1e-40f, 1.1e-38f, -1.17e-38f, 2e-38f};
    enum { VALUES = sizeof values / sizeof *values };
    static const struct {
        eg__fused_op op;
        float factor, term; /* f(x) = factor*x + term there, exactly */
    } rows[] = {{EG__FUSED_TANH, 1, 0},
                {EG__FUSED_SIN, 1, 0},
                {EG__FUSED_EXP, 0, 1},
                {EG__FUSED_SIGMOID, 0, 0.5f},
                {EG__FUSED_COS, 0, 1}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            float y[VALUES];
            vmath_run(row, rows[r].op, VALUES, values, y);
            for (size_t i = 0; i < VALUES; i++)
                CHECK(y[i] == rows[r].factor * values[i] + rows[r].term, "%s %s(%a) is %a",
                      row->isa, eg__fused_op_name(rows[r].op), (double)values[i], (double)y[i]);
        }
}

/* f(-x) = -f(x) or f(x), to the bit, and f never leaves its range. */
TEST(vmath, symmetric_and_in_range) {
    static const struct {
        eg__fused_op op;
        int symmetry; /* -1 odd, 1 even, 0 neither */
        float low, high;
    } rows[] = {{EG__FUSED_TANH, -1, -1, 1},         {EG__FUSED_ERF, -1, -1, 1},
                {EG__FUSED_SIN, -1, -1, 1},          {EG__FUSED_COS, 1, -1, 1},
                {EG__FUSED_SIGMOID, 0, 0, 1},        {EG__FUSED_EXP, 0, 0, INFINITY},
                {EG__FUSED_SOFTPLUS, 0, 0, INFINITY}};
    static float x[CHUNK], minus[CHUNK], y[CHUNK], back[CHUNK];
    for (size_t f = 0; f < sizeof rows / sizeof *rows; f++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            uint64_t bits = 1;
            for (size_t n; (n = chunk_next(&bits, x)); bits += 7 * CHUNK * stride()) {
                for (size_t i = 0; i < n; i++) minus[i] = -x[i];
                vmath_run(row, rows[f].op, n, x, y);
                vmath_run(row, rows[f].op, n, minus, back);
                for (size_t i = 0; i < n; i++) {
                    const float mirror = rows[f].symmetry < 0 ? -back[i] : back[i];
                    CHECK(!rows[f].symmetry || kernel_same(y[i], mirror),
                          "%s %s(%a) is %a, with the other sign %a", row->isa,
                          eg__fused_op_name(rows[f].op), (double)x[i], (double)y[i],
                          (double)back[i]);
                    CHECK(isnan(x[i]) || isinf(x[i]) ||
                              (y[i] >= rows[f].low && y[i] <= rows[f].high),
                          "%s %s(%a) is %a", row->isa, eg__fused_op_name(rows[f].op), (double)x[i],
                          (double)y[i]);
                }
            }
        }
}

/* The same number gives the same bits whatever stands beside it. */
TEST(vmath, independent_of_neighbours) {
    enum { N = 64 };
    float x[N], y[N], alone[N];
    static const float intruders[] = {1e9f, INFINITY, NAN, -3e38f, 1e-45f};
    uint64_t state = 4;
    for (size_t f = 0; f < VMATH_FUNCTIONS; f++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));)
            for (size_t v = 0; v < sizeof intruders / sizeof *intruders; v++) {
                for (size_t i = 0; i < N; i++) x[i] = test_random(&state) * (i % 3 ? 3 : 20000);
                vmath_run(row, vmath_functions[f].op, N, x, alone);
                for (size_t i = v; i < N; i += 5) x[i] = intruders[v];
                vmath_run(row, vmath_functions[f].op, N, x, y);
                for (size_t i = 0; i < N; i++)
                    CHECK(i % 5 == v || kernel_same(y[i], alone[i]),
                          "%s %s(%a) is %a, beside %g it is %a", row->isa,
                          eg__fused_op_name(vmath_functions[f].op), (double)x[i], (double)alone[i],
                          (double)intruders[v], (double)y[i]);
            }
}

/* pow of two numbers: near 1, over the range, and every pair of special values. */
TEST(vmath, powers) {
    enum { N = 1024 };
    static const float specials[] = {0.0f, -0.0f, 1.0f,     -1.0f,     2.0f,  -3.0f,
                                     0.5f, NAN,   INFINITY, -INFINITY, 1e-45f};
    enum { SPECIALS = sizeof specials / sizeof *specials };
    static const eg__fused_program program = {
        .length = 1,
        .operands = 3,
        .kind = {EG__FULL, EG__FULL, EG__FULL},
        .code = {{EG__FUSED_POW, EG__OPERAND(2), EG__OPERAND(0), EG__OPERAND(1), 0}}};
    float x[N], y[N], z[N];
    uint64_t state = 5;
    for (size_t turn = 0; turn < kernel_times(100); turn++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            for (size_t i = 0; i < N; i++) {
                x[i] = turn ? expf(test_random(&state) * (float)turn) : specials[i % SPECIALS];
                y[i] = turn ? test_random(&state) * 80 / (float)turn
                            : specials[i / SPECIALS % SPECIALS];
            }
            const eg__fused_f32_args args = {&program, 1, N, {{x, N}, {y, N}, {z, N}}};
            row->function.fused_f32(&args);
            for (size_t i = 0; i < N; i++) {
                const double exact = pow(x[i], y[i]), error = float_error(z[i], exact, 0);
                CHECK(turn ? error <= 1 : kernel_same(z[i], (float)exact),
                      "%s pow(%a, %a) is %a, exact %a", row->isa, (double)x[i], (double)y[i],
                      (double)z[i], exact);
            }
        }
}
