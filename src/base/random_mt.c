/* MT19937 and what numpy's RandomState and torch make of its words. */
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SHIFT = 397 }; /* how far ahead the recurrence looks */

void eg__mt_seed(eg__mt *mt, uint32_t seed) {
    mt->words[0] = seed;
    for (uint32_t i = 1; i < EG__MT_WORDS; i++) {
        uint32_t before = mt->words[i - 1];
        mt->words[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    mt->at = EG__MT_WORDS;
}

static uint32_t twist(uint32_t here, uint32_t next, uint32_t ahead) {
    const uint32_t y = (here & 0x80000000u) | (next & 0x7fffffffu);
    return ahead ^ (y >> 1) ^ (0x9908b0dfu & -(y & 1));
}

/* The words ahead wrap around: a loop before that and one after it need no remainders. */
static void make_block(eg__mt *mt) {
    enum { WRAPS = EG__MT_WORDS - SHIFT };
    uint32_t *w = mt->words;
    for (uint32_t i = 0; i < WRAPS; i++) w[i] = twist(w[i], w[i + 1], w[i + SHIFT]);
    for (uint32_t i = WRAPS; i < EG__MT_WORDS - 1; i++) w[i] = twist(w[i], w[i + 1], w[i - WRAPS]);
    w[EG__MT_WORDS - 1] = twist(w[EG__MT_WORDS - 1], w[0], w[SHIFT - 1]);
    mt->at = 0;
}

static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

uint32_t eg__mt_u32(eg__mt *mt) {
    if (mt->at == EG__MT_WORDS) make_block(mt);
    return temper(mt->words[mt->at++]);
}

uint64_t eg__mt_u64(eg__mt *mt) {
    uint64_t high = eg__mt_u32(mt);
    return high << 32 | eg__mt_u32(mt);
}

double eg__mt_sample(eg__mt *mt) {
    double high = eg__mt_u32(mt) >> 5, low = eg__mt_u32(mt) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

void eg__mt_skip(eg__mt *mt, uint64_t draws) {
    while (draws) {
        if (mt->at == EG__MT_WORDS) make_block(mt);
        const uint64_t here = eg__min(draws, EG__MT_WORDS - mt->at);
        mt->at += (uint32_t)here;
        draws -= here;
    }
}

uint64_t eg__mt_interval(eg__mt *mt, uint64_t most) {
    if (!most) return 0;
    uint64_t mask = UINT64_MAX >> __builtin_clzll(most), value;
    do value = (most > UINT32_MAX ? eg__mt_u64(mt) : eg__mt_u32(mt)) & mask;
    while (value > most);
    return value;
}

void eg__mt_permutation(eg__mt *mt, uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) out[i] = i;
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = (uint32_t)eg__mt_interval(mt, i), kept = out[i];
        out[i] = out[j];
        out[j] = kept;
    }
}

void eg__mt_choice(eg__mt *mt, uint32_t count, const uint32_t *from, uint32_t chosen,
                   uint32_t *out) {
    assert(chosen <= count);
    eg__mt_permutation(mt, count, out);
    for (uint32_t i = 0; from && i < chosen; i++) out[i] = from[out[i]];
}

/* fmaf without the call. The product is exact in double; a sum rounded to double and then to float
 * is rounded as if at once unless the double lies halfway between two floats. Denormals have
 * fewer bits: their halves lie elsewhere. */
static float fused(float a, float b, float c) {
    const double sum = (double)a * (double)b + (double)c;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const bool halfway = (bits & 0x1fffffff) == 0x10000000;
    return halfway || fabs(sum) < 0x1p-125 ? fmaf(a, b, c) : (float)sum;
}

void eg__torch_uniform(eg__mt *mt, size_t count, float *out, double low, double high) {
    const float from = (float)low, range = (float)high - from;
    /* torch's vector code fuses; a product rounded by itself would differ in the last bit */
    for (size_t i = 0; i < count;) {
        if (mt->at == EG__MT_WORDS) make_block(mt);
        const size_t here = eg__min(count - i, EG__MT_WORDS - mt->at);
        const uint32_t *words = mt->words + mt->at;
        for (size_t k = 0; k < here; k++)
            out[i + k] = fused((float)(temper(words[k]) & 0xffffff) * 0x1p-24f, range, from);
        mt->at += (uint32_t)here;
        i += here;
    }
}

uint64_t eg__torch_normal_draws(uint64_t count) {
    /* few: one by one, in pairs of doubles of two words each; many: one word each, in blocks of 16,
     * of which an incomplete last one is drawn anew as the last 16 values */
    if (count < 16) return (count + 1) / 2 * 4;
    return count + (count % 16 ? 16 : 0);
}
