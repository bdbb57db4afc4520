/* Numbers as text: the bytes that printf would write, the bits that strtod would read. */
#include "test.h"
#include "test_decimal.h"
#include "base/decimal.h"

#include <math.h>

AREA(
    decimal,
    "shortest digits, fixed digits, reading: the same as printf and strtod, and when they are asked")

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f32_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- the table of powers, against integers where those are exact and the rule between neighbours */

TEST(decimal, powers) {
    const eg__ten *tens = eg__tens() - EG__TEN_LEAST;
    for (int n = 0; n <= 19; n++) {
        const int zeros = __builtin_clzll(eg__ten_integers[n]);
        CHECK(tens[n].high == eg__ten_integers[n] << zeros && !tens[n].low, "10^%d", n);
        CHECK(eg__ten_exponent(n) == -64 - zeros, "the exponent of 10^%d is %d", n,
              eg__ten_exponent(n));
    }
    for (int n = EG__TEN_LEAST; n < EG__TEN_MOST; n++) {
        /* ten times the lower one is the next; both are cut off, so that it may be less by 16 units */
        const eg__ten a = tens[n], b = tens[n + 1];
        CHECK(a.high >> 63 && b.high >> 63, "10^%d is not normalized", n);
        const unsigned __int128 low = (unsigned __int128)a.low * 10;
        unsigned __int128 high = (unsigned __int128)a.high * 10 + (uint64_t)(low >> 64);
        uint64_t rest = (uint64_t)low;
        const int shift = eg__ten_exponent(n + 1) - eg__ten_exponent(n);
        CHECK(shift == 3 || shift == 4, "10^%d is %d bits longer than 10^%d", n + 1, shift, n);
        rest = rest >> shift | (uint64_t)high << (64 - shift);
        high >>= shift;
        const unsigned __int128 from = (high << 64) | rest;
        const unsigned __int128 to = (unsigned __int128)b.high << 64 | b.low;
        CHECK(to >= from && to - from <= 2, "10^%d does not follow from 10^%d", n + 1, n);
    }
}

/* ---- writing */

static bool finite_f32(uint32_t bits) { return (bits >> 23 & 0xff) != 0xff; }

static void check_f32(uint32_t bits, size_t *asked) {
    char want[32], got[EG_NUMBER_SIZE], own[EG_NUMBER_SIZE];
    const float value = f32_of(bits);
    if (!finite_f32(bits)) return;
    decimal_define_f32(want, value);
    const size_t length = eg_number_format_f32(got, value);
    CHECK(strcmp(want, got) == 0 && length == strlen(got), "%a is '%s', not '%s'", (double)value,
          got, want);
    *asked += !eg__decimal_shortest_f32(own, value);
}

static void check_f64(uint64_t bits, size_t *asked) {
    char want[32], got[EG_NUMBER_SIZE], own[EG_NUMBER_SIZE];
    const double value = f64_of(bits);
    if (!isfinite(value)) return;
    decimal_define_f64(want, value);
    const size_t length = eg_number_format(got, value);
    CHECK(strcmp(want, got) == 0 && length == strlen(got), "%a is '%s', not '%s'", value, got,
          want);
    *asked += !eg__decimal_shortest_f64(own, value);
}

enum { RANDOM = 100000, RANDOM_QUICK = 3000 };
static int random_count(void) { return test_quick() ? RANDOM_QUICK : RANDOM; }

/* Around every power of two, where the gap changes, of both signs; around powers of ten; anything. */
TEST(decimal, shortest_f32) {
    size_t asked = 0, own = 0;
    for (uint32_t exponent = 0; exponent < 512; exponent++)
        for (int step = -2; step <= 2; step++) check_f32((exponent << 23) + (uint32_t)step, &asked);
    for (int n = -45; n <= 38; n++)
        for (int step = -2; step <= 2; step++) {
            const float ten =
                strtof((char[]){'1', 'e', n < 0 ? '-' : '+', (char)('0' + abs(n) / 10),
                                (char)('0' + abs(n) % 10), 0},
                       NULL);
            uint32_t bits;
            memcpy(&bits, &ten, sizeof bits);
            check_f32(bits + (uint32_t)step, &asked);
        }
    for (int i = 0; i < 3000; i++) { /* what people write: few digits */
        const float value = (float)i / 100;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        check_f32(bits, &asked);
    }
    uint64_t state = 3;
    for (int i = 0; i < random_count(); i++)
        check_f32((uint32_t)(test_random(&state) * 4294967296.0), &own);
    CHECK((double)own < 0.02 * random_count(), "printf is asked for %zu of %d", own,
          random_count());
}

TEST(decimal, shortest_f64) {
    size_t asked = 0, own = 0;
    for (uint64_t exponent = 0; exponent < 4096; exponent += test_quick() ? 7 : 1)
        for (int step = -1; step <= 1; step++)
            check_f64((exponent << 52) + (uint64_t)(int64_t)step, &asked);
    for (int n = -323; n <= 308; n++)
        for (int step = -1; step <= 1; step++) {
            char text[8];
            snprintf(text, sizeof text, "1e%d", n);
            check_f64(bits_of(strtod(text, NULL)) + (uint64_t)(int64_t)step, &asked);
        }
    uint64_t state = 4;
    for (int i = 0; i < random_count(); i++) {
        test_random(&state);
        check_f64(state, &own);
        check_f64(bits_of((double)(int64_t)(state >> 20) / 1e6), &own);
    }
    CHECK((double)own < 0.02 * 2 * random_count(), "printf is asked for %zu of %d", own,
          2 * random_count());
}

TEST(decimal, fixed) {
    static const double values[] = {0,
                                    -0.0,
                                    0.5,
                                    1.5,
                                    2.5,
                                    0.125,
                                    0.375,
                                    1e-5,
                                    1e-30,
                                    5e-324,
                                    0.05,
                                    0.15,
                                    999.995,
                                    9.99999,
                                    1e15,
                                    1e17,
                                    1e18,
                                    1e19,
                                    1e300,
                                    -0.25,
                                    -1e-9,
                                    123.456,
                                    2e22,
                                    0x1p-60,
                                    0x1p62,
                                    0x1p63,
                                    -0x1p63,
                                    4503599627370497.5,
                                    9007199254740993.0};
    uint64_t state = 5;
    for (int i = 0; i < (int)(sizeof values / sizeof *values) + random_count() / 4; i++) {
        const int table = (int)(sizeof values / sizeof *values);
        const double any = (test_random(&state) - 0.5) * pow(10, 20 * test_random(&state) - 4);
        const double value = i < table ? values[i] : i % 2 ? any : (double)(float)any;
        for (unsigned digits = 0; digits <= 17; digits += i < table ? 1 : 5) {
            char want[EG__FIXED_SIZE], got[EG__FIXED_SIZE];
            snprintf(want, sizeof want, "%.*f", (int)digits, value);
            const bool nothing = strspn(want, "-0.") == strlen(want); /* has no sign */
            const size_t length = eg__number_fixed(got, value, digits);
            CHECK(strcmp(want + (nothing && want[0] == '-'), got) == 0 && length == strlen(got),
                  "%a with %u digits is '%s', not '%s'", value, digits, got, want);
        }
    }
}

/* ---- reading */

static void check_read(const char *text) {
    double got;
    eg_error error = {0};
    const double want = strtod(text, NULL);
    CHECK_OK(eg_number_parse(text, strlen(text), &got, &error), error);
    CHECK(bits_of(got) == bits_of(want), "'%s' is %a, not %a", text, got, want);
}

TEST(decimal, hard_to_read) {
    static const char *const rows[] = {"0",
                                       "-0",
                                       "0.0",
                                       "-0e5",
                                       "00012",
                                       "0.00012",
                                       "1e22",
                                       "1e23",
                                       "-1e23",
                                       "8.5e22",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "9007199254740993.0",
                                       "9007199254740994",
                                       "9007199254740995",
                                       "9007199254740993.00000000000000000000000000000001",
                                       "4503599627370496.5",
                                       "4503599627370497.5",
                                       "1.00000005960464477539",
                                       "16777217",
                                       "2.2250738585072011e-308",
                                       "2.2250738585072012e-308",
                                       "2.2250738585072014e-308",
                                       "4.9e-324",
                                       "2.4703282292062327e-324",
                                       "2.4703282292062328e-324",
                                       "1e-400",
                                       "1e400",
                                       "-1e400",
                                       "1.7976931348623157e308",
                                       "1.7976931348623158e308",
                                       "1.7976931348623159e308",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "9999999999999999999",
                                       "99999999999999999999",
                                       "12345678901234567890123",
                                       "0.1234567890123456789",
                                       "0.12345678901234567890123",
                                       "1234567890123456789e-19",
                                       "123456789012345678e30",
                                       "7.2057594037927933e16",
                                       "3.5844466002796428e298",
                                       "1e-22",
                                       "1e-23",
                                       "123e-30",
                                       "5e-5",
                                       "0.000000000000000000000000000000000000000000000001",
                                       "1e-342",
                                       "1e308",
                                       "1e309",
                                       "1e99999999999999999999",
                                       "1e-99999999999999999999",
                                       "0e99999999999999999999",
                                       "1.",
                                       ".5",
                                       "+.5",
                                       "1E5",
                                       "1e+5",
                                       "6.0221407600000005e23",
                                       "179769313486231580793e289"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_read(rows[i]);
}

/* Where a number ends, and what must be looked at again: words, too many digits, a tie. */
TEST(decimal, scan) {
    static const struct {
        const char *text;
        int length; /* -1 = nothing */
        double value;
    } rows[] = {{"1,2", 1, 1},
                {"-2.5e3,", 6, -2500},
                {"2015-02-04", 4, 2015},
                {".5 ", 2, .5},
                {"1.;", 2, 1},
                {"", -1, 0},
                {"-", -1, 0},
                {".", -1, 0},
                {" 1", -1, 0},
                {"nan", -1, 0},
                {"1e", -1, 0},
                {"1e+,", -1, 0},
                {"0x10", 1, 0},
                {"007", 3, 7},
                {"9007199254740993e3", 18, 9007199254740993e3},
                {"1e999", -1, 0},
                {"12345678901234567890123", -1, 0},
                {"0.000000000000000000000000125\n", 29, 1.25e-25}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].text);
        char *text = test_alloc(length + !length); /* no more than it has */
        memcpy(text, rows[i].text, length);
        double value = 0;
        const char *end = eg__decimal_scan(text, text + length, &value);
        CHECK((end ? (int)(end - text) : -1) == rows[i].length && value == rows[i].value,
              "'%s' is %g and ends after %d", rows[i].text, value, end ? (int)(end - text) : -1);
        free(text);
    }
}

/* Digits of any number and anything as the exponent; halves between two doubles, which printf writes
 * exactly, and what lies just beside them. */
TEST(decimal, read_as_strtod) {
    uint64_t state = 6;
    char text[64];
    for (int i = 0; i < random_count(); i++) {
        test_random(&state);
        const uint64_t digits = state >> (int)(fabsf(test_random(&state)) * 63);
        const int exponent =
            i % 2 ? (int)(test_random(&state) * 60) - 30 : (int)(test_random(&state) * 700) - 360;
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        check_read(text);
        snprintf(text, sizeof text, "-%llu.%03llu", (unsigned long long)digits / 1000,
                 (unsigned long long)digits % 1000);
        check_read(text);
        test_random(&state);
        const uint64_t odd = (state >> 10) | UINT64_C(1) << 53 | 1; /* of 54 bits: half way */
        for (int step = -1; step <= 1; step++) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)odd + (uint64_t)(int64_t)step);
            check_read(text);
        }
    }
}

/* Zeros up to the last byte of what was given, and nothing behind it. */
TEST(decimal, many_zeros) {
    for (size_t n = 1; n <= 64; n++)
        for (int point = 0; point < 2; point++) {
            char *text = test_alloc(n);
            memset(text, '0', n);
            if (point) text[n / 2] = '.';
            double value = 1;
            eg_error error;
            if (n == 1 && point)
                CHECK_FAILS(eg_number_parse(text, n, &value, &error), error, EG_ERR_FORMAT, "'.'");
            else {
                CHECK_OK(eg_number_parse(text, n, &value, &error), error);
                CHECK(value == 0, "%zu zeros are %g", n, value);
            }
            free(text);
        }
}
