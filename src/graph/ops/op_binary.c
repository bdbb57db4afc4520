/* Functions of two values, which broadcast as in numpy. */
#include "graph/lower/lower.h"

#include <math.h>

static const char *const names[EG__BINARY_COUNT] = {
#define NAME(name) #name,
    EG_BINARY_MAP(NAME)
#undef NAME
};

static const char *kind_name(unsigned kind) {
    return kind < EG__BINARY_COUNT ? names[kind] : "binary";
}

#define DEFINE(name)                                                                   \
    eg_node eg_##name(eg_graph *graph, eg_node a, eg_node b) {                         \
        return eg__graph_add2(graph, EG__GRAPH_binary, EG__BINARY_##name, a, b, NULL); \
    }
EG_BINARY_MAP(DEFINE)
#undef DEFINE

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    if (a->type != EG_F32 || b->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s' and '%s'",
                        eg_type_name(a->type), eg_type_name(b->type));
    node->type = EG_F32;
    return eg__broadcast_shape(a, b, node, error);
}

static double apply(eg__binary kind, double a, double b) {
    switch (kind) {
    case EG__BINARY_add: return a + b;
    case EG__BINARY_sub: return a - b;
    case EG__BINARY_mul: return a * b;
    case EG__BINARY_div: return a / b;
    case EG__BINARY_min: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case EG__BINARY_max: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case EG__BINARY_pow: return pow(a, b);
    case EG__BINARY_lt: return a < b;
    case EG__BINARY_le: return a <= b;
    case EG__BINARY_eq: return a == b;
    case EG__BINARY_ne: return a != b;
    case EG__BINARY_COUNT: break;
    }
    return NAN;
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    for (uint64_t i = 0; i < eg__node_elements(node); i++)
        out[i] = apply(node->kind, in[0][eg__broadcast_index(node, a, i)],
                       in[1][eg__broadcast_index(node, b, i)]);
}

/* Gradient of max and min: 1 for the larger (smaller) operand, one half each for ties. */
static eg_node winner(eg_graph *g, eg_node smaller, eg_node larger) {
    return eg_add(g, eg_lt(g, smaller, larger),
                  eg_mul(g, eg_scalar(g, 0.5), eg_eq(g, smaller, larger)));
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node a = eg__node_input(g, &n, 0), b = eg__node_input(g, &n, 1);
    const bool da = eg__backward_wants(backward, a), db = eg__backward_wants(backward, b);
#define A  eg__backward_value(backward, a)
#define B_ eg__backward_value(backward, b)
#define Y  eg__backward_value(backward, node)
    switch ((eg__binary)n.kind) {
    case EG__BINARY_add:
        if (da) eg__backward_give(backward, a, d);
        if (db) eg__backward_give(backward, b, d);
        break;
    case EG__BINARY_sub:
        if (da) eg__backward_give(backward, a, d);
        if (db) eg__backward_give(backward, b, eg_neg(g, d));
        break;
    case EG__BINARY_mul:
        if (da) eg__backward_give(backward, a, eg_mul(g, d, B_));
        if (db) eg__backward_give(backward, b, eg_mul(g, d, A));
        break;
    case EG__BINARY_div:
        if (da) eg__backward_give(backward, a, eg_div(g, d, B_));
        if (db) eg__backward_give(backward, b, eg_neg(g, eg_div(g, eg_mul(g, d, Y), B_)));
        break;
    case EG__BINARY_min:
        if (da) eg__backward_give(backward, a, eg_mul(g, d, winner(g, A, B_)));
        if (db) eg__backward_give(backward, b, eg_mul(g, d, winner(g, B_, A)));
        break;
    case EG__BINARY_max:
        if (da) eg__backward_give(backward, a, eg_mul(g, d, winner(g, B_, A)));
        if (db) eg__backward_give(backward, b, eg_mul(g, d, winner(g, A, B_)));
        break;
    case EG__BINARY_pow:
        if (da) {
            eg_node lower = eg_pow(g, A, eg_sub(g, B_, eg_scalar(g, 1)));
            eg__backward_give(backward, a, eg_mul(g, d, eg_mul(g, B_, lower)));
        }
        if (db) eg__backward_give(backward, b, eg_mul(g, d, eg_mul(g, Y, eg_log(g, A))));
        break;
    default: break; /* comparisons have zero gradient */
    }
#undef A
#undef B_
#undef Y
}

/* in the order of EG_BINARY_MAP */
static unsigned fused(const eg__node *node) {
    static const unsigned char code[EG__BINARY_COUNT] = {
        EG__FUSED_ADD, EG__FUSED_SUB, EG__FUSED_MUL, EG__FUSED_DIV, EG__FUSED_MIN, EG__FUSED_MAX,
        EG__FUSED_POW, EG__FUSED_LT,  EG__FUSED_LE,  EG__FUSED_EQ,  EG__FUSED_NE};
    return code[node->kind];
}

const eg__op eg__op_binary = {.name = "binary",
                              .kinds = EG__BINARY_COUNT,
                              .kind_name = kind_name,
                              .infer = infer,
                              .flops = eg__flops_per_element,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .fused = fused,
                              .time = eg__time_aligned,
                              .keeps_items = eg__keeps_aligned,
                              .lifts = eg__lifts_always};
