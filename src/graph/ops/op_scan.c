/* scan: a body run many times. The scan node (first is the number of its first step) has no
 * value of its own; carry and step are values inside, stack, total and last bring values out. While
 * it is being built, its `next` is the lengths of the samples. */
#include "graph/graph.h"
#include "graph/ops/kv.h"

#include <string.h>

eg_node eg_scan(eg_graph *graph, uint64_t length, int reverse) {
    if (!length || length > INT64_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan: a length of %llu steps",
                                 (unsigned long long)length);
    eg__attributes attributes = {.scan = {.length = length, .reverse = reverse != 0}};
    return eg__graph_add(graph, EG__GRAPH_scan, 0, 0, NULL, &attributes, NULL);
}

static eg_node make(eg_graph *graph, const char *name, const eg__node *like,
                    const eg_node *inputs) {
    (void)name, (void)inputs;
    const eg__scan_attributes of = like->attributes.scan;
    const eg_node scan = eg_scan(graph, of.length, of.reverse);
    if (scan.id) eg__node_at(graph, scan)->attributes.scan.first = of.first;
    return scan;
}

static const eg__node *input_of(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

static eg_status check_scan(const eg__node *scan, eg_error *error) {
    if (scan->op == EG__GRAPH_scan) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is no scan", eg__node_operation(scan));
}

void eg_scan_lengths(eg_graph *graph, eg_node scan, eg_node lengths) {
    if (!graph || !scan.id || !lengths.id || scan.id > graph->size || lengths.id > graph->size)
        return;
    const eg__node *n = eg__node_at(graph, lengths);
    char text[160];
    if (eg__node_at(graph, scan)->op != EG__GRAPH_scan)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan lengths: '%s' is no scan",
                          eg__node_operation(eg__node_at(graph, scan)));
    else if (n->type != EG_F32 || n->rank != 1 || n->scan)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                          "scan lengths: %s %s is no f32 [batch] outside of scans",
                          eg_type_name(n->type), eg__shape_text(n, text));
    else eg__node_at(graph, scan)->next = lengths.id;
}

/* `next` up to the end of a sample, `carry` after it. */
static eg_node freeze(eg_graph *graph, eg_node scan, eg_node carry, eg_node next) {
    const eg__node s = *eg__node_at(graph, scan), c = *eg__node_at(graph, carry);
    const uint64_t steps = s.attributes.scan.length;
    float *times =
        eg__memory_take_array(graph->memory, EG_TAG_GRAPH, (size_t)steps, sizeof *times, NULL);
    if (!times)
        return eg__graph_mistake(graph, EG_ERR_MEMORY, "no memory for %llu times",
                                 (unsigned long long)steps);
    for (uint64_t i = 0; i < steps; i++) times[i] = (float)i;
    const eg_tensor tensor = {EG_F32, 1, {steps}, times};
    eg_node now = eg_scan_step(graph, scan, eg_constant(graph, &tensor));
    eg__memory_give(graph->memory, times);
    uint64_t shape[EG_RANK_MAX] = {c.rank ? c.shape[0] : 1, 1, 1, 1, 1, 1};
    eg_node lengths = eg_reshape(graph, (eg_node){s.next}, c.rank ? c.rank : 1, shape);
    if (eg__is_half(c.type)) { /* widening and rounding back is exact */
        next = eg_cast(graph, next, EG_F32);
        carry = eg_cast(graph, carry, EG_F32);
    }
    const eg_node value = eg_select(graph, eg_lt(graph, now, lengths), next, carry);
    return eg__is_half(c.type) ? eg_cast(graph, value, c.type) : value;
}

/* ---- inside */
eg_node eg_scan_carry(eg_graph *graph, eg_node scan, eg_node initial) {
    return eg__graph_add2(graph, EG__GRAPH_carry, 0, scan, initial, NULL);
}
static eg_status infer_carry(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *initial = input_of(graph, node, 1);
    if (initial->type != EG_F32 && !eg__is_half(initial->type))
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, f16 or bf16, got '%s'",
                        eg_type_name(initial->type));
    eg__shape_copy(node, initial);
    return check_scan(input_of(graph, node, 0), error);
}

eg_node eg_scan_step(eg_graph *graph, eg_node scan, eg_node sequence) {
    return eg__graph_add2(graph, EG__GRAPH_step, 0, scan, sequence, NULL);
}
static eg_status infer_step(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *scan = input_of(graph, node, 0), *sequence = input_of(graph, node, 1);
    eg_status status = check_scan(scan, error);
    if (status) return status;
    char text[160];
    if (!sequence->rank || sequence->shape[0] != scan->attributes.scan.length)
        return eg__fail(error, EG_ERR_ARGUMENT, "a sequence of %s for a scan of %lld steps",
                        eg__shape_text(sequence, text), (long long)scan->attributes.scan.length);
    node->type = sequence->type;
    node->rank = sequence->rank - 1;
    memcpy(node->shape, sequence->shape + 1, node->rank * sizeof *node->shape);
    return EG_OK;
}

void eg_scan_update(eg_graph *graph, eg_node carry, eg_node next) {
    if (!graph || !carry.id || !next.id || carry.id > graph->size || next.id > graph->size) return;
    eg__node *c = eg__node_at(graph, carry);
    const eg__node *n = eg__node_at(graph, next);
    char first[160], second[160];
    if (c->op != EG__GRAPH_carry)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan update: '%s' is no carry",
                          eg__node_operation(c));
    else if (n->op == EG__GRAPH_scan)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan update: a scan has no value");
    else if (eg__kv_of(graph, next.id))
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan update: a carry cannot become a cache");
    else if (c->next)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan update: carry %u has one already",
                          carry.id);
    else if (n->scan && n->scan != c->scan)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scan update: the value is of another scan");
    else if (!eg__same_shape(c, n) || n->type != c->type)
        eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                          "scan update: a carry of %s %s cannot become %s %s",
                          eg_type_name(c->type), eg__shape_text(c, first), eg_type_name(n->type),
                          eg__shape_text(n, second));
    else {
        const eg_node scan = {c->scan};
        if (eg__node_at(graph, scan)->next) next = freeze(graph, scan, carry, next);
        if (next.id) eg__node_at(graph, carry)->next = next.id;
    }
}

/* ---- out: stack and total take (scan, value), last takes (scan, carry) */
static eg_status check_out(const eg_graph *graph, const eg__node *node, eg_error *error) {
    const eg__node *scan = input_of(graph, node, 0), *value = input_of(graph, node, 1);
    eg_status status = check_scan(scan, error);
    if (status) return status;
    if (value->scan && value->scan != eg__node_input(graph, node, 0).id)
        return eg__fail(error, EG_ERR_ARGUMENT, "the value is of another scan");
    /* total computes, so it takes f32 only (see `moves`) */
    if (value->type != EG_F32 && !eg__is_half(value->type))
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'", eg_type_name(value->type));
    return EG_OK;
}

/* `every`: steps that share a slot, which keeps the last of them; 0 = one slot per step. */
eg_node eg_scan_stack(eg_graph *graph, eg_node scan, eg_node value) {
    return eg__graph_add2(graph, EG__GRAPH_stack, 0, scan, value, NULL);
}
eg_node eg__scan_stack_every(eg_graph *graph, eg_node scan, eg_node value, uint64_t every) {
    eg__attributes attributes = {.stack = {every}};
    return eg__graph_add2(graph, EG__GRAPH_stack, 0, scan, value, &attributes);
}
static eg_status infer_stack(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg_status status = check_out(graph, node, error);
    if (status) return status;
    const eg__node *value = input_of(graph, node, 1);
    if (value->rank == EG_RANK_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "rank %u has no room for time", value->rank);
    node->type = value->type;
    node->rank = value->rank + 1;
    node->shape[0] = input_of(graph, node, 0)->attributes.scan.length;
    const uint64_t every = node->attributes.stack.every;
    if (every) node->shape[0] = (node->shape[0] + every - 1) / every;
    memcpy(node->shape + 1, value->shape, value->rank * sizeof *node->shape);
    return EG_OK;
}

eg_node eg_scan_sum(eg_graph *graph, eg_node scan, eg_node value) {
    return eg__graph_add2(graph, EG__GRAPH_total, 0, scan, value, NULL);
}
static eg_status infer_total(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg__shape_copy(node, input_of(graph, node, 1));
    return check_out(graph, node, error);
}

eg_node eg_scan_last(eg_graph *graph, eg_node carry) {
    if (!graph || !carry.id || carry.id > graph->size) return (eg_node){0};
    const eg__node *c = eg__node_at(graph, carry);
    if (c->op != EG__GRAPH_carry)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "last: '%s' is no carry",
                                 eg__node_operation(c));
    return eg__graph_add2(graph, EG__GRAPH_last, 0, eg__node_input(graph, c, 0), carry, NULL);
}
static eg_status infer_last(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg__shape_copy(node, input_of(graph, node, 1));
    return check_out(graph, node, error);
}

/* ---- FLOPs and bytes: the scan node itself reads nothing. A stack and a total count for the whole
 * loop. */
static double reads(const eg_graph *graph, const eg__node *node, unsigned i) {
    (void)graph;
    return i ? (double)eg__node_elements(node) : 0; /* one step of the sequence */
}
static double flops_total(const eg_graph *graph, const eg__node *node) {
    return (double)input_of(graph, node, 0)->attributes.scan.length *
           (double)eg__node_elements(node);
}
static double reads_total(const eg_graph *graph, const eg__node *node, unsigned i) {
    return i ? flops_total(graph, node) : 0;
}

static int time_step(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node, (void)input;
    return axis == 0 ? EG__TIME_ENDS : EG__TIME_MIXED; /* the time axis ends here */
}
static int time_last(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node, (void)input, (void)axis;
    return EG__TIME_ENDS;
}
static bool keeps_always(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)graph, (void)node, (void)items;
    return true;
}

const eg__op eg__op_scan = {.name = "scan", .is_unique = true, .make = make};
const eg__op eg__op_carry = {.name = "carry",
                             .moves = true,
                             .scan_side = EG__SCAN_ENTERS,
                             .is_unique = true,
                             .is_kept = eg__always_kept,
                             .infer = infer_carry,
                             .reads = reads,
                             .keeps_items = keeps_always};
const eg__op eg__op_step = {.name = "step",
                            .moves = true,
                            .scan_side = EG__SCAN_ENTERS,
                            .infer = infer_step,
                            .reads = reads,
                            .time = time_step};
const eg__op eg__op_stack = {.name = "stack",
                             .moves = true,
                             .scan_side = EG__SCAN_LEAVES,
                             .infer = infer_stack,
                             .reads = reads};
const eg__op eg__op_total = {.name = "total",
                             .scan_side = EG__SCAN_LEAVES,
                             .infer = infer_total,
                             .flops = flops_total,
                             .reads = reads_total};
const eg__op eg__op_last = {.name = "last",
                            .moves = true,
                            .scan_side = EG__SCAN_LEAVES,
                            .infer = infer_last,
                            .reads = reads,
                            .time = time_last};
