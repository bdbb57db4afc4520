/* The steps of a program as counts of work. */
#include "base/base.h"
#include "elegans/project.h"
#include "kernels/gemm.h"

#include <string.h>

/* What functions are worth: about the multiplications and additions of their polynomials and divisions.
 * Only their ratios matter; the fit finds what one of those takes. */
typedef struct function_row {
    const char *name;
    double flops;
} function_row;
static const function_row functions[] = {
    {"div", 6},          {"sqrt", 6},      {"rsqrt", 8},     {"exp", 14},         {"log", 18},
    {"tanh", 18},        {"sigmoid", 18},  {"softplus", 30}, {"erf", 24},         {"gelu", 28},
    {"silu", 19},        {"sin", 20},      {"cos", 20},      {"pow", 34},         {"add+tanh", 18},
    {"add+sigmoid", 18}, {"add+silu", 19}, {"fma+tanh", 18}, {"fma+sigmoid", 18}, {"round_f16", 12},
    {"round_bf16", 5}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Of one element of a fused program, by its text; *count is how many functions there are. */
static double functions_of(const char *text, double *count) {
    double sum = 0;
    *count = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        for (size_t i = 0; i < FUNCTIONS; i++)
            if (strlen(functions[i].name) == length &&
                memcmp(functions[i].name, text, length) == 0) {
                sum += functions[i].flops;
                ++*count;
            }
        text += length + strspn(text + length, " ");
    }
    return sum;
}

const char *eg_kind_name(eg_kind kind) {
    static const char *const names[] = {
#define EG_KIND_TEXT(name, text) text,
        EG_KIND_MAP(EG_KIND_TEXT)
#undef EG_KIND_TEXT
    };
    return (unsigned)kind < EG_KIND_COUNT ? names[kind] : NULL;
}

/* A product with rows as files have them. */
static bool is_stored(const eg_step_info *step) { return strncmp(step->kernel, "stored_", 7) == 0; }

static eg_kind kind_of(const eg_step_info *step) {
    static const struct {
        const char *kernel;
        eg_kind kind;
    } kinds[] = {{"gemm", EG_KIND_GEMM},
                 {"fused", EG_KIND_FUSED},
                 {"dropout", EG_KIND_FUSED},
                 {"rotary", EG_KIND_FUSED},
                 {"attention", EG_KIND_GEMM},
                 {"attention_dq", EG_KIND_GEMM},
                 {"attention_dkv", EG_KIND_GEMM},
                 {"attention_cached", EG_KIND_GEMM},
                 {"conv", EG_KIND_GEMM},
                 {"conv_dw", EG_KIND_GEMM},
                 {"synapses", EG_KIND_SYNAPSES},
                 {"synapses_dv", EG_KIND_SYNAPSES},
                 {"synapses_dp", EG_KIND_SYNAPSES},
                 {"reduce", EG_KIND_SUMS},
                 {"column_sum", EG_KIND_SUMS},
                 {"argmax", EG_KIND_SUMS},
                 {"softmax", EG_KIND_NORMS},
                 {"layer_norm", EG_KIND_NORMS},
                 {"rms_norm", EG_KIND_NORMS},
                 {"scan", EG_KIND_SCAN}};
    if (strncmp(step->kernel, "gemm_", 5) == 0 || is_stored(step)) /* with small numbers */
        return step->rows == 1 ? EG_KIND_GEMV : EG_KIND_GEMM;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kernel, step->kernel) != 0) continue;
        if (step->rows == 1 && kinds[i].kind == EG_KIND_GEMM) return EG_KIND_GEMV;
        if (step->rows == 1 && strcmp(step->kernel, "synapses") == 0) return EG_KIND_SYNAPSES_ONE;
        return kinds[i].kind;
    }
    return EG_KIND_MOVE;
}

static void split(const eg_step_info *step, eg_step_cost *cost) {
    if (strncmp(step->kernel, "attention", 9) == 0 || strncmp(step->kernel, "conv", 4) == 0) {
        /* products, nearly all of it */
        cost->product = step->flops;
        return;
    }
    const double elements = (double)step->rows * (double)step->columns,
                 padded = (double)eg__round_up((size_t)step->columns, EG__PANEL);
    double rest = step->flops, count;
    if (cost->kind == EG_KIND_GEMM || cost->kind == EG_KIND_GEMV) {
        const double depth = (double)step->depth;
        cost->product =
            2 * depth * (double)step->rows * (is_stored(step) ? (double)step->columns : padded);
        rest -= 2 * depth * elements;
    }
    cost->functions = elements * functions_of(step->text, &count);
    cost->simple = rest - elements * count;
    if (cost->simple < 0) cost->simple = 0;
    /* those that have no text: random numbers, and an exponential of each element */
    if (strcmp(step->kernel, "dropout") == 0) cost->functions = elements * 20;
    if (strcmp(step->kernel, "softmax") == 0) cost->functions = elements * 14;
    if (cost->kind == EG_KIND_SYNAPSES || cost->kind == EG_KIND_SYNAPSES_ONE)
        cost->functions = elements;                         /* sums to keep */
    if (cost->kind == EG_KIND_SYNAPSES && step->rows > 1) { /* lanes are samples */
        const double lanes = (double)eg__round_up((size_t)step->rows, EG__PANEL);
        cost->simple *= lanes / (double)step->rows;
        cost->functions *= lanes / (double)step->rows;
    }
    if (step->rows > 1 && (cost->kind == EG_KIND_FUSED || cost->kind == EG_KIND_NORMS)) {
        cost->simple *= padded / (double)step->columns;
        cost->functions *= padded / (double)step->columns;
    }
}

static void cost_of(const eg_step_info *step, double calls, eg_step_cost *out) {
    *out = (eg_step_cost){.kind = kind_of(step),
                          .kernel = step->kernel,
                          .calls = calls,
                          .flops = step->flops,
                          .bytes = step->bytes,
                          .rows = (double)step->rows};
    if (out->kind == EG_KIND_SCAN) { /* its steps come one by one */
        out->flops = out->bytes = 0;
        out->rows = (double)step->columns;
    } else split(step, out);
}

/* What lies between two calls of the same step: everything that its neighbours touch. */
static void footprints(eg_step_cost *first, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += first[i].bytes;
    for (size_t i = 0; i < count; i++) first[i].footprint = sum;
}

eg_status eg_program_costs(const eg_program *program, eg_step_cost *out, size_t *count,
                           eg_error *error) {
    if (!program || !out || !count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no program or no place for its costs");
    eg_program_info info;
    eg_step_info step, inner;
    eg_program_info_get(program, &info);
    *count = info.run_steps;
    for (size_t i = 0; i < info.run_steps; i++) {
        eg_status status = eg_program_step(program, i, &step, error);
        if (status) return status;
        cost_of(&step, 1, &out[i]);
        for (uint64_t k = 0; k < step.body_steps; k++) {
            status = eg_program_step(program, (size_t)(step.body + k), &inner, error);
            if (status) return status;
            cost_of(&inner, (double)step.columns, &out[*count + k]);
            out[*count + k].in_scan = 1;
        }
        footprints(out + *count, (size_t)step.body_steps);
        *count += (size_t)step.body_steps;
    }
    footprints(out, info.run_steps);
    return EG_OK;
}
