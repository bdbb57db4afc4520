/* The cost of steps, as counts of work: the rules that steps.def names. */
#include "graph/steps/program.h"
#include "kernels/gemm/gemm.h"

const char *eg_work_name(eg_work work) {
    static const char *const names[] = {
#define EG_WORK_TEXT(name, text) text,
        EG_WORK_MAP(EG_WORK_TEXT)
#undef EG_WORK_TEXT
    };
    return (unsigned)work < EG_WORK_COUNT ? names[work] : NULL;
}

/* ---- the rules: product, simple and functions of a step whose flops, bytes and rows are set */
static double elements_of(const eg__step_shape *s) { return (double)s->rows * (double)s->columns; }
static double filled_up(size_t n) { return (double)eg__round_up(n, EG__PANEL); }

/* Splits the FLOPs of an elementwise chain into functions and simple operations. */
static void add_chain(const eg__step_shape *s, double flops, eg_step_cost *cost) {
    double functions = 0, count = 0;
    for (unsigned i = 0; s->program && i < s->program->length; i++) {
        const unsigned each = eg__fused_op_flops(s->program->code[i].op);
        functions += each;
        count += each > 0;
    }
    cost->functions = elements_of(s) * functions;
    cost->simple = flops - elements_of(s) * count;
    if (cost->simple < 0) cost->simple = 0;
}

/* Rows are padded to whole vectors if there are several. */
static void fill_rows(const eg__step_shape *s, eg_step_cost *cost) {
    if (s->rows <= 1) return;
    cost->simple *= filled_up(s->columns) / (double)s->columns;
    cost->functions *= filled_up(s->columns) / (double)s->columns;
}

void eg__cost_plain(const eg__step_shape *s, eg_step_cost *cost) {
    (void)s;
    cost->simple = cost->flops;
}
/* The cores only copy. */
void eg__cost_device(const eg__step_shape *s, eg_step_cost *cost) {
    (void)s;
    cost->flops = 0;
}
void eg__cost_rows(const eg__step_shape *s, eg_step_cost *cost) {
    eg__cost_plain(s, cost);
    fill_rows(s, cost);
}
void eg__cost_fused(const eg__step_shape *s, eg_step_cost *cost) {
    add_chain(s, cost->flops, cost);
    fill_rows(s, cost);
}
void eg__cost_dropout(const eg__step_shape *s, eg_step_cost *cost) {
    cost->simple = cost->flops;
    cost->functions = elements_of(s) * 20; /* random numbers */
    fill_rows(s, cost);
}
void eg__cost_softmax(const eg__step_shape *s, eg_step_cost *cost) {
    cost->simple = cost->flops;
    cost->functions = elements_of(s) * eg__fused_op_flops(EG__FUSED_EXP);
    fill_rows(s, cost);
}

static void product_of(const eg__step_shape *s, double columns, eg_step_cost *cost) {
    const double depth = 2 * (double)s->depth;
    cost->product = depth * (double)s->rows * columns;
    add_chain(s, cost->flops - depth * elements_of(s), cost);
}
void eg__cost_product(const eg__step_shape *s, eg_step_cost *cost) {
    product_of(s, filled_up(s->columns), cost);
}
/* Row-major right sides are not packed in panels. */
void eg__cost_product_of_rows(const eg__step_shape *s, eg_step_cost *cost) {
    product_of(s, (double)s->columns, cost);
}
/* Nearly all FLOPs of attention and convolutions are products. */
void eg__cost_products(const eg__step_shape *s, eg_step_cost *cost) {
    (void)s;
    cost->product = cost->flops;
}
void eg__cost_synapses(const eg__step_shape *s, eg_step_cost *cost) {
    cost->simple = cost->flops;
    cost->functions = elements_of(s); /* sums to keep */
    if (s->rows <= 1) return;
    cost->simple *= filled_up(s->rows) / (double)s->rows; /* lanes are samples */
    cost->functions *= filled_up(s->rows) / (double)s->rows;
}
/* Its body's steps are counted one by one. */
void eg__cost_scan(const eg__step_shape *s, eg_step_cost *cost) {
    cost->flops = cost->bytes = 0;
    cost->rows = (double)s->columns;
}

/* ---- programs */
/* What one call of it costs; the shape is what eg__step_shape_of says. */
static void cost_of(const eg__step *step, const eg__step_shape *shape, eg_step_cost *out) {
    *out = (eg_step_cost){.work = eg__step_work(step, shape),
                          .traits = step->traits,
                          .calls = 1,
                          .flops = step->flops,
                          .bytes = step->bytes,
                          .rows = (double)shape->rows};
    eg__step_kind_of(step)->cost(shape, out);
}

/* The bytes that other steps touch between two calls of the same step. */
static void footprints(eg_step_cost *first, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += first[i].bytes;
    for (size_t i = 0; i < count; i++) first[i].footprint = sum;
}

eg_status eg_program_costs(const eg_program *program, eg_step_cost *out, size_t *count,
                           eg_error *error) {
    if (!program || !out || !count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no program or no memory for its costs");
    const size_t length = eg__max(program->length, 1);
    *count = program->main_count;
    for (size_t i = 0; i < program->main_count; i++) {
        const eg__step *step = &program->steps[i];
        const eg__step_shape shape = eg__step_shape_of(step, length);
        cost_of(step, &shape, &out[i]);
        const eg__step_scan *scan = eg__step_body(step);
        if (!scan) continue;
        for (uint32_t k = 0; k < scan->count; k++) {
            const eg__step *inner = &program->steps[scan->first + k];
            const eg__step_shape one = eg__step_shape_of(inner, length);
            eg_step_cost *cost = &out[*count + k];
            cost_of(inner, &one, cost);
            cost->calls = (double)shape.columns;
            cost->in_scan = 1;
        }
        footprints(out + *count, scan->count);
        *count += scan->count;
    }
    footprints(out, program->main_count);
    return EG_OK;
}
