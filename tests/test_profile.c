/* Profiles: every figure has a value or a reason; rules fire when they should. */
#include "test.h"
#include "profile/analysis.h"

#include <math.h>
#include <time.h>

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
        const eg_profile_options options = {
            .batch = 4, .seq = 6, .runs = 12, .no_ceilings = s != 0, .ceilings_seconds = 0.05};
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
        CHECK_OK(eg_profile_model(model, specs[s], &options, &profile, &error), error);
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
            CHECK(strstr(eg_analysis_verdict(analysis), "unknown"), "%s",
                  eg_analysis_verdict(analysis));
        eg_analysis_destroy(analysis);
        eg_profile_destroy(profile);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}

/* ---- memory over time */
static void check_moments(const eg_profile *profile, const char *spec) {
    eg_program_info info = {.size = sizeof info};
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
    CHECK(eg_profile_metric(profile, EG_PROFILE_library_peak).value == most,
          "%s: the peak is none of a phase", spec);
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        CHECK(eg_profile_run_tag(profile, (eg_tag)tag) == at[EG_PHASE_timed].by_tag[tag],
              "%s: %s while it runs", spec, eg_tag_name((eg_tag)tag));
}

static void check_order(const eg_profile *profile, const char *spec) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(eg_profile_program(profile), &info);
    size_t steps = 0, scans = 0, ordered = 0;
    uint64_t most = 0;
    const eg_profile_row *row, *before = NULL;
    for (; (row = eg_profile_step(profile, steps)); steps++)
        scans += strcmp(row->kernel, "scan") == 0;
    CHECK(scans, "%s: no scan", spec);
    for (; (row = eg_profile_in_run(profile, ordered)); before = row, ordered++) {
        eg_step_info a = {.size = sizeof a}, b = {.size = sizeof b};
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
        const eg_profile_options how = {
            .batch = 4,
            .seq = 6,
            .runs = 12,
            .no_ceilings = 1,
            .no_compile = i % 2,
            .recorder = &(const eg_recorder_options){.skip = 2, .active = 3, .repeat = 1}};
        CHECK_OK(eg_context_create(&options, &context, &error), error);
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
    const eg_profile_options options = {.runs = 20, .warmup = 5, .no_ceilings = 1};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_profile_callback(context, "count", count, &calls, &options, &profile, &error),
             error);
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
    CHECK_FAILS(eg_profile_callback(context, "", NULL, NULL, NULL, &profile, &error), error,
                EG_ERR_ARGUMENT, "no context, function");
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

/* Who looks at weights does not change them: no value is widened, and a file stays what it was. */
static int stop_at_zero(void *user) {
    int *left = user;
    return (*left)-- <= 0;
}

static void pause_a_little(void *user) {
    (void)user;
    nanosleep(&(struct timespec){0, 25000000}, NULL);
}

/* The first question comes before the first run, later ones 20 ms apart. */
TEST(profile, can_be_stopped) {
    eg_context *context;
    eg_model *model;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:8,in=4", &model, &error), error);
    for (int asks = 0; asks < 5; asks++) {
        int left = asks;
        const eg_profile_options options = {.size = sizeof options,
                                            .runs = 1000,
                                            .no_ceilings = 1,
                                            .stop = stop_at_zero,
                                            .stop_user = &left};
        eg_profile *profile = (eg_profile *)&left;
        CHECK_FAILS(
            eg_profile_callback(context, "", pause_a_little, NULL, &options, &profile, &error),
            error, EG_ERR_STOPPED, "stopped");
        CHECK(!profile && left == -1, "asked %d times too few", left + 1);
    }
    int left = 0;
    const eg_profile_options options = {
        .size = sizeof options, .no_ceilings = 1, .stop = stop_at_zero, .stop_user = &left};
    const eg_quick_options quick = {.size = sizeof quick, .stop = stop_at_zero, .stop_user = &left};
    const eg_quick_subject subject = {.model = model};
    eg_profile *profile;
    eg_quick_result result;
    CHECK_FAILS(eg_profile_model(model, "", &options, &profile, &error), error, EG_ERR_STOPPED,
                "stopped");
    left = 0;
    CHECK_FAILS(eg_quick_profile(&subject, &quick, &result, &error), error, EG_ERR_STOPPED,
                "stopped");
    left = 1000000;
    CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
    CHECK(left < 1000000, "never asked");
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(profile, weights_are_looked_at_as_they_are) {
    const eg_profile_options options = {.runs = 3, .no_ceilings = 1, .no_cache = 1};
    const eg_model_quantization small = {.quantization = {.type = EG_I8, .per = EG_PER_CHANNEL}};
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:24,in=8", &model, &error), error);
    CHECK_OK(eg_model_quantize(model, &small, &error), error);
    model->values_exposed = false;
    size_t widened = 0;
    for (size_t i = 0; i < model->parameter_count; i++) widened += model->parameters[i].own != NULL;
    CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
    for (size_t i = 0; i < model->parameter_count; i++) widened -= model->parameters[i].own != NULL;
    CHECK(widened == 0 && !model->values_exposed, "%zu tensors, %s", (size_t)0 - widened,
          model->values_exposed ? "touched" : "not touched");
    CHECK(strcmp(profile->weights.most, "i8") == 0 &&
              profile->weights.bytes < 4 * profile->weights.count,
          "%s", profile->weights.most);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- the quick way: of a model, of a function, of both */
TEST(profile, quickly) {
    eg_context *context;
    eg_model *model;
    eg_error error;
    int calls = 0;
    eg_quick_result r;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:3,in=4", &model, &error), error);
    const eg_quick_options options = {
        .size = sizeof options, .batch = 4, .seq = 6, .runs = 20, .warmup = 5};
    double flops = 0;
    for (int i = 0; i < 3; i++) { /* the model, both, the function */
        const eg_quick_subject what = {.context = i == 2 ? context : NULL,
                                       .model = i < 2 ? model : NULL,
                                       .function = i ? count : NULL,
                                       .user = &calls};
        calls = 0;
        CHECK_OK(eg_quick_profile(&what, &options, &r, &error), error);
        CHECK(calls == (i ? 25 : 0), "case %d: %d calls", i, calls);
        const eg_metric *all[] = {&r.seconds, &r.rate,         &r.samples, &r.flops,
                                  &r.tflops,  &r.bytes_moved,  &r.memory,  &r.library,
                                  &r.leaked,  &r.operand_rate, &r.cpu_time};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            CHECK(all[k]->unit && all[k]->source && all[k]->source[0], "case %d: figure %zu", i, k);
        CHECK(r.time.count == 20 && r.seconds.value == r.time.p50.value, "case %d: time", i);
        CHECK(fabs(r.rate.value * r.seconds.value - 1) < 1e-9, "case %d: a rate of what", i);
        CHECK(r.memory.provenance == EG_UNAVAILABLE || r.memory.value > 1e5, "case %d: %g bytes", i,
              r.memory.value);
        CHECK((r.noise == EG_NOISE_NONE) == !r.noise_text[0], "case %d: '%s'", i, r.noise_text);
        if (i == 2) {
            CHECK(r.flops.provenance == EG_UNAVAILABLE && r.tflops.provenance == EG_UNAVAILABLE &&
                      strstr(r.flops.source, "unknown"),
                  "FLOPs of a function: %s", r.flops.source);
            continue;
        }
        CHECK(r.flops.provenance == EG_COUNTED && r.flops.value > 0 && r.bytes_moved.value > 0,
              "case %d: nothing is counted", i);
        CHECK(fabs(r.samples.value * r.seconds.value - 4) < 1e-9 &&
                  fabs(r.tflops.value * 1e12 * r.seconds.value / r.flops.value - 1) < 1e-9,
              "case %d: rates", i);
        if (i == 1)
            CHECK(r.flops.value == flops, "%g FLOPs, of the model alone %g", r.flops.value, flops);
        flops = r.flops.value;
    }
    const eg_quick_subject nothing = {.context = context}, nowhere = {.function = count};
    CHECK_FAILS(eg_quick_profile(&nothing, NULL, &r, &error), error, EG_ERR_ARGUMENT, "no model");
    CHECK_FAILS(eg_quick_profile(&nowhere, NULL, &r, &error), error, EG_ERR_ARGUMENT, "context");
    /* the figures of the same model are those of its whole profile */
    eg_profile *profile;
    const eg_profile_options whole = {.batch = 4, .seq = 6, .runs = 5, .no_ceilings = 1};
    CHECK_OK(eg_profile_model(model, "", &whole, &profile, &error), error);
    CHECK(eg_profile_metric(profile, EG_PROFILE_flops).value == flops, "other FLOPs");
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- noise: a verdict says so, and all rates are over the same time */
typedef struct stumble {
    int calls;
} stumble;
static void stumbles(void *user) {
    stumble *s = user;
    const struct timespec pause = {.tv_nsec = 2000000};
    if (++s->calls % 3 == 0) nanosleep(&pause, NULL);
}

TEST(profile, noisy_runs_are_said_to_be_noisy) {
    eg_context *context;
    eg_profile *profile;
    eg_analysis *analysis;
    eg_error error;
    stumble s = {0};
    const eg_profile_options options = {.runs = 60, .no_ceilings = 1};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_profile_callback(context, "stumbles", stumbles, &s, &options, &profile, &error),
             error);
    CHECK_OK(eg_analyse(profile, &analysis, &error), error);
    CHECK(strncmp(eg_analysis_verdict(analysis), "noisy: ", 7) == 0, "%s",
          eg_analysis_verdict(analysis));
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

TEST(profile, all_rates_are_over_the_median) {
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_error error;
    const eg_profile_options options = {.batch = 4, .seq = 6, .runs = 12, .no_ceilings = 1};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:3,in=4", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
    eg_statistics time;
    eg_profile_time(profile, &time);
    static const struct {
        eg_profile_metric_id rate, amount;
        double per; /* what one of the rate is of the amount; 0 = `times` instead of a figure */
        double times;
    } rates[] = {{EG_PROFILE_samples_per_second, 0, 0, 4},
                 {EG_PROFILE_steps_per_second, 0, 0, 24},
                 {EG_PROFILE_tflops, EG_PROFILE_flops, 1e12, 0},
                 {EG_PROFILE_operand_rate, EG_PROFILE_bytes_moved, 1e9, 0},
                 {EG_PROFILE_bandwidth, EG_PROFILE_dram_bytes, 1e9, 0}};
    CHECK(eg_profile_metric(profile, EG_PROFILE_time_median).value == time.p50.value, "median");
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const eg_metric rate = eg_profile_metric(profile, rates[i].rate);
        const double amount = rates[i].per > 0
                                  ? eg_profile_metric(profile, rates[i].amount).value / rates[i].per
                                  : rates[i].times;
        CHECK(fabs(rate.value * time.p50.value - amount) <= 1e-9 * amount,
              "%s: %g in %g s is not %g", eg_profile_metric_name(rates[i].rate), rate.value,
              time.p50.value, amount);
        CHECK(strstr(rate.source, "median"), "%s: '%s' does not say of which time",
              eg_profile_metric_name(rates[i].rate), rate.source);
    }
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    const eg_profile_options options = {.batch = 2,
                                        .seq = 2,
                                        .runs = 3,
                                        .no_ceilings = 1,
                                        .no_cache = 1,
                                        .recorder = &(const eg_recorder_options){.events = 256}};
    eg_status status = eg_model_open(context, user, &model, error);
    if (status) return status;
    status = eg_profile_model(model, user, &options, &profile, error);
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
