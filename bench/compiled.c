/* From a graph to a contestant. */
#include "compiled.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void need(eg_status status, const eg_error *error) {
    if (status != EG_OK) bench_fail("%s", error->message);
}

compiled *compiled_start(bench *b) {
    eg_error error;
    compiled *c = bench_take(b, sizeof *c);
    const eg_context_options how = {.threads = 1, .isa = b->options.isa};
    memset(c, 0, sizeof *c);
    need(eg_context_create(&how, &c->context, &error), &error);
    need(eg_graph_create(c->context, &c->graph, &error), &error);
    return c;
}

static eg_node parameter(compiled *c, const char *name, const char *end, unsigned rank,
                         const uint64_t *shape) {
    char full[16];
    snprintf(full, sizeof full, "%s.%s", name, end);
    assert(c->parameter_count < COMPILED_PARAMETERS);
    return c->parameters[c->parameter_count++] = eg_parameter(c->graph, full, rank, shape);
}

eg_node compiled_linear(compiled *c, const char *name, eg_node x, uint64_t from, uint64_t to) {
    eg_node weights = parameter(c, name, "w", 2, (uint64_t[]){from, to}),
            bias = parameter(c, name, "b", 1, &to);
    return eg_add(c->graph, eg_matmul(c->graph, x, weights), bias);
}

/* After the instance was made, because what depends on the parameters is computed for it. */
static void fill_parameters(compiled *c) {
    eg_error error;
    need(eg_weights_begin(c->weights, 0, &error), &error);
    eg_tensor all = eg_weights_all(c->weights);
    bench_fill(all.data, all.shape[0], 0.1f, 7);
    eg_weights_end(c->weights);
}

void compiled_finish(compiled *c, size_t count, const eg_output *outputs) {
    eg_error error;
    need(eg_compile(c->context, c->graph, count, outputs, NULL, &c->program, &error), &error);
    need(eg_weights_create(c->program, &c->weights, &error), &error);
    need(eg_instance_create(c->program, c->weights, &c->instance, &error), &error);
    fill_parameters(c);
}

static bool find_leaf(const compiled *c, eg_leaf_kind kind, const char *name, eg_tensor *out) {
    const char *found;
    for (size_t i = 0; (found = eg_program_leaf(c->program, kind, i, out)) != NULL; i++)
        if (!strcmp(found, name)) return true;
    return false;
}

void compiled_bind(compiled *c, const char *name, float *data) {
    eg_error error;
    eg_tensor tensor;
    if (!find_leaf(c, EG_LEAF_INPUT, name, &tensor) && !find_leaf(c, EG_LEAF_OUTPUT, name, &tensor))
        bench_fail("no input or output '%s'", name);
    tensor.data = data;
    need(eg_instance_bind(c->instance, name, &tensor, &error), &error);
}

void compiled_own_outputs(compiled *c) {
    eg_error error;
    eg_tensor tensor;
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(c->program, EG_LEAF_OUTPUT, i, NULL)) != NULL; i++)
        need(eg_instance_output(c->instance, name, &tensor, &error), &error);
}

void compiled_bind_inputs(bench *b, compiled *c) {
    eg_tensor tensor;
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(c->program, EG_LEAF_INPUT, i, &tensor)); i++) {
        uint64_t elements;
        eg_error error;
        tensor.data = c; /* only its size matters */
        need(eg_tensor_measure(&tensor, &elements, NULL, &error), &error);
        float *data = bench_floats(b, (size_t)elements);
        bench_fill(data, (size_t)elements, 1, (uint32_t)i + 1);
        compiled_bind(c, name, data);
    }
    compiled_own_outputs(c);
}

compiled *compiled_model(bench *b, const char *spec, uint64_t batch, uint64_t steps) {
    compiled *c = compiled_start(b);
    const eg_model_options wanted = {.batch = batch, .time = steps};
    eg_model_nodes nodes;
    eg_model *model;
    eg_error error;
    need(eg_model_open(c->context, spec, &model, &error), &error);
    need(eg_model_build(model, c->graph, &wanted, &nodes, &error), &error);
    compiled_finish(c, 1, &(eg_output){"y", nodes.y});
    need(eg_model_weights(model, c->weights, &error), &error);
    eg_model_destroy(model);
    return c;
}

const float *compiled_parameter(const compiled *c, const char *name) {
    eg_error error;
    eg_tensor tensor;
    need(eg_weights_tensor(c->weights, name, &tensor, &error), &error);
    return tensor.data;
}

void run_compiled(void *state) {
    const compiled *c = state;
    eg_error error;
    need(eg_run(c->instance, NULL, &error), &error);
}

void compiled_end(void *state) {
    compiled *c = state;
    eg_instance_destroy(c->instance);
    eg_weights_destroy(c->weights);
    eg_program_release(c->program);
    eg_graph_destroy(c->graph);
    eg_context_destroy(c->context);
}

void compiled_race(race *r, role as, const char *name, compiled *c) {
    race_add(r, (contestant){.role = as,
                             .name = name,
                             .variant = "",
                             .run = run_compiled,
                             .end = compiled_end,
                             .state = c});
}
