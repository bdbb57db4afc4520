/* Entropy over a window that slides: counts of bytes and the sum of c log2 c over them, in integers. */
#ifndef EG__ENTROPY_H
#define EG__ENTROPY_H

#include "elegans/entropy.h"
#include "memory/memory.h"

/* With f(c) = c log2 c, rounded to multiples of 1 / EG__ENTROPY_ONE, the entropy of n bytes of
 * which each value occurs c times is (f(n) - sum of f(c)) / n. All sums are of integers, so adding
 * and removing a byte is exact: no error accumulates over a long input. */
enum { EG__ENTROPY_ONE = 1 << 24 };

typedef struct eg__entropy_window {
    const int64_t *rise;  /* f(c + 1) - f(c) for all c < length of the window */
    uint64_t length;      /* of a whole window */
    uint64_t low, high;   /* the bytes [low, high) are inside */
    int64_t whole, parts; /* f(high - low), and the sum of f over the counts */
    uint32_t counts[256];
} eg__entropy_window;

/* Writes f(c + 1) - f(c) for from <= c < to. */
void eg__entropy_rises(int64_t *rise, uint64_t from, uint64_t to);

/* Entropies at positions [at, at + count) of an input, of which bytes[i - origin] is byte i; bytes
 * from `end` on do not exist. Positions are visited in order, each once. */
void eg__entropy_slide(eg__entropy_window *window, const unsigned char *bytes, uint64_t origin,
                       uint64_t end, uint64_t at, size_t count, float *out);

/* ---- entropy_curve.c */
eg__memory *eg__entropy_curve_memory(const eg_entropy_curve *curve);

#endif
