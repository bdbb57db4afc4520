/* How a race is run: bursts, turns, rounds. */
#include "timing.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BURST_NS = 40000,  /* short enough to fall between two interruptions */
    BURSTS = 4,        /* of one contestant before it is the next one's turn */
    WARM_NS = 1000000, /* a call that takes longer warms its caches itself */
    LONG_NS = 5000000, /* ... and one this long is timed once per turn */
    PILOT_TURNS = 2 * BURSTS,
    SETTLE_NS = 30000000, /* OpenBLAS's idle threads spin for 26 ms, others less */
    SPREAD_NS = 10000000
};
/* A variant this much slower than its library's best would only take time from the others. */
static const double HOPELESS = 1.5;

void race_add(race *r, contestant c) {
    assert(r->count < CONTESTANTS_MAX);
    if (!(c.work > 0)) c.work = r->work;
    r->list[r->count++] = c;
}

static void race_drop(race *r, size_t index) {
    contestant *c = &r->list[index];
    if (c->end) c->end(c->state);
    memmove(c, c + 1, (--r->count - index) * sizeof *c);
}

void race_end(race *r) {
    while (r->count) race_drop(r, r->count - 1);
}

static double largest(const float *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)values[i]));
    return most;
}

/* NaN where the contestant left an element alone: those were NaN before. */
static double difference(const float *a, const float *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = d;
        if (isnan(d)) return NAN;
    }
    return most;
}

static void run_once(const race *r, const contestant *c) {
    for (size_t i = 0; i < r->out_size; i++) r->out[i] = NAN;
    c->run(c->state);
}

unsigned race_verify(race *r, const char *title, double tolerance) {
    const size_t bytes = r->out_size * sizeof(float);
    float *ours = bytes ? malloc(bytes) : NULL;
    unsigned wrong = 0;
    if (!ours) return bytes ? 1 : 0;
    run_once(r, &r->list[0]);
    memcpy(ours, r->out, bytes);
    const double scale = largest(ours, r->out_size);
    for (size_t i = r->count; i-- > 1;) {
        const contestant *c = &r->list[i];
        if (c->role == ROLE_PEAK) continue;
        run_once(r, c);
        double error = difference(ours, r->out, r->out_size) / scale;
        if (error <= tolerance) continue;
        fprintf(stderr, "bench: %s: result of '%s %s' differs from ours by %.2g\n", title, c->name,
                c->variant, error);
        race_drop(r, i);
        wrong++;
    }
    free(ours);
    return wrong;
}

/* Whoever spills vectors to a stack that is aligned to 16 may be a fifth faster or slower, as the
 * program's stack happens to begin here or there; oneDNN's softmax is. So the bursts begin at
 * different places, and the best place counts. */
__attribute__((noinline)) static double burst(const contestant *c, unsigned turn) {
    volatile char *skipped = __builtin_alloca(16 * (turn % BURSTS + 1));
    skipped[0] = 0;
    const uint64_t start = eg_clock_ns();
    for (size_t i = 0; i < c->calls; i++) c->run(c->state);
    return (double)(eg_clock_ns() - start) / (double)c->calls;
}

/* Lets idle threads of the contestant before fall asleep, then wakes those of this one and gives
 * the system time to spread them over the cores. */
static void settle(const contestant *c) {
    struct timespec pause = {0, SETTLE_NS};
    nanosleep(&pause, NULL);
    const uint64_t start = eg_clock_ns();
    do c->run(c->state);
    while (eg_clock_ns() - start < SPREAD_NS);
}

static size_t calls_in_burst(double ns) { return ns < BURST_NS ? (size_t)(BURST_NS / ns) : 1; }

/* A first guess, which may have been disturbed. */
static void calibrate(contestant *c) {
    c->calls = 1;
    c->pilot = burst(c, 0);
    while (c->pilot * (double)c->calls < BURST_NS / 2) {
        c->calls *= 2;
        c->pilot = burst(c, 0);
    }
}

static bool is_hopeless(const race *r, const contestant *c) {
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->list[i].name, c->name) && c->pilot > HOPELESS * r->list[i].pilot)
            return true;
    return false;
}

static void race_pilot(race *r) {
    for (unsigned turn = 0; turn < (r->settles ? 2 : PILOT_TURNS); turn++) {
        for (size_t i = 0; i < r->count; i++) {
            contestant *c = &r->list[i];
            if (r->settles) settle(c);
            if (turn == 0) calibrate(c);
            else if (c->pilot < LONG_NS || r->settles) c->pilot = fmin(c->pilot, burst(c, turn));
            c->calls = calls_in_burst(c->pilot);
        }
    }
    for (size_t i = r->count; i-- > 0;)
        if (is_hopeless(r, &r->list[i])) race_drop(r, i);
}

/* One turn of one contestant. */
static double take_turn(const race *r, const contestant *c) {
    double best = INFINITY;
    if (r->settles) settle(c);
    else if (c->pilot < WARM_NS) c->run(c->state);
    const unsigned bursts = c->pilot < LONG_NS || r->settles ? BURSTS : 1;
    for (unsigned i = 0; i < bursts; i++) best = fmin(best, burst(c, i));
    return best;
}

static void race_round(race *r, const pace *p, unsigned round) {
    const uint64_t start = eg_clock_ns();
    for (size_t i = 0; i < r->count; i++) r->list[i].ns[round] = INFINITY;
    /* two threads are disturbed twice as often as one */
    const unsigned turns = r->settles ? 2 * p->min_turns : p->min_turns;
    for (unsigned turn = 0;; turn++) {
        if (turn >= turns && (double)(eg_clock_ns() - start) > p->round_ns) break;
        for (size_t i = 0; i < r->count; i++) {
            contestant *c = &r->list[i];
            c->ns[round] = fmin(c->ns[round], take_turn(r, c));
        }
    }
}

void race_run(race *r, const pace *p) {
    race_pilot(r);
    r->rounds = p->rounds;
    for (unsigned round = 0; round < p->rounds; round++) race_round(r, p, round);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *values, size_t count) {
    double sorted[ROUNDS_MAX];
    assert(count > 0 && count <= ROUNDS_MAX);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}
