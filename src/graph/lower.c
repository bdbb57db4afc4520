/* Values, homes and steps: what the lowering of every operation builds on. */
#include "graph/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- failures and memory */
void eg__lower_fail(eg__lowering *l, eg_status status, const char *format, ...) {
    if (l->status) return;
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    l->status = eg__fail(l->error, status, "%s", message);
}

void *eg__lower_array(eg__lowering *l, size_t count, size_t size) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *array = eg__memory_take_array(l->memory, EG_TAG_GRAPH, count, size, &reason);
    if (!array) eg__lower_fail(l, reason.status, "%s", reason.message);
    return array;
}

bool eg__lower_grow(eg__lowering *l, void **array, size_t used, size_t *room, size_t size) {
    if (l->status) return false;
    if (eg__memory_grow(l->memory, EG_TAG_GRAPH, array, used, room, 2, size)) return true;
    eg__lower_fail(l, EG_ERR_MEMORY, "no memory for a larger program");
    return false;
}

/* ---- views */
bool eg__view_is_contiguous(const eg__node *shape, const eg__view *view) {
    size_t expected = 1;
    for (unsigned i = shape->rank; i-- > 0;) {
        if (shape->shape[i] != 1 && view->stride[i] != expected) return false;
        expected *= (size_t)shape->shape[i];
    }
    return true;
}

bool eg__view_same(const eg__node *shape, const eg__view *a, const eg__view *b) {
    if (a->buffer != b->buffer || a->offset != b->offset || a->time != b->time) return false;
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->shape[i] > 1 && a->stride[i] != b->stride[i]) return false;
    return true;
}

static void set_strides(const eg__node *shape, eg__view *view) {
    size_t stride = 1;
    for (unsigned i = shape->rank; i-- > 0;) {
        view->stride[i] = stride;
        stride *= (size_t)shape->shape[i];
    }
}

eg__view eg__view_broadcast(const eg__node *in, const eg__view *view, const eg__node *out) {
    eg__view result = *view;
    const unsigned lead = out->rank - in->rank;
    for (unsigned i = 0; i < out->rank; i++) {
        const bool repeats = i < lead || (in->shape[i - lead] == 1 && out->shape[i] != 1);
        result.stride[i] = repeats ? 0 : view->stride[i - lead];
    }
    return result;
}

eg__view eg__view_part(const eg__view *view, unsigned axis, size_t start) {
    eg__view part = *view;
    part.offset += start * view->stride[axis];
    return part;
}

bool eg__view_split(const eg__node *shape, const eg__view *view, unsigned split,
                    eg__fused_kind *kind, size_t *stride) {
    size_t expected = 1, columns = 1, rows = 1;
    bool dense = true, constant = true, first = true;
    for (unsigned i = shape->rank; i-- > split;) {
        columns *= (size_t)shape->shape[i];
        if (shape->shape[i] == 1) continue;
        dense = dense && view->stride[i] == expected;
        constant = constant && view->stride[i] == 0;
        expected *= (size_t)shape->shape[i];
    }
    if (!dense && !constant) return false;
    *stride = 0;
    for (unsigned i = split; i-- > 0;) {
        rows *= (size_t)shape->shape[i];
        if (shape->shape[i] == 1) continue;
        if (first) *stride = view->stride[i];
        else if (view->stride[i] != expected) return false;
        expected = view->stride[i] * (size_t)shape->shape[i];
        first = false;
    }
    if (columns == 1) dense = *stride != 0 || rows <= 1; /* one column: either is true */
    if (rows <= 1) {
        *stride = columns;
        *kind = dense ? EG__FULL : EG__SCALAR;
    } else if (*stride) *kind = dense ? EG__FULL : EG__ROW;
    else *kind = dense ? EG__COLUMN : EG__SCALAR;
    return true;
}

bool eg__view_rows(const eg__node *shape, const eg__view *view, eg__matrix *out) {
    if (!shape->rank) {
        *out = (eg__matrix){*view, 1, 1, 1};
        return true;
    }
    const unsigned last = shape->rank - 1;
    eg__fused_kind kind;
    size_t stride, rows = 1;
    for (unsigned i = 0; i < last; i++) rows *= (size_t)shape->shape[i];
    if (!eg__node_elements(shape)) { /* strides mean nothing */
        *out = (eg__matrix){*view, rows, (size_t)shape->shape[last], (size_t)shape->shape[last]};
        return true;
    }
    if (shape->shape[last] > 1 && view->stride[last] != 1) return false;
    if (!eg__view_split(shape, view, last, &kind, &stride)) return false;
    if (rows > 1 && !stride) return false; /* rows that are the same one have to be copied */
    *out = (eg__matrix){*view, rows, (size_t)shape->shape[last], stride};
    return true;
}

/* ---- buffers */
uint32_t eg__lower_buffer(eg__lowering *l, uint32_t region, size_t size) {
    void *buffers = l->buffers;
    if (!eg__lower_grow(l, &buffers, l->buffer_count, &l->buffer_room, sizeof *l->buffers))
        return 0;
    l->buffers = buffers;
    /* aligned to 64 bytes; in a body that is cut, every item has its own part */
    const size_t items = l->regions[region].cut ? l->regions[region].cut : 1;
    l->buffers[l->buffer_count] =
        (eg__buffer){.space = region == EG__REGION_PROLOGUE ? EG__SPACE_DERIVED : EG__SPACE_ARENA,
                     .region = region,
                     .size = eg__round_up(eg__ceil_div(size, items), 16),
                     .first = EG__NEVER};
    l->buffers[l->buffer_count].bound = l->buffers[l->buffer_count].size;
    return (uint32_t)l->buffer_count++;
}

static eg__view view_new(eg__lowering *l, uint32_t buffer, const eg__node *shape) {
    (void)l;
    eg__view view = {.buffer = buffer};
    set_strides(shape, &view);
    return view;
}

eg__view eg__lower_new(eg__lowering *l, uint32_t region, const eg__node *shape) {
    return view_new(l, eg__lower_buffer(l, region, (size_t)eg__node_elements(shape)), shape);
}

/* A buffer outside of the arena: a leaf, an output, the constants. */
static uint32_t outside_buffer(eg__lowering *l, uint32_t space, size_t offset) {
    uint32_t buffer = eg__lower_buffer(l, EG__REGION_MAIN, 0);
    if (buffer) {
        l->buffers[buffer].space = space;
        l->buffers[buffer].offset = offset;
    }
    return buffer;
}

eg__view eg__lower_constant(eg__lowering *l, size_t count, const void *data) {
    const size_t size = eg__round_up(eg__max(count, 1), 16);
    void *constants = l->constants;
    eg__view view = {0};
    if (l->status) return view;
    if (!eg__memory_grow(l->memory, EG_TAG_GRAPH, &constants, l->constants_count,
                         &l->constants_room, size, sizeof *l->constants)) {
        eg__lower_fail(l, EG_ERR_MEMORY, "no memory for a constant");
        return view;
    }
    l->constants = constants;
    if (count) memcpy(l->constants + l->constants_count, data, count * sizeof *l->constants);
    view.buffer = outside_buffer(l, EG__SPACE_CONSTANTS, l->constants_count);
    l->constants_count += size;
    return view;
}

/* ---- values */
static eg__view leaf_value(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view view = {0};
    if (node->op == EG__GRAPH_constant)
        view = eg__lower_constant(l, (size_t)eg__node_elements(node), node->data);
    else {
        const struct eg_program *p = l->program;
        const eg__leaves *leaves = node->op == EG__GRAPH_parameter ? &p->parameters
                                   : node->op == EG__GRAPH_state   ? &p->states
                                                                   : &p->inputs;
        size_t at = 0;
        while (strcmp(leaves->list[at].name, node->name) != 0) at++;
        const uint32_t space = node->op == EG__GRAPH_parameter ? EG__SPACE_PARAMETERS
                               : node->op == EG__GRAPH_state   ? EG__SPACE_STATES
                                                               : EG__SPACE_BOUND + (uint32_t)at;
        view.buffer = outside_buffer(l, space, leaves->list[at].offset);
    }
    set_strides(node, &view);
    return view;
}

static eg__view step_value(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view sequence = eg__lower_value(l, eg__lower_input(l, id, 1)), view = sequence;
    if (sequence.time) { /* it lies where the length of the run says: a scan's last */
        sequence = eg__lower_contiguous(l, eg__lower_input(l, id, 1));
        view = sequence;
    }
    view.time = sequence.stride[0];
    for (unsigned i = 0; i < node->rank; i++) view.stride[i] = sequence.stride[i + 1];
    return view;
}

static eg__view materialise(eg__lowering *l, uint32_t id, const eg__view *from) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view to = eg__lower_new(l, l->region[id], node);
    eg__lower_copy(l, l->region[id], id, node, from, &to);
    return to;
}

eg__view eg__lower_value(eg__lowering *l, uint32_t id) {
    if (l->known[id] || l->status) return l->value[id];
    const eg__node *node = eg__lower_node(l, id);
    eg__view view = {0};
    if (node->op == EG__GRAPH_step) view = step_value(l, id);
    else if (node->op == EG__GRAPH_update) view = eg__lower_value(l, eg__lower_input(l, id, 1));
    else if (node->op == EG__GRAPH_dropout) view = eg__lower_value(l, eg__lower_input(l, id, 0));
    else if (eg__op_row(node->op)->view) {
        const uint32_t input = eg__lower_input(l, id, 0);
        eg__view in = eg__lower_value(l, input);
        if (!eg__op_row(node->op)->view(l->graph, node, &in, &view)) {
            in = eg__lower_contiguous(l, input);
            eg__op_row(node->op)->view(l->graph, node, &in, &view);
        }
    } else if (!node->input_count) view = leaf_value(l, id);
    else
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u (%s) is used before it is computed", id,
                       eg__node_operation(node));
    l->value[id] = view;
    l->known[id] = 1;
    return view;
}

eg__view eg__lower_contiguous(eg__lowering *l, uint32_t id) {
    eg__view view = eg__lower_value(l, id);
    if (l->status || eg__view_is_contiguous(eg__lower_node(l, id), &view)) {
        set_strides(eg__lower_node(l, id), &view); /* those of extents of 1, too */
        return view;
    }
    return l->value[id] = materialise(l, id, &view);
}

eg__matrix eg__lower_rows(eg__lowering *l, uint32_t id) {
    eg__matrix matrix = {{0}, 1, 1, 1};
    eg__view view = eg__lower_value(l, id);
    if (!eg__view_rows(eg__lower_node(l, id), &view, &matrix)) {
        view = eg__lower_contiguous(l, id);
        eg__view_rows(eg__lower_node(l, id), &view, &matrix);
    }
    return matrix;
}

/* ---- homes: where a value is wanted in the end, so that it need not be copied there */
static bool is_output(const eg__lowering *l, uint32_t id, size_t *which) {
    for (*which = 0; *which < l->output_count; (*which)++)
        if (l->outputs[*which].id == id) return true;
    return false;
}

static eg__view find_home(eg__lowering *l, uint32_t id, uint32_t reuse, bool early);

/* The value is part of a concat: a part of its home. */
static bool home_in_concat(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op != EG__GRAPH_concat || l->region[user] != l->region[id]) continue;
        const unsigned axis = (unsigned)node->attributes.index[0];
        size_t start = 0;
        for (unsigned i = 0; eg__node_input(l->graph, node, i).id != id; i++)
            start += (size_t)eg__node_at(l->graph, eg__node_input(l->graph, node, i))->shape[axis];
        if (!l->known[user]) find_home(l, user, 0, true);
        *view = eg__view_part(&l->value[user], axis, start);
        if (eg__lower_last_use(l, id, l->region[id]) != l->units[l->unit[user]].position)
            l->buffers[view->buffer].owner = 0; /* others read the part: the whole stays as it is */
        return true;
    }
    return false;
}

/* The value becomes a carry of which every step is kept. */
static bool follows_history(const eg__lowering *l, uint32_t id) {
    for (uint32_t carry = l->becomes[id]; carry; carry = l->becomes_too[carry])
        if (l->value[carry].time) return true;
    return false;
}

/* The value is stacked by its scan: a slice of the stack. */
bool eg__lower_stack_place(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op != EG__GRAPH_stack || node->attributes.index[0] ||
            eg__lower_input(l, user, 0) != eg__lower_node(l, id)->scan)
            continue;
        if (!l->known[user] && follows_history(l, id) && !is_output(l, user, &(size_t){0}))
            return false; /* the history of the carry is the stack */
        if (!l->known[user]) eg__lower_home(l, user, 0);
        const eg__view stack = l->value[user];
        *view = stack;
        view->time = stack.stride[0];
        for (unsigned i = 0; i + 1 < node->rank; i++) view->stride[i] = stack.stride[i + 1];
        return true;
    }
    return false;
}

/* Everybody who reads `old` has done so when the unit of `id` writes over it. */
static bool may_replace(eg__lowering *l, uint32_t old, uint32_t id) {
    const uint32_t region = l->region[id];
    const uint32_t unit = l->unit[id], position = l->units[unit].position;
    /* a carry that becomes what this one is reads it after the last step of the body */
    if (!unit || is_output(l, old, &(size_t){0}) || l->becomes[old]) return false;
    for (uint32_t k = l->user_first[old]; k < l->user_first[old + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op == EG__GRAPH_last) continue;
        if (node->op == EG__GRAPH_update) { /* its own, or another state becomes what it was */
            if (eg__lower_input(l, user, 1) == old) return false;
            continue;
        }
        if (l->region[user] != region) return false;
        if (eg__is_view(l, user)) {
            const uint32_t last = eg__lower_last_use(l, user, region);
            if (last == EG__NEVER || last >= position) return false;
        } else {
            const uint32_t at = l->units[l->unit[user]].position;
            if (at > position) return false;
            /* in the same unit only elementwise, at the very place */
            const bool same_place =
                l->units[unit].is_fused
                    ? eg__same_shape(node, eg__lower_node(l, old))
                    : node->op == EG__GRAPH_place && eg__lower_input(l, user, 2) != old;
            if (at == position && (l->unit[user] != unit || !same_place)) return false;
        }
    }
    return true;
}

/* A carry becomes this value: it may be written where the carry is. */
static bool home_in_carry(eg__lowering *l, uint32_t id, bool early, eg__view *view) {
    const uint32_t region = l->region[id];
    const uint32_t found = l->becomes[id];
    if (region < EG__REGION_BODIES || !found || l->becomes_too[found]) return false;
    *view = l->value[found];
    if (view->time) { /* the history of a carry: the next step's place */
        const bool reverse =
            eg__lower_node(l, eg__lower_node(l, found)->scan)->attributes.index[1] != 0;
        if (reverse) view->offset -= view->time;
        else view->offset += view->time;
        return true;
    }
    return !early && may_replace(l, found, id);
}

static bool home_in_state(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        if (eg__lower_node(l, user)->op != EG__GRAPH_update || eg__lower_input(l, user, 1) != id)
            continue;
        const uint32_t state = eg__lower_input(l, user, 0);
        if (l->live[state] && !may_replace(l, state, id)) continue;
        *view = eg__lower_value(l, state);
        return true;
    }
    return false;
}

bool eg__lower_reusable(const eg__lowering *l, uint32_t id, uint32_t input) {
    if (!l->known[input] || !eg__pass_is_on(l->options, "reuse")) return false;
    const eg__view *old = &l->value[input];
    const eg__buffer *buffer = &l->buffers[old->buffer];
    return buffer->owner == input && buffer->region == l->region[id] &&
           buffer->space == EG__SPACE_ARENA && !old->offset && !old->time &&
           eg__same_shape(eg__lower_node(l, id), eg__lower_node(l, input)) &&
           eg__lower_last_use(l, input, l->region[id]) == l->units[l->unit[id]].position;
}

/* `early`: the value comes in parts, before its own unit runs. */
static eg__view find_home(eg__lowering *l, uint32_t id, uint32_t reuse, bool early) {
    if (l->known[id] || l->status) return l->value[id];
    const eg__node *node = eg__lower_node(l, id);
    eg__view view = {0};
    size_t which;
    const bool places = l->region[id] != EG__REGION_PROLOGUE && eg__pass_is_on(l->options, "place");
    if (places && is_output(l, id, &which)) {
        view.buffer =
            outside_buffer(l, EG__SPACE_BOUND + (uint32_t)(l->program->inputs.count + which), 0);
        set_strides(node, &view);
    } else if (places && home_in_carry(l, id, early, &view)) {
    } else if (places && !early && home_in_state(l, id, &view)) {
    } else if (eg__pass_is_on(l->options, "place") && home_in_concat(l, id, &view)) {
    } else if (places && eg__lower_stack_place(l, id, &view)) {
    } else if (reuse && eg__lower_reusable(l, id, reuse)) {
        view = l->value[reuse];
        l->buffers[view.buffer].owner = id;
    } else {
        view = eg__lower_new(l, l->region[id], node);
        if (view.buffer) l->buffers[view.buffer].owner = id;
    }
    l->value[id] = view;
    l->known[id] = 1;
    return view;
}

eg__view eg__lower_home(eg__lowering *l, uint32_t id, uint32_t reuse) {
    return find_home(l, id, reuse, false);
}

eg__view eg__lower_plain_home(eg__lowering *l, uint32_t id) {
    eg__view view = eg__lower_new(l, l->region[id], eg__lower_node(l, id));
    if (l->status) return view;
    l->buffers[view.buffer].owner = id;
    l->value[id] = view;
    l->known[id] = 1;
    return view;
}

/* ---- steps */
eg__step eg__lower_step(eg__lowering *l, uint32_t region, uint32_t id, const char *name,
                        eg__step_function *run, size_t rows, size_t columns) {
    eg__step step = {
        .run = run, .node = id, .name = name, .items = rows, .rows = 1, .columns = columns};
    const size_t cut = l->regions[region].cut;
    if (cut) {
        step.items = cut;
        step.rows = rows / cut;
    } else if (region == EG__REGION_MAIN && l->timed[id] && rows % l->length == 0) {
        step.timed = true;
        step.items = rows / l->length;
    }
    return step;
}

eg__operand eg__lower_operand(const eg__step *step, const eg__view *view, size_t stride,
                              bool moves) {
    return (eg__operand){.space = view->buffer,
                         .offset = view->offset,
                         .time = view->time,
                         .item = moves ? step->rows * stride : 0,
                         .stride = stride};
}

static void touch(eg__lowering *l, uint32_t id, uint32_t region) {
    eg__buffer *buffer = &l->buffers[id];
    if (buffer->region != region) {
        buffer->touched =
            true; /* lives as long as the scan runs; the scan's step says when that is */
        if (buffer->region == EG__REGION_PROLOGUE) buffer->kept = true;
        return;
    }
    const uint32_t at = (uint32_t)l->regions[region].count;
    if (buffer->first == EG__NEVER) buffer->first = at;
    buffer->last = at;
}

/* A thread is worth its start from some microseconds of work on. */
static size_t grain_of(const eg__step *step, size_t items) {
    enum { WORTH_NS = 5000 };
    const bool product = step->run == eg__run_gemm;
    if (!items || step->run == eg__run_scatter || step->run == eg__run_column_sum ||
        step->run == eg__run_synapses_dp || step->run == eg__run_place)
        return 0;
    double ns = (step->flops / (product ? 60 : 6) + step->bytes / 20) / (double)items;
    size_t grain = ns * (double)items < 1 ? items : (size_t)(WORTH_NS / ns) + 1;
    if (product && !step->u.gemm.products) grain = eg__max(grain, eg__ceil_div(8, step->rows));
    return grain;
}

void eg__lower_emit(eg__lowering *l, uint32_t region, eg__step *step, size_t count,
                    const eg__operand *operands) {
    eg__region *r = &l->regions[region];
    void *steps = r->steps, *all = l->operands;
    if (!eg__lower_grow(l, &steps, r->count, &r->room, sizeof *r->steps)) return;
    r->steps = steps;
    if (!eg__memory_grow(l->memory, EG_TAG_GRAPH, &all, l->operand_count, &l->operand_room, count,
                         sizeof *l->operands)) {
        eg__lower_fail(l, EG_ERR_MEMORY, "no memory for a larger program");
        return;
    }
    l->operands = all;
    step->first_operand = (uint32_t)l->operand_count;
    step->operands = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        touch(l, operands[i].space, region);
        l->operands[l->operand_count++] = operands[i];
    }
    const size_t items = step->timed ? step->items * l->length : step->items;
    if (step->run != eg__run_scan) step->grain = grain_of(step, items);
    r->steps[r->count++] = *step;
}

/* ---- movement that many operations need */
void eg__lower_copy(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    const eg__view *from, const eg__view *to) {
    if (l->status || !eg__node_elements(shape)) return;
    const size_t rows = shape->rank ? (size_t)shape->shape[0] : 1;
    eg__step step = eg__lower_step(l, region, id, "copy", eg__run_copy, rows, 1);
    eg__step_copy *copy = &step.u.copy;
    /* axes of one element go, neighbours that lie alike become one; the first stays for the items */
    copy->shape[copy->rank] = rows;
    copy->from[copy->rank] = shape->rank ? from->stride[0] : 0;
    copy->to[copy->rank++] = shape->rank ? to->stride[0] : 0;
    for (unsigned i = 1; i < shape->rank; i++) {
        const unsigned last = copy->rank - 1;
        const size_t n = (size_t)shape->shape[i];
        if (n == 1) continue;
        if (last > 0 && copy->from[last] == from->stride[i] * n &&
            copy->to[last] == to->stride[i] * n) {
            copy->shape[last] *= n;
            copy->from[last] = from->stride[i];
            copy->to[last] = to->stride[i];
        } else {
            copy->shape[copy->rank] = n;
            copy->from[copy->rank] = from->stride[i];
            copy->to[copy->rank++] = to->stride[i];
        }
    }
    if (copy->rank == 1) {
        copy->shape[1] = copy->from[1] = copy->to[1] = 1;
        copy->rank = 2;
    }
    if (!step.timed && !l->regions[region].cut && rows > 1 && copy->rank == 2 &&
        copy->from[0] == copy->from[1] * copy->shape[1] &&
        copy->to[0] == copy->to[1] * copy->shape[1] && rows * copy->shape[1] <= 65536) {
        copy->shape[1] *= rows; /* one short run of memory */
        copy->shape[0] = step.items = 1;
    }
    step.columns = (size_t)eg__node_elements(shape) / copy->shape[0];
    step.bytes = 8.0 * (double)eg__node_elements(shape);
    step.rows = 1;
    eg__operand operands[] = {eg__lower_operand(&step, from, copy->from[0], true),
                              eg__lower_operand(&step, to, copy->to[0], true)};
    eg__lower_emit(l, region, &step, 2, operands);
}

/* A program of one instruction on dense or strided rows of a shape. */
static void emit_simple(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                        eg__fused_op op, const eg__view *from, const eg__view *to) {
    eg__matrix rows;
    if (l->status || !eg__node_elements(shape)) return;
    if (!eg__view_rows(shape, to, &rows)) {
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u: rows that are not dense", id);
        return;
    }
    eg__step step = eg__lower_step(l, region, id, "fused", eg__run_fused, rows.rows, rows.columns);
    eg__fused_program *program = &step.u.fused.program;
    step.u.fused.kernel = l->kernels->fused_f32;
    const bool adds = op == EG__FUSED_ADD;
    program->length = 1;
    program->operands = 2;
    program->kind[0] = adds ? EG__FULL : EG__SCALAR;
    program->kind[1] = EG__FULL;
    program->code[0] = (eg__fused_instruction){(uint8_t)op, EG__OPERAND(1), EG__OPERAND(0),
                                               adds ? EG__OPERAND(1) : 0, 0};
    step.flops = adds ? (double)eg__node_elements(shape) : 0;
    step.bytes = (adds ? 12.0 : 4.0) * (double)eg__node_elements(shape);
    eg__matrix source = rows;
    if (adds && !eg__view_rows(shape, from, &source))
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u: rows that are not dense", id);
    eg__operand operands[] = {eg__lower_operand(&step, from, adds ? source.stride : 0, adds),
                              eg__lower_operand(&step, to, rows.stride, true)};
    eg__lower_emit(l, region, &step, 2, operands);
}

void eg__lower_fill(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    float value, const eg__view *to) {
    eg__view constant = eg__lower_constant(l, 1, &value);
    emit_simple(l, region, id, shape, EG__FUSED_COPY, &constant, to);
}

void eg__lower_add(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                   const eg__view *from, const eg__view *to) {
    emit_simple(l, region, id, shape, EG__FUSED_ADD, from, to);
}

eg__matrix eg__lower_rows_home(eg__lowering *l, uint32_t id, uint32_t reuse) {
    eg__matrix rows = {{0}, 1, 1, 1};
    eg__view home = eg__lower_home(l, id, reuse);
    if (!l->status && !eg__view_rows(eg__lower_node(l, id), &home, &rows)) {
        home = eg__lower_plain_home(l, id);
        eg__view_rows(eg__lower_node(l, id), &home, &rows);
    }
    return rows;
}

void eg__lower_rows_step(eg__lowering *l, uint32_t id, const char *name, eg__step_function *run,
                         const eg__step_rows *rows, double flops) {
    const uint32_t input = eg__lower_input(l, id, 0);
    const eg__matrix x = eg__lower_rows(l, input), y = eg__lower_rows_home(l, id, input);
    if (l->status || !x.rows || !x.columns) return;
    eg__step step = eg__lower_step(l, l->region[id], id, name, run, x.rows, x.columns);
    step.u.rows_ = *rows;
    step.flops = flops;
    step.bytes = 8.0 * (double)x.rows * (double)x.columns;
    eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                              eg__lower_operand(&step, &y.view, y.stride, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

/* ---- one unit */
void eg__lower_unit(eg__lowering *l, uint32_t unit) {
    const eg__unit *u = &l->units[unit];
    const eg__node *node = eg__lower_node(l, u->first);
    if (u->guest || l->status) return; /* comes with the unit it hosts */
    if (node->op == EG__GRAPH_scan) eg__lower_scan_unit(l, u->first);
    else if (u->is_fused) eg__lower_fused_unit(l, unit);
    else if (eg__op_row(node->op)->lower) eg__op_row(node->op)->lower(l, u->first);
    else eg__lower_fail(l, EG_ERR_UNSUPPORTED, "%s has no lowering", eg__node_operation(node));
}
