/* Profiles: timed runs, then recorded runs, and the results of both. */
#include "base/abi.h"
#include "profile/profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUNS_LEAST = 30, RUNS_MOST = 1000, WARMUP = 3, STOP_EVERY_NS = 20000000 };

typedef struct work { /* a model, or a callback */
    eg_instance *instance;
    eg_profile_function function;
    void *user;
    eg_status status;
    eg_error *error;
    int (*stop)(void *user);
    void *stop_user;
    uint64_t asked; /* ns: when it was asked */
} work;

static void once(work *w) {
    if (w->function) w->function(w->user);
    else if (!w->status) w->status = eg_run(w->instance, NULL, w->error);
}

/* Between two runs: whether there is to be another. */
static bool goes_on(work *w) {
    const uint64_t now = w->stop && !w->status ? eg_clock_ns() : 0;
    if (now >= w->asked + STOP_EVERY_NS) {
        w->asked = now;
        if (w->stop(w->stop_user)) w->status = eg__fail(w->error, EG_ERR_STOPPED, "stopped");
    }
    return !w->status;
}

/* As many runs as were asked for, or as fit into a second. */
static uint64_t runs_for(const eg_profile_options *o, double seconds) {
    if (o->runs) return o->runs;
    const double fit = 1 / (seconds > 1e-9 ? seconds : 1e-9);
    return fit < RUNS_LEAST ? RUNS_LEAST : fit > RUNS_MOST ? RUNS_MOST : (uint64_t)fit;
}

static eg_status time_runs(eg_profile *p, work *w, eg_error *error) {
    const uint64_t warmup = p->options.warmup ? p->options.warmup : WARMUP;
    eg_environment now;
    eg_status status = eg_environment_read(p->context, NULL, &now, error);
    if (status) return status;
    eg_memory_reset_peak(p->context); /* reading that took some */
    p->power = now.power, p->governor = now.governor, p->build = now.build;
    p->measured_at = (int64_t)time(NULL);
    uint64_t start = eg_clock_ns();
    for (uint64_t i = 0; i < warmup && goes_on(w); i++) once(w);
    const uint64_t runs =
        runs_for(&p->options, (double)(eg_clock_ns() - start) * 1e-9 / (double)warmup);
    eg__profile_moment(p, EG_PHASE_warmup);
    eg_error reason = {EG_ERR_MEMORY, ""};
    if (w->status) return w->status;
    p->samples =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, (size_t)runs, sizeof *p->samples, &reason);
    if (!p->samples) return eg__fail(error, reason.status, "%s", reason.message);
    status = eg__energy_begin(&p->energy, p->context, p->options.root, error);
    if (status) return status;
    eg_memory_reset_peak(p->context);
    eg_memory_mark mark;
    eg_memory_figures taken, then;
    eg_memory_mark_take(p->context, &mark, NULL);
    eg_memory_query(p->context, EG_TAG_COUNT, &taken, NULL);
    eg__hardware_begin(&p->watch, p->options.root);
    uint64_t told = 0;
    for (uint64_t i = 0; i < runs && goes_on(w); i++) {
        start = eg_clock_ns();
        once(w);
        p->samples[i] = (double)(eg_clock_ns() - start) * 1e-9;
        told = eg__profile_publish_runs(p, told, i + 1, false);
    }
    eg__hardware_end(&p->watch, p->options.root, &p->hardware);
    p->sample_count = (size_t)runs;
    if (!w->status) eg__profile_publish_runs(p, told, runs, true);
    eg_memory_query(p->context, EG_TAG_COUNT, &then, NULL);
    p->run_allocations = then.allocations - taken.allocations;
    eg_memory_growth growth;
    if (eg_memory_growth_check(p->context, &mark, 0, &growth, NULL) == EG_OK)
        p->metrics[EG_PROFILE_leaked] = (eg_metric){(double)growth.total, EG_COUNTED, "B",
                                                    "held after the timed runs minus before"};
    eg_metric joules, watts;
    status = eg__energy_end(&p->energy, &joules, &watts, error);
    if (status) return status;
    if (p->hardware.energy.provenance == EG_UNAVAILABLE)
        p->hardware.energy = joules, p->hardware.power = watts;
    eg__profile_moment(p, EG_PHASE_timed);
    return w->status ? w->status
                     : eg_statistics_of(p->context, p->sample_count, p->samples, &p->time, error);
}

/* A quarter of the timed runs, unless the recording cycles say otherwise. */
static uint64_t runs_to_record(const eg_profile *p) {
    const eg_recorder_options *o = p->options.recorder;
    if (o->active && o->repeat)
        return o->skip + ((uint64_t)o->wait + o->warmup + o->active) * o->repeat;
    const uint64_t runs = p->sample_count / 4 > 10 ? p->sample_count / 4 : 10;
    return runs + o->skip + o->wait + o->warmup;
}

/* Time around the recorded runs: what the steps must add up to. */
static eg_status add_up(eg_profile *p, const double *around, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const uint64_t count = eg_recorder_runs(p->recorder);
    uint64_t counted = 0;
    eg_record_run *list =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, (size_t)count + 1, sizeof *list, &reason);
    if (!list) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg_recorder_run_list(p->recorder, list, error);
    for (uint64_t i = 0; !status && i < count; i++) {
        if (!list[i].counted) continue;
        p->recorded_time += around[list[i].run - 1];
        counted++;
    }
    if (!status) p->recorded_time /= (double)counted;
    for (size_t i = 0; i < p->step_count; i++) p->steps_sum += p->steps[i].seconds;
    eg__memory_give(p->memory, list);
    return status;
}

static eg_status record_runs(eg_profile *p, work *w, eg_error *error) {
    const uint64_t runs = runs_to_record(p);
    eg_error reason = {EG_ERR_MEMORY, ""};
    double *around =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, (size_t)runs, sizeof *around, &reason);
    if (!around) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__subject_instance(&p->subject, &w->instance, error);
    if (!status) status = eg_recorder_create(p->context, p->options.recorder, &p->recorder, error);
    if (!status) status = eg_instance_record(w->instance, p->recorder, error);
    for (uint64_t i = 0; !status && i < runs && goes_on(w); i++) {
        const uint64_t start = eg_clock_ns();
        once(w);
        around[i] = (double)(eg_clock_ns() - start) * 1e-9;
    }
    if (!status) status = w->status;
    eg_instance_record(w->instance, NULL, NULL);
    eg__profile_moment(p, EG_PHASE_recorded);
    if (!status) status = eg__traffic_make(p, error);
    if (!status) status = eg__profile_rows(p, error);
    if (!status) status = add_up(p, around, error);
    eg__memory_give(p->memory, around);
    return status;
}

static eg_status make(eg_context *context, const char *name, const eg_profile_options *options,
                      eg_profile **out, eg_error *error) {
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = NULL;
    eg_profile_options kept;
    eg_recorder_options recorder;
    eg_status status = EG__OPTIONS(eg_profile_options, &kept, options, error);
    if (!status) status = EG__OPTIONS(eg_recorder_options, &recorder, kept.recorder, error);
    if (status) return status;
    eg_profile *p = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *p, &reason);
    if (!p) return eg__fail(error, reason.status, "%s", reason.message);
    p->context = context;
    p->memory = memory;
    p->options = kept;
    p->recorder_options = recorder;
    p->options.recorder = &p->recorder_options;
    snprintf(p->name, sizeof p->name, "%s", name ? name : "");
    *out = p;
    return EG_OK;
}

/* Cycles: every number is below 2^32, but their product may exceed 2^64. */
static eg_status check_runs(const eg_profile_options *o, eg_error *error) {
    const eg_recorder_options *r = o->recorder;
    const double turns = (double)r->skip + ((double)r->wait + r->warmup + r->active) *
                                               (r->active && r->repeat ? (double)r->repeat : 1);
    const double most = EG_PROFILE_RUNS;
    const double asked[] = {(double)o->runs, (double)o->warmup, turns};
    static const char *const names[] = {"timed", "warming up", "in the turns of the recorder"};
    for (int i = 0; i < 3; i++)
        if (asked[i] > most)
            return eg__fail(error, EG_ERR_ARGUMENT, "%.0f runs %s are more than %.0f", asked[i],
                            names[i], most);
    return EG_OK;
}

static eg_status measure_ceilings(eg_profile *p, eg_error *error) {
    const eg_ceilings_options how = {
        .size = sizeof how, .cached = 1, .seconds = p->options.ceilings_seconds};
    if (p->options.no_ceilings) return EG_OK;
    eg_status status = eg_ceilings_measure(p->context, &how, &p->ceilings, error);
    p->has_ceilings = !status;
    return status;
}

/* The buffer for measuring ceilings is larger than all caches and not part of the model: it is
 * freed, and the peak of resident memory is reset. */
static void forget_ceilings(eg_profile *p, double highest) {
    eg_memory_empty_cache(p->context);
    if (p->has_ceilings && !p->ceilings.from_cache && eg__resident_highest() > highest)
        eg__resident_forget();
}

/* Done first, so that its memory is not counted for the model. */
static eg_status begin(eg_context *context, const char *name, const eg_profile_options *options,
                       eg_memory_figures *before, eg_profile **out, eg_error *error) {
    *out = NULL;
    eg_status status = make(context, name, options, out, error);
    if (!status) status = check_runs(&(*out)->options, error);
    const double highest = eg__resident_highest();
    if (!status) status = measure_ceilings(*out, error);
    if (!status) forget_ceilings(*out, highest);
    eg_memory_query(context, EG_TAG_COUNT, before, NULL);
    eg_memory_reset_peak(context);
    if (status) {
        eg_profile_destroy(*out);
        return status;
    }
    eg__resident_begin(&(*out)->resident);
    eg__profile_moment(*out, EG_PHASE_begin);
    return EG_OK;
}

/* Every phase has its own peak; the highest of them is the profile's. */
static void keep_figures(eg_profile *p) {
    eg_memory_query(p->context, EG_TAG_COUNT, &p->memory_figures, NULL);
    for (size_t i = 0; i < p->moment_count; i++)
        if (p->moments[i].peak > p->memory_figures.peak)
            p->memory_figures.peak = p->moments[i].peak;
    p->peak_resident = eg__resident_most(&p->resident);
    p->now_resident = p->peak_resident;
    if (p->now_resident.provenance != EG_UNAVAILABLE)
        p->now_resident = eg__metric(eg__resident_now(), "B", EG_MEASURED,
                                     "resident set of the process after the timed runs");
}

static eg_status finish(eg_profile *p, work *w, const eg_memory_figures *before, eg_error *error) {
    eg__profile_publish_program(p);
    eg_status status = time_runs(p, w, error);
    if (status) return status;
    keep_figures(p); /* before the recorder takes memory of its own */
    if (w->instance && !p->options.no_steps) status = record_runs(p, w, error);
    if (status) return status;
    eg__profile_figures(p, before);
    eg__profile_joules(p);
    eg__profile_publish_rows(p);
    /* what tries advice later copies the options, when these may be gone */
    p->options.publisher = NULL;
    p->options.root = NULL;
    eg__profile_moment(p, EG_PHASE_end);
    return EG_OK;
}

eg_status eg_profile_model(eg_model *model, const char *name, const eg_profile_options *options,
                           eg_profile **out, eg_error *error) {
    if (!model || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "profile: no model or no output pointer");
    eg_context *context = model->context;
    eg_profile *p;
    eg_memory_figures before;
    eg_status status = begin(context, name, options, &before, &p, error);
    *out = NULL;
    if (status) return status;
    p->weights = eg__model_numbers(model, false);
    status = eg__subject_compile(&p->subject, model, &p->options, error);
    eg__profile_moment(p, EG_PHASE_compile);
    if (!status) status = eg__subject_prepare(&p->subject, model, error);
    eg__profile_moment(p, EG_PHASE_prepare);
    work w = {.instance = p->subject.instance,
              .error = error,
              .stop = p->options.stop,
              .stop_user = p->options.stop_user};
    if (!status) status = finish(p, &w, &before, error);
    if (!status) status = eg__profile_activations(p, model, error);
    if (status) eg_profile_destroy(p);
    else *out = p;
    return status;
}

eg_status eg_profile_callback(eg_context *context, const char *name, eg_profile_function function,
                              void *user, const eg_profile_options *options, eg_profile **out,
                              eg_error *error) {
    if (!context || !function || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "profile: no context, function or output pointer");
    eg_profile *p;
    eg_memory_figures before;
    eg_status status = begin(context, name, options, &before, &p, error);
    *out = NULL;
    if (status) return status;
    work w = {.function = function,
              .user = user,
              .error = error,
              .stop = p->options.stop,
              .stop_user = p->options.stop_user};
    status = finish(p, &w, &before, error);
    if (status) eg_profile_destroy(p);
    else *out = p;
    return status;
}

void eg_profile_destroy(eg_profile *p) {
    if (!p) return;
    eg_recorder_destroy(p->recorder);
    eg__energy_close(&p->energy);
    eg__subject_close(&p->subject);
    eg__memory_give(p->memory, p->samples);
    eg__memory_give(p->memory, p->steps);
    eg__memory_give(p->memory, p->operations);
    eg__memory_give(p->memory, p->order);
    eg__memory_give(p->memory, p->traffic.steps);
    eg__memory_give(p->memory, p);
}

/* ---- questions */
const char *eg_profile_name(const eg_profile *p) { return p->name; }
const eg_profile_options *eg_profile_options_of(const eg_profile *p) { return &p->options; }
eg_metric eg_profile_metric(const eg_profile *p, eg_profile_metric_id id) {
    if ((unsigned)id < EG_PROFILE_METRICS) return p->metrics[id];
    return (eg_metric){0, EG_UNAVAILABLE, NULL, "there is no such figure"};
}
void eg_profile_time(const eg_profile *p, eg_statistics *out) { *out = p->time; }
size_t eg_profile_samples(const eg_profile *p, const double **seconds) {
    if (seconds) *seconds = p->samples;
    return p->sample_count;
}
const eg_profile_row *eg_profile_step(const eg_profile *p, size_t index) {
    return index < p->step_count ? &p->steps[index] : NULL;
}
const eg_profile_row *eg_profile_operation(const eg_profile *p, size_t index) {
    return index < p->operation_count ? &p->operations[index] : NULL;
}
const eg_profile_row *eg_profile_in_run(const eg_profile *p, size_t index) {
    return index < p->order_count ? &p->steps[p->order[index]] : NULL;
}
const eg_ceilings *eg_profile_ceilings(const eg_profile *p) {
    return p->has_ceilings ? &p->ceilings : NULL;
}
void eg_profile_hardware(const eg_profile *p, eg_hardware *out) { *out = p->hardware; }
const eg_program *eg_profile_program(const eg_profile *p) { return p->subject.program; }
const eg_recorder *eg_profile_recorder(const eg_profile *p) { return p->recorder; }
uint64_t eg_profile_run_tag(const eg_profile *p, eg_tag tag) {
    const eg_profile_moment *m = p->moments;
    while (m->phase != EG_PHASE_timed) m++;
    return (unsigned)tag < EG_TAG_COUNT ? m->by_tag[tag] : 0;
}
