/* A scan: the steps of its body, once for every time step. */
#include "graph/steps/program.h"
#include "graph/steps/stop.h"

enum { ASK_AGAIN_NS = 20000000 };

bool eg__stop_asked(eg__stop *stop) {
    if (__atomic_load_n(&stop->stopped, __ATOMIC_RELAXED)) return true;
    if (!pthread_equal(stop->caller, pthread_self())) return false;
    const uint64_t now = eg_clock_ns();
    if (now < stop->next) return false;
    stop->next = now + ASK_AGAIN_NS;
    if (!stop->function(stop->user)) return false;
    __atomic_store_n(&stop->stopped, true, __ATOMIC_RELAXED);
    return true;
}

typedef struct body {
    const eg__step *steps;
    uint32_t first, count;
    bool whole; /* a body that is not split: every step does all its items */
} body;

static eg_status failed(const body *b, const eg__frame *inner, uint32_t at, eg_status status) {
    eg__step_failed(inner->run->program, &b->steps[at], status, inner->error);
    return status;
}

static eg_status run_body(const body *b, eg__frame *inner) {
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        const eg_status status = eg__step_one(&b->steps[i], inner);
        if (status) return failed(b, inner, i, status);
    }
    return EG_OK;
}

/* The end of a step is the beginning of the next, so the clock is read once per step. The events stand for `steps` time
 * steps. */
static eg_status record_body(const body *b, eg__frame *inner, unsigned steps, bool first) {
    eg__ring *ring = inner->ring;
    const uint64_t run = inner->run->record->run;
    uint64_t begin = eg__ticks();
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        const eg_status status = eg__step_one(&b->steps[i], inner);
        if (status) return failed(b, inner, i, status);
        const uint64_t end = eg__ticks();
        eg__ring_add(ring, begin, end, b->first + i, (uint32_t)inner->time, steps, run);
        eg__ring_last(ring)->first = first;
        begin = end;
    }
    return EG_OK;
}

/* Of how many time steps one is recorded, given what one takes: events are to cost a hundredth of the time. */
static size_t recorded_every(const eg__record *record, uint32_t events, uint64_t ticks) {
    if (record->every) return record->every;
    const double every = 100 * record->event_ticks * events / (double)eg__max(ticks, 1);
    return every < 1 ? 1 : (size_t)eg__min(every, EG__RECORD_EVERY);
}

/* All time steps of the items of `inner`. The first is recorded for itself: it finds caches cold. */
static eg_status record_block(const body *b, const eg__step_scan *scan, eg__frame *inner,
                              size_t length) {
    eg_status status = EG_OK;
    for (size_t t = 0, next = 0, every = 1; t < length && !status; t++) {
        if (eg__run_stopped(inner->run)) return eg__fail(inner->error, EG_ERR_STOPPED, "stopped");
        inner->time = scan->reverse ? length - 1 - t : t;
        if (t < next) {
            status = run_body(b, inner);
            continue;
        }
        const size_t steps = eg__min(every, length - t);
        const uint64_t begin = t ? 0 : eg__ticks();
        status = record_body(b, inner, (unsigned)steps, t == 0);
        if (t == 0)
            every = recorded_every(inner->run->record, b->count,
                                   eg__ring_last(inner->ring)->end - begin);
        next = t + steps;
    }
    return status;
}

/* The same, not recorded. */
static eg_status run_block(const body *b, const eg__step_scan *scan, eg__frame *inner,
                           size_t length) {
    eg_status status = EG_OK;
    for (size_t t = 0; t < length && !status; t++) {
        if (eg__run_stopped(inner->run)) return eg__fail(inner->error, EG_ERR_STOPPED, "stopped");
        inner->time = scan->reverse ? length - 1 - t : t;
        status = run_body(b, inner);
    }
    return status;
}

/* Samples that do not fit the cache together go in blocks that do, each through all time steps. */
eg_status eg__run_scan(const eg__step *step, const eg__frame *frame) {
    const eg__step_scan *scan = &step->u.scan;
    const body b = {frame->run->program->steps + scan->first, scan->first, scan->count,
                    step->items == 1};
    const size_t length = scan->length ? scan->length : frame->run->length;
    const size_t blocks = eg__max(frame->count / scan->block, 1), end = frame->first + frame->count;
    eg__frame inner = *frame;
    eg_status status = EG_OK;
    for (size_t i = 0; i < blocks && !status; i++) {
        inner.first = frame->first + i * scan->block;
        inner.count = i + 1 < blocks ? scan->block : end - inner.first;
        status = inner.ring ? record_block(&b, scan, &inner, length)
                            : run_block(&b, scan, &inner, length);
    }
    return status;
}
