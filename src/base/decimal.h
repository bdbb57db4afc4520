/* Between binary and decimal without big integers: powers of ten in 128 bits. Whoever uses them knows
 * how far off a result may be, and asks printf or strtod where that could matter. */
#ifndef EG__DECIMAL_H
#define EG__DECIMAL_H

#include "base/base.h"

/* 10^n is within [t, t + 1) 2^eg__ten_exponent(n), where t = high:low has its top bit set. */
typedef struct eg__ten {
    uint64_t high, low;
} eg__ten;
enum { EG__TEN_LEAST = -342, EG__TEN_MOST = 342, EG__TEN_EXACT = 55 }; /* exact from 0 to that */
const eg__ten *eg__tens(void); /* [n - EG__TEN_LEAST]; made once per process, from any thread */
static inline int eg__ten_exponent(int n) { return ((n * 217706) >> 16) - 127; }
extern const uint64_t eg__ten_integers[20]; /* 10^0 to 10^19 */

/* m 2^e 10^n as a fixed-point number: the real value is within [x, x + 2) 2^-64, or x 2^-64 itself.
 * False when it is 2^63 or more, or not a number of this table. m is not 0. */
typedef struct eg__scaled {
    unsigned __int128 x;
    bool exact;
    unsigned __int128 half; /* a unit of m, divided by two: within [half, half + 1) 2^-64 */
} eg__scaled;
bool eg__decimal_scale(uint64_t m, int e, int n, eg__scaled *out);

/* ---- decimal_write.c: as printf's %.*g with the fewest digits, at least `least`, of which strtof or
 * strtod make the same number again. Returns the length, or 0 when it cannot tell. */
size_t eg__decimal_shortest_f64(char out[EG_NUMBER_SIZE], double value);
size_t eg__decimal_shortest_f32(char out[EG_NUMBER_SIZE], float value);
/* As printf's %.*f. Returns the length, or 0. */
size_t eg__decimal_fixed(char *out, double value, unsigned digits);

/* ---- decimal_read.c: digits 10^exponent, correctly rounded. False when it cannot tell. */
bool eg__decimal_join(uint64_t digits, int exponent, double *out);
/* ---- number.c: reads the number that begins at `text` and returns what follows it. NULL when there is
 * none, or eg_number_parse must have a look at it. */
const char *eg__decimal_scan(const char *text, const char *end, double *out);

#endif
