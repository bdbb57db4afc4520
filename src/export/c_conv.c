/* Convolutions as statements of C. */
#include "export/c.h"

static size_t span(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                   unsigned i) {
    (void)x, (void)frame;
    const eg__conv_shape *s = &step->u.conv.shape;
    const size_t y = step->u.conv.samples * s->filters * eg__conv_positions(s);
    if (i == 0) return step->u.conv.samples * s->channels * eg__conv_plane(s);
    return (i == 1) == (step->kind == EG__STEP_conv_dw) ? y : s->filters * eg__conv_depth(s);
}

static void axis_text(const eg__conv_axis *a, char out[EG__C_TEXT]) {
    out[0] = 0;
    eg__c_add(out, "(const int[]){%zu, %zu, %zu, %zu, %zu, %zu, %td}", a->in, a->out, a->taps,
              a->stride, a->dilation, a->spread, a->before);
}

static void write_step(eg__c_writing *w) {
    const eg__conv_shape *s = &w->step->u.conv.shape;
    char down[EG__C_TEXT], across[EG__C_TEXT];
    axis_text(&s->axis[0], down);
    axis_text(&s->axis[1], across);
    eg__c_line(w->x, "conv(%d, %zu, %zu, %zu, %zu, %d, %s,", w->step->kind == EG__STEP_conv_dw,
               w->step->u.conv.samples, s->channels, s->filters, s->groups, s->flipped, down);
    eg__c_line(w->x, "     %s, %s, %s, %s);", across, w->at[0], w->at[1], w->at[2]);
}

const eg__c_step eg__c_step_conv = {
    .function = {.name = "conv"}, .span = span, .write = write_step};

/* ---- functions */
static const eg__c_function functions[] = {
    {"conv_at",
     "/* where in x tap k of result i is, -1 = nowhere; an axis is what conv says */\n"
     "static int conv_at(const int axis[7], int flipped, int i, int k) {\n"
     "    const int at = i * axis[3] + (flipped ? axis[2] - 1 - k : k) * axis[4] - axis[6];\n"
     "    return at < 0 || at % axis[5] || at / axis[5] >= axis[0] ? -1 : at / axis[5];\n"
     "}\n"},
    {"conv",
     "/* out = x convolved with the filters b or, by_filters, its gradient by those, b being that of the\n"
     " * result; axes are in, out, taps, stride, dilation, spread, before */\n"
     "static void conv(int by_filters, int samples, int channels, int filters, int groups, int flipped,\n"
     "                 const int down[7], const int across[7], const float *x, const float *b,\n"
     "                 float *out) {\n"
     "    const int deep = channels / groups, taps = down[2] * across[2], size = down[1] * across[1];\n"
     "    memset(out, 0, (size_t)filters * (by_filters ? deep * taps : samples * size) * sizeof *out);\n"
     "    for (int y = 0; y < samples * filters * size; y++) {\n"
     "        const int filter = y / size % filters, first = filter / (filters / groups) * deep;\n"
     "        for (int k = 0; k < deep * taps; k++) {\n"
     "            const int plane = y / size / filters * channels + first + k / taps;\n"
     "            const int row = conv_at(down, flipped, y % size / across[1], k % taps / across[2]);\n"
     "            const int column = conv_at(across, flipped, y % across[1], k % across[2]);\n"
     "            if (row < 0 || column < 0) continue;\n"
     "            const float value = x[(plane * down[0] + row) * across[0] + column];\n"
     "            if (by_filters) out[filter * deep * taps + k] += value * b[y];\n"
     "            else out[y] += value * b[filter * deep * taps + k];\n"
     "        }\n"
     "    }\n"
     "}\n"},
};
const eg__c_functions eg__c_functions_conv = {functions, sizeof functions / sizeof *functions};
