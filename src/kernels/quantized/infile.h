/* Products with a right side in file layout, row by row, read in place: f32, f16, bf16, and the
 * blocks Q8_0 and Q4_0 of GGUF. */
#ifndef EG__STORED_H
#define EG__STORED_H

#include "kernels/gemm/gemm.h"
#include "kernels/quantized/infile_format.h"

#include <stdint.h>

/* Element i of `row`; and the scale of a block. The definition. */
float eg__infile_number(eg__infile_format format, const void *row, size_t i);
float eg__infile_block_scale(const void *block);

/* ---- C = A W' + add: n rows of W are the columns of C. W is aligned to its element size (blocks:
 * to 2 bytes). */
typedef struct eg__infile_args {
    size_t m, n, k;
    const float *a;
    size_t a_stride;
    const uint8_t *w; /* n contiguous rows of eg__infile_bytes(format, k) bytes */
    float *c;
    size_t c_stride;
    const float *add;              /* NULL = nothing */
    size_t add_stride;             /* 0: the same row, such as a bias, is added to all */
    const eg__epilogue *epilogue;  /* epilogue; NULL = none */
    void *scratch;                 /* eg__infile_scratch bytes, aligned to 64 */
    const eg__gemm_blocks *blocks; /* NULL = EG__GEMM_BLOCKS */
} eg__infile_args;

/* Columns of C that are computed at once, independently of others: threads split the work at
 * multiples of this. */
enum { EG__STORED_CHUNK = 96 };

/* Integer products: blocks of 32 values of A are quantized to int8 within [-127, 127] with their
 * own scale (the largest absolute value / 127; NaN if that is not finite) and multiplied with a
 * block of W: sums of products are exact integers, and C is the sum of these times both scales. */
void eg__infile_quantize(const float *x, int8_t values[EG__BLOCK],
                         float *scale); /* the definition */

/* Up to so many rows of A are multiplied with W in place. For more, a chunk of blocks is packed
 * into panels of f32 or bytes; formats without blocks are cheap to widen again. */
static inline size_t eg__infile_few(eg__infile_format format, bool integers) {
    return integers ? 4 : eg__infile_is_blocks(format) ? 8 : SIZE_MAX;
}

/* The contents of `scratch`: rows of A as integers, and a chunk of W as bytes with a scale per
 * block and column; or a chunk of W as f32, some columns at a time, and a packed copy of A where
 * its rows would conflict in cache sets. */
static inline bool eg__infile_copies(size_t a_stride) { return a_stride % 256 == 0; }
/* Row stride of the copy of A, in floats; `depth` is a multiple of the file's block. */
static inline size_t eg__infile_copy_stride(size_t depth) { return depth + EG__PANEL; }
static inline size_t eg__infile_panels(size_t k, size_t depth) {
    return sizeof(float) * EG__STORED_CHUNK * (k < depth ? k : depth);
}
typedef struct eg__infile_rows {
    int8_t *values; /* [m][depth] */
    float *scale;   /* [m][blocks] */
    int32_t *start; /* [m][blocks]: initial values of a kernel's sums */
    size_t depth, blocks;
} eg__infile_rows;
static inline size_t eg__infile_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
static inline size_t eg__infile_rows_bytes(size_t m, size_t k) {
    return m * eg__infile_lines(k) + 2 * eg__infile_lines(m * (k / EG__BLOCK) * 4);
}
static inline size_t eg__infile_scratch(eg__infile_format format, bool integers, size_t m, size_t k,
                                        const eg__gemm_blocks *blocks) {
    const size_t rows = integers ? eg__infile_rows_bytes(m, k) : 0;
    if (m <= eg__infile_few(format, integers)) return rows;
    if (integers) return rows + EG__STORED_CHUNK * (k + k / EG__BLOCK * sizeof(float));
    const eg__gemm_blocks b = eg__gemm_blocks_or(blocks);
    return eg__infile_panels(k, b.depth) +
           sizeof(float) * eg__infile_copy_stride(b.depth) * (m < b.rows ? m : b.rows);
}
static inline eg__infile_rows eg__infile_rows_at(void *scratch, size_t m, size_t k) {
    const size_t depth = eg__infile_lines(k), blocks = k / EG__BLOCK;
    const size_t numbers = eg__infile_lines(m * blocks * 4);
    int8_t *at = scratch;
    return (eg__infile_rows){at, (float *)(at + m * depth), (int32_t *)(at + m * depth + numbers),
                             depth, blocks};
}

#endif
