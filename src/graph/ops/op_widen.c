/* widen: dequantizes a parameter or input to f32. Products use the quantized values directly
 * (pass_quantized.c, pass_rows.c); for all other users parameters are widened once, in the
 * prologue, and inputs in every run. */
#include "graph/lower/lower.h"

#include <string.h>

/* ---- leaves; an input has the attributes of a parameter */
static void describe(eg__parameter_attributes *to, const eg_quantization *quantization) {
    if (quantization->type == EG_F32) return; /* an input like any other */
    *to = (eg__parameter_attributes){.per = (uint64_t)quantization->per,
                                     .block = quantization->block ? quantization->block
                                                                  : EG_BLOCK_DEFAULT,
                                     .symmetric = quantization->symmetric != 0,
                                     .integers = quantization->integers != 0,
                                     .layout = (uint64_t)quantization->layout};
}

eg_quantization eg__leaf_quantization(const eg__node *node) {
    const eg__parameter_attributes *of = &node->attributes.parameter;
    /* out-of-range values are clamped to invalid ones, which the check reports */
    return (eg_quantization){.type = node->type,
                             .per = (eg_granularity)(of->per > 99 ? 99 : of->per),
                             .block = (uint32_t)(of->block > UINT32_MAX ? 0 : of->block),
                             .symmetric = of->symmetric,
                             .integers = of->integers,
                             .layout = (eg_layout)(of->layout > 99 ? 99 : of->layout)};
}

bool eg__leaf_format(const eg__node *node, eg__infile_format *out) {
    if (node->op != EG__GRAPH_input) return false; /* other operations have other attributes */
    const eg_quantization quantization = eg__leaf_quantization(node);
    return eg__infile_format_of(&quantization, out);
}

static eg_status check_parameter(const eg_quantization *quantization, eg_error *error) {
    const eg_status status = eg_quantization_check(quantization, error);
    if (!status && quantization->layout != EG_LAYOUT_APART)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "layout '%s' is for inputs only, not for parameters",
                        eg_layout_name(quantization->layout));
    return status;
}

static eg_status check_input(const eg_quantization *quantization, unsigned rank,
                             const uint64_t *shape, eg__infile_format *out, eg_error *error) {
    const bool is_f32 = quantization && quantization->type == EG_F32; /* not quantized */
    const eg_status status = is_f32 ? EG_OK : eg_quantization_check(quantization, error);
    if (status) return status;
    if (!eg__infile_format_of(quantization, out))
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "type '%s' in layout '%s' is not supported, only block layouts",
                        eg_type_name(quantization->type), eg_layout_name(quantization->layout));
    const size_t block = eg__infile_traits_of(*out)->block_elements;
    const bool has_rows = rank && shape && rank <= EG_RANK_MAX;
    if (block > 1 && (!has_rows || shape[rank - 1] % block))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "rows of %llu elements are not a multiple of the block size %zu",
                        has_rows ? (unsigned long long)shape[rank - 1] : 1ull, block);
    return EG_OK;
}

eg_node eg__quantized_leaf(eg_graph *graph, eg__op_id op, const char *name,
                           const eg_quantization *quantization, unsigned rank,
                           const uint64_t *shape) {
    eg_error reason = {EG_OK, ""};
    eg__infile_format format;
    if (!graph) return (eg_node){0};
    if (op == EG__GRAPH_input ? check_input(quantization, rank, shape, &format, &reason)
                              : check_parameter(quantization, &reason))
        return eg__graph_mistake(graph, reason.status, "%s '%.80s': %s", eg__op_row(op)->name,
                                 name ? name : "", reason.message);
    const eg_node node = eg__graph_leaf(graph, op, name, quantization->type, rank, shape);
    if (node.id) describe(&eg__node_at(graph, node)->attributes.parameter, quantization);
    return node;
}

eg_node eg_parameter_quantized(eg_graph *graph, const char *name,
                               const eg_quantization *quantization, unsigned rank,
                               const uint64_t *shape) {
    const eg_node leaf =
        eg__quantized_leaf(graph, EG__GRAPH_parameter, name, quantization, rank, shape);
    return leaf.id ? eg__graph_add1(graph, EG__GRAPH_widen, 0, leaf, NULL) : leaf;
}

eg_node eg_input_infile(eg_graph *graph, const char *name, const eg_quantization *quantization,
                        unsigned rank, const uint64_t *shape) {
    const eg_node leaf =
        eg__quantized_leaf(graph, EG__GRAPH_input, name, quantization, rank, shape);
    return leaf.id ? eg__graph_add1(graph, EG__GRAPH_widen, 0, leaf, NULL) : leaf;
}

eg_status eg_infile_bytes(const eg_quantization *quantization, unsigned rank, const uint64_t *shape,
                          uint64_t *out, eg_error *error) {
    eg__infile_format format;
    eg_status status = check_input(quantization, rank, shape, &format, error);
    if (status) return status;
    if (!out || rank > EG_RANK_MAX || (rank && !shape))
        return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the bytes, or no shape");
    eg_tensor like = {.type = EG_F32, .rank = rank}; /* more than any of the others */
    if (rank) memcpy(like.shape, shape, rank * sizeof *shape);
    uint64_t elements = 0;
    status = eg_tensor_measure(&like, &elements, NULL, error);
    if (!status) *out = eg__infile_bytes(format, (size_t)elements);
    return status;
}

/* ---- memory layout */
static size_t count_scales(const eg__quantized_parameter *p) {
    if (p->type == EG_F16 || p->type == EG_BF16) return 0;
    return p->one_scale ? 1 : p->block ? p->rows * eg__ceil_div(p->columns, p->block) : 0;
}

bool eg__quantized_parameter_of(const eg__node *node, eg__quantized_parameter *out) {
    const eg_quantization quantization = eg__leaf_quantization(node);
    const size_t elements = (size_t)eg__node_elements(node);
    memset(out, 0, sizeof *out); /* clears the padding bytes, too: steps are compared with memcmp */
    out->type = node->type;
    out->rows = node->rank > 1 ? (size_t)node->shape[0] : 1;
    out->columns = out->rows ? elements / out->rows : 0;
    if (node->op == EG__GRAPH_input) {
        out->in_place = true;
        if (!eg__leaf_format(node, &out->format) || elements > SIZE_MAX / 4) return false;
        out->block = eg__infile_is_blocks(out->format) ? EG__BLOCK : 0;
        out->layout.bytes = eg__infile_bytes(out->format, elements); /* at most those of floats */
        return true;
    }
    out->one_scale = quantization.per == EG_PER_TENSOR;
    out->block = quantization.per == EG_PER_BLOCK ? quantization.block : out->columns;
    out->scales = count_scales(out);
    out->has_zeros = out->scales && !quantization.symmetric;
    return eg__quantized_matrix_measure(out->type, out->rows, out->columns, out->scales,
                                        out->has_zeros, &out->layout);
}

eg__quantized_matrix eg__quantized_parameter_matrix(const eg__quantized_parameter *p,
                                                    const void *memory) {
    const char *at = memory;
    return (eg__quantized_matrix){.type = p->type,
                                  .rows = p->rows,
                                  .columns = p->columns,
                                  .block = p->block,
                                  .one_scale = p->one_scale,
                                  .values = at,
                                  .scale = p->scales ? (const float *)(at + p->layout.scale) : NULL,
                                  .zero =
                                      p->has_zeros ? (const int8_t *)(at + p->layout.zero) : NULL};
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const bool stored = x->op == EG__GRAPH_input && (x->type == EG_F32 || eg__is_quantized_leaf(x));
    if (!stored && (x->op != EG__GRAPH_parameter || !eg__is_quantized(x->type)))
        return eg__fail(error, EG_ERR_ARGUMENT, "needs a quantized parameter, got %s of '%s'",
                        eg__node_operation(x), eg_type_name(x->type));
    eg__shape_copy(node, x);
    node->type = EG_F32;
    return EG_OK;
}

/* In the evaluation in double, such a leaf already has its dequantized values. */
static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    memcpy(out, in[0], eg__node_elements(node) * sizeof *out);
}

static void lower(eg__lowering *l, uint32_t id) {
    const uint32_t x = eg__lower_input(l, id, 0);
    const eg__view from = eg__lower_value(l, x), to = eg__lower_dense_storage(l, id, 0);
    eg__quantized_parameter parameter;
    if (l->status || !eg__node_elements(eg__lower_node(l, id))) return;
    if (!eg__quantized_parameter_of(eg__lower_node(l, x), &parameter)) {
        eg__lower_fail(l, EG_ERR_OVERFLOW, "'%s' is too large", eg__lower_node(l, x)->name);
        return;
    }
    eg__step step =
        eg__lower_step(l, l->region[id], id, EG__STEP_widen, 1, parameter.rows * parameter.columns);
    step.operation[0] = parameter.in_place ? eg__infile_widen_operation(parameter.format)
                                           : eg__widen_operation(parameter.type);
    step.u.widen.from = parameter;
    step.flops = parameter.scales || (parameter.in_place && parameter.block)
                     ? 2.0 * (double)step.columns
                     : 0;
    step.bytes = (double)parameter.layout.bytes + 4.0 * (double)step.columns;
    eg__operand operands[] = {eg__lower_operand(&step, &from, 0, false),
                              eg__lower_operand(&step, &to, 0, false)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

const eg__op eg__op_widen = {.name = "widen", .infer = infer, .evaluate = evaluate, .lower = lower};
