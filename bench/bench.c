/* What the groups share: memory, numbers, the peak, and one race from start to end. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *bench_take(bench *b, size_t size) {
    eg_error error;
    void *block = eg__arena_take(b->arena, size, &error);
    if (!block) bench_fail("%s", error.message);
    return block;
}

/* Arrays that begin at the same place of a page slow down whoever reads one and writes the other:
 * the processor takes them for the same memory. Here each begins elsewhere. */
float *bench_floats(bench *b, size_t count) {
    enum { LINE = 64, LINES_APART = 11, PAGE = 4096 };
    const size_t place = b->arrays++ * LINES_APART * LINE % PAGE;
    char *block = bench_take(b, count * sizeof(float) + PAGE);
    return (float *)(block + (place - (uintptr_t)block) % PAGE);
}

void bench_fill(float *to, size_t count, float scale, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
}

enum { BURN_TURNS = 2000, BURN_THREADS_MAX = 2 };

typedef struct burn_state {
    eg__burn_f32_function *burn;
    eg__threads *threads;
    _Alignas(64) float numbers[BURN_THREADS_MAX][EG__BURN_LANES];
} burn_state;

static void burn_block(void *job, size_t block, unsigned thread) {
    burn_state *s = job;
    (void)thread;
    s->burn(BURN_TURNS, s->numbers[block]);
}

static void run_burn(void *state) {
    burn_state *s = state;
    eg__threads_run(s->threads, eg__threads_count(s->threads), burn_block, s);
}

void bench_add_peak(bench *b, race *r, eg__threads *threads) {
    burn_state *state = bench_take(b, sizeof *state);
    *state = (burn_state){.burn = b->kernels.burn_f32, .threads = threads};
    bench_fill(state->numbers[0], BURN_THREADS_MAX * EG__BURN_LANES, 1, 1);
    race_add(r,
             (contestant){.role = ROLE_PEAK,
                          .name = "peak",
                          .variant = "",
                          .run = run_burn,
                          .state = state,
                          .work = 2.0 * BURN_TURNS * EG__BURN_LANES * eg__threads_count(threads)});
}

void bench_race(bench *b, race *r, const char *title, double tolerance) {
    if (b->count == RESULTS_MAX) bench_fail("more than %d cases", RESULTS_MAX);
    report_progress(b, title);
    unsigned wrong = race_verify(r, title, tolerance);
    race_run(r, &b->pace);
    b->wrong += wrong;
    b->result_group[b->count] = b->group;
    result_make(&b->results[b->count++], title, r, b->group->is_rate);
    race_end(r);
}

eg__threads *bench_threads(bench *b, unsigned count) {
    eg__threads *threads;
    eg_error error;
    void *memory = bench_take(b, eg__threads_size(count));
    if (eg__threads_start(memory, count, NULL, NULL, &threads, &error) != EG_OK)
        bench_fail("%s", error.message);
    return threads;
}

const result *bench_results_of(const bench *b, const group *g, size_t *count) {
    const result *first = NULL;
    *count = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (b->result_group[i] != g) continue;
        if (!first) first = &b->results[i];
        ++*count;
    }
    return first;
}

double bench_peak(const bench *b) {
    double peak = 0;
    for (size_t i = 0; i < b->count; i++)
        if (b->result_group[i]->threads == 1 && b->results[i].peak > peak)
            peak = b->results[i].peak;
    return peak;
}
