/* attention_cached: attention whose keys and values lie in pages of caches. A page has
 * `page` slots; a scale of 0 stands for 1/sqrt(D). */
#include "base/abi.h"
#include "graph/ops/attention.h"
#include "graph/ops/kv.h"
#include "graph/lower/lower.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, PAGES, LENGTHS, INPUTS };

typedef struct shape {
    uint64_t samples;
    eg__attention_cached_f32_args args; /* no pointers */
} shape;

eg_node eg_attention_cached(eg_graph *graph, const eg_attention_options *options, eg_node q,
                            eg_node k, eg_node v, eg_node pages, eg_node lengths, uint64_t page) {
    eg_attention_options kept, *const o = &kept;
    eg_error reason;
    if (!graph || !options) return (eg_node){0};
    if (EG__OPTIONS(eg_attention_options, &kept, options, &reason))
        return eg__graph_mistake(graph, reason.status, "attention_cached: %s", reason.message);
    if (o->dropout != 0)
        return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                 "attention_cached: dropout %g is not supported, only 0",
                                 o->dropout);
    if (o->window > INT64_MAX || page > INT32_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                 "attention_cached: window %llu or page %llu is too large",
                                 (unsigned long long)o->window, (unsigned long long)page);
    const eg__attributes attributes = {
        .attention_cached = {.heads = o->heads,
                             .kv_heads = o->kv_heads ? o->kv_heads : o->heads,
                             .causal = o->causal != 0,
                             .window = o->window,
                             .page = page,
                             .scale = o->scale}};
    const eg_node inputs[INPUTS] = {q, k, v, pages, lengths};
    return eg__graph_add(graph, EG__GRAPH_attention_cached, 0, INPUTS, inputs, &attributes, NULL);
}

static const eg__node *at(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

/* ---- shapes */
static eg_status check_attributes(const eg__node *node, shape *s, eg_error *error) {
    const eg__attention_cached_attributes *of = &node->attributes.attention_cached;
    if (of->heads < 1 || of->heads > INT32_MAX || of->kv_heads < 1 || of->heads % of->kv_heads)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "%llu query heads are not a multiple of %llu key heads",
                        (unsigned long long)of->heads, (unsigned long long)of->kv_heads);
    if (of->page < 1 || of->page > INT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "a page of %llu slots is not within 1..2^31 - 1",
                        (unsigned long long)of->page);
    if (!isfinite(node->attributes.attention_cached.scale))
        return eg__fail(error, EG_ERR_ARGUMENT, "the scale %g is not finite",
                        node->attributes.attention_cached.scale);
    s->args.f32 = (eg__attention_f32_args){.heads = (size_t)of->heads,
                                           .kv_heads = (size_t)of->kv_heads,
                                           .causal = of->causal,
                                           .window = (size_t)of->window,
                                           .lengths_are_i32 = true};
    s->args.page = (size_t)of->page;
    return EG_OK;
}

static eg_status check_cache(const eg_graph *graph, const eg__node *node, unsigned i, shape *s,
                             eg_error *error) {
    const uint32_t cache = eg__kv_of(graph, eg__node_input(graph, node, i).id);
    eg__kv_rows *rows = i == K ? &s->args.k.rows : &s->args.v.rows;
    if (!cache)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is not a cache",
                        eg__node_operation(at(graph, node, i)));
    if (!eg__kv_layout(&graph->nodes[cache], rows) || rows->heads != s->args.f32.kv_heads ||
        rows->slots < s->args.page)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cache '%s' of %zu slots and %zu heads does not fit %zu key "
                        "heads and pages of %zu slots",
                        graph->nodes[cache].name, rows->slots, rows->heads, s->args.f32.kv_heads,
                        s->args.page);
    if (s->args.k.rows.slots != rows->slots)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the cache of keys has %zu slots, that of values %zu", s->args.k.rows.slots,
                        rows->slots);
    return EG_OK;
}

static eg_status check_others(const eg_graph *graph, const eg__node *node, shape *s,
                              eg_error *error) {
    const eg__node *q = at(graph, node, Q), *pages = at(graph, node, PAGES),
                   *lengths = at(graph, node, LENGTHS);
    eg__attention_f32_args *a = &s->args.f32;
    char first[160], second[160];
    a->d = s->args.k.rows.d;
    a->dv = s->args.v.rows.d;
    if (q->type != EG_F32 || q->rank != 3 || q->shape[2] != (uint64_t)a->heads * a->d)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "queries are %s %s, needs f32 [batch, time, heads d] with %zu "
                        "heads of %zu columns",
                        eg_type_name(q->type), eg__shape_text(q, first), a->heads, a->d);
    s->samples = q->shape[0];
    a->queries = (size_t)q->shape[1];
    if (pages->type != EG_I32 || pages->rank != 2 || pages->shape[0] != s->samples ||
        pages->shape[1] > INT32_MAX || lengths->type != EG_I32 || lengths->rank != 1 ||
        lengths->shape[0] != s->samples)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "pages are %s %s and lengths %s %s, needs i32 [batch, pages] "
                        "and i32 [batch] for %llu samples",
                        eg_type_name(pages->type), eg__shape_text(pages, first),
                        eg_type_name(lengths->type), eg__shape_text(lengths, second),
                        (unsigned long long)s->samples);
    s->args.pages_row = (size_t)pages->shape[1];
    if (!eg__size_mul(s->args.pages_row, s->args.page, &a->keys))
        return eg__fail(error, EG_ERR_OVERFLOW, "%zu pages of %zu slots overflow",
                        s->args.pages_row, s->args.page);
    a->scale = node->attributes.attention_cached.scale == 0
                   ? (float)(1 / sqrt((double)a->d))
                   : (float)node->attributes.attention_cached.scale;
    return EG_OK;
}

static eg_status shape_of(const eg_graph *graph, const eg__node *node, shape *out,
                          eg_error *error) {
    *out = (shape){0};
    eg_status status = check_attributes(node, out, error);
    if (!status) status = check_cache(graph, node, K, out, error);
    if (!status) status = check_cache(graph, node, V, out, error);
    if (!status) status = check_others(graph, node, out, error);
    return status;
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    shape s;
    eg_status status = shape_of(graph, node, &s, error);
    if (status) return status;
    node->type = EG_F32;
    node->rank = 3;
    node->shape[0] = s.samples;
    node->shape[1] = s.args.f32.queries;
    node->shape[2] = (uint64_t)s.args.f32.heads * s.args.f32.dv;
    return EG_OK;
}

/* ---- FLOPs and bytes: lengths are unknown at compile time, so all pages count */
static double flops_of(const shape *s) {
    const eg__attention_shape plain = {.samples = s->samples, .args = s->args.f32};
    return eg__attention_pairs(&plain) * (2 * ((double)s->args.f32.d + (double)s->args.f32.dv) + 5);
}

static double flops(const eg_graph *graph, const eg__node *node) {
    shape s;
    eg_error error;
    return shape_of(graph, node, &s, &error) ? 0 : flops_of(&s);
}

/* Cache rows that all samples read. */
static double rows_read(const shape *s) {
    const eg__attention_f32_args *a = &s->args.f32;
    double keys = (double)a->keys;
    if (a->window) keys = fmin(keys, (double)a->window + (double)a->queries - 1);
    return (double)s->samples * keys;
}

static double reads(const eg_graph *graph, const eg__node *node, unsigned i) {
    shape s;
    eg_error error;
    const eg__node *x = at(graph, node, i);
    if ((i != K && i != V) || shape_of(graph, node, &s, &error))
        return (double)eg__node_elements(x);
    return rows_read(&s) * (double)x->shape[1];
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    (void)node, (void)d;
    eg__graph_mistake(eg__backward_graph(backward), EG_ERR_UNSUPPORTED,
                      "attention_cached has no gradient: a cache holds values of "
                      "earlier runs");
}

/* ---- the definition */
typedef struct definition {
    const shape *s;
    const double *const *in;
    double scale;
    uint64_t sample, query, head, kv;
} definition;

/* The slot of a position; false = its page is not mapped. */
static bool find(const definition *x, size_t position, uint64_t *slot) {
    const eg__attention_cached_f32_args *a = &x->s->args;
    const double page = x->in[PAGES][x->sample * a->pages_row + position / a->page];
    *slot = (uint64_t)(page >= 0 ? page : 0) * a->page + position % a->page;
    return page >= 0 && page < (double)(a->k.rows.slots / a->page);
}

static double score(const definition *x, uint64_t slot) {
    const eg__attention_f32_args *a = &x->s->args.f32;
    const double *q = x->in[Q] + ((x->sample * a->queries + x->query) * a->heads + x->head) * a->d;
    const double *k = x->in[K] + (slot * a->kv_heads + x->kv) * a->d;
    double sum = 0;
    for (size_t c = 0; c < a->d; c++) sum += q[c] * k[c];
    return sum * x->scale;
}

static void define(const definition *x, eg__attention_span sees, double *out) {
    const eg__attention_f32_args *a = &x->s->args.f32;
    double max = -INFINITY, sum = 0;
    uint64_t slot;
    for (size_t key = sees.from; key < sees.to; key++)
        if (find(x, key, &slot)) max = fmax(max, score(x, slot));
    for (size_t c = 0; c < a->dv; c++) out[c] = 0;
    for (size_t key = sees.from; key < sees.to; key++) {
        if (!find(x, key, &slot)) continue;
        const double weight = exp(score(x, slot) - max);
        sum += weight;
        for (size_t c = 0; c < a->dv; c++)
            out[c] += weight * x->in[V][(slot * a->kv_heads + x->kv) * a->dv + c];
    }
    for (size_t c = 0; sum != 0 && c < a->dv; c++) out[c] /= sum;
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    shape s;
    eg_error error;
    if (shape_of(graph, node, &s, &error)) return; /* checked when it was made */
    const eg__attention_f32_args *a = &s.args.f32;
    definition x = {.s = &s, .in = in};
    x.scale = node->attributes.attention_cached.scale == 0
                  ? 1 / sqrt((double)a->d)
                  : node->attributes.attention_cached.scale;
    if (!eg__node_elements(node)) return;
    for (x.sample = 0; x.sample < s.samples; x.sample++) {
        const double n = in[LENGTHS][x.sample];
        const size_t length = !(n > 0) ? 0 : n < (double)a->keys ? (size_t)n : a->keys;
        for (x.query = 0; x.query < a->queries; x.query++)
            for (x.head = 0; x.head < a->heads; x.head++, out += a->dv) {
                x.kv = x.head / (a->heads / a->kv_heads);
                define(&x, eg__attention_sees(a, length, (size_t)x.query), out);
            }
    }
}

/* ---- steps */
static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    shape s;
    l->status = shape_of(l->graph, node, &s, l->error);
    if (l->status) return;
    eg__step step = eg__lower_begin(id, EG__STEP_attention_cached);
    step.columns = (size_t)node->shape[2];
    step.items = (size_t)s.samples * s.args.f32.kv_heads * eg__attention_blocks(&s.args.f32, false);
    step.u.attention_cached = (eg__step_attention_cached){s.args, (size_t)s.samples};
    const eg__matrix q = eg__lower_rows(l, eg__lower_input(l, id, Q));
    const eg__view k = eg__lower_value(l, eg__lower_input(l, id, K)),
                   v = eg__lower_value(l, eg__lower_input(l, id, V)),
                   pages = eg__lower_contiguous(l, eg__lower_input(l, id, PAGES)),
                   lengths = eg__lower_contiguous(l, eg__lower_input(l, id, LENGTHS));
    const eg__matrix out = eg__lower_rows_storage(l, id, 0);
    if (l->status || !step.items) return;
    const size_t k_row = s.args.k.rows.size, v_row = s.args.v.rows.size;
    step.flops = flops_of(&s);
    step.bytes =
        rows_read(&s) * (double)(k_row + v_row) +
        4 * ((double)eg__node_elements(node) + (double)eg__node_elements(at(l->graph, node, Q)) +
             (double)s.samples * (double)(s.args.pages_row + 1));
    const eg__operand operands[] = {eg__lower_operand(&step, &q.view, q.stride, false),
                                    eg__lower_operand(&step, &k, k_row / sizeof(float), false),
                                    eg__lower_operand(&step, &v, v_row / sizeof(float), false),
                                    eg__lower_operand(&step, &out.view, out.stride, false),
                                    eg__lower_operand(&step, &pages, 1, false),
                                    eg__lower_operand(&step, &lengths, 1, false)};
    eg__lower_emit(l, l->region[id], &step, 6, operands);
}

const eg__op eg__op_attention_cached = {.name = "attention_cached",
                                        .infer = infer,
                                        .flops = flops,
                                        .reads = reads,
                                        .gradient = gradient,
                                        .evaluate = evaluate,
                                        .lower = lower};
