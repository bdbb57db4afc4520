/* Softmax, layer norm and rms norm of every instruction set against double. */
#include "test_kernels.h"

#include <math.h>

AREA(norms, "softmax, layer norm and rms norm against double")

static const size_t lengths[] = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15,  16,  17,  23,  31,
                                 32, 33, 40, 47, 63, 64, 65, 96, 97, 127, 128, 129, 257, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 3 };
static double worst[4]; /* of softmax, log-softmax, layer norm, rms norm, in their own units */

static void claim(void) {
    test_claim(
        "worst error / bound with %s: softmax %.2f, log-softmax %.2f, layer norm %.2f, rms norm %.2f",
        kernel_isas(EG__OP_softmax_f32), worst[0], worst[1], worst[2], worst[3]);
}

/* Input and output in walled memory: apart, or the same. */
typedef struct pair {
    size_t stride;
    float *x, *y, *before; /* `before` is a contiguous copy of x */
} pair;

static pair pair_make(size_t n, const float *from, unsigned variant) {
    const bool in_place = variant & 1;
    const size_t stride = n + (variant & 2 ? 3 : 0), size = kernel_extent(ROWS, n, stride);
    pair p = {stride, kernel_walled(0, size * sizeof(float)), NULL, NULL};
    kernel_fill(size, p.x, KERNEL_GUARD);
    p.before = kernel_walled_copy(2, from, ROWS * n * sizeof(float));
    for (size_t r = 0; r < ROWS; r++) memcpy(p.x + r * stride, from + r * n, n * sizeof(float));
    p.y = in_place ? p.x : kernel_walled(1, size * sizeof(float));
    if (!in_place) kernel_fill(size, p.y, KERNEL_GUARD);
    return p;
}

/* |got - want| over what is allowed; remembers the worst. */
static double relative_to(double got, double want, double allowed, double *most) {
    if (isnan(want) || isinf(want))
        return (isnan(want) && isnan(got)) || got == want ? 0 : INFINITY;
    const double error = fabs(got - want) / allowed;
    *most = error > *most ? error : *most;
    return error;
}

/* exp loses |x - max| roundings of its argument, and a result may be a denormal. */
static void softmax_check(size_t n, const float *x, bool logarithm, unsigned variant,
                          const char *what) {
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_softmax_f32, row));) {
        pair p = pair_make(n, x, variant);
        const eg__softmax_f32_args args = {ROWS, n, p.x, p.stride, p.y, p.stride, logarithm};
        row->function.softmax_f32(&args);
        CHECK(kernel_gap_broken(ROWS, n, p.stride, p.y) == SIZE_MAX, "%s: gap", row->isa);
        for (size_t r = 0; r < ROWS; r++) {
            const float *before = p.before + r * n;
            double max = -INFINITY, sum = 0;
            for (size_t i = 0; i < n; i++)
                max = before[i] > max || isnan(before[i]) ? before[i] : max;
            for (size_t i = 0; i < n; i++) sum += exp(before[i] - max);
            for (size_t i = 0; i < n; i++) {
                const double below = before[i] - max, power = exp(below) / sum;
                const double want = logarithm ? below - log(sum) : power;
                const double roundings = 12 + fmin(fabs(below), 200); /* from there on it is 0 */
                const double allowed = logarithm ? ldexp(4 + 3 * fabs(below) + 2 * log(sum), -24)
                                                 : ldexp(roundings * power, -24) + 0x1p-148;
                const double error =
                    relative_to(p.y[r * p.stride + i], want, allowed, &worst[logarithm]);
                CHECK(error <= 1,
                      "%s %s, %zu columns, log %d, variant %u: [%zu][%zu] is %.9g, not %.9g",
                      row->isa, what, n, logarithm, variant, r, i, (double)p.y[r * p.stride + i],
                      want);
            }
        }
    }
}

TEST(norms, softmax) {
    static const struct {
        const char *what;
        float scale, offset;
    } kinds[] = {{"ordinary", 3, 0},     {"peaked", 100, 0}, {"far up", 5, 1e4f},
                 {"far down", 5, -1e4f}, {"huge", 1e30f, 0}, {"at the top", 1e38f, 2e38f},
                 {"equal", 0, -7.25f}};
    float *x = test_alloc(ROWS * 1000 * sizeof *x);
    uint64_t state = 1;
    for (size_t l = 0; l < LENGTHS; l++)
        for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (kernel_quick() && (l + k) % 11) continue;
            kernel_random(ROWS * lengths[l], x, &state);
            for (size_t i = 0; i < ROWS * lengths[l]; i++)
                x[i] = x[i] * kinds[k].scale + kinds[k].offset;
            for (unsigned variant = 0; variant < 8; variant++)
                softmax_check(lengths[l], x, variant & 4, variant & 3, kinds[k].what);
        }
    free(x);
    claim();
}

/* -inf is an entry that is masked out; a NaN, an inf, or nothing but -inf makes its whole row NaN
 * and no other. */
TEST(norms, softmax_specials) {
    static const float specials[] = {-INFINITY, NAN, INFINITY};
    float *x = test_alloc(ROWS * 1000 * sizeof *x);
    uint64_t state = 2;
    for (size_t l = 0; l < LENGTHS; l++)
        for (unsigned k = 0; k < 3; k++) {
            const size_t n = lengths[l];
            if (kernel_quick() && (l + k) % 11) continue;
            kernel_random(ROWS * n, x, &state);
            for (size_t i = 0; i < n; i += 1 + (k ? n : 2)) x[n + i] = specials[k];
            softmax_check(n, x, false, k, "special first");
            softmax_check(n, x, true, k, "special first");
            x[n + n - 1] = specials[k];
            softmax_check(n, x, false, k, "special last");
            softmax_check(n, x, true, k, "special last");
            kernel_fill(n, x + n, specials[k]);
            softmax_check(n, x, k & 1, k, "only specials");
        }
    free(x);
}

typedef struct norm {
    bool centered;
    const float *gain, *bias;
    float epsilon;
} norm;

/* A mean in float is off by some roundings of the largest value, and the result by that over the
 * deviation; sums of equal numbers round the same way again and again, four lanes more often than
 * sixteen. */
static void norm_check(const norm *setting, size_t n, const float *x, unsigned variant,
                       const char *what) {
    const eg__operation operation = setting->centered ? EG__OP_layernorm_f32 : EG__OP_rmsnorm_f32;
    const double drift = 6 + (double)n / 50;
    for (const eg__kernel *row = NULL; (row = kernel_next(operation, row));) {
        pair p = pair_make(n, x, variant);
        const eg__norm_f32_args args = {
            ROWS, n, p.x, p.stride, p.y, p.stride, setting->gain, setting->bias, setting->epsilon};
        if (setting->centered) row->function.layernorm_f32(&args);
        else row->function.rmsnorm_f32(&args);
        CHECK(kernel_gap_broken(ROWS, n, p.stride, p.y) == SIZE_MAX, "%s: gap", row->isa);
        for (size_t r = 0; r < ROWS; r++) {
            const float *before = p.before + r * n;
            double mean = 0, square = 0, largest = 0;
            for (size_t i = 0; i < n && setting->centered; i++) mean += before[i] / (double)n;
            for (size_t i = 0; i < n; i++) {
                square += (before[i] - mean) * (before[i] - mean) / (double)n;
                largest = fmax(largest, fabs(before[i]));
            }
            const double scale = 1 / sqrt(square + setting->epsilon);
            for (size_t i = 0; i < n; i++) {
                const double gain = setting->gain ? setting->gain[i] : 1;
                const double bias = setting->bias ? setting->bias[i] : 0;
                const double unbiased = (before[i] - mean) * scale * gain, want = unbiased + bias;
                const double off = setting->centered ? drift * largest * scale * fabs(gain) : 0;
                const double allowed =
                    ldexp(off + drift * fabs(unbiased) + 2 * fabs(want), -24) + 0x1p-148;
                const double error = relative_to(p.y[r * p.stride + i], want, allowed,
                                                 &worst[setting->centered ? 2 : 3]);
                CHECK(error <= 1, "%s_%s %s, %zu columns, variant %u: [%zu][%zu] is %.9g, not %.9g",
                      eg__operation_name(operation), row->isa, what, n, variant, r, i,
                      (double)p.y[r * p.stride + i], want);
            }
        }
    }
}

TEST(norms, layer_and_rms) {
    static const struct {
        const char *what;
        float scale, offset, epsilon;
    } kinds[] = {{"ordinary", 2, 0, 1e-5f},    {"far from 0", 1, 1e4f, 1e-5f},
                 {"constant", 0, 0.1f, 1e-5f}, {"zero", 0, 0, 1e-6f},
                 {"small", 1e-12f, 0, 1e-5f},  {"no epsilon", 1, 0.5f, 0}};
    float *x = test_alloc(ROWS * 1000 * sizeof *x);
    uint64_t state = 3;
    for (size_t l = 0; l < LENGTHS; l++)
        for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const size_t n = lengths[l];
            if (kernel_quick() && (l + k) % 11) continue;
            if (kinds[k].epsilon == 0 && n == 1) continue; /* 0/0 */
            float *gain = kernel_walled(3, n * sizeof *gain);
            float *bias = kernel_walled(4, n * sizeof *bias);
            kernel_random(n, gain, &state), kernel_random(n, bias, &state);
            kernel_random(ROWS * n, x, &state);
            for (size_t i = 0; i < ROWS * n; i++) x[i] = x[i] * kinds[k].scale + kinds[k].offset;
            for (unsigned v = 0; v < 32; v++) {
                const norm setting = {v & 1, v & 2 ? gain : NULL, v & 4 ? bias : NULL,
                                      kinds[k].epsilon};
                norm_check(&setting, n, x, v >> 3, kinds[k].what);
            }
        }
    free(x);
    claim();
}

TEST(norms, nan_and_infinity_stay_in_their_row) {
    enum { N = 37 };
    float x[ROWS * N];
    uint64_t state = 4;
    for (size_t at = 0; at < N; at += 6)
        for (unsigned v = 0; v < 4; v++) {
            const norm setting = {v & 1, NULL, NULL, 1e-5f};
            kernel_random(ROWS * N, x, &state);
            x[N + at] = v & 2 ? NAN : INFINITY;
            norm_check(&setting, N, x, 0, "not finite");
        }
}
