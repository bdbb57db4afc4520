/* Buffers and values: what the lowering of every operation builds on. */
#include "graph/lower/lower.h"

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

/* ---- buffers */
enum { LINE = 64 }; /* what memory is aligned to */

uint32_t eg__lower_buffer(eg__lowering *l, uint32_t region, size_t bytes) {
    void *buffers = l->buffers;
    if (!eg__lower_grow(l, &buffers, l->buffer_count, &l->buffer_room, sizeof *l->buffers))
        return 0;
    l->buffers = buffers;
    /* aligned to 64 bytes; in a body that is split by items, this is the part of one item */
    const size_t items = l->regions[region].batch_items ? l->regions[region].batch_items : 1;
    l->buffers[l->buffer_count] =
        (eg__buffer){.space = region == EG__REGION_PROLOGUE ? EG__SPACE_DERIVED : EG__SPACE_ARENA,
                     .region = region,
                     .size = eg__round_up(eg__ceil_div(bytes, items), LINE),
                     .first = EG__NEVER};
    l->buffers[l->buffer_count].bound = l->buffers[l->buffer_count].size;
    return (uint32_t)l->buffer_count++;
}

static uint32_t buffer_of(eg__lowering *l, uint32_t region, size_t count, size_t size) {
    size_t bytes;
    if (eg__size_mul(count, size, &bytes) && bytes <= SIZE_MAX / 2)
        return eg__lower_buffer(l, region, bytes);
    eg__lower_fail(l, EG_ERR_OVERFLOW, "%zu numbers of %zu bytes", count, size);
    return 0;
}

uint32_t eg__lower_floats(eg__lowering *l, uint32_t region, size_t floats) {
    return buffer_of(l, region, floats, sizeof(float));
}

eg__view eg__lower_new(eg__lowering *l, uint32_t region, const eg__node *shape) {
    eg__view view = {.type = shape->type,
                     .buffer = buffer_of(l, region, (size_t)eg__node_elements(shape),
                                         eg__element_size(shape->type))};
    eg__view_set_dense(shape, &view);
    return view;
}

/* A buffer outside of the arena: a leaf, an output, the constants. */
uint32_t eg__lower_outside(eg__lowering *l, uint32_t space, size_t offset) {
    uint32_t buffer = eg__lower_buffer(l, EG__REGION_MAIN, 0);
    if (buffer) {
        l->buffers[buffer].space = space;
        l->buffers[buffer].offset = offset;
    }
    return buffer;
}

/* Its data are in memory already, so the size cannot overflow. */
static size_t constant_bytes(const eg__node *node) {
    return (size_t)eg__node_elements(node) * eg__element_size(node->type);
}

void eg__lower_constants_reserve(eg__lowering *l) {
    size_t all = 0;
    for (uint32_t i = 1; i <= l->graph->size; i++) {
        const eg__node *node = eg__lower_node(l, i);
        if (l->reachable[i] && node->op == EG__GRAPH_constant)
            all += eg__round_up(eg__max(constant_bytes(node), 1), LINE);
    }
    void *constants = NULL;
    if (!eg__memory_grow(l->memory, EG_TAG_GRAPH, &constants, 0, &l->constants_room, all,
                         sizeof *l->constants))
        eg__lower_fail(l, EG_ERR_MEMORY, "no memory for %zu bytes of constants", all);
    l->constants = constants;
}

void eg__lower_constants_lend(eg__lowering *l) {
    for (uint32_t i = 1; i <= l->graph->size; i++) {
        eg__node *node = &l->program->graph->nodes[i];
        const eg__buffer *buffer = &l->buffers[l->value[i].buffer];
        if (node->op != EG__GRAPH_constant || !l->located[i] ||
            buffer->space != EG__SPACE_CONSTANTS)
            continue;
        eg__numbers_give(l->memory, node->data);
        node->data = l->program->constants + buffer->offset;
        node->data_is_lent = true;
    }
}

eg__view eg__lower_constant(eg__lowering *l, size_t bytes, const void *data) {
    const size_t size = eg__round_up(eg__max(bytes, 1), LINE);
    void *constants = l->constants;
    eg__view view = {0};
    if (l->status) return view;
    if (!eg__memory_grow(l->memory, EG_TAG_GRAPH, &constants, l->constants_size, &l->constants_room,
                         size, sizeof *l->constants)) {
        eg__lower_fail(l, EG_ERR_MEMORY, "no memory for a constant");
        return view;
    }
    l->constants = constants;
    if (bytes) memcpy(l->constants + l->constants_size, data, bytes);
    view.buffer = eg__lower_outside(l, EG__SPACE_CONSTANTS, l->constants_size);
    l->constants_size += size;
    return view;
}

/* ---- values */
static eg__view leaf_value(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view view = {0};
    if (node->op == EG__GRAPH_constant)
        view = eg__lower_constant(l, constant_bytes(node), node->data);
    else {
        const struct eg_program *p = l->program;
        const bool cached = node->op == EG__GRAPH_cache;
        const eg__leaves *leaves = node->op == EG__GRAPH_parameter         ? &p->parameters
                                   : node->op == EG__GRAPH_state || cached ? &p->states
                                                                           : &p->inputs;
        size_t at = 0;
        while (strcmp(leaves->list[at].name, node->name) != 0) at++;
        const uint32_t space = node->op == EG__GRAPH_parameter ? EG__SPACE_PARAMETERS
                               : node->op == EG__GRAPH_state   ? EG__SPACE_STATES
                               : cached                        ? EG__SPACE_CACHES
                                                               : EG__SPACE_BOUND + (uint32_t)at;
        view.buffer = eg__lower_outside(l, space, leaves->list[at].offset);
    }
    view.type = node->type;
    eg__view_set_dense(node, &view);
    return view;
}

static eg__view step_value(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__view sequence = eg__lower_value(l, eg__lower_input(l, id, 1)), view = sequence;
    if (sequence.time) { /* its offset depends on the length of the run: the last step of a scan */
        sequence = eg__lower_contiguous(l, eg__lower_input(l, id, 1));
        view = sequence;
    }
    view.time = eg__view_bytes(&sequence, sequence.stride[0]);
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
    if (l->located[id] || l->status) return l->value[id];
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
    l->located[id] = 1;
    return view;
}

eg__view eg__lower_contiguous(eg__lowering *l, uint32_t id) {
    eg__view view = eg__lower_value(l, id);
    if (l->status || eg__view_is_contiguous(eg__lower_node(l, id), &view)) {
        eg__view_set_dense(eg__lower_node(l, id), &view); /* also of axes of extent 1 */
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

/* ---- one unit */
void eg__lower_unit(eg__lowering *l, uint32_t unit) {
    const eg__unit *u = &l->units[unit];
    const eg__node *node = eg__lower_node(l, u->first);
    if (u->guest || l->status) return; /* emitted as the epilogue of its host */
    if (node->op == EG__GRAPH_scan) eg__lower_scan_unit(l, u->first);
    else if (u->is_fused) eg__lower_fused_unit(l, unit);
    else if (eg__op_row(node->op)->lower) eg__op_row(node->op)->lower(l, u->first);
    else eg__lower_fail(l, EG_ERR_UNSUPPORTED, "%s has no lowering", eg__node_operation(node));
    if (u->region == EG__REGION_PROLOGUE)
        for (uint32_t id = u->first; id && !l->status; id = l->next_member[id])
            eg__lower_pack_early(l, id);
}
