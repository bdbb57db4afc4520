/* The programs of an update: compiled once, run on the caller's buffers. */
#include "train/update.h"
#include "engine/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- graphs */
static eg_node vector(eg_graph *g, const char *name, size_t count) {
    return eg_input(g, name, EG_F32, 1, (uint64_t[]){count});
}

/* One program for the first gradient, which overwrites the sum, and for later ones. */
static void build_sum(eg_graph *g, size_t count) {
    const eg_node sum = vector(g, "sum", count), gradient = vector(g, "gradient", count);
    const eg_node adds = eg_input(g, "adds", EG_F32, 0, NULL);
    eg_update(g, sum, eg_select(g, adds, eg_add(g, sum, gradient), gradient));
}

/* The leaves of a piece: "first" or, where there are several pieces, "first.3". */
enum { LEAF_NAME = 40 };
static void name_leaf(const eg__update *u, const char *name, size_t piece, char out[LEAF_NAME]) {
    if (u->piece_count == 1) snprintf(out, LEAF_NAME, "%s", name);
    else snprintf(out, LEAF_NAME, "%s.%zu", name, piece);
}

static eg_node leaf(const eg__update *u, eg_graph *g, const char *name, size_t piece) {
    char full[LEAF_NAME];
    name_leaf(u, name, piece, full);
    return vector(g, full, u->pieces[piece].count);
}

static void build_step(const eg__update *u, eg_graph *g) {
    eg__optimizer_builder builder = {.optimizer = &u->optimizer, .graph = g};
    for (size_t i = 0; i < u->piece_count; i++) {
        eg__optimizer_nodes nodes = {.parameter = leaf(u, g, "parameters", i),
                                     .gradient = leaf(u, g, "gradient", i),
                                     .first = leaf(u, g, "first", i)};
        if (eg__optimizer_has_second(&u->optimizer)) nodes.second = leaf(u, g, "second", i);
        eg__optimizer_build(&builder, &nodes, u->pieces[i].least);
    }
}

static eg_status compile(eg__update *u, eg_context *context, eg_train_part part, eg_error *error) {
    eg_graph *g;
    eg_status status = eg_graph_create(context, &g, error);
    eg_output norm = {"squares", {0}};
    if (status) return status;
    if (part == EG_TRAIN_SUM) build_sum(g, u->count);
    else if (part == EG_TRAIN_NORM) norm.node = eg_sum_squares(g, vector(g, "gradient", u->count));
    else build_step(u, g);
    status = eg_graph_check(g, error);
    if (!status)
        status =
            eg_compile(context, g, part == EG_TRAIN_NORM, &norm, NULL, &u->programs[part], error);
    eg_graph_destroy(g);
    return status;
}

eg_status eg__update_compile(eg__update *u, eg_context *context, const eg_optimizer *optimizer,
                             size_t count, size_t piece_count, const eg__update_piece *pieces,
                             eg_error *error) {
    *u = (eg__update){.optimizer = *optimizer, .count = count, .memory = context->memory};
    eg_error reason = {EG_ERR_MEMORY, ""};
    u->pieces =
        eg__memory_take_array(u->memory, EG_TAG_PROGRAM, piece_count, sizeof *pieces, &reason);
    if (!u->pieces) return eg__fail(error, reason.status, "%s", reason.message);
    memcpy(u->pieces, pieces, piece_count * sizeof *pieces);
    u->piece_count = piece_count;
    eg_status status = EG_OK;
    for (unsigned part = EG_TRAIN_SUM; !status && part < EG_TRAIN_PARTS; part++)
        status = compile(u, context, (eg_train_part)part, error);
    return status;
}

void eg__update_release(eg__update *u) {
    for (unsigned part = 0; part < EG_TRAIN_PARTS; part++) {
        eg_instance_destroy(u->instances[part]);
        eg_program_release(u->programs[part]);
    }
    if (u->memory) eg__memory_give(u->memory, u->pieces);
    *u = (eg__update){0};
}

/* ---- memory */
static eg_status bind(eg_instance *instance, const char *name, unsigned rank, size_t count,
                      float *data, eg_error *error) {
    const eg_tensor tensor = {EG_F32, rank, {count}, data};
    return eg_instance_bind(instance, name, &tensor, error);
}

/* Binds a buffer to the pieces of the step. */
static eg_status bind_pieces(eg__update *u, const char *name, float *data, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < u->piece_count; i++) {
        const eg__update_piece *piece = &u->pieces[i];
        char full[LEAF_NAME];
        name_leaf(u, name, i, full);
        status =
            bind(u->instances[EG_TRAIN_UPDATE], full, 1, piece->count, data + piece->first, error);
    }
    return status;
}

static eg_status bind_scalars(eg__update *u, eg_error *error) {
    const eg_program *program = u->programs[EG_TRAIN_UPDATE];
    const char *name;
    eg_status status = EG_OK;
    for (size_t i = 0; !status && (name = eg_program_leaf(program, EG_LEAF_INPUT, i, NULL)); i++)
        for (unsigned k = 0; !status && k < EG__OPTIMIZER_SCALARS; k++)
            if (strcmp(name, eg__optimizer_scalar_name(k)) == 0)
                status = bind(u->instances[EG_TRAIN_UPDATE], name, 0, 0, &u->scalars[k], error);
    return status;
}

eg_status eg__update_use(eg__update *u, float *gradient, eg_error *error) {
    if (gradient == u->gradient) return EG_OK;
    u->gradient = NULL;
    eg_status status = bind(u->instances[EG_TRAIN_NORM], "gradient", 1, u->count, gradient, error);
    if (!status) status = bind_pieces(u, "gradient", gradient, error);
    if (!status) u->gradient = gradient;
    return status;
}

eg_status eg__update_bind(eg__update *u, const eg__update_buffers *b, eg_error *error) {
    eg_instance **const instances = u->instances;
    eg_status status = EG_OK;
    for (unsigned part = EG_TRAIN_SUM; !status && part < EG_TRAIN_PARTS; part++)
        status = eg_instance_create(u->programs[part], NULL, &instances[part], error);
    if (!status)
        status = bind(instances[EG_TRAIN_SUM], "gradient", 1, u->count, b->gradients, error);
    if (!status) status = bind(instances[EG_TRAIN_SUM], "adds", 0, 0, &u->adds, error);
    if (!status) status = bind(instances[EG_TRAIN_NORM], "squares", 1, 4, u->squares, error);
    if (!status) status = bind_pieces(u, "parameters", b->parameters, error);
    if (!status) status = bind_pieces(u, "first", b->first, error);
    if (!status && eg__optimizer_has_second(&u->optimizer))
        status = bind_pieces(u, "second", b->second, error);
    if (!status) status = bind_scalars(u, error);
    return status ? status : eg__update_use(u, b->gradients, error);
}

eg_status eg__update_sum_in(eg__update *u, float *sum, eg_error *error) {
    return bind(u->instances[EG_TRAIN_SUM], "sum", 1, u->count, sum, error);
}

/* ---- runs */
eg_status eg__update_sum(eg__update *u, bool adds, eg_error *error) {
    u->adds = adds;
    return eg_run(u->instances[EG_TRAIN_SUM], NULL, error);
}

eg_status eg__update_norm(eg__update *u, double *out, eg_error *error) {
    eg_status status = eg_run(u->instances[EG_TRAIN_NORM], NULL, error);
    *out = status ? NAN : sqrt(eg_sum_squares_value(u->squares));
    return status;
}

eg_status eg__update_step(eg__update *u, uint64_t step, double learning_rate, double scale,
                          eg_error *error) {
    eg__optimizer_scalars(&u->optimizer, step, learning_rate, scale, u->scalars);
    return eg_run(u->instances[EG_TRAIN_UPDATE], NULL, error);
}
