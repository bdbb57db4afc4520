/* The definition of products with quantized weights: sums in double or, of integers, exact. */
#include "kernels/kernels.h"

static void finish(const eg__gemm_quantized_args *g) {
    if (g->epilogue && g->m && g->b.n)
        g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->b.n);
}

static void with_floats(const eg__gemm_quantized_args *g) {
    const eg__packed_quantized *b = &g->b;
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < b->n; j++) {
            double sum = g->add ? g->add[j] : 0;
            for (size_t k = 0; k < b->k; k++)
                sum += (double)g->a[i * g->a_stride + k] * eg__quantized_value(b, k, j);
            g->c[i * g->c_stride + j] = (float)sum;
        }
    finish(g);
}

void eg__gemm_f16_ref(const eg__gemm_quantized_args *g) { with_floats(g); }
void eg__gemm_bf16_ref(const eg__gemm_quantized_args *g) { with_floats(g); }
void eg__gemm_i8_ref(const eg__gemm_quantized_args *g) { with_floats(g); }
void eg__gemm_i4_ref(const eg__gemm_quantized_args *g) { with_floats(g); }

/* The sum of q*a over a group, of a row that was made integer. */
static int64_t group_sum(const eg__packed_quantized *b, const int8_t *a, size_t group, size_t from,
                         size_t n) {
    int64_t sum = 0;
    for (size_t k = from; k < b->end[group]; k++)
        sum += eg__quantized_integer(b, k, n) * a[k - from];
    return sum;
}

static void with_integers(const eg__gemm_quantized_args *g) {
    const eg__packed_quantized *b = &g->b;
    const eg__quantized_rows rows = eg__quantized_rows_at(g);
    for (size_t i = 0; i < g->m; i++) {
        eg__quantize_row(b, g->a + i * g->a_stride, &rows, 0);
        for (size_t j = 0; j < b->n; j++) {
            const int8_t *a = rows.values;
            double sum = 0;
            for (size_t group = 0, from = 0; group < b->groups; from = b->end[group++]) {
                const size_t cell = (j / EG__PANEL * b->groups + group) * EG__PANEL + j % EG__PANEL;
                sum += (double)b->scale[cell] * (double)group_sum(b, a, group, from, j);
                sum += (double)eg__quantized_offset(b, cell) * rows.sum[group];
                a += eg__quantized_units(b, group) * eg__quantized_unit(b->type);
            }
            g->c[i * g->c_stride + j] =
                (float)((double)rows.scale[0] * sum + (g->add ? g->add[j] : 0));
        }
    }
    finish(g);
}

void eg__gemm_i8i8_ref(const eg__gemm_quantized_args *g) { with_integers(g); }
void eg__gemm_i4i8_ref(const eg__gemm_quantized_args *g) { with_integers(g); }
