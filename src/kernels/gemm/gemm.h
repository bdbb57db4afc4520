/* Matrix products with a right side that was packed once. */
#ifndef EG__GEMM_H
#define EG__GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* B (k x n) is stored in panels of 16 columns, each k rows of 16 floats, the last one padded with
 * zeros. The layout is the same for every instruction set, so weights are packed once. */
enum { EG__PANEL = 16 };

static inline size_t eg__gemm_panels(size_t n) { return (n + EG__PANEL - 1) / EG__PANEL; }
/* Floats of packed B; the caller has checked that k*n fits. */
static inline size_t eg__gemm_packed_size(size_t k, size_t n) {
    return k * eg__gemm_panels(n) * EG__PANEL;
}
/* Element (i, j) of B is b[i*row_stride + j*column_stride]: a transposed matrix packs as well. */
void eg__gemm_pack_f32(size_t k, size_t n, const float *b, size_t row_stride, size_t column_stride,
                       float *packed);

/* An epilogue: called for a finished tile of C while it is in the cache: rows x columns starting at
 * (row, column), stored at c with the row stride of C. */
typedef struct eg__epilogue {
    void (*apply)(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                  size_t column, size_t columns);
    const void *user;
} eg__epilogue;

/* Cache blocking: `depth` columns of A with as many rows of a panel of B, which stay in L1, and
 * `rows` rows of A, which stay in L2. Longer sums are split at `depth`, so `depth` affects the bits
 * of the result; `rows` does not. */
typedef struct eg__gemm_blocks {
    size_t rows, depth;
} eg__gemm_blocks;
/* Defaults for unknown caches: an L1 of 32 to 63 KiB and an L2 of 512 KiB. */
#define EG__GEMM_BLOCKS ((eg__gemm_blocks){168, 512})
static inline eg__gemm_blocks eg__gemm_blocks_or(const eg__gemm_blocks *blocks) {
    return blocks ? *blocks : EG__GEMM_BLOCKS;
}
/* Blocks for an L1 and L2 of so many bytes per core; 0 = unknown. */
eg__gemm_blocks eg__gemm_blocks_for(uint64_t first_cache, uint64_t second_cache);

struct eg__cblas;

/* C = A*B; with `accumulate`, C += A*B, else with `add`, C = A*B + add. Strides are in floats. B and
 * `scratch` are aligned to 64 bytes. */
typedef struct eg__gemm_f32_args {
    size_t m, n, k;
    const float *a;
    size_t a_stride;
    const float *b; /* packed */
    float *c;
    size_t c_stride;
    bool accumulate;
    const eg__epilogue *epilogue;  /* NULL = none */
    float *scratch;                /* eg__gemm_scratch floats; NULL when that is 0 */
    const float *add;              /* may be C itself; NULL = nothing */
    size_t add_stride;             /* 0: the same row, such as a bias, is added to all */
    const eg__gemm_blocks *blocks; /* NULL = EG__GEMM_BLOCKS */
    const struct eg__cblas *cblas; /* what the row of that name calls; NULL = none */
} eg__gemm_f32_args;

/* Whether packing A pays: it is large and each of its elements is used often. */
static inline bool eg__gemm_copies_a(size_t m, size_t n, size_t k) {
    enum { LEAST_COLUMNS = 320, LEAST_ELEMENTS = 86016 };
    return n >= LEAST_COLUMNS && m * k >= LEAST_ELEMENTS;
}
/* Rows of A in a block: as many as stay in L2 beside the columns of C that are finished together, which an epilogue reads
 * again. Tall products are thus read from memory once, whatever the number of their columns. */
static inline size_t eg__gemm_band(size_t m, size_t n, size_t k, const eg__gemm_blocks *blocks) {
    enum { COLUMNS = 48 }; /* of the widest tile */
    if (m <= blocks->rows || eg__gemm_copies_a(m, n, k)) return blocks->rows; /* no division */
    const size_t deep = k < blocks->depth ? k : blocks->depth;
    return blocks->rows * blocks->depth / (deep + COLUMNS) + 1;
}
static inline size_t eg__gemm_scratch(size_t m, size_t n, size_t k, const eg__gemm_blocks *blocks) {
    const eg__gemm_blocks b = eg__gemm_blocks_or(blocks);
    return eg__gemm_copies_a(m, n, k) ? (b.rows + EG__PANEL) * (b.depth + EG__PANEL) : 0;
}

/* C = A'*B, or C + A'*B, for row-major A (k x m) and B (k x n) without packing: a weight
 * gradient. */
typedef struct eg__gemm_tn_f32_args {
    size_t m, n, k;
    const float *a;
    size_t a_stride;
    const float *b;
    size_t b_stride;
    float *c;
    size_t c_stride;
    bool add;                      /* to what is in C */
    const eg__gemm_blocks *blocks; /* NULL = EG__GEMM_BLOCKS */
} eg__gemm_tn_f32_args;
enum { EG__GEMM_TN_ROWS = 6 }; /* of a tile */
/* Rows of A and B per block: a row of a strip of B is up to 64 floats plus a cache line of A,
 * against 24 floats of a tile of gemm_f32. */
static inline size_t eg__gemm_tn_depth(const eg__gemm_blocks *blocks) {
    const size_t depth = eg__gemm_blocks_or(blocks).depth / 4;
    return depth ? depth : 1;
}

/* y = x*B + add for one row x of k floats, B packed (k x n). */
typedef struct eg__gemv_f32_args {
    size_t n, k;
    const float *x;
    const float *b; /* packed */
    float *y;
    const float *add; /* n floats, such as a bias or y itself; NULL = nothing */
} eg__gemv_f32_args;

#endif
