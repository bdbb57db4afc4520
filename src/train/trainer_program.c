/* The programs of a trainer: loss with gradients, the update, and loss alone. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>

eg_status eg__train_graph(const eg_trainer *t, eg_graph *g, eg__train_nodes *out, eg_error *error) {
    const eg_train_options *o = &t->options;
    const eg_model_options options = {.batch = o->batch,
                                      .time = o->time,
                                      .last = o->last,
                                      .timespans = o->timespans,
                                      .lengths = o->lengths,
                                      .standard = 1};
    eg_status status = eg_model_build(t->model, g, &options, &out->model, error);
    if (status) return status;
    const bool first = t->model->transformer != NULL; /* the batch */
    const uint64_t outer = first ? o->batch : o->time, inner = first ? o->time : o->batch;
    const uint64_t all[] = {outer, inner, t->batch.target_size}, *shape = all + o->last;
    const unsigned rank = o->last ? 2 : 3;
    out->target = eg_input(g, "target", EG_F32, rank, shape);
    out->weight = eg_input(g, "weight", EG_F32, rank, shape);
    out->loss = eg_loss_node(g, o->loss, out->model.y, out->target, out->weight);
    return eg_graph_check(g, error);
}

eg_status eg__train_gradient(const eg_trainer *t, eg_graph *g, const eg_gradient_options *options,
                             eg_node loss, size_t count, const eg_node *wrt, eg_node *out,
                             eg_error *error) {
    if (t->options.dtype == EG_F16) /* bf16 has the range of f32: no loss scale */
        loss = eg_mul(g, loss, eg_input(g, EG__LOSS_SCALE, EG_F32, 0, NULL));
    return eg_gradient_with(g, options, loss, count, wrt, out, error);
}

/* In f32 whatever the training's type: it evaluates the model that is saved. */
static eg_status compile_forward(eg_trainer *t, eg_error *error) {
    eg_graph *g;
    eg__train_nodes n = {0};
    eg_status status = eg_graph_create(t->context, &g, error);
    if (!status) status = eg__train_graph(t, g, &n, error);
    eg_node given = n.model.y;
    if (!status && t->options.forward_only && !t->model->transformer)
        given = eg__model_output(t->model, g, given);
    t->gives = given.id != n.model.y.id;
    const eg_output outputs[] = {{"loss", n.loss}, {"y", n.model.y}, {"given", given}};
    if (!status) status = eg_graph_check(g, error);
    if (!status)
        status = eg_compile(t->context, g, t->gives ? 3 : 2, outputs, NULL, &t->forward, error);
    eg_graph_destroy(g);
    return status;
}

enum { PARAMETERS = 512 };
static eg_status compile_gradient(eg_trainer *t, eg_error *error) {
    eg_graph *g;
    eg__train_nodes n = {0};
    eg_node wrt[PARAMETERS], d[PARAMETERS];
    eg_output outputs[PARAMETERS + 1];
    char names[PARAMETERS][EG__NAME_MAX + 2];
    size_t count = 0;
    eg_status status = eg_graph_create(t->context, &g, error);
    if (!status) status = eg__train_graph(t, g, &n, error);
    for (uint32_t i = 1; !status && i <= g->size; i++) {
        if (g->nodes[i].op != EG__GRAPH_parameter) continue;
        if (count == PARAMETERS)
            status = eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d parameters", PARAMETERS);
        else if (eg__is_quantized(g->nodes[i].type))
            status = eg__fail(error, EG_ERR_UNSUPPORTED,
                              "'%s' is %s: train the model that this one was quantized from",
                              g->nodes[i].name, eg_type_name(g->nodes[i].type));
        else {
            snprintf(names[count], sizeof names[0], "d.%s", g->nodes[i].name);
            wrt[count++] = (eg_node){i};
        }
    }
    eg_gradient_options gradient = {.memory = t->options.memory};
    if (t->options.layers_again) {
        gradient.keep_count = n.model.boundaries;
        gradient.keep = n.model.boundary;
    }
    if (!status) status = eg__train_gradient(t, g, &gradient, n.loss, count, wrt, d, error);
    outputs[0] = (eg_output){"loss", n.loss};
    for (size_t i = 0; i < count; i++) outputs[i + 1] = (eg_output){names[i], d[i]};
    const eg_compile_options training = {.training = 1, .products = t->options.dtype};
    if (!status)
        status = eg_compile(t->context, g, count + 1, outputs, &training, &t->program, error);
    eg_graph_destroy(g);
    return status;
}

/* Parameters in the order of the weights, each with the gap after it; neighbours with the same
 * constraints become one piece. */
static size_t find_pieces(const eg_trainer *t, eg__update_piece *out) {
    const eg__leaves *leaves = &t->program->parameters;
    size_t count = 0;
    for (size_t i = 0; i < leaves->count; i++) {
        const size_t first = leaves->list[i].offset / sizeof(float);
        const size_t end =
            (i + 1 < leaves->count ? leaves->list[i + 1].offset : t->program->parameters_size) /
            sizeof(float);
        const eg__parameter *p = eg__model_parameter(t->model, leaves->list[i].name);
        const float least = p ? p->least : -INFINITY;
        if (count && out[count - 1].least == least) out[count - 1].count += end - first;
        else out[count++] = (eg__update_piece){first, end - first, least};
    }
    return count;
}

static eg_status compile_update(eg_trainer *t, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__update_piece *pieces = eg__memory_take_array(
        t->memory, EG_TAG_GRAPH, t->program->parameters.count + 1, sizeof *pieces, &reason);
    if (!pieces) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__update_compile(&t->update, t->context, &t->options.optimizer,
                                          t->program->parameters_size / sizeof(float),
                                          find_pieces(t, pieces), pieces, error);
    eg__memory_give(t->memory, pieces);
    return status;
}

eg_status eg__train_compile(eg_trainer *t, eg_error *error) {
    eg_status status = t->options.forward_only ? EG_OK : compile_gradient(t, error);
    if (!status && t->program) status = compile_update(t, error);
    return status ? status : compile_forward(t, error);
}

uint64_t eg__train_bytes(const eg_trainer *t, const eg__train_room *room) {
    const eg_program *const programs[] = {t->program, t->forward, t->update.programs[EG_TRAIN_SUM],
                                          t->update.programs[EG_TRAIN_NORM],
                                          t->update.programs[EG_TRAIN_UPDATE]};
    const eg_train_options *o = &t->options;
    const uint64_t steps = o->time * o->batch, rows = o->last ? o->batch : steps;
    uint64_t floats = steps * (t->info.inputs + 1) + 2 * rows * t->batch.target_size + o->batch;
    uint64_t bytes =
        room->batches * floats * sizeof(float) + rows * t->info.outputs * sizeof(float);
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        eg_program_info info = {.size = sizeof info};
        if (!programs[i]) continue;
        eg_program_info_get(programs[i], &info);
        bytes += info.arena_bytes + info.derived_bytes + info.state_bytes + info.cache_bytes +
                 info.constant_bytes;
        bytes += info.scratch_bytes * eg_context_threads(t->context);
        if (!i) bytes += (EG__TRAIN_ARRAYS + room->copies) * info.parameter_bytes;
    }
    return bytes;
}
