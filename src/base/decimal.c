/* Powers of ten in 128 bits, and products with them. */
#include "base/decimal.h"

#include <pthread.h>
#include <string.h>

const uint64_t eg__ten_integers[20] = {1u,
                                       10u,
                                       100u,
                                       1000u,
                                       10000u,
                                       100000u,
                                       1000000u,
                                       10000000u,
                                       100000000u,
                                       1000000000u,
                                       10000000000u,
                                       100000000000u,
                                       1000000000000u,
                                       10000000000000u,
                                       100000000000000u,
                                       1000000000000000u,
                                       10000000000000000u,
                                       100000000000000000u,
                                       1000000000000000000u,
                                       10000000000000000000u};

/* ---- the table, from exact integers of as many words as the largest power of five has and more */
enum { WORDS = 16 };
static eg__ten tens[EG__TEN_MOST - EG__TEN_LEAST + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool made; /* atomic: asking it takes less time than asking `once` */

/* The top 128 bits; the lowest word comes first. */
static eg__ten top_of(const uint64_t words[WORDS]) {
    int top = WORDS - 1;
    while (!words[top]) top--;
    const int shift = __builtin_clzll(words[top]);
    uint64_t next[3] = {0};
    for (int i = 0; i < 3 && top >= i; i++) next[i] = words[top - i];
    if (!shift) return (eg__ten){next[0], next[1]};
    return (eg__ten){next[0] << shift | next[1] >> (64 - shift),
                     next[1] << shift | next[2] >> (64 - shift)};
}

static void make_tens(void) {
    uint64_t up[WORDS] = {1}, down[WORDS] = {0};
    down[WORDS - 1] = UINT64_C(1) << 63;
    for (int n = 0; n <= EG__TEN_MOST; n++) { /* 5^n, and 2^1023 / 5^n without its fraction */
        tens[n - EG__TEN_LEAST] = top_of(up);
        if (n) tens[-n - EG__TEN_LEAST] = top_of(down);
        unsigned __int128 carry = 0, rest = 0;
        for (int i = 0; i < WORDS; i++) {
            carry += (unsigned __int128)up[i] * 5;
            up[i] = (uint64_t)carry;
            carry >>= 64;
        }
        for (int i = WORDS; i-- > 0;) {
            rest = rest << 64 | down[i];
            down[i] = (uint64_t)(rest / 5);
            rest %= 5;
        }
    }
}

static void make_once(void) {
    make_tens();
    __atomic_store_n(&made, true, __ATOMIC_RELEASE);
}

const eg__ten *eg__tens(void) {
    if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) pthread_once(&once, make_once);
    return tens;
}

/* ---- products */
bool eg__decimal_scale(uint64_t m, int e, int n, eg__scaled *out) {
    if (n < EG__TEN_LEAST || n > EG__TEN_MOST) return false;
    const eg__ten t = eg__tens()[n - EG__TEN_LEAST];
    const int zeros = __builtin_clzll(m);
    /* the product of 192 bits is to be shifted right by that; it has 191 at least */
    const int shift = -(e - zeros + eg__ten_exponent(n)) - 64;
    if (shift < 65) return false;
    m <<= zeros;
    const unsigned __int128 a = (unsigned __int128)m * t.low, b = (unsigned __int128)m * t.high;
    const unsigned __int128 high = b + (uint64_t)(a >> 64);
    /* of `high`; the lowest word is dropped as a whole */
    const int drop = shift - 64 < 127 ? shift - 64 : 127;
    out->x = shift - 64 < 128 ? high >> drop : 0;
    const bool nothing = !(uint64_t)a && out->x << drop == high; /* else it was less than 1 */
    out->exact = nothing && n >= 0 && n <= EG__TEN_EXACT;
    const int less = shift - zeros + 1;
    out->half = less < 128 ? ((unsigned __int128)t.high << 64 | t.low) >> less : 0;
    return true;
}
