/* Two by two tiles of sums: included by the bodies of kernels with Intel's AMX after
 *   MULTIPLY(sum, left, right)   the product of two tiles
 *
 * Tiles 0 to 3 are sums (2 * row + column), 4 and 5 rows of A, 6 and 7 panels of B. So four loads serve four products, of which
 * each takes as long as two loads, and no product waits for the sum of the one before. */
#include "kernels/kernels.h"

#include <string.h>

#ifndef INLINE /* of a simd header */
#define INLINE static inline __attribute__((always_inline))
#endif

enum { SIDE = 2, WORD = 4 }; /* tiles of sums along a side; bytes of a column of a tile */

/* Sixteen rows of A, or a panel of B: whole tiles from `at` on, then one with what is left, padded with zeros. */
typedef struct strip {
    const char *at;
    size_t stride, ahead; /* bytes from a row to the next, and from a tile to the next */
    const char *tail;     /* a tile by itself; NULL = nothing is left */
} strip;

INLINE void step_multiply(const int rows, const int columns, const char *const a[SIDE],
                          const size_t a_stride[SIDE], const char *const b[SIDE]) {
    TILE_LOAD(4, a[0], a_stride[0]);
    TILE_LOAD(6, b[0], EG__TILE_BYTES);
    MULTIPLY(0, 4, 6);
    if (columns > 1) {
        TILE_LOAD(7, b[1], EG__TILE_BYTES);
        MULTIPLY(1, 4, 7);
    }
    if (rows > 1) {
        TILE_LOAD(5, a[1], a_stride[1]);
        MULTIPLY(2, 5, 6);
        if (columns > 1) MULTIPLY(3, 5, 7);
    }
}

/* rows and columns, in tiles, are constants wherever this is inlined */
INLINE void steps_multiply(const int rows, const int columns, const strip a[SIDE],
                           const strip b[SIDE], size_t steps) {
    const char *left[SIDE] = {a[0].at, a[rows - 1].at}, *right[SIDE] = {b[0].at, b[columns - 1].at};
    const size_t stride[SIDE] = {a[0].stride, a[rows - 1].stride};
    for (; steps; steps--) {
        step_multiply(rows, columns, left, stride, right);
        left[0] += a[0].ahead, left[1] += a[0].ahead;
        right[0] += b[0].ahead, right[1] += b[0].ahead;
    }
    if (b[0].tail) {
        const char *const last[SIDE] = {a[0].tail, a[rows - 1].tail}, *const panels[SIDE] = {
                                                                          b[0].tail,
                                                                          b[columns - 1].tail};
        const bool alone = last[0] != NULL; /* else A goes on as it lies */
        const size_t apart[SIDE] = {EG__TILE_BYTES, EG__TILE_BYTES};
        step_multiply(rows, columns, alone ? last : left, alone ? apart : stride, panels);
    }
}

/* The sums begin as they are, and become more by `steps` tiles and the tails of both sides. */
static void sums_add(size_t rows, size_t columns, const strip a[SIDE], const strip b[SIDE],
                     size_t steps) {
    if (rows > 1 && columns > 1) steps_multiply(2, 2, a, b, steps);
    else if (rows > 1) steps_multiply(2, 1, a, b, steps);
    else if (columns > 1) steps_multiply(1, 2, a, b, steps);
    else steps_multiply(1, 1, a, b, steps);
}

/* clang-format off */
#define SUMS(X) X(0) X(1) X(2) X(3)
/* clang-format on */
static void sum_zero(size_t sum) {
    switch (sum) {
#define CASE(i) \
    case i: TILE_ZERO(i); break;
        SUMS(CASE)
#undef CASE
    }
}
static void sum_store(size_t sum, void *at, size_t stride) {
    switch (sum) {
#define CASE(i) \
    case i: TILE_STORE(i, at, stride); break;
        SUMS(CASE)
#undef CASE
    }
}

/* `rows` rows of so many bytes, as a tile that is padded with zeros. */
static const char *tile_pad(const char *from, size_t stride, size_t rows, size_t bytes, char *to) {
    memset(to, 0, EG__TILE_SIZE);
    for (size_t i = 0; i < rows; i++) memcpy(to + i * EG__TILE_BYTES, from + i * stride, bytes);
    return to;
}

/* A panel of B: its rows are those of a tile already. */
static strip panel_strip(const void *panel, size_t rows, char *tail) {
    const size_t steps = rows / EG__TILE_ROWS, left = rows % EG__TILE_ROWS;
    const char *rest = (const char *)panel + steps * EG__TILE_SIZE;
    return (strip){panel, EG__TILE_BYTES, EG__TILE_SIZE,
                   left ? tile_pad(rest, EG__TILE_BYTES, left, EG__TILE_BYTES, tail) : NULL};
}
