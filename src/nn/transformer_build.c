/* A transformer as a graph: embedding, layers, output; with a cache of keys and values where asked. */
#include "nn/transformer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    const eg_model *model;
    const eg__transformer *t;
    const eg__traits *traits;
    eg_graph *graph;
    const eg__transformer_options *options;
    eg_node *nodes; /* per parameter; made when they are asked for first */
    eg_node positions, slots, pages, lengths;
    unsigned layer;
} builder;

/* ---- parameters */
static eg_node make(const builder *b, const eg__parameter *p) {
    eg__infile_format format;
    if (b->options->in_place && p->rank == 2 && eg__parameter_in_file(p, &format)) {
        const eg_quantization quantization = eg__infile_quantization(format);
        return eg_input_infile(b->graph, p->name, &quantization, p->rank, p->shape);
    }
    if (eg__parameter_is_quantized(p))
        return eg_parameter_quantized(b->graph, p->name, &p->quantized.quantization, p->rank,
                                      p->shape);
    return eg_parameter(b->graph, p->name, p->rank, p->shape);
}

static eg_node parameter(builder *b, const char *format, ...) EG_PRINTF(2, 3);
static eg_node parameter(builder *b, const char *format, ...) {
    char name[EG__NAME_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    const eg__parameter *p = eg__model_parameter(b->model, name);
    if (!p) return eg__graph_mistake(b->graph, EG_ERR_ARGUMENT, "no parameter '%s'", name);
    eg_node *node = &b->nodes[p - b->model->parameters];
    if (!node->id) *node = make(b, p);
    return *node;
}

/* All in the order of the model, used or not, so that every shape has the same. */
static void make_parameters(builder *b) {
    for (size_t i = 0; i < b->model->parameter_count; i++)
        if (!eg__parameter_is_of_rows(&b->model->parameters[i]))
            b->nodes[i] = make(b, &b->model->parameters[i]);
}

/* ---- parts. Values are [batch * time, columns] between them. */
static eg_node linear(builder *b, eg_node x, eg__matrix matrix) {
    eg_graph *g = b->graph;
    const char *name = eg__matrix_name(matrix);
    eg_node y = eg_matmul_transposed(g, x, 0, parameter(b, "blk.%u.%s.weight", b->layer, name), 1);
    if (!eg__traits_bias(b->traits, matrix)) return y;
    return eg_add(g, y, parameter(b, "blk.%u.%s.bias", b->layer, name));
}

static eg_node scale(builder *b, eg_node x, const char *name) {
    eg_graph *g = b->graph;
    eg_node y = b->traits->norm == EG__NORM_RMS ? eg_rms_norm(g, x, b->t->epsilon)
                                                : eg_layer_norm(g, x, b->t->epsilon);
    y = eg_mul(g, y, parameter(b, "%s.weight", name));
    return b->traits->norm_bias ? eg_add(g, y, parameter(b, "%s.bias", name)) : y;
}

static eg_node norm(builder *b, eg_node x, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "blk.%u.%s", b->layer, name);
    return scale(b, x, full);
}

static eg_node drop(const builder *b, eg_node x) {
    return b->t->dropout > 0 ? eg_dropout(b->graph, x, b->t->dropout) : x;
}

/* By erf, or as GPT-2 has it: 0.5 x (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
static eg_node gelu(const builder *b, eg_node x) {
    eg_graph *g = b->graph;
    if (b->t->exact_gelu) return eg_gelu(g, x);
    eg_node square = eg_mul(g, x, x);
    eg_node inner = eg_add(g, eg_mul(g, eg_scalar(g, 2 * 0.7978845608028654 * 0.044715), square),
                           eg_scalar(g, 2 * 0.7978845608028654));
    return eg_mul(g, x, eg_sigmoid(g, eg_mul(g, x, inner)));
}

static eg_node activate(const builder *b, eg_node x) {
    return b->traits->activation == EG__FFN_SILU ? eg_silu(b->graph, x) : gelu(b, x);
}

static eg_node rows(const builder *b, eg_node x, uint64_t columns) {
    const uint64_t shape[] = {b->options->batch, b->options->time, columns};
    return eg_reshape(b->graph, x, 3, shape);
}

static eg_node rotate(const builder *b, eg_node x) {
    const eg_rotary_options options = {
        .d = b->t->head, .base = b->t->rope_base, .interleaved = b->t->interleaved};
    if (eg__transformer_positions(b->t) != EG__POSITIONS_ROTARY) return x;
    return eg_rotary(b->graph, &options, x, b->positions);
}

/* Appends the new rows to the cache at the slots, then attends over the cache. */
static eg_node remember(const builder *b, const char *what, eg_node x) {
    char name[32];
    snprintf(name, sizeof name, "%s.%u", what, b->layer);
    eg_node cache =
        eg_cache(b->graph, name, b->options->cache, b->options->slots, b->t->kv_heads, b->t->head);
    return eg_update(b->graph, cache, eg_append(b->graph, cache, x, b->slots));
}

/* 0 = 1 / sqrt(head), which attention itself knows. */
static double score_scale(const builder *b) {
    const eg__transformer *t = b->t;
    if (!t->scale_by_layer) return t->attention_scale;
    const double scale = t->attention_scale > 0 ? t->attention_scale : 1 / sqrt((double)t->head);
    return scale / (b->layer + 1.0);
}

static eg_node attend(const builder *b, eg_node q, eg_node k, eg_node v) {
    const eg__transformer *t = b->t;
    eg_graph *g = b->graph;
    const eg_attention_options how = {.heads = t->heads,
                                      .kv_heads = t->kv_heads,
                                      .scale = score_scale(b),
                                      .causal = b->traits->causal,
                                      .window = t->window,
                                      .dropout = t->dropout};
    const uint64_t wide = (uint64_t)t->heads * t->head, narrow = (uint64_t)t->kv_heads * t->head;
    q = rotate(b, rows(b, q, wide));
    k = rotate(b, rows(b, k, narrow));
    v = rows(b, v, narrow);
    eg_node y;
    if (b->options->slots)
        y = eg_attention_cached(g, &how, q, remember(b, "k", k), remember(b, "v", v), b->pages,
                                b->lengths, b->options->page);
    else y = eg_attention(g, &how, q, k, v, (eg_node){0}, b->lengths);
    const uint64_t flat[] = {b->options->batch * b->options->time, wide};
    return eg_reshape(g, y, 2, flat);
}

static eg_node attention(builder *b, eg_node x) {
    const eg__transformer *t = b->t;
    eg_node q, k, v;
    if (b->traits->fused) {
        eg_node all = linear(b, x, EG__MATRIX_QKV);
        q = eg_slice(b->graph, all, 1, 0, t->width);
        k = eg_slice(b->graph, all, 1, t->width, t->width);
        v = eg_slice(b->graph, all, 1, 2 * (uint64_t)t->width, t->width);
    } else {
        q = linear(b, x, EG__MATRIX_Q);
        k = linear(b, x, EG__MATRIX_K);
        v = linear(b, x, EG__MATRIX_V);
    }
    return drop(b, linear(b, attend(b, q, k, v), EG__MATRIX_O));
}

static eg_node forward(builder *b, eg_node x) {
    eg_node up = linear(b, x, EG__MATRIX_UP);
    if (b->traits->gated) up = eg_mul(b->graph, activate(b, linear(b, x, EG__MATRIX_GATE)), up);
    else up = activate(b, up);
    return drop(b, linear(b, up, EG__MATRIX_DOWN));
}

static eg_node layer(builder *b, eg_node x) {
    eg_graph *g = b->graph;
    if (!eg__transformer_pre(b->t)) {
        x = norm(b, eg_add(g, x, attention(b, x)), "attn_output_norm");
        return norm(b, eg_add(g, x, forward(b, x)), "layer_output_norm");
    }
    x = eg_add(g, x, attention(b, norm(b, x, "attn_norm")));
    return eg_add(g, x, forward(b, norm(b, x, "ffn_norm")));
}

/* ---- the beginning */

/* 0, 1, 2 ... */
static eg_node counted(builder *b) {
    const uint64_t time = b->options->time;
    eg_error reason = {EG_ERR_MEMORY, ""};
    int32_t *list =
        eg__memory_take_array(b->model->memory, EG_TAG_GRAPH, (size_t)time, sizeof *list, &reason);
    if (!list) return eg__graph_mistake(b->graph, reason.status, "%s", reason.message);
    for (uint64_t i = 0; i < time; i++) list[i] = (int32_t)i;
    eg_node node = eg_constant(b->graph, &(eg_tensor){EG_I32, 1, {time}, list});
    eg__memory_give(b->model->memory, list);
    return node;
}

/* Sinusoidal position embeddings of the first `rows` positions. */
static eg_node waves(builder *b, uint64_t rows) {
    const uint64_t width = b->t->width;
    eg_error reason = {EG_ERR_MEMORY, ""};
    size_t count;
    float *table = NULL;
    if (eg__size_mul((size_t)rows, (size_t)width, &count))
        table =
            eg__memory_take_array(b->model->memory, EG_TAG_GRAPH, count, sizeof *table, &reason);
    if (!table) return eg__graph_mistake(b->graph, reason.status, "%s", reason.message);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < width; c++) {
            const double angle = (double)r / pow(10000, (double)(c - c % 2) / (double)width);
            table[r * width + c] = (float)(c % 2 ? cos(angle) : sin(angle));
        }
    eg_node node = eg_constant(b->graph, &(eg_tensor){EG_F32, 2, {rows, width}, table});
    eg__memory_give(b->model->memory, table);
    return node;
}

/* The positional embedding that is added to the tokens; {0} = none. */
static eg_node places(builder *b) {
    const bool cached = b->positions.id != 0;
    switch (eg__transformer_positions(b->t)) {
    case EG__POSITIONS_LEARNED:
        return eg_gather(b->graph, parameter(b, "position_embd.weight"),
                         cached ? b->positions : counted(b));
    case EG__POSITIONS_SINUSOIDAL:
        return cached ? eg_gather(b->graph, waves(b, b->t->context), b->positions)
                      : waves(b, b->options->time);
    default: return (eg_node){0};
    }
}

static eg_node embed(builder *b, eg_node tokens) {
    const eg__transformer *t = b->t;
    eg_graph *g = b->graph;
    eg_node x = eg_gather(g, parameter(b, "token_embd.weight"), tokens);
    const eg_node where = places(b);
    if (where.id) x = eg_add(g, x, where);
    if (b->traits->types) {
        const int32_t zero = 0;
        eg_node first = eg_constant(g, &(eg_tensor){EG_I32, 1, {1}, (void *)&zero});
        x = eg_add(g, x, eg_gather(g, parameter(b, "token_types.weight"), first));
    }
    const uint64_t flat[] = {b->options->batch * b->options->time, t->width};
    x = eg_reshape(g, x, 2, flat);
    if (b->traits->norm_embedding) x = scale(b, x, "token_embd_norm");
    return drop(b, x);
}

/* ---- the end */
static eg_node output(builder *b, eg_node x) {
    const eg__transformer *t = b->t;
    const eg__transformer_options *w = b->options;
    eg_graph *g = b->graph;
    uint64_t time = w->time;
    if (w->last && time > 1) {
        x = eg_slice(g, rows(b, x, t->width), 1, time - 1, 1);
        const uint64_t flat[] = {w->batch, t->width};
        x = eg_reshape(g, x, 2, flat);
        time = 1;
    }
    uint64_t columns = t->width;
    if (eg__transformer_pre(t)) x = scale(b, x, "output_norm");
    if (b->traits->logits && !w->hidden) {
        const char *name = t->tied ? "token_embd.weight" : "output.weight";
        x = eg_matmul_transposed(g, x, 0, parameter(b, "%s", name), 1);
        columns = t->vocabulary;
    }
    const uint64_t all[] = {w->batch, time, columns}, one[] = {w->batch, columns};
    return w->last ? eg_reshape(g, x, 2, one) : eg_reshape(g, x, 3, all);
}

static void take_inputs(builder *b, eg__transformer_nodes *out) {
    const eg__transformer_options *w = b->options;
    const uint64_t each[] = {w->batch, w->time};
    out->tokens = eg_input(b->graph, "tokens", EG_I32, 2, each);
    if (w->lengths || w->slots)
        out->lengths = b->lengths =
            eg_input(b->graph, "lengths", w->slots ? EG_I32 : EG_F32, 1, &w->batch);
    if (!w->slots) return;
    const uint64_t table[] = {w->batch, w->pages};
    b->positions = eg_input(b->graph, "positions", EG_I32, 2, each);
    b->slots = eg_input(b->graph, "slots", EG_I32, 2, each);
    b->pages = eg_input(b->graph, "pages", EG_I32, 2, table);
}

eg_status eg__transformer_build(const eg_model *model, eg_graph *graph,
                                const eg__transformer_options *options, eg__transformer_nodes *out,
                                eg_error *error) {
    const eg__transformer *t = model->transformer;
    memset(out, 0, sizeof *out);
    if (options->time > t->context && eg__transformer_positions(t) != EG__POSITIONS_ROTARY)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu tokens exceed the model's context of %u",
                        (unsigned long long)options->time, t->context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    builder b = {.model = model,
                 .t = t,
                 .traits = eg__transformer_traits(t),
                 .graph = graph,
                 .options = options};
    b.nodes = eg__memory_take_array(model->memory, EG_TAG_GRAPH, model->parameter_count + 1,
                                    sizeof *b.nodes, &reason);
    if (!b.nodes) return eg__fail(error, reason.status, "%s", reason.message);
    make_parameters(&b);
    take_inputs(&b, out);
    eg_node x = embed(&b, out->tokens);
    for (b.layer = 0; b.layer < t->layers && !graph->mistake.status; b.layer++) {
        out->given[b.layer] = x;
        x = layer(&b, x);
    }
    out->y = output(&b, x);
    eg__memory_give(model->memory, b.nodes);
    return eg_graph_check(graph, error);
}
