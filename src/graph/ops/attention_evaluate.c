/* The definition of attention and of its gradients, in double. */
#include "graph/ops/attention.h"

#include <math.h>
#include <string.h>

typedef struct definition {
    eg__attention_shape s;
    const double *q, *k, *v, *mask, *lengths, *y, *d;
    bool drops;
    uint64_t columns; /* of y and d */
    double scale;
    double *out;
} definition;

/* A query of a head, and the keys that it sees. */
typedef struct query {
    uint64_t sample, head, at, kv; /* at: row of q; kv: head of keys */
    uint64_t query;
    eg__attention_span sees;
} query;

static double dot(uint64_t n, const double *x, const double *y) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static uint64_t key_at(const definition *x, const query *r, uint64_t key, uint64_t columns) {
    return ((r->sample * x->s.args.keys + key) * x->s.args.kv_heads + r->kv) * columns;
}

static double score(const definition *x, const query *r, uint64_t key) {
    const eg__attention_f32_args *a = &x->s.args;
    const double s = x->scale * dot(a->d, x->q + (r->at * a->heads + r->head) * a->d,
                                    x->k + key_at(x, r, key, a->d));
    if (!x->mask) return s;
    const double mask = x->mask[r->sample * a->mask_sample + r->query * a->mask_row + key];
    return mask <= (double)EG__ATTENTION_HIDDEN ? -INFINITY : s + mask;
}

static double kept(const definition *x, const query *r, uint64_t key) {
    const eg__attention_f32_args *a = &x->s.args;
    if (!x->drops) return 1;
    if (eg__attention_drops(a, (size_t)r->sample, (size_t)r->head, (size_t)r->query, (size_t)key))
        return 0;
    return eg__attention_keep(a->dropout.limit);
}

static void query_forward(const definition *x, const query *r) {
    const eg__attention_f32_args *a = &x->s.args;
    double max = -INFINITY, sum = 0, *out = x->out + r->at * x->columns;
    for (uint64_t key = r->sees.from; key < r->sees.to; key++) {
        const double s = score(x, r, key);
        max = s > max || isnan(s) ? s : max;
    }
    for (uint64_t key = r->sees.from; max != -INFINITY && key < r->sees.to; key++)
        sum += exp(score(x, r, key) - max);
    out[a->heads * a->dv + r->head] = sum == 0 ? (double)EG__ATTENTION_BLIND : max + log(sum);
    for (uint64_t key = r->sees.from; sum != 0 && key < r->sees.to; key++) {
        const double weight = exp(score(x, r, key) - max) / sum * kept(x, r, key);
        for (uint64_t c = 0; c < a->dv; c++)
            out[r->head * a->dv + c] += weight * x->v[key_at(x, r, key, a->dv) + c];
    }
}

static void query_back(const definition *x, const query *r, bool by_keys) {
    const eg__attention_f32_args *a = &x->s.args;
    const uint64_t row = r->at * x->columns, column = row + r->head * a->dv;
    const uint64_t end = row + a->heads * a->dv + r->head;
    const double delta = dot(a->dv, x->y + column, x->d + column) - x->d[end];
    const uint64_t q = (r->at * a->heads + r->head) * a->d;
    for (uint64_t key = r->sees.from; key < r->sees.to; key++) {
        const double p = exp(score(x, r, key) - x->y[end]), keep = kept(x, r, key);
        const double dp = keep * dot(a->dv, x->d + column, x->v + key_at(x, r, key, a->dv));
        const double ds = p * (dp - delta) * x->scale;
        if (!by_keys) {
            for (uint64_t c = 0; c < a->d; c++)
                x->out[q + c] += ds * x->k[key_at(x, r, key, a->d) + c];
            continue;
        }
        double *to = x->out + (r->sample * a->keys + key) * a->kv_heads * (a->d + a->dv);
        for (uint64_t c = 0; c < a->d; c++) to[r->kv * a->d + c] += ds * x->q[q + c];
        to += a->kv_heads * a->d + r->kv * a->dv;
        for (uint64_t c = 0; c < a->dv; c++) to[c] += p * keep * x->d[column + c];
    }
}

static size_t length_of(const definition *x, uint64_t sample) {
    const double keys = (double)x->s.args.keys, n = x->lengths ? x->lengths[sample] : keys;
    return !(n > 0) ? 0 : n < keys ? (size_t)n : x->s.args.keys;
}

void eg__attention_draw(const eg_graph *graph, const eg__node *node, const double *const *in,
                        double *out, const eg__chance *chance) {
    definition x = {.out = out};
    eg_error error;
    if (eg__attention_shape_of(graph, node, &x.s, &error)) return; /* checked when it was made */
    if (!eg__node_elements(node)) return;
    eg__attention_f32_args *a = &x.s.args;
    x.q = in[EG__ATTENTION_Q];
    x.k = in[EG__ATTENTION_K];
    x.v = in[EG__ATTENTION_V];
    x.mask = x.s.mask < 0 ? NULL : in[x.s.mask];
    x.lengths = x.s.lengths < 0 ? NULL : in[x.s.lengths];
    x.y = x.s.y < 0 ? NULL : in[x.s.y];
    x.d = x.s.d < 0 ? NULL : in[x.s.d];
    x.drops = chance->training && eg__attention_is_random(node);
    x.columns = (uint64_t)a->heads * (a->dv + 1);
    x.scale = node->attributes.attention.scale == 0 ? 1 / sqrt((double)a->d)
                                                    : node->attributes.attention.scale;
    a->dropout = (eg__attention_dropout){node->attributes.attention.dropout_limit, chance->seed,
                                         node->attributes.attention.dropout_key, chance->time};
    memset(out, 0, (size_t)eg__node_elements(node) * sizeof *out);
    for (uint64_t b = 0; b < x.s.samples; b++)
        for (uint64_t h = 0; h < a->heads; h++)
            for (uint64_t i = 0; i < a->queries; i++) {
                const query r = {b,
                                 h,
                                 b * a->queries + i,
                                 h / (a->heads / a->kv_heads),
                                 i,
                                 eg__attention_sees(a, length_of(&x, b), (size_t)i)};
                if (node->op == EG__GRAPH_attention) query_forward(&x, &r);
                else query_back(&x, &r, node->op == EG__GRAPH_attention_dkv);
            }
}
