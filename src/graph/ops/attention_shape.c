/* The sizes of attention, found from the shapes of its inputs and checked. */
#include "graph/ops/attention.h"

#include <math.h>

static const eg__node *at(const eg_graph *graph, const eg__node *node, int i) {
    return eg__node_at(graph, eg__node_input(graph, node, (unsigned)i));
}

static eg_status check_attributes(const eg__node *node, eg__attention_shape *s, eg_error *error) {
    const eg__attention_attributes *of = &node->attributes.attention;
    const bool back = node->op != EG__GRAPH_attention;
    if (of->heads < 1 || of->heads > INT32_MAX || of->kv_heads < 1 || of->heads % of->kv_heads)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "%llu query heads are not a multiple of %llu key heads",
                        (unsigned long long)of->heads, (unsigned long long)of->kv_heads);
    if (of->dropout_limit >= (uint64_t)1 << 53)
        return eg__fail(error, EG_ERR_ARGUMENT, "dropout %g is not within [0, 1)",
                        (double)of->dropout_limit * 0x1p-53);
    if (!isfinite(node->attributes.attention.scale))
        return eg__fail(error, EG_ERR_ARGUMENT, "the scale %g is not finite",
                        node->attributes.attention.scale);
    int inputs = 3;
    s->mask = of->has_mask ? inputs++ : -1;
    s->lengths = of->has_lengths ? inputs++ : -1;
    s->y = back ? inputs++ : -1;
    s->d = back ? inputs++ : -1;
    if (node->input_count != (uint32_t)inputs)
        return eg__fail(error, EG_ERR_ARGUMENT, "got %u inputs, needs %d", node->input_count,
                        inputs);
    s->args.heads = (size_t)of->heads;
    s->args.kv_heads = (size_t)of->kv_heads;
    s->args.causal = of->causal;
    s->args.window = (size_t)of->window;
    return EG_OK;
}

static bool is_f32(const eg__node *x, unsigned rank) {
    return x->type == EG_F32 && x->rank == rank;
}

/* Columns per head; 0 = not divisible by the number of heads. */
static size_t head_columns(const eg__node *x, size_t heads) {
    return x->shape[2] % heads ? 0 : (size_t)(x->shape[2] / heads);
}

static eg_status check_main(const eg_graph *graph, const eg__node *node, eg__attention_shape *s,
                            eg_error *error) {
    const eg__node *q = at(graph, node, EG__ATTENTION_Q), *k = at(graph, node, EG__ATTENTION_K),
                   *v = at(graph, node, EG__ATTENTION_V);
    char a[160], b[160], c[160];
    const bool ranks = is_f32(q, 3) && is_f32(k, 3) && is_f32(v, 3);
    if (ranks) {
        s->samples = q->shape[0];
        s->args.queries = (size_t)q->shape[1];
        s->args.keys = (size_t)k->shape[1];
        s->args.d = head_columns(q, s->args.heads);
        s->args.dv = head_columns(v, s->args.kv_heads);
    }
    if (!ranks || !s->args.d || !s->args.dv || head_columns(k, s->args.kv_heads) != s->args.d ||
        k->shape[0] != q->shape[0] || v->shape[0] != q->shape[0] || v->shape[1] != k->shape[1])
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "q %s, k %s and v %s do not fit %zu query heads and %zu key "
                        "heads; needs f32 [batch, time, heads d]",
                        eg__shape_text(q, a), eg__shape_text(k, b), eg__shape_text(v, c),
                        s->args.heads, s->args.kv_heads);
    s->args.scale = node->attributes.attention.scale == 0 ? (float)(1 / sqrt((double)s->args.d))
                                                          : (float)node->attributes.attention.scale;
    return EG_OK;
}

/* The last axis of the mask is the keys; its other axes broadcast. */
static eg_status check_mask(const eg_graph *graph, const eg__node *node, eg__attention_shape *s,
                            eg_error *error) {
    const eg__node *mask = at(graph, node, s->mask);
    char text[160];
    const uint64_t rows = mask->rank > 1 ? mask->shape[mask->rank - 2] : 1;
    const uint64_t samples = mask->rank > 2 ? mask->shape[0] : 1;
    if (mask->type != EG_F32 || mask->rank < 2 || mask->rank > 3 ||
        mask->shape[mask->rank - 1] != s->args.keys || (rows != 1 && rows != s->args.queries) ||
        (samples != 1 && samples != s->samples))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "mask is %s %s, needs f32 [queries, keys] or [batch, queries, "
                        "keys] for %llu samples of %zu x %zu",
                        eg_type_name(mask->type), eg__shape_text(mask, text),
                        (unsigned long long)s->samples, s->args.queries, s->args.keys);
    s->args.mask_row = rows > 1 ? s->args.keys : 0;
    s->args.mask_sample = samples > 1 ? (size_t)rows * s->args.keys : 0;
    return EG_OK;
}

static eg_status check_others(const eg_graph *graph, const eg__node *node, eg__attention_shape *s,
                              eg_error *error) {
    char text[160];
    if (s->lengths >= 0) {
        const eg__node *lengths = at(graph, node, s->lengths);
        if ((lengths->type != EG_F32 && lengths->type != EG_I32) || lengths->rank != 1 ||
            lengths->shape[0] != s->samples)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "lengths are %s %s, needs f32 or i32 [batch] for %llu samples",
                            eg_type_name(lengths->type), eg__shape_text(lengths, text),
                            (unsigned long long)s->samples);
        s->args.lengths_are_i32 = lengths->type == EG_I32;
    }
    for (int i = s->y; s->y >= 0 && i <= s->d; i++) {
        const eg__node *x = at(graph, node, i);
        if (!is_f32(x, 3) || x->shape[0] != s->samples || x->shape[1] != s->args.queries ||
            x->shape[2] != (uint64_t)s->args.heads * (s->args.dv + 1))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "the %s of attention has shape %s, which does not fit the "
                            "queries",
                            i == s->y ? "value" : "gradient", eg__shape_text(x, text));
    }
    return EG_OK;
}

eg_status eg__attention_shape_of(const eg_graph *graph, const eg__node *node,
                                 eg__attention_shape *out, eg_error *error) {
    *out = (eg__attention_shape){0};
    eg_status status = check_attributes(node, out, error);
    if (!status) status = check_main(graph, node, out, error);
    if (!status && out->mask >= 0) status = check_mask(graph, node, out, error);
    if (!status) status = check_others(graph, node, out, error);
    return status;
}

/* 1 + 2 + ... + n with every term capped at the limit. */
static double limited_sum(double n, double limit) {
    return n <= limit ? n * (n + 1) / 2 : limit * (limit + 1) / 2 + (n - limit) * limit;
}

/* A closed form instead of a loop: an empty batch may still have any number of queries. */
double eg__attention_pairs(const eg__attention_shape *s) {
    const double queries = (double)s->args.queries, keys = (double)s->args.keys;
    const double limit = s->args.window ? (double)s->args.window : INFINITY;
    double pairs = queries * keys;
    if (s->args.causal || s->args.window)
        pairs =
            limited_sum(keys, limit) - (keys > queries ? limited_sum(keys - queries, limit) : 0);
    return pairs * (double)s->samples * (double)s->args.heads;
}
