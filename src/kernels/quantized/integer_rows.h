/* Rows of A as integers, the same ones as eg__quantize_row makes: included after a simd header and DOT_I8 of
 * gemm_integer_body.h. */
#ifndef EG__INTEGER_ROWS_H
#define EG__INTEGER_ROWS_H

#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"
#include "kernels/simd/lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_GROUP = 1 << 17 }; /* 127 * 128 * that is the largest sum below 2^31 */

/* The largest absolute value; as integers, of which those of NaN are above those of infinity. */
static float row_most(const float *x, size_t n) {
    vi most = vi_set(0), other = most; /* two, or each waits for the one before */
    for (; n >= 4 * VF_N; n -= 4 * VF_N, x += 4 * VF_N) {
        const vi a = vf_bits(vf_abs(vf_load(x))), b = vf_bits(vf_abs(vf_load(x + VF_N)));
        const vi c = vf_bits(vf_abs(vf_load(x + 2 * VF_N))),
                 d = vf_bits(vf_abs(vf_load(x + 3 * VF_N)));
        most = vi_max(most, vi_max(a, b));
        other = vi_max(other, vi_max(c, d));
    }
    most = vi_max(most, other);
    for (; n >= VF_N; n -= VF_N, x += VF_N) most = vi_max(most, vf_bits(vf_abs(vf_load(x))));
    if (n) most = vi_max(most, vf_bits(vf_abs(vf_load_part(x, n))));
    const int32_t bits = lanes_largest(most);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* n numbers to integers, and their sum; what pads them to a unit becomes 0. */
static int32_t numbers_quantize(const float *x, size_t n, size_t unit, vf inverse, int bias,
                                size_t ahead, int8_t *out) {
    vi sum = vi_set(0);
    const vi raise =
        vi_set((int)((unsigned)bias * 0x01010101)); /* + 128 is the other highest bit */
    for (; n >= 4 * VF_N; n -= 4 * VF_N, x += 4 * VF_N, out += 4 * VF_N) {
        vi q[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            __builtin_prefetch(x + i * VF_N + ahead);
            q[i] = vf_round(vf_mul(vf_load(x + i * VF_N), inverse));
        }
        const vi packed = vi_bytes(q[0], q[1], q[2], q[3]);
        DOT_I8(sum, vi_set(0x01010101), packed); /* ones need no bias */
        vi_store(out, vi_xor(packed, raise));
    }
    for (; n >= VF_N; n -= VF_N, x += VF_N, out += VF_N) {
        const vi q = vf_round(vf_mul(vf_load(x), inverse));
        sum = vi_add(sum, q);
        vi_store_bytes(out, vi_add(q, vi_set(bias)));
    }
    if (n) {
        int8_t rest[VF_N];
        const vi q = vf_round(vf_mul(vf_load_part(x, n), inverse));
        sum = vi_add(sum, q);
        vi_store_bytes(rest, vi_add(q, vi_set(bias)));
        memset(out, 0, eg__round_up(n, unit));
        memcpy(out, rest, n);
    }
    return lanes_sum(sum);
}

static void row_quantize(const eg__packed_quantized *b, const float *x,
                         const eg__quantized_rows *to, size_t row, int bias, size_t ahead) {
    const size_t unit = eg__quantized_unit(b->type);
    const float most = row_most(x, b->k);
    const bool finite = most <= FLT_MAX, tiny = most < 0x1p-100f;
    int8_t *out = to->values + row * to->depth;
    to->scale[row] = !finite ? NAN : tiny ? 0 : most / 127;
    if (!finite || tiny) { /* C is NaN, or 0, whatever the integers are */
        memset(out, bias, to->depth);
        memset(to->sum + row * b->groups, 0, b->groups * sizeof *to->sum);
        return;
    }
    const vf inverse = vf_set(127 / most);
    for (size_t g = 0, from = 0; g < b->groups; from = b->end[g++]) {
        to->sum[row * b->groups + g] =
            numbers_quantize(x + from, b->end[g] - from, unit, inverse, bias, ahead, out);
        out += eg__quantized_units(b, g) * unit;
    }
}

#endif
