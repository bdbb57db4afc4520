/* Steps of training: forward, backward and optimizer, on one thread and on several. */
#include "base/abi.h"
#include "elegans/train.h"
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"

#include <string.h>

enum { ROUNDS = 5, ROUNDS_MAX = 99 };

typedef struct training {
    const char *name, *model;
    uint64_t batch, time;
    bool divides; /* large enough for several threads */
} training;
#define TRAININGS(name, model)                                                      \
    {name "-32x16", model, 32, 16, false}, {name "-32x64", model, 32, 64, false}, { \
        name "-128x16", model, 128, 16, true                                        \
    }
static const training trainings[] = {
    TRAININGS("cfc-ncp", "cfc:autoncp:64:16,in=16"),
    TRAININGS("cfc-deep", "cfc:64,in=16,backbone=64x2,activation=silu"),
    TRAININGS("ltc-ncp", "ltc:autoncp:64:16,in=16")};

/* One trainer in one context, and its times so far; `finish` frees whatever was made. */
typedef struct job {
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
    double best, medians[ROUNDS_MAX]; /* seconds */
    uint64_t rounds, steps, update;   /* update: ns, the best */
    eg_status status;                 /* of a step that failed */
    eg_error error;
} job;

static void step(void *user) {
    job *j = user;
    eg_status status = eg_trainer_gradient(j->trainer, NULL, &j->error);
    const uint64_t begin = eg_clock_ns();
    if (!status) status = eg_trainer_update(j->trainer, 0, NULL, &j->error);
    const uint64_t ns = eg_clock_ns() - begin;
    if (status) j->status = status;
    else if (!j->update || ns < j->update) j->update = ns;
}

/* What the programs of an update count. */
static void add_update(const eg_trainer *trainer, eg_bench_training *out) {
    static const eg_train_part parts[] = {EG_TRAIN_NORM, EG_TRAIN_UPDATE};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        eg_program_info info = {.size = sizeof info};
        eg_program_info_get(eg_trainer_part(trainer, parts[i], NULL), &info);
        out->update_flops += info.flops;
        out->update_bytes += info.bytes;
    }
}

/* A sine as the input and the same sine a quarter period later as the target: it can be learned, so
 * values and gradients are those of a healthy training. */
static void fill(const training *c, const eg_train_batch *batch, uint64_t inputs) {
    static const float wave[] = {0, 0.38f,  0.71f,  0.92f,  1,  0.92f,  0.71f,  0.38f,
                                 0, -0.38f, -0.71f, -0.92f, -1, -0.92f, -0.71f, -0.38f};
    for (uint64_t t = 0; t < c->time; t++)
        for (uint64_t b = 0; b < c->batch; b++) {
            const uint64_t row = t * c->batch + b;
            for (uint64_t i = 0; i < inputs; i++)
                batch->x[row * inputs + i] = wave[(t + 3 * b + 5 * i) % 16];
            for (uint64_t i = 0; i < batch->target_size; i++)
                batch->target[row * batch->target_size + i] =
                    0.5f * wave[(t + 3 * b + 5 * i + 4) % 16];
        }
}

static eg_status start(job *j, eg_context *context, const training *c, eg_error *error) {
    const eg_train_options options = {.batch = c->batch, .time = c->time};
    *j = (job){.context = context};
    eg_status status = eg_model_open(context, c->model, &j->model, error);
    if (!status) status = eg_trainer_create(j->model, &options, &j->trainer, error);
    if (status) return status;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(j->model, &info);
    const eg_train_batch batch = eg_trainer_batch(j->trainer);
    fill(c, &batch, info.inputs);
    return EG_OK;
}

static void finish(job *j) {
    eg_trainer_destroy(j->trainer);
    eg_model_destroy(j->model);
}

static eg_status run_round(job *j, uint64_t steps, eg_error *error) {
    const eg__burst_times times =
        steps ? eg__burst_repeat(step, j, steps) : eg__burst_measure(step, j, 0.1);
    if (j->status) return eg__fail(error, j->status, "%s", j->error.message);
    if (!j->rounds || times.best < j->best) j->best = times.best;
    j->steps += times.calls;
    /* in order, so that the median is in the middle */
    uint64_t at = j->rounds++;
    for (; at && j->medians[at - 1] > times.median; at--) j->medians[at] = j->medians[at - 1];
    j->medians[at] = times.median;
    return EG_OK;
}

/* `one` is the same on one thread; NULL = this is. */
static void describe(const training *c, const job *j, const job *one, eg_bench_training *out) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(eg_trainer_program(j->trainer), &info);
    *out = (eg_bench_training){.name = c->name,
                               .model = c->model,
                               .batch = c->batch,
                               .time = c->time,
                               .threads = eg_context_threads(j->context),
                               .flops = info.flops,
                               .bytes = info.bytes,
                               .steps = j->steps};
    add_update(j->trainer, out);
    out->update = eg__metric((double)j->update * 1e-6, "ms", EG_MEASURED,
                             "best of all rounds: norm, optimizer, what depends on weights");
    out->step = eg__metric(j->best * 1e3, "ms", EG_MEASURED, "best step of all rounds");
    out->median = eg__metric(j->medians[j->rounds / 2] * 1e3, "ms", EG_MEASURED,
                             "median of the rounds' medians");
    out->rate = eg__metric(1 / j->best, "steps/s", EG_MEASURED, "at the best step");
    out->speed = eg__metric(info.flops / j->best * 1e-9, "GFLOP/s", EG_MEASURED,
                            "operations counted in the program");
    out->peak = eg__fma_peak_measure(j->context, 0.04);
    out->fraction = out->peak.provenance == EG_UNAVAILABLE
                        ? eg__metric_unavailable(NULL, out->peak.source)
                        : eg__metric(out->speed.value / (out->peak.value * out->threads), NULL,
                                     EG_MEASURED, "of the FMA peak of as many cores");
    out->times_one =
        one ? eg__metric(one->best / j->best, NULL, EG_MEASURED, "best steps of the same rounds")
            : eg__metric_unavailable(NULL, "this is one thread");
}

typedef struct bench {
    eg_context *context[2]; /* with one thread, with several or NULL */
    uint64_t rounds, steps;
    eg_bench_training_function function;
    void *user;
    bool stop; /* the callback ended the benchmark */
} bench;

static eg_status measure(bench *b, const training *c, eg_error *error) {
    const unsigned count = c->divides && b->context[1] ? 2 : 1;
    eg_status status = EG_OK;
    job jobs[2];
    memset(jobs, 0, sizeof jobs);
    for (unsigned i = 0; i < count && !status; i++)
        status = start(&jobs[i], b->context[i], c, error);
    for (uint64_t round = 0; round < b->rounds; round++)
        for (unsigned i = 0; i < count && !status; i++)
            status = run_round(&jobs[i], b->steps, error);
    for (unsigned i = 0; i < count && !status && !b->stop; i++) {
        eg_bench_training result;
        describe(c, &jobs[i], i ? &jobs[0] : NULL, &result);
        b->stop = b->function(b->user, &result) != 0;
    }
    for (unsigned i = 0; i < count; i++) finish(&jobs[i]);
    return status;
}

static eg_status check(const bench *b, eg_error *error) {
    if (!b->context[0] || !b->function)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no function for the results");
    if (eg_context_threads(b->context[0]) != 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "the first context has one thread, not '%u'",
                        eg_context_threads(b->context[0]));
    if (b->rounds > ROUNDS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%llu' rounds are not within 1..%d",
                        (unsigned long long)b->rounds, ROUNDS_MAX);
    return EG_OK;
}

eg_status eg_bench_train(eg_context *one, eg_context *several,
                         const eg_bench_train_options *options, eg_bench_training_function function,
                         void *user, eg_error *error) {
    eg_bench_train_options kept, *const o = &kept;
    eg_status status = EG__OPTIONS(eg_bench_train_options, &kept, options, error);
    bench b = {{one, several}, o->rounds ? o->rounds : ROUNDS, o->steps, function, user, false};
    if (!status) status = check(&b, error);
    if (status) return status;
    bool any = false;
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings && !status && !b.stop; i++) {
        if (o->filter && !strstr(trainings[i].name, o->filter)) continue;
        any = true;
        status = measure(&b, &trainings[i], error);
    }
    if (!any) return eg__fail(error, EG_ERR_NOT_FOUND, "no case contains '%s'", o->filter);
    return status;
}
