/* quantized_matmul: a product whose right side is assembled from quantized parameters. Only
 * pass_quantized.c makes it. inputs: x, the table, the parameters; index: columns, integers. */
#include "graph/lower/lower.h"

#include <string.h>

/* ---- the table */
eg__quantized_side eg__quantized_side_of(const int32_t *table) {
    const uint32_t groups = (uint32_t)table[2];
    return (eg__quantized_side){
        (uint32_t)table[0], (uint32_t)table[1],     groups,
        (uint32_t)table[3], table + EG__SIDE_WORDS, table + EG__SIDE_WORDS + groups};
}

uint32_t eg__quantized_side_piece(const eg__quantized_side *side, size_t index,
                                  eg__quantized_piece *out) {
    const int32_t *words = side->piece + index * EG__PIECE_WORDS;
    memcpy(out, words, sizeof *out);
    return (uint32_t)words[7];
}

void eg__quantized_side_matrix(const eg__quantized_side *side, size_t index, eg_type type,
                               const void *memory, eg__quantized_matrix *out) {
    const int32_t *words = side->piece + index * EG__PIECE_WORDS;
    eg__quantized_parameter p = {.type = type,
                                 .rows = (uint32_t)words[8],
                                 .columns = (uint32_t)words[9],
                                 .block = (uint32_t)words[10],
                                 .one_scale = (words[11] & 1) != 0,
                                 .has_zeros = (words[11] & 2) != 0};
    if (eg__quantized_unit(type) > 1)
        p.scales = p.one_scale ? 1 : p.rows * eg__ceil_div(p.columns, p.block);
    eg__quantized_matrix_measure(type, p.rows, p.columns, p.scales, p.has_zeros, &p.layout);
    *out = eg__quantized_parameter_matrix(&p, memory);
}

/* ---- the operation */
eg_node eg__quantized_matmul(eg_graph *graph, eg_node x, eg_node table, size_t count,
                             const eg_node *parameters, bool integers) {
    enum { MANY = 64 };
    eg_node inputs[2 + MANY] = {x, table};
    if (count > MANY || !table.id) return (eg_node){0};
    memcpy(inputs + 2, parameters, count * sizeof *parameters);
    const int32_t *words = eg__node_at(graph, table)->data;
    eg__attributes attributes = {.quantized_matmul = {(uint64_t)words[1], integers}};
    return eg__graph_add(graph, EG__GRAPH_quantized_matmul, 0, 2 + count, inputs, &attributes,
                         NULL);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *table = eg__node_at(graph, eg__node_input(graph, node, 1));
    if (table->op != EG__GRAPH_constant || table->type != EG_I32 || x->type != EG_F32 || !x->rank ||
        x->shape[x->rank - 1] != eg__quantized_side_of(table->data).k)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the table is not an i32 constant, or x does not have rows of "
                        "its length");
    eg__shape_copy(node, x);
    node->shape[node->rank - 1] = node->attributes.quantized_matmul.columns;
    return EG_OK;
}

static double flops(const eg_graph *graph, const eg__node *node) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    return 2.0 * (double)eg__node_elements(node) * (double)x->shape[x->rank - 1];
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *table = eg__node_at(graph, eg__node_input(graph, node, 1));
    const eg__quantized_side side = eg__quantized_side_of(table->data);
    const uint64_t rows = side.n ? eg__node_elements(node) / side.n : 0;
    memset(out, 0, rows * side.n * sizeof *out);
    for (uint32_t i = 0; i < side.pieces; i++) {
        eg__quantized_piece p;
        const uint32_t from = eg__quantized_side_piece(&side, i, &p);
        const size_t columns = (uint32_t)side.piece[i * EG__PIECE_WORDS + 9];
        for (uint64_t r = 0; r < rows; r++)
            for (uint32_t n = 0; n < p.n; n++)
                for (uint32_t k = 0; k < p.k; k++) {
                    const size_t row = p.row + (p.straight ? k : n);
                    const size_t column = p.column + (p.straight ? n : k);
                    out[r * side.n + p.n_to + n] +=
                        in[0][r * side.k + p.k_to + k] * in[2 + from][row * columns + column];
                }
    }
}

/* ---- steps */
static bool is_by_rows(const eg__quantized_side *side) {
    for (uint32_t i = 0; i < side->pieces; i++) {
        eg__quantized_piece piece;
        eg__quantized_side_piece(side, i, &piece);
        if (piece.straight) return false;
    }
    return true;
}

static bool has_zeros(const eg__quantized_side *side) {
    for (uint32_t i = 0; i < side->pieces; i++)
        if (side->piece[i * EG__PIECE_WORDS + 11] & 2) return true;
    return false;
}

/* In the prologue. */
static eg__view pack(eg__lowering *l, uint32_t id, eg__step_pack_quantized *p) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t table = eg__lower_input(l, id, 1);
    const eg__quantized_side side = eg__quantized_side_of(eg__lower_node(l, table)->data);
    memset(p, 0, sizeof *p);
    p->k = side.k;
    p->n = side.n;
    p->type = eg__lower_node(l, eg__lower_input(l, id, 2))->type;
    p->groups = side.groups;
    p->pieces = side.pieces;
    p->parameters = node->input_count - 2;
    p->by_rows = is_by_rows(&side);
    eg__view view = {0};
    if (!eg__quantized_measure(p->type, p->k, p->n, p->groups, (const uint32_t *)side.ends,
                               has_zeros(&side), node->attributes.quantized_matmul.integers,
                               &p->layout)) {
        eg__lower_fail(l, EG_ERR_OVERFLOW, "a right side of %zu x %zu is too large", p->k, p->n);
        return view;
    }
    view.buffer = eg__lower_buffer(l, EG__REGION_PROLOGUE, p->layout.bytes);
    eg__step step = eg__lower_begin(id, EG__STEP_pack_quantized);
    step.items = 1;
    step.rows = p->k;
    step.columns = p->n;
    step.bytes = 2.0 * (double)p->layout.bytes / p->parameters;
    const eg__view words = eg__lower_value(l, table);
    for (p->parameter = 0; p->parameter < p->parameters; p->parameter++) {
        const eg__view from = eg__lower_value(l, eg__lower_input(l, id, 2 + p->parameter));
        step.u.pack_quantized = *p;
        const eg__operand operands[] = {eg__lower_operand(&step, &view, 0, false),
                                        eg__lower_operand(&step, &words, 0, false),
                                        eg__lower_operand(&step, &from, 0, false)};
        eg__lower_emit(l, EG__REGION_PROLOGUE, &step, 3, operands);
    }
    return view;
}

void eg__lower_quantized_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                                const eg__fused_program *epilogue, size_t count,
                                eg__operand *more) {
    const eg__node *node = eg__lower_node(l, id);
    eg__step_pack_quantized packed;
    if (l->status || !eg__node_elements(node)) return;
    const bool integers = node->attributes.quantized_matmul.integers;
    const eg__matrix left = eg__lower_rows(l, eg__lower_input(l, id, 0));
    const eg__view right = pack(l, id, &packed);
    eg__matrix out = {{0}, 1, 1, 1};
    if (l->status) return;
    eg__view_rows(node, home, &out);
    eg__step step =
        eg__lower_step(l, l->region[id], id, EG__STEP_gemm_quantized, left.rows, packed.n);
    step.operation[0] = eg__quantized_operation(packed.type, integers);
    step.name = eg__operation_name(step.operation[0]);
    step.traits |= EG_STEP_CONVERTED | (integers ? EG_STEP_INTEGERS : 0);
    step.u.gemm =
        (eg__step_gemm){.n = packed.n,
                        .k = packed.k,
                        .quantized = {packed.layout, packed.type, packed.groups, integers}};
    step.flops = flops(l->graph, node);
    step.bytes = 4.0 * (double)left.rows * (double)(packed.k + packed.n) +
                 (double)(eg__gemm_panels(packed.n) * packed.layout.panel_bytes) +
                 (double)(packed.layout.end - packed.layout.scale); /* scales, zero points, sums */
    const eg__product_places places = {left, out, right, home};
    eg__lower_product(l, id, &step, &places, epilogue, count, more);
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view home = eg__lower_storage(l, id, 0);
    eg__matrix out;
    if (!l->status && !eg__view_rows(node, &home, &out)) home = eg__lower_plain_storage(l, id);
    eg__lower_quantized_matmul(l, id, &home, NULL, 0, NULL);
}

const eg__op eg__op_quantized_matmul = {.name = "quantized_matmul",
                                        .infer = infer,
                                        .flops = flops,
                                        .evaluate = evaluate,
                                        .lower = lower,
                                        .time = eg__time_first_rows,
                                        .keeps_items = eg__keeps_first_rows};
