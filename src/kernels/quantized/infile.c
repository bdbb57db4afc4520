/* Numbers as files have them, one by one: what the kernels for them are measured by. */
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

int eg__infile_block_integer(eg_type type, const void *block, size_t i) {
    const uint8_t *numbers = (const uint8_t *)block + 2;
    if (type == EG_I8) return (int8_t)numbers[i];
    return (numbers[i % 16] >> (i / 16 * 4) & 15) - 8;
}

float eg__infile_number(eg_type type, const void *row, size_t i) {
    const uint8_t *at = row;
    float value;
    if (type == EG_F32) {
        memcpy(&value, at + 4 * i, sizeof value);
        return value;
    }
    if (!eg__infile_is_blocks(type)) return half_at(type, at + 2 * i);
    const uint8_t *block = at + i / EG__BLOCK * eg__infile_block_bytes(type);
    return eg__infile_block_scale(block) *
           (float)eg__infile_block_integer(type, block, i % EG__BLOCK);
}

static const struct {
    const char *name;
    eg_type type;
} names[] = {{"F32", EG_F32}, {"F16", EG_F16}, {"BF16", EG_BF16}, {"Q8_0", EG_I8}, {"Q4_0", EG_I4}};

const char *eg__infile_name(eg_type type) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type) return names[i].name;
    return NULL;
}

bool eg__infile_find(const char *name, eg_type *out) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].type;
            return true;
        }
    return false;
}

void eg__infile_quantize(const float *x, int8_t values[EG__BLOCK], float *scale) {
    float most = 0;
    for (int i = 0; i < EG__BLOCK; i++) {
        const float size = fabsf(x[i]);
        if (size > most || isnan(size)) most = size; /* a NaN stays: nothing is above it */
    }
    const bool finite = most <= FLT_MAX;
    const bool tiny = most < 0x1p-100f; /* its inverse would not be a float: counts as zeros */
    const float inverse = finite && !tiny ? 127 / most : 0;
    *scale = !finite ? NAN : tiny ? 0 : most / 127;
    for (int i = 0; i < EG__BLOCK; i++) {
        const float q = finite ? nearbyintf(x[i] * inverse) : 0;
        values[i] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
    }
}

eg__operation eg__infile_operation(eg_type type, bool integers) {
    switch (type) {
    case EG_F32: return EG__OP_infile_f32;
    case EG_F16: return EG__OP_infile_f16;
    case EG_BF16: return EG__OP_infile_bf16;
    case EG_I8: return integers ? EG__OP_infile_q8i8 : EG__OP_infile_q8;
    default: return integers ? EG__OP_infile_q4i8 : EG__OP_infile_q4;
    }
}

void eg__infile_widen(eg__f16_to_f32_function *halves, eg_type type, size_t n, const void *from,
                      float *to) {
    const uint8_t *at = from;
    if (type == EG_F32) memcpy(to, from, n * sizeof *to);
    else if (type == EG_F16 || type == EG_BF16) halves(n, from, to);
    else
        for (size_t i = 0; i < n; i += EG__BLOCK, at += eg__infile_block_bytes(type)) {
            const float scale = eg__infile_block_scale(at);
            for (size_t j = 0; j < EG__BLOCK; j++)
                to[i + j] = scale * (float)eg__infile_block_integer(type, at, j);
        }
}
