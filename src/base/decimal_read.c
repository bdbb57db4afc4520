/* Decimal digits to the nearest double. */
#include "base/decimal.h"

#include <string.h>

/* Both factors are doubles: their product or quotient is rounded once. */
static bool join_exactly(uint64_t digits, int exponent, double *out) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits >> 53 || exponent < -22 || exponent > 22) return false;
    *out = exponent < 0 ? (double)digits / tens[-exponent] : (double)digits * tens[exponent];
    return true;
}

bool eg__decimal_join(uint64_t digits, int exponent, double *out) {
    if (!digits) return *out = 0, true;
    if (join_exactly(digits, exponent, out)) return true;
    if (exponent < EG__TEN_LEAST || exponent > EG__TEN_MOST) return false;
    const eg__ten t = eg__tens()[exponent - EG__TEN_LEAST];
    const int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    const unsigned __int128 low = (unsigned __int128)digits * t.low;
    unsigned __int128 high = (unsigned __int128)digits * t.high + (uint64_t)(low >> 64);
    int e = eg__ten_exponent(exponent) - zeros + 64; /* of `high` */
    if (!(high >> 127)) {
        high <<= 1; /* the bit from below is one of those that are uncertain */
        e--;
    }
    /* The real product is up to four units of `high` above it: one that the power lacks, one that its
     * lowest word had, both perhaps doubled. 53 bits are kept; the others must be clear of a tie. */
    enum { DROPPED = 128 - 53 };
    const unsigned __int128 rest = high & (((unsigned __int128)1 << DROPPED) - 1);
    const unsigned __int128 half = (unsigned __int128)1 << (DROPPED - 1);
    if (rest <= half && rest + 4 >= half) return false;
    uint64_t m = (uint64_t)(high >> DROPPED);
    m += rest > half;
    if (m >> 53) {
        m >>= 1;
        e++;
    }
    const int biased = e + DROPPED + 1075;
    if (biased < 1 || biased > 2046) return false; /* denormal or infinite */
    const uint64_t bits = (uint64_t)biased << 52 | (m & ((UINT64_C(1) << 52) - 1));
    memcpy(out, &bits, sizeof bits);
    return true;
}
