/* Slides a window over bytes and gives the entropy at each place, in constant time per byte. */
#include "signal/entropy.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

void eg__entropy_rises(int64_t *rise, uint64_t from, uint64_t to) {
    int64_t last = from ? llround((double)from * log2((double)from) * EG__ENTROPY_ONE) : 0;
    for (uint64_t c = from; c < to; c++) {
        const double next = (double)(c + 1);
        const int64_t f = llround(next * log2(next) * EG__ENTROPY_ONE);
        rise[c] = f - last;
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

/* The factor from `excess` to a normalized entropy. excess = f(n) - sum of f(c) is n times the
 * entropy, and >= 0 even with rounding. Its maximum is 8 bits per byte plus a little rounding; the
 * factor is chosen so that this maximum does not exceed 1, and the mapping is monotone, so the
 * inner loop needs no clamp. */
static float unit_of(uint64_t length) {
    const double most = (8.0 * EG__ENTROPY_ONE + 0.5) * (double)length;
    float unit = (float)(1 / (8.0 * EG__ENTROPY_ONE * (double)length));
    while ((float)most * unit > 1) unit = nextafterf(unit, 0);
    return unit;
}

/* ---- whole windows: a byte goes, another comes */

/* If both bytes are equal, the second update undoes the first; a branch to skip both would cost
 * more in mispredictions. */
static inline int64_t step(const int64_t *rise, uint32_t *counts, unsigned char gone,
                           unsigned char come, int64_t excess) {
    const uint32_t less = counts[gone] - 1;
    counts[gone] = less;
    const uint32_t more = counts[come];
    counts[come] = more + 1;
    return excess + rise[less] - rise[more];
}

static int64_t slide_one(eg__entropy_window *w, int64_t excess, const unsigned char *bytes,
                         size_t count, float *out) {
    const unsigned char *next = bytes + w->length;
    const float unit = unit_of(w->length);
    for (size_t i = 0; i < count; i++) {
        excess = step(w->rise, w->counts, bytes[i], next[i], excess);
        out[i] = (float)excess * unit;
    }
    return excess;
}

/* Two windows `half` positions apart are interleaved: while one waits for a store to be forwarded
 * to the load of a count, the other goes on. */
static int64_t slide_two(eg__entropy_window *w, int64_t first, const unsigned char *bytes,
                         size_t half, float *out) {
    const int64_t *rise = w->rise;
    const unsigned char *a = bytes, *b = a + half, *a_next = a + w->length, *b_next = b + w->length;
    const float unit = unit_of(w->length);
    uint32_t counts[2][256]; /* one array, so that one base register reaches both */
    memcpy(counts[0], w->counts, sizeof counts[0]);
    memset(counts[1], 0, sizeof counts[1]);
    int64_t second = w->whole;
    for (uint64_t i = 0; i < w->length; i++) second -= rise[counts[1][b[i]]++];
    for (size_t i = 0; i < half; i++) {
        first = step(rise, counts[0], a[i], a_next[i], first);
        out[i] = (float)first * unit;
        second = step(rise, counts[1], b[i], b_next[i], second);
        out[half + i] = (float)second * unit;
    }
    memcpy(w->counts, counts[1], sizeof w->counts);
    return second;
}

/* Counting a new window costs as much as sliding over it, so it must be a small part of the
 * work. */
enum { PARTING = 8 };

/* The window is whole and `bytes` begins with it; `count` bytes follow it. */
static void slide_whole(eg__entropy_window *w, const unsigned char *bytes, size_t count,
                        float *out) {
    int64_t excess = w->whole - w->parts;
    const size_t half = count / 2;
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
            *out = (float)(w->whole - w->parts) * unit_of(w->high - w->low);
        }
        at += done, out += done, count -= done;
    }
}
