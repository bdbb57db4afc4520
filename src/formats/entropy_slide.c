/* Slides a window over bytes and gives the entropy at each place, in constant time per byte. */
#include "formats/entropy.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

void eg__entropy_rises(int32_t *rise, uint64_t from, uint64_t to) {
    int64_t last = from ? llround((double)from * log2((double)from) * EG__ENTROPY_ONE) : 0;
    for (uint64_t c = from; c < to; c++) {
        const double next = (double)(c + 1);
        const int64_t f = llround(next * log2(next) * EG__ENTROPY_ONE);
        rise[c] = (int32_t)(f - last);
        last = f;
    }
}

/* ---- one byte at a time: windows that are cut by an end of the input */

static void enter(eg__entropy_window *w, unsigned char byte) {
    w->parts += w->rise[w->counts[byte]++];
    w->whole += w->rise[w->high++ - w->low];
}

static void leave(eg__entropy_window *w, unsigned char byte) {
    w->parts -= w->rise[--w->counts[byte]];
    w->low++;
    w->whole -= w->rise[w->high - w->low];
}

static float bound(float value) { return value < 1 ? (value > 0 ? value : 0) : 1; }

static float value_of(const eg__entropy_window *w) {
    const double bits = 8.0 * EG__ENTROPY_ONE * (double)(w->high - w->low);
    return bound((float)((double)(w->whole - w->parts) / bits));
}

/* ---- whole windows, in blocks whose sums are converted together */

enum {
    BLOCK = 256,
    /* Below, a sum of up to 8 bits per byte fits into 32 bits; beyond, only its change within a block
     * does: 256 times log2 of the largest window and 1.5 bits. */
    ABSOLUTE = 512,
    /* Counting a window anew costs as much as sliding over it; it must be a small part. */
    PARTING = 8
};

/* A byte goes, another comes. When they are the same, the second line undoes the first: a branch that
 * skips both would be mispredicted more dearly than they cost. */
static inline int32_t step(const int32_t *rise, uint32_t *counts, unsigned char gone,
                           unsigned char come, int32_t sum) {
    sum += rise[--counts[gone]];
    sum -= rise[counts[come]++];
    return sum;
}

/* The sums of a block become entropies; returns the last sum. `count` is a constant where this is called
 * with BLOCK, so that the first loop becomes vector instructions. It needs no bounds: its sums are at
 * least 0 because f(a) + f(b) <= f(a + b) survives rounding, and 8 bits per byte only n = 256 reaches,
 * exactly. */
static inline int64_t convert(const int32_t *sums, int64_t base, uint64_t length, int count,
                              float *out) {
    const double unit = 1 / (8.0 * EG__ENTROPY_ONE * (double)length);
    const float scale = (float)unit;
    const double from = (double)base;
    if (length < ABSOLUTE)
        for (int i = 0; i < count; i++) out[i] = (float)sums[i] * scale;
    else
        for (int i = 0; i < count; i++) out[i] = bound((float)((from + (double)sums[i]) * unit));
    return base + sums[count - 1];
}

static int64_t base_of(int64_t excess, uint64_t length) { return length < ABSOLUTE ? 0 : excess; }

/* `excess` is the length of the window times its entropy, f(n) - sum of f(c); returns the last. */
static int64_t slide_one(eg__entropy_window *w, int64_t excess, const unsigned char *bytes,
                         size_t count, float *out) {
    int32_t sums[BLOCK];
    while (count) {
        const int piece = (int)eg__min(count, BLOCK);
        const int64_t base = base_of(excess, w->length);
        int32_t sum = (int32_t)(excess - base);
        for (int i = 0; i < piece; i++)
            sums[i] = sum = step(w->rise, w->counts, bytes[i], bytes[i + w->length], sum);
        excess = piece == BLOCK ? convert(sums, base, w->length, BLOCK, out)
                                : convert(sums, base, w->length, piece, out);
        bytes += piece, out += piece, count -= (size_t)piece;
    }
    return excess;
}

/* The two windows of slide_two, in one piece so that one register reaches all of it. */
typedef struct pair {
    uint32_t counts[2][256];
    int32_t sums[2][BLOCK];
} pair;

/* Two windows side by side, `half` bytes apart, each over so many blocks: where a count is read soon after
 * it was written, one waits for the store while the other goes on. */
static int64_t slide_two(eg__entropy_window *w, int64_t first, const unsigned char *bytes,
                         size_t half, float *out) {
    const uint64_t n = w->length;
    const int32_t *rise = w->rise;
    pair p;
    memcpy(p.counts[0], w->counts, sizeof p.counts[0]);
    memset(p.counts[1], 0, sizeof p.counts[1]);
    int64_t second = w->whole;
    for (uint64_t i = 0; i < n; i++) second -= rise[p.counts[1][bytes[half + i]]++];
    for (size_t at = 0; at < half; at += BLOCK) {
        const int64_t base_a = base_of(first, n), base_b = base_of(second, n);
        const unsigned char *a = bytes + at, *b = a + half, *a_end = a + n, *b_end = b + n;
        int32_t sum_a = (int32_t)(first - base_a), sum_b = (int32_t)(second - base_b);
        for (int i = 0; i < BLOCK; i++) {
            p.sums[0][i] = sum_a = step(rise, p.counts[0], a[i], a_end[i], sum_a);
            p.sums[1][i] = sum_b = step(rise, p.counts[1], b[i], b_end[i], sum_b);
        }
        first = convert(p.sums[0], base_a, n, BLOCK, out + at);
        second = convert(p.sums[1], base_b, n, BLOCK, out + half + at);
    }
    memcpy(w->counts, p.counts[1], sizeof w->counts);
    return second;
}

/* The window is whole and `bytes` begins with it; `count` bytes follow it. */
static void slide_whole(eg__entropy_window *w, const unsigned char *bytes, size_t count,
                        float *out) {
    int64_t excess = w->whole - w->parts;
    const size_t half = count / (2 * BLOCK) * BLOCK;
    size_t done = 0;
    if (half / PARTING >= w->length) {
        excess = slide_two(w, excess, bytes, half, out);
        done = 2 * half;
    }
    excess = slide_one(w, excess, bytes + done, count - done, out + done);
    w->parts = w->whole - excess;
    w->low += count;
    w->high += count;
}

void eg__entropy_slide(eg__entropy_window *w, const unsigned char *bytes, uint64_t origin,
                       uint64_t end, uint64_t at, size_t count, float *out) {
    const uint64_t before = w->length / 2, after = w->length - before;
    while (count) {
        size_t done = 1;
        if (w->high - w->low == w->length && w->high < end) {
            done = (size_t)eg__min(count, end - w->high);
            slide_whole(w, bytes + (w->low - origin), done, out);
        } else {
            const uint64_t low = at > before ? at - before : 0;
            const uint64_t high = eg__min(at + after, end);
            while (w->high < high) enter(w, bytes[w->high - origin]);
            while (w->low < low) leave(w, bytes[w->low - origin]);
            *out = value_of(w);
        }
        at += done, out += done, count -= done;
    }
}
