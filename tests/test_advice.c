/* Advice: when each rule applies, that none contradicts the model, and what trying makes of promises.
 * How much is saved is the business of `elegans bench advice`. */
#include "test.h"
#include "elegans/elegans.h"
#include "profile/analysis.h"

#include <math.h>

AREA(advice, "every rule says what to do and how to try it, and none contradicts the model")

/* One set of facts that asks for it, and a calm one that asks for none. */
static const eg__facts calm = {.seconds = 1e-3,
                               .threads = 4,
                               .cores = 4,
                               .batch = 64,
                               .compiled = true,
                               .numbers = "f32",
                               .weight_bits = 32,
                               .weight_bytes = 1e5,
                               .isa = "avx2",
                               .lanes = 8,
                               .lanes_possible = 8,
                               .working_set = 1e6,
                               .own_cache = 2e6,
                               .memory_available = 8e9,
                               .memory_budget = 4e9,
                               .peak_memory = 1e8};

/* What makes exactly this rule apply. */
static eg__facts troubled(const char *rule) {
    eg__facts f = calm;
    if (!strcmp(rule, "batch")) f.share[EG__BY_OVERHEAD] = 0.4;
    if (!strcmp(rule, "threads")) f.threads = 1;
    if (!strcmp(rule, "data_type")) f.weights_wait = 0.5, f.weight_bits = 16, f.numbers = "f16";
    if (!strcmp(rule, "half")) f.weights_wait = 0.5;
    if (!strcmp(rule, "compile")) f.compiled = false, f.plain_share = 0.5;
    if (!strcmp(rule, "isa")) f.lanes = 1, f.isa = "ref", f.vector_share = 0.9;
    if (!strcmp(rule, "cache")) f.working_set = 1e8, f.values_wait = 0.6;
    if (!strcmp(rule, "memory")) f.peak_memory = 4.1e9;
    return f;
}

TEST(advice, each_rule_where_it_applies_and_nowhere_else) {
    for (const eg__rule *cause = eg__rules; cause->name; cause++) {
        const eg__facts facts = troubled(cause->name);
        for (const eg__rule *rule = eg__rules; rule->name; rule++) {
            eg_finding f;
            const bool both = !strcmp(cause->name, "half") && !strcmp(rule->name, "data_type");
            const bool wanted = rule == cause || both; /* f32 weights may become either */
            CHECK(eg__rule_apply(rule, &facts, &f) == wanted, "'%s' where '%s' applies", rule->name,
                  cause->name);
            CHECK(!wanted || (f.text[0] && f.action[0] && f.reason[0]), "'%s' says nothing",
                  rule->name);
            CHECK(!wanted || isnan(f.gain) == !rule->change, "'%s' promises nothing", rule->name);
            CHECK(!wanted || isnan(f.gain) || (f.gain > 0 && f.gain < facts.seconds),
                  "'%s' promises %g of %g s", rule->name, f.gain, facts.seconds);
            CHECK(!wanted || (isnan(f.measured) && f.untried), "'%s' was tried", rule->name);
        }
    }
    for (const eg__rule *rule = eg__rules; rule->name; rule++) {
        eg_finding f;
        CHECK(!eg__rule_apply(rule, &calm, &f), "rule '%s' for nothing: %s", rule->name, f.text);
        CHECK(rule->reason && rule->reason[0] && eg__rule_find(rule->name) == rule, "'%s'",
              rule->name);
    }
    CHECK(!eg__rule_find("sizes") && !eg__rule_find("layout"),
          "wider products are never quicker, and time comes first already");
}

/* Whatever the facts are, nothing is advised that is so already, and trying changes something. */
TEST(advice, nothing_that_is_so_already) {
    static const struct {
        const char *numbers;
        double bits;
    } types[] = {{"f32", 32}, {"f16", 16},   {"bf16", 16}, {"i8", 8.5},
                 {"i4", 4.5}, {"Q8_0", 8.5}, {"Q4_0", 4.5}};
    static const uint64_t batches[] = {1, 2, 8, 32, 128, 256, 1024};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
            for (int waits = 0; waits < 8; waits++) {
                eg__facts f = calm;
                f.numbers = types[t].numbers;
                f.weight_bits = types[t].bits;
                f.batch = batches[b];
                f.share[EG__BY_OVERHEAD] = waits & 1 ? 0.5 : 0;
                f.share[EG__BY_DRAM] = f.weights_wait = waits & 2 ? 0.5 : 0;
                f.peak_memory = waits & 4 ? 5e9 : 1e8;
                if (waits & 4) f.working_set = 1e8, f.values_wait = 0.5;
                for (const eg__rule *rule = eg__rules; rule->name; rule++) {
                    eg_finding found;
                    if (!eg__rule_apply(rule, &f, &found)) continue;
                    const bool half = strstr(found.action, "f16") != NULL,
                               whole = strstr(found.action, "int8") != NULL;
                    CHECK(found.action[0], "%s, batch %llu: '%s' has no action", f.numbers,
                          (unsigned long long)f.batch, rule->name);
                    CHECK(!half || f.weight_bits > 16, "%s is told '%s'", f.numbers, found.action);
                    CHECK(!whole || f.weight_bits > 8.5, "%s is told '%s'", f.numbers,
                          found.action);
                    eg__change to = {
                        .batch = f.batch, .threads = f.threads, .compiled = f.compiled};
                    if (!rule->change) continue;
                    rule->change(&f, &to);
                    CHECK(to.batch != f.batch || to.threads != f.threads ||
                              to.compiled != f.compiled || to.best_isa || to.type,
                          "'%s' would try what is so already", rule->name);
                    CHECK(to.batch > 0, "'%s': a batch of 0", rule->name);
                    if (!strcmp(rule->name, "cache"))
                        CHECK(to.batch < f.batch && to.batch >= 16, "'%s': batch %llu", rule->name,
                              (unsigned long long)to.batch);
                }
            }
}

/* ---- actions: only what can be done of this run, and what is so of its operations */
TEST(advice, actions_of_bottlenecks) {
    static const struct {
        const char *bound;
        uint32_t traits;
        const char *action;
        uint64_t batch;
        double bits;
        unsigned threads;
    } cases[] = {
        {"DRAM", EG_STEP_PRODUCT, "fewer bytes: smaller weights", 1, 32, 1},
        {"DRAM", EG_STEP_PRODUCT, "fewer bytes: smaller weights or a smaller batch", 64, 16, 1},
        {"L3", EG_STEP_PRODUCT, "fewer bytes: a smaller model", 1, 4.5, 1},
        {"L3", EG_STEP_PRODUCT, "fewer bytes: a smaller batch", 8, 4.5, 1},
        {"DRAM", EG_STEP_ELEMENTWISE, "fewer bytes: a smaller batch", 8, 32, 1},
        {"DRAM", EG_STEP_ELEMENTWISE, "fewer bytes: a smaller model", 1, 32, 1},
        {"compute", EG_STEP_PRODUCT, "fewer FLOPs or more threads", 1, 32, 1},
        {"compute", EG_STEP_PRODUCT, "fewer FLOPs", 1, 32, 4},
        {"L1", EG_STEP_ELEMENTWISE, "nothing: its values are as near as they can be", 1, 32, 1},
        {"L2", EG_STEP_ELEMENTWISE, "nothing: its values are in the second cache", 1, 32, 1},
        {"overhead", EG_STEP_ELEMENTWISE, "fewer and larger steps: a larger batch", 1, 32, 1},
        {"unknown", EG_STEP_ELEMENTWISE, "ceilings tell what bounds it: elegans info --measure", 1,
         32, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__facts f = calm;
        eg_profile_row row = {.bound = cases[i].bound, .traits = cases[i].traits, .calls = 1};
        char action[200];
        f.batch = cases[i].batch;
        f.weight_bits = cases[i].bits;
        f.threads = cases[i].threads;
        snprintf(row.shape, sizeof row.shape, "%llux64x64", (unsigned long long)f.batch);
        row.bytes = 64 * 64 * f.weight_bits / 8 + 4 * 128 * (double)f.batch;
        eg__action_bound(&f, &row, action);
        CHECK(strcmp(action, cases[i].action) == 0, "case %zu: '%s', not '%s'", i, action,
              cases[i].action);
    }
}

TEST(advice, actions_of_ratios) {
    static const char grid[] = "elegans profile --grid";
    static const struct {
        eg_ratio_id id;
        const char *action;
        uint64_t batch, seq;
        double bits;
        const char *bound; /* of its only bottleneck ... */
        double roof;       /* ... at this share of its roof; a second operation is no bottleneck */
        unsigned threads;
    } cases[] = {{EG_RATIO_compute, "far below their roofs", 1, 1, 32, "DRAM", 0.3, 1},
                 {EG_RATIO_compute, "more FLOPs for each weight", 1, 1, 32, "DRAM", 0.95, 1},
                 {EG_RATIO_compute, grid, 1, 1, 32, "compute", 0.95, 1},
                 {EG_RATIO_bandwidth, "operations that wait for memory", 1, 1, 32, "DRAM", 0.95, 1},
                 {EG_RATIO_bandwidth, "operations that wait for memory", 1, 1, 32, "L3", 0.3, 1},
                 {EG_RATIO_bandwidth, "nothing: no bottleneck waits", 1, 1, 4.5, "compute", 0.4, 1},
                 {EG_RATIO_memory, "a smaller batch, a shorter sequence or elegans quantize", 2, 2,
                  32, "DRAM", 1, 1},
                 {EG_RATIO_memory, "elegans quantize", 1, 1, 32, "DRAM", 1, 1},
                 {EG_RATIO_memory, "a smaller model, or a machine", 1, 1, 4.5, "DRAM", 1, 1},
                 {EG_RATIO_cache, grid, 1, 1, 32, "L2", 1, 1},
                 {EG_RATIO_controller, "fewer bytes: elegans quantize", 1, 1, 32, "DRAM", 1, 1},
                 {EG_RATIO_controller, "fewer bytes: a smaller batch", 2, 1, 4.5, "DRAM", 1, 1},
                 {EG_RATIO_controller, "fewer bytes: a smaller model", 1, 1, 4.5, "DRAM", 1, 1},
                 {EG_RATIO_engine, "nothing: no kernel", 1, 1, 32, "DRAM", 1, 1},
                 {EG_RATIO_power, "fewer threads", 1, 1, 32, "DRAM", 1, 2},
                 {EG_RATIO_power, "one thread already", 1, 1, 32, "DRAM", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_profile_row rows[] = {
            {.bound = cases[i].bound, .roof_share = cases[i].roof, .share = 0.96},
            {.bound = strcmp(cases[i].bound, "DRAM") ? "DRAM" : "L1",
             .roof_share = 0.1,
             .share = 0.04}};
        const eg_profile p = {
            .operations = rows, .operation_count = 2, .options = {.seq = cases[i].seq}};
        eg__facts f = calm;
        char action[200];
        f.profile = &p;
        f.batch = cases[i].batch;
        f.weight_bits = cases[i].bits;
        f.threads = cases[i].threads;
        f.weights_wait = strcmp(cases[i].bound, "DRAM") ? 0 : 0.9;
        eg__action_ratio(&f, cases[i].id, action);
        const char *found = strstr(action, cases[i].action);
        CHECK(found, "case %zu: '%s', not '%s'", i, action, cases[i].action);
        CHECK(cases[i].batch > 1 || !strstr(action, "smaller batch"), "case %zu: '%s'", i, action);
    }
}

/* 16 samples in the lanes of one vector are one piece of work, whoever asks for more threads. */
TEST(advice, threads_divide_what_can_be_divided) {
    static const struct {
        uint64_t batch;
        unsigned threads, cores, lanes;
        double lane_share, promised; /* 0 = it does not apply */
    } cases[] = {{64, 1, 2, 16, 0, 1 / 3.0},
                 {64, 1, 2, 16, 0.9, 1 / 3.0},
                 {16, 1, 2, 16, 0, 1 / 3.0},
                 {16, 1, 2, 16, 0.9, 0},
                 {17, 1, 2, 16, 1, 1 / 3.0},
                 {16, 1, 2, 8, 1, 1 / 3.0},
                 {16, 1, 2, 16, 0.5, 1 / 6.0},
                 {32, 1, 8, 16, 1, 1 / 3.0}, /* two vectors keep two cores busy */
                 {32, 2, 8, 16, 1, 0},
                 {32, 1, 8, 16, 0, 7 / 12.0},
                 {8, 1, 2, 16, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__facts f = calm;
        eg_finding found;
        f.batch = cases[i].batch;
        f.threads = cases[i].threads;
        f.cores = cases[i].cores;
        f.lanes = f.lanes_possible = cases[i].lanes;
        f.lane_share = cases[i].lane_share;
        CHECK(eg__rule_apply(eg__rule_find("threads"), &f, &found) == (cases[i].promised > 0),
              "case %zu", i);
        CHECK(!(cases[i].promised > 0) || fabs(found.gain / f.seconds - cases[i].promised) < 1e-12,
              "case %zu: %g", i, found.gain / f.seconds);
    }
}

/* What of the values fits into half of the caches of the cores that share them. */
TEST(advice, a_batch_that_stays_in_the_cache) {
    static const struct {
        uint64_t batch;
        double values, weights, own, waits; /* MB; share */
        unsigned threads;
        uint64_t smaller; /* 0 = it does not apply */
    } cases[] = {{16384, 200, 0.1, 2, 0.5, 1, 64},
                 {16384, 200, 0.1, 2, 0.5, 2, 128},
                 {16384, 200, 50, 2, 0.5, 1, 64},
                 {16384, 200, 0.1, 2, 0.09, 1, 0}, /* it computes meanwhile */
                 {16384, 200, 0.1, 0, 0.5, 1, 0},  /* of no known size */
                 {16384, 0.9, 0.1, 2, 0.5, 1, 0},  /* they are there */
                 {24, 200, 0.1, 2, 0.5, 1, 0},     /* products of 12 rows are slower */
                 {32, 200, 0.1, 2, 0.5, 1, 16},
                 {100, 3, 0.1, 2, 0.5, 1, 25}};
    const eg__rule *rule = eg__rule_find("cache");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__facts f = calm;
        eg__change to = {0};
        eg_finding found;
        f.batch = cases[i].batch;
        f.weight_bytes = cases[i].weights * 1e6;
        f.working_set = (cases[i].values + cases[i].weights) * 1e6;
        f.own_cache = cases[i].own * 1e6;
        f.values_wait = cases[i].waits;
        f.threads = cases[i].threads;
        CHECK(eg__rule_apply(rule, &f, &found) == (cases[i].smaller > 0), "case %zu", i);
        if (!cases[i].smaller) continue;
        rule->change(&f, &to);
        CHECK(to.batch == cases[i].smaller, "case %zu: a batch of %llu", i,
              (unsigned long long)to.batch);
    }
}

TEST(advice, half_of_a_promise_is_kept) {
    static const struct {
        double promised, measured;
        bool kept;
    } rows[] = {{0.5, 0.5, true},    {0.5, 0.25, true}, {0.5, 0.24, false},
                {0.5, -1, false},    {0.5, NAN, false}, {0.02, 0.3, true},
                {0.005, 0.3, false}, {0, 0, false},     {NAN, 0.5, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(eg__advice_kept(rows[i].promised, rows[i].measured) == rows[i].kept, "%zu", i);
}

/* ---- real models in all their types: what a profile and a diagnosis say of them */
static eg_context *context_make(unsigned threads, const char *isa) {
    const eg_context_options options = {.size = sizeof options, .threads = threads, .isa = isa};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static const eg_profile_options quick = {.batch = 1,
                                         .seq = 2,
                                         .runs = 5,
                                         .no_ceilings = 1,
                                         .no_cache = 1,
                                         .recorder = &(const eg_recorder_options){.events = 512}};

/* Every product waits for the DRAM, as where a model is larger than any cache. */
static void make_wait(eg_profile *p) {
    for (size_t i = 0; i < p->operation_count; i++) {
        eg_profile_row *row = &p->operations[i];
        const bool product =
            strncmp(row->kernel, "gemm", 4) == 0 || strncmp(row->kernel, "infile_", 7) == 0;
        row->share = product ? 1 : 0;
        row->bound = "DRAM";
        row->roof_share = 1;
    }
}

TEST(advice, types_are_those_of_the_model) {
    static const char *const specs[] = {"cfc:24,in=8,mode=pure", "ltc:autoncp:12:3,in=4",
                                        "llama:1:32,vocab=64,heads=2"};
    static const struct {
        eg_type type; /* EG_F32 = as it is */
        const char *name;
        bool int8; /* may be advised */
    } types[] = {{EG_F32, "f32", true}, {EG_F16, "f16", true}, {EG_I8, "i8", false}};
    eg_context *context = context_make(1, NULL);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            eg_model *model;
            eg_profile *p;
            eg_analysis *a;
            eg_error error;
            eg__facts f;
            CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
            const eg_model_quantization quantization = {
                .quantization = {.type = types[t].type, .per = EG_PER_CHANNEL}};
            if (types[t].type != EG_F32)
                CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
            CHECK_OK(eg_profile_model(model, specs[i], &quick, &p, &error), error);
            eg__facts_of(p, &f);
            CHECK(strcmp(f.numbers, types[t].name) == 0, "%s in %s is said to be %s", specs[i],
                  types[t].name, f.numbers);
            CHECK(f.weight_bits > 4 && f.weight_bits <= 32 && f.weight_bytes > 0, "%g bits",
                  f.weight_bits);
            make_wait(p);
            CHECK_OK(eg_analyse(p, &a, &error), error);
            const eg_finding *tip;
            for (size_t k = 0; (tip = eg_analysis_finding(a, EG_RECOMMENDATION, k)); k++) {
                CHECK(!strstr(tip->action, "f16"), "%s: f16 is advised untried", specs[i]);
                CHECK(types[t].int8 || !strstr(tip->action, "int8"), "%s in %s: '%s'", specs[i],
                      types[t].name, tip->action);
                CHECK(tip->action[0] && tip->untried, "%s: no action", tip->rule);
            }
            eg_environment e = {0};
            eg_diagnosis d;
            eg_diagnose(&e, eg_context_chip(context), p, &d);
            for (size_t k = 0; k < d.count; k++)
                if (strcmp(d.item[k].name, "data types") == 0)
                    CHECK(strstr(d.item[k].text, types[t].name), "%s in %s: '%s'", specs[i],
                          types[t].name, d.item[k].text);
            eg_analysis_destroy(a);
            eg_profile_destroy(p);
            eg_model_destroy(model);
        }
    eg_context_destroy(context);
}

/* ---- trying */
static const eg_finding *find(const eg_analysis *a, const char *rule, eg_finding_kind *kind) {
    static const eg_finding_kind kinds[] = {EG_RECOMMENDATION, EG_TRIED};
    for (size_t k = 0; k < 2; k++) {
        const eg_finding *f;
        for (size_t i = 0; (f = eg_analysis_finding(a, kinds[k], i)); i++)
            if (strcmp(f->rule, rule) == 0) {
                *kind = kinds[k];
                return f;
            }
    }
    return NULL;
}

/* What was measured decides where it stands, whatever it was; and what cannot be opened says so. */
TEST(advice, what_was_tried_stands_where_it_belongs) {
    eg_context *context = context_make(1, "ref");
    eg_model *model;
    eg_profile *p;
    eg_analysis *a;
    eg_error error;
    eg_profile_options how = quick;
    how.no_compile = 1;
    CHECK_OK(eg_model_open(context, "cfc:24,in=8", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "cfc:24,in=8", &how, &p, &error), error);
    make_wait(p);
    CHECK_OK(eg_analyse(p, &a, &error), error);
    eg_finding_kind kind;
    CHECK(find(a, "compile", &kind) && kind == EG_RECOMMENDATION, "untried, it is advised");
    CHECK(!find(a, "half", &kind), "f16 untried");
    eg_try_options options = {.size = sizeof options, .seconds = 0.05};
    CHECK_OK(eg_analysis_try(a, model, p, &options, &error), error);
    static const char *const rules[] = {"compile", "data_type", "half"};
    for (size_t i = 0; i < 3; i++) {
        const eg_finding *f = find(a, rules[i], &kind);
        if (!f && !strcmp(rules[i], "half")) continue; /* there was no time for it */
        CHECK(f && (isfinite(f->measured) ? !f->untried : f->untried && f->untried[0]), "%s",
              rules[i]);
        if (f && isfinite(f->measured))
            CHECK((kind == EG_RECOMMENDATION) ==
                      eg__advice_kept(f->gain / p->time.p50.value, f->measured / p->time.p50.value),
                  "%s: promised %g, measured %g", rules[i], f->gain, f->measured);
    }
    options.bytes = 1; /* nothing is opened again */
    CHECK_OK(eg_analysis_try(a, model, p, &options, &error), error);
    const eg_finding *large = find(a, "data_type", &kind);
    CHECK(large && isnan(large->measured) && strstr(large->untried, "large"), "a large model");
    options.bytes = 0;
    options.name = "/nosuch/model";
    CHECK_OK(eg_analysis_try(a, model, p, &options, &error), error);
    large = find(a, "data_type", &kind);
    CHECK(large && isnan(large->measured) && strstr(large->untried, "opened"), "no such model");
    options.name = "cfc:16,in=8"; /* not what was profiled, whatever it would save */
    CHECK_OK(eg_analysis_try(a, model, p, &options, &error), error);
    large = find(a, "data_type", &kind);
    CHECK(large && isnan(large->measured) && strstr(large->untried, "other weights"),
          "another model");
    CHECK_FAILS(eg_analysis_try(a, NULL, p, NULL, &error), error, EG_ERR_ARGUMENT, "no model");
    eg_analysis_destroy(a);
    eg_profile_destroy(p);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* A second context is within the budget of the first, or not made. */
TEST(advice, trials_keep_to_the_budget) {
    static const char spec[] = "cfc:256,in=64,backbone=512x2,seed=1";
    uint64_t held = 0;
    for (int limited = 0; limited < 2; limited++) {
        const eg_context_options options = {.size = sizeof options,
                                            .threads = 1,
                                            .isa = "ref",
                                            .memory_budget = limited ? held + (2 << 20) : 0};
        eg_context *context;
        eg_model *model;
        eg_profile *p;
        eg_analysis *a;
        eg_memory_figures figures;
        eg_error error;
        eg_finding_kind kind;
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        CHECK_OK(eg_model_open(context, spec, &model, &error), error);
        CHECK_OK(eg_profile_model(model, spec, &quick, &p, &error), error);
        CHECK_OK(eg_analyse(p, &a, &error), error);
        const eg_try_options how = {.size = sizeof how, .seconds = 10};
        if (find(a, "isa", &kind)) { /* this processor has more than portable C */
            CHECK_OK(eg_analysis_try(a, model, p, &how, &error), error);
            const eg_finding *f = find(a, "isa", &kind);
            CHECK(f && (limited ? f->untried && strstr(f->untried, "budget") : !f->untried),
                  "limited %d: %s", limited, f && f->untried ? f->untried : "tried");
        }
        eg_analysis_destroy(a);
        CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &figures, &error), error);
        held = eg__max(figures.peak, (uint64_t)p->metrics[EG_PROFILE_library_peak].value);
        eg_profile_destroy(p);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    eg_profile_options how = quick;
    const eg_try_options options = {.size = sizeof options, .seconds = 0.001};
    how.no_compile = 1;
    eg_status status = eg_model_open(context, user, &model, error);
    if (status) return status;
    status = eg_profile_model(model, user, &how, &profile, error);
    if (!status) status = eg_analyse(profile, &analysis, error);
    if (!status) status = eg_analysis_try(analysis, model, profile, &options, error);
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    return status;
}

TEST(advice, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:3,in=2,backbone=0");
    CHECK(failed > 50, "only %d allocations", failed);
}
