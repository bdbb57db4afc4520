/* The operations that random graphs are made of, each on values that it may have. */
#include "random_graph.h"

#include "test.h"

#include <math.h>

typedef eg_node (*unary_function)(eg_graph *, eg_node);
typedef eg_node (*binary_function)(eg_graph *, eg_node, eg_node);

uint64_t random_draw(maker *m, uint64_t n) { /* splitmix64, below n */
    uint64_t z = m->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

item random_tame(maker *m, item x, double most) {
    if (x.bound <= most) return x;
    if (random_draw(m, 2))
        return (item){eg_mul(m->g, x.node, eg_scalar(m->g, most / x.bound)), most};
    return (item){eg_tanh(m->g, x.node), 1};
}
item random_keep(maker *m, eg_node node, double bound) {
    item x = random_tame(m, (item){node, bound}, 16);
    return m->pool[m->count < POOL ? m->count++ : POOL - 1] = x;
}

/* ---- leaves */
item random_leaf(maker *m, unsigned rank, const uint64_t *shape) {
    static float data[MOST];
    char name[16];
    eg_tensor t = {.type = EG_F32, .rank = rank, .data = data};
    uint64_t n = 1;
    snprintf(name, sizeof name, "x%u", m->leaves++);
    for (unsigned i = 0; i < rank; i++) n *= t.shape[i] = shape[i];
    const uint64_t kind = random_draw(m, 8), few = random_draw(m, 3);
    if (kind > 3 || (kind == 0 && n > MOST))
        return random_keep(m, eg_input(m->g, name, EG_F32, rank, shape), 1);
    if (kind) return random_keep(m, eg_parameter(m->g, name, rank, shape), 1);
    for (uint64_t i = 0; i < n; i++)
        data[i] = few ? (float)random_draw(m, 2000) * 0.001f - 1 : (float)random_draw(m, 3) - 1;
    return random_keep(m, eg_constant(m->g, &t), 1);
}
uint64_t random_extent(maker *m) {
    static const uint64_t some[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    return random_draw(m, 4) ? m->favourite[random_draw(m, 4)] : some[random_draw(m, 12)];
}
unsigned random_shape(maker *m, uint64_t *shape, unsigned ranks, uint64_t most) {
    const unsigned rank = (unsigned)random_draw(m, ranks + 1);
    for (unsigned i = 0; i < rank; i++) {
        shape[i] = random_extent(m);
        if (shape[i] > most) shape[i] = 1;
        most /= shape[i] ? shape[i] : 1;
    }
    return rank;
}
item random_new_leaf(maker *m) {
    uint64_t shape[EG_RANK_MAX] = {0};
    const unsigned ranks = random_draw(m, 12) ? 3 : 6;
    return random_leaf(m, random_shape(m, shape, ranks, random_draw(m, 20) ? 400 : MOST), shape);
}

/* ---- picking */
item random_pick(maker *m) {
    const size_t recent = m->count < 4 ? m->count : 4;
    if (random_draw(m, 3) == 0) return m->pool[m->count - 1 - random_draw(m, recent)];
    if (m->inside && m->inside < m->count && random_draw(m, 4))
        return m->pool[m->inside + random_draw(m, m->count - m->inside)];
    return m->pool[random_draw(m, m->count)];
}
static item pick_rank(maker *m, unsigned least) {
    const uint64_t shape[] = {random_extent(m), random_extent(m)};
    for (int i = 0; i < 8; i++) {
        item x = random_pick(m);
        if (at(m, x)->rank >= least) return x;
    }
    return random_leaf(m, least, shape);
}
/* The leading axes of both broadcast, and to how much. */
static bool meets(const eg__node *a, const eg__node *b, unsigned last, uint64_t most) {
    for (unsigned i = last; i < a->rank || i < b->rank; i++) {
        const uint64_t x = i < a->rank ? a->shape[a->rank - 1 - i] : 1,
                       y = i < b->rank ? b->shape[b->rank - 1 - i] : 1, n = x == 1 ? y : x;
        if (x != y && x != 1 && y != 1) return false;
        most /= n ? n : 1;
    }
    return most > 0;
}
static bool is_given(const maker *m, item x) {
    const eg__node *n = at(m, x);
    if (n->op == EG__GRAPH_step) n = eg__node_at(m->g, eg__node_input(m->g, n, 1));
    return n->op == EG__GRAPH_input || n->op == EG__GRAPH_parameter || n->op == EG__GRAPH_constant;
}
/* Something that x can be added to; `given` = that is not computed, and so not rounded. */
item random_partner(maker *m, item x, bool given) {
    const eg__node n = *at(m, x);
    uint64_t shape[EG_RANK_MAX] = {0};
    for (int i = 0; i < 6; i++) {
        item y = random_pick(m);
        if (meets(&n, at(m, y), 0, MOST) && (!given || is_given(m, y))) return y;
    }
    const unsigned skip = (unsigned)random_draw(m, n.rank + 1);
    for (unsigned i = skip; i < n.rank; i++) shape[i - skip] = random_draw(m, 4) ? n.shape[i] : 1;
    return random_leaf(m, n.rank - skip, shape);
}
static eg_node index_below(maker *m, uint64_t rows) {
    int32_t data[12];
    eg_tensor t = {
        EG_I32, (unsigned)random_draw(m, 3), {1 + random_draw(m, 4), 1 + random_draw(m, 3)}, data};
    char name[16];
    snprintf(name, sizeof name, "x%u", m->leaves++);
    if (random_draw(m, 3) == 0) return eg_input(m->g, name, EG_I32, t.rank, t.shape);
    item x = random_pick(m);
    if (is_given(m, x) && at(m, x)->rank && at(m, x)->rank < 4 && size_of(m, x) % 200)
        return eg_argmax(m->g, x.node);
    for (int i = 0; i < 12; i++)
        data[i] = (int32_t)random_draw(m, rows + 1) - (random_draw(m, 9) == 0);
    return eg_constant(m->g, &t);
}

/* ---- operations */
static eg_node positive(maker *m, item x) {
    if (random_draw(m, 2))
        return eg_add(m->g, eg_sigmoid(m->g, random_tame(m, x, 4).node), eg_scalar(m->g, 0.3));
    x = random_tame(m, x, 1.5);
    return eg_add(m->g, eg_mul(m->g, x.node, x.node), eg_scalar(m->g, 0.5));
}
void random_unary(maker *m, item x) {
    static const unary_function any[] = {eg_neg,  eg_abs,  eg_tanh, eg_sigmoid, eg_softplus, eg_erf,
                                         eg_gelu, eg_silu, eg_relu, eg_sin,     eg_cos};
    static const unary_function above[] = {eg_sqrt, eg_rsqrt, eg_log};
    const uint64_t which = random_draw(m, 14);
    if (which == 13) random_keep(m, eg_exp(m->g, random_tame(m, x, 1).node), 3);
    else if (which > 10) random_keep(m, above[random_draw(m, 3)](m->g, positive(m, x)), 2);
    else random_keep(m, any[which](m->g, random_tame(m, x, 4).node), fmax(1, fmin(4, x.bound)));
}
void random_binary(maker *m, item x, item y) {
    static const binary_function sums[] = {eg_add, eg_add, eg_sub, eg_min, eg_max};
    static const binary_function tests[] = {eg_lt, eg_le, eg_eq, eg_ne};
    const uint64_t which = random_draw(m, 12);
    if (which < 5) random_keep(m, sums[which](m->g, x.node, y.node), x.bound + y.bound);
    else if (which < 8) random_keep(m, eg_mul(m->g, x.node, y.node), x.bound * y.bound);
    else if (which == 8) random_keep(m, eg_div(m->g, x.node, positive(m, y)), 3 * x.bound);
    else if (which == 9) random_keep(m, eg_pow(m->g, positive(m, x), random_tame(m, y, 2).node), 9);
    else {
        const eg_node sum = eg_add(m->g, x.node, y.node); /* all of them meet by way of it */
        item a = random_partner(m, (item){sum, 1}, true);
        eg_node test = tests[random_draw(m, 4)](m->g, a.node, random_partner(m, a, true).node);
        if (which == 10 || !meets(eg__node_at(m->g, test), eg__node_at(m->g, sum), 0, MOST))
            random_keep(m, test, 1);
        else random_keep(m, eg_select(m->g, test, x.node, sum), x.bound + y.bound);
    }
}
void random_product(maker *m) {
    item a = random_tame(m, pick_rank(m, 2), 3), b = {0};
    const eg__node n = *at(m, a);
    const unsigned ta = random_draw(m, 4) == 0, tb = (unsigned)random_draw(m, 2);
    const uint64_t depth = n.shape[n.rank - 1 - ta], width = random_extent(m);
    uint64_t shape[EG_RANK_MAX] = {0};
    unsigned rank = 0;
    for (int i = 0; i < 6 && !b.node.id; i++) {
        item y = random_pick(m);
        const eg__node *k = at(m, y);
        if (k->rank >= 2 && k->shape[k->rank - 2 + tb] == depth && meets(&n, k, 2, 60)) b = y;
    }
    for (unsigned i = random_draw(m, 3) ? 2 : n.rank; i > 2; i--)
        shape[rank++] = random_draw(m, 3) ? n.shape[n.rank - i] : 1;
    shape[rank++] = tb ? width : depth;
    shape[rank++] = tb ? depth : width;
    b = b.node.id ? random_tame(m, b, 3) : random_leaf(m, rank, shape);
    const double bound = a.bound * b.bound * sqrt((double)depth + 1);
    item y = random_keep(m, eg_matmul_transposed(m->g, a.node, (int)ta, b.node, (int)tb), bound);
    if (random_draw(m, 2)) return;
    const uint64_t columns = at(m, y)->shape[at(m, y)->rank - 1]; /* what often follows one */
    y = random_keep(m, eg_add(m->g, y.node, random_leaf(m, 1, &columns).node), y.bound + 1);
    if (random_draw(m, 2)) random_unary(m, y);
}
/* Filters for the channels that are there: of sequences or, with four axes, of images. */
void random_conv(maker *m) {
    item x = random_tame(m, pick_rank(m, 2), 3);
    eg__node n = *at(m, x);
    if (n.rank != 3 && n.rank != 4) { /* what comes first are samples */
        uint64_t shape[] = {1, n.shape[n.rank - 2], n.shape[n.rank - 1]};
        for (unsigned i = 0; i + 2 < n.rank; i++) shape[0] *= n.shape[i];
        x.node = eg_reshape(m->g, x.node, 3, shape);
        n = *at(m, x);
    }
    if (!n.shape[1] || !n.shape[2] || !n.shape[n.rank - 1]) return;
    const bool alone = random_draw(m, 2);
    uint64_t shape[4] = {alone ? n.shape[1] * (1 + random_draw(m, 2)) : 1 + random_extent(m),
                         alone ? 1 : n.shape[1]};
    eg_conv_options o = {.groups = alone ? (uint32_t)n.shape[1] : 1};
    for (unsigned i = 2; i < n.rank; i++) {
        shape[i] = 1 + random_draw(m, n.shape[i] < 5 ? n.shape[i] : 5);
        o.stride[i - 2] = (uint32_t)(1 + random_draw(m, 3));
        o.dilation[i - 2] = (uint32_t)(1 + random_draw(m, 2));
        o.before[i - 2] = (uint32_t)(shape[i] + random_draw(m, 3));
        o.after[i - 2] = (uint32_t)random_draw(m, 3);
    }
    const item w = random_leaf(m, n.rank, shape);
    const double depth = (double)(shape[1] * shape[2]) * (n.rank == 4 ? (double)shape[3] : 1);
    const item y = {eg_conv(m->g, &o, x.node, w.node), x.bound * w.bound * sqrt(depth + 1)};
    if (size_of(m, y) <= MOST) random_keep(m, y.node, y.bound);
}
void random_movement(maker *m) {
    item x = pick_rank(m, 1);
    const eg__node n = *at(m, x);
    const unsigned axis = (unsigned)random_draw(m, n.rank);
    uint64_t shape[1 + EG_RANK_MAX] = {random_extent(m)}, *rest = shape + 1, all = 1;
    unsigned rank = 0, order[EG_RANK_MAX] = {0, 1, 2, 3, 4, 5};
    eg_node parts[4] = {x.node};
    size_t count = 1;
    switch (random_draw(m, 7)) {
    case 0: /* axes joined, cut and added */
        for (unsigned i = 0; i < n.rank; i++) {
            const bool cuts =
                n.shape[i] % 2 == 0 && rank + n.rank - i < EG_RANK_MAX && random_draw(m, 2);
            if (rank && random_draw(m, 3) == 0) rest[rank - 1] *= n.shape[i];
            else {
                if (cuts) rest[rank++] = 2;
                rest[rank++] = cuts ? n.shape[i] / 2 : n.shape[i];
            }
        }
        if (rank < EG_RANK_MAX && random_draw(m, 3) == 0) rest[rank++] = 1;
        random_keep(m, eg_reshape(m->g, x.node, rank, rest), x.bound);
        return;
    case 1:
        for (unsigned i = 0; i < n.rank; i++) {
            const unsigned k = (unsigned)random_draw(m, n.rank), swap = order[i];
            order[i] = order[k], order[k] = swap;
        }
        random_keep(m, eg_transpose(m->g, x.node, order), x.bound);
        return;
    case 2:
        all = random_draw(
            m, n.shape[axis] + (random_draw(m, 12) == 0 || !n.shape[axis])); /* seldom of nothing */
        count =
            n.shape[axis] - all > 1 ? 1 + random_draw(m, n.shape[axis] - all) : n.shape[axis] - all;
        random_keep(m, eg_slice(m->g, x.node, axis, all, count), x.bound);
        return;
    case 3:
        for (int i = 0; i < 8 && count < 4; i++) {
            item y = i < 6 ? random_pick(m) : x;
            bool fits = at(m, y)->rank == n.rank && random_draw(m, 3);
            for (unsigned a = 0; fits && a < n.rank; a++)
                fits = a == axis || at(m, y)->shape[a] == n.shape[a];
            if (fits) parts[count++] = y.node;
        }
        if (size_of(m, x) * count < MOST) random_keep(m, eg_concat(m->g, axis, count, parts), 16);
        return;
    case 4:
        for (unsigned i = 0; i < n.rank; i++) {
            rest[i] = n.shape[i] == 1 && random_draw(m, 2) ? random_extent(m) : n.shape[i];
            all *= rest[i];
        }
        rank = n.rank < EG_RANK_MAX && all * shape[0] < MOST && random_draw(m, 2);
        if (all < MOST)
            random_keep(m, eg_broadcast(m->g, x.node, n.rank + rank, rest - rank), x.bound);
        return;
    case 5:
        random_keep(m,
                    eg_pad(m->g, x.node, axis, random_draw(m, 3), random_draw(m, 3),
                           0.25 * (double)random_draw(m, 3)),
                    16);
        return;
    default: {
        const eg_node index = index_below(m, n.shape[0]);
        const eg__node *k = eg__node_at(m->g, index);
        bool fits = k->rank <= n.rank && n.rank - k->rank < EG_RANK_MAX;
        for (unsigned i = 0; fits && i < k->rank; i++) fits = k->shape[i] == n.shape[i];
        if (fits)
            random_keep(m, eg_scatter_add(m->g, x.node, index, 1 + random_draw(m, 5)), 2 * x.bound);
        else if (n.rank + k->rank <= EG_RANK_MAX)
            random_keep(m, eg_gather(m->g, x.node, index), x.bound);
    }
    }
}
void random_over_axes(maker *m) {
    item x = random_tame(m, pick_rank(m, 1), 4);
    const eg__node n = *at(m, x);
    const uint64_t kind = random_draw(m, size_of(m, x) ? 7 : 3),
                   axes = random_draw(m, 1u << n.rank);
    const double bound = x.bound * sqrt((double)size_of(m, x) + 1);
    if (kind == 0)
        random_keep(m, eg_sum(m->g, x.node, (unsigned)axes, (int)random_draw(m, 2)), bound);
    else if (kind == 1) random_keep(m, eg_softmax(m->g, x.node), 1);
    else if (kind == 2) random_keep(m, eg_log_softmax(m->g, x.node), 9);
    else if (kind == 3) random_keep(m, eg_layer_norm(m->g, x.node, 0.1), 4);
    else if (kind == 4) random_keep(m, eg_rms_norm(m->g, x.node, 0.1), 4);
    else if (kind == 5)
        random_keep(m, eg_mean(m->g, x.node, (unsigned)axes, (int)random_draw(m, 2)), x.bound);
    else
        random_keep(m, eg_reduce_max(m->g, x.node, (unsigned)axes, (int)random_draw(m, 2)),
                    x.bound);
}
void random_state(maker *m) {
    item x = random_tame(m, m->pool[random_draw(m, m->count)], 4);
    const eg__node n = *at(m, x);
    char name[16];
    if (n.scan || m->states > 3) return;
    snprintf(name, sizeof name, "s%u", m->states++);
    eg_node s = eg_state(m->g, name, n.rank, n.shape);
    if (random_draw(m, 2)) random_keep(m, s, 1);
    if (random_draw(m, 2))
        x = (item){eg_add(m->g, eg_mul(m->g, s, eg_scalar(m->g, 0.5)), x.node), 6};
    eg_node after = eg_update(m->g, s, x.node);
    if (random_draw(m, 2)) random_keep(m, after, x.bound);
}
