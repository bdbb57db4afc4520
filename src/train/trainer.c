/* One step of training: a compiled program for loss and gradients, and an optimizer. */
#include "nn/model.h"
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct eg_trainer {
    eg_context *context;
    eg__memory *memory;
    const eg_model *model;
    eg_train_options options;
    eg_program *program, *forward; /* with gradients, and without dropout or gradients */
    eg_weights *weights;
    eg_instance *instance, *forward_instance;
    size_t count; /* floats of all parameters, with the gaps between them */
    float *gradients, *sum, *first, *second; /* in the order of the weights */
    eg_train_batch batch;
    float *memory_of_batch, *outputs, loss;
    uint64_t steps, added, seed; /* updates; gradients in the sum; of dropout */
};

/* ---- programs */
typedef struct built {
    eg_model_nodes nodes;
    eg_node target, weight, loss;
} built;

static eg_status build(const eg_trainer *t, eg_graph *g, built *b, eg_error *error) {
    const eg_train_options *o = &t->options;
    const eg_model_options options = {.batch = o->batch,
                                      .time = o->time,
                                      .last = o->last,
                                      .spans = o->spans,
                                      .lengths = o->lengths,
                                      .standard = 1};
    eg_status status = eg_model_build(t->model, g, &options, &b->nodes, error);
    if (status) return status;
    const uint64_t all[] = {o->time, o->batch, t->batch.target_size}, *shape = all + o->last;
    const unsigned rank = o->last ? 2 : 3;
    const uint64_t ones[] = {o->time, o->batch, 1};
    b->target = eg_input(g, "target", EG_F32, rank, shape);
    b->weight = eg_input(g, "weight", EG_F32, rank, ones + o->last);
    b->loss = eg_loss_node(g, o->loss, b->nodes.y, b->target, b->weight);
    return eg_graph_check(g, error);
}

static eg_status compile_forward(eg_trainer *t, eg_error *error) {
    eg_graph *g;
    built b = {0};
    eg_status status = eg_graph_create(t->context, &g, error);
    if (!status) status = build(t, g, &b, error);
    const eg_output outputs[] = {{"loss", b.loss}, {"y", b.nodes.y}};
    if (!status) status = eg_compile(t->context, g, 2, outputs, NULL, &t->forward, error);
    eg_graph_destroy(g);
    return status;
}

enum { PARAMETERS = 512 };
static eg_status compile_gradient(eg_trainer *t, eg_error *error) {
    eg_graph *g;
    built b = {0};
    eg_node wrt[PARAMETERS], d[PARAMETERS];
    eg_output outputs[PARAMETERS + 1];
    char names[PARAMETERS][EG__NAME_MAX + 2];
    size_t count = 0;
    eg_status status = eg_graph_create(t->context, &g, error);
    if (!status) status = build(t, g, &b, error);
    for (uint32_t i = 1; !status && i <= g->size; i++) {
        if (g->nodes[i].op != EG__GRAPH_parameter) continue;
        if (count == PARAMETERS)
            status = eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d parameters", PARAMETERS);
        else {
            snprintf(names[count], sizeof names[0], "d.%s", g->nodes[i].name);
            wrt[count++] = (eg_node){i};
        }
    }
    const eg_gradient_options gradient = {.memory = t->options.memory};
    if (!status) status = eg_gradient_with(g, &gradient, b.loss, count, wrt, d, error);
    outputs[0] = (eg_output){"loss", b.loss};
    for (size_t i = 0; i < count; i++) outputs[i + 1] = (eg_output){names[i], d[i]};
    const eg_compile_options training = {.training = 1};
    if (!status)
        status = eg_compile(t->context, g, count + 1, outputs, &training, &t->program, error);
    eg_graph_destroy(g);
    return status;
}

/* ---- memory */
static float *take(eg_trainer *t, size_t count, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *memory =
        eg__memory_take_array(t->memory, EG_TAG_WEIGHTS, count + 16, sizeof *memory, &reason);
    if (!memory && !*status) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

static eg_status make_batch(eg_trainer *t, eg_error *error) {
    const eg_train_options *o = &t->options;
    eg_model_info info;
    eg_model_info_get(t->model, &info);
    const size_t steps = (size_t)(o->time * o->batch), rows = o->last ? (size_t)o->batch : steps;
    const size_t sizes[] = {steps * (size_t)info.inputs,
                            rows * (size_t)t->batch.target_size,
                            rows,
                            o->spans ? steps : 0,
                            o->lengths ? (size_t)o->batch : 0,
                            rows * (size_t)info.outputs};
    size_t total = 0, at[6];
    for (unsigned i = 0; i < 6; i++) {
        at[i] = total;
        total += eg__round_up(sizes[i], 16);
    }
    eg_status status = EG_OK;
    t->memory_of_batch = take(t, total, &status, error);
    if (status) return status;
    float *m = t->memory_of_batch;
    t->batch.x = m + at[0];
    t->batch.target = m + at[1];
    t->batch.weight = m + at[2];
    t->batch.spans = o->spans ? m + at[3] : NULL;
    t->batch.lengths = o->lengths ? m + at[4] : NULL;
    t->outputs = m + at[5];
    for (size_t i = 0; i < rows; i++) t->batch.weight[i] = 1;
    for (size_t i = 0; i < sizes[3]; i++) t->batch.spans[i] = 1;
    for (size_t i = 0; i < sizes[4]; i++) t->batch.lengths[i] = (float)o->time;
    return EG_OK;
}

static eg_status bind_one(eg_trainer *t, eg_instance *instance, const eg_program *program,
                          eg_leaf_kind kind, size_t index, eg_error *error) {
    eg_tensor tensor;
    const char *name = eg_program_leaf(program, kind, index, &tensor);
    if (strcmp(name, "x") == 0) tensor.data = t->batch.x;
    else if (strcmp(name, "target") == 0) tensor.data = t->batch.target;
    else if (strcmp(name, "weight") == 0) tensor.data = t->batch.weight;
    else if (strcmp(name, "timespans") == 0) tensor.data = t->batch.spans;
    else if (strcmp(name, "lengths") == 0) tensor.data = t->batch.lengths;
    else if (strcmp(name, "loss") == 0) tensor.data = &t->loss;
    else if (strcmp(name, "y") == 0) tensor.data = t->outputs;
    else { /* a gradient: where its parameter is, in a buffer of the same order */
        eg_tensor parameter;
        eg_status status = eg_weights_tensor(t->weights, name + 2, &parameter, error);
        if (status) return status;
        const float *all = eg_weights_all(t->weights).data;
        tensor.data = t->gradients + ((const float *)parameter.data - all);
    }
    return eg_instance_bind(instance, name, &tensor, error);
}

static eg_status bind_all(eg_trainer *t, eg_instance *instance, const eg_program *program,
                          eg_error *error) {
    eg_status status = EG_OK;
    for (int kind = EG_LEAF_INPUT; kind <= EG_LEAF_OUTPUT; kind++)
        for (size_t i = 0; !status && eg_program_leaf(program, (eg_leaf_kind)kind, i, NULL); i++)
            status = bind_one(t, instance, program, (eg_leaf_kind)kind, i, error);
    return status;
}

static eg_status create(eg_trainer *t, eg_error *error) {
    eg_status status = eg__optimizer_complete(&t->options.optimizer, error);
    if (!status) status = compile_gradient(t, error);
    if (!status) status = compile_forward(t, error);
    if (!status) status = eg_weights_create(t->program, &t->weights, error);
    if (!status) status = eg_model_weights(t->model, t->weights, error);
    if (!status) status = make_batch(t, error);
    if (status) return status;
    t->count = (size_t)eg_weights_all(t->weights).shape[0];
    float **const arrays[] = {&t->gradients, &t->sum, &t->first, &t->second};
    for (unsigned i = 0; i < 4; i++) *arrays[i] = take(t, t->count, &status, error);
    if (!status) status = eg_instance_create(t->program, t->weights, &t->instance, error);
    if (!status) status = eg_instance_create(t->forward, t->weights, &t->forward_instance, error);
    if (!status) status = bind_all(t, t->instance, t->program, error);
    if (!status) status = bind_all(t, t->forward_instance, t->forward, error);
    return status;
}

eg_status eg_trainer_create(const eg_model *model, const eg_train_options *options,
                            eg_trainer **out, eg_error *error) {
    if (!model || !options || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "trainer: no model, options or place");
    *out = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_trainer *t = eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *t, &reason);
    if (!t) return eg__fail(error, reason.status, "%s", reason.message);
    t->context = model->context;
    t->memory = model->memory;
    t->model = model;
    t->options = *options;
    if (!t->options.batch) t->options.batch = 1;
    if (!t->options.time) t->options.time = 1;
    eg_model_info info;
    eg_model_info_get(model, &info);
    t->batch.target_size = options->loss == EG_LOSS_CLASSES ? 1 : info.outputs;
    eg_status status = create(t, error);
    if (status) eg_trainer_destroy(t);
    else *out = t;
    return status;
}

void eg_trainer_destroy(eg_trainer *t) {
    if (!t) return;
    eg_instance_destroy(t->instance);
    eg_instance_destroy(t->forward_instance);
    eg_weights_destroy(t->weights);
    eg_program_release(t->program);
    eg_program_release(t->forward);
    float *const arrays[] = {t->gradients, t->sum, t->first, t->second, t->memory_of_batch};
    for (unsigned i = 0; i < 5; i++) eg__memory_give(t->memory, arrays[i]);
    eg__memory_give(t->memory, t);
}

eg_train_batch eg_trainer_batch(eg_trainer *t) { return t->batch; }

/* ---- steps */
eg_status eg_trainer_gradient(eg_trainer *t, eg_train_result *out, eg_error *error) {
    const eg_run_options options = {.seed = ++t->seed};
    eg_status status = eg_run(t->instance, &options, error);
    if (status) return status;
    if (!isfinite(t->loss))
        return eg__fail(error, EG_ERR_FORMAT, "the loss is %g after %llu steps", (double)t->loss,
                        (unsigned long long)t->steps);
    for (size_t i = 0; i < t->count; i++)
        t->sum[i] = t->added ? t->sum[i] + t->gradients[i] : t->gradients[i];
    t->added++;
    if (out) out->loss = t->loss;
    return EG_OK;
}

static double norm_of(const float *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* What the original demands of an LTC with explicit constraints after each step. */
static void constrain(eg_trainer *t) {
    static const char *const names[] = {"gleak", "cm", "w", "sensory_w"};
    for (size_t i = 0; i < t->model->parameter_count; i++) {
        const eg__parameter *p = &t->model->parameters[i];
        const eg__layer *layer = &t->model->layers[p->layer];
        const char *last = strrchr(p->name, '.');
        if (layer->cell != EG__LTC || !layer->explicit_constraints || p->is_mask || !last) continue;
        for (unsigned k = 0; k < 4; k++) {
            eg_tensor tensor;
            if (strcmp(last + 1, names[k]) != 0 ||
                eg_weights_tensor(t->weights, p->name, &tensor, NULL))
                continue;
            float *values = tensor.data;
            for (size_t j = 0; j < eg__parameter_size(p); j++)
                values[j] = values[j] > 0 ? values[j] : 0;
        }
    }
}

eg_status eg_trainer_update(eg_trainer *t, double learning_rate, eg_train_result *out,
                            eg_error *error) {
    if (!t->added) return eg__fail(error, EG_ERR_ARGUMENT, "no gradient since the last update");
    const eg_optimizer *o = &t->options.optimizer;
    const double norm = norm_of(t->sum, t->count) / (double)t->added;
    double scale = 1 / (double)t->added;
    if (o->clip_norm > 0 && norm > o->clip_norm) scale *= o->clip_norm / norm;
    eg_status status = eg_weights_begin(t->weights, 1, error);
    if (status) return status;
    const eg__optimizer_args args = {t->count,
                                     eg_weights_all(t->weights).data,
                                     t->sum,
                                     t->first,
                                     t->second,
                                     ++t->steps,
                                     learning_rate > 0 ? learning_rate : o->learning_rate,
                                     scale};
    eg__optimizer_run(o, &t->context->kernels, &args);
    constrain(t);
    eg_weights_end(t->weights);
    t->added = 0;
    if (out) out->gradient_norm = norm;
    return EG_OK;
}

eg_status eg_trainer_step(eg_trainer *t, double learning_rate, eg_train_result *out,
                          eg_error *error) {
    eg_status status = eg_trainer_gradient(t, out, error);
    return status ? status : eg_trainer_update(t, learning_rate, out, error);
}

eg_status eg_trainer_evaluate(eg_trainer *t, double *loss, const float **outputs, eg_error *error) {
    eg_status status = eg_run(t->forward_instance, NULL, error);
    if (status) return status;
    if (loss) *loss = t->loss;
    if (outputs) *outputs = t->outputs;
    return EG_OK;
}

eg_status eg_trainer_store(const eg_trainer *t, eg_model *model, eg_error *error) {
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        eg_tensor tensor;
        if (p->is_mask) continue;
        eg_status status = eg_weights_tensor(t->weights, p->name, &tensor, error);
        if (status) return status;
        memcpy(eg__parameter_values(model, p), tensor.data, eg__parameter_size(p) * sizeof(float));
    }
    return EG_OK;
}
