/* Synapses and their gradients as statements of C. */
#include "export/c.h"

/* Samples that it takes; the gradient by parameters is a sum over all of them. */
static size_t batch_of(const eg__c_export *x, const eg__step *step, size_t rows) {
    const eg__step_synapses *s = &step->u.synapses;
    return step->kind == EG__STEP_synapses_dp ? eg__c_timed(x, s->batch, s->batch_timed) : rows;
}

static size_t span(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                   unsigned i) {
    const eg__step_synapses *s = &step->u.synapses;
    const size_t stride = step->operand[i].stride,
                 rows = batch_of(x, step, frame->count * step->rows);
    if (i == 0) return eg__c_rows(rows, stride, s->sources);
    if (i == 7) return eg__c_rows(rows, stride, 2 * s->targets);
    if (i < 6) return s->count;
    return step->kind == EG__STEP_synapses_dp ? 4 * s->count
                                              : eg__c_rows(rows, stride, step->columns);
}

/* v, the four parameters, ends, the result, and for gradients d */
static void write_step(eg__c_writing *w) {
    const eg__step_synapses *s = &w->step->u.synapses;
    const eg__operand *o = w->step->operand;
    char at[8][EG__C_TEXT];
    for (unsigned i = 0; i < w->step->operands; i++)
        eg__c_pointer(w->x, w->step, w->frame, i, at[i]);
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %zu, %s, %zu, %s, %s, %s,", eg__c_function_of(w->step),
               batch_of(w->x, w->step, w->rows), s->sources, s->targets, s->count, at[0],
               o[0].stride, at[1], at[2], at[3]);
    if (w->step->operands == 8)
        eg__c_line(w->x, "    %s, %s, %s, %zu, %s, %zu);", at[4], at[5], at[6], o[6].stride, at[7],
                   o[7].stride);
    else eg__c_line(w->x, "    %s, %s, %s, %zu);", at[4], at[5], at[6], o[6].stride);
}

static bool is_ends(const eg__c_export *x, const eg__step *step, unsigned i) {
    (void)x, (void)step;
    return i == 5;
}

const eg__c_step eg__c_step_synapses = {
    .function = {.name = "synapses"}, .span = span, .write = write_step, .is_index = is_ends};
const eg__c_step eg__c_step_synapses_dv = {
    .function = {.name = "synapses_dv"}, .span = span, .write = write_step, .is_index = is_ends};
const eg__c_step eg__c_step_synapses_dp = {
    .function = {.name = "synapses_dp"}, .span = span, .write = write_step, .is_index = is_ends};

/* ---- functions */
static const eg__c_function functions[] = {
    {"synapses",
     "/* the ends of a synapse: its source in the lower half, its target in the upper one, below 0 = none;\n"
     " * sums of weight * sigmoid(slope * (v[source] - middle)), with and without the reversal */\n"
     "static void synapses(int batch, int sources, int targets, int count, const float *v, int stride,\n"
     "                     const float *weight, const float *middle, const float *slope,\n"
     "                     const float *reversal, const void *ends, float *y, int y_stride) {\n"
     "    (void)sources;\n"
     "    for (int b = 0; b < batch; b++) {\n"
     "        float *to = y + b * y_stride;\n"
     "        memset(to, 0, 2 * (size_t)targets * sizeof *to);\n"
     "        for (int p = 0; p < count; p++) {\n"
     "            int32_t e;\n"
     "            memcpy(&e, (const int32_t *)ends + p, sizeof e);\n"
     "            const int s = e & 65535, t = e >> 16;\n"
     "            if (t < 0) continue;\n"
     "            const float a = weight[p] * sigmoid(slope[p] * (v[b * stride + s] - middle[p]));\n"
     "            to[t] += a * reversal[p];\n"
     "            to[targets + t] += a;\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"synapses_dv",
     "static void synapses_dv(int batch, int sources, int targets, int count, const float *v,\n"
     "                        int stride, const float *weight, const float *middle,\n"
     "                        const float *slope, const float *reversal, const void *ends,\n"
     "                        float *y, int y_stride, const float *d, int d_stride) {\n"
     "    for (int b = 0; b < batch; b++) {\n"
     "        memset(y + b * y_stride, 0, (size_t)sources * sizeof *y);\n"
     "        for (int p = 0; p < count; p++) {\n"
     "            int32_t e;\n"
     "            memcpy(&e, (const int32_t *)ends + p, sizeof e);\n"
     "            const int s = e & 65535, t = e >> 16;\n"
     "            if (t < 0) continue;\n"
     "            const float a = sigmoid(slope[p] * (v[b * stride + s] - middle[p]));\n"
     "            const float k = d[b * d_stride + t] * reversal[p] + d[b * d_stride + targets + t];\n"
     "            y[b * y_stride + s] += k * weight[p] * a * (1.0f - a) * slope[p];\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"synapses_dp",
     "static void synapses_dp(int batch, int sources, int targets, int count, const float *v,\n"
     "                        int stride, const float *weight, const float *middle,\n"
     "                        const float *slope, const float *reversal, const void *ends,\n"
     "                        float *y, int y_stride, const float *d, int d_stride) {\n"
     "    (void)sources, (void)y_stride;\n"
     "    memset(y, 0, 4 * (size_t)count * sizeof *y);\n"
     "    for (int p = 0; p < count; p++) {\n"
     "        int32_t e;\n"
     "        memcpy(&e, (const int32_t *)ends + p, sizeof e);\n"
     "        const int s = e & 65535, t = e >> 16;\n"
     "        for (int b = 0; t >= 0 && b < batch; b++) {\n"
     "            const float from = v[b * stride + s] - middle[p], c = d[b * d_stride + t];\n"
     "            const float a = sigmoid(slope[p] * from);\n"
     "            const float k = c * reversal[p] + d[b * d_stride + targets + t];\n"
     "            const float z = k * weight[p] * a * (1.0f - a);\n"
     "            y[p] += k * a;\n"
     "            y[count + p] -= z * slope[p];\n"
     "            y[2 * count + p] += z * from;\n"
     "            y[3 * count + p] += c * weight[p] * a;\n"
     "        }\n"
     "    }\n"
     "}\n"},
};
const eg__c_functions eg__c_functions_synapses = {functions, sizeof functions / sizeof *functions};
