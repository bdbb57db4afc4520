/* Small networks to look at, written with nothing but the public interface. */
#include "cli/commands/graph_examples.h"

#include <stdio.h>

typedef struct parameters {
    eg_graph *graph;
    eg_node *list;
    size_t *count;
} parameters;

static eg_node parameter(parameters *p, const char *name, const char *part, unsigned rank,
                         const uint64_t *shape) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, part);
    eg_node node = eg_parameter(p->graph, full, rank, shape);
    if (*p->count < EXAMPLE_PARAMETERS) p->list[(*p->count)++] = node;
    return node;
}

static eg_node linear(parameters *p, const char *name, eg_node x, uint64_t from, uint64_t to) {
    eg_node weight = parameter(p, name, "weight", 2, (uint64_t[]){from, to});
    eg_node bias = parameter(p, name, "bias", 1, (uint64_t[]){to});
    return eg_add(p->graph, eg_matmul(p->graph, x, weight), bias);
}

static eg_node squared_error(eg_graph *g, eg_node y, unsigned rank, const uint64_t *shape) {
    eg_node error = eg_sub(g, y, eg_input(g, "target", EG_F32, rank, shape));
    return eg_mean(g, eg_mul(g, error, error), EG_ALL_AXES, 0);
}

static eg_node build_mlp(eg_graph *g, eg_node *list, size_t *count) {
    parameters p = {g, list, count};
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){32, 64});
    x = eg_tanh(g, linear(&p, "first", x, 64, 256));
    x = eg_tanh(g, linear(&p, "second", x, 256, 256));
    return squared_error(g, linear(&p, "third", x, 256, 64), 2, (uint64_t[]){32, 64});
}

/* A closed-form continuous-time cell: 16 inputs, 64 neurons, one backbone layer, 8 steps. */
static eg_node build_cfc(eg_graph *g, eg_node *list, size_t *count) {
    enum { STEPS = 8, BATCH = 32, INPUTS = 16, UNITS = 64, BACKBONE = 128 };
    parameters p = {g, list, count};
    eg_node xs = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, BATCH, INPUTS});
    eg_node timespans = eg_input(g, "timespans", EG_F32, 3, (uint64_t[]){STEPS, BATCH, 1});
    eg_node h0 = eg_input(g, "h0", EG_F32, 2, (uint64_t[]){BATCH, UNITS});
    eg_node scan = eg_scan(g, STEPS, 0), h = eg_scan_carry(g, scan, h0);
    eg_node both[] = {eg_scan_step(g, scan, xs), h};
    eg_node q =
        eg_silu(g, linear(&p, "backbone", eg_concat(g, 1, 2, both), INPUTS + UNITS, BACKBONE));
    eg_node f1 = eg_tanh(g, linear(&p, "ff1", q, BACKBONE, UNITS));
    eg_node f2 = eg_tanh(g, linear(&p, "ff2", q, BACKBONE, UNITS));
    eg_node span = eg_scan_step(g, scan, timespans);
    eg_node time = eg_mul(g, span, linear(&p, "time_a", q, BACKBONE, UNITS));
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(&p, "time_b", q, BACKBONE, UNITS)));
    eg_node next = eg_add(g, f1, eg_mul(g, gate, eg_sub(g, f2, f1)));
    eg_scan_update(g, h, next);
    return squared_error(g, eg_scan_stack(g, scan, next), 3, (uint64_t[]){STEPS, BATCH, UNITS});
}

/* A gated recurrent unit, linear before reset: 32 inputs, 64 neurons, 8 steps. */
static eg_node build_gru(eg_graph *g, eg_node *list, size_t *count) {
    enum { STEPS = 8, BATCH = 32, INPUTS = 32, UNITS = 64 };
    parameters p = {g, list, count};
    eg_node xs = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, BATCH, INPUTS});
    eg_node h0 = eg_input(g, "h0", EG_F32, 2, (uint64_t[]){BATCH, UNITS});
    eg_node scan = eg_scan(g, STEPS, 0), h = eg_scan_carry(g, scan, h0);
    eg_node x = eg_scan_step(g, scan, xs);
    /* one by one: which argument of a call is computed first is the compiler's affair */
    eg_node x_update = linear(&p, "x_update", x, INPUTS, UNITS);
    eg_node x_reset = linear(&p, "x_reset", x, INPUTS, UNITS);
    eg_node x_new = linear(&p, "x_new", x, INPUTS, UNITS);
    eg_node h_update = linear(&p, "h_update", h, UNITS, UNITS);
    eg_node h_reset = linear(&p, "h_reset", h, UNITS, UNITS);
    eg_node h_new = linear(&p, "h_new", h, UNITS, UNITS);
    eg_node update = eg_sigmoid(g, eg_add(g, x_update, h_update));
    eg_node reset = eg_sigmoid(g, eg_add(g, x_reset, h_reset));
    eg_node fresh = eg_tanh(g, eg_add(g, x_new, eg_mul(g, reset, h_new)));
    eg_node next = eg_add(g, fresh, eg_mul(g, update, eg_sub(g, h, fresh)));
    eg_scan_update(g, h, next);
    return squared_error(g, eg_scan_last(g, h), 2, (uint64_t[]){BATCH, UNITS});
}

const graph_example graph_examples[] = {
    {"mlp", "three layers, 64-256-256-64, batch 32", build_mlp},
    {"cfc", "a liquid cell, 64 neurons, 8 steps, batch 32", build_cfc},
    {"gru", "a gated recurrent unit, 64 neurons, 8 steps, batch 32", build_gru},
    {NULL, NULL, NULL},
};
