/* A model compiled for a batch and a length, with arbitrary inputs. */
#include "profile/subject.h"
#include "engine/program.h"
#include "nn/transformer.h"

#include <string.h>

static eg_status build(void *user, eg_graph *graph, const uint64_t *dimensions,
                       size_t dimension_count, eg_output *outputs, size_t room, size_t *count,
                       eg_error *error) {
    const eg_model *model = user;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    /* as generators and embedders run it */
    const eg_model_options options = {.batch = dimensions[0],
                                      .time = dimensions[1],
                                      .timespans = 1,
                                      .lent = 1,
                                      .in_place = info.kind == EG_MODEL_DECODER};
    eg_model_nodes nodes = {0};
    (void)dimension_count;
    (void)room;
    eg_status status = eg_model_build(user, graph, &options, &nodes, error);
    outputs[0] = (eg_output){"y", nodes.y};
    *count = 1;
    return status;
}

eg_status eg__subject_compile(eg__subject *s, eg_model *model, const eg_profile_options *o,
                              eg_error *error) {
    const eg_compile_options compile = {.passes = o->no_compile ? "none" : NULL,
                                        .products = o->activations};
    const eg_session_options options = {.programs = 1, .compile = &compile};
    *s = (eg__subject){.context = model->context};
    s->dimensions[0] = o->batch ? o->batch : 1;
    s->dimensions[1] = o->seq ? o->seq : 1;
    eg_status status = eg_session_create(s->context, build, model, &options, &s->session, error);
    const eg__lender lender = eg__model_lender(model);
    if (!status) eg__session_lend(s->session, &lender);
    if (!status) status = eg_session_program(s->session, s->dimensions, 2, &s->program, error);
    if (status) eg__subject_close(s);
    return status;
}

eg_status eg__subject_instance(eg__subject *s, eg_instance **out, eg_error *error) {
    return eg_session_instance(s->session, s->dimensions, 2, out, error);
}

static void fill(const char *name, const eg_model *model, size_t elements, eg_tensor *tensor) {
    const bool timespans = strcmp(name, "timespans") == 0;
    for (size_t k = 0; k < elements; k++) {
        if (tensor->type == EG_I32) /* tokens */
            ((int32_t *)tensor->data)[k] = (int32_t)(k * 31 % model->transformer->vocabulary);
        else ((float *)tensor->data)[k] = timespans ? 1 : (float)(k % 31) / 16 - 1;
    }
}

static eg_status bind_inputs(eg__subject *s, const eg_model *model, eg_error *error) {
    const char *name;
    eg_tensor like;
    eg_status bound = eg_model_bind(model, s->instance, error);
    if (bound) return bound;
    for (size_t i = 0; (name = eg_program_leaf(s->program, EG_LEAF_INPUT, i, &like)); i++) {
        if (eg__model_parameter(model, name)) continue; /* in a file */
        eg_tensor *tensor = &s->inputs[s->input_count];
        eg_status status =
            eg_tensor_create(s->context, like.type, like.rank, like.shape, tensor, error);
        if (status) return status;
        s->input_count++;
        size_t elements = 1;
        for (unsigned k = 0; k < like.rank; k++) elements *= (size_t)like.shape[k];
        fill(name, model, elements, tensor);
        status = eg_instance_bind(s->instance, name, tensor, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg__subject_prepare(eg__subject *s, eg_model *model, eg_error *error) {
    eg_tensor y;
    eg_status status = eg__subject_instance(s, &s->instance, error);
    if (!status) status = bind_inputs(s, model, error);
    if (!status) status = eg_instance_output(s->instance, "y", &y, error);
    return status;
}

double eg__subject_stored(const eg__subject *s, const eg_model *model) {
    const eg__leaves *inputs = &s->program->inputs;
    double bytes = 0;
    for (size_t i = 0; i < inputs->count; i++)
        if (eg__model_parameter(model, inputs->list[i].name))
            bytes += (double)eg__leaf_bytes(&inputs->list[i]);
    return bytes;
}

void eg__subject_close(eg__subject *s) {
    eg_program_release(s->program);
    eg_session_destroy(s->session);
    for (size_t i = 0; i < s->input_count; i++) eg_tensor_release(s->context, &s->inputs[i]);
    *s = (eg__subject){0};
}
