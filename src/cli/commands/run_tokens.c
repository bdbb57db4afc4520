/* Two transformers on the same tokens: how far what they say is from each other. */
#include "cli/commands/run.h"

#include <stdlib.h>

enum { MOST = 64, TURNS = 5 };

typedef struct runner {
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
} runner;

static void close_runner(runner *r) {
    eg_instance_destroy(r->instance);
    eg_weights_destroy(r->weights);
    eg_program_release(r->program);
    eg_graph_destroy(r->graph);
}

static eg_status open_runner(eg_context *context, const eg_model *model, const eg_tensor *tokens,
                             runner *r, eg_tensor *y, eg_error *error) {
    const eg_model_options options = {.time = tokens->shape[1], .in_place = 1};
    eg_model_nodes nodes;
    *r = (runner){0};
    eg_status status = eg_graph_create(context, &r->graph, error);
    if (!status) status = eg_model_build(model, r->graph, &options, &nodes, error);
    const eg_output output = {"y", status ? (eg_node){0} : nodes.y};
    if (!status) status = eg_compile(context, r->graph, 1, &output, NULL, &r->program, error);
    if (!status) status = eg_model_lend(model, r->program, &r->weights, error);
    if (!status) status = eg_instance_create(r->program, r->weights, &r->instance, error);
    if (!status) status = eg_model_bind(model, r->instance, error);
    if (!status) status = eg_instance_bind(r->instance, "tokens", tokens, error);
    return status ? status : eg_instance_output(r->instance, "y", y, error);
}

static eg_status run_one(eg_context *context, const eg_model *model, const eg_tensor *tokens,
                         runner *r, eg_tensor *y, double *best, eg_error *error) {
    eg_status status = open_runner(context, model, tokens, r, y, error);
    for (int i = 0; !status && i < TURNS; i++) {
        const uint64_t start = eg_clock_ns();
        status = eg_run(r->instance, NULL, error);
        const double seconds = 1e-9 * (double)(eg_clock_ns() - start);
        if (!i || seconds < *best) *best = seconds;
    }
    return status;
}

int run_tokens(eg_context *context, const eg_model *wide, const eg_model *other,
               run_difference *out) {
    eg_transformer_info info = {.size = sizeof info};
    eg_error error;
    int32_t list[MOST];
    uint64_t state = 1;
    if (eg_model_transformer(wide, &info, &error)) return fail_with(&error);
    const uint64_t time = info.context < MOST ? info.context : MOST;
    for (uint64_t i = 0; i < time; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        list[i] = (int32_t)((state >> 33) % info.vocabulary);
    }
    const eg_tensor tokens = {EG_I32, 2, {1, time}, list};
    eg_tensor exact = {0}, y = {0};
    runner a = {0}, b = {0};
    eg_status status = run_one(context, wide, &tokens, &a, &exact, &out->seconds[0], &error);
    if (!status) status = run_one(context, other, &tokens, &b, &y, &out->seconds[1], &error);
    if (!status) status = eg_tensor_compare(&exact, &y, &out->off, &error);
    out->samples = 1;
    out->steps = time;
    out->is_random = true;
    close_runner(&a);
    close_runner(&b);
    return status ? fail_with(&error) : CLI_OK;
}
