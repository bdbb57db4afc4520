/* Cuts an input into patches by the entropy of its bytes, and keeps statistics of them. */
#include "base/abi.h"
#include "elegans/entropy.h"
#include "engine/context.h"

#include <math.h>

enum { MINIMUM = 4, MAXIMUM = 32, SIZE = 18 };
/* Between the thresholds, patch sizes fall in so many steps: a table instead of a division per
 * byte, and a histogram that describes the whole input. */
enum { STEPS = 1024 };
static const double LOW = 0.3, HIGH = 0.7;

struct eg_patcher {
    eg__memory *memory;
    eg_patch_options options;
    double fills[STEPS + 1];         /* the fraction of a patch that a byte fills */
    uint64_t bins[STEPS + 1], total; /* EG_PATCH_TARGET: bytes at each step, and all together */
    /* the patch that is open, and what ends it */
    uint32_t size;
    double fill, full, entropy;
    /* of those that are complete */
    uint64_t count, bytes;
    uint32_t size_least, size_most;
    double size_squares, entropy_sum, entropy_least, entropy_most;
};

/* ---- options */

static eg_status check_sizes(const eg_patch_options *o, eg_error *error) {
    if (o->minimum > o->maximum)
        return eg__fail(error, EG_ERR_ARGUMENT, "minimum patch '%u' is larger than the maximum %u",
                        o->minimum, o->maximum);
    const uint32_t largest = o->fixed > o->maximum ? o->fixed : o->maximum;
    if (largest > EG_PATCH_SIZE_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "patches of '%u' bytes are larger than %d", largest,
                        EG_PATCH_SIZE_MAX);
    return EG_OK;
}

static eg_status check(eg_patch_options *o, eg_error *error) {
    if (!o->minimum) o->minimum = MINIMUM;
    if (!o->maximum) o->maximum = MAXIMUM;
    if (!o->fixed) o->fixed = SIZE;
    if (o->low == 0 && o->high == 0) o->low = LOW, o->high = HIGH;
    if (!(o->low >= 0 && o->low < o->high && o->high <= 1))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "thresholds '%g' and '%g' are not low < high within 0..1", o->low, o->high);
    if (o->mode < EG_PATCH_ENTROPY || o->mode > EG_PATCH_FIXED)
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown patch mode '%d'", (int)o->mode);
    if (o->mode == EG_PATCH_TARGET && !o->target)
        return eg__fail(error, EG_ERR_ARGUMENT, "target of '0' patches");
    const eg_status status = check_sizes(o, error);
    if (!status && o->target > UINT64_MAX / o->maximum)
        return eg__fail(error, EG_ERR_OVERFLOW, "size overflow: '%llu' patches of %u bytes",
                        (unsigned long long)o->target, o->maximum);
    return status;
}

/* ---- what a byte fills */

static size_t step_of(const eg_patch_options *o, float entropy) {
    const double place = ((double)entropy - o->low) / (o->high - o->low);
    return place > 0 ? (size_t)(place < 1 ? place * STEPS + 0.5 : STEPS) : 0;
}

/* `scale` 1 is what the options ask for; more makes shorter patches, within their bounds. */
static void set_fills(eg_patcher *p, double scale) {
    const double least = p->options.minimum, most = p->options.maximum;
    for (int i = 0; i <= STEPS; i++) {
        const double size = (most - (most - least) * i / STEPS) / scale;
        p->fills[i] = 1 / fmin(most, fmax(least, size));
    }
}

eg_status eg_patcher_create(eg_context *context, const eg_patch_options *options, eg_patcher **out,
                            eg_error *error) {
    eg_error own;
    if (!error) error = &own;
    *out = NULL;
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    eg_patch_options o;
    eg_status status = EG__OPTIONS(eg_patch_options, &o, options, error);
    if (!status) status = check(&o, error);
    if (status) return status;
    eg__memory *memory = eg__context_memory(context);
    eg_patcher *p = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *p, error);
    if (!p) return error->status;
    p->memory = memory;
    p->options = o;
    p->full = 1;
    set_fills(p, 1);
    *out = p;
    return EG_OK;
}

void eg_patcher_destroy(eg_patcher *patcher) {
    if (patcher) eg__memory_give(patcher->memory, patcher);
}

/* ---- where patches end */

void eg_patcher_measure(eg_patcher *patcher, const float *entropies, size_t count) {
    if (patcher->options.mode != EG_PATCH_TARGET) return;
    patcher->total += count;
    for (size_t i = 0; i < count; i++) patcher->bins[step_of(&patcher->options, entropies[i])]++;
}

/* Patches that the whole input fills. */
static double patches_of(const eg_patcher *p) {
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) sum += (double)p->bins[i] * p->fills[i];
    return sum;
}

/* The scale with which the input fills as many patches as are wanted: more scale, more patches. */
static void fit_target(eg_patcher *p) {
    const eg_patch_options *o = &p->options;
    double low = (double)o->minimum / o->maximum, high = 1 / low;
    for (int i = 0; i < 60; i++) {
        const double middle = sqrt(low * high);
        set_fills(p, middle);
        if (patches_of(p) < (double)o->target) low = middle;
        else high = middle;
    }
    p->full = patches_of(p) / (double)o->target;
}

eg_status eg_patcher_begin(eg_patcher *patcher, eg_error *error) {
    const eg_patch_options *o = &patcher->options;
    if (o->mode != EG_PATCH_TARGET) return EG_OK;
    const uint64_t n = patcher->total, few = n / o->maximum + (n % o->maximum != 0);
    /* an input shorter than the minimum is one patch */
    const uint64_t many = n && n < o->minimum ? 1 : n / o->minimum;
    if (o->target >= few && o->target <= many) {
        fit_target(patcher);
        return EG_OK;
    }
    if (few > many)
        return eg__fail(error, EG_ERR_ARGUMENT, "no patches of %u to %u bytes cover %llu bytes",
                        o->minimum, o->maximum, (unsigned long long)n);
    return eg__fail(error, EG_ERR_ARGUMENT,
                    "'%llu' patches of %u to %u bytes cannot cover %llu bytes: %llu to %llu can",
                    (unsigned long long)o->target, o->minimum, o->maximum, (unsigned long long)n,
                    (unsigned long long)few, (unsigned long long)many);
}

/* Sums of fractions may end slightly below their exact value. */
static const double ROUNDING = 1e-9;

static bool ends(const eg_patcher *p) {
    const eg_patch_options *o = &p->options;
    if (o->mode == EG_PATCH_FIXED) return p->size == o->fixed;
    const bool full = p->size == o->maximum || p->fill >= p->full - ROUNDING;
    if (o->mode == EG_PATCH_ENTROPY) return full;
    /* the remaining bytes must be within what the other patches can hold */
    const uint64_t others = o->target - p->count - 1;
    const uint64_t left = p->total - p->bytes - p->size;
    if (p->size < o->minimum || left > others * o->maximum) return false;
    return full || left == others * o->minimum;
}

/* ---- one after the other */

static uint32_t complete(eg_patcher *p) {
    const uint32_t size = p->size;
    const double mean = p->entropy / size;
    if (!p->count || size < p->size_least) p->size_least = size;
    if (!p->count || size > p->size_most) p->size_most = size;
    if (!p->count || mean < p->entropy_least) p->entropy_least = mean;
    if (!p->count || mean > p->entropy_most) p->entropy_most = mean;
    p->size_squares += (double)size * size;
    p->entropy_sum += p->entropy;
    p->count++;
    p->bytes += size;
    p->size = 0;
    p->entropy = 0;
    /* Whole bytes fill slightly more than one patch. With a target count the excess counts for the
     * next patch; otherwise a patch depends on its own bytes only. */
    p->fill = p->options.mode == EG_PATCH_TARGET ? p->fill - p->full : 0;
    return size;
}

size_t eg_patcher_push(eg_patcher *patcher, const float *entropies, size_t count, uint32_t *sizes) {
    eg_patcher *p = patcher;
    const eg_patch_options o = p->options;
    const double full = p->full - ROUNDING;
    size_t found = 0;
    /* of the patch that is open: in registers until it may end */
    uint32_t size = p->size;
    double entropy = p->entropy, fill = p->fill;
    for (size_t i = 0; i < count; i++) {
        size++;
        entropy += (double)entropies[i];
        fill += p->fills[step_of(&o, entropies[i])];
        if (o.mode == EG_PATCH_ENTROPY && size != o.maximum && !(fill >= full)) continue;
        p->size = size, p->entropy = entropy, p->fill = fill;
        if (!ends(p)) continue;
        sizes[found++] = complete(p);
        size = p->size, entropy = p->entropy, fill = p->fill;
    }
    p->size = size, p->entropy = entropy, p->fill = fill;
    return found;
}

size_t eg_patcher_end(eg_patcher *patcher, uint32_t *size) {
    if (!patcher->size) return 0;
    *size = complete(patcher);
    return 1;
}

void eg_patcher_statistics_get(const eg_patcher *patcher, eg_patch_statistics *out) {
    const eg_patcher *p = patcher;
    *out = (eg_patch_statistics){.count = p->count,
                                 .bytes = p->bytes,
                                 .size_least = p->size_least,
                                 .size_most = p->size_most,
                                 .size_mean = NAN,
                                 .size_deviation = NAN,
                                 .entropy_mean = NAN,
                                 .entropy_least = NAN,
                                 .entropy_most = NAN,
                                 .compression_ratio = NAN,
                                 .coded_ratio = NAN};
    if (!p->count) return;
    const double mean = (double)p->bytes / (double)p->count;
    out->size_mean = out->compression_ratio = mean;
    out->size_deviation = sqrt(fmax(0, p->size_squares / (double)p->count - mean * mean));
    out->entropy_mean = p->entropy_sum / (double)p->bytes;
    out->entropy_least = p->entropy_least;
    out->entropy_most = p->entropy_most;
    out->coded_ratio = 1 / out->entropy_mean;
}

eg_status eg_patch_sizes(eg_context *context, const eg_patch_options *options,
                         const float *entropies, size_t count, uint32_t *sizes, size_t *patches,
                         eg_patch_statistics *statistics, eg_error *error) {
    eg_patcher *p;
    *patches = 0;
    eg_status status = eg_patcher_create(context, options, &p, error);
    if (status) return status;
    eg_patcher_measure(p, entropies, count);
    status = eg_patcher_begin(p, error);
    if (!status) {
        *patches = eg_patcher_push(p, entropies, count, sizes);
        *patches += eg_patcher_end(p, sizes + *patches);
        if (statistics) eg_patcher_statistics_get(p, statistics);
    }
    eg_patcher_destroy(p);
    return status;
}
