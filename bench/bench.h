/* What the groups of the benchmark share: options, the machine, memory, results. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/threads.h"
#include "chip/chip.h"
#include "kernels/kernels.h"
#include "memory/memory.h"
#include "result.h"

typedef struct bench bench;

typedef struct group {
    const char *name, *title, *unit;
    bool is_rate;     /* unit: work per ns; else ns per piece of work */
    unsigned threads; /* cores it needs */
    void (*run)(bench *b);
} group;

typedef struct options {
    bool quick, full, no_peers;
    const char *group, *json, *isa; /* NULL = all, none, the best */
    unsigned rounds;
} options;

struct bench {
    options options;
    pace pace;
    eg_chip chip;
    double load; /* processes that wanted to run in the minute before the start */
    eg__kernels kernels;
    eg__memory *memory;
    eg__arena *arena; /* emptied after each case */
    size_t arrays;    /* given out so far */
    const group *group;
    result results[RESULTS_MAX];
    const group *result_group[RESULTS_MAX];
    size_t count;
    unsigned wrong; /* contestants whose results were */
};

extern const group bench_groups[];
extern const size_t bench_group_count;

/* Prints the message and ends the program: a benchmark has nothing to save. */
_Noreturn void bench_fail(const char *format, ...) EG_PRINTF(1, 2);

/* Aligned to 64, until the case ends. */
void *bench_take(bench *b, size_t size);
float *bench_floats(bench *b, size_t count);
/* Numbers within [-scale, scale], the same in every run. */
void bench_fill(float *to, size_t count, float scale, uint32_t seed);

/* The burn kernel as a contestant, on each of `threads` (NULL = one). */
void bench_add_peak(bench *b, race *r, eg__threads *threads);
/* Verifies, times and keeps the race; its contestants are gone afterwards. */
void bench_race(bench *b, race *r, const char *title, double tolerance);

/* Two threads, sleeping at the end of the program. */
eg__threads *bench_threads(bench *b, unsigned count);

void bench_gemm(bench *b);
void bench_gemv(bench *b);
void bench_square(bench *b);
void bench_odd(bench *b);
void bench_quantized(bench *b);
void bench_halves(bench *b);
void bench_math(bench *b);
void bench_layernorm(bench *b);
void bench_softmax(bench *b);
void bench_attention(bench *b);
void bench_conv(bench *b);
void bench_gate(bench *b);
void bench_chain(bench *b);
void bench_epilogue(bench *b);
void bench_mlp(bench *b);
void bench_mlp_train(bench *b);
void bench_gru(bench *b);
void bench_entropy(bench *b);
void bench_project(bench *b);  /* prints a table of its own */
void bench_recorder(bench *b); /* the same */
void bench_two_threads(bench *b);
void bench_launch(bench *b);

/* ---- report.c */
void report_start(const bench *b);
void report_group(const bench *b, const group *g);
void report_summary(const bench *b);
void report_progress(const bench *b, const char *title); /* NULL = erase it */
/* ---- json_jansson.c, json_nojansson.c */
void report_json(const bench *b, const char *path);

/* Results of a group are neighbours; NULL and 0 when it was not run. */
const result *bench_results_of(const bench *b, const group *g, size_t *count);
/* The highest FMA peak of one core that was seen, GFLOP/s; 0 = not measured. */
double bench_peak(const bench *b);

#endif
