/* The kinds of steps: steps.def as a table, and the scratch and shape functions that it names. */
#include "graph/steps/program.h"

_Static_assert(EG__OP_COUNT <= UINT8_MAX, "operations of kernels fit their fields");

/* ---- scratch in floats per thread, as the first kernel needs it */
#define scratch_none   NULL
#define scratch_slices eg__step_scratch_slices

static size_t kernel_floats(const eg__kernel *kernel, const eg__kernel_shape *shape) {
    return eg__ceil_div(eg__kernel_scratch(kernel, shape), sizeof(float));
}
static size_t floats_of(const eg__step *step, const eg__kernel_shape *shape) {
    return kernel_floats(step->kernel[0], shape);
}
static size_t scratch_gemm(const eg__step *step, size_t length) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t items = g->products ? 1 : eg__step_items(step, length);
    return floats_of(step, &(eg__kernel_shape){.m = items * step->rows,
                                               .n = g->n,
                                               .k = g->k_timed ? g->k * length : g->k,
                                               .blocks = step->blocks});
}
static size_t scratch_gemm_halves(const eg__step *step, size_t length) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t k = g->k_timed ? g->k * length : g->k;
    return scratch_gemm(step, length) + eg__halves_band_floats(2 * eg__gemm_pairs(k));
}
static size_t scratch_gemm_quantized(const eg__step *step, size_t length) {
    const eg__step_gemm *g = &step->u.gemm;
    return floats_of(step, &(eg__kernel_shape){.m = eg__step_items(step, length) * step->rows,
                                               .n = g->n,
                                               .k = g->k,
                                               .type = g->quantized.type,
                                               .groups = g->quantized.groups});
}
static size_t scratch_gemm_infile(const eg__step *step, size_t length) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t items = g->chunk ? 1 : eg__step_items(step, length);
    return floats_of(
        step, &(eg__kernel_shape){
                  .m = items * step->rows, .n = g->n, .k = g->k, .format = g->infile.format});
}
static size_t scratch_synapses(const eg__step *step, size_t length) {
    (void)length;
    return floats_of(
        step, &(eg__kernel_shape){.n = step->u.synapses.targets, .k = step->u.synapses.sources});
}
static size_t scratch_attention(const eg__step *step, size_t length) {
    const eg__attention_f32_args *args = &step->u.attention.args;
    (void)length;
    return floats_of(step, &(eg__kernel_shape){.n = args->dv, .k = args->d});
}
static size_t scratch_attention_cached(const eg__step *step, size_t length) {
    const eg__attention_f32_args *args = &step->u.attention_cached.args.f32;
    (void)length;
    return floats_of(step, &(eg__kernel_shape){.n = args->dv, .k = args->d});
}
static size_t scratch_rotary(const eg__step *step, size_t length) {
    (void)length;
    return floats_of(step, &(eg__kernel_shape){.k = step->u.rotary.d});
}
/* The scratch is for the largest of several kernels, then what the second, a product, needs. */
static size_t scratch_conv(const eg__step *step, size_t length) {
    const eg__conv_shape *s = &step->u.conv.shape;
    (void)length;
    const eg__kernel_shape product = {.m = s->filters / s->groups,
                                      .n = eg__conv_block(s),
                                      .k = eg__conv_depth(s),
                                      .blocks = step->blocks};
    return eg__conv_scratch(s) + kernel_floats(step->kernel[1], &product);
}
static size_t scratch_conv_dw(const eg__step *step, size_t length) {
    const eg__conv_shape *s = &step->u.conv.shape;
    (void)length;
    const eg__conv_dw_cut cut = eg__conv_dw_cut_of(s);
    const eg__kernel_shape product = {.m = cut.channels * eg__conv_taps(s),
                                      .n = cut.filters,
                                      .k = cut.block,
                                      .blocks = step->blocks};
    return eg__conv_dw_scratch(s) + kernel_floats(step->kernel[1], &product);
}

/* ---- shapes; rows and columns are set from the items by default */
static void shape_rows(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)step, (void)length, (void)out;
}
static void shape_fused(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)length;
    out->program = &step->u.fused.program;
    if (!step->u.fused.flat) return;
    out->rows = 1;
    out->columns = step->u.fused.flat;
}
static void shape_product(const eg__step *step, size_t length, eg__step_shape *out) {
    const eg__step_gemm *g = &step->u.gemm;
    out->depth = g->k_timed ? g->k * length : g->k;
    if (g->products) out->rows *= g->products;
    if (g->chunk) out->rows = step->rows;
    if (g->has_epilogue) out->program = &g->epilogue;
}
static void shape_pack(const eg__step *step, size_t length, eg__step_shape *out) {
    const eg__step_pack *pack = &step->u.pack;
    out->rows = pack->k_timed ? pack->k * length : pack->k;
}
static void shape_synapses_dp(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)step, (void)length;
    out->rows = 4; /* weight, middle, slope, reversal */
}
static void shape_attention(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)length;
    out->rows = step->u.attention.samples * step->u.attention.args.queries;
}
static void shape_attention_dkv(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)length;
    out->rows = step->u.attention.samples * step->u.attention.args.keys;
}
static void shape_attention_cached(const eg__step *step, size_t length, eg__step_shape *out) {
    (void)length;
    out->rows = step->u.attention_cached.samples * step->u.attention_cached.args.f32.queries;
}
static void shape_conv(const eg__step *step, size_t length, eg__step_shape *out) {
    const eg__conv_shape *s = &step->u.conv.shape;
    (void)length;
    out->rows = step->u.conv.samples * s->filters;
    out->depth = eg__conv_depth(s);
}
static void shape_conv_dw(const eg__step *step, size_t length, eg__step_shape *out) {
    const eg__conv_shape *s = &step->u.conv.shape;
    (void)length;
    out->rows = s->filters;
    out->depth = step->u.conv.samples * eg__conv_positions(s);
}
static void shape_scan(const eg__step *step, size_t length, eg__step_shape *out) {
    out->columns = step->u.scan.length ? step->u.scan.length : length;
}

/* ---- the table */
const eg__step_kind eg__step_kinds[EG__STEP_COUNT] = {
#define NO EG__OP_COUNT
#define KERNELS0 \
    { NO, NO, NO, NO }
#define KERNELS1(a) \
    { EG__OP_##a, NO, NO, NO }
#define KERNELS2(a, b) \
    { EG__OP_##a, EG__OP_##b, NO, NO }
#define KERNELS3(a, b, c) \
    { EG__OP_##a, EG__OP_##b, EG__OP_##c, NO }
#define KERNELS4(a, b, c, d) \
    { EG__OP_##a, EG__OP_##b, EG__OP_##c, EG__OP_##d }
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, accesses, kernels) \
    {label,         eg__run_##kind,    EG_WORK_##work, EG_WORK_##one,   EG_STEP_##traits,     \
     EG__CUT_##cut, scratch_##scratch, shape_##shape,  eg__cost_##cost, kernels},
#include "graph/steps/steps.def"
};

eg_status eg__run_entered(const eg__step *step, const eg__frame *frame) {
    unsigned i = 0;
    while (!step->kernel[i] || !step->kernel[i]->enter) i++;
    eg__kernel_enter(step->kernel[i]);
    const eg_status status = eg__step_kind_of(step)->run(step, frame);
    eg__kernel_leave(step->kernel[i]);
    return status;
}

/* A piece made at run time (eg__pack_piece) is not among the program's steps. */
void eg__step_failed(const struct eg_program *program, const eg__step *step, eg_status status,
                     eg_error *error) {
    const eg_error reason = *error;
    const char *text = reason.message[0] ? reason.message : eg_status_text(status);
    const uintptr_t at = (uintptr_t)step - (uintptr_t)program->steps;
    if (at < program->step_count * sizeof *step)
        eg__fail(error, status, "step %zu (%s): %s", (size_t)(at / sizeof *step), step->name, text);
    else eg__fail(error, status, "step '%s': %s", step->name, text);
}

size_t eg__step_scratch(const eg__step *step, size_t length) {
    eg__step_scratch_function *scratch = eg__step_kind_of(step)->scratch;
    return scratch ? scratch(step, length) : 0;
}

eg__step_shape eg__step_shape_of(const eg__step *step, size_t length) {
    eg__step_shape shape = {.rows = eg__step_items(step, length) * step->rows,
                            .columns = step->columns};
    eg__step_kind_of(step)->shape(step, length, &shape);
    return shape;
}
