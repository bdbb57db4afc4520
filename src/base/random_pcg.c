/* SeedSequence and PCG64, and what numpy's Generator makes of its words. */
#include "base/random.h"

#include <assert.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static wide join(const uint64_t halves[2]) { return (wide)halves[0] << 64 | halves[1]; }
static void split(wide value, uint64_t halves[2]) {
    halves[0] = (uint64_t)(value >> 64);
    halves[1] = (uint64_t)value;
}

/* ---- the seed: a pool of four words that every word of the seed is mixed into */

static uint32_t hash(uint32_t value, uint32_t *constant) {
    value ^= *constant;
    *constant *= 0x931e8875u;
    value *= *constant;
    return value ^ (value >> 16);
}

static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t result = 0xca01f9ddu * x - 0x4973f715u * y;
    return result ^ (result >> 16);
}

static void fill_pool(const uint32_t *words, size_t count, uint32_t pool[4]) {
    uint32_t constant = 0x43b0d7e5u;
    for (size_t i = 0; i < 4; i++) pool[i] = hash(i < count ? words[i] : 0, &constant);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            if (i != j) pool[j] = mix(pool[j], hash(pool[i], &constant));
    for (size_t i = 4; i < count; i++)
        for (size_t j = 0; j < 4; j++) pool[j] = mix(pool[j], hash(words[i], &constant));
}

void eg__seed_sequence(const uint32_t *words, size_t count, uint64_t out[4]) {
    uint32_t pool[4], made[8], constant = 0x8b51f9ddu;
    fill_pool(words, count, pool);
    for (size_t i = 0; i < 8; i++) {
        uint32_t value = pool[i % 4] ^ constant;
        constant *= 0x58f38dedu;
        value *= constant;
        made[i] = value ^ (value >> 16);
    }
    for (size_t i = 0; i < 4; i++) out[i] = (uint64_t)made[2 * i + 1] << 32 | made[2 * i];
}

/* ---- the generator */

static wide step(eg__pcg *pcg) {
    const uint64_t multiplier[2] = {0x2360ed051fc65da4u, 0x4385df649fccf645u};
    wide next = join(pcg->state) * join(multiplier) + join(pcg->increment);
    split(next, pcg->state);
    return next;
}

void eg__pcg_seed_words(eg__pcg *pcg, const uint32_t *words, size_t count) {
    uint64_t key[4];
    eg__seed_sequence(words, count, key);
    memset(pcg, 0, sizeof *pcg);
    split(join(key + 2) << 1 | 1, pcg->increment);
    step(pcg);
    split(join(pcg->state) + join(key), pcg->state);
    step(pcg);
}

void eg__pcg_seed(eg__pcg *pcg, uint64_t seed) {
    const uint32_t words[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    /* a missing word counts as zero, so the second one does no harm to small seeds */
    eg__pcg_seed_words(pcg, words, 2);
}

uint64_t eg__pcg_u64(eg__pcg *pcg) {
    wide state = step(pcg);
    uint64_t folded = (uint64_t)(state >> 64) ^ (uint64_t)state;
    unsigned turn = (unsigned)(state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

uint32_t eg__pcg_u32(eg__pcg *pcg) {
    if (pcg->has_half) {
        pcg->has_half = false;
        return pcg->half;
    }
    uint64_t both = eg__pcg_u64(pcg);
    pcg->has_half = true;
    pcg->half = (uint32_t)(both >> 32);
    return (uint32_t)both;
}

/* Lemire's way: the high word of a product, drawn again where the low word shows a bias. */
uint32_t eg__pcg_bounded(eg__pcg *pcg, uint32_t most) {
    if (!most) return 0;
    if (most == UINT32_MAX) return eg__pcg_u32(pcg);
    const uint32_t count = most + 1;
    uint64_t product = (uint64_t)eg__pcg_u32(pcg) * count;
    if ((uint32_t)product < count) {
        const uint32_t least = (UINT32_MAX - most) % count;
        while ((uint32_t)product < least) product = (uint64_t)eg__pcg_u32(pcg) * count;
    }
    return (uint32_t)(product >> 32);
}

/* ---- sequences */

/* Puts a random earlier (or the same) value in each place from the last down to `down_to`. */
static void shuffle_down(eg__pcg *pcg, uint32_t count, uint32_t down_to, uint32_t *values) {
    for (uint32_t i = count; i-- > down_to;) {
        uint32_t j = eg__pcg_bounded(pcg, i), kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

void eg__pcg_shuffle(eg__pcg *pcg, uint32_t count, uint32_t *values) {
    shuffle_down(pcg, count, 1, values);
}

/* Floyd's way for few of many: `taken` is a set of bits. */
static void choose_few(eg__pcg *pcg, uint32_t count, uint32_t chosen, uint32_t *out,
                       uint32_t *taken) {
    memset(taken, 0, sizeof *taken * eg__ceil_div(count, 32));
    for (uint32_t i = 0; i < chosen; i++) {
        uint32_t last = count - chosen + i, value = eg__pcg_bounded(pcg, last);
        if (taken[value / 32] >> value % 32 & 1) value = last;
        taken[value / 32] |= 1u << value % 32;
        out[i] = value;
    }
    eg__pcg_shuffle(pcg, chosen, out);
}

void eg__pcg_choice(eg__pcg *pcg, uint32_t count, uint32_t chosen, uint32_t *out, uint32_t *work) {
    assert(chosen <= count);
    if (!chosen) return;
    if (count <= 10000 || chosen <= count / 50) {
        choose_few(pcg, count, chosen, out, work);
        return;
    }
    for (uint32_t i = 0; i < count; i++) work[i] = i;
    shuffle_down(pcg, count, (uint32_t)eg__max(count - chosen, 1), work);
    memcpy(out, work + (count - chosen), sizeof *out * chosen);
}
