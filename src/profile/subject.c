/* A model compiled for a batch and a length, with inputs of no meaning. */
#include "profile/subject.h"
#include "nn/model.h"

#include <string.h>

eg_status eg__subject_compile(eg__subject *s, eg_model *model, const eg_profile_options *o,
                              eg_error *error) {
    const eg_model_options how = {
        .batch = o->batch ? o->batch : 1, .time = o->seq ? o->seq : 1, .spans = 1};
    eg_graph *graph = NULL;
    eg_model_nodes nodes;
    *s = (eg__subject){.context = model->context};
    eg_status status = eg_graph_create(s->context, &graph, error);
    if (!status) status = eg_model_build(model, graph, &how, &nodes, error);
    if (!status) {
        const eg_output output = {"y", nodes.y};
        const eg_compile_options passes = {.passes = o->no_compile ? "none" : NULL};
        status = eg_compile(s->context, graph, 1, &output, &passes, &s->program, error);
    }
    eg_graph_destroy(graph);
    return status;
}

static eg_status bind_inputs(eg__subject *s, eg_error *error) {
    const char *name;
    eg_tensor like;
    for (size_t i = 0; (name = eg_program_leaf(s->program, EG_LEAF_INPUT, i, &like)); i++) {
        eg_tensor *tensor = &s->inputs[s->input_count];
        eg_status status =
            eg_tensor_create(s->context, like.type, like.rank, like.shape, tensor, error);
        if (status) return status;
        s->input_count++;
        size_t elements = 1;
        for (unsigned k = 0; k < like.rank; k++) elements *= (size_t)like.shape[k];
        float *values = tensor->data;
        const bool spans = strcmp(name, "timespans") == 0;
        for (size_t k = 0; k < elements; k++) values[k] = spans ? 1 : (float)(k % 31) / 16 - 1;
        status = eg_instance_bind(s->instance, name, tensor, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg__subject_prepare(eg__subject *s, eg_model *model, eg_error *error) {
    eg_tensor y;
    eg_status status = eg_weights_create(s->program, &s->weights, error);
    if (!status) status = eg_model_weights(model, s->weights, error);
    if (!status) status = eg_instance_create(s->program, s->weights, &s->instance, error);
    if (!status) status = bind_inputs(s, error);
    if (!status) status = eg_instance_output(s->instance, "y", &y, error);
    return status;
}

void eg__subject_close(eg__subject *s) {
    eg_instance_destroy(s->instance);
    eg_weights_destroy(s->weights);
    eg_program_release(s->program);
    for (size_t i = 0; i < s->input_count; i++) eg_tensor_release(s->context, &s->inputs[i]);
    *s = (eg__subject){0};
}
