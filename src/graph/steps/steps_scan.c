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

/* The end of a step is the beginning of the next, so the clock is read once per step. */
static eg_status record_body(const body *b, eg__frame *inner) {
    eg__ring *ring = inner->ring;
    const uint64_t run = inner->run->record->run;
    uint64_t begin = eg__ticks();
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        const eg_status status = eg__step_one(&b->steps[i], inner);
        if (status) return failed(b, inner, i, status);
        const uint64_t end = eg__ticks();
        eg__ring_add(ring, begin, end, b->first + i, (uint32_t)inner->time, 1, run);
        begin = end;
    }
    return EG_OK;
}

eg_status eg__run_scan(const eg__step *step, const eg__frame *frame) {
    const eg__step_scan *scan = &step->u.scan;
    const body b = {frame->run->program->steps + scan->first, scan->first, scan->count,
                    step->items == 1};
    const size_t length = scan->length ? scan->length : frame->run->length;
    eg__frame inner = *frame;
    eg_status status = EG_OK;
    for (size_t t = 0; t < length && !status; t++) {
        if (eg__run_stopped(frame->run)) return eg__fail(frame->error, EG_ERR_STOPPED, "stopped");
        inner.time = scan->reverse ? length - 1 - t : t;
        status = frame->ring ? record_body(&b, &inner) : run_body(&b, &inner);
    }
    return status;
}
