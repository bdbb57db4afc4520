/* Tensors to quantized numbers and back: never further away than half a step, whatever they hold. */
#include "elegans/elegans.h"
#include "elegans/quantize.h"
#include "test.h"

#include <float.h>
#include <math.h>

AREA(quantize, "f16, bf16, int8, int4 per tensor, channel, block; half a step at most")

static eg_context *create(void) {
    static const eg_context_options options = {.threads = 1};
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* What a tensor is filled with; each is a way to be wrong. */
typedef enum content {
    RANDOM,
    POSITIVE,
    NEGATIVE,
    FAR,
    EQUAL,
    ZERO,
    HUGE_BOTH,
    TINY,
    MIXED,
    CONTENTS
} content;
static const char *const content_names[] = {"random", "positive", "negative", "far",  "equal",
                                            "zero",   "huge",     "tiny",     "mixed"};
static float content_number(content what, size_t i, uint64_t *state) {
    const float x = test_random(state);
    switch (what) {
    case POSITIVE: return 2 + x;
    case NEGATIVE: return -2 + x;
    case FAR: return 1000 + x;
    case EQUAL: return -0.3f;
    case ZERO: return i % 2 ? 0.0f : -0.0f;
    case HUGE_BOTH: return i % 3 == 0 ? FLT_MAX : i % 3 == 1 ? -FLT_MAX : x;
    case TINY: return x * 0x1p-140f;
    case MIXED: return ldexpf(x, (int)(i * 7 % 60) - 30);
    default: return x;
    }
}

static const struct {
    unsigned rank;
    uint64_t shape[6];
} shapes[] = {{0, {0}},
              {1, {1}},
              {1, {257}},
              {2, {1, 1}},
              {2, {3, 128}},
              {2, {7, 129}},
              {2, {5, 1}},
              {3, {3, 5, 7}},
              {4, {2, 3, 1, 33}},
              {5, {2, 1, 3, 1, 65}},
              {6, {1, 2, 1, 3, 2, 5}},
              {2, {0, 5}},
              {2, {5, 0}},
              {1, {0}}};
static const eg_quantization ways[] = {{EG_I8, EG_PER_TENSOR, 0, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_TENSOR, 0, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_CHANNEL, 0, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_CHANNEL, 0, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_BLOCK, 0, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_BLOCK, 32, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I8, EG_PER_BLOCK, 1, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_TENSOR, 0, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_TENSOR, 0, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_CHANNEL, 0, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_CHANNEL, 0, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_BLOCK, 32, 0, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_BLOCK, 7, 1, 0, EG_LAYOUT_APART, 0},
                                       {EG_I4, EG_PER_BLOCK, 100000, 0, 0, EG_LAYOUT_APART, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes, WAYS = sizeof ways / sizeof *ways };

/* The scale of element i, from what the header says. */
static size_t scale_index(const eg_quantized *q, size_t i) {
    const size_t row = i / q->columns, column = i % q->columns;
    if (q->quantization.per == EG_PER_TENSOR) return 0;
    return row * q->groups +
           (q->quantization.per == EG_PER_BLOCK ? column / q->quantization.block : 0);
}

static void name(char *to, size_t size, const eg_quantization *quantization, size_t s,
                 content what) {
    snprintf(to, size, "%s per %s of %u %s, shape %zu, %s", eg_type_name(quantization->type),
             eg_granularity_name(quantization->per), quantization->block,
             quantization->symmetric ? "symmetric" : "affine", s, content_names[what]);
}

/* Half a step, and the rounding of the result to a float. */
static void steps_check(const eg_quantized *q, const float *x, const float *y, size_t n,
                        const char *what) {
    for (size_t i = 0; i < n; i++) {
        const size_t at = scale_index(q, i);
        const double scale = q->scale[at], error = fabs((double)x[i] - y[i]);
        CHECK(error <= scale / 2 * (1 + 1e-6) + fabs((double)y[i]) * 0x1p-24,
              "%s: [%zu] %g becomes %g, a step is %g", what, i, (double)x[i], (double)y[i], scale);
        CHECK(x[i] != 0 || y[i] == 0, "%s: [%zu] 0 becomes %g", what, i, (double)y[i]);
        CHECK(!q->quantization.symmetric || !q->zero, "%s: zero points", what);
    }
}

TEST(quantize, half_a_step_everywhere) {
    eg_context *context = create();
    eg_error error = {0};
    uint64_t state = 1;
    size_t count = 0;
    for (size_t s = 0; s < SHAPES; s++)
        for (content what = 0; what < CONTENTS; what++)
            for (size_t w = 0; w < WAYS; w++, count++) {
                eg_tensor x, y;
                eg_quantized q;
                uint64_t n = 0;
                char text[120];
                name(text, sizeof text, &ways[w], s, what);
                CHECK_OK(
                    eg_tensor_create(context, EG_F32, shapes[s].rank, shapes[s].shape, &x, &error),
                    error);
                CHECK_OK(
                    eg_tensor_create(context, EG_F32, shapes[s].rank, shapes[s].shape, &y, &error),
                    error);
                CHECK_OK(eg_tensor_measure(&x, &n, NULL, &error), error);
                for (size_t i = 0; i < n; i++)
                    ((float *)x.data)[i] = content_number(what, i, &state);
                CHECK_OK(eg_quantize(context, &x, &ways[w], &q, &error), error);
                CHECK_OK(eg_dequantize(context, &q, &y, &error), error);
                CHECK(q.rows * q.columns == n && q.odd == 0, "%s: %llu odd", text,
                      (unsigned long long)q.odd);
                steps_check(&q, x.data, y.data, (size_t)n, text);
                const uint64_t bytes = ways[w].type == EG_I8 ? n : (n + 1) / 2;
                CHECK(eg_quantized_bytes(&q) == bytes + q.scales * (ways[w].symmetric ? 4 : 5),
                      "%s: %llu bytes", text, (unsigned long long)eg_quantized_bytes(&q));
                eg_quantized_release(context, &q);
                CHECK(!q.values.data && !q.scale && !q.zero, "%s: something stays", text);
                eg_tensor_release(context, &x);
                eg_tensor_release(context, &y);
            }
    eg_context_destroy(context);
    test_claim("%zu tensors to int8 and int4 and back, half a step at most", count);
}

/* NaN becomes 0, infinities the ends of the range of the rest; all of them are counted. */
TEST(quantize, not_finite) {
    eg_context *context = create();
    eg_error error = {0};
    enum { N = 40 };
    const uint64_t shape[] = {2, N / 2};
    for (size_t w = 0; w < WAYS; w++)
        for (int all = 0; all < 2; all++) {
            eg_tensor x, y;
            eg_quantized q;
            CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &x, &error), error);
            CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &y, &error), error);
            float *from = x.data, *to = y.data;
            for (int i = 0; i < N; i++) from[i] = all ? NAN : (float)(i - N / 2) / 8;
            from[3] = NAN, from[8] = INFINITY, from[25] = -INFINITY;
            CHECK_OK(eg_quantize(context, &x, &ways[w], &q, &error), error);
            CHECK_OK(eg_dequantize(context, &q, &y, &error), error);
            CHECK(q.odd == (all ? N : 3), "%zu: %llu odd", w, (unsigned long long)q.odd);
            for (int i = 0; i < N; i++) {
                const float step = q.scale[scale_index(&q, (size_t)i)];
                CHECK(isfinite(to[i]), "%zu: [%d] is %g", w, i, (double)to[i]);
                if (isnan(from[i])) CHECK(to[i] == 0, "%zu: NaN becomes %g", w, (double)to[i]);
                else if (isfinite(from[i]))
                    CHECK(fabsf(from[i] - to[i]) <= step / 2 * 1.00001f, "%zu: [%d] %g becomes %g",
                          w, i, (double)from[i], (double)to[i]);
                else if (all) CHECK(to[i] == 0 && step == 0, "%zu: alone", w);
            }
            /* the ends: not below what is finite beside them */
            const bool blocks =
                ways[w].per == EG_PER_BLOCK && ways[w].block && ways[w].block < N / 2;
            for (int i = 0; i < N / 2 && !all && !blocks; i++) {
                CHECK(to[8] >= to[i], "%zu: infinity becomes %g below %g", w, (double)to[8],
                      (double)to[i]);
                CHECK(to[25] <= to[i + N / 2], "%zu: -infinity becomes %g", w, (double)to[25]);
            }
            eg_quantized_release(context, &q);
            eg_tensor_release(context, &x);
            eg_tensor_release(context, &y);
        }
    eg_context_destroy(context);
}

/* Halves keep what their formats keep: 11 and 8 bits. */
TEST(quantize, halves) {
    static const eg_quantization halves[] = {{.type = EG_F16}, {.type = EG_BF16}};
    static const double parts[] = {0x1p-11, 0x1p-8};
    eg_context *context = create();
    eg_error error = {0};
    const uint64_t shape[] = {3, 67};
    uint64_t state = 2;
    for (int h = 0; h < 2; h++) {
        eg_tensor x, y;
        eg_quantized q;
        CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &x, &error), error);
        CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &y, &error), error);
        for (int i = 0; i < 201; i++) ((float *)x.data)[i] = test_random(&state) + 1.5f;
        CHECK_OK(eg_quantize(context, &x, &halves[h], &q, &error), error);
        CHECK_OK(eg_dequantize(context, &q, &y, &error), error);
        CHECK(!q.scales && !q.scale && !q.zero && eg_quantized_bytes(&q) == 402, "scales");
        for (int i = 0; i < 201; i++) {
            const double from = ((float *)x.data)[i], to = ((float *)y.data)[i];
            CHECK(fabs(from - to) <= from * parts[h], "%d: %g becomes %g", h, from, to);
        }
        eg_quantized_release(context, &q);
        eg_tensor_release(context, &x);
        eg_tensor_release(context, &y);
    }
    eg_context_destroy(context);
}

TEST(quantize, refusals) {
    eg_context *context = create();
    eg_error error = {0};
    eg_tensor x, y, whole;
    eg_quantized q;
    const uint64_t shape[] = {2, 3}, other[] = {3, 2};
    const eg_quantization i8 = {.type = EG_I8};
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &x, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, other, &y, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_I32, 2, shape, &whole, &error), error);
    static const eg_type types[] = {EG_F32, EG_U8, EG_I32, EG_I64, EG_BOOL};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const eg_quantization quantization = {.type = types[t]};
        char part[60];
        snprintf(part, sizeof part, "no quantization to '%s'", eg_type_name(types[t]));
        CHECK_FAILS(eg_quantize(context, &x, &quantization, &q, &error), error, EG_ERR_UNSUPPORTED,
                    part);
        CHECK(!q.values.data && !q.scale, "something stays");
    }
    const eg_quantization per = {.type = EG_I8, .per = (eg_granularity)7};
    CHECK_FAILS(eg_quantize(context, &x, &per, &q, &error), error, EG_ERR_ARGUMENT,
                "unknown granularity 7 of scales");
    CHECK_FAILS(eg_quantize(context, &whole, &i8, &q, &error), error, EG_ERR_UNSUPPORTED,
                "cannot quantize 'i32', only f32");
    CHECK_FAILS(eg_quantize(context, &x, NULL, &q, &error), error, EG_ERR_ARGUMENT,
                "no quantization");
    CHECK_FAILS(eg_quantize(context, NULL, &i8, &q, &error), error, EG_ERR_ARGUMENT, "no tensor");
    CHECK_FAILS(eg_quantize(NULL, &x, &i8, &q, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_quantize(context, &x, &i8, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_OK(eg_quantize(context, &x, &i8, &q, &error), error);
    CHECK_FAILS(eg_dequantize(context, &q, &y, &error), error, EG_ERR_ARGUMENT, "of the shape");
    CHECK_FAILS(eg_dequantize(context, &q, &whole, &error), error, EG_ERR_ARGUMENT, "needs f32");
    CHECK_FAILS(eg_dequantize(context, NULL, &y, &error), error, EG_ERR_ARGUMENT,
                "nothing quantized");
    CHECK(!eg_granularity_name((eg_granularity)3), "a granularity past the last");
    eg_quantized_release(context, &q);
    eg_quantized_release(context, &q); /* twice is fine, and nothing as well */
    eg_quantized_release(context, NULL);
    eg_tensor_release(context, &x);
    eg_tensor_release(context, &y);
    eg_tensor_release(context, &whole);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    float numbers[35] = {1, -2, 3};
    const eg_tensor x = {.type = EG_F32, .rank = 2, .shape = {5, 7}, .data = numbers};
    eg_quantized q;
    eg_status status = eg_quantize(context, &x, user, &q, error);
    CHECK(!status || (!q.values.data && !q.scale && !q.zero), "something stays");
    eg_quantized_release(context, &q);
    return status;
}

TEST(quantize, every_allocation_failing) {
    for (size_t w = 0; w < WAYS; w++) {
        const int failed = test_every_allocation_within(attempt, (void *)&ways[w]);
        CHECK(failed == (ways[w].symmetric ? 3 : 4), /* with what the difference is measured on */
              "%zu: %d allocations", w, failed);
    }
}

TEST(quantize, comparing) {
    float a[] = {1, 2, NAN, 4, 3}, b[] = {1, 2.5f, 0, INFINITY, 3};
    const eg_tensor x = {.type = EG_F32, .rank = 1, .shape = {5}, .data = a};
    const eg_tensor y = {.type = EG_F32, .rank = 1, .shape = {5}, .data = b};
    const eg_tensor none = {.type = EG_F32, .rank = 1, .shape = {0}};
    const eg_tensor longer = {.type = EG_F32, .rank = 1, .shape = {6}, .data = b};
    const eg_tensor whole = {.type = EG_I32, .rank = 1, .shape = {5}, .data = b};
    eg_difference d;
    eg_error error = {0};
    CHECK_OK(eg_tensor_compare(&x, &y, &d, &error), error);
    CHECK(d.count == 3 && d.most == 0.5 && fabs(d.rms - sqrt(0.25 / 3)) < 1e-12 &&
              fabs(d.snr - 10 * log10(14 / 0.25)) < 1e-9,
          "%llu pairs, most %g, rms %g, snr %g", (unsigned long long)d.count, d.most, d.rms, d.snr);
    CHECK_OK(eg_tensor_compare(&x, &x, &d, &error), error);
    CHECK(d.count == 4 && d.most == 0 && d.rms == 0 && isinf(d.snr), "equal");
    CHECK_OK(eg_tensor_compare(&none, &none, &d, &error), error);
    CHECK(d.count == 0 && d.most == 0 && d.rms == 0 && isinf(d.snr), "empty");
    CHECK_FAILS(eg_tensor_compare(&x, &longer, &d, &error), error, EG_ERR_ARGUMENT,
                "tensors of 5 and 6 values cannot be compared");
    CHECK_FAILS(eg_tensor_compare(&x, &whole, &d, &error), error, EG_ERR_ARGUMENT,
                "two tensors of f32");
    CHECK_FAILS(eg_tensor_compare(&x, NULL, &d, &error), error, EG_ERR_ARGUMENT,
                "two tensors of f32");
    CHECK_FAILS(eg_tensor_compare(&x, &y, NULL, &error), error, EG_ERR_ARGUMENT,
                "an output pointer");
}

/* The error that the search makes smaller: squares of errors, each times the number that it is of. */
static double weighed(eg_context *context, const eg_tensor *x,
                      const eg_quantization *quantization) {
    eg_quantized q;
    eg_tensor back;
    eg_error error;
    double sum = 0;
    CHECK_OK(eg_quantize(context, x, quantization, &q, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, x->rank, x->shape, &back, &error), error);
    CHECK_OK(eg_dequantize(context, &q, &back, &error), error);
    const float *a = x->data, *b = back.data;
    for (uint64_t i = 0; i < x->shape[0] * x->shape[1]; i++) {
        const double off = ((double)b[i] - a[i]) * a[i];
        sum += off * off;
    }
    eg_tensor_release(context, &back);
    eg_quantized_release(context, &q);
    return sum;
}

TEST(quantize, least_squares) {
    enum { ROWS = 64, COLUMNS = 96 };
    eg_context *context;
    eg_error error;
    static float values[ROWS * COLUMNS];
    uint64_t state = 7;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) /* many small ones, few large ones */
        values[i] = test_random(&state) * test_random(&state) * test_random(&state);
    for (size_t i = 0; i < 32; i++) values[i] = 0;
    const eg_tensor x = {EG_F32, 2, {ROWS, COLUMNS}, values};
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        eg_quantization quantization = {
            .type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .symmetric = symmetric};
        const double whole = weighed(context, &x, &quantization);
        quantization.least_squares = 1;
        const double least = weighed(context, &x, &quantization);
        CHECK(least < 0.9 * whole, "symmetric %d: %g after a search, %g before", symmetric, least,
              whole);
    }
    /* what is not finite takes no part */
    values[40] = INFINITY;
    values[41] = NAN;
    eg_quantized q;
    const eg_quantization quantization = {
        .type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .least_squares = 1};
    CHECK_OK(eg_quantize(context, &x, &quantization, &q, &error), error);
    CHECK(q.odd == 2 && isfinite(q.scale[1]), "%llu odd numbers, scale %g",
          (unsigned long long)q.odd, (double)q.scale[1]);
    eg_quantized_release(context, &q);
    eg_context_destroy(context);
}

/* ---- the search, written once more from what it is to do: zero points up to three from that of the whole range,
 * each with the smallest scale that still reaches both of its ends and with six smaller ones, each fitted to the
 * integers that it gives; the least weighted error wins. */
typedef struct choice {
    double scale;
    int zero;
} choice;

static int integer_of(choice c, int low, int high, double x) {
    return (int)fmin(fmax(nearbyint(x / c.scale) + c.zero, low), high);
}

static double error_of(choice c, int low, int high, size_t n, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double off =
            (double)x[i] - (integer_of(c, low, high, (double)x[i]) - c.zero) * c.scale;
        sum += off * off * (double)x[i] * (double)x[i];
    }
    return sum;
}

static choice search(choice whole, int low, int high, size_t n, const float *x) {
    /* the ends of the whole range, as distances from 0 */
    const double down = (whole.zero - low) * whole.scale, up = (high - whole.zero) * whole.scale;
    choice best = whole;
    for (int move = -3; move <= 3; move++)
        for (int part = 0; part < 7; part++) {
            choice c = {0, whole.zero + move};
            if (c.zero < low || c.zero > high) continue;
            if (c.zero > low) c.scale = down / (c.zero - low);
            if (c.zero < high && up / (high - c.zero) > c.scale) c.scale = up / (high - c.zero);
            c.scale = (double)(float)(c.scale * (1 - 0.07 * part));
            if (c.scale <= 0) continue;
            double product = 0, square = 0;
            for (size_t i = 0; i < n; i++) {
                const double value = (double)x[i];
                const double q = integer_of(c, low, high, value) - c.zero;
                product += value * value * q * value;
                square += value * value * q * q;
            }
            if (square > 0 && product > 0) c.scale = (double)(float)(product / square);
            if (error_of(c, low, high, n, x) < error_of(best, low, high, n, x)) best = c;
        }
    return best;
}

/* Numbers mostly below 0, mostly above, and around it: each end decides the scale of some. */
TEST(quantize, least_squares_search) {
    static const double ends[][2] = {{-1, 0.3}, {-1, 0.02}, {-0.1, 1}, {-0.4, 0.6}, {-1, 1}};
    enum { N = 48, TRIES = 40 };
    unsigned moved = 0, finer = 0, total = 0;
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    uint32_t state = 7;
    for (size_t kind = 0; kind < sizeof ends / sizeof *ends; kind++)
        for (int try = 0; try < TRIES; try++) {
            float x[N];
            for (size_t i = 0; i < N; i++) {
                state = state * 1664525u + 1013904223u;
                const double u = (state >> 8) / 16777216.0, cube = u * u * u; /* few are large */
                x[i] = (float)(i % 2 ? ends[kind][0] * cube : ends[kind][1] * cube);
            }
            const eg_tensor from = {EG_F32, 1, {N}, x};
            eg_quantization quantization = {.type = try % 2 ? EG_I8 : EG_I4, .per = EG_PER_TENSOR};
            const int low = quantization.type == EG_I4 ? -8 : -128,
                      high = quantization.type == EG_I4 ? 7 : 127;
            eg_quantized plain, best;
            CHECK_OK(eg_quantize(context, &from, &quantization, &plain, &error), error);
            quantization.least_squares = 1;
            CHECK_OK(eg_quantize(context, &from, &quantization, &best, &error), error);
            const choice whole = {(double)plain.scale[0], plain.zero[0]};
            const choice expected = search(whole, low, high, N, x);
            const choice got = {(double)best.scale[0], best.zero[0]};
            const double least = error_of(expected, low, high, N, x),
                         found = error_of(got, low, high, N, x);
            CHECK(fabs(found - least) <= 1e-9 * least, /* one of equals, if there are some */
                  "kind %zu, try %d: scale %.9g zero %d of error %g, not %.9g zero %d of %g", kind,
                  try, got.scale, got.zero, found, expected.scale, expected.zero, least);
            moved += got.zero != whole.zero;
            finer += got.scale < whole.scale;
            total++;
            eg_quantized_release(context, &plain);
            eg_quantized_release(context, &best);
        }
    CHECK(moved > total / 8 && finer > total / 8, "of %u: %u zero points moved, %u scales finer",
          total, moved, finer);
    eg_context_destroy(context);
}
