/* Small networks for tests of compiled programs. */
#include "test_models.h"
#include "test.h"

#include <math.h>

typedef struct builder {
    eg_graph *g;
    const model_case *c;
    eg_node parameters[MODEL_OUTPUTS];
    size_t count;
} builder;

static eg_node linear(builder *b, const char *name, eg_node x, uint64_t from, uint64_t to) {
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    eg_node w = eg_parameter(b->g, weight, 2, (uint64_t[]){from, to});
    eg_node v = eg_parameter(b->g, bias, 1, (uint64_t[]){to});
    b->parameters[b->count++] = w;
    b->parameters[b->count++] = v;
    return eg_add(b->g, eg_matmul(b->g, x, w), v);
}

static eg_node gru_cell(builder *b, eg_node x, eg_node h) {
    eg_graph *g = b->g;
    const uint64_t in = b->c->inputs, n = b->c->units;
    eg_node z = eg_sigmoid(g, eg_add(g, linear(b, "xz", x, in, n), linear(b, "hz", h, n, n)));
    eg_node r = eg_sigmoid(g, eg_add(g, linear(b, "xr", x, in, n), linear(b, "hr", h, n, n)));
    eg_node fresh = eg_mul(g, r, linear(b, "hn", h, n, n));
    fresh = eg_tanh(g, eg_add(g, linear(b, "xn", x, in, n), fresh));
    return eg_add(g, fresh, eg_mul(g, z, eg_sub(g, h, fresh)));
}

static eg_node cfc_cell(builder *b, eg_node x, eg_node h, eg_node span) {
    eg_graph *g = b->g;
    const uint64_t in = b->c->inputs, n = b->c->units;
    eg_node both[] = {x, h};
    eg_node q = eg_silu(g, linear(b, "backbone", eg_concat(g, 1, 2, both), in + n, 2 * n));
    if (b->c->dropout) q = eg_dropout(g, q, 0.25);
    eg_node f1 = eg_tanh(g, linear(b, "ff1", q, 2 * n, n));
    eg_node f2 = eg_tanh(g, linear(b, "ff2", q, 2 * n, n));
    eg_node time = eg_mul(g, span, linear(b, "time_a", q, 2 * n, n));
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(b, "time_b", q, 2 * n, n)));
    return eg_add(g, f1, eg_mul(g, gate, eg_sub(g, f2, f1)));
}

static void add(eg_output *outputs, size_t *count, const char *name, eg_node node) {
    outputs[(*count)++] = (eg_output){name, node};
}

size_t model_build(eg_graph *g, const model_case *c, eg_output outputs[MODEL_OUTPUTS]) {
    static const char *const names[MODEL_OUTPUTS] = {
        "d0",  "d1",  "d2",  "d3",  "d4",  "d5",  "d6",  "d7",  "d8",  "d9",  "d10",
        "d11", "d12", "d13", "d14", "d15", "d16", "d17", "d18", "d19", "d20", "d21"};
    builder b = {.g = g, .c = c};
    size_t count = 0;
    eg_node y;
    if (strcmp(c->name, "mlp") == 0) {
        eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){c->batch, c->inputs});
        x = eg_tanh(g, linear(&b, "first", x, c->inputs, c->units));
        x = eg_tanh(g, linear(&b, "second", x, c->units, c->units));
        y = linear(&b, "third", x, c->units, c->inputs);
    } else {
        eg_node xs = eg_input(g, "x", EG_F32, 3, (uint64_t[]){c->time, c->batch, c->inputs});
        eg_node h0 = eg_input(g, "h0", EG_F32, 2, (uint64_t[]){c->batch, c->units});
        eg_node scan = eg_scan(g, c->time, c->reverse), h = eg_scan_carry(g, scan, h0), next;
        if (c->lengths)
            eg_scan_lengths(g, scan, eg_input(g, "lengths", EG_F32, 1, (uint64_t[]){c->batch}));
        eg_node x = eg_scan_step(g, scan, xs);
        if (strcmp(c->name, "gru") == 0) next = gru_cell(&b, x, h);
        else {
            eg_node timespans = eg_input(g, "spans", EG_F32, 3, (uint64_t[]){c->time, c->batch, 1});
            next = cfc_cell(&b, x, h, eg_scan_step(g, scan, timespans));
        }
        eg_scan_update(g, h, next);
        y = eg_scan_stack(g, scan, next);
        add(outputs, &count, "last", eg_scan_last(g, h));
    }
    eg_node loss = eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0);
    if (count) loss = eg_add(g, loss, eg_sum(g, outputs[0].node, EG_ALL_AXES, 0));
    add(outputs, &count, "y", y);
    add(outputs, &count, "loss", loss);
    eg_node d[MODEL_OUTPUTS];
    eg_error error;
    if (c->gradient) {
        CHECK_OK(eg_gradient_with(g, &c->options, loss, b.count, b.parameters, d, &error), error);
        for (size_t i = 0; i < b.count; i++) add(outputs, &count, names[i], d[i]);
    }
    CHECK_OK(eg_graph_check(g, &error), error);
    return count;
}

static void fill(const char *name, const eg_tensor *tensor, float scale) {
    uint64_t elements, state = 1;
    for (const char *p = name; *p; p++) state = state * 31 + (unsigned char)*p;
    eg_tensor_measure(tensor, &elements, NULL, NULL);
    for (uint64_t i = 0; i < elements; i++)
        ((float *)tensor->data)[i] = scale * test_random(&state);
    if (strcmp(name, "lengths") == 0)
        for (uint64_t i = 0; i < elements; i++) ((float *)tensor->data)[i] = (float)(1 + i * 3 % 7);
}

void model_weights_fill(eg_weights *weights, const eg_program *program) {
    eg_error error;
    eg_tensor tensor;
    CHECK_OK(eg_weights_begin(weights, 1, &error), error);
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(program, EG_LEAF_PARAMETER, i, NULL)); i++) {
        CHECK_OK(eg_weights_tensor(weights, name, &tensor, &error), error);
        fill(name, &tensor, 0.4f);
    }
    eg_weights_end(weights);
}

model_run model_open(const model_case *c, unsigned threads, const char *passes) {
    eg_error error = {0};
    eg_context_options options = {.threads = threads};
    eg_compile_options compile = {.training = c->dropout, .passes = passes};
    eg_graph *g;
    eg_output outputs[MODEL_OUTPUTS];
    eg_context *context;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = model_build(g, c, outputs);
    model_run m = model_start(context, g, count, outputs, &compile);
    eg_graph_destroy(g);
    return m;
}

model_run model_start(eg_context *context, const eg_graph *g, size_t count,
                      const eg_output *outputs, const eg_compile_options *compile) {
    model_run m = {.context = context};
    eg_error error = {0};
    CHECK_OK(eg_compile(context, g, count, outputs, compile, &m.program, &error), error);
    CHECK_OK(eg_weights_create(m.program, &m.weights, &error), error);
    model_weights_fill(m.weights, m.program);
    CHECK_OK(eg_instance_create(m.program, m.weights, &m.instance, &error), error);
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(m.program, EG_LEAF_INPUT, i, &m.inputs[i])); i++) {
        uint64_t bytes;
        eg_tensor_measure(&m.inputs[i], NULL, &bytes, NULL);
        m.inputs[i].data = test_alloc((size_t)bytes);
        fill(name, &m.inputs[i], 1);
        CHECK_OK(eg_instance_bind(m.instance, name, &m.inputs[i], &error), error);
        m.input_count++;
    }
    for (size_t i = 0; i < count; i++) model_output(&m, outputs[i].name);
    return m;
}

void model_close(model_run *m) {
    for (size_t i = 0; i < m->input_count; i++) free(m->inputs[i].data);
    eg_instance_destroy(m->instance);
    eg_weights_destroy(m->weights);
    eg_program_release(m->program);
    eg_context_destroy(m->context);
}

eg_tensor model_output(model_run *m, const char *name) {
    eg_tensor tensor = {0};
    eg_error error;
    CHECK_OK(eg_instance_output(m->instance, name, &tensor, &error), error);
    return tensor;
}

eg_tensor model_input(model_run *m, const char *name) {
    for (size_t i = 0; i < m->input_count; i++)
        if (strcmp(eg_program_leaf(m->program, EG_LEAF_INPUT, i, NULL), name) == 0)
            return m->inputs[i];
    test_fail(__FILE__, __LINE__, "no input '%s'", name);
    return (eg_tensor){0};
}

double tensor_distance(const eg_tensor *a, const eg_tensor *b) {
    uint64_t n;
    double worst = 0;
    eg_tensor_measure(a, &n, NULL, NULL);
    for (uint64_t i = 0; i < n; i++)
        worst = test_worse(
            worst, fabs((double)((const float *)a->data)[i] - (double)((const float *)b->data)[i]));
    return worst;
}

double tensor_size(const eg_tensor *a) {
    uint64_t n;
    double size = 0;
    eg_tensor_measure(a, &n, NULL, NULL);
    for (uint64_t i = 0; i < n; i++) size = fmax(size, fabs((double)((const float *)a->data)[i]));
    return size;
}
