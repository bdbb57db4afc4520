/* infile_matmul and infile_gather: products with rows of an input in file layout, and gathers of
 * such rows or of rows of quantized parameters. Only pass_rows.c makes them. */
#include "graph/lower/lower.h"

#include <string.h>

/* ---- checks that both share: an input in file layout or a quantized parameter, and a range of its
 * rows */
static eg_status check_rows(const eg__node *node, const eg__node *leaf, eg_error *error) {
    const eg__infile_matmul_attributes *of = &node->attributes.infile_matmul; /* or gather */
    eg__infile_format format;
    const bool is_small = node->op == EG__GRAPH_infile_gather && leaf->op == EG__GRAPH_parameter &&
                          eg__is_quantized(leaf->type);
    if ((!eg__leaf_format(leaf, &format) && !is_small) || leaf->rank < 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs an input in file layout, got %s of '%s'",
                        eg__node_operation(leaf), eg_type_name(leaf->type));
    if (of->first > leaf->shape[0] || of->rows > leaf->shape[0] - of->first)
        return eg__fail(
            error, EG_ERR_ARGUMENT, "rows from %lld, %lld of them, are not within the %llu rows",
            (long long)of->first, (long long)of->rows, (unsigned long long)leaf->shape[0]);
    return EG_OK;
}

static uint64_t row_size(const eg__node *leaf) {
    uint64_t size = 1;
    for (unsigned i = 1; i < leaf->rank; i++) size *= leaf->shape[i];
    return size;
}

/* ---- infile_matmul */
eg_node eg__infile_matmul(eg_graph *graph, eg_node x, eg_node leaf, uint64_t first, uint64_t n) {
    const eg__attributes attributes = {.infile_matmul = {first, n}};
    return eg__graph_add2(graph, EG__GRAPH_infile_matmul, 0, x, leaf, &attributes);
}

static eg_status infer_matmul(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *leaf = eg__node_at(graph, eg__node_input(graph, node, 1));
    eg_status status = check_rows(node, leaf, error);
    if (status) return status;
    if (x->type != EG_F32 || !x->rank || leaf->rank != 2 ||
        x->shape[x->rank - 1] != leaf->shape[1]) {
        char a[160], b[160];
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cannot multiply %s by %s transposed: needs f32 and equal last "
                        "dimensions",
                        eg__shape_text(x, a), eg__shape_text(leaf, b));
    }
    eg__shape_copy(node, x);
    node->shape[node->rank - 1] = node->attributes.infile_matmul.rows;
    return EG_OK;
}

static double flops_matmul(const eg_graph *graph, const eg__node *node) {
    const eg__node *leaf = eg__node_at(graph, eg__node_input(graph, node, 1));
    return 2.0 * (double)eg__node_elements(node) * (double)leaf->shape[1];
}

static double reads_matmul(const eg_graph *graph, const eg__node *node, unsigned i) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, i));
    return i ? (double)node->attributes.infile_matmul.rows * (double)x->shape[1]
             : (double)eg__node_elements(x);
}

static void evaluate_matmul(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    const uint64_t k = eg__node_at(graph, eg__node_input(graph, node, 1))->shape[1];
    const uint64_t n = node->shape[node->rank - 1];
    const uint64_t rows = n ? eg__node_elements(node) / n : 0;
    const double *w = in[1] + node->attributes.infile_matmul.first * k;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t i = 0; i < k; i++) sum += in[0][r * k + i] * w[j * k + i];
            out[r * n + j] = sum;
        }
}

void eg__lower_infile_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                             const eg__fused_program *epilogue, size_t count, eg__operand *more) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t from = eg__lower_input(l, id, 1);
    const eg__node *leaf = eg__lower_node(l, from);
    eg__infile_format format; /* it has a format: checked when the node was made */
    if (l->status || !eg__node_elements(node) || !eg__leaf_format(leaf, &format)) return;
    const size_t n = (size_t)node->attributes.infile_matmul.rows, k = (size_t)leaf->shape[1];
    const bool integers = eg__infile_integers(format, eg__leaf_quantization(leaf).integers);
    const eg__matrix left = eg__lower_rows(l, eg__lower_input(l, id, 0));
    const eg__view right = eg__lower_value(l, from);
    eg__matrix out = {{0}, 1, 1, 1};
    if (l->status) return;
    eg__view_rows(node, home, &out);
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_gemm_infile, left.rows, n);
    step.operation[0] = eg__infile_operation(format, integers);
    step.name = eg__operation_name(step.operation[0]);
    const size_t row_bytes = eg__infile_bytes(format, k);
    step.u.gemm =
        (eg__step_gemm){.n = n,
                        .k = k,
                        .infile = {.format = format,
                                   .row_bytes = row_bytes,
                                   .skip = (size_t)node->attributes.infile_matmul.first * row_bytes,
                                   .integers = integers}};
    step.traits |= EG_STEP_CONVERTED | (integers ? EG_STEP_INTEGERS : 0);
    if (!step.timed &&
        !l->regions[l->region[id]].batch_items) { /* an item is a chunk of columns, for all rows */
        step.u.gemm.chunk = EG__STORED_CHUNK;
        step.items = eg__ceil_div(n, EG__STORED_CHUNK);
        step.rows = left.rows;
    }
    step.flops = flops_matmul(l->graph, node);
    step.bytes = 4.0 * (double)left.rows * (double)(k + n) + (double)n * (double)row_bytes;
    const eg__product_places places = {left, out, right, home};
    eg__lower_product(l, id, &step, &places, epilogue, count, more);
}

static void lower_matmul(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view home = eg__lower_storage(l, id, 0);
    eg__matrix out;
    if (!l->status && !eg__view_rows(node, &home, &out)) home = eg__lower_plain_storage(l, id);
    eg__lower_infile_matmul(l, id, &home, NULL, 0, NULL);
}

/* ---- infile_gather */
eg_node eg__infile_gather(eg_graph *graph, eg_node leaf, eg_node index, uint64_t first,
                          uint64_t rows) {
    const eg__attributes attributes = {.infile_gather = {first, rows}};
    return eg__graph_add2(graph, EG__GRAPH_infile_gather, 0, leaf, index, &attributes);
}

static eg_status infer_gather(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *leaf = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *index = eg__node_at(graph, eg__node_input(graph, node, 1));
    eg_status status = check_rows(node, leaf, error);
    if (status) return status;
    /* rows must be whole blocks, so rank 1 (rows of one element) is refused */
    if (index->type != EG_I32 || index->rank + leaf->rank - 1 > EG_RANK_MAX || leaf->rank < 2)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs rows and an i32 index, got rank %u and '%s'",
                        leaf->rank, eg_type_name(index->type));
    node->type = EG_F32;
    node->rank = index->rank + leaf->rank - 1;
    memcpy(node->shape, index->shape, index->rank * sizeof *node->shape);
    memcpy(node->shape + index->rank, leaf->shape + 1, (leaf->rank - 1) * sizeof *node->shape);
    return EG_OK;
}

static void evaluate_gather(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    const uint64_t size = row_size(eg__node_at(graph, eg__node_input(graph, node, 0)));
    const uint64_t rows = size ? eg__node_elements(node) / size : 0;
    const eg__infile_gather_attributes *of = &node->attributes.infile_gather;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < size; i++) {
            const double at = in[1][r];
            const bool there = at >= 0 && at < (double)of->rows;
            out[r * size + i] = there ? in[0][(of->first + (uint64_t)at) * size + i] : 0;
        }
}

static void lower_gather(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t x = eg__lower_input(l, id, 0), index = eg__lower_input(l, id, 1);
    const eg__node *leaf = eg__lower_node(l, x);
    const size_t size = (size_t)row_size(leaf);
    const eg__view at = eg__lower_contiguous(l, index), from = eg__lower_value(l, x);
    const eg__view to = eg__lower_dense_storage(l, id, 0);
    if (l->status || !eg__node_elements(node)) return;
    eg__quantized_parameter quantized = {.rows = 0};
    if (leaf->op == EG__GRAPH_parameter && !eg__quantized_parameter_of(leaf, &quantized)) {
        eg__lower_fail(l, EG_ERR_OVERFLOW, "'%s' is too large", leaf->name);
        return;
    }
    /* f16 and bf16 have no scales, so parameters of these types have file layout, too; scales of
     * other parameters are stored separately */
    const eg_quantization quantization = eg__leaf_quantization(leaf);
    eg__infile_format format = EG__INFILE_F32;
    const bool plain = eg__infile_format_of(&quantization, &format);
    const size_t row_bytes = plain ? eg__infile_bytes(format, size)
                                   : quantized.layout.bytes / eg__max(quantized.rows, 1);
    const double picked = (double)eg__node_elements(eg__lower_node(l, index));
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_gather_infile,
                                   (size_t)eg__node_elements(eg__lower_node(l, index)), size);
    step.operation[0] = eg__widen_operation(leaf->type);
    step.u.gather = (eg__step_gather){.limit = (size_t)node->attributes.infile_gather.rows,
                                      .row_bytes = row_bytes,
                                      .first = (size_t)node->attributes.infile_gather.first,
                                      .plain = plain,
                                      .format = format,
                                      .quantized = quantized};
    step.flops = quantized.scales || eg__infile_is_blocks(format)
                     ? 2.0 * (double)eg__node_elements(node)
                     : 0;
    step.bytes = picked * (double)row_bytes + 4.0 * picked + 4.0 * (double)eg__node_elements(node);
    eg__operand operands[] = {eg__lower_operand(&step, &from, 0, false),
                              eg__lower_operand(&step, &at, 1, true),
                              eg__lower_operand(&step, &to, size, true)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

const eg__op eg__op_infile_matmul = {.name = "infile_matmul",
                                     .infer = infer_matmul,
                                     .flops = flops_matmul,
                                     .reads = reads_matmul,
                                     .evaluate = evaluate_matmul,
                                     .lower = lower_matmul,
                                     .time = eg__time_first_rows,
                                     .keeps_items = eg__keeps_first_rows};
const eg__op eg__op_infile_gather = {.name = "infile_gather",
                                     .infer = infer_gather,
                                     .reads = eg__reads_picked,
                                     .evaluate = evaluate_gather,
                                     .lower = lower_gather,
                                     .time = eg__time_picked,
                                     .keeps_items = eg__keeps_picked};
