/* Blocks of numbers as floats, one by one: files align nothing to a float. */
#include "kernels/blocks.h"
#include "kernels/kernels.h"

#include <string.h>

enum { BLOCK = 32 };

static uint16_t bits_at(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static float half(const unsigned char *at) {
    const uint16_t bits = bits_at(at);
    float value;
    eg__f16_to_f32_ref(1, &bits, &value);
    return value;
}

static void from_f32(const unsigned char *at, float *out) { memcpy(out, at, sizeof *out); }
static void from_f16(const unsigned char *at, float *out) { *out = half(at); }
static void from_bf16(const unsigned char *at, float *out) {
    const uint32_t bits = (uint32_t)bits_at(at) << 16;
    memcpy(out, &bits, sizeof *out);
}
static void from_q8_0(const unsigned char *at, float *out) {
    const float scale = half(at);
    for (int i = 0; i < BLOCK; i++) out[i] = scale * (float)(int8_t)at[2 + i];
}
static void from_q4_0(const unsigned char *at, float *out) {
    const float scale = half(at);
    for (int i = 0; i < BLOCK / 2; i++) {
        out[i] = scale * (float)((at[2 + i] & 15) - 8);
        out[i + BLOCK / 2] = scale * (float)((at[2 + i] >> 4) - 8);
    }
}

static const struct {
    eg__format_info info;
    void (*widen)(const unsigned char *at, float *out); /* one block */
} formats[EG__FORMATS] = {{{"F32", 1, 4}, from_f32},
                          {{"F16", 1, 2}, from_f16},
                          {{"BF16", 1, 2}, from_bf16},
                          {{"Q8_0", BLOCK, 34}, from_q8_0},
                          {{"Q4_0", BLOCK, 18}, from_q4_0}};

const eg__format_info *eg__format_get(eg__format format) { return &formats[format].info; }

bool eg__format_find(const char *name, eg__format *out) {
    for (unsigned i = 0; i < EG__FORMATS; i++)
        if (strcmp(formats[i].info.name, name) == 0) {
            *out = (eg__format)i;
            return true;
        }
    return false;
}

void eg__blocks_widen(eg__format format, const void *blocks, size_t count, float *out) {
    const unsigned char *at = blocks;
    const eg__format_info *info = &formats[format].info;
    for (size_t i = 0; i < count; i++) {
        formats[format].widen(at, out);
        at += info->bytes;
        out += info->block;
    }
}
