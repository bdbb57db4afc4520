/* Embeddings of texts: the last layer's rows of its tokens, pooled to one. */
#include "base/abi.h"
#include "elegans/generate.h"
#include "elegans/session.h"
#include "nn/transformer.h"

#include <string.h>

enum { SHORTEST = 16 };

struct eg_embedder {
    eg_model *model;
    eg_embedder_options how;
    eg_session *session;
    int32_t *tokens; /* room for `longest` */
    uint64_t longest;
    float length;
    float *dense; /* layers of rows */
    double *room;
};

static eg_status build(void *user, eg_graph *graph, const uint64_t *dimensions, size_t count,
                       eg_output *outputs, size_t room, size_t *output_count, eg_error *error) {
    const eg_embedder *e = user;
    (void)count, (void)room;
    /* decoders are causal, so padding at the end is never attended to */
    const bool causal = eg__transformer_traits(e->model->transformer)->causal;
    const eg_model_options options = {
        .time = dimensions[0], .hidden = 1, .in_place = causal, .lengths = !causal};
    eg_model_nodes nodes;
    eg_status status = eg_model_build(e->model, graph, &options, &nodes, error);
    outputs[0] = (eg_output){"y", nodes.y};
    *output_count = 1;
    return status;
}

eg_status eg_embedder_create(eg_model *model, const eg_embedder_options *options, eg_embedder **out,
                             eg_error *error) {
    if (!model || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no output pointer");
    *out = NULL;
    if (!model->transformer)
        return eg__fail(error, EG_ERR_ARGUMENT, "a liquid network has no text embeddings");
    eg_embedder_options how;
    const eg_status taken = EG__OPTIONS(eg_embedder_options, &how, options, error);
    if (taken) return taken;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_embedder *e = eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *e, &reason);
    if (!e) return eg__fail(error, reason.status, "%s", reason.message);
    *e = (eg_embedder){.model = model, .longest = model->transformer->context};
    e->how = how;
    if (!e->how.pooled) e->how.pooling = model->transformer->pooling;
    e->tokens = eg__memory_take_array(model->memory, EG_TAG_PROGRAM, (size_t)e->longest,
                                      sizeof *e->tokens, &reason);
    e->room =
        eg__memory_take_array(model->memory, EG_TAG_PROGRAM, 2 * eg__row_widest(model->transformer),
                              sizeof *e->room, &reason);
    eg_status status =
        e->tokens && e->room ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
    if (!status) status = eg__rows_take(model, &e->dense, error);
    const eg_compile_options compile = {.products = how.activations};
    const eg_session_options kept = {.compile = &compile};
    if (!status) status = eg_session_create(model->context, build, e, &kept, &e->session, error);
    if (status) eg_embedder_destroy(e);
    else {
        const eg__lender lender = eg__model_lender(model);
        eg__session_lend(e->session, &lender);
        *out = e;
    }
    return status;
}

void eg_embedder_destroy(eg_embedder *e) {
    if (!e) return;
    eg_session_destroy(e->session);
    eg__memory_give(e->model->memory, e->tokens);
    eg__memory_give(e->model->memory, e->dense);
    eg__memory_give(e->model->memory, e->room);
    eg__memory_give(e->model->memory, e);
}

/* Few lengths, so that few programs are compiled. */
static uint64_t rounded(const eg_embedder *e, uint64_t count) {
    uint64_t size = SHORTEST;
    while (size < count) size += size >= 4 * SHORTEST ? size / 2 : size;
    return size < e->longest ? size : e->longest;
}

static eg_status prepare(eg_embedder *e, uint64_t time, eg_instance **out, eg_tensor *y,
                         eg_error *error) {
    eg_status status = eg_session_instance(e->session, &time, 1, out, error);
    const eg_tensor tokens = {EG_I32, 2, {1, time}, e->tokens};
    const eg_tensor lengths = {EG_F32, 1, {1}, &e->length};
    if (!status) status = eg_model_bind(e->model, *out, error);
    if (!status) status = eg_instance_bind(*out, "tokens", &tokens, error);
    if (!status && !eg__transformer_traits(e->model->transformer)->causal)
        status = eg_instance_bind(*out, "lengths", &lengths, error);
    return status ? status : eg_instance_output(*out, "y", y, error);
}

uint64_t eg_embedder_width(const eg_embedder *embedder) {
    return eg__row_width(embedder->model->transformer);
}

eg_status eg__tokens_check(const eg__transformer *t, const uint32_t *tokens, size_t count,
                           eg_error *error) {
    for (size_t i = 0; i < count; i++)
        if (tokens[i] >= t->vocabulary)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "token %u at position %zu is not below the vocabulary size %u",
                            tokens[i], i, t->vocabulary);
    return EG_OK;
}

eg_status eg_embedder_run(eg_embedder *e, const uint32_t *tokens, size_t count, float *row,
                          eg_error *error) {
    if (!e || !tokens || !row || !count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no embedder, tokens or output pointer");
    if (count > e->longest)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu tokens exceed the model's context of %llu",
                        count, (unsigned long long)e->longest);
    eg_status status = eg__tokens_check(e->model->transformer, tokens, count, error);
    if (status) return status;
    const uint64_t time = rounded(e, count);
    memset(e->tokens, 0, (size_t)time * sizeof *e->tokens);
    for (size_t i = 0; i < count; i++) e->tokens[i] = (int32_t)tokens[i];
    e->length = (float)count;
    eg_instance *instance;
    eg_tensor y;
    status = prepare(e, time, &instance, &y, error);
    if (!status) status = eg_run(instance, NULL, error);
    if (!status)
        eg__row_pool(e->model->transformer, e->how.pooling,
                     e->how.unscaled ? -1 : e->how.scaled != 0, e->dense, y.data, count, e->room,
                     row);
    return status;
}
