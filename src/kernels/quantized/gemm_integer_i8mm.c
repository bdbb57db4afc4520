/* gemm_i8i8 and gemm_i4i8 with the products of 2 x 8 by 8 x 2 bytes of ARMv8.6: rows in pairs, eight rows
 * of B at a time. A single row takes dot products. */
#include "kernels/simd/simd_neon.h"
#undef SIMD
#define SIMD(name) name##_i8mm
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

enum { MAX_ROWS = 6, HELD_ROWS = 4, MAX_PANELS = 4, BIAS_A = 0, BIAS_W = 0 };
#define TILE_PANELS(rows, n) ((rows) == 1 && (n) >= 4 ? 4 : 1)

/* clang-format off */
#define TILES(X, type) \
    X(type, 6, 1) X(type, 5, 1) X(type, 4, 1) X(type, 3, 1) X(type, 2, 1) X(type, 1, 4) X(type, 1, 1)
/* clang-format on */

INLINE int8x16_t bytes(vi x) { return vreinterpretq_s8_s32(x); }
INLINE int8x16_t low_halves(vi w) { return vshrq_n_s8(vshlq_n_s8(bytes(w), 4), 4); }
INLINE int8x16_t high_halves(vi w) { return vshrq_n_s8(bytes(w), 4); }
INLINE vi dot_i4(vi sum, vi a, vi b, vi w) {
    return vdotq_s32(vdotq_s32(sum, bytes(a), low_halves(w)), bytes(b), high_halves(w));
}
#define DOT_I8(sum, a, w)    ((sum) = vdotq_s32(sum, bytes(a), bytes(w)))
#define DOT_I4(sum, a, b, w) ((sum) = dot_i4(sum, a, b, w))

/* Four columns and eight rows of B: rows 0-3 and 4-7 of each column. */
typedef struct half_units {
    vi first, second;
} half_units;
INLINE half_units half_units_load(const int type, const uint8_t *data, bool pair) {
    const vi w = vi_load(data);
    if (type == EG_I4)
        return (half_units){vreinterpretq_s32_s8(low_halves(w)),
                            vreinterpretq_s32_s8(high_halves(w))};
    return (half_units){w, pair ? vi_load(data + 64) : vi_set(0)};
}

/* One panel; `sum` is set, not added to, as there is no bias to begin with. Products hold two rows of
 * two columns each; an odd last row is taken twice. */
INLINE void pair_sums(const int type, const int rows, const int vectors, const int8_t *a,
                      size_t stride, const uint8_t *data, size_t panel_bytes, size_t units,
                      vi sum[MAX_ROWS][MAX_PANELS * 4]) {
    enum { PAIRS = MAX_ROWS / 2, COLUMNS = EG__PANEL / 4 };
    const int pairs = (rows + 1) / 2;
    vi left[PAIRS][COLUMNS], right[PAIRS][COLUMNS]; /* of the four columns of a vector */
    (void)vectors, (void)panel_bytes;
    UNROLL
    for (int p = 0; p < pairs; p++) {
        UNROLL
        for (int v = 0; v < COLUMNS; v++) left[p][v] = right[p][v] = vi_set(0);
    }
    while (units) {
        const bool whole = type == EG_I4 || units > 1;
        const size_t taken = type == EG_I4 || !whole ? 1 : 2;
        int8x16_t x[PAIRS];
        UNROLL
        for (int p = 0; p < pairs; p++) {
            const int8_t *row = a + (size_t)(2 * p) * stride;
            x[p] = vcombine_s8(vld1_s8(row), vld1_s8(2 * p + 1 < rows ? row + stride : row));
        }
        UNROLL
        for (int v = 0; v < COLUMNS; v++) {
            const half_units w = half_units_load(type, data + v * 16, whole);
            const int8x16_t low = bytes(vzip1q_s32(w.first, w.second));
            const int8x16_t high = bytes(vzip2q_s32(w.first, w.second));
            UNROLL
            for (int p = 0; p < pairs; p++) {
                left[p][v] = vmmlaq_s32(left[p][v], x[p], low);
                right[p][v] = vmmlaq_s32(right[p][v], x[p], high);
            }
        }
        units -= taken;
        a += 8;
        data += taken * 64;
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < COLUMNS; v++) {
            const vi l = left[i / 2][v], r = right[i / 2][v];
            sum[i][v] = i % 2 ? vcombine_s32(vget_high_s32(l), vget_high_s32(r))
                              : vcombine_s32(vget_low_s32(l), vget_low_s32(r));
        }
    }
}
#define TALL_SUMS pair_sums

#include "kernels/quantized/gemm_integer_body.h"
