/* gemm_i8i8 with the outer products of SME: sums of integers in C itself, which NEON then scales. */
#include "kernels/simd/simd_neon.h"
#include "kernels/sme/sme.h"

#define DOT_I8(sum, a, w) ((sum) = vdotq_s32(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(w)))
#include "kernels/quantized/integer_rows.h"

/* The sums of a row, which lie in C, become what C is to hold: the same bits as with NEON. */
static void row_finish(const eg__gemm_quantized_args *g, float scale, int32_t sum, float *c) {
    const eg__packed_quantized *b = &g->b;
    for (size_t j = 0; j < b->n; j += VF_N) {
        const size_t lanes = eg__min(b->n - j, VF_N);
        const bool whole = lanes == VF_N;
        const vf held = whole ? vf_load(c + j) : vf_load_part(c + j, lanes);
        const vf column = vf_load(b->scale + j); /* a panel is padded */
        vf start = vf_zero(), total = vf_mul(vi_to_float(vf_bits(held)), column);
        if (b->zero)
            total = vf_fma(vf_set(-(float)sum), vf_mul(column, vf_load_i8(b->zero + j)), total);
        if (g->add) start = whole ? vf_load(g->add + j) : vf_load_part(g->add + j, lanes);
        const vf value = vf_fma(total, vf_set(scale), start);
        if (whole) vf_store(c + j, value);
        else vf_store_part(c + j, value, lanes);
    }
}

/* Of several groups each would end with such a pass over C, which takes longer than the products: NEON keeps
 * their sums in registers. */
void eg__gemm_i8i8_sme(const eg__gemm_quantized_args *g) {
    const eg__packed_quantized *b = &g->b;
    if (b->groups != 1 || b->k > MAX_GROUP) {
        eg__gemm_i8i8_i8mm(g);
        return;
    }
    const eg__quantized_rows rows = eg__quantized_rows_at(g);
    for (size_t row = 0; row < g->m && b->n; row += EG__QUANTIZED_ROWS) {
        const size_t m = eg__min(EG__QUANTIZED_ROWS, g->m - row);
        float *c = g->c + row * g->c_stride;
        for (size_t i = 0; i < m; i++)
            row_quantize(b, g->a + (row + i) * g->a_stride, &rows, i, 0,
                         i + 1 < m ? g->a_stride : 0);
        eg__sme_product(&(eg__sme_args){.word = EG__SME_I8,
                                        .m = m,
                                        .n = b->n,
                                        .k = eg__quantized_units(b, 0),
                                        .a = (const void *)rows.values,
                                        .a_stride = rows.depth / sizeof(uint32_t),
                                        .b = (const void *)b->data,
                                        .c = (void *)c,
                                        .c_stride = g->c_stride});
        for (size_t i = 0; i < m; i++)
            row_finish(g, rows.scale[i], rows.sum[i], c + i * g->c_stride);
        if (g->epilogue) g->epilogue->apply(g->epilogue->user, c, g->c_stride, row, m, 0, b->n);
    }
}
