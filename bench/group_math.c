/* exp, tanh and sigmoid of 4096 floats, with the largest error of everybody beside the time. */
#include "peers.h"

#include <math.h>

enum { N = 4096, ERROR_BLOCKS = 64 };

typedef struct fused_state {
    eg__fused_f32_function *kernel;
    eg__fused_program program;
    eg__fused_f32_args args;
} fused_state;

static void run_fused(void *state) {
    const fused_state *s = state;
    s->kernel(&s->args);
}

static const struct function {
    const char *name;
    math_function function;
    eg__fused_op op;
    double
        reach; /* errors are sought within [-reach, reach], where no result over- or underflows */
} functions[] = {
    {"exp", MATH_EXP, EG__FUSED_EXP, 87},
    {"tanh", MATH_TANH, EG__FUSED_TANH, 20},
    {"sigmoid", MATH_SIGMOID, EG__FUSED_SIGMOID, 80},
};

static double exact(math_function function, double x) {
    switch (function) {
    case MATH_EXP: return exp(x);
    case MATH_TANH: return tanh(x);
    case MATH_SIGMOID: break;
    }
    return 1 / (1 + exp(-x));
}

/* In units of the last place of the exact result as a float. */
static double ulp_error(float got, double want) {
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

/* Half of the blocks spread evenly, half by magnitude, down to a millionth. */
static void error_inputs(float *x, int block, double reach) {
    bench_fill(x, N, 1, (uint32_t)block + 7);
    for (int i = 0; i < N; i++) {
        double u = (double)x[i];
        x[i] = (float)(block % 2 ? reach * u : copysign(reach * exp(-18.0 * fabs(u)), u));
    }
}

static void measure_errors(race *r, const struct function *f, const math_problem *p) {
    float *x = p->x;
    for (int block = 0; block < ERROR_BLOCKS; block++) {
        error_inputs(x, block, f->reach);
        for (size_t c = 0; c < r->count; c++) {
            r->list[c].run(r->list[c].state);
            for (int i = 0; i < N; i++)
                r->list[c].ulp =
                    fmax(r->list[c].ulp, ulp_error(p->y[i], exact(f->function, (double)x[i])));
        }
    }
}

static void math_case(bench *b, const struct function *f) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    math_problem p = {f->function, N, bench_floats(b, N), bench_floats(b, N)};
    fused_state *state = bench_take(b, sizeof *state);
    *state =
        (fused_state){.kernel = b->kernels.fused_f32,
                      .program = {.length = 1,
                                  .operands = 2,
                                  .kind = {EG__FULL, EG__FULL},
                                  .code = {{(uint8_t)f->op, EG__OPERAND(1), EG__OPERAND(0), 0, 0}}},
                      .args = {.rows = 1, .columns = N, .operand = {{p.x, N}, {p.y, N}}}};
    state->args.program = &state->program;
    race r = {.out = p.y, .out_size = N, .work = N};
    race_add(
        &r,
        (contestant){
            .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_fused, .state = state});
    peers_math(b, &r, &p);
    measure_errors(&r, f, &p);
    bench_fill(p.x, N, 8, 3);
    bench_race(b, &r, f->name, 1e-6);
    eg__arena_scope_end(b->arena, scope);
}

void bench_math(bench *b) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) math_case(b, &functions[i]);
}
