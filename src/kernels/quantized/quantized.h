/* Matrix products with a quantized right side: f16, bf16, int8, int4. It is packed once and widened
 * in registers, never in memory. */
#ifndef EG__QUANTIZED_H
#define EG__QUANTIZED_H

#include "elegans/tensor.h"
#include "kernels/gemm/gemm.h"

#include <stdint.h>

/* ---- a matrix as a file has it: row-major, with scales per tensor, row or block of a row */
typedef struct eg__quantized_matrix {
    eg_type type; /* EG_F16, EG_BF16, EG_I8, EG_I4 */
    size_t rows, columns;
    size_t block;   /* columns that share a scale; the last block of a row may be shorter */
    bool one_scale; /* for the whole matrix */
    const void *values;
    const float *scale; /* NULL for halves */
    const int8_t *zero; /* NULL = all 0 */
} eg__quantized_matrix;

static inline size_t eg__quantized_matrix_groups(const eg__quantized_matrix *s) {
    return s->block ? (s->columns + s->block - 1) / s->block : 0;
}
static inline size_t eg__quantized_matrix_scale(const eg__quantized_matrix *s, size_t row,
                                                size_t column) {
    return s->one_scale ? 0 : row * eg__quantized_matrix_groups(s) + column / s->block;
}
/* int4: two to a byte, the even element in the low half. */
static inline int eg__nibble_get(const void *data, size_t i) {
    const unsigned byte = ((const uint8_t *)data)[i / 2];
    return (int)((byte >> (i % 2 * 4) & 15) ^ 8) - 8;
}
static inline void eg__nibble_set(void *data, size_t i, int value) {
    uint8_t *byte = (uint8_t *)data + i / 2;
    const unsigned shift = i % 2 * 4;
    *byte = (uint8_t)((*byte & ~(15u << shift)) | ((unsigned)value & 15u) << shift);
}
/* The integer at an index, and its dequantized value. */
int eg__quantized_matrix_integer(const eg__quantized_matrix *s, size_t row, size_t column);
float eg__quantized_matrix_value(const eg__quantized_matrix *s, size_t row, size_t column);

/* Byte offsets of values, scales and zero points in one piece of memory. */
typedef struct eg__quantized_matrix_layout {
    size_t scale, zero, bytes; /* of values: 0 */
} eg__quantized_matrix_layout;
bool eg__quantized_matrix_measure(eg_type type, size_t rows, size_t columns, size_t scales,
                                  bool has_zeros,
                                  eg__quantized_matrix_layout *out); /* false = too large */

/* ---- packed, as kernels want it. B (k x n) in panels of 16 columns, as for f32; k is cut into groups
 * within which every column has one scale and one zero point: w = scale * (q - zero).
 *
 * A panel of halves is k rows of 16. One of int8 is, for each group, units of 4 rows: 16 columns of 4
 * bytes, of which the lowest is the first row. One of int4: units of 8 rows, 16 columns of 4 bytes,
 * in which row i < 4 is the low half of byte i, and row i + 4 the high half. What pads the last unit
 * of a group is 0. So one layout serves products with floats, where a unit is 16 words to be shifted,
 * and with integers, where it is what dot-product instructions take. */
typedef struct eg__packed_quantized {
    eg_type type;
    size_t n, k;
    size_t groups;       /* halves: 1 */
    const uint32_t *end; /* [groups]: where each ends; the last is k */
    const uint8_t *data; /* panels, aligned to 64 */
    size_t panel_bytes;  /* from one to the next */
    /* [panel][group][16]; NULL for halves */
    const float *scale;
    const int8_t *zero; /* NULL = all 0 */
    const int32_t
        *sum; /* sums of q: what adding 1 to the other side adds; NULL = nothing is added */
} eg__packed_quantized;

typedef struct eg__quantized_layout {
    size_t panel_bytes;
    size_t scale, zero, sum, end; /* in bytes from the beginning, where data are; 0 = none */
    size_t bytes;                 /* a multiple of 64 */
} eg__quantized_layout;
/* The layout for groups that end at `ends` (ascending, the last is k); `integers`: for integer products, too. False =
 * too large. */
bool eg__quantized_measure(eg_type type, size_t k, size_t n, size_t groups, const uint32_t *ends,
                           bool has_zeros, bool integers, eg__quantized_layout *out);
/* Rows of a unit: 1, 4 or 8. */
static inline size_t eg__quantized_unit(eg_type type) {
    return type == EG_I8 ? 4 : type == EG_I4 ? 8 : 1;
}
static inline size_t eg__quantized_units(const eg__packed_quantized *b, size_t group) {
    const size_t unit = eg__quantized_unit(b->type), from = group ? b->end[group - 1] : 0;
    return (b->end[group] - from + unit - 1) / unit;
}
/* A right side at `memory`, laid out so. */
eg__packed_quantized eg__quantized_at(eg_type type, size_t k, size_t n, size_t groups,
                                      const void *memory, const eg__quantized_layout *layout);
/* What the zero point of a cell adds to each of its weights. */
static inline float eg__quantized_offset(const eg__packed_quantized *b, size_t cell) {
    return b->zero ? -b->scale[cell] * (float)b->zero[cell] : 0;
}

/* A piece of a right side that comes from one stored matrix: rows k_to.. and columns n_to.. of the
 * right side are columns and rows of the matrix (transposed) or, with `straight` (f16 and bf16
 * only), rows and columns. */
typedef struct eg__quantized_piece {
    uint32_t k_to, n_to, k, n;
    uint32_t row, column; /* first row and column in the stored matrix */
    uint32_t straight;
} eg__quantized_piece;
/* Writes zeros and ends, then the pieces. Every group of the right side lies within one block of
 * its piece. */
void eg__quantized_begin(const eg__packed_quantized *to, const uint32_t *ends);
void eg__quantized_pack(const eg__packed_quantized *to, const eg__quantized_piece *piece,
                        const eg__quantized_matrix *from);
/* Element (k, n) as it is used: for checks. */
double eg__quantized_value(const eg__packed_quantized *b, size_t k, size_t n);
int eg__quantized_integer(const eg__packed_quantized *b, size_t k, size_t n);

/* ---- products: C = A*B + add. Sums of q*a run over a group and are scaled at its end, so 128
 * times the sum of a row's absolute values must be finite. */
typedef struct eg__gemm_quantized_args {
    size_t m;
    const float *a;
    size_t a_stride;
    eg__packed_quantized b;
    float *c;
    size_t c_stride;
    const float *add;             /* n floats for every row, such as a bias; NULL = nothing */
    const eg__epilogue *epilogue; /* epilogue; NULL = none */
    void *scratch; /* eg__quantized_scratch bytes, aligned to 64; only integer products */
} eg__gemm_quantized_args;

/* Integer products: rows of A are quantized to int8 within [-127, 127], each with its own scale
 * (the largest absolute value / 127; a non-finite row gives NaN), so that sums of products are
 * exact integers, and C = scale of the row * scale * (sum of q*a - zero * sum of a). They take so
 * many rows at once; a row lies as the units of B do, padded with zeros. */
enum { EG__QUANTIZED_ROWS = 128 };
static inline size_t eg__quantized_depth(const eg__packed_quantized *b) { /* bytes of such a row */
    size_t units = 0;
    for (size_t g = 0; g < b->groups; g++) units += eg__quantized_units(b, g);
    return (units * eg__quantized_unit(b->type) + 63) / 64 * 64;
}
static inline size_t eg__quantized_scratch(size_t m, size_t k, size_t groups, eg_type type) {
    const size_t rows = m < EG__QUANTIZED_ROWS ? m : EG__QUANTIZED_ROWS;
    const size_t depth = (k + groups * (eg__quantized_unit(type) - 1) + 63) / 64 * 64;
    const size_t sums = (rows * groups * sizeof(int32_t) + 63) / 64 * 64;
    return rows * depth + sums + (rows * sizeof(float) + 63) / 64 * 64;
}
/* The rows of A as integers in `scratch`: the layout for kernels, computed by the definition. */
typedef struct eg__quantized_rows {
    int8_t *values; /* [rows][depth] */
    int32_t *sum;   /* [rows][groups] */
    float *scale;   /* [rows] */
    size_t depth;
} eg__quantized_rows;
eg__quantized_rows eg__quantized_rows_at(const eg__gemm_quantized_args *args);
void eg__quantize_row(const eg__packed_quantized *b, const float *x, const eg__quantized_rows *to,
                      size_t row);

#endif
