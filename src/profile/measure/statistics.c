/* Percentiles, mean and deviation of samples, each with a 95 % confidence interval. */
#include "profile/measure/statistics.h"
#include "elegans/profile.h"
#include "engine/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sorted samples */
static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void eg__samples_order(size_t count, double *samples) {
    qsort(samples, count, sizeof *samples, rising);
}

eg_status eg__samples_sort(eg__memory *memory, const char *what, size_t count,
                           const double *samples, double **sorted, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    *sorted = NULL;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(samples[i]))
            return eg__fail(error, EG_ERR_ARGUMENT, "%ssample %zu is '%g'", what, i, samples[i]);
    double *copy = eg__memory_take_array(memory, EG_TAG_MEASURE, count, sizeof *samples, &reason);
    if (!copy) return eg__fail(error, reason.status, "%s", reason.message);
    if (count) {
        memcpy(copy, samples, count * sizeof *copy);
        eg__samples_order(count, copy);
    }
    *sorted = copy;
    return EG_OK;
}

double eg__samples_percentile(size_t count, const double *sorted, double q) {
    const double place = q * (double)(count - 1);
    const size_t below = (size_t)place, above = eg__min(below + 1, count - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

/* ---- the mean */

/* The 97.5th percentile of Student's t: a table where the expansion of Fisher and Cornish, which is
 * within 1e-5 from there on, is too rough. */
static double student(double freedom) {
    static const double few[] = {12.706204736174705, 4.302652729749464,  3.1824463052837078,
                                 2.7764451051977934, 2.5705818356363141, 2.4469118511449692,
                                 2.3646242515927858, 2.3060041352041676, 2.2621571628540993,
                                 2.2281388519862744};
    if (freedom <= 10) return few[(int)freedom - 1];
    const double z = 1.959963984540054, z2 = z * z, d = freedom;
    const double first = z * (z2 + 1) / 4, second = z * ((5 * z2 + 16) * z2 + 3) / 96,
                 third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
                 fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (first + (second + (third + fourth / d) / d) / d) / d;
}

static void find_mean(size_t count, const double *samples, eg_statistics *out) {
    double sum = 0, squares = 0;
    /* sums of differences from one sample, to avoid cancellation */
    for (size_t i = 0; i < count; i++) sum += samples[i] - samples[0];
    const double mean = samples[0] + sum / (double)count;
    out->mean = (eg_interval){mean, NAN, NAN};
    if (count < 2) return;
    for (size_t i = 0; i < count; i++) squares += (samples[i] - mean) * (samples[i] - mean);
    out->deviation = sqrt(squares / (double)(count - 1));
    const double half = student((double)(count - 1)) * out->deviation / sqrt((double)count);
    out->mean.low = mean - half;
    out->mean.high = mean + half;
}

/* ---- percentiles: of n samples, the number below the true percentile q is binomial(n, q) */

/* P(k + 1) / P(k) */
static double step_up(double n, double q, double k) { return (n - k) / (k + 1) * q / (1 - q); }

/* Ranks (from 1) of the two samples that enclose the true percentile: it is below the first at most
 * 2.5 % of the time, and above the second at most 2.5 %. 0 and count + 1: even the smallest or the
 * largest sample is not far enough out. */
static void find_ranks(size_t count, double q, size_t *low, size_t *high) {
    /* probabilities in units of the likeliest one: nothing overflows, and no factorial is needed */
    const double n = (double)count, mode = floor((n + 1) * q), nothing = 1e-20;
    double below = 0, above = 0, p = 1;
    for (double k = mode; k > 0 && p > nothing; k--) below += p /= step_up(n, q, k - 1);
    p = 1;
    for (double k = mode; k < n && p > nothing; k++) above += p *= step_up(n, q, k);
    const double tail = 0.025 * (below + 1 + above);
    double k = mode;
    for (p = 1; below > tail && k > 0; k--) below -= p /= step_up(n, q, k - 1);
    *low = (size_t)k;
    k = mode;
    for (p = 1; above > tail && k < n; k++) above -= p *= step_up(n, q, k);
    *high = (size_t)k + 1;
}

/* With very few samples the rank may be below the estimate of p99: the interval is extended to
 * include it. */
static eg_interval percentile(size_t count, const double *sorted, double q) {
    size_t low, high;
    find_ranks(count, q, &low, &high);
    const double value = eg__samples_percentile(count, sorted, q);
    return (eg_interval){value, low > 0 ? fmin(sorted[low - 1], value) : NAN,
                         high <= count ? fmax(sorted[high - 1], value) : NAN};
}

eg_status eg_statistics_of(eg_context *context, size_t count, const double *samples,
                           eg_statistics *out, eg_error *error) {
    if (!context || !out || (count && !samples))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, samples or output pointer for the statistics");
    const eg_interval unknown = {NAN, NAN, NAN};
    *out = (eg_statistics){.count = count,
                           .least = NAN,
                           .most = NAN,
                           .deviation = NAN,
                           .mean = unknown,
                           .p50 = unknown,
                           .p90 = unknown,
                           .p99 = unknown};
    if (!count) return EG_OK;
    eg__memory *memory = eg__context_memory(context);
    double *sorted;
    eg_status status = eg__samples_sort(memory, "", count, samples, &sorted, error);
    if (status) return status;
    out->least = sorted[0];
    out->most = sorted[count - 1];
    find_mean(count, sorted, out);
    out->p50 = percentile(count, sorted, 0.5);
    out->p90 = percentile(count, sorted, 0.9);
    out->p99 = percentile(count, sorted, 0.99);
    eg__memory_give(memory, sorted);
    return EG_OK;
}

const char *eg__seconds_brief(char out[32], double seconds) {
    static const struct {
        double least, unit;
        const char *name;
    } units[] = {{1, 1, "s"}, {1e-3, 1e-3, "ms"}, {1e-6, 1e-6, "us"}, {0, 1e-9, "ns"}};
    size_t i = 0;
    while (i < 3 && seconds < units[i].least) i++;
    snprintf(out, 32, "%.3g %s", seconds / units[i].unit, units[i].name);
    return out;
}

/* ---- noise */
eg_noise eg_statistics_noise(const eg_statistics *s, char text[EG_NOISE_TEXT]) {
    enum { FEW = 5 };
    const double median = s->p50.value;
    /* how far each is beyond what it may be */
    const double beyond[] = {0, s->mean.value / median / 1.25, s->p90.value / median / 1.5,
                             (s->p50.high - s->p50.low) / median / 0.1};
    eg_noise worst = EG_NOISE_NONE;
    char a[32], b[32];
    if (text) text[0] = 0;
    if (s->count < FEW || !(median > 0)) return EG_NOISE_NONE;
    for (int i = EG_NOISE_MEAN; i <= EG_NOISE_MEDIAN; i++)
        if (beyond[i] > 1 && beyond[i] > beyond[worst]) worst = (eg_noise)i;
    if (!text || worst == EG_NOISE_NONE) return worst;
    if (worst == EG_NOISE_MEAN)
        snprintf(text, EG_NOISE_TEXT, "the mean (%s) is %.1f times the median (%s)",
                 eg__seconds_brief(a, s->mean.value), s->mean.value / median,
                 eg__seconds_brief(b, median));
    else if (worst == EG_NOISE_TAIL)
        snprintf(text, EG_NOISE_TEXT, "one run in ten takes %.1f times the median (%s of %s)",
                 s->p90.value / median, eg__seconds_brief(a, s->p90.value),
                 eg__seconds_brief(b, median));
    else
        snprintf(text, EG_NOISE_TEXT, "the median lies anywhere from %s to %s",
                 eg__seconds_brief(a, s->p50.low), eg__seconds_brief(b, s->p50.high));
    return worst;
}
