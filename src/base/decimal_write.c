/* The fewest digits of a number, and a fixed number of them. A number is scaled so that its digits are
 * an integer and a fraction; rounding that to n digits and asking whether the result is nearer than half
 * a unit in the last place of the number is integer arithmetic. */
#include "base/decimal.h"

#include <string.h>

typedef enum answer { NO, YES, UNKNOWN } answer;

/* What a type has: digits that identify every number of it, and digits that always survive. */
typedef struct precision {
    int most, least;
} precision;

typedef struct decimal {
    uint64_t digits; /* without trailing zeros */
    int count;       /* of them */
    int exponent;    /* of the first digit */
    int tried;       /* digits that were asked for */
} decimal;

typedef unsigned __int128 wide;

/* A number, scaled, and half the gaps to its neighbours: below a power of two that is narrower. */
typedef struct scaled {
    eg__scaled s;
    wide above, below;
} scaled;

/* Rounded to a multiple of `unit`, of which `quotient` fit, ties to even as printf has it. */
static bool round_to(const eg__scaled *s, uint64_t quotient, uint64_t unit, uint64_t *out) {
    const wide rest = s->x - ((wide)(quotient * unit) << 64), half = (wide)unit << 63;
    if (!s->exact && rest <= half && rest + 2 > half) return false;
    *out = quotient + (rest > half || (rest == half && quotient % 2));
    return true;
}

/* Whether `candidate` is nearer to the number than half the gap. */
static answer is_near(const scaled *x, uint64_t candidate) {
    const wide c = (wide)candidate << 64, half = c < x->s.x ? x->below : x->above;
    const wide far = c < x->s.x ? x->s.x - c : c - x->s.x;
    return far + 4 < half ? YES : far > half + 4 ? NO : UNKNOWN;
}

static answer try(const scaled *x, uint64_t quotient, uint64_t unit, uint64_t *out) {
    if (!round_to(&x->s, quotient, unit, out)) return UNKNOWN;
    return unit == 1 ? YES : is_near(x, *out * unit);
}

/* With equal gaps fewer digits never fit where more do not: from many to few. Where it is rounded to
 * does not matter for that, so that only the last answer is a branch that cannot be foreseen. */
static bool choose(const scaled *x, precision p, decimal *out) {
    uint64_t quotient = (uint64_t)(x->s.x >> 64), unit = 1;
    int n = p.most;
    while (n > p.least) {
        const uint64_t fewer = quotient / 10, wider = unit * 10;
        const wide rest = x->s.x - ((wide)(fewer * wider) << 64), all = (wide)wider << 64;
        const wide far = rest < all - rest ? rest : all - rest;
        if (far + 4 >= x->above) {
            if (far <= x->above + 4) return false;
            break;
        }
        quotient = fewer;
        unit = wider;
        n--;
    }
    out->tried = n;
    return round_to(&x->s, quotient, unit, &out->digits);
}

/* Else from few to many, as whoever tries one after the other with printf. */
static bool choose_uneven(const scaled *x, precision p, decimal *out) {
    const uint64_t whole = (uint64_t)(x->s.x >> 64);
    answer near = NO;
    for (int n = p.least; near == NO && n <= p.most; n++) {
        const uint64_t unit = eg__ten_integers[p.most - n];
        near = try(x, whole / unit, unit, &out->digits);
        out->tried = n;
    }
    return near == YES;
}

static bool find(uint64_t m, int e, bool power, precision p, decimal *out) {
    const int top = 63 - __builtin_clzll(m) + e;
    scaled x;
    int n = p.most - 1 - ((top * 78913) >> 18);
    for (bool less = false;;) { /* a power of ten may seem to be just below itself: no way back */
        if (!eg__decimal_scale(m, e, n, &x.s)) return false;
        const uint64_t whole = (uint64_t)(x.s.x >> 64);
        if (whole >= eg__ten_integers[p.most]) {
            n--;
            less = true;
        } else if (whole < eg__ten_integers[p.most - 1] && !less) n++;
        else break;
    }
    x.above = x.s.half;
    x.below = power ? x.above / 2 : x.above;
    if (!(power ? choose_uneven(&x, p, out) : choose(&x, p, out))) return false;
    out->exponent = p.most - 1 - n;
    out->count = out->tried;
    if (out->digits == eg__ten_integers[out->tried]) { /* 9.99 became 10.0 */
        out->digits /= 10;
        out->exponent++;
    }
    /* a zero at the end of more than the least would have been left out */
    while (out->tried == p.least && out->count > 1 && out->digits % 10 == 0) {
        out->digits /= 10;
        out->count--;
    }
    return true;
}

/* ---- text */
static void put_digits(char *out, uint64_t digits, int count) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    for (; count >= 2; digits /= 100) {
        count -= 2;
        memcpy(out + count, pairs + digits % 100 * 2, 2);
    }
    if (count) *out = (char)('0' + digits % 10);
}

/* %g: an exponent where it is below -4, or not below the digits that were asked for. */
static size_t put(char *out, const decimal *d) {
    char *at = out;
    const int x = d->exponent;
    if (x < -4 || x >= d->tried) {
        const unsigned size = (unsigned)(x < 0 ? -x : x);
        put_digits(at + 1, d->digits, d->count);
        at[0] = at[1];
        at[1] = '.';
        at += d->count > 1 ? d->count + 1 : 1;
        *at++ = 'e';
        *at++ = x < 0 ? '-' : '+';
        put_digits(at, size, size < 100 ? 2 : 3);
        at += size < 100 ? 2 : 3;
    } else if (x < 0) {
        memcpy(at, "0.0000", 6);
        at += 1 - x;
        put_digits(at, d->digits, d->count);
        at += d->count;
    } else if (d->count <= x + 1) {
        put_digits(at, d->digits, d->count);
        memset(at + d->count, '0', (size_t)(x + 1 - d->count));
        at += x + 1;
    } else {
        put_digits(at + 1, d->digits, d->count);
        memmove(at, at + 1, (size_t)x + 1);
        at[x + 1] = '.';
        at += d->count + 1;
    }
    *at = 0;
    return (size_t)(at - out);
}

static size_t shortest(char *out, bool negative, uint64_t m, int e, bool power, precision p) {
    decimal d = {0};
    *out = '-';
    char *at = out + negative;
    if (!m) {
        memcpy(at, "0", 2);
        return negative + (size_t)1;
    }
    return find(m, e, power, p, &d) ? negative + put(at, &d) : 0;
}

size_t eg__decimal_shortest_f64(char out[EG_NUMBER_SIZE], double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int biased = (int)(bits >> 52 & 0x7ff);
    const uint64_t m = biased ? fraction | UINT64_C(1) << 52 : fraction;
    return shortest(out, bits >> 63, m, (biased ? biased : 1) - 1075, !fraction && biased > 1,
                    (precision){17, 15});
}

size_t eg__decimal_shortest_f32(char out[EG_NUMBER_SIZE], float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
    const int biased = (int)(bits >> 23 & 0xff);
    const uint64_t m = biased ? fraction | UINT32_C(1) << 23 : fraction;
    return shortest(out, bits >> 31, m, (biased ? biased : 1) - 150, !fraction && biased > 1,
                    (precision){9, 6});
}

size_t eg__decimal_fixed(char *out, double value, unsigned digits) {
    uint64_t bits, rounded;
    memcpy(&bits, &value, sizeof bits);
    const int biased = (int)(bits >> 52 & 0x7ff);
    const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    eg__scaled s;
    if (!biased || digits > 17 || !eg__decimal_scale(m, biased - 1075, (int)digits, &s) ||
        !round_to(&s, (uint64_t)(s.x >> 64), 1, &rounded))
        return 0;
    const uint64_t unit = eg__ten_integers[digits], whole = rounded / unit;
    char *at = out;
    *at = '-';
    at += bits >> 63;
    int count = 1;
    while (count < 19 && whole >= eg__ten_integers[count]) count++;
    put_digits(at, whole, count);
    at += count;
    if (digits) {
        *at++ = '.';
        put_digits(at, rounded % unit, (int)digits);
        at += digits;
    }
    *at = 0;
    return (size_t)(at - out);
}
