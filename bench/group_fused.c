/* Chains of elementwise operations: the gate of a CfC cell beside the same by hand, and ten cheap
 * operations in one pass over memory beside ten passes. */
#include "gate_loops.h"

#include <stdio.h>
#include <string.h>

#define O(i) EG__OPERAND(i)

typedef struct fused_state {
    eg__fused_f32_function *kernel;
    eg__fused_program program;
    eg__fused_f32_args args;
} fused_state;

static void run_fused(void *state) {
    const fused_state *s = state;
    s->kernel(&s->args);
}

/* ---- the gate */
static const size_t SHAPES[][2] = {{1, 64}, {64, 64}, {4096, 256}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static const eg__fused_program gate_program = {
    .length = 6,
    .operands = 6,
    .kind = {EG__FULL, EG__FULL, EG__FULL, EG__FULL, EG__ROW, EG__FULL}, /* a b ta tb ts out */
    .code = {{EG__FUSED_TANH, 0, O(0), 0, 0},
             {EG__FUSED_TANH, 1, O(1), 0, 0},
             {EG__FUSED_FMA, 2, O(2), O(4), O(3)},
             {EG__FUSED_SIGMOID, 2, 2, 0, 0},
             {EG__FUSED_SUB, 1, 1, 0, 0},
             {EG__FUSED_FMA, O(5), 2, 1, 0}}};

static float *floats_make(bench *b, size_t count, float scale, uint32_t seed) {
    float *out = bench_floats(b, count);
    bench_fill(out, count, scale, seed);
    return out;
}

static gate_problem *problem_make(bench *b, size_t rows, size_t columns) {
    const size_t n = rows * columns;
    gate_problem *p = bench_take(b, sizeof *p);
    *p = (gate_problem){rows,
                        columns,
                        floats_make(b, n, 3, 1),
                        floats_make(b, n, 3, 2),
                        floats_make(b, n, 2, 3),
                        floats_make(b, n, 2, 4),
                        floats_make(b, rows, 1, 5),
                        bench_floats(b, n)};
    return p;
}

static fused_state *gate_make(bench *b, const gate_problem *p, bool compiled) {
    const size_t n = p->columns;
    fused_state *s = bench_take(b, sizeof *s);
    *s = (fused_state){
        .program = gate_program,
        .args = {
            .rows = p->rows,
            .columns = n,
            .operand = {{p->a, n}, {p->b, n}, {p->ta, n}, {p->tb, n}, {p->ts, 1}, {p->out, n}}}};
    eg__fused_join(&s->program); /* as the compiler does */
    s->kernel = compiled ? b->kernels.row[eg__fused_operation(&s->program)]->function.fused_f32
                         : b->kernels.fused_f32;
    s->args.program = &s->program;
    return s;
}

/* Those of the instruction set that ours uses, so that they differ in nothing but the way. */
static void add_by_hand(bench *b, race *r, gate_problem *problem) {
    const char *isa = b->kernels.row[EG__OP_fused_f32]->isa;
    for (const gate_name *gate = gate_names; gate->isa; gate++)
        if (!strcmp(gate->isa, isa))
            race_add(r, (contestant){.role = ROLE_PEER,
                                     .name = "hand-written",
                                     .variant = gate->variant,
                                     .run = gate->run,
                                     .state = problem});
}

void bench_gate(bench *b) {
    for (int i = 0; i < SHAPE_COUNT; i++) {
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        gate_problem *p = problem_make(b, SHAPES[i][0], SHAPES[i][1]);
        const size_t n = p->rows * p->columns;
        race r = {.out = p->out, .out_size = n, .work = (double)n};
        char title[48];
        snprintf(title, sizeof title, "%zux%zu", p->rows, p->columns);
        race_add(&r, (contestant){.role = ROLE_OURS,
                                  .name = "ours",
                                  .variant = "",
                                  .run = run_fused,
                                  .state = gate_make(b, p, true)});
        race_add(&r, (contestant){.role = ROLE_OTHER,
                                  .name = "ours",
                                  .variant = "interpreted",
                                  .run = run_fused,
                                  .state = gate_make(b, p, false)});
        if (!b->options.no_peers) add_by_hand(b, &r, p);
        bench_race(b, &r, title, 1e-6);
        eg__arena_scope_end(b->arena, scope);
    }
}

/* ---- the chain: add mul sub max min mul add abs mul add, alternately with a scalar and with the
 * vector itself */
enum { CHAIN = 10, MILLIONS = 16, N = MILLIONS << 20 };
enum { X, SCALAR, OUT, OPERANDS }; /* of every program here */
static float SCALAR_VALUE = 0.75f;

static const struct link {
    eg__fused_op op;
    int with; /* second input */
} links[CHAIN] = {{EG__FUSED_ADD, SCALAR}, {EG__FUSED_MUL, X},      {EG__FUSED_SUB, SCALAR},
                  {EG__FUSED_MAX, X},      {EG__FUSED_MIN, SCALAR}, {EG__FUSED_MUL, X},
                  {EG__FUSED_ADD, SCALAR}, {EG__FUSED_ABS, X},      {EG__FUSED_MUL, SCALAR},
                  {EG__FUSED_ADD, X}};

static eg__fused_instruction link_code(int i, uint8_t out, uint8_t in) {
    const bool is_unary = eg__fused_op_inputs(links[i].op) == 1;
    return (eg__fused_instruction){(uint8_t)links[i].op, out, in,
                                   is_unary ? (uint8_t)0 : O(links[i].with), 0};
}

/* Links `from` .. `to`-1 as one program; what came before `from` is in `out` already. */
static void chain_make(bench *b, fused_state *s, float *x, float *out, int from, int to) {
    *s = (fused_state){
        .kernel = b->kernels.fused_f32,
        .program = {.length = (uint8_t)(to - from),
                    .operands = OPERANDS,
                    .kind = {[X] = EG__FULL, [SCALAR] = EG__SCALAR, [OUT] = EG__FULL}},
        .args = {.rows = 1,
                 .columns = N,
                 .operand = {[X] = {x, N}, [SCALAR] = {&SCALAR_VALUE, 0}, [OUT] = {out, N}}}};
    for (int i = from; i < to; i++)
        s->program.code[i - from] = link_code(i, i == to - 1 ? O(OUT) : 0,
                                              i == 0      ? O(X)
                                              : i == from ? O(OUT)
                                                          : 0);
    s->args.program = &s->program;
}

static void run_one_by_one(void *state) {
    fused_state *s = state;
    for (int i = 0; i < CHAIN; i++) run_fused(&s[i]);
}

void bench_chain(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    float *x = floats_make(b, N, 1, 1), *out = bench_floats(b, N);
    fused_state *at_once = bench_take(b, sizeof *at_once),
                *single = bench_take(b, CHAIN * sizeof *single);
    chain_make(b, at_once, x, out, 0, CHAIN);
    for (int i = 0; i < CHAIN; i++) chain_make(b, &single[i], x, out, i, i + 1);
    race r = {.out = out, .out_size = N, .work = N};
    race_add(
        &r,
        (contestant){
            .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_fused, .state = at_once});
    race_add(&r, (contestant){.role = ROLE_OTHER,
                              .name = "one by one",
                              .variant = "",
                              .run = run_one_by_one,
                              .state = single});
    bench_race(b, &r, "16 million floats", 0);
    eg__arena_scope_end(b->arena, scope);
}
