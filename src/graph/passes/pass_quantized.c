/* Products with quantized parameters use the quantized values directly if the right side is
 * assembled from such parameters by slices, concats and transposes only. If not, the parameters are
 * widened once, in the prologue, and the product is an f32 one. */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "graph/ops/quantized.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES = 64 };

typedef struct side {
    eg_type type;
    unsigned pieces, parameters;
    uint32_t parameter[PIECES]; /* old nodes */
    eg__quantized_piece piece[PIECES];
    uint32_t from[PIECES]; /* per piece: its parameter */
    bool integers;
} side;

/* A rectangle of a value, and where it goes in the right side. */
typedef struct part {
    uint32_t node;
    uint64_t row, column, rows, columns;
    uint64_t k_to, n_to;
    bool turned; /* rows of the value are columns of the right side */
} part;

static bool add_piece(const eg__rewrite *r, side *s, const part *p) {
    const uint32_t parameter = eg__old_input(r, p->node, 0);
    const eg__node *node = eg__old(r, parameter);
    unsigned which = 0;
    if (node->op != EG__GRAPH_parameter) return false; /* inputs: see pass_rows.c */
    if (s->pieces == PIECES || (s->pieces && node->type != s->type)) return false;
    /* scales are per row of the parameter; these must be columns of the right side */
    if (eg__quantized_unit(node->type) > 1 && !p->turned) return false;
    while (which < s->parameters && s->parameter[which] != parameter) which++;
    if (which == s->parameters) s->parameter[s->parameters++] = parameter;
    s->type = node->type;
    s->integers = eg__leaf_quantization(node).integers != 0;
    s->from[s->pieces] = which;
    s->piece[s->pieces++] = (eg__quantized_piece){.k_to = (uint32_t)p->k_to,
                                                  .n_to = (uint32_t)p->n_to,
                                                  .k = (uint32_t)(p->turned ? p->columns : p->rows),
                                                  .n = (uint32_t)(p->turned ? p->rows : p->columns),
                                                  .row = (uint32_t)p->row,
                                                  .column = (uint32_t)p->column,
                                                  .straight = !p->turned};
    return true;
}

static bool resolve(const eg__rewrite *r, side *s, part p);

/* Visits the inputs of a concat that overlap the rectangle p. */
static bool resolve_concat(const eg__rewrite *r, side *s, const part *p) {
    const eg__node *node = eg__old(r, p->node);
    const bool by_row = node->attributes.concat.axis == 0;
    const uint64_t first = by_row ? p->row : p->column;
    const uint64_t end = first + (by_row ? p->rows : p->columns);
    uint64_t at = 0;
    for (unsigned i = 0; i < node->input_count; i++) {
        part inner = *p;
        inner.node = eg__old_input(r, p->node, i);
        const uint64_t size = eg__old(r, inner.node)->shape[by_row ? 0 : 1];
        const uint64_t from = at > first ? at : first, to = at + size < end ? at + size : end;
        if (from < to) {
            *(by_row ? &inner.row : &inner.column) = from - at;
            *(by_row ? &inner.rows : &inner.columns) = to - from;
            *(by_row == p->turned ? &inner.n_to : &inner.k_to) += from - first;
            if (!resolve(r, s, inner)) return false;
        }
        at += size;
    }
    return true;
}

static bool resolve(const eg__rewrite *r, side *s, part p) {
    const eg__node *node = eg__old(r, p.node);
    if (node->rank != 2) return false;
    switch (node->op) {
    case EG__GRAPH_widen: return add_piece(r, s, &p);
    case EG__GRAPH_concat: return resolve_concat(r, s, &p);
    case EG__GRAPH_slice:
        *(node->attributes.slice.axis == 0 ? &p.row : &p.column) += node->attributes.slice.start;
        p.node = eg__old_input(r, p.node, 0);
        return resolve(r, s, p);
    case EG__GRAPH_transpose: {
        const part turned = {eg__old_input(r, p.node, 0),
                             p.column,
                             p.row,
                             p.columns,
                             p.rows,
                             p.k_to,
                             p.n_to,
                             !p.turned};
        return resolve(r, s, node->attributes.transpose.order[0] == 0 ? p : turned);
    }
    default: return false;
    }
}

/* ---- groups of rows: a new one wherever a piece or one of its blocks begins */
static int by_size(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static size_t cuts_of(const eg__rewrite *r, const side *s, uint64_t k, int32_t *cuts) {
    size_t count = 0;
    for (unsigned i = 0; i < s->pieces && eg__quantized_unit(s->type) > 1; i++) {
        const eg__quantized_piece *p = &s->piece[i];
        eg__quantized_parameter parameter;
        if (!eg__quantized_parameter_of(eg__old(r, s->parameter[s->from[i]]), &parameter)) return 0;
        const size_t block = parameter.one_scale ? parameter.columns : parameter.block;
        if (cuts) cuts[count] = (int32_t)(p->k_to + p->k);
        count++;
        for (size_t at = block - p->column % block; at < p->k; at += block, count++)
            if (cuts) cuts[count] = (int32_t)(p->k_to + at);
    }
    if (cuts) cuts[count] = (int32_t)k;
    return count + 1;
}

static void write_piece(const eg__rewrite *r, const side *s, unsigned i, int32_t *words) {
    eg__quantized_parameter p;
    if (!eg__quantized_parameter_of(eg__old(r, s->parameter[s->from[i]]), &p)) return;
    memcpy(words, &s->piece[i], sizeof s->piece[i]);
    words[7] = (int32_t)s->from[i];
    words[8] = (int32_t)p.rows;
    words[9] = (int32_t)p.columns;
    words[10] = (int32_t)p.block;
    words[11] = p.one_scale | p.has_zeros << 1;
}

static eg_node build(eg__rewrite *r, uint32_t id, const side *s, uint64_t k, uint64_t n) {
    const size_t most = cuts_of(r, s, k, NULL);
    const size_t room = EG__SIDE_WORDS + most + (size_t)s->pieces * EG__PIECE_WORDS;
    int32_t *words = eg__memory_take_array(r->to->memory, EG_TAG_GRAPH, room, sizeof *words, NULL);
    if (!words) return eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory for a table of pieces");
    int32_t *ends = words + EG__SIDE_WORDS;
    cuts_of(r, s, k, ends);
    qsort(ends, most, sizeof *ends, by_size);
    size_t groups = 0;
    for (size_t i = 0; i < most; i++)
        if (!groups || ends[i] != ends[groups - 1]) ends[groups++] = ends[i];
    words[0] = (int32_t)k;
    words[1] = (int32_t)n;
    words[2] = (int32_t)groups;
    words[3] = (int32_t)s->pieces;
    for (unsigned i = 0; i < s->pieces; i++)
        write_piece(r, s, i, ends + groups + (size_t)i * EG__PIECE_WORDS);
    const uint64_t size = EG__SIDE_WORDS + groups + (uint64_t)s->pieces * EG__PIECE_WORDS;
    const eg_node table = eg_constant(r->to, &(eg_tensor){EG_I32, 1, {size}, words});
    eg__memory_give(r->to->memory, words);
    eg_node parameters[PIECES];
    for (unsigned i = 0; i < s->parameters; i++) parameters[i] = r->map[s->parameter[i]];
    return eg__quantized_matmul(r->to, r->map[eg__old_input(r, id, 0)], table, s->parameters,
                                parameters, s->integers);
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    if (node->op != EG__GRAPH_matmul || node->attributes.matmul.a_transposed || r->settled[id])
        return (eg_node){0};
    const uint32_t b = eg__old_input(r, id, 1);
    const eg__node *right = eg__old(r, b);
    const bool turned = node->attributes.matmul.b_transposed;
    if (right->rank != 2 || right->shape[0] > INT32_MAX || right->shape[1] > INT32_MAX ||
        !right->shape[0] || !right->shape[1])
        return (eg_node){0};
    side s = {.pieces = 0};
    const part whole = {b, 0, 0, right->shape[0], right->shape[1], 0, 0, turned};
    if (!resolve(r, &s, whole) || !s.pieces) return (eg_node){0};
    const uint64_t k = right->shape[turned], n = right->shape[!turned];
    return build(r, id, &s, k, n);
}

eg_status eg__pass_quantized(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                             eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {.rule = rule};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
