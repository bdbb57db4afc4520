/* Did the times change? A rank test, a bootstrap and a minimum effect must agree. */
#include "base/abi.h"
#include "base/random.h"
#include "elegans/profile.h"
#include "engine/context.h"
#include "profile/measure/statistics.h"

#include <math.h>
#include <string.h>

/* ---- Mann-Whitney U: the number of pairs whose new sample is greater; ties count half */
typedef struct ranks {
    double u;
    double ties; /* the sum of t^3 - t over groups of t equal samples */
} ranks;

static size_t equal_to(double value, size_t at, size_t count, const double *sorted) {
    size_t end = at;
    while (end < count && sorted[end] == value) end++;
    return end - at;
}

static ranks find_ranks(size_t n, const double *old_sorted, size_t m, const double *new_sorted) {
    ranks r = {0, 0};
    for (size_t i = 0, j = 0; i < n || j < m;) {
        const double value =
            j == m || (i < n && old_sorted[i] <= new_sorted[j]) ? old_sorted[i] : new_sorted[j];
        const size_t a = equal_to(value, i, n, old_sorted), b = equal_to(value, j, m, new_sorted);
        const double t = (double)(a + b);
        r.u += (double)b * ((double)i + (double)a / 2);
        r.ties += (t * t - 1) * t;
        i += a;
        j += b;
    }
    return r;
}

/* How many of the orders of n and m samples have U of u: the coefficient of x^u in the product of
 * (1 - x^(n+i)) / (1 - x^i) for i = 1..m. All of them are below C(40, 20), so they are exact. */
enum { EXACT = 20 };
static double exact_p(size_t n, size_t m, double u) {
    int64_t ways[EXACT * EXACT + 1] = {1};
    const size_t most = n * m;
    double all = 0, beyond = 0;
    for (size_t i = 1; i <= m; i++) {
        for (size_t k = most; k >= n + i; k--) ways[k] -= ways[k - n - i];
        for (size_t k = i; k <= most; k++) ways[k] += ways[k - i];
    }
    for (size_t k = 0; k <= most; k++) {
        all += (double)ways[k];
        if ((double)k >= u) beyond += (double)ways[k];
    }
    return beyond / all;
}

static double rank_test(size_t n, const double *old_sorted, size_t m, const double *new_sorted) {
    const ranks r = find_ranks(n, old_sorted, m, new_sorted);
    const double a = (double)n, b = (double)m, both = a + b, greater = fmax(r.u, a * b - r.u);
    if (n <= EXACT && m <= EXACT && r.ties == 0) return fmin(1, 2 * exact_p(n, m, greater));
    const double variance = a * b / 12 * (both + 1 - r.ties / (both * (both - 1)));
    if (!(variance > 0)) return 1; /* all of them are equal */
    const double z = (greater - a * b / 2 - 0.5) / sqrt(variance);
    return fmin(1, erfc(z / sqrt(2)));
}

/* ---- the bootstrap */

/* The median of as many draws, with repetition, as there are samples. Counting how often each of the
 * sorted samples is drawn is enough: nothing is sorted again. */
static double drawn_median(eg__pcg *pcg, uint32_t count, const double *sorted, uint32_t *drawn) {
    memset(drawn, 0, count * sizeof *drawn);
    for (uint32_t i = 0; i < count; i++) drawn[eg__pcg_bounded(pcg, count - 1)]++;
    const uint32_t first = (count - 1) / 2, second = count / 2;
    uint32_t at = 0, seen = drawn[0];
    while (seen <= first) seen += drawn[++at];
    const double low = sorted[at];
    while (seen <= second) seen += drawn[++at];
    return low + (sorted[at] - low) / 2;
}

typedef struct samples {
    size_t old_count, new_count;
    double *old_sorted, *new_sorted;
} samples;

static eg_status bootstrap(eg__memory *memory, const samples *s, const eg_compare_options *options,
                           eg_interval *ratio, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t resamples = (size_t)options->resamples;
    double *ratios =
        eg__memory_take_array(memory, EG_TAG_MEASURE, resamples, sizeof *ratios, &reason);
    uint32_t *drawn =
        !ratios ? NULL
                : eg__memory_take_array(memory, EG_TAG_MEASURE, eg__max(s->old_count, s->new_count),
                                        sizeof *drawn, &reason);
    if (!drawn) {
        eg__memory_give(memory, ratios);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    eg__pcg pcg;
    eg__pcg_seed(&pcg, options->seed);
    for (size_t i = 0; i < resamples; i++) {
        const double was = drawn_median(&pcg, (uint32_t)s->old_count, s->old_sorted, drawn);
        ratios[i] = drawn_median(&pcg, (uint32_t)s->new_count, s->new_sorted, drawn) / was;
    }
    eg__samples_order(resamples, ratios);
    ratio->low = eg__samples_percentile(resamples, ratios, 0.025);
    ratio->high = eg__samples_percentile(resamples, ratios, 0.975);
    eg__memory_give(memory, drawn);
    eg__memory_give(memory, ratios);
    return EG_OK;
}

/* ---- all together */
static eg_status take_samples(eg__memory *memory, const char *what, size_t count,
                              const double *given, double **sorted, eg_error *error) {
    eg_status status = eg__samples_sort(memory, what, count, given, sorted, error);
    if (!status && !((*sorted)[0] > 0))
        return eg__fail(error, EG_ERR_ARGUMENT, "%ssample is '%g', not a time", what, (*sorted)[0]);
    return status;
}

static eg_status compare(eg__memory *memory, const samples *s, const eg_compare_options *options,
                         eg_comparison *out, eg_error *error) {
    out->ratio = (eg_interval){eg__samples_percentile(s->new_count, s->new_sorted, 0.5) /
                                   eg__samples_percentile(s->old_count, s->old_sorted, 0.5),
                               NAN, NAN};
    out->p = rank_test(s->old_count, s->old_sorted, s->new_count, s->new_sorted);
    out->verdict = EG_VERDICT_SAME;
    if (s->old_count < 2 || s->new_count < 2) return EG_OK;
    eg_status status = bootstrap(memory, s, options, &out->ratio, error);
    if (status || !(out->p < options->alpha)) return status;
    if (out->ratio.value - 1 >= options->effect && out->ratio.low > 1)
        out->verdict = EG_VERDICT_SLOWER;
    if (1 - out->ratio.value >= options->effect && out->ratio.high < 1)
        out->verdict = EG_VERDICT_FASTER;
    return EG_OK;
}

static eg_status fill_options(const eg_compare_options *given, eg_compare_options *options,
                              eg_error *error) {
    const eg_status taken = EG__OPTIONS(eg_compare_options, options, given, error);
    if (taken) return taken;
    if (!(options->alpha >= 0 && options->alpha < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "alpha is '%g', not within 0..1", options->alpha);
    if (!(options->effect >= 0 && isfinite(options->effect)))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the minimum effect '%g' is not a finite number >= 0", options->effect);
    if (options->resamples > UINT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu resamples are out of range",
                        (unsigned long long)options->resamples);
    if (options->alpha == 0) options->alpha = 0.01;
    if (options->effect == 0) options->effect = 0.03;
    if (options->resamples == 0) options->resamples = 2000;
    return EG_OK;
}

eg_status eg_compare(eg_context *context, size_t old_count, const double *old_samples,
                     size_t new_count, const double *new_samples, const eg_compare_options *options,
                     eg_comparison *out, eg_error *error) {
    if (!context || !out || !old_samples || !new_samples)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, samples or output pointer for the comparison");
    if (!old_count || !new_count || old_count > UINT32_MAX || new_count > UINT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu old samples and %zu new ones", old_count,
                        new_count);
    eg_compare_options how;
    eg_status status = fill_options(options, &how, error);
    if (status) return status;
    eg__memory *memory = eg__context_memory(context);
    samples s = {old_count, new_count, NULL, NULL};
    status = take_samples(memory, "old ", old_count, old_samples, &s.old_sorted, error);
    if (!status)
        status = take_samples(memory, "new ", new_count, new_samples, &s.new_sorted, error);
    if (!status) status = compare(memory, &s, &how, out, error);
    eg__memory_give(memory, s.new_sorted);
    eg__memory_give(memory, s.old_sorted);
    return status;
}
