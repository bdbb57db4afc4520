/* A model as a graph: layers over time, both ways where asked. */
#include "base/abi.h"
#include "nn/transformer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters */
static eg_node make_parameter(const eg__builder *b, const eg__parameter *p) {
    eg_graph *g = b->graph;
    if (eg__parameter_is_quantized(p))
        return eg_parameter_quantized(g, p->name, &p->quantized.quantization, p->rank, p->shape);
    const eg_node node = eg_parameter(g, p->name, p->rank, p->shape);
    if (node.id && b->lent && eg__parameter_mask(b->model, p).bits)
        eg__node_at(g, node)->kind = EG__PARAMETER_MASKED;
    return node;
}

static const eg__parameter *find(const eg__builder *b, const char *format, va_list arguments) {
    char name[EG__NAME_MAX], inner[64];
    vsnprintf(inner, sizeof inner, format, arguments);
    snprintf(name, sizeof name, "%s%s", b->prefix, inner);
    const eg__parameter *p = eg__model_parameter(b->model, name);
    if (!p) eg__graph_mistake(b->graph, EG_ERR_ARGUMENT, "no parameter '%s'", name);
    return p;
}

static eg_node node_of(const eg__builder *b, const eg__parameter *p) {
    eg_node *node = &b->nodes[p - b->model->parameters];
    if (!node->id) *node = make_parameter(b, p);
    return *node;
}

eg_node eg__builder_parameter(eg__builder *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const eg__parameter *p = find(b, format, arguments);
    va_end(arguments);
    return p ? node_of(b, p) : (eg_node){0};
}

/* Both heads of a layer have the same mask. */
static eg_node mask_node(eg__builder *b, const eg__mask *mask, const eg__parameter *p) {
    eg_graph *g = b->graph;
    if (b->mask_node.id && b->mask.bits == mask->bits) return b->mask_node;
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *values =
        eg__memory_take_array(b->model->memory, EG_TAG_GRAPH, mask->count, sizeof *values, &reason);
    if (!values) return eg__graph_mistake(g, reason.status, "%s", reason.message);
    for (size_t i = 0; i < mask->count; i++) values[i] = eg__mask_has(mask, i);
    const bool whole = mask->count == eg__parameter_size(p);
    eg_tensor tensor = {EG_F32, whole ? p->rank : 1, {mask->count}, values};
    if (whole) memcpy(tensor.shape, p->shape, sizeof p->shape);
    b->mask = *mask;
    b->mask_node = eg_constant(g, &tensor);
    eg__memory_give(b->model->memory, values);
    return b->mask_node;
}

eg_node eg__builder_masked(eg__builder *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const eg__parameter *p = find(b, format, arguments);
    va_end(arguments);
    if (!p) return (eg_node){0};
    const eg_node node = node_of(b, p);
    const eg__mask mask = eg__parameter_mask(b->model, p);
    if (!mask.bits || b->lent || eg__parameter_is_quantized(p)) return node;
    return eg_mul(b->graph, node, mask_node(b, &mask, p));
}

eg_node eg__builder_linear(eg__builder *b, eg_node x, const char *name) {
    eg_node weight = eg__builder_parameter(b, "%s.weight", name);
    eg_node bias = eg__builder_parameter(b, "%s.bias", name);
    return eg_add(b->graph, eg_matmul_transposed(b->graph, x, 0, weight, 1), bias);
}

/* All trainable parameters in the order of the state-dict, used or not: the same for every shape. */
static void make_parameters(eg__builder *b) {
    for (size_t i = 0; i < b->model->parameter_count; i++) {
        const eg__parameter *p = &b->model->parameters[i];
        if (!p->is_mask) b->nodes[i] = make_parameter(b, p);
    }
}

/* ---- from the state to the output */
eg_node eg__layer_read(eg__builder *b, eg_node h) {
    eg_graph *g = b->graph;
    const eg__layer *layer = b->layer;
    const unsigned last = eg__node_at(g, h)->rank ? eg__node_at(g, h)->rank - 1 : 0;
    if (layer->cell == EG__CFC && layer->outputs < layer->units) /* motor neurons are last */
        h = eg_slice(g, h, last, layer->units - layer->outputs, layer->outputs);
    if (layer->cell == EG__LTC) {
        if (layer->outputs < layer->units) h = eg_slice(g, h, last, 0, layer->outputs);
        if (layer->output_map != EG__MAP_NONE)
            h = eg_mul(g, h, eg__builder_parameter(b, "rnn_cell.output_w"));
        if (layer->output_map == EG__MAP_AFFINE)
            h = eg_add(g, h, eg__builder_parameter(b, "rnn_cell.output_b"));
    }
    return layer->projection ? eg__builder_linear(b, h, "fc") : h;
}

static eg_node cell_step(eg__builder *b, eg_node x, eg_node h, eg_node span) {
    return b->layer->cell == EG__CFC ? eg__cfc_step(b, x, h, span) : eg__ltc_step(b, x, h, span);
}

/* ---- one layer, one way */
typedef struct sequence {
    const eg_model_options *options;
    eg_model_nodes *nodes;
    eg_node timespans; /* [T, B, 1], {0} = none */
    eg_node lengths;   /* [B] */
    uint64_t time, batch;
} sequence;

static eg_node leaf(eg_graph *g, const sequence *s, const char *name, unsigned rank,
                    const uint64_t *shape) {
    return s->options->as_parameters ? eg_parameter(g, name, rank, shape)
                                     : eg_input(g, name, EG_F32, rank, shape);
}

/* Zeros, or an input "h0", "1.c0", "0.backward.h0": [B, units], without the batch [units]. */
static eg_node initial_state(eg__builder *b, sequence *s, const char *what, size_t layer, int way) {
    eg_graph *g = b->graph;
    eg_model_nodes *n = s->nodes;
    const uint64_t shape[] = {s->batch, b->layer->units};
    if (n->states == EG_MODEL_STATES)
        return eg__graph_mistake(g, EG_ERR_UNSUPPORTED, "more than %d states", EG_MODEL_STATES);
    char *name = n->state_name[n->states];
    const char *ways = b->layer->merge == EG__ONE_WAY ? "" : way ? "b." : "f.";
    if (b->model->layer_count > 1)
        snprintf(name, sizeof n->state_name[0], "%zu.%s%s0", layer, ways, what);
    else snprintf(name, sizeof n->state_name[0], "%s%s0", ways, what);
    eg_node initial;
    if (!s->options->state) initial = eg_broadcast(g, eg_scalar(g, 0), 2, shape);
    else {
        initial =
            s->options->unbatched ? leaf(g, s, name, 1, shape + 1) : leaf(g, s, name, 2, shape);
        n->initial[n->states] = initial;
        if (s->options->unbatched) initial = eg_reshape(g, initial, 2, shape);
    }
    return initial;
}

static void final_state(eg__builder *b, sequence *s, eg_node value) {
    eg_model_nodes *n = s->nodes;
    const uint64_t size = b->layer->units;
    if (n->states == EG_MODEL_STATES) return;
    n->final[n->states++] = s->options->unbatched ? eg_reshape(b->graph, value, 1, &size) : value;
}

/* Outputs of all steps [T, B, width] and, in *last, of the last one. */
static eg_node run_way(eg__builder *b, sequence *s, eg_node xs, size_t layer, int way,
                       eg_node *last) {
    eg_graph *g = b->graph;
    const eg_node none = {0};
    eg_node scan = eg_scan(g, s->time, way);
    if (s->lengths.id) eg_scan_lengths(g, scan, s->lengths);
    eg_node h0 = initial_state(b, s, "h", layer, way);
    eg_node h = eg_scan_carry(g, scan, h0), state = h, memory = none, c = none;
    if (b->layer->mixed) {
        s->nodes->states++; /* h takes this place, c the next */
        memory = eg_scan_carry(g, scan, initial_state(b, s, "c", layer, way));
        c = memory;
        s->nodes->states--;
    }
    eg_node x = eg_scan_step(g, scan, xs);
    eg_node span = s->timespans.id ? eg_scan_step(g, scan, s->timespans) : none;
    if (b->layer->mixed) eg__memory_step(b, x, &state, &c);
    eg_node next = cell_step(b, x, state, span);
    eg_scan_update(g, h, next);
    if (b->layer->mixed) eg_scan_update(g, memory, c);
    eg_node end = eg_scan_last(g, h);
    final_state(b, s, end);
    if (b->layer->mixed) final_state(b, s, eg_scan_last(g, memory));
    *last = eg__layer_read(b, end);
    return eg__layer_read(b, eg_scan_stack(g, scan, next));
}

static eg_node merge(eg_graph *g, const eg__layer *layer, eg_node a, eg_node b) {
    const eg_node both[] = {a, b};
    switch (layer->merge) {
    case EG__MERGE_CONCAT:
        return eg_concat(g, eg__node_at(g, a)->rank ? eg__node_at(g, a)->rank - 1 : 0, 2, both);
    case EG__MERGE_SUM: return eg_add(g, a, b);
    case EG__MERGE_MUL: return eg_mul(g, a, b);
    case EG__MERGE_AVERAGE: return eg_mul(g, eg_scalar(g, 0.5), eg_add(g, a, b));
    case EG__ONE_WAY: break;
    }
    return a;
}

static eg_node run_layer(eg__builder *b, sequence *s, eg_node xs, size_t layer, eg_node *last) {
    const eg_model *model = b->model;
    eg_node ways[2], ends[2];
    b->layer = &model->layers[layer];
    const int count = b->layer->merge == EG__ONE_WAY ? 1 : 2;
    for (int way = 0; way < count; way++) {
        eg__layer_prefix(model, layer, way, b->prefix);
        ways[way] = run_way(b, s, xs, layer, way, &ends[way]);
    }
    if (b->graph->mistake.status) return (eg_node){0};
    *last = count == 2 ? merge(b->graph, b->layer, ends[0], ends[1]) : ends[0];
    return count == 2 ? merge(b->graph, b->layer, ways[0], ways[1]) : ways[0];
}

/* ---- the whole */
static void swap_axes(eg_graph *g, eg_node *x) {
    unsigned order[] = {1, 0, 2};
    *x = eg_transpose(g, *x, order);
}

/* The input in the user's layout, to [T, B, features]. */
static eg_node take_input(eg_graph *g, sequence *s, const char *name, uint64_t features,
                          eg_node *given) {
    const eg_model_options *o = s->options;
    const bool flat = features == 0; /* elapsed times have no features */
    const uint64_t wide[] = {o->batch_first ? s->batch : s->time,
                             o->batch_first ? s->time : s->batch, features};
    const uint64_t narrow[] = {s->time, features}, all[] = {s->time, s->batch, flat ? 1 : features};
    *given = o->unbatched ? leaf(g, s, name, flat ? 1 : 2, narrow)
                          : leaf(g, s, name, flat ? 2 : 3, wide);
    eg_node x = *given;
    if (!o->unbatched && o->batch_first) swap_axes(g, &x);
    return eg_reshape(g, x, 3, all);
}

static eg_node give_output(eg_graph *g, const sequence *s, uint64_t width, eg_node all,
                           eg_node last) {
    const eg_model_options *o = s->options;
    if (o->last) return o->unbatched ? eg_reshape(g, last, 1, &width) : last;
    const uint64_t flat[] = {s->time, width};
    if (o->unbatched) return eg_reshape(g, all, 2, flat);
    if (o->batch_first) swap_axes(g, &all);
    return all;
}

_Static_assert((int)EG_MODEL_BOUNDARIES >= (int)EG__TRANSFORMER_LAYERS_MAX,
               "every layer can be cut");
static eg_status build_transformer(const eg_model *model, eg_graph *graph,
                                   const eg_model_options *o, eg_model_nodes *out,
                                   eg_error *error) {
    const eg__transformer_options build = {.batch = o->batch ? o->batch : 1,
                                           .time = o->time ? o->time : 1,
                                           .in_place = o->in_place,
                                           .last = o->last,
                                           .hidden = o->hidden,
                                           .lengths = o->lengths};
    eg__transformer_nodes nodes;
    eg_status status = eg__transformer_build(model, graph, &build, &nodes, error);
    out->x = nodes.tokens;
    out->lengths = nodes.lengths;
    out->y = nodes.y;
    out->boundaries = status ? 0 : model->transformer->layers;
    memcpy(out->boundary, nodes.given, out->boundaries * sizeof *out->boundary);
    return status;
}

eg_status eg_model_build(const eg_model *model, eg_graph *graph, const eg_model_options *given,
                         eg_model_nodes *out, eg_error *error) {
    eg_model_options kept, *const o = &kept;
    if (!model || !graph || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no model, graph or output pointer");
    const eg_status taken = EG__OPTIONS(eg_model_options, &kept, given, error);
    if (taken) return taken;
    memset(out, 0, sizeof *out);
    if (model->transformer) return build_transformer(model, graph, o, out, error);
    sequence s = {.options = o,
                  .nodes = out,
                  .time = o->time ? o->time : 1,
                  .batch = o->batch ? o->batch : 1};
    if (o->unbatched && s.batch != 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "a batch of %llu needs a batch axis",
                        (unsigned long long)s.batch);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__builder b = {.model = model, .graph = graph, .lent = o->lent != 0};
    b.nodes = eg__memory_take_array(model->memory, EG_TAG_GRAPH, model->parameter_count + 1,
                                    sizeof *b.nodes, &reason);
    if (!b.nodes) return eg__fail(error, reason.status, "%s", reason.message);
    make_parameters(&b);
    eg_node xs = take_input(graph, &s, "x", model->layers[0].inputs, &out->x), last = {0};
    if (o->timespans) s.timespans = take_input(graph, &s, "timespans", 0, &out->timespans);
    if (o->lengths) {
        out->lengths = eg_input(graph, "lengths", EG_F32, 1, &s.batch);
        s.lengths = out->lengths;
    }
    if (!o->standard) {
        xs = eg__units_input(model, graph, xs);
        s.timespans = eg__units_span(model, graph, s.timespans);
        const double step = eg__units_step(model); /* without spans cells use 1 */
        if (!o->timespans && step != 1)
            s.timespans =
                eg_broadcast(graph, eg_scalar(graph, step), 3, (uint64_t[]){s.time, s.batch, 1});
    }
    for (size_t i = 0; i < model->layer_count && !graph->mistake.status; i++)
        xs = run_layer(&b, &s, xs, i, &last);
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    if (!graph->mistake.status) out->y = give_output(graph, &s, info.outputs, xs, last);
    if (!graph->mistake.status && !o->standard) out->y = eg__model_output(model, graph, out->y);
    eg__memory_give(model->memory, b.nodes);
    return eg_graph_check(graph, error);
}

eg_status eg_model_check_timespans(const float *timespans, uint64_t batch, uint64_t time,
                                   int batch_first, eg_error *error) {
    for (uint64_t i = 0; i < batch * time; i++) {
        if (timespans[i] >= 0 && isfinite(timespans[i])) continue;
        const uint64_t sample = batch_first ? i / time : i % batch;
        const uint64_t step = batch_first ? i % time : i / batch;
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the elapsed time %g at sample %llu, step %llu is not a finite "
                        "number >= 0",
                        (double)timespans[i], (unsigned long long)sample, (unsigned long long)step);
    }
    return EG_OK;
}
