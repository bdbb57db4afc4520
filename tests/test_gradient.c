/* Every gradient rule against central differences, in double. */
#include "test.h"
#include "graph_rules.h"

#include <math.h>
#include <string.h>

AREA(gradient, "every rule against central differences in double")

enum { LEAVES = RULE_LEAVES };
typedef graph_rule rule;

typedef struct setting {
    eg_graph *graph;
    eg_node leaf[LEAVES], d[LEAVES], loss;
    eg__binding bound[LEAVES + 1];
    size_t bindings;
    double *data[LEAVES + 1];
} setting;

static double loss_of(setting *s) {
    double loss = NAN, *out[] = {&loss};
    eg_error error;
    CHECK_OK(eg__graph_evaluate(s->graph, s->bindings, s->bound, 1, &s->loss, out, true, 7, &error),
             error);
    return loss;
}

static void check_leaf(setting *s, const rule *r, unsigned leaf) {
    const uint64_t n = eg__node_elements(eg__node_at(s->graph, s->leaf[leaf]));
    double *d = test_alloc((n ? n : 1) * sizeof *d), *out[] = {d};
    eg_error error;
    CHECK_OK(
        eg__graph_evaluate(s->graph, s->bindings, s->bound, 1, &s->d[leaf], out, true, 7, &error),
        error);
    for (uint64_t i = 0; i < n; i++) {
        const double step = 1e-5, kept = s->data[leaf][i];
        s->data[leaf][i] = kept + step;
        double up = loss_of(s);
        s->data[leaf][i] = kept - step;
        double down = loss_of(s);
        s->data[leaf][i] = kept;
        double slope = (up - down) / (2 * step);
        CHECK(fabs(slope - d[i]) <= 2e-6 * (1 + fabs(slope)),
              "%s: leaf %u element %llu: gradient %.9g, difference %.9g", r->name, leaf,
              (unsigned long long)i, d[i], slope);
    }
    free(d);
}

/* With `checkpoints`, every third node is kept and what lies between is computed again. */
static void take_gradient(setting *s, const rule *r, bool checkpoints) {
    enum { MANY = 128 };
    eg_node keep[MANY];
    eg_error error = {0};
    eg_gradient_options options = {.keep = keep};
    for (uint32_t i = 3; checkpoints && i <= s->loss.id && options.keep_count < MANY; i += 3)
        if (!s->graph->nodes[i].scan && s->graph->nodes[i].op != EG__GRAPH_scan)
            keep[options.keep_count++] = (eg_node){i};
    CHECK_OK(eg_gradient_with(s->graph, &options, s->loss, r->leaves, s->leaf, s->d, &error),
             error);
}

static void check_rule(eg__memory *memory, const rule *r, bool checkpoints) {
    setting s = {0};
    eg_error error = {0};
    CHECK_OK(eg__graph_new(memory, &s.graph, &error), error);
    uint64_t state = 17;
    for (unsigned i = 0; i < r->leaves; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        s.leaf[i] = eg_parameter(s.graph, name, r->leaf[i].rank, r->leaf[i].shape);
        uint64_t n = eg__node_elements(eg__node_at(s.graph, s.leaf[i]));
        s.data[i] = test_alloc(n * sizeof **s.data);
        for (uint64_t k = 0; k < n; k++)
            s.data[i][k] = r->low + (r->high - r->low) * (test_random(&state) + 1) / 2;
        s.bound[s.bindings++] = (eg__binding){s.leaf[i], s.data[i]};
    }
    s.loss = weighted_loss(s.graph, r->build(s.graph, s.leaf));
    for (uint32_t i = 1; i <= s.graph->size; i++)
        if (s.graph->nodes[i].op == EG__GRAPH_state) {
            s.data[LEAVES] = calloc(eg__node_elements(&s.graph->nodes[i]), sizeof(double));
            s.bound[s.bindings++] = (eg__binding){{i}, s.data[LEAVES]};
        }
    take_gradient(&s, r, checkpoints);
    for (unsigned i = 0; s.d[0].id && i < r->leaves; i++) check_leaf(&s, r, i);
    for (unsigned i = 0; i <= LEAVES; i++) free(s.data[i]);
    eg_graph_destroy(s.graph);
}

/* A rounding has no slope that differences could show. */
static bool is_straight(const rule *r) { return strncmp(r->name, "round_", 6) == 0; }

TEST(gradient, rules) {
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    size_t count = 0;
    for (size_t i = 0; i < graph_rule_count; i++)
        if (!is_straight(&graph_rules[i])) {
            check_rule(memory, &graph_rules[i], false);
            check_rule(memory, &graph_rules[i], true);
            count++;
        }
    eg__memory_destroy(memory);
    test_claim("%zu cases of every rule, with checkpoints and without, against central differences",
               count);
}

/* A rounding has the gradient of a copy, and a value of its own: sum(w round(x)) by x is w. */
TEST(gradient, straight_through_roundings) {
    eg__memory *memory;
    eg_error error;
    static eg_node (*const roundings[])(eg_graph *, eg_node) = {eg_round_f16, eg_round_bf16};
    static const double rounded[2][4] = {{1.0009765625, -3, 0, INFINITY},
                                         {1, -3, 0x1.12p-30, 70144}};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (unsigned k = 0; k < 2; k++) {
        eg_graph *g;
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        double values[] = {1.001, -3, 1e-9, 70000}, y[4], d[4], *out[] = {y, d};
        eg_node x = eg_parameter(g, "x", 1, (uint64_t[]){4}), slope;
        eg_node nodes[] = {roundings[k](g, x), {0}};
        float weights[] = {2, -3, 5, 0.5f};
        const eg_tensor tensor = {EG_F32, 1, {4}, weights};
        eg_node loss = eg_sum(g, eg_mul(g, nodes[0], eg_constant(g, &tensor)), EG_ALL_AXES, 0);
        CHECK_OK(eg_gradient(g, loss, 1, &x, &slope, &error), error);
        nodes[1] = slope;
        const eg__binding bound = {x, values};
        CHECK_OK(eg__graph_evaluate(g, 1, &bound, 2, nodes, out, true, 7, &error), error);
        for (unsigned i = 0; i < 4; i++) {
            CHECK(d[i] == (double)weights[i], "rounding %u: gradient %g", k, d[i]);
            CHECK(y[i] == rounded[k][i], "rounding %u of %g is %.12g", k, values[i], y[i]);
        }
        eg_graph_destroy(g);
    }
    eg__memory_destroy(memory);
}
