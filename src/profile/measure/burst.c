/* The best of many short bursts. */
#include "profile/measure/burst.h"

#include <stdlib.h>

static double timed(eg__burst_function function, void *job, uint64_t calls) {
    uint64_t start = eg_clock_ns();
    for (uint64_t i = 0; i < calls; i++) function(job);
    return (double)(eg_clock_ns() - start) * 1e-9 / (double)calls;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Keeps every sample while there is room, then every second, fourth ... for a fair median. */
typedef struct samples {
    double value[EG__BURST_SAMPLES], best;
    size_t count;
    uint64_t seen, stride;
} samples;

static void samples_add(samples *s, double value) {
    if (s->seen == 0 || value < s->best) s->best = value;
    if (s->seen++ % s->stride) return;
    if (s->count == EG__BURST_SAMPLES) {
        for (size_t i = 0; i < EG__BURST_SAMPLES / 2; i++) s->value[i] = s->value[2 * i];
        s->count /= 2;
        s->stride *= 2;
    }
    s->value[s->count++] = value;
}

static eg__burst_times samples_finish(samples *s, uint64_t calls) {
    qsort(s->value, s->count, sizeof *s->value, compare);
    eg__burst_times times = {s->best, s->value[s->count / 4], s->value[s->count / 2], calls};
    return times;
}

eg__burst_times eg__burst_measure(eg__burst_function function, void *job, double seconds) {
    samples s = {.stride = 1};
    timed(function, job, 1); /* touches memory and code for the first time */
    double once = timed(function, job, 1);
    uint64_t calls = once < 20e-6 ? (uint64_t)(20e-6 / (once + 1e-9)) + 1 : 1, total = 0;
    uint64_t end = eg_clock_ns() + (uint64_t)(seconds * 1e9);
    do {
        samples_add(&s, timed(function, job, calls));
        total += calls;
    } while (eg_clock_ns() < end || total < 3 * calls);
    return samples_finish(&s, total);
}

eg__burst_times eg__burst_repeat(eg__burst_function function, void *job, uint64_t calls) {
    samples s = {.stride = 1};
    timed(function, job, 1);
    for (uint64_t i = 0; i < calls; i++) samples_add(&s, timed(function, job, 1));
    return samples_finish(&s, calls);
}

eg__burst_times eg__burst_repeat_after(eg__burst_function before, eg__burst_function function,
                                       void *job, uint64_t calls) {
    samples s = {.stride = 1};
    for (uint64_t i = 0; i < calls; i++) {
        before(job);
        eg_clock_ns(); /* excludes the clock's own cold start */
        samples_add(&s, timed(function, job, 1));
    }
    return samples_finish(&s, calls);
}
