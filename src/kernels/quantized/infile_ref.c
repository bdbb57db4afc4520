/* The definition of products with weights in file layout: sums in double or, for integers,
 * exact. */
#include "kernels/kernels.h"

static void finish(const eg__infile_args *g) {
    if (g->epilogue && g->m && g->n)
        g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->n);
}

static double start_of(const eg__infile_args *g, size_t i, size_t j) {
    return g->add ? g->add[i * g->add_stride + j] : 0;
}

static void with_floats(const eg__infile_args *g, eg__infile_format format) {
    const size_t bytes = eg__infile_bytes(format, g->k);
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double sum = start_of(g, i, j);
            for (size_t k = 0; k < g->k; k++)
                sum += (double)g->a[i * g->a_stride + k] *
                       (double)eg__infile_number(format, g->w + j * bytes, k);
            g->c[i * g->c_stride + j] = (float)sum;
        }
    finish(g);
}

void eg__infile_f32_ref(const eg__infile_args *g) { with_floats(g, EG__INFILE_F32); }
void eg__infile_f16_ref(const eg__infile_args *g) { with_floats(g, EG__INFILE_F16); }
void eg__infile_bf16_ref(const eg__infile_args *g) { with_floats(g, EG__INFILE_BF16); }
void eg__infile_q8_ref(const eg__infile_args *g) { with_floats(g, EG__INFILE_Q8_0); }
void eg__infile_q4_ref(const eg__infile_args *g) { with_floats(g, EG__INFILE_Q4_0); }

static double row_sum(eg__infile_format format, const eg__infile_rows *rows, const uint8_t *w) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    double sum = 0;
    for (size_t b = 0; b < rows->blocks; b++, w += of->block_bytes) {
        int32_t products = 0;
        for (size_t i = 0; i < EG__BLOCK; i++)
            products += rows->values[b * EG__BLOCK + i] * of->integer(w, i);
        sum += (double)rows->scale[b] * (double)eg__infile_block_scale(w) * products;
    }
    return sum;
}

static void with_integers(const eg__infile_args *g, eg__infile_format format) {
    const eg__infile_rows rows = eg__infile_rows_at(g->scratch, 1, g->k);
    const size_t bytes = eg__infile_bytes(format, g->k);
    for (size_t i = 0; i < g->m; i++) {
        for (size_t b = 0; b < rows.blocks; b++)
            eg__infile_quantize(g->a + i * g->a_stride + b * EG__BLOCK, rows.values + b * EG__BLOCK,
                                &rows.scale[b]);
        for (size_t j = 0; j < g->n; j++)
            g->c[i * g->c_stride + j] =
                (float)(start_of(g, i, j) + row_sum(format, &rows, g->w + j * bytes));
    }
    finish(g);
}

void eg__infile_q8i8_ref(const eg__infile_args *g) { with_integers(g, EG__INFILE_Q8_0); }
void eg__infile_q4i8_ref(const eg__infile_args *g) { with_integers(g, EG__INFILE_Q4_0); }
