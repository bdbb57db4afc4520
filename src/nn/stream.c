/* Streams: a model compiled for one sample and one step, its state kept between steps. */
#include "nn/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct eg_stream_program {
    eg__memory *memory;
    eg_program *program;
    eg_weights *weights;
    uint64_t inputs, outputs, state;
};

struct eg_stream {
    const eg_stream_program *shared;
    eg_instance *instance;
    float *x, *y, *elapsed; /* where the program reads and writes */
    size_t states;
    eg_tensor state[EG_MODEL_STATES];
};

/* The graph of one step: every state of the model is a state of the program. */
eg_status eg__stream_graph(const eg_model *model, eg_graph *g, eg_output *output, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__builder b = {.model = model, .graph = g, .lent = true};
    b.nodes = eg__memory_take_array(model->memory, EG_TAG_GRAPH, model->parameter_count + 1,
                                    sizeof *b.nodes, &reason);
    if (!b.nodes) return eg__fail(error, reason.status, "%s", reason.message);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){1, model->layers[0].inputs});
    eg_node span = eg_input(g, "elapsed", EG_F32, 2, (uint64_t[]){1, 1});
    x = eg__units_input(model, g, x);
    span = eg__units_span(model, g, span);
    for (size_t i = 0; i < model->layer_count && !g->mistake.status; i++) {
        b.layer = &model->layers[i];
        eg__layer_prefix(model, i, 0, b.prefix);
        const uint64_t shape[] = {1, b.layer->units};
        char name[32];
        snprintf(name, sizeof name, "h%zu", i);
        eg_node h = eg_state(g, name, 2, shape), next = h, c = {0}, memory = {0};
        if (b.layer->mixed) {
            snprintf(name, sizeof name, "c%zu", i);
            memory = eg_state(g, name, 2, shape);
            c = memory;
            eg__memory_step(&b, x, &next, &c);
            eg_update(g, memory, c);
        }
        next = b.layer->cell == EG__CFC ? eg__cfc_step(&b, x, next, span)
                                        : eg__ltc_step(&b, x, next, span);
        x = eg__layer_read(&b, eg_update(g, h, next));
    }
    *output = (eg_output){"y", eg__model_output(model, g, x)};
    eg__memory_give(model->memory, b.nodes);
    return eg_graph_check(g, error);
}

eg_status eg_stream_compile(eg_model *model, eg_stream_program **out, eg_error *error) {
    if (!model || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "stream: no model or no output pointer");
    *out = NULL;
    if (model->transformer)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "a transformer has no steps in time");
    for (size_t i = 0; i < model->layer_count; i++)
        if (model->layers[i].merge != EG__ONE_WAY)
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "layer %zu is bidirectional: it cannot be a stream", i);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_stream_program *p =
        eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *p, &reason);
    if (!p) return eg__fail(error, reason.status, "%s", reason.message);
    p->memory = model->memory;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    p->inputs = info.inputs;
    p->outputs = info.outputs;
    p->state = info.state;
    eg_graph *g = NULL;
    eg_output output;
    eg_status status = eg_graph_create(model->context, &g, error);
    if (!status) status = eg__stream_graph(model, g, &output, error);
    if (!status) status = eg_compile(model->context, g, 1, &output, NULL, &p->program, error);
    eg_graph_destroy(g);                 /* first, because its constants may be large */
    const bool values = !model->outline; /* else only its costs can be queried */
    if (!status && values) status = eg_model_lend(model, p->program, &p->weights, error);
    /* streams may outlive the model */
    if (!status && values) status = eg__weights_settle(p->weights, p->program, error);
    if (status) eg_stream_program_destroy(p);
    else *out = p;
    return status;
}

void eg_stream_program_destroy(eg_stream_program *p) {
    if (!p) return;
    eg_weights_destroy(p->weights);
    eg_program_release(p->program);
    eg__memory_give(p->memory, p);
}

void eg_stream_program_info_get(const eg_stream_program *p, eg_program_info *out) {
    eg_program_info_get(p->program, out);
}

eg_program *eg__stream_program_inner(const eg_stream_program *p, eg_weights **weights) {
    if (weights) *weights = p->weights;
    return p->program;
}

static eg_status bind_all(eg_stream *s, eg_error *error) {
    const eg_stream_program *p = s->shared;
    const eg_tensor x = {EG_F32, 2, {1, p->inputs}, s->x}, y = {EG_F32, 2, {1, p->outputs}, s->y};
    const eg_tensor elapsed = {EG_F32, 2, {1, 1}, s->elapsed};
    eg_status status = eg_instance_bind(s->instance, "x", &x, error);
    if (!status) status = eg_instance_bind(s->instance, "y", &y, error);
    if (!status) status = eg_instance_bind(s->instance, "elapsed", &elapsed, error);
    const char *name;
    while (!status && s->states < EG_MODEL_STATES &&
           (name = eg_program_leaf(p->program, EG_LEAF_STATE, s->states, NULL)))
        status = eg_instance_state(s->instance, name, &s->state[s->states++], error);
    return status;
}

eg_status eg_stream_create(eg_stream_program *program, eg_stream **out, eg_error *error) {
    if (!program || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "stream: no program or no output pointer");
    *out = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_stream *s = eg__memory_take_zeroed(program->memory, EG_TAG_PROGRAM, sizeof *s, &reason);
    if (!s) return eg__fail(error, reason.status, "%s", reason.message);
    s->shared = program;
    const size_t wide = (size_t)eg__round_up((size_t)program->inputs, 16);
    s->x = eg__memory_take_array(program->memory, EG_TAG_ARENA,
                                 wide + (size_t)program->outputs + 32, sizeof *s->x, &reason);
    eg_status status = s->x ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
    if (!status) {
        s->elapsed = s->x + wide;
        s->y = s->elapsed + 16;
        status = eg_instance_create(program->program, program->weights, &s->instance, error);
    }
    if (!status) status = bind_all(s, error);
    if (status) eg_stream_destroy(s);
    else *out = s;
    return status;
}

void eg_stream_destroy(eg_stream *s) {
    if (!s) return;
    eg__memory *memory = s->shared->memory;
    eg_instance_destroy(s->instance);
    eg__memory_give(memory, s->x);
    eg__memory_give(memory, s);
}

eg_status eg_stream_step(eg_stream *s, const float *x, float elapsed, float *y, eg_error *error) {
    if (!s || !x || !y)
        return eg__fail(error, EG_ERR_ARGUMENT, "no stream, input or output pointer");
    if (!(elapsed >= 0) || isinf(elapsed))
        return eg__fail(error, EG_ERR_ARGUMENT, "the elapsed time %g is not a finite number >= 0",
                        (double)elapsed);
    memcpy(s->x, x, (size_t)s->shared->inputs * sizeof *x);
    *s->elapsed = elapsed;
    eg_status status = eg_run(s->instance, NULL, error);
    if (!status) memcpy(y, s->y, (size_t)s->shared->outputs * sizeof *y);
    return status;
}

/* x - x is 0 unless x is not finite, so the sum over all needs one comparison. */
static bool all_finite(const float *values, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] - values[i];
    return sum == 0;
}

static size_t first_bad(const float *values, size_t count) {
    size_t i = 0;
    while (i < count && isfinite(values[i])) i++;
    return i;
}

eg_status eg_stream_check(const eg_stream *s, const float *x, eg_error *error) {
    if (!s) return eg__fail(error, EG_ERR_ARGUMENT, "no stream");
    const size_t inputs = (size_t)s->shared->inputs;
    if (x && !all_finite(x, inputs)) {
        const size_t at = first_bad(x, inputs);
        return eg__fail(error, EG_ERR_ARGUMENT, "input %zu is %g, not a finite number", at + 1,
                        (double)x[at]);
    }
    eg_status status = eg_instance_state_begin(s->instance, error);
    if (status) return status;
    for (size_t i = 0; i < s->states && !status; i++) {
        const float *state = s->state[i].data;
        const size_t count = (size_t)s->state[i].shape[1];
        if (all_finite(state, count)) continue;
        const size_t at = first_bad(state, count);
        status = eg__fail(error, EG_ERR_FORMAT,
                          "the state of a stream is %g at %zu: an earlier input was not finite; "
                          "eg_stream_reset begins anew",
                          (double)state[at], at + 1);
    }
    eg_instance_state_end(s->instance);
    return status;
}

void eg_stream_reset(eg_stream *s) {
    if (s) eg_instance_reset(s->instance);
}

static size_t size_of(const eg_tensor *state) { return (size_t)state->shape[1]; }

/* Reading it back from a device may fail: then the values are NaN. */
void eg_stream_state_get(const eg_stream *s, float *state) {
    const bool known = !eg_instance_state_begin(s->instance, NULL);
    for (size_t i = 0; i < s->states; state += size_of(&s->state[i++]))
        for (size_t k = 0; k < size_of(&s->state[i]); k++)
            state[k] = known ? ((const float *)s->state[i].data)[k] : NAN;
    if (known) eg_instance_state_end(s->instance);
}
void eg_stream_state_set(eg_stream *s, const float *state) {
    /* all of it is replaced, so the device's copy does not matter */
    eg_instance_reset(s->instance);
    for (size_t i = 0; i < s->states; state += size_of(&s->state[i++]))
        memcpy(s->state[i].data, state, size_of(&s->state[i]) * sizeof *state);
}
