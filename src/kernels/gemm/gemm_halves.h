/* Matrix products whose two sides are halves, f16 or bf16; sums and result are f32. */
#ifndef EG__GEMM_HALVES_H
#define EG__GEMM_HALVES_H

#include "kernels/gemm/gemm.h"

/* B (k x n) is stored in panels of 16 columns. A panel has a row for each pair of rows of B: 16 columns of two halves,
 * of which the first is the even row: [panel][k / 2][16][2]. That is what vdpbf16ps, bfdot and the outer products of SME
 * read, a 32-bit word for each column, and one layout serves all of them; a row of a panel is 64 bytes, as it is of f32. The
 * last panel and the last pair of an odd k are padded with zeros. */
static inline size_t eg__gemm_pairs(size_t k) { return k / 2 + k % 2; }
/* Halves of packed B; the caller has checked that they fit. */
static inline size_t eg__gemm_halves_size(size_t k, size_t n) {
    return 2 * eg__gemm_packed_size(eg__gemm_pairs(k), n);
}
/* Element (i, j) of B is b[i*row_stride + j*column_stride]. */
void eg__gemm_pack_halves(size_t k, size_t n, const uint16_t *b, size_t row_stride,
                          size_t column_stride, uint16_t *packed);

/* C = A*B; with `accumulate`, C += A*B, else with `add`, C = A*B + add. Strides are in elements.
 * Rows of A are read in pairs, too: they are aligned to 4 bytes, a_stride is even, and behind an odd k a row has one more
 * half, which is finite. B and `scratch` are aligned to 64 bytes.
 * Products of halves are exact in f32. Whether halves below the least normal number count as zero is left to the
 * instructions (they do for vdpbf16ps). */
typedef struct eg__gemm_halves_args {
    size_t m, n, k;
    const uint16_t *a;
    size_t a_stride;
    const uint16_t *b; /* packed */
    float *c;
    size_t c_stride;
    bool accumulate;
    const eg__epilogue *epilogue;  /* NULL = none */
    float *scratch;                /* eg__gemm_halves_scratch floats */
    const float *add;              /* may be C itself; NULL = nothing */
    size_t add_stride;             /* 0: the same row, such as a bias, is added to all */
    const eg__gemm_blocks *blocks; /* NULL = EG__GEMM_BLOCKS; its depth counts pairs */
} eg__gemm_halves_args;

/* The same as eg__gemm_copies_a, of pairs: rows that are half as long rarely need it. Measured at 512 x 512 x 512: 1.5 % faster
 * without. */
static inline bool eg__gemm_copies_pairs(size_t m, size_t n, size_t pairs) {
    enum { SHORT = 256 };
    return pairs > SHORT && eg__gemm_copies_a(m, n, pairs);
}

/* Instruction sets without products of halves widen them to f32, a block of A and a block of B at a time, so that one
 * conversion serves many products. */
enum {
    EG__HALVES_ROWS = 96,                             /* of A */
    EG__HALVES_DEPTH = 512,                           /* of A and B */
    EG__HALVES_PANELS = 4,                            /* of B */
    EG__HALVES_STRIDE = EG__HALVES_DEPTH + EG__PANEL, /* of rows of A: not a power of two */
};
static inline size_t eg__gemm_halves_scratch(size_t m, size_t n, size_t k,
                                             const eg__gemm_blocks *blocks) {
    const size_t rows = m < EG__HALVES_ROWS ? m : EG__HALVES_ROWS + 1;
    const size_t widened =
        rows * EG__HALVES_STRIDE + EG__HALVES_DEPTH * EG__HALVES_PANELS * EG__PANEL;
    const size_t pairs = eg__gemm_scratch(m, n, eg__gemm_pairs(k), blocks);
    return pairs > widened ? pairs : widened;
}

#endif
