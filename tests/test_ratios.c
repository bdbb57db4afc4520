/* Ratios: each fires where it should and nowhere else; what is unknown says nothing. */
#include "test.h"
#include "profile/analysis.h"

#include <math.h>

AREA(ratios, "each fires on its side of the threshold; unknown and impossible limits never do")

static eg_metric known(double value, const char *unit) {
    return eg__metric(value, unit, EG_MEASURED, "by hand");
}

/* A run that has nothing to complain of. */
static eg__ratio_facts calm(void) {
    eg__ratio_facts f;
    static const char *const units[EG_RATIO_COUNT] = {"TFLOP/s", "GB/s",  "B", "ratio",
                                                      "ratio",   "ratio", "W"};
    static const double values[EG_RATIO_COUNT] = {1.9, 49, 4e9, 0.99, 0.9, 0.3, 20},
                        limits[EG_RATIO_COUNT] = {2, 50, 8e9, 1, 1, 1, 40};
    for (int i = 0; i < EG_RATIO_COUNT; i++) {
        f.value[i] = known(values[i], units[i]);
        f.limit[i] = eg__metric(limits[i], units[i], EG_SPEC, "the table");
        f.ceiling[i] = eg__metric_unavailable(NULL, "none");
        f.exempt[i][0] = 0;
    }
    f.ceiling[EG_RATIO_compute] = eg__metric(2.62, "TFLOP/s", EG_SPEC, "the table");
    f.ceiling[EG_RATIO_bandwidth] = eg__metric(68.3, "GB/s", EG_SPEC, "the table");
    return f;
}

TEST(ratios, by_hand) {
    static const struct {
        eg_ratio_id id;
        double good, bad; /* values right and wrong of the threshold */
        const char *verdict;
    } cases[] = {
        {EG_RATIO_compute, 1.6, 1.59, "below 0.80"}, {EG_RATIO_bandwidth, 40, 39.9, "below 0.80"},
        {EG_RATIO_memory, 8e9, 8.1e9, "above 1.00"}, {EG_RATIO_cache, 0.8, 0.79, "below 0.80"},
        {EG_RATIO_engine, 0.8, 0.79, "below 0.80"},  {EG_RATIO_controller, 0.8, 0.81, "above 0.80"},
        {EG_RATIO_power, 40, 40.1, "above 1.00"}};
    eg_ratio r[EG_RATIO_COUNT];
    CHECK(sizeof cases / sizeof *cases == EG_RATIO_COUNT, "a ratio without a case");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int bad = 0; bad < 2; bad++) {
            eg__ratio_facts f = calm();
            f.value[cases[i].id].value = bad ? cases[i].bad : cases[i].good;
            eg__ratios_make(&f, r);
            for (int k = 0; k < EG_RATIO_COUNT; k++) {
                CHECK(r[k].fires == (bad && k == (int)cases[i].id), "case %zu, bad %d: %s %s", i,
                      bad, r[k].name, r[k].verdict);
                CHECK(r[k].reason[0] && r[k].text[0] && r[k].name[0], "ratio %d says nothing", k);
            }
            const eg_ratio *mine = &r[cases[i].id];
            CHECK(strcmp(mine->verdict, bad ? cases[i].verdict : "met") == 0, "%s: '%s'",
                  mine->name, mine->verdict);
            CHECK(fabs(mine->ratio.value - f.value[cases[i].id].value / mine->limit.value) < 1e-12,
                  "%s: %g", mine->name, mine->ratio.value);
            CHECK(mine->ratio.provenance == EG_SPEC, "%s is %s", mine->name,
                  eg_provenance_name(mine->ratio.provenance));
        }
}

TEST(ratios, what_is_unknown_says_nothing) {
    for (int i = 0; i < EG_RATIO_COUNT; i++)
        for (int of_value = 0; of_value < 2; of_value++) {
            eg_ratio r[EG_RATIO_COUNT];
            eg__ratio_facts f = calm();
            eg_metric *metric = of_value ? &f.value[i] : &f.limit[i];
            *metric = eg__metric_unavailable(metric->unit, "nobody counts it");
            eg__ratios_make(&f, r);
            CHECK(!r[i].fires && !r[i].verdict[0] && r[i].ratio.provenance == EG_UNAVAILABLE &&
                      strcmp(r[i].ratio.source, "nobody counts it") == 0,
                  "%s: %d '%s'", r[i].name, r[i].fires, r[i].verdict);
        }
}

/* An M1 has 2.62 TFLOP/s: who asks for 3 and gets 1 has not failed. */
TEST(ratios, what_the_silicon_cannot) {
    static const struct {
        double value, limit;
        const char *verdict;
        int fires;
    } cases[] = {
        {1, 3, "above the physical ceiling: the chip has only 2.62 TFLOP/s", 0},
        {2.6, 3, "above the physical ceiling: the chip has only 2.62 TFLOP/s", 0},
        {1, 2.62, "below 0.80", 1},
        {2.7, 2.62, "met", 0}, /* noise */
        {3.1, 3, "beyond the ceiling of 2.62 TFLOP/s: the chip table or the figure is wrong", 0},
        {3.1, 2, "beyond the ceiling of 2.62 TFLOP/s: the chip table or the figure is wrong", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_ratio r[EG_RATIO_COUNT];
        eg__ratio_facts f = calm();
        f.value[EG_RATIO_compute].value = cases[i].value;
        f.limit[EG_RATIO_compute].value = cases[i].limit;
        eg__ratios_make(&f, r);
        CHECK(r[EG_RATIO_compute].fires == cases[i].fires &&
                  strcmp(r[EG_RATIO_compute].verdict, cases[i].verdict) == 0,
              "case %zu: '%s'", i, r[EG_RATIO_compute].verdict);
    }
}

/* Data that stay in the caches ask nothing of the DRAM; but what is impossible stays impossible. */
TEST(ratios, what_is_not_asked) {
    static const struct {
        double value;
        const char *verdict;
    } cases[] = {{0, "does not apply: caches serve it"},
                 {60, "does not apply: caches serve it"},
                 {79.7, "beyond the ceiling of 24.7 GB/s: measured on a busy machine? info "
                        "--measure --again"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_ratio r[EG_RATIO_COUNT];
        eg__ratio_facts f = calm();
        f.value[EG_RATIO_bandwidth].value = cases[i].value;
        strcpy(f.exempt[EG_RATIO_bandwidth], "does not apply: caches serve it");
        if (i == 2) f.ceiling[EG_RATIO_bandwidth] = known(24.7, "GB/s");
        eg__ratios_make(&f, r);
        CHECK(!r[EG_RATIO_bandwidth].fires &&
                  strcmp(r[EG_RATIO_bandwidth].verdict, cases[i].verdict) == 0,
              "case %zu: %d '%s'", i, r[EG_RATIO_bandwidth].fires, r[EG_RATIO_bandwidth].verdict);
    }
}

/* The rule that projections follow, eg_requirement_check_run: 10 kFLOP at 0.075 TFLOP/s are 133 ns of work. */
TEST(ratios, what_does_not_apply_to_small_models) {
    static const struct {
        double overhead; /* share of a run of 1 us that goes to starting its steps */
        double dram;     /* bytes of 1000 that come from it */
        const char *compute, *bandwidth;
    } cases[] = {{0.9, 500,
                  "does not apply: so small a model: 133 ns of work at 0.075 TFLOP/s, and starting "
                  "its steps takes 900 ns",
                  "does not apply: so small a model: 66.7 ns of work at 7.5 GB/s, and starting its "
                  "steps takes 900 ns"},
                 {0.1, 500, "below 0.80", "does not apply: so small a model: 66.7 ns of work"},
                 {0.05, 500, "below 0.80", "below 0.80"},
                 {0.05, 99, "below 0.80", "does not apply: caches serve it"},
                 {0, 0, "below 0.80", "does not apply: caches serve it"}};
    const eg_profile_options options = {.runs = 2, .no_ceilings = 1, .no_cache = 1};
    eg_context *context;
    eg_model *model;
    eg_profile *p;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:3,in=4", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "", &options, &p, &error), error);
    p->context->chip.in_table = false;
    p->has_ceilings = true;
    p->ceilings.fma_all = known(100, "GFLOP/s");
    p->ceilings.dram_all = known(10, "GB/s");
    p->time.p50.value = 1e-6;
    p->metrics[EG_PROFILE_flops].value = 1e4;
    p->metrics[EG_PROFILE_tflops] = known(0.01, "TFLOP/s");
    p->metrics[EG_PROFILE_bandwidth] = known(0.5, "GB/s");
    CHECK(p->operation_count >= 2, "%zu operations", p->operation_count);
    for (size_t i = 0; i < p->operation_count; i++) {
        p->operations[i].bound = i ? "compute" : "overhead";
        p->operations[i].share = 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__facts facts;
        eg__ratio_facts f;
        eg_ratio r[EG_RATIO_COUNT];
        p->operations[0].share = cases[i].overhead;
        p->operations[1].share = 1 - cases[i].overhead;
        p->traffic.run[0] = 1000;
        p->traffic.run[EG__LEVELS - 1] = cases[i].dram;
        eg__facts_of(p, &facts);
        eg__ratio_facts_of(&facts, &f);
        eg__ratios_make(&f, r);
        const eg_ratio *compute = &r[EG_RATIO_compute], *bandwidth = &r[EG_RATIO_bandwidth];
        CHECK(strstr(compute->verdict, cases[i].compute) == compute->verdict &&
                  compute->fires == (cases[i].compute[0] == 'b'),
              "case %zu: %d '%s'", i, compute->fires, compute->verdict);
        CHECK(strstr(bandwidth->verdict, cases[i].bandwidth) == bandwidth->verdict &&
                  bandwidth->fires == (cases[i].bandwidth[0] == 'b'),
              "case %zu: %d '%s'", i, bandwidth->fires, bandwidth->verdict);
    }
    eg_profile_destroy(p);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* Of a real run: the same figures as in the profile, and an opportunity for each that fires. */
TEST(ratios, of_a_profile) {
    static const eg_profile_metric_id ids[EG_RATIO_COUNT] = {
        EG_PROFILE_tflops,         EG_PROFILE_bandwidth,      EG_PROFILE_peak_memory,
        EG_PROFILE_cache_hit_rate, EG_PROFILE_ne_utilization, EG_PROFILE_mc_utilization,
        EG_PROFILE_power_usage};
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_analysis *analysis;
    eg_error error;
    for (int measured = 0; measured < 2; measured++) {
        const eg_profile_options options = {
            .batch = 4, .seq = 4, .runs = 10, .no_ceilings = !measured, .ceilings_seconds = 0.05};
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_model_open(context, "cfc:autoncp:12:3,in=4", &model, &error), error);
        CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
        CHECK_OK(eg_analyse(profile, &analysis, &error), error);
        size_t fired = 0, found = 0;
        for (size_t i = 0; i < EG_RATIO_COUNT; i++) {
            const eg_ratio *r = eg_analysis_ratio(analysis, i);
            const eg_metric m = eg_profile_metric(profile, ids[i]);
            CHECK(r && r->value.value == m.value && r->value.provenance == m.provenance,
                  "ratio %zu", i);
            CHECK(r->ratio.source && r->ratio.source[0] && r->limit.unit, "%s has no source",
                  r->name);
            fired += (size_t)r->fires;
        }
        while (eg_analysis_finding(analysis, EG_OPPORTUNITY, found)) found++;
        CHECK(found == fired, "%zu opportunities, %zu ratios fire", found, fired);
        CHECK(!eg_analysis_ratio(analysis, EG_RATIO_COUNT), "one more");
        const eg_ratio *compute = eg_analysis_ratio(analysis, EG_RATIO_compute);
        if (!eg_context_chip(context)->in_table)
            CHECK((compute->limit.provenance == EG_MODELLED) == measured &&
                      (measured || strstr(compute->ratio.source, "not measured")),
                  "%s: %s", eg_provenance_name(compute->limit.provenance), compute->ratio.source);
        eg_analysis_destroy(analysis);
        eg_profile_destroy(profile);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}
