/* Steps that work row by row as statements of C: reductions, softmax, norms. */
#include "export/c.h"

static size_t span_rows(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                        unsigned i) {
    (void)x;
    return eg__c_rows(frame->count * step->rows, step->operand[i].stride, step->columns);
}
static size_t span_reduce(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                          unsigned i) {
    const size_t rows = frame->count * step->rows;
    if (i) return rows;
    return eg__c_rows(rows, step->operand[0].stride,
                      eg__c_timed(x, step->columns, step->u.row.height_timed));
}
static size_t span_column_sum(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                              unsigned i) {
    const size_t rows = frame->count * step->rows;
    if (i) return rows * step->columns;
    return eg__c_rows(rows * eg__c_timed(x, step->u.row.height, step->u.row.height_timed),
                      step->operand[0].stride, step->columns);
}

static const char *reduce_function(const eg__step *step) {
    static const char *const reductions[] = {[EG__REDUCE_SUM] = "row_sum",
                                             [EG__REDUCE_MEAN] = "row_mean",
                                             [EG__REDUCE_MAX] = "row_largest",
                                             [EG__REDUCE_MIN] = "row_least"};
    return reductions[step->u.row.reduction];
}
static const char *column_function(const eg__step *step) {
    return step->u.row.reduction == EG__REDUCE_MEAN ? "column_mean" : "column_sum";
}
static const char *softmax_function(const eg__step *step) {
    return step->u.row.logarithm ? "log_softmax" : "softmax";
}

static void write_reduce(eg__c_writing *w) {
    const eg__step *step = w->step;
    eg__c_line(w->x, "%s(%zu, %zu, %s, %zu, %s);", eg__c_function_of(step), w->rows,
               eg__c_timed(w->x, step->columns, step->u.row.height_timed), w->at[0],
               step->operand[0].stride, w->at[1]);
}
static void write_column_sum(eg__c_writing *w) {
    const eg__step_rows *r = &w->step->u.row;
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %s, %zu, %s);", eg__c_function_of(w->step), w->rows,
               eg__c_timed(w->x, r->height, r->height_timed), w->step->columns, w->at[0],
               w->step->operand[0].stride, w->at[1]);
}
static void write_softmax(eg__c_writing *w) {
    const eg__operand *o = w->step->operand;
    eg__c_line(w->x, "%s(%zu, %zu, %s, %zu, %s, %zu);", eg__c_function_of(w->step), w->rows,
               w->step->columns, w->at[0], o[0].stride, w->at[1], o[1].stride);
}
static void write_norm(eg__c_writing *w) {
    const eg__operand *o = w->step->operand;
    char number[32];
    eg__c_line(w->x, "%s(%zu, %zu, %s, %s, %zu, %s, %zu);", eg__c_function_of(w->step), w->rows,
               w->step->columns, eg__c_number(w->step->u.row.number, number), w->at[0], o[0].stride,
               w->at[1], o[1].stride);
}

const eg__c_step eg__c_step_reduce = {
    .function_of = reduce_function, .span = span_reduce, .write = write_reduce};
const eg__c_step eg__c_step_argmax = {
    .function = {.name = "argmax"}, .span = span_reduce, .write = write_reduce};
const eg__c_step eg__c_step_column_sum = {
    .function_of = column_function, .span = span_column_sum, .write = write_column_sum};
const eg__c_step eg__c_step_softmax = {
    .function_of = softmax_function, .span = span_rows, .write = write_softmax};
const eg__c_step eg__c_step_layer_norm = {
    .function = {.name = "norm"}, .span = span_rows, .write = write_norm};
const eg__c_step eg__c_step_rms_norm = {
    .function = {.name = "rms_norm"}, .span = span_rows, .write = write_norm};

/* ---- functions */
#define ROWS(x, y) \
    "    for (int r = 0; r < rows; r++) {\n        const float *" x " = x + r * x_stride;\n" y

static const eg__c_function functions[] = {
    {"row_sum",
     "static void row_sum(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float sum = 0.0f;\n"
                "        for (int i = 0; i < n; i++) sum += row[i];\n"
                "        y[r] = sum;\n"
                "    }\n"
                "}\n")},
    {"row_mean",
     "static void row_mean(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float sum = 0.0f;\n"
                "        for (int i = 0; i < n; i++) sum += row[i];\n"
                "        y[r] = sum / (float)n;\n"
                "    }\n"
                "}\n")},
    {"row_largest",
     "static void row_largest(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float best = n ? row[0] : -INFINITY;\n"
                "        for (int i = 1; i < n; i++)\n"
                "            if (row[i] > best || row[i] != row[i]) best = row[i];\n"
                "        y[r] = best;\n"
                "    }\n"
                "}\n")},
    {"row_least",
     "static void row_least(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float best = n ? row[0] : INFINITY;\n"
                "        for (int i = 1; i < n; i++)\n"
                "            if (row[i] < best || row[i] != row[i]) best = row[i];\n"
                "        y[r] = best;\n"
                "    }\n"
                "}\n")},
    {"column_sum",
     "static void column_sum(int blocks, int height, int n, const float *x, int x_stride, float *y) {\n"
     "    for (int b = 0; b < blocks; b++)\n"
     "        for (int i = 0; i < n; i++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int r = 0; r < height; r++) sum += x[(b * height + r) * x_stride + i];\n"
     "            y[b * n + i] = sum;\n"
     "        }\n"
     "}\n"},
    {"column_mean",
     "static void column_mean(int blocks, int height, int n, const float *x, int x_stride, float *y) {\n"
     "    for (int b = 0; b < blocks; b++)\n"
     "        for (int i = 0; i < n; i++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int r = 0; r < height; r++) sum += x[(b * height + r) * x_stride + i];\n"
     "            y[b * n + i] = sum / (float)height;\n"
     "        }\n"
     "}\n"},
    {"softmax",
     "static void softmax(int rows, int n, const float *x, int x_stride, float *y, int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float best = from[0], sum = 0.0f;\n"
                 "        for (int i = 1; i < n; i++)\n"
                 "            if (from[i] > best || from[i] != from[i]) best = from[i];\n"
                 "        for (int i = 0; i < n; i++) sum += to[i] = expf(from[i] - best);\n"
                 "        for (int i = 0; i < n; i++) to[i] /= sum;\n"
                 "    }\n"
                 "}\n")},
    {"log_softmax",
     "static void log_softmax(int rows, int n, const float *x, int x_stride, float *y,\n"
     "                        int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float best = from[0], sum = 0.0f;\n"
                 "        for (int i = 1; i < n; i++)\n"
                 "            if (from[i] > best || from[i] != from[i]) best = from[i];\n"
                 "        for (int i = 0; i < n; i++) sum += expf(from[i] - best);\n"
                 "        sum = logf(sum);\n"
                 "        for (int i = 0; i < n; i++) to[i] = from[i] - best - sum;\n"
                 "    }\n"
                 "}\n")},
    {"norm",
     "static void norm(int rows, int n, float epsilon, const float *x, int x_stride, float *y,\n"
     "                 int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float mean = 0.0f, square = 0.0f;\n"
                 "        for (int i = 0; i < n; i++) mean += from[i];\n"
                 "        mean /= (float)n;\n"
                 "        for (int i = 0; i < n; i++)\n"
                 "            square += (from[i] - mean) * (from[i] - mean);\n"
                 "        const float scale = 1.0f / sqrtf(square / (float)n + epsilon);\n"
                 "        for (int i = 0; i < n; i++) to[i] = (from[i] - mean) * scale;\n"
                 "    }\n"
                 "}\n")},
    {"rms_norm",
     "static void rms_norm(int rows, int n, float epsilon, const float *x, int x_stride, float *y,\n"
     "                     int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float square = 0.0f;\n"
                 "        for (int i = 0; i < n; i++) square += from[i] * from[i];\n"
                 "        const float scale = 1.0f / sqrtf(square / (float)n + epsilon);\n"
                 "        for (int i = 0; i < n; i++) to[i] = from[i] * scale;\n"
                 "    }\n"
                 "}\n")},
    {"argmax",
     "static void argmax(int rows, int n, const float *x, int x_stride, void *y) {\n" ROWS(
         "row", "        int32_t best = 0;\n"
                "        for (int i = 0; i < n && row[best] == row[best]; i++)\n"
                "            if (row[i] > row[best] || row[i] != row[i]) best = i;\n"
                "        memcpy((int32_t *)y + r, &best, sizeof best);\n"
                "    }\n"
                "}\n")},
};
const eg__c_functions eg__c_functions_rows = {functions, sizeof functions / sizeof *functions};
