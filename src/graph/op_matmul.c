/* matmul: products of the last two axes; the others broadcast. index: a and b transposed. */
#include "graph/graph.h"

eg_node eg_matmul_transposed(eg_graph *graph, eg_node a, int a_transposed, eg_node b,
                             int b_transposed) {
    eg__attributes attributes = {{a_transposed != 0, b_transposed != 0}, 0};
    return eg__graph_add2(graph, EG__GRAPH_matmul, 0, a, b, &attributes);
}
eg_node eg_matmul(eg_graph *graph, eg_node a, eg_node b) {
    return eg_matmul_transposed(graph, a, 0, b, 0);
}

/* Rows and columns of an operand after its transposition. */
static uint64_t rows(const eg__node *x, bool transposed) {
    return x->shape[x->rank - (transposed ? 1 : 2)];
}
static uint64_t columns(const eg__node *x, bool transposed) { return rows(x, !transposed); }

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    const bool ta = node->attributes.index[0], tb = node->attributes.index[1];
    char first[160], second[160];
    if (a->type != EG_F32 || b->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s' and '%s'",
                        eg_type_name(a->type), eg_type_name(b->type));
    if (a->rank < 2 || b->rank < 2 || columns(a, ta) != rows(b, tb))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s%s times %s%s has no meaning",
                        eg__shape_text(a, first), ta ? " transposed" : "",
                        eg__shape_text(b, second), tb ? " transposed" : "");
    eg__node left = *a, right = *b;
    left.rank -= 2;
    right.rank -= 2;
    eg_status status = eg__broadcast_shape(&left, &right, node, error);
    if (status) return status;
    node->type = EG_F32;
    node->shape[node->rank++] = rows(a, ta);
    node->shape[node->rank++] = columns(b, tb);
    return EG_OK;
}

static double flops(const eg_graph *graph, const eg__node *node) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    return 2.0 * (double)eg__node_elements(node) *
           (double)columns(a, node->attributes.index[0] != 0);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node a = eg__node_input(g, &n, 0), b = eg__node_input(g, &n, 1);
    const int ta = n.attributes.index[0] != 0, tb = n.attributes.index[1] != 0;
    if (eg__backward_wants(backward, a)) { /* dA = D B', or its transpose */
        eg_node value = eg__backward_value(backward, b);
        eg__backward_give(backward, a,
                          ta ? eg_matmul_transposed(g, value, tb, d, 1)
                             : eg_matmul_transposed(g, d, 0, value, !tb));
    }
    if (eg__backward_wants(backward, b)) { /* dB = A' D, or its transpose */
        eg_node value = eg__backward_value(backward, a);
        eg__backward_give(backward, b,
                          tb ? eg_matmul_transposed(g, d, 1, value, ta)
                             : eg_matmul_transposed(g, value, !ta, d, 0));
    }
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    const bool ta = node->attributes.index[0], tb = node->attributes.index[1];
    const uint64_t m = rows(a, ta), k = columns(a, ta), n = columns(b, tb);
    eg__node batch = *node, left = *a, right = *b;
    batch.rank -= 2;
    left.rank -= 2;
    right.rank -= 2;
    for (uint64_t at = 0; at < eg__node_elements(&batch); at++, out += m * n) {
        const double *x = in[0] + eg__broadcast_index(&batch, &left, at) * m * k;
        const double *y = in[1] + eg__broadcast_index(&batch, &right, at) * k * n;
        for (uint64_t i = 0; i < m; i++)
            for (uint64_t j = 0; j < n; j++) {
                double sum = 0;
                for (uint64_t p = 0; p < k; p++)
                    sum += x[ta ? p * m + i : i * k + p] * y[tb ? j * k + p : p * n + j];
                out[i * n + j] = sum;
            }
    }
}

const eg__op eg__op_matmul = {
    .name = "matmul", .infer = infer, .flops = flops, .gradient = gradient, .evaluate = evaluate};
