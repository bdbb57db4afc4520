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

/* ---- memory over time */
static void check_moments(const eg_profile *profile, const char *spec) {
    eg_program_info info;
    eg_program_info_get(eg_profile_program(profile), &info);
    const eg_profile_moment *m, *before = NULL;
    double most = 0;
    for (size_t i = 0; (m = eg_profile_memory(profile, i)); before = m, i++) {
        uint64_t sum = 0;
        CHECK(m->phase == (eg_profile_phase)i, "%s: phase %d at %zu", spec, (int)m->phase, i);
        for (int tag = 0; tag < EG_TAG_COUNT; tag++) sum += m->by_tag[tag];
        CHECK(sum == m->held && m->peak >= m->held, "%s, %s: %llu by tag, %llu held, %llu at most",
              spec, eg_profile_phase_name(m->phase), (unsigned long long)sum,
              (unsigned long long)m->held, (unsigned long long)m->peak);
        if (m->phase <= EG_PHASE_timed) most = fmax(most, (double)m->peak);
        if (before) CHECK(m->seconds >= before->seconds, "%s: back in time", spec);
    }
    CHECK(before && before->phase == EG_PHASE_end, "%s: no end", spec);
    const eg_profile_moment *at = eg_profile_memory(profile, 0);
    CHECK(at[EG_PHASE_begin].seconds == 0, "%s: begins at %g", spec, at[EG_PHASE_begin].seconds);
    CHECK(at[EG_PHASE_compile].by_tag[EG_TAG_GRAPH] > at[EG_PHASE_begin].by_tag[EG_TAG_GRAPH] &&
              at[EG_PHASE_compile].peak > at[EG_PHASE_compile].held,
          "%s: compiling takes nothing", spec);
    CHECK(at[EG_PHASE_prepare].by_tag[EG_TAG_ARENA] >=
              at[EG_PHASE_compile].by_tag[EG_TAG_ARENA] + info.arena_bytes + info.state_bytes,
          "%s: no arena", spec);
    CHECK(at[EG_PHASE_warmup].held == at[EG_PHASE_prepare].held, "%s: runs take memory", spec);
    CHECK(at[EG_PHASE_timed].held ==
              at[EG_PHASE_warmup].held + eg_profile_samples(profile, NULL) * sizeof(double),
          "%s: timed runs take memory", spec);
    CHECK(at[EG_PHASE_recorded].held > at[EG_PHASE_timed].held, "%s: a recorder of nothing", spec);
    CHECK(eg_profile_metric(profile, EG_PROFILE_peak_memory).value ==
              most - (double)at[EG_PHASE_begin].held,
          "%s: the peak is none of a phase", spec);
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        CHECK(eg_profile_run_tag(profile, (eg_tag)tag) == at[EG_PHASE_timed].by_tag[tag],
              "%s: %s while it runs", spec, eg_tag_name((eg_tag)tag));
}

static void check_order(const eg_profile *profile, const char *spec) {
    eg_program_info info;
    eg_program_info_get(eg_profile_program(profile), &info);
    size_t steps = 0, scans = 0, ordered = 0;
    uint64_t most = 0;
    const eg_profile_row *row, *before = NULL;
    for (; (row = eg_profile_step(profile, steps)); steps++)
        scans += strcmp(row->kernel, "scan") == 0;
    CHECK(scans, "%s: no scan", spec);
    for (; (row = eg_profile_in_run(profile, ordered)); before = row, ordered++) {
        eg_step_info a, b;
        CHECK(strcmp(row->kernel, "scan") != 0, "%s: a scan beside its steps", spec);
        eg_program_step(eg_profile_program(profile), row->step, &a, NULL);
        CHECK(row->live == a.live_bytes, "%s: step %u", spec, row->step);
        if (row->live > most) most = row->live;
        if (!before) continue;
        /* where in the run: a step of a scan where the scan is */
        eg_program_step(eg_profile_program(profile), before->step, &b, NULL);
        const uint32_t here = row->inside ? a.scan : row->step;
        const uint32_t there = before->inside ? b.scan : before->step;
        CHECK(there < here || (there == here && before->step < row->step),
              "%s: step %u after step %u", spec, row->step, before->step);
    }
    CHECK(ordered + scans == steps, "%s: %zu of %zu steps", spec, ordered, steps - scans);
    CHECK(most == info.arena_bound_bytes, "%s: %llu live, not %llu", spec, (unsigned long long)most,
          (unsigned long long)info.arena_bound_bytes);
}

/* "ph":"C" events with this name. */
static size_t counters(const char *text, const char *name) {
    size_t found = 0;
    char mark[64];
    snprintf(mark, sizeof mark, "{\"name\":\"%s\",\"ph\":\"C\"", name);
    for (; (text = strstr(text, mark)); text++) found++;
    return found;
}

static void check_trace(const eg_profile *profile, const char *spec) {
    char path[512];
    eg_error error;
    snprintf(path, sizeof path, "%s/trace.json", test_folder());
    CHECK_OK(eg_profile_trace(profile, path, &error), error);
    FILE *file = fopen(path, "r");
    CHECK(file, "no trace");
    if (!file) return;
    static char text[4 << 20];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    CHECK(counters(text, "library") == EG_PROFILE_PHASES &&
              counters(text, "library, most of a phase") == EG_PROFILE_PHASES,
          "%s: %zu moments in the trace", spec, counters(text, "library"));
    CHECK(counters(text, "arena, live") > 2, "%s: the arena stays as it is", spec);
    const char *end = strrchr(text, '{');
    CHECK(end && strstr(end, "\"bytes\":0}}\n]}"), "%s: something lives after the last run", spec);
}

TEST(profile, memory_over_time) {
    static const char *const specs[] = {"cfc:autoncp:12:3,in=4", "ltc:autoncp:12:3,in=4",
                                        "cfc:8,in=4,backbone=16x2,mixed=1/cfc:4,backbone=0"};
    for (int i = 0; i < 6; i++) {
        eg_context *context;
        eg_model *model;
        eg_profile *profile;
        eg_error error;
        const char *spec = specs[i / 2];
        const eg_context_options options = {.size = sizeof options, .threads = 1 + (unsigned)i % 2};
        const eg_profile_options how = {.batch = 4,
                                        .seq = 6,
                                        .runs = 12,
                                        .no_ceilings = 1,
                                        .no_compile = i % 2,
                                        .recorder = {.skip = 2, .active = 3, .repeat = 1}};
        CHECK_OK(eg_context_create(&context, &options, &error), error);
        CHECK_OK(eg_model_open(context, spec, &model, &error), error);
        CHECK_OK(eg_profile_model(model, spec, &how, &profile, &error), error);
        check_moments(profile, spec);
        check_order(profile, spec);
        check_trace(profile, spec);
        eg_profile_destroy(profile);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
    CHECK(!eg_profile_phase_name(EG_PROFILE_PHASES) && !eg_profile_phase_text(EG_PROFILE_PHASES),
          "a phase past the last");
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
    static const eg_profile_phase phases[] = {EG_PHASE_begin, EG_PHASE_warmup, EG_PHASE_timed,
                                              EG_PHASE_end};
    for (size_t i = 0; i < 4; i++)
        CHECK(eg_profile_memory(profile, i) && eg_profile_memory(profile, i)->phase == phases[i],
              "phase %zu of a callback", i);
    CHECK(!eg_profile_memory(profile, 4) && !eg_profile_in_run(profile, 0),
          "a callback is compiled");
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
                               .memory_budget = 4e9,
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
        {"sizes",
         {.odd_share = 0.3, .odd_shape = "1x7x7", .odd_columns = 7, .batch = 1, .compiled = true}},
        {"compile", {.batch = 1}},
        {"layout", {.copy_share = 0.2, .batch = 1, .compiled = true}},
        {"cache", {.hit_rate = 0.5, .batch = 1, .compiled = true}},
        {"cache", {.hit_rate = NAN, .working_set = 2, .last_cache = 1, .compiled = true}},
        {"memory", {.hit_rate = 1, .memory_available = 10, .peak_memory = 9.5, .compiled = true}},
        {"memory", {.hit_rate = 1, .memory_budget = 4, .peak_memory = 4.1, .compiled = true}},
        {"memory",
         {.hit_rate = 1,
          .memory_available = 10,
          .memory_budget = 4,
          .peak_memory = 4.1,
          .compiled = true}}};
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

/* Powers of two up to 64, then multiples of it; and who is asked to change. */
TEST(profile, sizes_that_fill_vectors) {
    static const unsigned sizes[][2] = {{1, 16},  {7, 16},   {16, 16},   {17, 32},   {33, 64},
                                        {64, 64}, {65, 128}, {128, 128}, {130, 192}, {1000, 1024}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK(eg__size_suggested(sizes[i][0]) == sizes[i][1], "%u -> %u", sizes[i][0],
              eg__size_suggested(sizes[i][0]));
    static const struct {
        const char *shape;
        bool odd;
    } shapes[] = {{"8x16x3", false}, {"8x64x64", false}, {"8x48x3", false}, {"8x20x3", true},
                  {"8x7x3", true},   {"8x100x3", true},  {"", false}};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&context, NULL, &error), error);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        eg_profile_row row = {.kernel = "gemm", .bound = "L1", .share = 0.5, .roof_share = NAN};
        eg_profile profile = {.context = context, .operations = &row, .operation_count = 1};
        eg__facts facts;
        snprintf(row.shape, sizeof row.shape, "%s", shapes[i].shape);
        eg__facts_of(&profile, &facts);
        CHECK((facts.odd_share > 0) == shapes[i].odd && facts.gemm_share == 0.5, "'%s': %g",
              shapes[i].shape, facts.odd_share);
        CHECK(facts.memory_budget > 0, "no budget");
    }
    eg_context_destroy(context);
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
