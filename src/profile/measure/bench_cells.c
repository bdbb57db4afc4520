/* Liquid cells: steps of a stream with warm and with cold caches, and a batch of sequences. */
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"

#include <string.h>

enum { BATCH = 32, TIME = 64, ROWS = 8, COLD = 100, BURST = 16 };
enum { LINE = 64 / sizeof(float) };

typedef enum mode { HOT, COLD_CACHES, WHOLE_BATCH, MODES } mode;
static const char *const mode_name[MODES] = {"hot", "cold", "batch"};
static const char *const mode_source[MODES] = {"best of many bursts of steps",
                                               "median of single steps, caches emptied before each",
                                               "best of many runs of 32 samples x 64 steps"};
typedef struct cell {
    const char *model, *name[MODES];
} cell;
#define CELL(name, model)                                   \
    {                                                       \
        model, { name "-hot", name "-cold", name "-batch" } \
    }
static const cell cells[] = {CELL("cfc-ncp", "cfc:autoncp:64:16,in=16"),
                             CELL("cfc-deep", "cfc:64,in=16,backbone=64x2,activation=silu"),
                             CELL("ltc-ncp", "ltc:autoncp:64:16,in=16"),
                             CELL("cfc-wide", "cfc:64,in=32,backbone=128")};
enum { CELLS = sizeof cells / sizeof *cells };

/* The objects to measure one model with; `finish` frees whatever was made. */
typedef struct job {
    eg_context *context;
    eg_model *model;
    eg_model_info info;
    float *data, *y;
    size_t row;
    float *others; /* memory of other work, to evict the caches */
    size_t others_size;
    eg_stream_program *program;
    eg_stream *stream;
    eg_program *whole;
    eg_weights *weights;
    eg_instance *instance;
    eg_status status; /* of a step that failed */
    eg_error error;
} job;

static void step(void *user) {
    job *j = user;
    const float *x = j->data + j->row * j->info.inputs;
    j->row = (j->row + 1) % ROWS;
    eg_status status = eg_stream_step(j->stream, x, 1, j->y, &j->error);
    if (status) j->status = status;
}

/* Calls per sample, several microseconds in all, so that reading the clock does not matter. */
static void some_steps(void *user) {
    for (int i = 0; i < BURST; i++) step(user);
}

static void run(void *user) {
    job *j = user;
    eg_status status = eg_run(j->instance, NULL, &j->error);
    if (status) j->status = status;
}

/* ---- cold: twice the last level, so that nothing of the model is left in it */
static size_t empty_size(const eg_chip *chip) {
    const uint64_t low = UINT64_C(64) << 20, high = UINT64_C(1) << 30;
    const uint64_t twice = 2 * (chip->l3_bytes + chip->slc_bytes);
    return (size_t)(twice < low ? low : twice > high ? high : twice);
}

static void empty(void *user) {
    job *j = user;
    for (size_t i = 0; i < j->others_size; i += LINE) j->others[i] += 1;
}

static eg_status time_cold(job *j, uint64_t count, eg__burst_times *out, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t bytes = empty_size(&j->context->chip);
    j->others_size = bytes / sizeof *j->others;
    j->others = eg__memory_take_zeroed(j->context->memory, EG_TAG_MEASURE, bytes, &reason);
    if (!j->others) return eg__fail(error, reason.status, "%s", reason.message);
    *out = eg__burst_repeat_after(empty, step, j, count);
    eg__memory_give(j->context->memory, j->others);
    eg__memory_cache_empty(j->context->memory);
    return EG_OK;
}

/* ---- what is measured, made when its mode is asked for */
static eg_status stream_make(job *j, eg_error *error) {
    if (j->stream) return EG_OK;
    eg_status status = eg_stream_compile(j->model, &j->program, error);
    return status ? status : eg_stream_create(j->program, &j->stream, error);
}

static eg_status batch_make(job *j, eg_error *error) {
    const eg_model_options options = {.batch = BATCH, .time = TIME};
    eg_graph *graph = NULL;
    eg_model_nodes nodes;
    eg_tensor x = {EG_F32, 3, {TIME, BATCH, j->info.inputs}, j->data}, y;
    eg_status status = eg_graph_create(j->context, &graph, error);
    if (!status) status = eg_model_build(j->model, graph, &options, &nodes, error);
    if (!status) {
        const eg_output output = {"y", nodes.y};
        status = eg_compile(j->context, graph, 1, &output, NULL, &j->whole, error);
    }
    eg_graph_destroy(graph);
    if (!status) status = eg_weights_create(j->whole, &j->weights, error);
    if (!status) status = eg_model_weights(j->model, j->weights, error);
    if (!status) status = eg_instance_create(j->whole, j->weights, &j->instance, error);
    if (!status) status = eg_instance_bind(j->instance, "x", &x, error);
    return status ? status : eg_instance_output(j->instance, "y", &y, error);
}

static eg_status start(job *j, eg_context *context, const char *spec, eg_error *error) {
    *j = (job){.context = context};
    eg_status status = eg_model_open(context, spec, &j->model, error);
    if (status) return status;
    j->info.size = sizeof j->info;
    eg_model_info_get(j->model, &j->info);
    const size_t inputs = (size_t)j->info.inputs * BATCH * TIME;
    eg_error reason = {EG_ERR_MEMORY, ""};
    j->data = eg__memory_take_array(context->memory, EG_TAG_MEASURE,
                                    inputs + (size_t)j->info.outputs, sizeof *j->data, &reason);
    if (!j->data) return eg__fail(error, reason.status, "%s", reason.message);
    j->y = j->data + inputs;
    for (size_t i = 0; i < inputs; i++) j->data[i] = (float)(i % 31) / 16 - 1;
    return EG_OK;
}

static void finish(job *j) {
    eg_instance_destroy(j->instance);
    eg_weights_destroy(j->weights);
    eg_program_release(j->whole);
    eg_stream_destroy(j->stream);
    eg_stream_program_destroy(j->program);
    eg__memory_give(j->context->memory, j->data);
    eg_model_destroy(j->model);
}

/* ---- one model in one mode */
static eg_status time_mode(job *j, mode m, uint64_t steps, eg__burst_times *out, eg_error *error) {
    eg_status status = m == WHOLE_BATCH ? batch_make(j, error) : stream_make(j, error);
    if (status) return status;
    if (m == COLD_CACHES) status = time_cold(j, steps && steps < COLD ? steps : COLD, out, error);
    else if (!steps) *out = eg__burst_measure(m == HOT ? some_steps : run, j, 0.3);
    else if (m == HOT) *out = eg__burst_repeat(some_steps, j, eg__ceil_div(steps, BURST));
    else *out = eg__burst_repeat(run, j, eg__ceil_div(steps, TIME));
    if (status) return status;
    return j->status ? eg__fail(error, j->status, "%s", j->error.message) : EG_OK;
}

static eg_metric microseconds(double seconds, const char *source) {
    return eg__metric(seconds * 1e6, "us", EG_MEASURED, source);
}

static eg_status measure(job *j, const cell *c, mode m, uint64_t steps, eg_bench_cell *out,
                         eg_error *error) {
    *out = (eg_bench_cell){.name = c->name[m], .model = c->model, .mode = mode_name[m]};
    eg__burst_times times;
    eg_status status = time_mode(j, m, steps, &times, error);
    if (status) return status;
    out->peak = eg__fma_peak_measure(j->context, 0.04);
    eg_program_info info = {.size = sizeof info};
    if (m == WHOLE_BATCH) eg_program_info_get(j->whole, &info);
    else eg_stream_program_info_get(j->program, &info);
    const uint64_t samples = m == WHOLE_BATCH ? BATCH : 1;
    const uint64_t steps_of_call = m == WHOLE_BATCH ? TIME : m == HOT ? BURST : 1;
    const double per_run = m == WHOLE_BATCH ? BATCH * TIME : 1;
    const double best = times.best / (double)(samples * steps_of_call);
    const double median = times.median / (double)(samples * steps_of_call);
    const double figure = m == COLD_CACHES ? median : best;
    out->flops = info.flops / per_run;
    out->bytes = info.bytes / per_run;
    out->samples = samples;
    out->steps = times.calls * steps_of_call;
    out->step = microseconds(figure, mode_source[m]);
    out->best = microseconds(best, "best");
    out->median = microseconds(median, "median");
    out->speed = eg__metric(out->flops / figure * 1e-9, "GFLOP/s", EG_MEASURED,
                            "operations counted in the program");
    out->fraction = out->peak.provenance == EG_UNAVAILABLE
                        ? eg__metric_unavailable(NULL, out->peak.source)
                        : eg__metric(out->speed.value / out->peak.value, NULL, EG_MEASURED,
                                     "of the FMA peak of one core");
    return EG_OK;
}

static bool wanted(const cell *c, mode m, const char *filter) {
    return !filter || strstr(c->name[m], filter);
}

/* All requested modes of one model; sets *stop when the callback ends the benchmark. */
static eg_status measure_cell(eg_context *context, const cell *c, const char *filter,
                              uint64_t steps, eg_bench_cell_function function, void *user,
                              bool *stop, eg_error *error) {
    job j;
    eg_status status = start(&j, context, c->model, error);
    for (mode m = HOT; m < MODES && !status && !*stop; m++) {
        eg_bench_cell result;
        if (!wanted(c, m, filter)) continue;
        status = measure(&j, c, m, steps, &result, error);
        if (!status) *stop = function(user, &result) != 0;
    }
    finish(&j);
    return status;
}

eg_status eg_bench_cells(eg_context *context, const char *filter, uint64_t steps,
                         eg_bench_cell_function function, void *user, eg_error *error) {
    if (!context || !function)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no function for the results");
    if (eg__threads_count(context->threads) != 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "cells are measured on one thread, not '%u'",
                        eg__threads_count(context->threads));
    bool stop = false, any = false;
    eg_status status = EG_OK;
    for (size_t i = 0; i < CELLS && !status && !stop; i++) {
        bool here = false;
        for (mode m = HOT; m < MODES; m++) here |= wanted(&cells[i], m, filter);
        any |= here;
        if (here)
            status = measure_cell(context, &cells[i], filter, steps, function, user, &stop, error);
    }
    if (!any) return eg__fail(error, EG_ERR_NOT_FOUND, "no case contains '%s'", filter);
    return status;
}
