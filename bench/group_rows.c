/* Layer norm and softmax of 128 rows. */
#include "peers.h"

#include <stdio.h>

enum { ROWS = 128 };
static const size_t COLUMNS[] = {64, 384, 1024};
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

typedef struct rows_state {
    eg__layernorm_f32_function *layernorm;
    eg__softmax_f32_function *softmax;
    eg__norm_f32_args norm_args;
    eg__softmax_f32_args softmax_args;
} rows_state;

static void run_layernorm(void *state) {
    const rows_state *s = state;
    s->layernorm(&s->norm_args);
}

static void run_softmax(void *state) {
    const rows_state *s = state;
    s->softmax(&s->softmax_args);
}

static rows_problem problem_make(bench *b, size_t columns) {
    rows_problem p = {ROWS,
                      columns,
                      bench_floats(b, ROWS * columns),
                      bench_floats(b, ROWS * columns),
                      bench_floats(b, columns),
                      bench_floats(b, columns),
                      1e-5f};
    bench_fill(p.x, ROWS * columns, 4, 1);
    bench_fill(p.gain, columns, 1, 2);
    bench_fill(p.bias, columns, 1, 3);
    return p;
}

static rows_state *state_make(bench *b, const rows_problem *p) {
    rows_state *s = bench_take(b, sizeof *s);
    const size_t n = p->columns;
    *s = (rows_state){b->kernels.layernorm_f32,
                      b->kernels.softmax_f32,
                      {ROWS, n, p->x, n, p->y, n, p->gain, p->bias, p->epsilon},
                      {ROWS, n, p->x, n, p->y, n, false}};
    return s;
}

static void rows_group(bench *b, void (*run)(void *state),
                       void (*peers)(bench *b, race *r, const rows_problem *problem)) {
    for (int i = 0; i < COLUMN_COUNT; i++) {
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        rows_problem p = problem_make(b, COLUMNS[i]);
        race r = {.out = p.y, .out_size = ROWS * p.columns, .work = (double)(ROWS * p.columns)};
        char title[48];
        snprintf(title, sizeof title, "%dx%zu", ROWS, p.columns);
        race_add(&r, (contestant){.role = ROLE_OURS,
                                  .name = "ours",
                                  .variant = "",
                                  .run = run,
                                  .state = state_make(b, &p)});
        peers(b, &r, &p);
        bench_race(b, &r, title, 1e-5);
        eg__arena_scope_end(b->arena, scope);
    }
}

void bench_layernorm(bench *b) { rows_group(b, run_layernorm, peers_layernorm); }
void bench_softmax(bench *b) { rows_group(b, run_softmax, peers_softmax); }
