/* Products as statements of C. */
#include "export/c.h"

/* ---- how much they touch */
static size_t span_gemm(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                        unsigned i) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t k = eg__c_timed(x, g->k, g->k_timed), stride = step->operand[i].stride;
    const size_t rows = g->products ? step->rows : frame->count * step->rows;
    const size_t products = g->products ? frame->count * g->products : 1;
    switch (i) {
    case 0: return eg__c_rows(products, g->a_step, eg__c_rows(rows, stride, k));
    case 1: /* quantized numbers are found by where they begin */
        return eg__is_quantized(g->quantized.type) ? 1 : eg__c_rows(products, g->b_step, k * g->n);
    case 2: return eg__c_rows(products, g->c_step, eg__c_rows(rows, stride, g->n));
    default: return eg__c_chain(g->epilogue.kind[i - 3], stride, rows, g->n);
    }
}

static size_t span_transposed(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                              unsigned i) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t k = eg__c_timed(x, g->k, g->k_timed), stride = step->operand[i].stride,
                 rows = frame->count * step->rows;
    if (i > 2) return eg__c_chain(g->epilogue.kind[i - 3], stride, rows, g->n);
    return i == 2 ? eg__c_rows(rows, stride, g->n) : eg__c_rows(k, stride, i ? g->n : rows);
}

/* What is packed here is a plain k x n matrix in exported code, which is never larger. */
static size_t span_pack(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                        unsigned i) {
    const eg__step_pack *p = &step->u.pack;
    const size_t k = eg__c_timed(x, p->k, p->k_timed),
                 products = p->panels ? 1 : frame->count * p->products;
    if (i) return eg__c_rows(products, eg__gemm_packed_size(k, p->n), k * p->n);
    return eg__c_rows(products, p->from_step,
                      eg__c_rows(k, p->row_stride, eg__c_rows(p->n, p->column_stride, 1)));
}

/* ---- statements */
static void write_gemm(eg__c_writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    eg__c_export *x = w->x;
    const size_t k = eg__c_timed(x, g->k, g->k_timed);
    const size_t a_stride = w->step->operand[0].stride, c_stride = w->step->operand[2].stride;
    if (!g->products) {
        eg__c_line(x, "product(%zu, %zu, %zu, %s, %zu, %s, %s, %zu);", w->rows, g->n, k, w->at[0],
                   a_stride, w->at[1], w->at[2], c_stride);
        if (g->has_epilogue)
            eg__c_write_fused(x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
        return;
    }
    eg__c_line(x, "for (int p = 0; p < %zu; p++)", w->frame->count * g->products);
    eg__c_line(x, "    product(%zu, %zu, %zu, %s + p * %zu, %zu, %s + p * %zu, %s + p * %zu, %zu);",
               w->step->rows, g->n, k, w->at[0], g->a_step, a_stride, w->at[1], g->b_step, w->at[2],
               g->c_step, c_stride);
}

static void write_transposed(eg__c_writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    const eg__operand *o = w->step->operand;
    eg__c_line(w->x, "transposed_product(%zu, %zu, %zu, %s, %zu, %s, %zu, %s, %zu);", w->rows, g->n,
               eg__c_timed(w->x, g->k, g->k_timed), w->at[0], o[0].stride, w->at[1], o[1].stride,
               w->at[2], o[2].stride);
    if (g->has_epilogue) eg__c_write_fused(w->x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
}

/* The right side is an array; a row that becomes int8 lies at the end of the arena. */
static void write_gemm_quantized(eg__c_writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    eg__c_export *x = w->x;
    const eg__c_range *range = eg__c_array(x, w->step, w->frame, 1);
    char side[EG__C_TEXT] = "", groups[EG__C_TEXT] = "", row[EG__C_TEXT] = "";
    if (!range || !range->quantized) {
        eg__c_fail(x, EG_ERR_UNSUPPORTED, "no array for a step '%s'", w->step->name);
        return;
    }
    if (g->quantized.groups > 1) eg__c_add(groups, "%u, %s, ", g->quantized.groups, range->more[2]);
    if (g->quantized.integers) eg__c_add(row, "(int8_t *)(arena + %zu), ", x->row);
    eg__c_quantized_arguments(x, range, side);
    eg__c_line(x, "%s(%zu, %zu, %zu, %s%s, %zu,", eg__c_function_of(w->step), w->rows, g->n, g->k,
               groups, w->at[0], w->step->operand[0].stride);
    eg__c_line(x, "    %s, %s%s, %zu);", side, row, w->at[2], w->step->operand[2].stride);
    if (g->has_epilogue) eg__c_write_fused(x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
}

static void write_pack(eg__c_writing *w) {
    const eg__step_pack *p = &w->step->u.pack;
    const size_t k = eg__c_timed(w->x, p->k, p->k_timed),
                 products = p->panels ? 1 : w->frame->count * p->products;
    if (products == 1) {
        eg__c_line(w->x, "matrix(%zu, %zu, %s, %zu, %zu, %s);", k, p->n, w->at[0], p->row_stride,
                   p->column_stride, w->at[1]);
        return;
    }
    eg__c_line(w->x, "for (int p = 0; p < %zu; p++)", products);
    eg__c_line(w->x, "    matrix(%zu, %zu, %s + p * %zu, %zu, %zu, %s + p * %zu);", k, p->n,
               w->at[0], p->from_step, p->row_stride, p->column_stride, w->at[1],
               eg__gemm_packed_size(k, p->n));
}

/* ---- what packing was for: the names of the arrays */
static const char *packed_matrix(const eg__c_export *x, const eg__step *step, size_t offset) {
    return step->operand[1].offset / sizeof(float) == offset
               ? x->program->graph->nodes[step->node].name
               : NULL;
}
static const char *packed_small(const eg__c_export *x, const eg__step *step, size_t offset) {
    if (step->operand[0].offset / sizeof(float) != offset || step->u.pack_quantized.parameters != 1)
        return NULL;
    const eg__leaf *leaf =
        eg__c_leaf(&x->program->parameters, step->operand[2].offset / sizeof(float), NULL);
    return leaf ? leaf->name : NULL;
}

static bool always(const eg__step *step) {
    (void)step;
    return true;
}
static bool widens_in_place(const eg__step *step) { return step->u.widen.from.in_place; }

const eg__c_step eg__c_step_gemm = {.function = {.name = "product"},
                                    .span = span_gemm,
                                    .write = write_gemm,
                                    .chain = 3,
                                    .packed_side = true};
const eg__c_step eg__c_step_gemm_tn = {.function = {.name = "transposed_product"},
                                       .span = span_transposed,
                                       .write = write_transposed,
                                       .chain = 3};
const eg__c_step eg__c_step_gemm_quantized = {.function_of = eg__c_quantized_function,
                                              .span = span_gemm,
                                              .write = write_gemm_quantized,
                                              .collect = eg__c_quantized_collect,
                                              .chain = 3,
                                              .packed_side = true};
const eg__c_step eg__c_step_pack = {.function = {.name = "matrix"},
                                    .span = span_pack,
                                    .write = write_pack,
                                    .packed = packed_matrix};
/* steps of the prologue: what they made is written as data */
const eg__c_step eg__c_step_pack_quantized = {.packed = packed_small};
const eg__c_step eg__c_step_widen = {.reads_infile = widens_in_place};
const eg__c_step eg__c_step_infile = {.reads_infile = always};

/* ---- functions */
static const eg__c_function functions[] = {
    {"product",
     "/* c = a * b, b being k x n: four columns at a time, whose sums stay in registers */\n"
     "static void product(int rows, int n, int k, const float *a, int a_stride, const float *b,\n"
     "                    float *c, int c_stride) {\n"
     "    const int whole = n - n % 4;\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        const float *x = a + r * a_stride;\n"
     "        float *y = c + r * c_stride;\n"
     "        for (int j = 0; j < whole; j += 4) {\n"
     "            float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
     "            for (int i = 0; i < k; i++) {\n"
     "                const float *w = b + i * n + j;\n"
     "                s0 += x[i] * w[0];\n"
     "                s1 += x[i] * w[1];\n"
     "                s2 += x[i] * w[2];\n"
     "                s3 += x[i] * w[3];\n"
     "            }\n"
     "            y[j] = s0;\n"
     "            y[j + 1] = s1;\n"
     "            y[j + 2] = s2;\n"
     "            y[j + 3] = s3;\n"
     "        }\n"
     "        for (int j = whole; j < n; j++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int i = 0; i < k; i++) sum += x[i] * b[i * n + j];\n"
     "            y[j] = sum;\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"transposed_product",
     "/* c = a' * b, a being k x rows and b k x n, row by row */\n"
     "static void transposed_product(int rows, int n, int k, const float *a, int a_stride,\n"
     "                           const float *b, int b_stride, float *c, int c_stride) {\n"
     "    for (int r = 0; r < rows; r++)\n"
     "        for (int j = 0; j < n; j++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int i = 0; i < k; i++) sum += a[i * a_stride + r] * b[i * b_stride + j];\n"
     "            c[r * c_stride + j] = sum;\n"
     "        }\n"
     "}\n"},
    {"matrix",
     "static void matrix(int k, int n, const float *from, int row_stride, int column_stride,\n"
     "                   float *to) {\n"
     "    for (int i = 0; i < k; i++)\n"
     "        for (int j = 0; j < n; j++)\n"
     "            to[i * n + j] = from[i * row_stride + j * column_stride];\n"
     "}\n"},
};
const eg__c_functions eg__c_functions_products = {functions, sizeof functions / sizeof *functions};
