/* Losses, as graphs. */
#include "elegans/train.h"
#include "nn/model.h"

const char *eg_loss_name(eg_loss loss) {
    static const char *const names[] = {"mse", "mae", "huber", "binary", "classes"};
    return (unsigned)loss < 5 ? names[loss] : NULL;
}

eg_link eg_loss_link(eg_loss loss) { return eg__link_of_loss(eg_loss_name(loss)); }

/* 0.5 e^2 near 0, |e| - 0.5 beyond 1 */
static eg_node huber(eg_graph *g, eg_node error) {
    eg_node size = eg_abs(g, error), half = eg_scalar(g, 0.5);
    eg_node square = eg_mul(g, half, eg_mul(g, error, error));
    return eg_select(g, eg_lt(g, size, eg_scalar(g, 1)), square, eg_sub(g, size, half));
}

/* max(y, 0) - y t + log(1 + exp(-|y|)): no exponential can overflow */
static eg_node binary(eg_graph *g, eg_node y, eg_node target) {
    return eg_sub(g, eg_softplus(g, y), eg_mul(g, y, target));
}

/* -log softmax(y) at the class: a comparison with all class numbers picks it. */
static eg_node classes(eg_graph *g, eg_node y, eg_node target) {
    const eg__node n = *eg__node_at(g, y);
    const uint64_t count = n.rank ? n.shape[n.rank - 1] : 0;
    float *numbers =
        eg__memory_take_array(g->memory, EG_TAG_GRAPH, (size_t)count + 1, sizeof *numbers, NULL);
    if (!numbers) return eg__graph_mistake(g, EG_ERR_MEMORY, "no memory for class numbers");
    for (uint64_t i = 0; i < count; i++) numbers[i] = (float)i;
    const eg_tensor tensor = {EG_F32, 1, {count}, numbers};
    eg_node is_class = eg_eq(g, target, eg_constant(g, &tensor));
    eg__memory_give(g->memory, numbers);
    eg_node picked = eg_mul(g, is_class, eg_log_softmax(g, y));
    return eg_neg(g, eg_sum(g, picked, 1u << (n.rank - 1), 1));
}

eg_node eg_loss_node(eg_graph *g, eg_loss loss, eg_node y, eg_node target, eg_node weight) {
    if (!g || !y.id || !target.id) return (eg_node){0};
    eg_node each = {0};
    switch (loss) {
    case EG_LOSS_MSE: {
        eg_node error = eg_sub(g, y, target);
        each = eg_mul(g, error, error);
        break;
    }
    case EG_LOSS_MAE: each = eg_abs(g, eg_sub(g, y, target)); break;
    case EG_LOSS_HUBER: each = huber(g, eg_sub(g, y, target)); break;
    case EG_LOSS_BINARY: each = binary(g, y, target); break;
    case EG_LOSS_CLASSES: each = classes(g, y, target); break;
    default: return eg__graph_mistake(g, EG_ERR_ARGUMENT, "unknown loss %d", (int)loss);
    }
    if (!each.id) return each;
    if (!weight.id) return eg_mean(g, each, EG_ALL_AXES, 0);
    const eg__node n = *eg__node_at(g, each), w = *eg__node_at(g, weight);
    /* a weight per row is broadcast to its elements */
    const bool whole = n.rank && (!w.rank || w.shape[w.rank - 1] != n.shape[n.rank - 1]);
    const double width = whole ? (double)n.shape[n.rank - 1] : 1;
    eg_node total = eg_sum(g, eg_mul(g, each, weight), EG_ALL_AXES, 0);
    eg_node counted = eg_mul(g, eg_sum(g, weight, EG_ALL_AXES, 0), eg_scalar(g, width));
    /* a batch with a total weight of 0 has loss 0, not 0/0 */
    return eg_div(g, total, eg_max(g, counted, eg_scalar(g, 1e-30)));
}
