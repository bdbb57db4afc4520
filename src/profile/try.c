/* Trying advice: alternates the changed with the present way of running and measures the gain. */
#include "base/locale.h"
#include "base/abi.h"
#include "nn/model.h"
#include "profile/analysis.h"
#include "profile/measure/statistics.h"

#include <math.h>
#include <string.h>

enum { ROUNDS_LEAST = 5, ROUNDS_MOST = 41 };
/* seconds: long compared with the clock, short compared with interruptions */
static const double burst = 1e-3;

bool eg__advice_kept(double promised, double measured) {
    return promised >= 0.01 && measured >= promised / 2;
}

/* ---- the model, run another way */
typedef struct variant {
    eg_context *context; /* NULL = that of the profile */
    eg_model *model;     /* NULL = the one that was profiled */
    eg__subject subject;
    double batch;
} variant;

static void variant_close(variant *v) {
    eg__subject_close(&v->subject);
    eg_model_destroy(v->model);
    eg_context_destroy(v->context);
    *v = (variant){0};
}

typedef struct trial {
    const eg_profile *profile;
    const eg__facts *facts;
    eg_model *model;
    eg_try_options options;
    const char *refusal; /* why something cannot be tried; static */
} trial;

/* Another weight type needs another model: the profiled one stays as it is. A model that was
 * quantized after opening cannot be opened again by name: the two would differ by more than the
 * change. */
static eg_status open_again(trial *t, eg_context *context, eg_type type, eg_model **out,
                            eg_error *error) {
    const char *name = t->options.name ? t->options.name : t->profile->name;
    eg_status status = eg_model_open(context, name, out, error);
    if (status) return status;
    const eg__numbers was = t->profile->weights, is = eg__model_numbers(*out, false);
    if (is.most != was.most || is.bytes != was.bytes || is.count != was.count)
        t->refusal = "not tried: the name refers to other weights";
    if (t->refusal || type == EG_F32) return EG_OK;
    const eg_model_quantization quantization = {
        .quantization = {
            .type = type, .per = EG_PER_CHANNEL, .block = EG_BLOCK_DEFAULT}}; /* as the CLI */
    return eg_model_quantize(*out, &quantization, error);
}

/* Both contexts together stay within the budget of the first; 0 = it has none. */
static uint64_t budget_left(eg_context *context) {
    eg_memory_pool_figures pool = {0};
    eg_memory_figures held = {0};
    eg_memory_empty_cache(context);
    eg_memory_pool_query(context, &pool, NULL);
    eg_memory_query(context, EG_TAG_COUNT, &held, NULL);
    return pool.budget ? pool.budget - held.current : 0;
}

static eg_status variant_open(trial *t, const eg__change *to, variant *v, eg_error *error) {
    const eg__facts *f = t->facts;
    const bool context = to->threads != f->threads || to->best_isa, again = context || to->type;
    eg_profile_options how = t->profile->options;
    eg_status status = EG_OK;
    how.batch = to->batch;
    how.no_compile = !to->compiled;
    v->batch = (double)to->batch;
    if (again && f->weight_bytes > (double)t->options.bytes) {
        t->refusal = "not tried: the model is large";
        return EG_OK;
    }
    if (context) {
        const eg_context_options options = {.size = sizeof options,
                                            .threads = to->threads,
                                            .isa = to->best_isa ? NULL : f->isa,
                                            .memory_budget = budget_left(t->profile->context)};
        status = eg_context_create(&options, &v->context, error);
    }
    if (!status && again)
        status =
            open_again(t, context ? v->context : t->profile->context, to->type, &v->model, error);
    if (status || t->refusal) return status;
    eg_model *model = again ? v->model : t->model;
    status = eg__subject_compile(&v->subject, model, &how, error);
    if (!status) status = eg__subject_prepare(&v->subject, model, error);
    return status;
}

/* ---- in turns */
static eg_status run_times(eg_instance *instance, uint64_t count, double *seconds,
                           eg_error *error) {
    eg_status status = EG_OK;
    const uint64_t start = eg_clock_ns();
    for (uint64_t i = 0; !status && i < count; i++) status = eg_run(instance, NULL, error);
    *seconds = (double)(eg_clock_ns() - start) * 1e-9 / (double)count;
    return status;
}

static uint64_t runs_of(double seconds) {
    return seconds > 0 && seconds < burst ? (uint64_t)(burst / seconds) + 1 : 1;
}

/* The lower quartile: slower runs were probably interrupted. */
static double lower_quartile(double *times, int count) {
    eg__samples_order((size_t)count, times);
    return eg__samples_percentile((size_t)count, times, 0.25);
}

/* One way of running, and its times. For short runs the first burst of a turn is not timed: threads
 * wake up on their cores, and caches are refilled. */
typedef struct side {
    eg_instance *instance;
    uint64_t runs; /* of a burst */
    double each, times[ROUNDS_MOST];
} side;

static bool warms_up(const side *s) { return s->each < 10 * burst; }

static double turn_seconds(const side *s) {
    return s->each * (double)s->runs * (warms_up(s) ? 2 : 1);
}

static eg_status take_turn(side *s, int round, eg_error *error) {
    eg_status status = EG_OK;
    for (int i = warms_up(s) ? 0 : 1; !status && i < 2; i++)
        status = run_times(s->instance, s->runs, &s->times[round], error);
    return status;
}

/* The share of a sample's time that the change saves; both ways are run alternately, in alternating
 * order. NaN = no time for it. */
static eg_status measure(trial *t, const variant *v, double seconds, double *saved,
                         eg_error *error) {
    side sides[2] = {{.instance = t->profile->subject.instance}, {.instance = v->subject.instance}};
    eg_status status = EG_OK;
    *saved = NAN;
    for (int i = 0; !status && i < 4; i++)
        status = run_times(sides[i % 2].instance, 1, &sides[i % 2].each, error);
    if (status) return status;
    for (int i = 0; i < 2; i++) sides[i].runs = runs_of(sides[i].each);
    const double both = turn_seconds(&sides[0]) + turn_seconds(&sides[1]);
    if (both * ROUNDS_LEAST > seconds) {
        t->refusal = "not tried: a run takes too long; --try waits for it";
        return EG_OK;
    }
    const int rounds = (int)fmin(ROUNDS_MOST, seconds / both);
    for (int i = 0; !status && i < 2 * rounds; i++)
        status = take_turn(&sides[(i + i / 2) % 2], i / 2, error);
    if (status) return status;
    const double before = lower_quartile(sides[0].times, rounds) / (double)t->facts->batch,
                 after = lower_quartile(sides[1].times, rounds) / v->batch;
    *saved = 1 - after / before;
    return EG_OK;
}

/* A way that cannot be opened, run or fitted into the budget is not tried, and the finding says
 * so. */
static eg_status try_one(trial *t, const eg__rule *rule, double seconds, eg_finding *f,
                         eg_error *error) {
    eg__change to = {
        .batch = t->facts->batch, .threads = t->facts->threads, .compiled = t->facts->compiled};
    variant v = {0};
    double saved = NAN;
    rule->change(t->facts, &to);
    t->refusal = NULL;
    eg_status status = variant_open(t, &to, &v, error);
    if (!status && !t->refusal) status = measure(t, &v, seconds, &saved, error);
    variant_close(&v);
    if (isfinite(saved)) {
        f->measured = saved * t->facts->seconds;
        f->untried = NULL;
    } else
        f->untried = t->refusal                ? t->refusal
                     : status == EG_ERR_BUDGET ? "not tried: over the memory budget"
                                               : "not tried: it cannot be opened this way";
    return status == EG_ERR_MEMORY ? status : EG_OK;
}

static void keep(eg__findings *to, const eg_finding *f) {
    if (to->count < EG__FINDINGS) to->list[to->count++] = *f;
}

static eg_status try_all(eg_analysis *a, eg_model *model, const eg_profile *p,
                         const eg_try_options *options, eg_error *error) {
    trial t = {.profile = p, .model = model};
    if (!a || !model || !p || !p->subject.program)
        return eg__fail(error, EG_ERR_ARGUMENT, "no analysis, no model, or a profile of none");
    const eg_status taken = EG__OPTIONS(eg_try_options, &t.options, options, error);
    if (taken) return taken;
    if (!(t.options.seconds > 0)) t.options.seconds = 1.5;
    if (!t.options.bytes) t.options.bytes = UINT64_C(64) << 20;
    eg__facts facts;
    eg__facts_of(p, &facts);
    t.facts = &facts;
    eg__findings *advice = &a->kinds[EG_RECOMMENDATION], *tried = &a->kinds[EG_TRIED];
    advice->count = tried->count = 0;
    size_t left = 0;
    eg_finding f;
    for (const eg__rule *rule = eg__rules; rule->name; rule++)
        left += rule->change && eg__rule_apply(rule, &facts, &f);
    const uint64_t start = eg_clock_ns();
    for (const eg__rule *rule = eg__rules; rule->name; rule++) {
        if (!eg__rule_apply(rule, &facts, &f)) continue;
        if (rule->change) {
            const double rest = t.options.seconds - (double)(eg_clock_ns() - start) * 1e-9;
            eg_status status = try_one(&t, rule, fmax(0, rest) / (double)left--, &f, error);
            if (status) return status;
        }
        const double promised = f.gain / facts.seconds, got = f.measured / facts.seconds;
        if (isfinite(f.measured)) keep(eg__advice_kept(promised, got) ? advice : tried, &f);
        else if (!rule->only_tried) keep(advice, &f);
    }
    eg__findings_sort(advice);
    eg__conclude(&facts, a);
    return EG_OK;
}

eg_status eg_analysis_try(eg_analysis *a, eg_model *model, const eg_profile *p,
                          const eg_try_options *options, eg_error *error) {
    const locale_t before = eg__point_begin();
    const eg_status status = try_all(a, model, p, options, error);
    eg__point_end(before);
    return status;
}
