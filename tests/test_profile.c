/* Profiles: every figure has a value or a reason; rules fire when they should. */
#include "test.h"
#include "profile/analysis.h"

#include <math.h>

AREA(profile,
     "every figure has a value or a reason; steps add up; each rule applies when it should")

/* What guides to profiling promise, and what a profile therefore always has. */
TEST(profile, promised_figures) {
    static const char *const names[] = {
        "time_mean",        "samples_per_second", "tflops",
        "peak_memory",      "peak_usage",         "unified_peak",
        "total_allocated",  "bandwidth",          "bandwidth_utilization",
        "memory_bandwidth", "cache_hit_rate",     "compute_efficiency",
        "ne_tflops",        "ne_utilization",     "ne_cycles",
        "mc_utilization",   "power_usage",        "transfer_rate"};
    static const char *const specs[] = {"cfc:autoncp:12:3,in=4", "ltc:autoncp:12:3,in=4",
                                        "cfc:8,in=4,backbone=16x2,mixed=1"};
    for (size_t s = 0; s < 3; s++) {
        eg_context *context;
        eg_model *model;
        eg_profile *profile;
        eg_error error;
        const eg_profile_options how = {
            .batch = 4, .seq = 6, .runs = 12, .no_ceilings = s != 0, .ceilings_seconds = 0.05};
        CHECK_OK(eg_context_create(&context, NULL, &error), error);
        CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
        CHECK_OK(eg_profile_model(model, specs[s], &how, &profile, &error), error);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int id = 0;
            while (eg_profile_metric_name((eg_profile_metric_id)id) &&
                   strcmp(eg_profile_metric_name((eg_profile_metric_id)id), names[i]) != 0)
                id++;
            CHECK(id < EG_PROFILE_METRICS, "no figure '%s'", names[i]);
            const eg_metric m = eg_profile_metric(profile, (eg_profile_metric_id)id);
            CHECK(m.source && m.source[0] && m.unit && m.unit[0], "'%s' without source or unit",
                  names[i]);
            CHECK(m.provenance == EG_UNAVAILABLE || (isfinite(m.value) && m.value >= 0),
                  "'%s' is %g", names[i], m.value);
        }
        /* one program, asked for by the timed and by the recorded runs */
        const eg_metric hits = eg_profile_metric(profile, EG_PROFILE_cache_hits);
        CHECK(hits.provenance == EG_COUNTED && hits.value == 2, "%g found compiled", hits.value);
        /* steps: their shares are all of the run, their FLOPs all of the program's */
        double share = 0, flops = 0, seconds = 0;
        const eg_profile_row *row;
        for (size_t i = 0; (row = eg_profile_step(profile, i)); i++) {
            share += row->share;
            flops += row->flops;
            seconds += row->seconds;
        }
        const eg_metric all = eg_profile_metric(profile, EG_PROFILE_flops);
        CHECK(fabs(share - 1) < 1e-6 && fabs(flops - all.value) < 1e-6 * all.value,
              "shares %g, FLOPs %g of %g", share, flops, all.value);
        for (size_t i = 0; (row = eg_profile_operation(profile, i)); i++) {
            share -= row->share;
            seconds -= row->seconds;
            CHECK(!i || row->seconds <= eg_profile_operation(profile, i - 1)->seconds,
                  "not sorted");
        }
        CHECK(fabs(share) < 1e-6 && fabs(seconds) < 1e-9, "groups lose %g s", seconds);
        /* steps lie within the run: they cannot take longer, but for the comparison of two clocks */
        const eg_metric sum = eg_profile_metric(profile, EG_PROFILE_steps_sum),
                        around = eg_profile_metric(profile, EG_PROFILE_recorded_time);
        CHECK(sum.provenance == EG_MEASURED && around.provenance == EG_MEASURED && sum.value > 0 &&
                  sum.value < 1.02 * around.value,
              "steps of %g s in a run of %g s", sum.value, around.value);
        eg_analysis *analysis;
        CHECK_OK(eg_analyse(profile, &analysis, &error), error);
        CHECK(eg_analysis_verdict(analysis)[0], "no verdict");
        if (s)
            CHECK(strstr(eg_analysis_verdict(analysis), "not known"), "%s",
                  eg_analysis_verdict(analysis));
        eg_analysis_destroy(analysis);
        eg_profile_destroy(profile);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}

static void count(void *user) { ++*(int *)user; }

TEST(profile, callbacks) {
    eg_context *context;
    eg_profile *profile;
    eg_error error;
    int calls = 0;
    const eg_profile_options how = {.runs = 20, .warmup = 5, .no_ceilings = 1};
    CHECK_OK(eg_context_create(&context, NULL, &error), error);
    CHECK_OK(eg_quick_profile(context, "count", count, &calls, &how, &profile, &error), error);
    CHECK(calls == 25, "%d calls", calls);
    CHECK(eg_profile_metric(profile, EG_PROFILE_time_mean).provenance == EG_MEASURED, "no time");
    CHECK(eg_profile_metric(profile, EG_PROFILE_tflops).provenance == EG_UNAVAILABLE,
          "FLOPs of a callback");
    CHECK(!eg_profile_step(profile, 0) && !eg_profile_program(profile), "steps of a callback");
    CHECK_FAILS(eg_profile_trace(profile, "/tmp/none.json", &error), error, EG_ERR_ARGUMENT,
                "callback");
    CHECK_FAILS(eg_quick_profile(context, "", NULL, NULL, NULL, &profile, &error), error,
                EG_ERR_ARGUMENT, "no context, function");
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

/* ---- rules: one set of facts that asks for it, and a calm one that asks for none */
static const eg__facts calm = {.seconds = 1e-3,
                               .threads = 4,
                               .cores = 4,
                               .batch = 64,
                               .compiled = true,
                               .working_set = 1e6,
                               .last_cache = 32e6,
                               .memory_available = 8e9,
                               .peak_memory = 1e8,
                               .hit_rate = 0.99};

TEST(profile, rules) {
    static const struct {
        const char *rule;
        eg__facts facts;
    } cases[] = {
        {"batch", {.share = {[EG__BY_OVERHEAD] = 0.4}, .batch = 1, .compiled = true}},
        {"threads", {.seconds = 1e-3, .threads = 1, .cores = 4, .batch = 32, .compiled = true}},
        {"data_type", {.share = {[EG__BY_DRAM] = 0.5}, .batch = 1, .compiled = true}},
        {"sizes", {.odd_share = 0.3, .odd_shape = "1x7x7", .batch = 1, .compiled = true}},
        {"compile", {.batch = 1}},
        {"layout", {.copy_share = 0.2, .batch = 1, .compiled = true}},
        {"cache", {.hit_rate = 0.5, .batch = 1, .compiled = true}},
        {"cache", {.hit_rate = NAN, .working_set = 2, .last_cache = 1, .compiled = true}},
        {"memory", {.hit_rate = 1, .memory_available = 10, .peak_memory = 9.5, .compiled = true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__facts facts = cases[i].facts;
        if (facts.hit_rate == 0) facts.hit_rate = NAN; /* not known */
        for (const eg__rule *rule = eg__rules; rule->name; rule++) {
            eg_finding f = {.gain = NAN};
            const bool wanted = strcmp(rule->name, cases[i].rule) == 0;
            CHECK(rule->apply(&facts, &f) == wanted, "case %zu: rule '%s'", i, rule->name);
            CHECK(!wanted || (f.text[0] && f.action[0]), "rule '%s' says nothing", rule->name);
        }
    }
    for (const eg__rule *rule = eg__rules; rule->name; rule++) {
        eg_finding f = {.gain = NAN};
        CHECK(!rule->apply(&calm, &f), "rule '%s' for nothing: %s", rule->name, f.text);
        CHECK(rule->reason && rule->reason[0], "rule '%s' without a reason", rule->name);
    }
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    const eg_profile_options how = {.batch = 2,
                                    .seq = 2,
                                    .runs = 3,
                                    .no_ceilings = 1,
                                    .no_cache = 1,
                                    .recorder = {.events = 256}};
    eg_status status = eg_model_open(context, user, &model, error);
    if (status) return status;
    status = eg_profile_model(model, user, &how, &profile, error);
    if (!status) status = eg_analyse(profile, &analysis, error);
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    return status;
}

TEST(profile, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:3,in=2,backbone=0");
    CHECK(failed > 50, "only %d allocations", failed);
}
