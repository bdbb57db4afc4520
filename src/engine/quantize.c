/* Quantization: finds the range of every tensor, channel or block, and rounds the values within
 * it. */
#include "elegans/quantize.h"
#include "engine/program.h"

#include <math.h>
#include <string.h>

const char *eg_granularity_name(eg_granularity per) {
    static const char *const names[] = {
#define NAME(name, text) [name] = text,
        EG_GRANULARITY_MAP(NAME)
#undef NAME
    };
    return (unsigned)per < sizeof names / sizeof *names ? names[per] : NULL;
}

const char *eg_layout_name(eg_layout layout) {
    static const char *const names[] = {
#define NAME(name, text) [name] = text,
        EG_LAYOUT_MAP(NAME)
#undef NAME
    };
    return (unsigned)layout < sizeof names / sizeof *names ? names[layout] : NULL;
}

static bool is_half(eg_type type) { return type == EG_F16 || type == EG_BF16; }

eg_status eg_quantization_check(const eg_quantization *quantization, eg_error *error) {
    if (!quantization) return eg__fail(error, EG_ERR_ARGUMENT, "no quantization");
    if (!is_half(quantization->type) && quantization->type != EG_I8 && quantization->type != EG_I4)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "no quantization to '%s', only to f16, bf16, i8 and i4",
                        eg_type_name(quantization->type));
    if (!eg_granularity_name(quantization->per))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown granularity %d of scales",
                        (int)quantization->per);
    if (!eg_layout_name(quantization->layout))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown layout %d", (int)quantization->layout);
    if (quantization->layout == EG_LAYOUT_BLOCKS &&
        (is_half(quantization->type) || quantization->per != EG_PER_BLOCK ||
         quantization->block != EG_BLOCK_GGUF || !quantization->symmetric))
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "blocks of %s per %s of '%u', only of symmetric i8 and i4 per block of 32",
                        eg_type_name(quantization->type), eg_granularity_name(quantization->per),
                        quantization->block);
    return EG_OK;
}

static eg_status check_apart(const eg_quantization *quantization, eg_error *error) {
    eg_status status = eg_quantization_check(quantization, error);
    if (!status && quantization->layout != EG_LAYOUT_APART)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "layout '%s' is for inputs only: a quantized tensor has "
                        "separate scales",
                        eg_layout_name(quantization->layout));
    return status;
}

/* ---- shapes and memory */
static void count(eg_quantized *q) {
    const eg_tensor *t = &q->values;
    uint64_t elements = 0;
    eg_tensor_measure(t, &elements, NULL, NULL);
    q->rows = t->rank > 1 ? t->shape[0] : 1;
    q->columns = q->rows ? elements / q->rows : 0;
    q->groups = 1;
    q->scales = 0;
    if (is_half(t->type)) return;
    if (q->quantization.per == EG_PER_BLOCK) {
        if (!q->quantization.block) q->quantization.block = EG_BLOCK_DEFAULT;
        q->groups = q->columns / q->quantization.block + (q->columns % q->quantization.block != 0);
    }
    q->scales =
        q->quantization.per == EG_PER_TENSOR ? 1 : q->rows * q->groups; /* not above the elements */
}

eg_status eg__quantized_like(unsigned rank, const uint64_t *shape,
                             const eg_quantization *quantization, eg_quantized *out,
                             eg_error *error) {
    *out = (eg_quantized){.quantization = *quantization,
                          .values = {.type = quantization->type, .rank = rank}};
    eg_status status = check_apart(quantization, error);
    for (unsigned i = 0; !status && i < rank; i++) out->values.shape[i] = shape[i];
    if (!status) status = eg_tensor_measure(&out->values, NULL, NULL, error);
    if (!status) count(out);
    return status;
}

eg_status eg_quantized_create(eg_context *context, unsigned rank, const uint64_t *shape,
                              const eg_quantization *quantization, eg_quantized *out,
                              eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    memset(out, 0, sizeof *out);
    eg_status status = check_apart(quantization, error);
    if (status) return status;
    eg_quantized q = {.quantization = *quantization};
    status = eg_tensor_create(context, quantization->type, rank, shape, &q.values, error);
    if (status) return status;
    count(&q);
    eg_error reason = {EG_OK, ""};
    if (q.scales) {
        q.scale = eg__memory_take_array(context->memory, EG_TAG_TENSOR, q.scales, sizeof *q.scale,
                                        &reason);
        if (!quantization->symmetric)
            q.zero = eg__memory_take_array(context->memory, EG_TAG_TENSOR, q.scales, 1, &reason);
    }
    *out = q;
    if (!reason.status) return EG_OK;
    eg_quantized_release(context, out);
    return eg__fail(error, reason.status, "%s", reason.message);
}

void eg_quantized_release(eg_context *context, eg_quantized *q) {
    if (!context || !q) return;
    eg_tensor_release(context, &q->values);
    eg__memory_give(context->memory, q->scale);
    eg__memory_give(context->memory, q->zero);
    memset(q, 0, sizeof *q);
}

uint64_t eg_quantized_bytes(const eg_quantized *q) {
    uint64_t bytes = 0;
    eg_tensor_measure(&q->values, NULL, &bytes, NULL);
    return bytes + q->scales * (sizeof *q->scale + (q->zero ? sizeof *q->zero : 0));
}

/* ---- the range of a group of values, and rounding */
typedef struct range {
    double scale; /* a float */
    int zero, low, high;
} range;

/* Rounds up to a float, so that the ends of the range stay representable. */
static double float_above(double x) {
    float single = (float)x;
    return single < x ? nextafterf(single, INFINITY) : single;
}

static range find_range(size_t n, const float *x, const eg_quantization *quantization) {
    double least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
    }
    range r = {0, 0, quantization->type == EG_I4 ? -8 : -128,
               quantization->type == EG_I4 ? 7 : 127};
    if (quantization->symmetric) {
        r.low++;
        r.scale = float_above(fmax(most, -least) / r.high);
        return r;
    }
    r.scale = float_above((most - least) / (r.high - r.low));
    if (r.scale == 0) return r;
    /* The zero point is rounded, which moves the ends of the range by up to half a step. If one end
     * would be clipped by more than half a step (the rounding error), the steps become a little
     * larger. */
    for (;;) {
        r.zero = (int)nearbyint(r.low - least / r.scale);
        const bool low_fits = (r.low - r.zero - 0.5) * r.scale <= least;
        const bool high_fits = (r.high - r.zero + 0.5) * r.scale >= most;
        if (low_fits && high_fits && r.zero >= r.low && r.zero <= r.high) return r;
        r.scale = nextafterf((float)r.scale, INFINITY);
    }
}

static int quantize_one(const range *r, float x) {
    if (isnan(x) || r->scale == 0) return r->zero;
    const double q = nearbyint(x / r->scale) + r->zero;
    return q < r->low ? r->low : q > r->high ? r->high : (int)q;
}

/* ---- clipping: a smaller range has finer steps for most values and clips a few. Errors are
 * weighted by magnitude, because large values dominate products. */
static double squares(const range *r, size_t n, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        const double off = ((quantize_one(r, x[i]) - r->zero) * r->scale - x[i]) * x[i];
        sum += off * off;
    }
    return sum;
}

/* The least-squares scale for the integers that the range gives. */
static void fit_scale(range *r, size_t n, const float *x) {
    double product = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        const double q = quantize_one(r, x[i]) - r->zero, weight = (double)x[i] * x[i];
        product += weight * q * x[i];
        square += weight * q * q;
    }
    if (square > 0 && product > 0) r->scale = (float)(product / square);
}

static range find_least_squares(size_t n, const float *x, const eg_quantization *quantization) {
    enum { AROUND = 3, PARTS = 7 };
    const range whole = find_range(n, x, quantization);
    if (whole.scale == 0) return whole;
    const double from = (whole.low - whole.zero) * whole.scale;
    const double to = (whole.high - whole.zero) * whole.scale;
    range best = whole;
    double least = squares(&best, n, x);
    const int around = quantization->symmetric ? 0 : AROUND;
    for (int zero = whole.zero - around; zero <= whole.zero + around; zero++) {
        if (zero < whole.low || zero > whole.high) continue;
        const double below = zero > whole.low ? from / (whole.low - zero) : 0;
        const double above = zero < whole.high ? to / (whole.high - zero) : 0;
        for (int part = 0; part < PARTS; part++) {
            range r = {(float)(fmax(below, above) * (1 - 0.07 * part)), zero, whole.low,
                       whole.high};
            if (!(r.scale > 0)) continue;
            fit_scale(&r, n, x);
            const double sum = squares(&r, n, x);
            if (sum < least) {
                least = sum;
                best = r;
            }
        }
    }
    return best;
}

/* `n` numbers from element `first` on share a scale. */
static void quantize_group(const float *x, size_t first, size_t n, size_t index, eg_quantized *q) {
    const range r = q->quantization.least_squares
                        ? find_least_squares(n, x + first, &q->quantization)
                        : find_range(n, x + first, &q->quantization);
    q->scale[index] = (float)r.scale;
    if (q->zero) q->zero[index] = (int8_t)r.zero;
    for (size_t i = first; i < first + n; i++) {
        const int value = quantize_one(&r, x[i]);
        if (q->quantization.type == EG_I8) ((int8_t *)q->values.data)[i] = (int8_t)value;
        else eg__nibble_set(q->values.data, i, value);
    }
}

static void quantize_all(const float *x, eg_quantized *q) {
    const size_t columns = (size_t)q->columns, rows = (size_t)q->rows;
    if (q->quantization.per == EG_PER_TENSOR) {
        quantize_group(x, 0, rows * columns, 0, q);
        return;
    }
    const size_t block = q->quantization.per == EG_PER_BLOCK ? q->quantization.block : columns;
    for (size_t r = 0, index = 0; r < rows; r++)
        for (size_t from = 0; from < columns; from += block)
            quantize_group(x, r * columns + from, eg__min(block, columns - from), index++, q);
}

/* ---- dequantization */
static eg__quantized_matrix matrix_of(const eg_quantized *q) {
    const bool blocks = q->quantization.per == EG_PER_BLOCK;
    return (eg__quantized_matrix){.type = q->quantization.type,
                                  .rows = (size_t)q->rows,
                                  .columns = (size_t)q->columns,
                                  .block = blocks ? q->quantization.block : (size_t)q->columns,
                                  .one_scale = q->quantization.per == EG_PER_TENSOR,
                                  .values = q->values.data,
                                  .scale = q->scale,
                                  .zero = q->zero};
}

eg_status eg_dequantize(const eg_context *context, const eg_quantized *q, eg_tensor *to,
                        eg_error *error) {
    if (!context || !q || !to)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, nothing quantized or no tensor");
    if (to->type != EG_F32 || to->rank != q->values.rank ||
        memcmp(to->shape, q->values.shape, to->rank * sizeof *to->shape) != 0)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 of the shape that was quantized");
    if (is_half(q->quantization.type)) return eg_tensor_convert(context, &q->values, to, error);
    const eg__quantized_matrix stored = matrix_of(q);
    const size_t columns = (size_t)q->columns;
    for (size_t r = 0; r < q->rows; r++)
        for (size_t c = 0; c < columns; c++)
            ((float *)to->data)[r * columns + c] = eg__quantized_matrix_value(&stored, r, c);
    return EG_OK;
}

eg_status eg_tensor_compare(const eg_tensor *exact, const eg_tensor *other, eg_difference *out,
                            eg_error *error) {
    uint64_t n = 0, m = 0;
    if (!exact || !other || !out || exact->type != EG_F32 || other->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs two tensors of f32 and an output pointer");
    eg_status status = eg_tensor_measure(exact, &n, NULL, error);
    if (!status) status = eg_tensor_measure(other, &m, NULL, error);
    if (!status && n != m)
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "tensors of %llu and %llu values cannot be compared",
                     (unsigned long long)n, (unsigned long long)m);
    if (status) return status;
    const float *x = exact->data, *y = other->data;
    double power = 0, noise = 0;
    *out = (eg_difference){0};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) continue;
        const double d = (double)y[i] - x[i];
        out->most = fmax(out->most, fabs(d));
        power += (double)x[i] * x[i];
        noise += d * d;
        out->count++;
    }
    out->rms = out->count ? sqrt(noise / (double)out->count) : 0;
    out->snr = noise > 0 ? 10 * log10(power / noise) : INFINITY;
    return EG_OK;
}

/* ---- whole tensors */
static eg_status find_difference(eg_context *context, const eg_tensor *tensor, eg_quantized *q,
                                 eg_error *error) {
    eg_tensor wide;
    eg_status status = eg_tensor_create(context, EG_F32, tensor->rank, tensor->shape, &wide, error);
    if (!status) status = eg_dequantize(context, q, &wide, error);
    if (!status) status = eg_tensor_compare(tensor, &wide, &q->off, error);
    eg_tensor_release(context, &wide);
    return status;
}

eg_status eg_quantize(eg_context *context, const eg_tensor *tensor,
                      const eg_quantization *quantization, eg_quantized *out, eg_error *error) {
    if (!context || !tensor || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no tensor or no output pointer");
    memset(out, 0, sizeof *out);
    if (tensor->type != EG_F32)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "cannot quantize '%s', only f32",
                        eg_type_name(tensor->type));
    eg_quantized q;
    eg_status status =
        eg_quantized_create(context, tensor->rank, tensor->shape, quantization, &q, error);
    if (status) return status;
    const float *x = tensor->data;
    for (size_t i = 0; i < q.rows * q.columns; i++) q.odd += !isfinite(x[i]);
    if (is_half(quantization->type)) status = eg_tensor_convert(context, tensor, &q.values, error);
    else if (q.rows && q.columns) quantize_all(x, &q);
    if (!status) status = find_difference(context, tensor, &q, error);
    if (status) eg_quantized_release(context, &q);
    else *out = q;
    return status;
}
