/* rotary position embedding: pairs of columns rotated by their position. Inputs: x [B, T, heads D],
 * frequencies [D/2] and, if there, positions (i32: [T], [B, T], or the first one). With `back` it
 * rotates in the opposite direction: the gradient. */
#include "base/abi.h"
#include "graph/lower/lower.h"

#include <math.h>

enum { X, FREQUENCY, POSITIONS };

static eg_node frequencies(eg_graph *graph, uint64_t half, double base) {
    eg_error error = {0};
    float *data =
        eg__memory_take_array(graph->memory, EG_TAG_GRAPH, (size_t)half, sizeof *data, &error);
    if (!data) return eg__graph_mistake(graph, error.status, "rotary: %s", error.message);
    for (uint64_t i = 0; i < half; i++) data[i] = (float)pow(base, -(double)i / (double)half);
    const eg_tensor tensor = {.type = EG_F32, .rank = 1, .shape = {half}, .data = data};
    const eg_node node = eg_constant(graph, &tensor);
    eg__memory_give(graph->memory, data);
    return node;
}

eg_node eg_rotary(eg_graph *graph, const eg_rotary_options *options, eg_node x, eg_node positions) {
    eg_rotary_options kept, *const o = &kept;
    eg_error reason;
    if (!graph || !options) return (eg_node){0};
    if (EG__OPTIONS(eg_rotary_options, &kept, options, &reason))
        return eg__graph_mistake(graph, reason.status, "rotary: %s", reason.message);
    const double base = o->base == 0 ? 10000 : o->base;
    if (!(base > 0 && base < INFINITY) || !o->d || o->d % 2 || o->d > INT32_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "rotary: heads of %llu columns, base %g",
                                 (unsigned long long)o->d, base);
    const eg__attributes attributes = {.rotary = {.d = o->d, .interleaved = o->interleaved != 0}};
    const eg_node inputs[] = {x, frequencies(graph, o->d / 2, base), positions};
    return eg__graph_add(graph, EG__GRAPH_rotary, 0, positions.id ? 3 : 2, inputs, &attributes,
                         NULL);
}

static const eg__node *at(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = at(graph, node, X), *f = at(graph, node, FREQUENCY);
    const uint64_t d = node->attributes.rotary.d;
    char a[160], b[160];
    if (x->type != EG_F32 || x->rank != 3 || d < 2 || d % 2 || x->shape[2] % d)
        return eg__fail(error, EG_ERR_ARGUMENT, "%s %s is not made of heads of %lld columns",
                        eg_type_name(x->type), eg__shape_text(x, a), (long long)d);
    if (f->type != EG_F32 || f->rank != 1 || f->shape[0] != d / 2)
        return eg__fail(error, EG_ERR_ARGUMENT, "frequencies %s for %lld columns",
                        eg__shape_text(f, a), (long long)d);
    if (node->input_count > POSITIONS) {
        const eg__node *p = at(graph, node, POSITIONS);
        const bool fits =
            p->rank == 0 || (p->rank == 1 && p->shape[0] == x->shape[1]) ||
            (p->rank == 2 && p->shape[0] == x->shape[0] && p->shape[1] == x->shape[1]);
        if (p->type != EG_I32 || !fits)
            return eg__fail(error, EG_ERR_ARGUMENT, "positions %s %s for %s", eg_type_name(p->type),
                            eg__shape_text(p, a), eg__shape_text(x, b));
    }
    eg__shape_copy(node, x);
    return EG_OK;
}

/* four products and two sums for two elements; the angles are shared by the heads and not counted */
static double flops(const eg_graph *graph, const eg__node *node) {
    (void)graph;
    return 3 * (double)eg__node_elements(node);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    eg__attributes attributes = n.attributes;
    attributes.rotary.back = !attributes.rotary.back;
    eg_node inputs[POSITIONS + 1] = {d};
    for (unsigned i = FREQUENCY; i < n.input_count; i++)
        inputs[i] = eg__backward_value(backward, eg__node_input(g, &n, i));
    if (eg__backward_wants(backward, eg__node_input(g, &n, FREQUENCY)))
        eg__graph_mistake(g, EG_ERR_UNSUPPORTED, "rotary: no gradient by the frequencies");
    eg__backward_give(
        backward, eg__node_input(g, &n, X),
        eg__graph_add(g, EG__GRAPH_rotary, 0, n.input_count, inputs, &attributes, NULL));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const uint64_t d = node->attributes.rotary.d, half = d / 2;
    const bool interleaved = node->attributes.rotary.interleaved,
               has = node->input_count > POSITIONS;
    const unsigned rank = has ? at(graph, node, POSITIONS)->rank : 0;
    if (!eg__node_elements(node)) return;
    const uint64_t rows = node->shape[0] * node->shape[1], heads = node->shape[2] / d;
    for (uint64_t r = 0; r < rows; r++) {
        const double place = (double)(r % node->shape[1]);
        const double position = !has        ? place
                                : rank == 0 ? place + in[POSITIONS][0]
                                : rank == 1 ? in[POSITIONS][r % node->shape[1]]
                                            : in[POSITIONS][r];
        for (uint64_t pair = 0; pair < heads * half; pair++) {
            const uint64_t i = pair % half, step = interleaved ? 1 : half;
            const uint64_t first = (r * heads + pair / half) * d + (interleaved ? 2 * i : i);
            const double angle = position * in[FREQUENCY][i];
            const double c = cos(angle),
                         s = node->attributes.rotary.back ? -sin(angle) : sin(angle);
            out[first] = in[X][first] * c - in[X][first + step] * s;
            out[first + step] = in[X][first + step] * c + in[X][first] * s;
        }
    }
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const bool has = node->input_count > POSITIONS;
    const eg__node *p = has ? at(l->graph, node, POSITIONS) : NULL;
    const eg__matrix x = eg__lower_rows(l, eg__lower_input(l, id, X));
    const eg__matrix y = eg__lower_rows_storage(l, id, eg__lower_input(l, id, X));
    const eg__view f = eg__lower_contiguous(l, eg__lower_input(l, id, FREQUENCY));
    eg__step step = eg__lower_begin(id, EG__STEP_rotary);
    step.items = x.rows;
    step.columns = x.columns;
    step.u.rotary =
        (eg__step_rotary){.heads = (size_t)node->shape[2] / (size_t)node->attributes.rotary.d,
                          .d = (size_t)node->attributes.rotary.d,
                          .period = p && p->rank == 2 ? x.rows : (size_t)node->shape[1],
                          .has_list = p && p->rank > 0,
                          .has_offset = p && p->rank == 0,
                          .interleaved = node->attributes.rotary.interleaved,
                          .back = node->attributes.rotary.back};
    step.flops = flops(l->graph, node);
    step.bytes = (double)eg__node_elements(node);
    for (unsigned i = 0; i < node->input_count; i++)
        step.bytes += (double)eg__node_elements(at(l->graph, node, i));
    step.bytes *= sizeof(float);
    eg__operand operands[4] = {eg__lower_operand(&step, &x.view, x.stride, true),
                               eg__lower_operand(&step, &y.view, y.stride, true),
                               eg__lower_operand(&step, &f, 1, false)};
    if (has) {
        const eg__view list = eg__lower_contiguous(l, eg__lower_input(l, id, POSITIONS));
        operands[3] = eg__lower_operand(&step, &list, 1, false);
    }
    if (!l->status && eg__node_elements(node))
        eg__lower_emit(l, l->region[id], &step, has ? 4 : 3, operands);
}

const eg__op eg__op_rotary = {.name = "rotary",
                              .infer = infer,
                              .flops = flops,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .lower = lower};
