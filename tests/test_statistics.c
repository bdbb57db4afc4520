/* Statistics of samples against scipy, and verdicts on noise that is like that of real machines. */
#include "test.h"
#include "base/random.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(statistics, "as scipy has them; no alarm without a cause, none missed of 5 % in 100 samples")

enum { SAMPLES_MOST = 10007 };

/* Sample i is (i * a + b) mod m + 1. */
typedef struct series {
    size_t count;
    double a, b, m;
} series;

static const double *fill(const series *s, double *out) {
    for (size_t i = 0; i < s->count; i++) out[i] = fmod((double)i * s->a + s->b, s->m) + 1;
    return out;
}

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static bool near(double a, double b, double tolerance) {
    return isnan(a) ? isnan(b) : fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

/* scipy 1.17: mannwhitneyu(new, old, method="exact" or "asymptotic"), numpy: the ratio of medians */
static const struct {
    series old_samples, new_samples;
    double p, ratio;
} pairs[] = {
    /* exact */
    {{3, 7, 1, 11}, {3, 5, 30, 101}, 0.1, 7.2},
    {{8, 37, 11, 101}, {9, 53, 40, 103}, 0.2765939942410531, 0.9814814814814815},
    {{20, 37, 11, 101}, {20, 41, 17.5, 103}, 0.3983023227933031, 1.1485148514851484},
    {{20, 37, 11, 101}, {5, 41, 60.5, 211}, 0.09696969696969696, 2.0297029702970297},
    {{1, 1, 1, 5}, {1, 1, 2.5, 7}, 1, 1.75},
    /* too many samples, or ties */
    {{21, 37, 11, 101}, {20, 41, 17.5, 103}, 0.3822555647903495, 1.183673469387755},
    {{12, 3, 1, 7}, {15, 5, 2, 8}, 0.6225957838560694, 1},
    {{100, 37, 11, 97}, {100, 41, 30, 103}, 0.47856643676432653, 1.0612244897959184},
    {{40, 3, 1, 5}, {10, 1, 1, 4}, 0.327933565266328, 0.8333333333333334},
    {{1, 0, 4, 9}, {30, 1, 4, 50}, 0.11748788419479099, 3.9},
    {{6, 0, 4, 9}, {7, 0, 4, 9}, 1, 1}, /* all of them equal */
};

TEST(statistics, ranks) {
    eg_context *context = open_context();
    eg_error error;
    double a[128], b[128];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t n = pairs[i].old_samples.count, m = pairs[i].new_samples.count;
        eg_comparison c, back;
        fill(&pairs[i].old_samples, a);
        fill(&pairs[i].new_samples, b);
        CHECK_OK(eg_compare(context, n, a, m, b, NULL, &c, &error), error);
        CHECK_OK(eg_compare(context, m, b, n, a, NULL, &back, &error), error);
        CHECK(near(c.p, pairs[i].p, 1e-12) && near(back.p, pairs[i].p, 1e-12),
              "pair %zu: p %.17g and %.17g, not %.17g", i, c.p, back.p, pairs[i].p);
        CHECK(near(c.ratio.value, pairs[i].ratio, 1e-12), "pair %zu: ratio %.17g, not %.17g", i,
              c.ratio.value, pairs[i].ratio);
        CHECK(c.verdict == EG_VERDICT_SAME, "pair %zu: verdict %d", i, c.verdict);
        if (n > 1 && m > 1)
            CHECK(c.ratio.low <= c.ratio.value && c.ratio.value <= c.ratio.high,
                  "pair %zu: %g within %g..%g", i, c.ratio.value, c.ratio.low, c.ratio.high);
        else CHECK(isnan(c.ratio.low) && isnan(c.ratio.high), "pair %zu: an interval of one", i);
    }
    eg_context_destroy(context);
}

/* numpy: mean, std(ddof=1), percentile; scipy: t.interval, and the ranks by binom.cdf and binom.sf */
static const struct {
    series samples;
    double mean, deviation, low, high;
    double p50[3], p90[3], p99[3];
} sets[] = {
    {{1, 1, 3, 7}, 4, NAN, NAN, NAN, {4, NAN, NAN}, {4, NAN, NAN}, {4, 4, NAN}},
    {{2, 37, 11, 101},
     30.5,
     26.16295090390226,
     -204.56478761923185,
     265.5647876192319,
     {30.5, NAN, NAN},
     {45.3, 12, NAN},
     {48.63, 48.63, NAN}},
    {{5, 37, 11, 101},
     45.6,
     29.61925049693189,
     8.822843004180726,
     82.37715699581928,
     {49, NAN, NAN},
     {75.2, 49, NAN},
     {84.92, 59, NAN}},
    {{11, 37, 11, 101},
     50.09090909090909,
     30.556356279682777,
     29.56286962142171,
     70.61894856039648,
     {49, 12, 86},
     {86, 69, NAN},
     {95, 86, NAN}},
    {{12, 37, 11, 101},
     47.166666666666664,
     30.84516562484699,
     27.56858342794584,
     66.76474990538749,
     {45.5, 15, 79},
     {85.3, 59, NAN},
     {94.9, 86, NAN}},
    {{30, 37, 11, 101},
     50.233333333333334,
     29.635350900377507,
     39.167311442152695,
     61.299355224513974,
     {50.5, 32, 69},
     {89.3, 75, NAN},
     {98.13, 92, NAN}},
    {{100, 37, 11, 101},
     50.75,
     29.33931584998966,
     44.928443214250244,
     56.571556785749756,
     {50.5, 40, 61},
     {91.1, 85, 97},
     {100.01, 98, NAN}},
    {{1000, 377, 11, 1009},
     505.213,
     291.5262924852752,
     487.1224275635521,
     523.303572436448,
     {504.5, 473, 537},
     {909.1, 889, 928},
     {999.01, 992, 1006}},
    {{SAMPLES_MOST, 377, 11, 10009},
     5004.110522634156,
     2889.0960683440285,
     4947.498240624003,
     5060.722804644309,
     {5004, 4905, 5103},
     {9006.4, 8947, 9066},
     {9908.94, 9889, 9929}},
};

static void check_percentile(size_t count, const char *what, eg_interval is, const double be[3]) {
    CHECK(near(is.value, be[0], 1e-12) && near(is.low, be[1], 1e-12) && near(is.high, be[2], 1e-12),
          "%s of %zu: %.17g (%g..%g), not %.17g (%g..%g)", what, count, is.value, is.low, is.high,
          be[0], be[1], be[2]);
}

TEST(statistics, percentiles) {
    eg_context *context = open_context();
    eg_error error;
    static double samples[SAMPLES_MOST];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const size_t n = sets[i].samples.count;
        eg_statistics s;
        fill(&sets[i].samples, samples);
        CHECK_OK(eg_statistics_of(context, n, samples, &s, &error), error);
        CHECK(s.count == n, "%llu counted of %zu", (unsigned long long)s.count, n);
        CHECK(near(s.mean.value, sets[i].mean, 1e-13) &&
                  near(s.deviation, sets[i].deviation, 1e-13),
              "mean %.17g deviation %.17g of %zu", s.mean.value, s.deviation, n);
        /* the expansion of Student's t is not exact */
        CHECK(near(s.mean.low, sets[i].low, 1e-5) && near(s.mean.high, sets[i].high, 1e-5),
              "mean of %zu within %.17g..%.17g", n, s.mean.low, s.mean.high);
        check_percentile(n, "p50", s.p50, sets[i].p50);
        check_percentile(n, "p90", s.p90, sets[i].p90);
        check_percentile(n, "p99", s.p99, sets[i].p99);
        CHECK(s.least >= 1 && s.most <= sets[i].samples.m + 1 && s.least <= s.p50.value &&
                  s.p99.value <= s.most,
              "%g..%g of %zu", s.least, s.most, n);
    }
    eg_context_destroy(context);
}

/* ---- noise: a log-normal with a few samples that the system interrupted, and a clock that wanders by
 * 5 % within a trial. What remains is a little less than on a shared virtual machine (8 %, all told), where
 * 100 samples are just enough. */
static double uniform(eg__pcg *pcg) { return (double)(eg__pcg_u64(pcg) >> 11) * 0x1p-53; }

static double normal(eg__pcg *pcg) {
    const double radius = sqrt(-2 * log(1 - uniform(pcg)));
    return radius * cos(6.283185307179586 * uniform(pcg));
}

static double noisy(eg__pcg *pcg, double time) {
    time *= exp(0.06 * normal(pcg));
    return uniform(pcg) < 0.06 ? time * (1.2 + 20 * uniform(pcg) * uniform(pcg)) : time;
}

/* Old and new ones in turns; returns how many trials found the new ones slower, or faster. */
static int alarms(eg_context *context, int trials, size_t count, double slowdown, int *faster) {
    eg_error error;
    eg__pcg pcg;
    int slower = 0;
    double a[128], b[128];
    eg__pcg_seed(&pcg, 7);
    *faster = 0;
    for (int t = 0; t < trials; t++) {
        double clock = 1;
        for (size_t i = 0; i < count; i++) {
            clock *= exp(0.005 * normal(&pcg));
            a[i] = noisy(&pcg, 185e-6 * clock);
            b[i] = noisy(&pcg, 185e-6 * clock * slowdown);
        }
        const eg_compare_options options = {.seed = (uint64_t)t};
        eg_comparison c;
        CHECK_OK(eg_compare(context, count, a, count, b, &options, &c, &error), error);
        slower += c.verdict == EG_VERDICT_SLOWER;
        *faster += c.verdict == EG_VERDICT_FASTER;
    }
    return slower;
}

TEST(statistics, alarms) {
    eg_context *context = open_context();
    const int trials = getenv("ELEGANS_QUICK") ? 50 : 200;
    int faster;
    int slower = alarms(context, trials, 100, 1, &faster);
    const int false_alarms = slower + faster;
    CHECK(false_alarms * 50 <= trials, "%d + %d false alarms in %d trials", slower, faster, trials);
    slower = alarms(context, trials, 15, 1, &faster);
    CHECK((slower + faster) * 50 <= trials, "%d + %d false alarms in %d trials of 15 samples",
          slower, faster, trials);
    slower = alarms(context, trials, 100, 1.05, &faster);
    CHECK(slower * 10 >= trials * 9 && !faster, "5 %% found %d times, and faster %d times, of %d",
          slower, faster, trials);
    test_claim("as scipy has them; %d alarms in %d A/A trials, 5 %% found in %d of %d",
               false_alarms, trials, slower, trials);
    alarms(context, trials, 100, 1 / 1.06, &faster);
    CHECK(faster * 10 >= trials * 9, "6 %% less found %d times of %d", faster, trials);
    eg_context_destroy(context);
}

TEST(statistics, options) {
    eg_context *context = open_context();
    eg_error error;
    eg__pcg pcg;
    double a[100], b[100], c[100];
    eg__pcg_seed(&pcg, 3);
    for (int i = 0; i < 100; i++) {
        a[i] = noisy(&pcg, 1);
        b[i] = noisy(&pcg, 1.2);
        c[i] = 1.01 * a[i] + 1e-9 * uniform(&pcg);
    }
    eg_comparison x, y;
    CHECK_OK(eg_compare(context, 100, a, 100, b, NULL, &x, &error), error);
    CHECK_OK(eg_compare(context, 100, a, 100, b, NULL, &y, &error), error);
    CHECK(x.verdict == EG_VERDICT_SLOWER && x.p < 1e-9, "20 %% more: verdict %d, p %g", x.verdict,
          x.p);
    CHECK(x.ratio.low == y.ratio.low && x.ratio.high == y.ratio.high, "not the same twice");
    CHECK(x.ratio.low > 1.15 && x.ratio.high < 1.25 && x.ratio.low < 1.2 && x.ratio.high > 1.18,
          "interval %g..%g of 1.2", x.ratio.low, x.ratio.high);
    eg_compare_options options = {.seed = 1, .resamples = 500};
    CHECK_OK(eg_compare(context, 100, a, 100, b, &options, &y, &error), error);
    CHECK(x.ratio.low != y.ratio.low && near(x.ratio.low, y.ratio.low, 0.01) &&
              near(x.ratio.high, y.ratio.high, 0.01),
          "another seed: %g..%g", y.ratio.low, y.ratio.high);
    options = (eg_compare_options){.effect = 0.3};
    CHECK_OK(eg_compare(context, 100, a, 100, b, &options, &y, &error), error);
    CHECK(y.verdict == EG_VERDICT_SAME, "20 %% where 30 %% are asked for");
    options = (eg_compare_options){.alpha = 1e-300};
    CHECK_OK(eg_compare(context, 100, a, 100, b, &options, &y, &error), error);
    CHECK(y.verdict == EG_VERDICT_SAME, "p %g is below 1e-300", y.p);
    CHECK_OK(eg_compare(context, 100, a, 100, c, NULL, &y, &error), error);
    CHECK(y.verdict == EG_VERDICT_SAME, "1 %% is no change");
    eg_context_destroy(context);
}

TEST(statistics, quick) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("an emulator's time says nothing");
        return;
    }
    eg_context *context = open_context();
    eg_error error;
    const series spread = {100, 37, 11, 101};
    double a[100], best = INFINITY;
    eg_comparison c;
    fill(&spread, a);
    for (int i = 0; i < 10; i++) {
        const uint64_t began = eg_clock_ns();
        CHECK_OK(eg_compare(context, 100, a, 100, a, NULL, &c, &error), error);
        best = fmin(best, (double)(eg_clock_ns() - began) * 1e-6);
    }
    CHECK(best < 50, "2000 resamples took %.1f ms", best); /* 2, without sanitizers */
    eg_context_destroy(context);
}

TEST(statistics, refusals) {
    eg_context *context = open_context();
    eg_error error;
    eg_statistics s;
    eg_comparison c;
    const double good[] = {1, 2, 3}, bad[] = {1, NAN, 3}, endless[] = {1, 2, INFINITY},
                 zero[] = {1, 0, 3};
    CHECK_OK(eg_statistics_of(context, 0, NULL, &s, &error), error);
    CHECK(s.count == 0 && isnan(s.mean.value) && isnan(s.p50.value) && isnan(s.least),
          "nothing has a mean of %g", s.mean.value);
    CHECK_FAILS(eg_statistics_of(context, 3, bad, &s, &error), error, EG_ERR_ARGUMENT,
                "sample 1 is 'nan'");
    CHECK_FAILS(eg_statistics_of(context, 3, NULL, &s, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_compare(context, 3, good, 3, endless, NULL, &c, &error), error, EG_ERR_ARGUMENT,
                "new sample 2 is 'inf'");
    CHECK_FAILS(eg_compare(context, 3, zero, 3, good, NULL, &c, &error), error, EG_ERR_ARGUMENT,
                "old sample is '0'");
    CHECK_FAILS(eg_compare(context, 3, good, 0, good, NULL, &c, &error), error, EG_ERR_ARGUMENT,
                "0 new ones");
    CHECK_FAILS(eg_compare(context, 3, good, 3, NULL, NULL, &c, &error), error, EG_ERR_ARGUMENT,
                "no context");
    const struct {
        eg_compare_options options;
        const char *part;
    } wrong[] = {{{.alpha = 1}, "alpha is '1'"},
                 {{.alpha = NAN}, "alpha is 'nan'"},
                 {{.effect = -0.1}, "'-0.1'"},
                 {{.effect = INFINITY}, "'inf'"},
                 {{.resamples = UINT64_MAX}, "resamples"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(eg_compare(context, 3, good, 3, good, &wrong[i].options, &c, &error), error,
                    EG_ERR_ARGUMENT, wrong[i].part);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    const double *samples = user;
    eg_statistics s;
    eg_comparison c;
    eg_status status = eg_statistics_of(context, 3, samples, &s, error);
    return status ? status : eg_compare(context, 3, samples, 2, samples, NULL, &c, error);
}

TEST(statistics, every_allocation_may_fail) {
    double samples[] = {1, 2, 3};
    const int failed = test_every_allocation_within(attempt, samples);
    CHECK(failed == 5, "%d allocations", failed);
}

/* ---- noise: `slow` of 100 runs take `times` as long as the others, which lie within `spread` of each other */
TEST(statistics, noise_is_called_noise) {
    static const struct {
        size_t count, slow;
        double times, spread;
        eg_noise noise;
        const char *says;
    } cases[] = {{100, 0, 1, 0.01, EG_NOISE_NONE, ""},
                 {100, 1, 5, 0.01, EG_NOISE_NONE, ""},
                 {100, 5, 1.2, 0.05, EG_NOISE_NONE, ""},
                 /* mean 3.00 ms, median 295 us */
                 {100, 9, 103, 0.01, EG_NOISE_MEAN, "the mean (3.0"},
                 {100, 2, 40, 0.01, EG_NOISE_MEAN, "times the median (29"},
                 {100, 15, 1.8, 0.01, EG_NOISE_TAIL, "one run in ten takes 1.8 times the median"},
                 {100, 50, 1.3, 0.01, EG_NOISE_MEDIAN, "the median lies anywhere from 29"},
                 {30, 0, 1, 0.8, EG_NOISE_MEDIAN, "the median lies anywhere"},
                 {4, 1, 100, 0.01, EG_NOISE_NONE, ""}}; /* too few to tell */
    eg_context *context = open_context();
    eg_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double samples[100];
        eg_statistics s;
        char text[EG_NOISE_TEXT];
        const size_t n = cases[i].count;
        for (size_t k = 0; k < n; k++)
            samples[k] = 295e-6 * (1 + cases[i].spread * (double)(k * 37 % n) / (double)n) *
                         (k < cases[i].slow ? cases[i].times : 1);
        CHECK_OK(eg_statistics_of(context, n, samples, &s, &error), error);
        const eg_noise noise = eg_statistics_noise(&s, text);
        CHECK(noise == cases[i].noise && strstr(text, cases[i].says) && !text[0] == !noise,
              "case %zu: %d '%s'", i, (int)noise, text);
        CHECK(eg_statistics_noise(&s, NULL) == noise, "case %zu: the text matters", i);
    }
    eg_context_destroy(context);
}
