/* gemm_f32, gemm_f16f16 and gemm_bf16bf16 with the outer products of SME. */
#include "kernels/kernels.h"
#include "kernels/sme/sme.h"

/* Streaming mode has no NEON, which epilogues are made of: so a product with one is computed in bands whose finished rows are still
 * in the second cache when the epilogue gets them. */
enum { BAND_BYTES = 1 << 21, BAND_UNIT = 32 };
static size_t band_rows(const eg__gemm_f32_args *g) {
    const size_t rows = BAND_BYTES / sizeof(float) / g->n / BAND_UNIT * BAND_UNIT;
    return g->epilogue ? eg__max(rows, BAND_UNIT) : g->m;
}

/* An element of A and B is a word, whatever it holds. */
static void product(eg__sme_word word, const eg__gemm_f32_args *g) {
    if (!g->m || !g->n) return;
    const float *add = g->accumulate ? g->c : g->add;
    const size_t add_stride = g->accumulate ? g->c_stride : g->add_stride, band = band_rows(g);
    for (size_t row = 0; row < g->m; row += band) {
        const size_t m = eg__min(band, g->m - row);
        float *c = g->c + row * g->c_stride;
        eg__sme_product(&(eg__sme_args){.word = word,
                                        .m = m,
                                        .n = g->n,
                                        .k = g->k,
                                        .a = (const void *)(g->a + row * g->a_stride),
                                        .a_stride = g->a_stride,
                                        .b = (const void *)g->b,
                                        .c = (void *)c,
                                        .c_stride = g->c_stride,
                                        .add = (const void *)(add ? add + row * add_stride : NULL),
                                        .add_stride = add_stride});
        if (g->epilogue) g->epilogue->apply(g->epilogue->user, c, g->c_stride, row, m, 0, g->n);
    }
}

void eg__gemm_f32_sme(const eg__gemm_f32_args *g) { product(EG__SME_F32, g); }

/* Pairs of halves are the elements; both sides have one behind an odd k, and that of B is zero. */
static void product_of_halves(eg__sme_word word, const eg__gemm_halves_args *g) {
    product(word, &(eg__gemm_f32_args){.m = g->m,
                                       .n = g->n,
                                       .k = eg__gemm_pairs(g->k),
                                       .a = (const void *)g->a,
                                       .a_stride = g->a_stride / 2,
                                       .b = (const void *)g->b,
                                       .c = g->c,
                                       .c_stride = g->c_stride,
                                       .accumulate = g->accumulate,
                                       .epilogue = g->epilogue,
                                       .add = g->add,
                                       .add_stride = g->add_stride});
}
void eg__gemm_f16f16_sme(const eg__gemm_halves_args *g) { product_of_halves(EG__SME_F16, g); }
void eg__gemm_bf16bf16_sme(const eg__gemm_halves_args *g) { product_of_halves(EG__SME_BF16, g); }
