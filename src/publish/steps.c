/* Steps: each is counted, some are timed. */
#include "publish/publisher.h"

#include <math.h>

/* A timed step costs two readings of the clock, some 50 ns: one in 100 us is 0.05 %. */
enum { TIMED_NS = 100000, EVERY_MOST = 1 << 16, TELL_NS = 100000000 };

void eg__publisher_memory(eg_publisher *p) {
    eg_memory_figures held;
    eg__memory_figures_get(p->memory, EG_TAG_COUNT, &held);
    eg__word_set(&p->page->held, held.current);
    eg__word_set(&p->page->held_peak, held.peak);
}

static void count_latency(eg_publisher *p, uint64_t ns, uint64_t steps) {
    eg__word *bucket = &p->page->latency[eg__latency_bucket(ns)];
    eg__word_set(bucket, eg__word_get(bucket) + steps);
}

static void tell_memory(eg_publisher *p, uint64_t now) {
    if (now - p->told_ns < TELL_NS) return;
    p->told_ns = now;
    eg__publisher_memory(p);
}

/* Which step is timed next is drawn at random around every k-th: a loop whose steps repeat (each fourth is long) is
 * seen as it is. */
static uint64_t next_timed(eg_publisher *p) {
    if (p->every == 1) return 1;
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return p->every / 2 + 1 + (p->random >> 33) % p->every;
}

static void time_step(eg_publisher *p) {
    const uint64_t now = eg_clock_ns();
    count_latency(p, now - p->begun_ns, 1);
    /* by how often steps come, not by how long they take: a loop of ten steps a second has all of them timed */
    const uint64_t period = (now - p->timed_ns) / (p->steps - p->timed_step);
    uint64_t every = TIMED_NS / (period ? period : 1);
    every = every < 1 || !p->timed_ns ? 1 : every > EVERY_MOST ? EVERY_MOST : every;
    /* by halves, so that one long pause does not have the clock read for all steps that follow */
    p->every = every == 1 ? p->every / 2 + p->every % 2 : (p->every + every + 1) / 2;
    p->timed_ns = now;
    p->timed_step = p->steps;
    eg__word_set(&p->page->timed_every, p->every);
    p->left = next_timed(p);
    tell_memory(p, now);
}

void eg_publisher_begin(eg_publisher *p) {
    if (!eg__publisher_ours(p)) return;
    if (p->left > 1) {
        p->left--;
        return;
    }
    p->left = 0;
    p->begun_ns = eg_clock_ns();
}

void eg_publisher_end(eg_publisher *p) {
    if (!eg__publisher_ours(p)) return;
    eg__word_set(&p->page->steps, ++p->steps);
    if (!p->left) time_step(p);
}

void eg_publisher_add(eg_publisher *p, uint64_t steps, double seconds) {
    if (!eg__publisher_ours(p) || !steps) return;
    p->steps += steps;
    eg__word_set(&p->page->steps, p->steps);
    if (seconds >= 0 && seconds < 1e9) {
        count_latency(p, (uint64_t)(seconds * 1e9 + 0.5), steps);
        eg__word_set(&p->page->timed_every, 1);
    }
    tell_memory(p, eg_clock_ns());
}

void eg_publisher_cost(eg_publisher *p, double step_flops, double step_bytes) {
    if (!eg__publisher_ours(p)) return;
    eg__word_set(&p->page->step_flops, eg__bits_of(step_flops > 0 ? step_flops : (double)NAN));
    eg__word_set(&p->page->step_bytes, eg__bits_of(step_bytes > 0 ? step_bytes : (double)NAN));
    eg__word_set(&p->page->peak_bandwidth, eg__bits_of(eg__publisher_bandwidth(p, step_bytes)));
}

void eg_publisher_tokens(eg_publisher *p, uint64_t count) {
    if (!eg__publisher_ours(p)) return;
    eg__word_set(&p->page->tokens, eg__word_get(&p->page->tokens) + count);
}
