/* Steps that move values as statements of C. */
#include "export/c.h"

static size_t span_copy(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                        unsigned i) {
    (void)x;
    const eg__step_copy *c = &step->u.copy;
    size_t span = 1;
    for (unsigned axis = 0; axis < c->rank; axis++)
        span += ((axis ? c->shape[axis] : frame->count) - 1) * (i ? c->to[axis] : c->from[axis]);
    if (i && c->every) span += (c->length - 1) / c->every * c->place;
    return span;
}

static size_t span_gather(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                          unsigned i) {
    const size_t stride = step->operand[i].stride, rows = frame->count * step->rows;
    (void)x;
    if (i == 1) return eg__c_rows(rows, stride, 1);
    return eg__c_rows(i ? rows : step->u.gather.limit, stride, step->columns);
}
static size_t span_scatter(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                           unsigned i) {
    const size_t stride = step->operand[i].stride, rows = frame->count * step->rows;
    (void)x;
    if (i == 1) return eg__c_rows(rows, stride, 1);
    return eg__c_rows(i ? step->u.gather.limit : rows, stride, step->columns);
}

/* The operand whose row is known when it runs may be touched anywhere. */
static size_t span_place_or_take(const eg__step *step, unsigned i, unsigned anywhere) {
    const size_t more = i == anywhere ? step->u.slice_update.limit : 0;
    return i == 1 ? 1 : (step->rows + more) * step->columns;
}
static size_t span_place(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                         unsigned i) {
    (void)x, (void)frame;
    return span_place_or_take(step, i, 2);
}
static size_t span_take(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                        unsigned i) {
    (void)x, (void)frame;
    return span_place_or_take(step, i, 0);
}

static void add_term(char out[EG__C_TEXT], char variable, size_t stride) {
    if (stride == 1) eg__c_add(out, " + %c", variable);
    else if (stride) eg__c_add(out, " + %c * %zu", variable, stride);
}

/* Loops over the axes; the last is one piece of memory where it can be. */
static void write_copy(eg__c_writing *w) {
    const eg__step_copy *c = &w->step->u.copy;
    eg__c_export *x = w->x;
    const unsigned outer = x->indent;
    size_t piece = 1;
    unsigned axes = c->rank;
    while (axes && (axes == 1 ? w->frame->count : c->shape[axes - 1]) == 1) axes--;
    if (axes && c->from[axes - 1] == 1 && c->to[axes - 1] == 1) {
        axes--;
        piece = axes ? c->shape[axes] : w->frame->count;
    }
    if (c->every) {
        if (c->reverse) eg__c_add(w->at[1], " + (%zu - t)", c->length - 1);
        else eg__c_add(w->at[1], " + t");
        eg__c_add(w->at[1], " / %zu * %zu", c->every, c->place);
    }
    for (unsigned axis = 0; axis < axes; axis++) {
        const size_t extent = axis ? c->shape[axis] : w->frame->count;
        const char variable = "ijklmn"[axis];
        if (extent == 1) continue;
        eg__c_line(x, "for (int %c = 0; %c < %zu; %c++)", variable, variable, extent, variable);
        x->indent++;
        add_term(w->at[0], variable, c->from[axis]);
        add_term(w->at[1], variable, c->to[axis]);
    }
    /* what may be an integer is never seen as a float */
    const bool floats = x->program->graph->nodes[w->step->node].type == EG_F32;
    if (piece == 1 && floats) eg__c_line(x, "*(%s) = *(%s);", w->at[1], w->at[0]);
    else if (piece == 1) eg__c_line(x, "memcpy(%s, %s, sizeof(float));", w->at[1], w->at[0]);
    else eg__c_line(x, "memcpy(%s, %s, %zu * sizeof(float));", w->at[1], w->at[0], piece);
    x->indent = outer;
}

static const char *gather_of(const eg__step *step) {
    return step->u.gather.columns ? "gather_ends" : "gather";
}
static const char *scatter_of(const eg__step *step) {
    return step->u.gather.columns ? "scatter_ends" : "scatter";
}
static void write_gather(eg__c_writing *w) {
    const size_t columns = w->step->u.gather.columns;
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %s, %zu, %s, %s, %zu);", eg__c_function_of(w->step),
               w->rows, columns ? columns : w->step->columns, w->step->u.gather.limit, w->at[0],
               w->step->operand[0].stride, w->at[1], w->at[2], w->step->operand[2].stride);
}

static void write_place(eg__c_writing *w) {
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %s, %s, %s);", eg__c_function_of(w->step), w->step->rows,
               w->step->columns, w->step->u.slice_update.limit, w->at[0], w->at[1], w->at[2]);
}

static bool copies_integers(const eg__c_export *x, const eg__step *step, unsigned i) {
    (void)i;
    return x->program->graph->nodes[step->node].type == EG_I32;
}
static bool is_second(const eg__c_export *x, const eg__step *step, unsigned i) {
    (void)x, (void)step;
    return i == 1;
}

const eg__c_step eg__c_step_copy = {
    .span = span_copy, .write = write_copy, .is_index = copies_integers};
const eg__c_step eg__c_step_gather = {
    .function_of = gather_of, .span = span_gather, .write = write_gather, .is_index = is_second};
const eg__c_step eg__c_step_scatter = {
    .function_of = scatter_of, .span = span_scatter, .write = write_gather, .is_index = is_second};
const eg__c_step eg__c_step_slice_update = {
    .function = {.name = "place"}, .span = span_place, .write = write_place, .is_index = is_second};
const eg__c_step eg__c_step_slice_at = {
    .function = {.name = "take"}, .span = span_take, .write = write_place, .is_index = is_second};

/* ---- functions */
static const eg__c_function functions[] = {
    {"gather",
     "/* rows of x that the index names; zeros where there is no such row */\n"
     "static void gather(int rows, int n, int limit, const float *x, int x_stride, const void *index,\n"
     "                   float *y, int y_stride) {\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        int32_t at;\n"
     "        memcpy(&at, (const int32_t *)index + r, sizeof at);\n"
     "        if (at >= 0 && at < limit)\n"
     "            memcpy(y + r * y_stride, x + at * x_stride, (size_t)n * sizeof *y);\n"
     "        else memset(y + r * y_stride, 0, (size_t)n * sizeof *y);\n"
     "    }\n"
     "}\n"},
    {"place",
     "static void place(int rows, int n, int limit, const float *x, const void *row, float *y) {\n"
     "    int32_t at;\n"
     "    memcpy(&at, row, sizeof at);\n"
     "    at = at < 0 ? 0 : at > limit ? limit : at;\n"
     "    memcpy(y + at * n, x, (size_t)rows * (size_t)n * sizeof *y);\n"
     "}\n"},
    {"take",
     "static void take(int rows, int n, int limit, const float *x, const void *row, float *y) {\n"
     "    int32_t at;\n"
     "    memcpy(&at, row, sizeof at);\n"
     "    at = at < 0 ? 0 : at > limit ? limit : at;\n"
     "    memcpy(y, x + at * n, (size_t)rows * (size_t)n * sizeof *y);\n"
     "}\n"},
    {"scatter",
     "static void scatter(int rows, int n, int limit, const float *x, int x_stride,\n"
     "                    const void *index, float *y, int y_stride) {\n"
     "    for (int r = 0; r < limit; r++) memset(y + r * y_stride, 0, (size_t)n * sizeof *y);\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        int32_t at;\n"
     "        memcpy(&at, (const int32_t *)index + r, sizeof at);\n"
     "        if (at < 0 || at >= limit) continue;\n"
     "        for (int i = 0; i < n; i++) y[at * y_stride + i] += x[r * x_stride + i];\n"
     "    }\n"
     "}\n"},
    {"gather_ends",
     "/* elements of a matrix: the source is a row, the target a column */\n"
     "static void gather_ends(int count, int columns, int limit, const float *x, int x_stride,\n"
     "                        const void *ends, float *y, int y_stride) {\n"
     "    for (int p = 0; p < count; p++) {\n"
     "        int32_t e;\n"
     "        memcpy(&e, (const int32_t *)ends + p, sizeof e);\n"
     "        const int32_t at = e < 0 ? -1 : (e & 65535) * columns + (e >> 16);\n"
     "        y[p * y_stride] = at >= 0 && at < limit ? x[at * x_stride] : 0.0f;\n"
     "    }\n"
     "}\n"},
    {"scatter_ends",
     "static void scatter_ends(int count, int columns, int limit, const float *x, int x_stride,\n"
     "                         const void *ends, float *y, int y_stride) {\n"
     "    for (int r = 0; r < limit; r++) y[r * y_stride] = 0.0f;\n"
     "    for (int p = 0; p < count; p++) {\n"
     "        int32_t e;\n"
     "        memcpy(&e, (const int32_t *)ends + p, sizeof e);\n"
     "        const int32_t at = e < 0 ? -1 : (e & 65535) * columns + (e >> 16);\n"
     "        if (at >= 0 && at < limit) y[at * y_stride] += x[p * x_stride];\n"
     "    }\n"
     "}\n"},
};
const eg__c_functions eg__c_functions_moves = {functions, sizeof functions / sizeof *functions};
