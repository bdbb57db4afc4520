/* Runs a model over sequences: one step after the other, or all samples at once. */
#include "cli/commands/run.h"
#include "cli/publishing.h"

#include <string.h>
#include <unistd.h>

/* ---- one sample */

/* Only where somebody looks, and only when it takes long. */
typedef struct progress {
    uint64_t started, shown;
    bool visible;
} progress;

static void show_progress(progress *p, uint64_t done, uint64_t all) {
    if (!p->visible || done % 1024) return;
    const uint64_t now = eg_clock_ns(), second = UINT64_C(1000000000);
    if (now - p->started < second || now - p->shown < second / 5) return;
    p->shown = now;
    fprintf(stderr, "\r%5.1f %%", 100 * (double)done / (double)all);
}

static int run_all(eg_stream *stream, const eg_model_info *info, float span, run_data *data,
                   eg_publisher *publisher) {
    const float *x = data->x.data, *timespans = data->timespans.data;
    float *y = data->y.data;
    eg_error error;
    progress p = {.started = eg_clock_ns(), .visible = isatty(STDERR_FILENO)};
    for (uint64_t i = 0; i < data->steps; i++) {
        eg_publisher_begin(publisher);
        if (eg_stream_step(stream, x + i * info->inputs, timespans ? timespans[i] : span,
                           y + i * info->outputs, &error))
            return fail(EXIT_FAILED, "step %llu: %s", (unsigned long long)i, error.message);
        eg_publisher_end(publisher);
        show_progress(&p, i, data->steps);
    }
    data->seconds = (double)(eg_clock_ns() - p.started) * 1e-9;
    if (p.shown) fputs("\r        \r", stderr);
    return CLI_OK;
}

int run_steps(eg_context *context, eg_model *model, const char *name, const eg_model_info *info,
              run_data *data) {
    eg_stream_program *program = NULL;
    eg_stream *stream = NULL;
    eg_error error;
    int code = CLI_OK;
    if (eg_stream_compile(model, &program, &error) || eg_stream_create(program, &stream, &error))
        code = fail_with(&error);
    if (!code) {
        eg_program_info costs = {.size = sizeof costs};
        eg_stream_program_info_get(program, &costs);
        eg_publisher *publisher = publish_open(context, "run", name, &costs, true);
        eg_stream_state_set(stream, data->states.data);
        code = run_all(stream, info, eg_model_timespan(model), data, publisher);
        eg_stream_state_get(stream, data->states.data);
        eg_publisher_close(publisher);
    }
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    return code;
}

/* ---- many samples */

typedef struct batch_run {
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_model_nodes nodes;
    eg_tensor initial[EG_MODEL_STATES], final[EG_MODEL_STATES];
} batch_run;

static eg_status compile(eg_context *context, const eg_model *model, const run_data *data,
                         batch_run *b, eg_error *error) {
    const eg_model_options options = {.batch = data->batch,
                                      .time = data->steps,
                                      .batch_first = 1,
                                      .timespans = data->timespans.data != NULL,
                                      .state = 1,
                                      .lent = 1};
    eg_status status = eg_graph_create(context, &b->graph, error);
    if (!status) status = eg_model_build(model, b->graph, &options, &b->nodes, error);
    if (status) return status;
    eg_output outputs[1 + EG_MODEL_STATES] = {{"y", b->nodes.y}};
    char names[EG_MODEL_STATES][32];
    for (size_t i = 0; i < b->nodes.states; i++) {
        snprintf(names[i], sizeof names[i], "final.%zu", i);
        outputs[1 + i] = (eg_output){names[i], b->nodes.final[i]};
    }
    const eg_compile_options how = {.products = data->activations};
    status = eg_compile(context, b->graph, 1 + b->nodes.states, outputs, &how, &b->program, error);
    if (!status) status = eg_model_lend(model, b->program, &b->weights, error);
    return status ? status : eg_instance_create(b->program, b->weights, &b->instance, error);
}

/* Between rows [batch, state] and one tensor [batch, units] per state. */
static void move_states(const run_data *data, const batch_run *b, const eg_tensor *states,
                        bool in) {
    const uint64_t wide = data->states.shape[1];
    uint64_t at = 0;
    for (size_t i = 0; i < b->nodes.states; at += states[i++].shape[1])
        for (uint64_t sample = 0; sample < data->batch; sample++) {
            const uint64_t units = states[i].shape[1];
            float *row = (float *)data->states.data + sample * wide + at;
            float *part = (float *)states[i].data + sample * units;
            memcpy(in ? part : row, in ? row : part, (size_t)units * sizeof *row);
        }
}

static eg_status bind_all(eg_context *context, const run_data *data, batch_run *b,
                          eg_error *error) {
    eg_status status = eg_instance_bind(b->instance, "x", &data->x, error);
    if (!status) status = eg_instance_bind(b->instance, "y", &data->y, error);
    if (!status && data->timespans.data)
        status = eg_instance_bind(b->instance, "timespans", &data->timespans, error);
    for (size_t i = 0; !status && i < b->nodes.states; i++) {
        char name[32];
        eg_node_info node = {.size = sizeof node};
        snprintf(name, sizeof name, "final.%zu", i);
        status = eg_instance_output(b->instance, name, &b->final[i], error);
        if (!status) status = eg_graph_node(b->graph, b->nodes.initial[i], &node, error);
        if (!status)
            status =
                eg_tensor_create(context, EG_F32, node.rank, node.shape, &b->initial[i], error);
        if (!status)
            status = eg_instance_bind(b->instance, b->nodes.state_name[i], &b->initial[i], error);
    }
    return status;
}

static eg_status batch_once(eg_context *context, const eg_model *model, run_data *data,
                            eg_error *error) {
    batch_run b = {0};
    eg_status status = compile(context, model, data, &b, error);
    if (!status) status = bind_all(context, data, &b, error);
    if (!status) {
        move_states(data, &b, b.initial, true);
        const uint64_t started = eg_clock_ns();
        status = eg_run(b.instance, NULL, error);
        data->seconds = (double)(eg_clock_ns() - started) * 1e-9;
        if (!status) move_states(data, &b, b.final, false);
    }
    for (size_t i = 0; i < b.nodes.states; i++) eg_tensor_release(context, &b.initial[i]);
    eg_instance_destroy(b.instance);
    eg_weights_destroy(b.weights);
    eg_program_release(b.program);
    eg_graph_destroy(b.graph);
    return status;
}

int run_batch(eg_context *context, const eg_model *model, run_data *data) {
    eg_error error;
    return batch_once(context, model, data, &error) ? fail_with(&error) : CLI_OK;
}

int run_rounded(eg_context *context, const eg_model *model, run_data *data) {
    run_data exact = *data;
    eg_error error;
    int code = CLI_OK;
    exact.activations = EG_F32;
    exact.y.data = exact.states.data = NULL;
    if (eg_tensor_create(context, EG_F32, data->y.rank, data->y.shape, &exact.y, &error) ||
        eg_tensor_create(context, EG_F32, data->states.rank, data->states.shape, &exact.states,
                         &error))
        code = fail_with(&error);
    if (!code) {
        memcpy(exact.states.data, data->states.data,
               (size_t)(data->states.shape[0] * data->states.shape[1]) * sizeof(float));
        code = run_batch(context, model, &exact);
    }
    if (!code) code = run_batch(context, model, data);
    if (!code) print_activations(data->activations, &exact.y, &data->y);
    eg_tensor_release(context, &exact.y);
    eg_tensor_release(context, &exact.states);
    return code;
}

/* ---- some of them at a time */

/* Samples [from, from + count) as data of their own, in the same memory. */
static run_data part_of(const run_data *all, uint64_t from, uint64_t count) {
    run_data part = *all;
    eg_tensor *const tensors[] = {&part.x, &part.timespans, &part.y, &part.states};
    part.batch = count;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        eg_tensor *t = tensors[i];
        uint64_t row = 1;
        if (!t->data) continue;
        for (unsigned k = 1; k < t->rank; k++) row *= t->shape[k];
        t->data = (float *)t->data + from * row;
        t->shape[0] = count;
    }
    return part;
}

static bool is_full(eg_status status) { return status == EG_ERR_MEMORY || status == EG_ERR_BUDGET; }

static int run_parts(eg_context *context, const eg_model *model, uint64_t size, run_data *data,
                     eg_publisher *publisher) {
    eg_batch batch;
    eg_error error;
    eg_batch_begin(&batch, size, size, size ? size : data->batch);
    data->seconds = 0;
    for (uint64_t at = 0; at < data->batch;) {
        const uint64_t left = data->batch - at, count = batch.size < left ? batch.size : left;
        run_data part = part_of(data, at, count);
        const eg_status status = batch_once(context, model, &part, &error);
        if (status && (!is_full(status) || !eg_batch_adjust(&batch, 0)))
            return fail(EXIT_FAILED, "%llu samples at once: %s", (unsigned long long)count,
                        error.message);
        if (status) continue;
        at += count;
        data->seconds += part.seconds;
        eg_publisher_add(publisher, 1, part.seconds);
        eg_batch_adjust(&batch, 1);
    }
    return CLI_OK;
}

int run_batches(eg_context *context, const eg_model *model, const char *name, uint64_t size,
                run_data *data) {
    eg_publisher *publisher = publish_open(context, "run", name, NULL, false);
    const int code = run_parts(context, model, size, data, publisher);
    eg_publisher_close(publisher);
    return code;
}
