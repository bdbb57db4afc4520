/* gemm_bf16bf16 with vdpbf16ps, which adds the products of a pair of halves to a float: gemm_f32 with pairs as elements. It starts
 * as often as an FMA, so that a product takes half as long. */
#include "kernels/simd/simd_avx512.h"

#undef vf_accumulate
#define vf_accumulate(c, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))

enum { MAX_ROWS = 8, MAX_VECTORS = 6, WIDTH_UNIT = 1 };
#define TILE_WIDTH(rows) ((rows) > 6 ? 3 : (rows) > 4 ? 4 : 6)
#define row_limit(m, n)  MAX_ROWS
#define is_narrow(n)     0
#define narrow_product   product
#define GEMM             gemm_pairs
#define SINGLE_ROWS      true
#define COPIES_A         eg__gemm_copies_pairs

/* clang-format off */
#define WIDTHS_3(X, rows) X(rows, 3, 0) X(rows, 2, 0) X(rows, 1, 0)
#define WIDTHS_4(X, rows) X(rows, 4, 0) WIDTHS_3(X, rows)
#define WIDTHS_6(X, rows) X(rows, 6, 0) X(rows, 5, 0) WIDTHS_4(X, rows)
#define TILES(X) \
    WIDTHS_3(X, 8) WIDTHS_3(X, 7) WIDTHS_4(X, 6) WIDTHS_4(X, 5) WIDTHS_6(X, 4) WIDTHS_6(X, 3) WIDTHS_6(X, 2) \
    WIDTHS_6(X, 1)
/* clang-format on */

#include "kernels/kernels.h"
static void gemm_pairs(const eg__gemm_f32_args *g);
#include "kernels/gemm/gemm_f32_body.h"

void eg__gemm_bf16bf16_avx512bf16(const eg__gemm_halves_args *g) {
    gemm_pairs(&(eg__gemm_f32_args){.m = g->m,
                                    .n = g->n,
                                    .k = eg__gemm_pairs(g->k),
                                    .a = (const void *)g->a,
                                    .a_stride = g->a_stride / 2,
                                    .b = (const void *)g->b,
                                    .c = g->c,
                                    .c_stride = g->c_stride,
                                    .accumulate = g->accumulate,
                                    .epilogue = g->epilogue,
                                    .scratch = g->scratch,
                                    .add = g->add,
                                    .add_stride = g->add_stride,
                                    .blocks = g->blocks});
}
