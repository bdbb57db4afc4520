/* Two threads: a large product cut in two, and what a launch costs. */
#include "engine/gemm_parallel.h"
#include "peers.h"

#include <stdio.h>

enum { THREADS = 2, SIDE = 1024 };

typedef struct product_state {
    eg__gemm_f32_function *gemm;
    eg__threads *threads;
    eg__gemm_f32_args args, half[THREADS];
} product_state;

/* As the library does it. */
static void run_parallel(void *state) {
    const product_state *s = state;
    eg__gemm_parallel(s->threads, s->gemm, &s->args);
}

static void half_block(void *job, size_t block, unsigned thread) {
    const product_state *s = job;
    (void)thread;
    s->gemm(&s->half[block]);
}

static void run_halves(void *state) {
    product_state *s = state;
    eg__threads_run(s->threads, THREADS, half_block, s);
}

static void run_one_thread(void *state) {
    const product_state *s = state;
    s->gemm(&s->args);
}

static gemm_problem problem_make(bench *b) {
    const size_t size = (size_t)SIDE * SIDE;
    gemm_problem p = {SIDE,
                      SIDE,
                      SIDE,
                      bench_floats(b, size),
                      bench_floats(b, size),
                      bench_floats(b, size),
                      bench_floats(b, size),
                      THREADS};
    bench_fill(p.a, size, 0.5f, 1);
    bench_fill(p.b, size, 0.5f, 2);
    for (size_t k = 0; k < SIDE; k++)
        for (size_t n = 0; n < SIDE; n++) p.bt[n * SIDE + k] = p.b[k * SIDE + n];
    return p;
}

/* Rows in two halves; each has its own scratch. */
static product_state *state_make(bench *b, const gemm_problem *p, eg__threads *threads) {
    const size_t rows = SIDE / THREADS;
    product_state *s = bench_take(b, sizeof *s);
    float *packed = bench_floats(b, eg__gemm_packed_size(SIDE, SIDE));
    eg__gemm_pack_f32(SIDE, SIDE, p->b, SIDE, 1, packed);
    *s = (product_state){.gemm = b->kernels.gemm_f32, .threads = threads};
    s->args.m = s->args.n = s->args.k = s->args.a_stride = s->args.c_stride = SIDE;
    s->args.a = p->a;
    s->args.b = packed;
    s->args.c = p->c;
    s->args.scratch =
        bench_floats(b, eg__max(eg__gemm_scratch(SIDE, SIDE, SIDE, NULL),
                                eg__gemm_parallel_scratch(SIDE, SIDE, SIDE, NULL, THREADS)));
    for (size_t i = 0; i < THREADS; i++) {
        s->half[i] = s->args;
        s->half[i].m = rows;
        s->half[i].a += i * rows * SIDE;
        s->half[i].c += i * rows * SIDE;
        s->half[i].scratch = bench_floats(b, eg__gemm_scratch(rows, SIDE, SIDE, NULL));
    }
    return s;
}

static void add_ours(race *r, product_state *state, role as, const char *name,
                     void (*run)(void *state)) {
    race_add(r, (contestant){.role = as, .name = name, .variant = "", .run = run, .state = state});
}

void bench_two_threads(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    eg__threads *threads = bench_threads(b, THREADS);
    gemm_problem p = problem_make(b);
    product_state *state = state_make(b, &p, threads);
    race r = {.out = p.c,
              .out_size = (size_t)SIDE * SIDE,
              .work = 2.0 * SIDE * SIDE * SIDE,
              .settles = true};
    char title[48];
    snprintf(title, sizeof title, "%dx%dx%d", SIDE, SIDE, SIDE);
    race_add(
        &r,
        (contestant){
            .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_halves, .state = state});
    add_ours(&r, state, ROLE_OURS, "ours", run_parallel);
    add_ours(&r, state, ROLE_OTHER, "as two halves", run_halves);
    add_ours(&r, state, ROLE_OTHER, "on one thread", run_one_thread);
    peers_gemm(b, &r, &p);
    bench_add_peak(b, &r, threads);
    bench_race(b, &r, title, 1e-5);
    eg__threads_stop(threads);
    eg__arena_scope_end(b->arena, scope);
}

/* ---- a launch of nothing: each block leaves a mark in a cache line of its own */
enum { LINE_FLOATS = 64 };

typedef struct launch_state {
    eg__threads *threads;
    float *marks;
} launch_state;

static void mark(void *job, size_t block) {
    const launch_state *s = job;
    *(volatile float *)&s->marks[block * LINE_FLOATS] = 1;
}

static void mark_block(void *job, size_t block, unsigned thread) {
    (void)thread;
    mark(job, block);
}

static void run_launch(void *state) {
    launch_state *s = state;
    eg__threads_run(s->threads, THREADS, mark_block, s);
}

/* A launch that leaves a block out would be quick, and wrong. */
static void check_marks(const race *r, float *marks) {
    for (size_t c = 0; c < r->count; c++) {
        for (int i = 0; i < THREADS; i++) marks[i * LINE_FLOATS] = 0;
        r->list[c].run(r->list[c].state);
        for (int i = 0; i < THREADS; i++)
            if (!(marks[i * LINE_FLOATS] > 0))
                bench_fail("launch: '%s' left block %d out", r->list[c].name, i);
    }
}

void bench_launch(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    launch_state *state = bench_take(b, sizeof *state);
    *state = (launch_state){bench_threads(b, THREADS), bench_floats(b, THREADS * LINE_FLOATS)};
    race r = {.work = 1, .settles = true};
    launch_problem p = {mark, state};
    race_add(
        &r,
        (contestant){
            .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_launch, .state = state});
    peers_launch(b, &r, &p);
    check_marks(&r, state->marks);
    bench_race(b, &r, "two blocks, two threads", 0);
    eg__threads_stop(state->threads);
    eg__arena_scope_end(b->arena, scope);
}
