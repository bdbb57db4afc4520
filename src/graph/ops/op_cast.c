/* cast: converts between f32, f16 and bf16. */
#include "graph/lower/lower.h"

eg_node eg_cast(eg_graph *graph, eg_node x, eg_type type) {
    const eg__attributes attributes = {.cast = {(uint64_t)type}};
    return eg__graph_add1(graph, EG__GRAPH_cast, 0, x, &attributes);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const uint64_t wanted = node->attributes.cast.type;
    const eg_type type = wanted <= EG_BF16 ? (eg_type)wanted : EG_I32;
    const bool narrows = x->type == EG_F32 && eg__is_half(type);
    const bool widens = eg__is_half(x->type) && type == EG_F32;
    if (eg__is_quantized_leaf(x) || (!narrows && !widens))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cannot cast '%s' to type %llu: one must be f32, the other f16 "
                        "or bf16",
                        eg_type_name(x->type), (unsigned long long)wanted);
    eg__shape_copy(node, x);
    node->type = type;
    return EG_OK;
}

float eg__half_to_f32(eg_type type, uint16_t half) {
    float value;
    if (type == EG_F16) eg__f16_to_f32_ref(1, &half, &value);
    else eg__bf16_to_f32_ref(1, &half, &value);
    return value;
}

uint16_t eg__half_from_f32(eg_type type, float value) {
    uint16_t half;
    if (type == EG_F16) eg__f32_to_f16_ref(1, &value, &half);
    else eg__f32_to_bf16_ref(1, &value, &half);
    return half;
}

/* Gradients are f32, whatever the type of the value. */
static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    const eg_graph *graph = eg__backward_graph(backward);
    eg__backward_give(backward, eg__node_input(graph, eg__node_at(graph, node), 0), d);
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    const eg_type type = node->type;
    for (uint64_t i = 0; i < eg__node_elements(node); i++)
        out[i] = type == EG_F32 ? in[0][i]
                                : eg__half_to_f32(type, eg__half_from_f32(type, (float)in[0][i]));
}

/* A vector whose elements are items or time steps: each element is a row. */
static eg__matrix column_of(const eg__node *node, const eg__view *view) {
    return (eg__matrix){*view, (size_t)node->shape[0], 1, view->stride[0]};
}

static void lower(eg__lowering *l, uint32_t id) {
    const uint32_t input = eg__lower_input(l, id, 0);
    const eg__node *node = eg__lower_node(l, id);
    eg__matrix x, y;
    if (node->rank == 1 && (l->regions[l->region[id]].batch_items || l->timed[id])) {
        const eg__view from = eg__lower_value(l, input), to = eg__lower_storage(l, id, 0);
        x = column_of(node, &from);
        y = column_of(node, &to);
    } else {
        x = eg__lower_rows(l, input);
        y = eg__lower_rows_storage(l, id, 0);
    }
    if (l->status || !x.rows || !x.columns) return;
    const eg_type from = eg__lower_node(l, input)->type, to = node->type;
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_cast, x.rows, x.columns);
    step.operation[0] = to == EG_F32 ? eg__widen_operation(from) : eg__narrow_operation(to);
    step.bytes = (double)x.rows * (double)x.columns *
                 (double)(eg__element_size(from) + eg__element_size(to));
    const eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                                    eg__lower_operand(&step, &y.view, y.stride, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

const eg__op eg__op_cast = {.name = "cast",
                            .moves = true,
                            .infer = infer,
                            .gradient = gradient,
                            .evaluate = evaluate,
                            .lower = lower,
                            .time = eg__time_aligned,
                            .keeps_items = eg__keeps_aligned};
