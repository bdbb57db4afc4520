/* Conversions between f32, f16 and bf16 of every instruction set: every 16-bit value, every edge
 * where rounding turns, and random floats. */
#include "test_kernels.h"

#include <math.h>

AREA(convert, "f16 and bf16, every value both ways, every rounding edge")

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What a 16-bit pattern means, by the definition of the format. */
static double half_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}
static double brain_value(uint16_t bits) { return from_bits((uint32_t)bits << 16); }

static const struct format {
    const char *name;
    eg__operation up, down;
    double (*value)(uint16_t bits);
    uint16_t infinity; /* of the positive numbers, all below it are finite and in order */
} formats[] = {{"f16", EG__OP_f16_to_f32, EG__OP_f32_to_f16, half_value, 0x7c00},
               {"bf16", EG__OP_bf16_to_f32, EG__OP_f32_to_bf16, brain_value, 0x7f80}};
enum { FORMATS = sizeof formats / sizeof *formats };

static void convert_up(const eg__kernel *row, size_t n, const uint16_t *x, float *y) {
    if (row->operation == EG__OP_f16_to_f32) row->function.f16_to_f32(n, x, y);
    else row->function.bf16_to_f32(n, x, y);
}
static void convert_down(const eg__kernel *row, size_t n, const float *x, uint16_t *y) {
    if (row->operation == EG__OP_f32_to_f16) row->function.f32_to_f16(n, x, y);
    else row->function.f32_to_bf16(n, x, y);
}

static bool is_nan16(const struct format *format, uint16_t bits) {
    return (bits & 0x7fff) > format->infinity;
}

/* The nearest of all values, ties to the even pattern: found by bisection, not by bit tricks. */
static uint16_t nearest(const struct format *format, float x) {
    const double size = fabs((double)x);
    const uint16_t sign = bits_of(x) >> 31 ? 0x8000 : 0;
    unsigned low = 0, high = format->infinity; /* value(low) <= size < value(high) */
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (format->value((uint16_t)middle) <= size) low = middle;
        else high = middle;
    }
    if (isinf(size)) return sign | format->infinity;
    /* beyond the largest the next value would be one more step, though it is called infinity */
    const double below = format->value((uint16_t)low);
    const double above = high < format->infinity ? format->value((uint16_t)high)
                                                 : 2 * below - format->value((uint16_t)(low - 1));
    const double middle = (below + above) / 2;
    return (uint16_t)(sign | (size > middle || (size == middle && low % 2) ? high : low));
}

static void down_check(const struct format *format, size_t n, const float *from) {
    for (const eg__kernel *row = NULL; (row = kernel_next(format->down, row));) {
        const float *x = kernel_walled_copy(0, from, n * sizeof *x);
        uint16_t *y = kernel_walled(1, n * sizeof *y);
        convert_down(row, n, x, y);
        for (size_t i = 0; i < n; i++) {
            if (isnan(x[i])) {
                CHECK(is_nan16(format, y[i]) && (y[i] ^ bits_of(x[i]) >> 16) < 0x8000,
                      "%s %s: NaN %08x became %04x", format->name, row->isa, bits_of(x[i]), y[i]);
                continue;
            }
            const uint16_t want = nearest(format, x[i]);
            CHECK(y[i] == want, "%s %s: %a became %04x, not %04x", format->name, row->isa,
                  (double)x[i], y[i], want);
        }
    }
}

TEST(convert, every_value_both_ways) {
    enum { ALL = 65536 };
    for (size_t f = 0; f < FORMATS; f++)
        for (const eg__kernel *row = NULL; (row = kernel_next(formats[f].up, row));) {
            uint16_t *x = kernel_walled(0, ALL * sizeof *x);
            float *y = kernel_walled(1, ALL * sizeof *y);
            for (size_t i = 0; i < ALL; i++) x[i] = (uint16_t)i;
            convert_up(row, ALL, x, y);
            for (size_t i = 0; i < ALL; i++) {
                const float want = (float)formats[f].value(x[i]);
                CHECK(kernel_same(y[i], want) && (bits_of(y[i]) >> 31) == i >> 15,
                      "%s %s: %04zx became %a, not %a", formats[f].name, row->isa, i, (double)y[i],
                      (double)want);
            }
            if (!kernel_quick()) down_check(&formats[f], ALL, y);
        }
}

/* Halfway between neighbours, one float below and one above it; the step to infinity too. */
TEST(convert, rounding_edges) {
    enum { EDGES = 6 };
    float *x = test_alloc(EDGES * 0x7f80 * sizeof *x);
    for (size_t f = 0; f < FORMATS; f++) {
        size_t n = 0;
        for (unsigned bits = 0; bits < formats[f].infinity; bits += kernel_quick() ? 37 : 1) {
            const double below = formats[f].value((uint16_t)bits);
            const double above = bits + 1u < formats[f].infinity
                                     ? formats[f].value((uint16_t)(bits + 1))
                                     : 2 * below - formats[f].value((uint16_t)(bits - 1));
            const uint32_t middle = bits_of((float)((below + above) / 2));
            for (int turn = -1; turn <= 1; turn++) {
                x[n++] = from_bits(middle + (uint32_t)turn);
                x[n++] = -from_bits(middle + (uint32_t)turn);
            }
        }
        down_check(&formats[f], n, x);
    }
    free(x);
}

TEST(convert, specials) {
    static const uint32_t bits[] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
        0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff,
        0xffffffff, 0x7f802000, 0x7f8000ff, 0xff80ffff, 0x477fefff, 0x477ff000, 0x33000000,
        0x33000001, 0x32ffffff, 0x387fffff, 0x38800000, 0x7f7f7fff, 0x7f7f8000};
    enum { N = sizeof bits / sizeof *bits };
    float x[N];
    memcpy(x, bits, sizeof x);
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t n = 0; n <= N; n++) { /* from the start and to the end: lanes and leftovers */
            down_check(&formats[f], n, x);
            down_check(&formats[f], N - n, x + n);
        }
}

TEST(convert, every_length) {
    float x[40];
    uint16_t back[40];
    uint64_t state = 1;
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t n = 0; n <= 40; n++) {
            kernel_random(n, x, &state);
            down_check(&formats[f], n, x);
            for (size_t i = 0; i < n; i++) back[i] = nearest(&formats[f], x[i]);
            for (const eg__kernel *row = NULL; (row = kernel_next(formats[f].up, row));) {
                const uint16_t *from = kernel_walled_copy(0, back, n * sizeof *from);
                float *y = kernel_walled(1, n * sizeof *y);
                convert_up(row, n, from, y);
                for (size_t i = 0; i < n; i++)
                    CHECK(y[i] == (float)formats[f].value(from[i]), "%s %s: %zu of %zu",
                          formats[f].name, row->isa, i, n);
            }
        }
}

/* Every pattern is as likely as any other, so that exponents are, too. Against the reference row,
 * which the other tests hold to the definition. */
TEST(convert, random_floats) {
    enum { CHUNK = 10000 };
    static float x[CHUNK];
    static uint16_t y[CHUNK], want[CHUNK];
    uint64_t state = 2;
    const size_t chunks = kernel_times(500);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        for (size_t i = 0; i < CHUNK; i++) {
            test_random(&state);
            x[i] = from_bits((uint32_t)(state >> 32));
        }
        for (size_t f = 0; f < FORMATS; f++)
            for (const eg__kernel *row = NULL; (row = kernel_next(formats[f].down, row));) {
                if (formats[f].down == EG__OP_f32_to_f16) eg__f32_to_f16_ref(CHUNK, x, want);
                else eg__f32_to_bf16_ref(CHUNK, x, want);
                if (kernel_is_ref(row)) continue;
                convert_down(row, CHUNK, x, y);
                for (size_t i = 0; i < CHUNK; i++)
                    CHECK(y[i] == want[i] ||
                              (is_nan16(&formats[f], y[i]) && is_nan16(&formats[f], want[i])),
                          "%s %s: %a became %04x, not %04x", formats[f].name, row->isa,
                          (double)x[i], y[i], want[i]);
            }
    }
    test_claim("f16 and bf16, every value both ways, every rounding edge, %zu random floats: %s",
               chunks * CHUNK, kernel_isas(EG__OP_f32_to_f16));
}
