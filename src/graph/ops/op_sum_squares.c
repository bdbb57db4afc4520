/* sum_squares: the sum of the squares of all elements, in double. It is for the norm of gradients:
 * squares of floats can overflow, and a sum of millions needs more digits than a float has. */
#include "graph/lower/lower.h"
#include "graph/ops/squares.h"

#include <math.h>

eg_node eg_sum_squares(eg_graph *graph, eg_node x) {
    return eg__graph_add1(graph, EG__GRAPH_sum_squares, 0, x, NULL);
}

/* ---- a double as four floats: three times 24 bits are more than its 53 */
void eg__squares_split(double sum, float y[EG__SQUARES_PARTS]) {
    int exponent = 0;
    double rest = isfinite(sum) ? frexp(sum, &exponent) : 0;
    for (unsigned i = 0; i < 3; i++) {
        y[i] = (float)rest;
        rest -= (double)y[i];
    }
    if (!isfinite(sum)) y[0] = (float)sum;
    y[3] = (float)exponent;
}

double eg_sum_squares_value(const float y[EG__SQUARES_PARTS]) {
    return ldexp((double)y[0] + (double)y[1] + (double)y[2], (int)y[3]);
}

static uint64_t size_of(const eg_graph *graph, const eg__node *node) {
    return eg__node_elements(eg__node_at(graph, eg__node_input(graph, node, 0)));
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    if (x->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'", eg_type_name(x->type));
    node->type = EG_F32;
    node->rank = 1;
    node->shape[0] = EG__SQUARES_PARTS;
    return EG_OK;
}

/* One multiplication and one addition per element. */
static double flops(const eg_graph *graph, const eg__node *node) {
    return 2.0 * (double)size_of(graph, node);
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    float parts[EG__SQUARES_PARTS];
    double sum = 0;
    for (uint64_t i = 0; i < size_of(graph, node); i++) sum += in[0][i] * in[0][i];
    eg__squares_split(sum, parts);
    for (unsigned i = 0; i < EG__SQUARES_PARTS; i++) out[i] = (double)parts[i];
}

/* Threads share the blocks; inside a scan one thread does all of them. */
static void lower(eg__lowering *l, uint32_t id) {
    const eg__view x = eg__lower_contiguous(l, eg__lower_input(l, id, 0));
    const eg__view y = eg__lower_dense_storage(l, id, 0);
    if (l->status) return;
    const size_t n = (size_t)size_of(l->graph, eg__lower_node(l, id));
    eg__step step =
        eg__lower_step(l, l->region[id], id, EG__STEP_sum_squares, 1, EG__SQUARES_PARTS);
    step.u.sum_squares = (eg__step_sum_squares){.n = n};
    if (l->region[id] == EG__REGION_MAIN) step.slices = (uint8_t)eg__squares_blocks(n);
    step.flops = 2 * (double)n;
    step.bytes = 4 * ((double)n + EG__SQUARES_PARTS);
    const eg__operand operands[] = {eg__lower_operand(&step, &x, n, true),
                                    eg__lower_operand(&step, &y, EG__SQUARES_PARTS, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

const eg__op eg__op_sum_squares = {.name = "sum_squares",
                                   .is_kept = eg__always_kept,
                                   .infer = infer,
                                   .flops = flops,
                                   .evaluate = evaluate,
                                   .lower = lower};
