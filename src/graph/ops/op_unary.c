/* Functions of one value. */
#include "graph/lower/lower.h"

#include <math.h>

static const char *const names[EG__UNARY_COUNT] = {
#define NAME(name) #name,
    EG_UNARY_MAP(NAME)
#undef NAME
};

static const char *kind_name(unsigned kind) {
    return kind < EG__UNARY_COUNT ? names[kind] : "unary";
}

#define DEFINE(name)                                                              \
    eg_node eg_##name(eg_graph *graph, eg_node x) {                               \
        return eg__graph_add1(graph, EG__GRAPH_unary, EG__UNARY_##name, x, NULL); \
    }
EG_UNARY_MAP(DEFINE)
#undef DEFINE

/* Rounds to `digits` binary digits; below 2^least, the denormal range, to multiples of 2^(least -
 * digits). */
static double round_to(double x, int digits, int least, double most) {
    int exponent;
    if (!isfinite(x)) return x;
    frexp(x, &exponent);
    const int place = (exponent < least ? least : exponent) - digits;
    const double y = ldexp(rint(ldexp(x, -place)), place);
    return fabs(y) > most ? copysign(INFINITY, x) : y;
}

static double apply(eg__unary kind, double x) {
    switch (kind) {
    case EG__UNARY_neg: return -x;
    case EG__UNARY_abs: return fabs(x);
    case EG__UNARY_sqrt: return sqrt(x);
    case EG__UNARY_rsqrt: return 1 / sqrt(x);
    case EG__UNARY_exp: return exp(x);
    case EG__UNARY_log: return log(x);
    case EG__UNARY_tanh: return tanh(x);
    case EG__UNARY_sigmoid: return 1 / (1 + exp(-x));
    case EG__UNARY_softplus: return fmax(x, 0) + log1p(exp(-fabs(x)));
    case EG__UNARY_erf: return erf(x);
    case EG__UNARY_gelu: return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case EG__UNARY_silu: return x / (1 + exp(-x));
    case EG__UNARY_relu: return x < 0 ? 0 : x;
    case EG__UNARY_sin: return sin(x);
    case EG__UNARY_cos: return cos(x);
    case EG__UNARY_round_f16: return round_to(x, 11, -13, 65504);
    case EG__UNARY_round_bf16: return round_to(x, 8, -125, 0x1.fep127);
    case EG__UNARY_COUNT: break;
    }
    return NAN;
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    for (uint64_t i = 0; i < eg__node_elements(node); i++) out[i] = apply(node->kind, in[0][i]);
}

/* d y / d x from x, y or the sigmoid s of x, whichever is cheapest. */
static eg_node slope(eg_graph *g, eg__unary kind, eg_node x, eg_node y, eg_node s) {
    const eg_node one = eg_scalar(g, 1), half = eg_scalar(g, 0.5), zero = eg_scalar(g, 0);
    switch (kind) {
    case EG__UNARY_neg: return eg_scalar(g, -1);
    case EG__UNARY_abs: return eg_sub(g, eg_lt(g, zero, x), eg_lt(g, x, zero)); /* 0 at 0 */
    case EG__UNARY_sqrt: return eg_div(g, half, y);
    case EG__UNARY_rsqrt: return eg_mul(g, eg_scalar(g, -0.5), eg_mul(g, y, eg_mul(g, y, y)));
    case EG__UNARY_exp: return y;
    case EG__UNARY_log: return eg_div(g, one, x);
    case EG__UNARY_tanh: return eg_sub(g, one, eg_mul(g, y, y));
    case EG__UNARY_sigmoid: return eg_mul(g, y, eg_sub(g, one, y));
    case EG__UNARY_softplus: return s;
    case EG__UNARY_erf:
        return eg_mul(g, eg_scalar(g, 1.12837916709551257390),
                      eg_exp(g, eg_neg(g, eg_mul(g, x, x))));
    case EG__UNARY_gelu: { /* Phi(x) + x phi(x) */
        eg_node cdf = eg_mul(
            g, half, eg_add(g, one, eg_erf(g, eg_mul(g, x, eg_scalar(g, 0.70710678118654752440)))));
        eg_node square = eg_mul(g, eg_mul(g, x, x), eg_scalar(g, -0.5));
        eg_node density = eg_mul(g, eg_scalar(g, 0.39894228040143267794), eg_exp(g, square));
        return eg_add(g, cdf, eg_mul(g, x, density));
    }
    case EG__UNARY_silu: return eg_add(g, s, eg_mul(g, y, eg_sub(g, one, s)));
    case EG__UNARY_relu: return eg_lt(g, zero, x);
    case EG__UNARY_sin: return eg_cos(g, x);
    case EG__UNARY_cos: return eg_neg(g, eg_sin(g, x));
    case EG__UNARY_round_f16:
    case EG__UNARY_round_bf16:
        return one; /* straight through: the true one is 0 nearly everywhere */
    case EG__UNARY_COUNT: break;
    }
    return (eg_node){0};
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node); /* a copy: adding nodes may move the array */
    eg_node x = eg__node_input(graph, &n, 0), s = {0};
    if (n.kind == EG__UNARY_softplus || n.kind == EG__UNARY_silu)
        s = eg__backward_unary(backward, EG__UNARY_sigmoid, x);
    eg_node rate = slope(graph, n.kind, eg__backward_value(backward, x),
                         eg__backward_value(backward, node), s);
    eg__backward_give(backward, x, eg_mul(graph, d, rate));
}

/* in the order of EG_UNARY_MAP */
static unsigned fused(const eg__node *node) {
    static const unsigned char code[EG__UNARY_COUNT] = {
        EG__FUSED_NEG,       EG__FUSED_ABS, EG__FUSED_SQRT, EG__FUSED_RSQRT,
        EG__FUSED_EXP,       EG__FUSED_LOG, EG__FUSED_TANH, EG__FUSED_SIGMOID,
        EG__FUSED_SOFTPLUS,  EG__FUSED_ERF, EG__FUSED_GELU, EG__FUSED_SILU,
        EG__FUSED_RELU,      EG__FUSED_SIN, EG__FUSED_COS,  EG__FUSED_ROUND_F16,
        EG__FUSED_ROUND_BF16};
    return code[node->kind];
}

/* Functions that take about twenty operations; storing and loading a value takes two. */
static bool is_kept(const eg__node *node) {
    switch ((eg__unary)node->kind) {
    case EG__UNARY_exp:
    case EG__UNARY_log:
    case EG__UNARY_tanh:
    case EG__UNARY_sigmoid:
    case EG__UNARY_softplus:
    case EG__UNARY_erf:
    case EG__UNARY_gelu:
    case EG__UNARY_silu:
    case EG__UNARY_sin:
    case EG__UNARY_cos: return true;
    default: return false;
    }
}

const eg__op eg__op_unary = {.name = "unary",
                             .kinds = EG__UNARY_COUNT,
                             .kind_name = kind_name,
                             .is_kept = is_kept,
                             .infer = eg__infer_like,
                             .flops = eg__flops_per_element,
                             .gradient = gradient,
                             .evaluate = evaluate,
                             .fused = fused,
                             .time = eg__time_aligned,
                             .keeps_items = eg__keeps_aligned,
                             .lifts = eg__lifts_always};
