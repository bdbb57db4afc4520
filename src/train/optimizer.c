/* Optimizers as graphs. Each is fused into one chain, which reads and writes everything once. */
#include "train/optimizer.h"

#include <math.h>

const char *eg_optimizer_name(eg_optimizer_kind kind) {
    static const char *const names[] = {"adam", "adamw", "sgd", "rmsprop"};
    return (unsigned)kind < 4 ? names[kind] : NULL;
}

eg_status eg__optimizer_complete(eg_optimizer *o, eg_error *error) {
    if (!eg_optimizer_name(o->kind))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown optimizer %d", (int)o->kind);
    const bool adam = o->kind == EG_ADAM || o->kind == EG_ADAMW;
    if (o->learning_rate == 0) o->learning_rate = 0.001;
    if (o->beta1 == 0) o->beta1 = adam ? 0.9 : 0;
    if (o->beta1 < 0) o->beta1 = 0;
    if (o->beta2 == 0) o->beta2 = o->kind == EG_RMSPROP ? 0.99 : 0.999;
    if (o->epsilon == 0) o->epsilon = 1e-8;
    if (!(o->learning_rate > 0) || !(o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1) ||
        !(o->epsilon > 0) || !(o->weight_decay >= 0) || !(o->clip_norm >= 0))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "optimizer: an option is out of range: rate %g, betas %g %g, "
                        "epsilon %g, decay %g, clip %g",
                        o->learning_rate, o->beta1, o->beta2, o->epsilon, o->weight_decay,
                        o->clip_norm);
    return EG_OK;
}

bool eg__optimizer_has_second(const eg_optimizer *o) { return o->kind != EG_SGD; }

/* ---- scalars */
const char *eg__optimizer_scalar_name(unsigned scalar) {
    static const char *const names[EG__OPTIMIZER_SCALARS] = {
        "scale", "decay", "beta1", "rest1", "beta2", "rest2", "rate", "epsilon", "shrink"};
    return scalar < EG__OPTIMIZER_SCALARS ? names[scalar] : NULL;
}

void eg__optimizer_scalars(const eg_optimizer *o, uint64_t step, double learning_rate, double scale,
                           float out[EG__OPTIMIZER_SCALARS]) {
    const bool adam = o->kind == EG_ADAM || o->kind == EG_ADAMW;
    /* bias correction: m / (1 - b1^t) and v / (1 - b2^t), as scalars outside of the loop */
    const double c1 = adam ? 1 - pow(o->beta1, (double)step) : 1;
    const double c2 = adam ? sqrt(1 - pow(o->beta2, (double)step)) : 1;
    out[EG__OPTIMIZER_SCALE] = (float)scale;
    out[EG__OPTIMIZER_DECAY] = (float)o->weight_decay;
    out[EG__OPTIMIZER_BETA1] = (float)o->beta1;
    out[EG__OPTIMIZER_REST1] = (float)(1 - o->beta1);
    out[EG__OPTIMIZER_BETA2] = (float)o->beta2;
    out[EG__OPTIMIZER_REST2] = (float)(1 - o->beta2);
    out[EG__OPTIMIZER_RATE] = (float)(-learning_rate * c2 / c1);
    out[EG__OPTIMIZER_EPSILON] = (float)(o->epsilon * c2);
    out[EG__OPTIMIZER_SHRINK] = (float)(1 - learning_rate * o->weight_decay);
}

/* ---- graphs. A product that only one sum reads becomes an FMA with it; of two products, the first
 * in the sum. */
static eg_node scalar(eg__optimizer_builder *b, eg__optimizer_scalar which) {
    if (!b->scalar[which].id)
        b->scalar[which] = eg_input(b->graph, eg__optimizer_scalar_name(which), EG_F32, 0, NULL);
    return b->scalar[which];
}

static eg_node times(eg__optimizer_builder *b, eg_node x, eg__optimizer_scalar which) {
    return eg_mul(b->graph, x, scalar(b, which));
}

/* m <- b1 m + (1 - b1) g; v <- b2 v + (1 - b2) g^2 */
static eg_node mean(eg__optimizer_builder *b, eg_node moment, eg_node x, bool is_first) {
    const eg_node old = times(b, moment, is_first ? EG__OPTIMIZER_BETA1 : EG__OPTIMIZER_BETA2);
    const eg_node part = times(b, x, is_first ? EG__OPTIMIZER_REST1 : EG__OPTIMIZER_REST2);
    const eg_node next = eg_add(b->graph, part, old);
    eg_update(b->graph, moment, next);
    return next;
}

/* x / (sqrt(v) + epsilon) */
static eg_node divide(eg__optimizer_builder *b, eg_node x, eg_node v) {
    return eg_div(b->graph, x,
                  eg_add(b->graph, eg_sqrt(b->graph, v), scalar(b, EG__OPTIMIZER_EPSILON)));
}

/* m <- b1 m + x */
static eg_node momentum(eg__optimizer_builder *b, eg_node moment, eg_node x) {
    const eg_node next = eg_add(b->graph, times(b, moment, EG__OPTIMIZER_BETA1), x);
    eg_update(b->graph, moment, next);
    return next;
}

/* The update direction, to be multiplied by the learning rate; g is the gradient. */
static eg_node direction(eg__optimizer_builder *b, const eg__optimizer_nodes *n, eg_node g) {
    switch (b->optimizer->kind) {
    case EG_SGD: return momentum(b, n->first, g);
    case EG_RMSPROP: {
        const eg_node v = mean(b, n->second, eg_mul(b->graph, g, g), false);
        return momentum(b, n->first, divide(b, g, v));
    }
    case EG_ADAM:
    case EG_ADAMW: break;
    }
    const eg_node m = mean(b, n->first, g, true);
    return divide(b, m, mean(b, n->second, eg_mul(b->graph, g, g), false));
}

void eg__optimizer_build(eg__optimizer_builder *b, const eg__optimizer_nodes *n, float least) {
    eg_graph *graph = b->graph;
    const bool decays = b->optimizer->weight_decay > 0, beside = b->optimizer->kind == EG_ADAMW;
    eg_node g = times(b, n->gradient, EG__OPTIMIZER_SCALE), p = n->parameter;
    if (decays && !beside) g = eg_add(graph, times(b, p, EG__OPTIMIZER_DECAY), g);
    const eg_node by = times(b, direction(b, n, g), EG__OPTIMIZER_RATE);
    if (decays && beside) p = times(b, p, EG__OPTIMIZER_SHRINK);
    p = eg_add(graph, by, p);
    if (isfinite(least)) { /* NaN becomes the least, too */
        const eg_node bound = eg_scalar(graph, (double)least);
        p = eg_select(graph, eg_lt(graph, bound, p), p, bound);
    }
    eg_update(graph, n->parameter, p);
}
