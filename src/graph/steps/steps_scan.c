/* A scan: the steps of its body, once for every time step. */
#include "graph/steps/program.h"

typedef struct body {
    const eg__step *steps;
    uint32_t first, count;
    bool whole; /* a body that is not cut: every step takes all its items */
} body;

static void run_body(const body *b, eg__frame *inner) {
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        eg__step_one(&b->steps[i], inner);
    }
}

/* The end of a step is the beginning of the next: one reading of the clock for each. */
static void record_body(const body *b, eg__frame *inner) {
    eg__ring *ring = inner->ring;
    const uint64_t run = inner->run->record->run;
    uint64_t begin = eg__ticks();
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        eg__step_one(&b->steps[i], inner);
        const uint64_t end = eg__ticks();
        eg__ring_add(ring, begin, end, b->first + i, (uint32_t)inner->time, 1, run);
        begin = end;
    }
}

void eg__run_scan(const eg__step *step, const eg__frame *frame) {
    const eg__step_scan *scan = &step->u.scan;
    const body b = {frame->run->program->steps + scan->first, scan->first, scan->count,
                    step->items == 1};
    const size_t length = scan->length ? scan->length : frame->run->length;
    eg__frame inner = *frame;
    for (size_t t = 0; t < length; t++) {
        inner.time = scan->reverse ? length - 1 - t : t;
        if (frame->ring) record_body(&b, &inner);
        else run_body(&b, &inner);
    }
}
