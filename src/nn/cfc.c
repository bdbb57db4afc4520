/* The closed-form continuous-time cell: fully connected, or a chain of such cells along a wiring. */
#include "nn/model.h"

#include <stdio.h>

static eg_node activate(eg_graph *g, eg__activation activation, eg_node x) {
    switch (activation) {
    case EG__LECUN_TANH:
        return eg_mul(g, eg_scalar(g, 1.7159), eg_tanh(g, eg_mul(g, eg_scalar(g, 0.666), x)));
    case EG__SILU: return eg_silu(g, x);
    case EG__RELU: return eg_relu(g, x);
    case EG__TANH: return eg_tanh(g, x);
    case EG__GELU: return eg_gelu(g, x);
    case EG__ACTIVATIONS: break;
    }
    return (eg_node){0};
}

unsigned eg__backbone_index(const eg__layer *layer, unsigned i) {
    return layer->dropout > 0 && i > 1 ? 3 * i - 1 : 2 * i;
}

/* Linear, its weight masked where there is a wiring. */
static eg_node linear(eg__builder *b, eg_node q, const char *cell, const char *name) {
    eg_graph *g = b->graph;
    eg_node weight = eg__builder_masked(b, "%s.%s.weight", cell, name);
    eg_node bias = eg__builder_parameter(b, "%s.%s.bias", cell, name);
    return eg_add(g, eg_matmul_transposed(g, q, 0, weight, 1), bias);
}

/* Features of the sources q. */
static eg_node backbone(eg__builder *b, eg_node q, const char *cell) {
    for (unsigned i = 0; i < b->layer->backbone_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "backbone.%u", eg__backbone_index(b->layer, i));
        q = activate(b->graph, b->layer->activation, linear(b, q, cell, name));
        if (i && b->layer->dropout > 0) q = eg_dropout(b->graph, q, b->layer->dropout);
    }
    return q;
}

static eg_node times(eg_graph *g, eg_node span, eg_node x) {
    return span.id ? eg_mul(g, span, x) : x;
}

/* The new state h' from the features q. */
static eg_node heads(eg__builder *b, eg_node q, eg_node span, const char *cell) {
    eg_graph *g = b->graph;
    const eg__layer *layer = b->layer;
    eg_node f1 = linear(b, q, cell, "ff1");
    if (layer->mode == EG__CFC_PURE) {
        eg_node a = eg__builder_parameter(b, "%s.A", cell);
        eg_node tau = eg_abs(g, eg__builder_parameter(b, "%s.w_tau", cell));
        eg_node rate = times(g, span, eg_add(g, tau, eg_abs(g, f1)));
        eg_node decayed = eg_mul(g, eg_mul(g, a, f1), eg_exp(g, eg_neg(g, rate)));
        return eg_sub(g, a, decayed);
    }
    eg_node f2 = linear(b, q, cell, "ff2");
    if (!layer->keras) {
        f1 = eg_tanh(g, f1);
        f2 = eg_tanh(g, f2);
    }
    eg_node time = times(g, span, linear(b, q, cell, "time_a"));
    if (layer->keras) time = eg_neg(g, time);
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(b, q, cell, "time_b")));
    if (layer->mode == EG__CFC_NO_GATE) return eg_add(g, f1, eg_mul(g, gate, f2));
    return eg_add(g, f1, eg_mul(g, gate, eg_sub(g, f2, f1)));
}

static eg_node wired_step(eg__builder *b, eg_node x, eg_node h, eg_node span) {
    eg_graph *g = b->graph;
    const eg__layer *layer = b->layer;
    eg_node parts[EG__WIRED_MAX];
    uint64_t first = 0;
    for (unsigned i = 0; i < layer->wired_count; i++) {
        const eg__wired *wired = &layer->wired[i];
        char cell[32];
        snprintf(cell, sizeof cell, "rnn_cell.layer_%u", i);
        const eg_node own = layer->wired_count == 1 ? h : eg_slice(g, h, 1, first, wired->units);
        const eg_node both[] = {x, own};
        x = heads(b, backbone(b, eg_concat(g, 1, 2, both), cell), span, cell);
        parts[i] = x;
        first += wired->units;
    }
    return layer->wired_count == 1 ? x : eg_concat(g, 1, layer->wired_count, parts);
}

eg_node eg__cfc_step(eg__builder *b, eg_node x, eg_node h, eg_node span) {
    if (b->layer->wired_count) return wired_step(b, x, h, span);
    const eg_node both[] = {x, h};
    return heads(b, backbone(b, eg_concat(b->graph, 1, 2, both), "rnn_cell"), span, "rnn_cell");
}
