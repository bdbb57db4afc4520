/* Values in file layout, one by one: the definition for the kernels. */
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float half_at(eg_type type, const void *at) {
    uint16_t half;
    float value;
    memcpy(&half, at, sizeof half);
    if (type == EG_BF16) eg__bf16_to_f32_ref(1, &half, &value);
    else eg__f16_to_f32_ref(1, &half, &value);
    return value;
}

float eg__infile_block_scale(const void *block) { return half_at(EG_F16, block); }

int eg__infile_integer_q8_0(const uint8_t *block, size_t i) { return (int8_t)block[2 + i]; }
int eg__infile_integer_q4_0(const uint8_t *block, size_t i) {
    return (block[2 + i % 16] >> (i / 16 * 4) & 15) - 8;
}

void eg__infile_dequantize_q8_0(const uint8_t *block, float *to) {
    const float scale = eg__infile_block_scale(block);
    for (size_t i = 0; i < EG__BLOCK; i++) to[i] = scale * (float)eg__infile_integer_q8_0(block, i);
}
void eg__infile_dequantize_q4_0(const uint8_t *block, float *to) {
    const float scale = eg__infile_block_scale(block);
    for (size_t i = 0; i < EG__BLOCK; i++) to[i] = scale * (float)eg__infile_integer_q4_0(block, i);
}

float eg__infile_number(eg__infile_format format, const void *row, size_t i) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    const uint8_t *block = (const uint8_t *)row + i / of->block_elements * of->block_bytes;
    float value;
    if (of->integer)
        return eg__infile_block_scale(block) * (float)of->integer(block, i % of->block_elements);
    if (of->type != EG_F32) return half_at(of->type, block);
    memcpy(&value, block, sizeof value);
    return value;
}

void eg__infile_quantize(const float *x, int8_t values[EG__BLOCK], float *scale) {
    float most = 0;
    for (int i = 0; i < EG__BLOCK; i++) {
        const float size = fabsf(x[i]);
        if (size > most || isnan(size)) most = size; /* a NaN stays: nothing is above it */
    }
    const bool finite = most <= FLT_MAX;
    const bool tiny = most < 0x1p-100f; /* 1/scale would overflow: treated as zeros */
    const float inverse = finite && !tiny ? 127 / most : 0;
    *scale = !finite ? NAN : tiny ? 0 : most / 127;
    for (int i = 0; i < EG__BLOCK; i++) {
        const float q = finite ? nearbyintf(x[i] * inverse) : 0;
        values[i] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
    }
}

void eg__infile_widen(eg__f16_to_f32_function *halves, eg__infile_format format, size_t n,
                      const void *from, float *to) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    const uint8_t *block = from;
    if (of->dequantize)
        for (size_t i = 0; i < n; i += of->block_elements, block += of->block_bytes)
            of->dequantize(block, to + i);
    else if (of->type == EG_F32) memcpy(to, from, n * sizeof *to);
    else halves(n, from, to);
}
