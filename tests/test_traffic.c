/* Traffic: bandwidth is what goes to and from the DRAM, each level is held against its own ceiling, and nothing
 * is said to be quicker than the silicon. */
#include "test.h"
#include "profile/analysis.h"
#include "profile/measure/ceilings.h"

#include <math.h>

AREA(traffic, "bandwidth is the DRAM's; bounds, figures and ratios agree over models and batches")

static eg_metric measured(double value) { return eg__metric(value, "GB/s", EG_MEASURED, ""); }

/* Ceilings of a machine on paper; L1 is quick, the rest as asked. */
static eg_ceilings ceilings_of(double l2, double l3, double dram) {
    eg_ceilings c = {.fma_one = eg__metric(100, "GFLOP/s", EG_MEASURED, "")};
    c.fma_all = c.fma_one;
    c.l1_one = c.l1_all = measured(400);
    c.l2_one = c.l2_all = measured(l2);
    c.l3_one = c.l3_all = measured(l3);
    c.dram_one = c.dram_all = measured(dram);
    c.last_cache = eg__metric_unavailable("MiB", "on paper");
    return c;
}

/* ---- bounds by hand: what takes longest at its own ceiling, if the clock allows it */
TEST(traffic, bounds_by_hand) {
    static const double mib = 1048576;
    static const struct {
        double compute, bytes[4], seconds; /* at the peak, MiB by level, of the work */
        double l3;                         /* GB/s */
        const char *bound;
        double share;
    } cases[] = {
        /* 240 MiB of weights from the DRAM, 9.63 of 9.67 GB/s: not the L3, though that is as near */
        {1e-4, {240, 240, 240, 240}, 240 * 1.048576e-3 / 9.63, 9.7, "DRAM", 9.63 / 9.67},
        {1e-4, {240, 240, 240, 240}, 240 * 1.048576e-3 / 9.63, 9.0, "DRAM", 9.63 / 9.67},
        /* the same bytes in 3 ms: 80 GB/s never came from there */
        {1e-4, {240, 240, 240, 240}, 3e-3, 90, "L3", 240 * 1.048576e-3 / 90 / 3e-3},
        /* a cache that served them all but did not take long */
        {1e-3, {8, 4, 2, 0}, 2e-3, 30, "compute", 0.5},
        {1e-6, {8, 8, 0, 0}, 1e-3, 30, "L2", 8 * 1.048576e-3 / 100 / 1e-3},
        {1e-6, {8, 0, 0, 0}, 1e-3, 30, "L1", 8 * 1.048576e-3 / 400 / 1e-3},
        {0, {0, 0, 0, 0}, 1e-3, 30, "unknown", NAN},
        /* quicker than everything that is known of the machine */
        {1, {9999, 9999, 9999, 9999}, 1e-3, 30, "unknown", NAN},
    };
    eg_context *context;
    eg_error error;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_profile p = {.context = context,
                        .has_ceilings = true,
                        .ceilings = ceilings_of(100, cases[i].l3, 9.67)};
        double bytes[4], least;
        for (int k = 0; k < 4; k++) bytes[k] = cases[i].bytes[k] * mib;
        const char *bound = eg__bound_find(&p, cases[i].compute, bytes, cases[i].seconds, &least);
        CHECK(strcmp(bound, cases[i].bound) == 0, "case %zu: %s, not %s", i, bound, cases[i].bound);
        CHECK(isnan(cases[i].share) ? isnan(least)
                                    : fabs(least / cases[i].seconds - cases[i].share) < 1e-9,
              "case %zu: %g, not %g", i, least / cases[i].seconds, cases[i].share);
    }
    eg_context_destroy(context);
}

TEST(traffic, the_last_cache_is_what_is_quicker) {
    static const struct {
        double gbps[4], found;
    } cases[] = {
        {{60, 80, 90, 90}, 256}, {{26, 60, 68, 68}, 128}, /* some of it stays in a cache, most does not */
        {{20, 22, 60, 60}, 64},  {{20, 20, 20, 30}, 32},  {{20, 21, 22, 24}, 2},
        {{10, 10, 10, 10}, 2}};
    static const double sizes[] = {256, 128, 64, 32};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double found = eg__last_cache_find(4, sizes, cases[i].gbps, 20, 2);
        CHECK(found == cases[i].found, "case %zu: %g MiB", i, found);
    }
}

/* ---- the same weights on chips with smaller and larger caches */
static void profile_on(eg_context *context, uint64_t l3, bool simulated, double *dram,
                       double *operands) {
    eg_model *model;
    eg_profile *profile;
    eg_error error;
    const eg_profile_options options = {
        .batch = 1, .seq = 1, .runs = 3, .no_ceilings = 1, .no_cache = !simulated};
    context->chip.kinds[0].l1d_bytes = 32 << 10;
    context->chip.kinds[0].l2_bytes = 256 << 10;
    context->chip.l3_bytes = l3;
    context->chip.slc_bytes = 0;
    CHECK_OK(eg_model_open(context, "cfc:256,in=64,backbone=512x2,seed=1", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
    const eg_metric bytes = eg_profile_metric(profile, EG_PROFILE_dram_bytes),
                    rate = eg_profile_metric(profile, EG_PROFILE_bandwidth);
    eg_statistics time;
    eg_profile_time(profile, &time);
    if (profile->hardware.cache_misses.provenance == EG_UNAVAILABLE)
        CHECK(bytes.provenance == (simulated ? EG_SIMULATED : EG_MODELLED) &&
                  rate.provenance == bytes.provenance,
              "%s, %s", eg_provenance_name(bytes.provenance), eg_provenance_name(rate.provenance));
    CHECK(fabs(rate.value * time.p50.value * 1e9 - bytes.value) <= 1e-6 * bytes.value,
          "%g GB/s of %g bytes in %g s", rate.value, bytes.value, time.p50.value);
    /* what a processor counts is of its own caches */
    *dram = rate.provenance == EG_MEASURED ? NAN : bytes.value;
    *operands = eg_profile_metric(profile, EG_PROFILE_bytes_moved).value;
    eg_profile_destroy(profile);
    eg_model_destroy(model);
}

TEST(traffic, bandwidth_is_that_of_the_dram) {
    eg_context *context;
    eg_error error;
    double dram, operands;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    for (int simulated = 0; simulated < 2; simulated++) {
        profile_on(context, 1 << 20, simulated, &dram, &operands);
        CHECK(operands > 3e6 && (isnan(dram) || fabs(dram / operands - 1) < 0.1),
              "simulated %d: %g of %g bytes come from beyond 1 MiB", simulated, dram, operands);
        profile_on(context, 64 << 20, simulated, &dram, &operands);
        CHECK(isnan(dram) || dram < 0.02 * operands,
              "simulated %d: %g of %g bytes come from beyond 64 MiB", simulated, dram, operands);
    }
    eg_context_destroy(context);
}

/* What the processor counts is the sum; the model shares it among the steps, by operands where it has nothing. */
TEST(traffic, counted_misses_belong_to_steps) {
    static const struct {
        uint64_t l3; /* of the model: all of it from the DRAM, from the L3, from the L1 */
        uint64_t l1;
    } cases[] = {{1 << 20, 32 << 10}, {64 << 20, 32 << 10}, {64 << 20, 64 << 20}};
    enum { MISSES = 30000, LINE = 64 };
    eg_context *context;
    eg_model *model;
    eg_error error;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    const eg_profile_options options = {.seq = 2, .runs = 3, .no_ceilings = 1, .no_cache = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:256,in=64,backbone=512x2,seed=1", &model, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_profile *p;
        double sum = 0;
        context->chip.kinds[0].l1d_bytes = cases[i].l1;
        context->chip.kinds[0].l2_bytes = 256 << 10;
        context->chip.l3_bytes = cases[i].l3;
        context->chip.cache_line = LINE;
        CHECK_OK(eg_profile_model(model, "", &options, &p, &error), error);
        eg__memory_give(p->memory, p->traffic.steps);
        p->traffic = (eg__traffic){0};
        p->hardware.cache_misses = eg__metric(MISSES, "misses", EG_COUNTED, "by hand");
        CHECK_OK(eg__traffic_make(p, &error), error);
        const double bytes = (double)MISSES * LINE / (double)p->sample_count;
        for (size_t k = 0; k < p->step_count; k++)
            sum += p->traffic.steps[p->steps[k].step][EG__LEVELS - 1];
        CHECK(p->traffic.provenance == EG_MEASURED &&
                  fabs(p->traffic.run[EG__LEVELS - 1] / bytes - 1) < 1e-12,
              "case %zu: %g bytes, counted %g", i, p->traffic.run[EG__LEVELS - 1], bytes);
        CHECK(fabs(sum / bytes - 1) < 1e-9, "case %zu: %g bytes by step, counted %g", i, sum,
              bytes);
        eg_profile_destroy(p);
    }
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* A verdict beside a DRAM that is busy all the time; the steps were recorded in quicker runs. */
TEST(traffic, a_busy_dram_is_what_is_waited_for) {
    static const struct {
        double use;
        int by;
    } cases[] = {{0.996, EG__BY_DRAM}, {0.9, EG__BY_DRAM}, {0.5, EG__BY_L3}};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_profile_row row = {.kernel = "gemm",
                              .traits = EG_STEP_PRODUCT,
                              .bound = "L3",
                              .share = 0.99,
                              .roof_share = 0.9};
        eg_profile p = {.context = context, .operations = &row, .operation_count = 1};
        p.metrics[EG_PROFILE_bandwidth_utilization] =
            eg__metric(cases[i].use, "ratio", EG_SIMULATED, "by hand");
        eg__facts facts;
        eg__facts_of(&p, &facts);
        for (int by = EG__BY_L3; by <= EG__BY_DRAM; by++)
            CHECK(facts.share[by] == (by == cases[i].by ? 0.99 : 0), "DRAM at %g: %g by %d",
                  cases[i].use, facts.share[by], by);
    }
    eg_context_destroy(context);
}

/* Bytes multiply more often than an FMA; whatever widens them to floats does not. */
TEST(traffic, peaks_of_kernels) {
    static const struct {
        uint32_t traits;
        bool more;
    } cases[] = {{EG_STEP_PRODUCT, false},
                 {EG_STEP_PRODUCT | EG_STEP_INTEGERS, true},
                 {EG_STEP_ELEMENTWISE, false},
                 {0, false}};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const eg_profile p = {.context = context};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double times = eg__peak_times(&p, cases[i].traits);
        CHECK(cases[i].more ? times >= 4 : times == 1, "%u: %g", cases[i].traits, times);
    }
    eg_context_destroy(context);
}

/* Weights are packed before they are multiplied: a run touches one of the two. */
TEST(traffic, a_working_set_has_its_weights_once) {
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_error error;
    const eg_profile_options options = {
        .batch = 1, .seq = 1, .runs = 1, .no_ceilings = 1, .no_cache = 1};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:256,in=64,backbone=512x2,seed=1", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(eg_profile_program(profile), &info);
    const double touched = eg__working_set(eg_profile_program(profile)),
                 weights = 4.0 * (320 * 512 + 512 * 512 + 4 * 512 * 256);
    CHECK(info.parameter_bytes + info.derived_bytes > 1.8 * weights, "nothing is packed");
    CHECK(touched > weights && touched < 1.1 * weights, "%g bytes of %g", touched, weights);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- over models and batches: figures that cannot disagree */
static void check_rows(const eg_profile *p, const char *what) {
    double dram = 0;
    const eg_profile_row *row;
    for (size_t i = 0; (row = eg_profile_step(p, i)); i++) {
        static const char *const names[] = {"L1", "L2", "L3", "DRAM"};
        dram += row->level_bytes[3];
        CHECK(row->level_bytes[0] == row->bytes, "%s: operands that pass no cache", what);
        if (isnan(row->roof_share)) continue;
        CHECK(row->roof_share > 0 && row->roof_share <= EG__BEYOND, "%s, step %u: %g of its roof",
              what, row->step, row->roof_share);
        for (int k = 0; k < 4; k++) {
            const double share =
                row->level_bytes[k] / eg__level_ceiling(p, k) * 1e-9 / row->seconds;
            CHECK(!(share > row->roof_share * 1.000001) || share > EG__BEYOND,
                  "%s, step %u: bound by %s at %g, but %s at %g", what, row->step, row->bound,
                  row->roof_share, names[k], share);
            if (strcmp(row->bound, names[k]) == 0)
                CHECK(fabs(share - row->roof_share) < 1e-6, "%s, step %u: %g of the %s, not %g",
                      what, row->step, share, names[k], row->roof_share);
        }
    }
    const eg_metric all = eg_profile_metric(p, EG_PROFILE_dram_bytes);
    if (all.provenance != EG_UNAVAILABLE)
        CHECK(fabs(dram - all.value) <= 1e-6 * all.value, "%s: %g bytes by step, %g in all", what,
              dram, all.value);
}

static void check_figures(const eg_profile *p, const char *what) {
    const double seconds = p->time.p50.value;
    const eg_metric *m = p->metrics;
    const eg_metric *rate = &m[EG_PROFILE_bandwidth], *use = &m[EG_PROFILE_bandwidth_utilization];
    const double ceiling = eg__level_ceiling(p, 3);
    const eg_metric *again = &m[EG_PROFILE_memory_bandwidth], *busy = &m[EG_PROFILE_mc_utilization];
    CHECK(rate->value == again->value && rate->provenance == again->provenance &&
              use->value == busy->value && use->provenance == busy->provenance,
          "%s: two bandwidths", what);
    CHECK(fabs(m[EG_PROFILE_operand_rate].value * seconds * 1e9 / m[EG_PROFILE_bytes_moved].value -
               1) < 1e-6,
          "%s: operands", what);
    CHECK(rate->provenance != EG_MEASURED || p->hardware.cache_misses.provenance == EG_COUNTED,
          "%s: a bandwidth that nobody counted is 'measured'", what);
    if (use->provenance != EG_UNAVAILABLE) {
        CHECK(fabs(use->value * ceiling - rate->value) <= 1e-6 * rate->value,
              "%s: %g of %g GB/s is not %g", what, rate->value, ceiling, use->value);
        CHECK(use->value <= EG__BEYOND || use->provenance == EG_MEASURED, "%s: %g of the DRAM",
              what, use->value);
    }
    const eg_metric *operands = &m[EG_PROFILE_operand_utilization];
    CHECK(operands->provenance == EG_UNAVAILABLE
              ? !eg_profile_operand_level(p)
              : operands->value <= EG__BEYOND &&
                    strstr(operands->source, eg_profile_operand_level(p)) != NULL,
          "%s: %g of '%s'", what, operands->value, operands->source);
}

static void check_verdicts(const eg_profile *p, const char *what) {
    eg_analysis *analysis;
    eg_error error;
    CHECK_OK(eg_analyse(p, &analysis, &error), error);
    const eg_ratio *r = eg_analysis_ratio(analysis, EG_RATIO_bandwidth);
    const double ceiling = eg__level_ceiling(p, 3);
    CHECK(strcmp(r->verdict, "met") != 0 || r->value.value <= EG__BEYOND * ceiling,
          "%s: %g of %g GB/s is met", what, r->value.value, ceiling);
    const eg_metric *use = &p->metrics[EG_PROFILE_bandwidth_utilization];
    if (use->provenance != EG_UNAVAILABLE && use->value >= 0.9)
        CHECK(!strstr(eg_analysis_verdict(analysis), "bound by L3"), "%s: DRAM at %g, but %s", what,
              use->value, eg_analysis_verdict(analysis));
    eg_analysis_destroy(analysis);
}

TEST(traffic, figures_agree_over_models_and_batches) {
    if (test_emulated()) {
        test_skip("whole profiles: minutes under an emulator, and the same C on every processor");
        return;
    }
    static const char *const specs[] = {
        "cfc:autoncp:28:8,in=3", "ltc:autoncp:12:3,in=4", "cfc:256,in=64,backbone=512x2,seed=1",
        "llama:2:128,heads=4,vocab=256,seed=1", "llama:1:1024,heads=8,vocab=512,seed=1"};
    static const uint64_t batches[] = {1, 8, 64};
    size_t seen = 0;
    for (unsigned threads = 1; threads <= 2; threads++) {
        eg_context *context;
        eg_error error;
        const eg_context_options options = {.size = sizeof options, .threads = threads};
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            if (test_quick() && s > 2) continue;
            for (size_t b = 0; b < (s > 3 ? 1 : 3); b++) {
                eg_model *model;
                eg_profile *profile;
                char what[96];
                const eg_profile_options how = {
                    .batch = batches[b], .seq = s > 2 ? 2 : 4, .runs = 10, .ceilings_seconds = 0.1};
                snprintf(what, sizeof what, "%s, batch %d, %u threads", specs[s], (int)batches[b],
                         threads);
                CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
                CHECK_OK(eg_profile_model(model, specs[s], &how, &profile, &error), error);
                check_rows(profile, what);
                check_figures(profile, what);
                check_verdicts(profile, what);
                seen++;
                eg_profile_destroy(profile);
                eg_model_destroy(model);
            }
        }
        eg_context_destroy(context);
    }
    test_claim("%zu profiles: bandwidth is the DRAM's, each level under its own ceiling", seen);
}
