/* The steps of a program as statements of C: the rows of steps.def, and the loops around them. */
#include "export/c.h"

const eg__c_step eg__c_step_none = {0};

const eg__c_step *eg__c_row(const eg__step *step) {
    static const eg__c_step *const rows[EG__STEP_COUNT] = {
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, ...) &eg__c_step_##c,
#include "graph/steps/steps.def"
    };
    return rows[step->kind];
}

static void write_step(eg__c_export *x, const eg__step *step, const eg__c_frame *frame) {
    eg__c_writing w = {.x = x, .step = step, .frame = frame, .rows = frame->count * step->rows};
    for (unsigned i = 0; i < step->operands && i < 3; i++)
        if (!eg__c_literal(x, step, frame, i)) eg__c_pointer(x, step, frame, i, w.at[i]);
    eg__c_row(step)->write(&w);
}

/* ---- scans */
static void write_scan(eg__c_writing *w) {
    eg__c_export *x = w->x;
    const eg__step *scan = w->step;
    const eg__step *body = x->program->steps + scan->u.scan.first;
    const size_t length = scan->u.scan.length ? scan->u.scan.length : x->program->length;
    if (scan->u.scan.reverse) eg__c_open(x, "for (int t = %zu; t >= 0; t--)", length - 1);
    else eg__c_open(x, "for (int t = 0; t < %zu; t++)", length);
    for (uint32_t i = 0; i < scan->u.scan.count && !x->status; i++) {
        const eg__c_frame frame = eg__c_body_frame(x, scan, &body[i]);
        write_step(x, &body[i], &frame);
    }
    eg__c_close(x);
}

static size_t span_nothing(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                           unsigned i) {
    (void)x, (void)step, (void)frame, (void)i;
    return 0;
}
const eg__c_step eg__c_step_scan = {.span = span_nothing, .write = write_scan};

void eg__c_write_steps(eg__c_export *x) {
    const eg_program *p = x->program;
    for (size_t i = 0; i < p->main_count && !x->status; i++) {
        const eg__c_frame frame = {eg__step_items(&p->steps[i], p->length), 0};
        write_step(x, &p->steps[i], &frame);
    }
}
