/* A scan becomes one step with its own list of steps. A carry has one buffer that is overwritten in
 * each step or, when it is stacked, a history of [length + 1] slots; the stack of the carry (slots
 * 0 ..) and the stack of its update (slots 1 ..) are views of the history. */
#include "graph/lower/lower.h"

typedef struct loop {
    eg__lowering *l;
    uint32_t scan, region;
    size_t length;
    bool reverse;
} loop;

typedef void (*node_function)(loop *s, uint32_t id);

static void each_inside(loop *s, eg__op_id op, node_function function) {
    const eg__lowering *l = s->l;
    for (uint32_t k = l->inside_first[s->region]; k < l->inside_first[s->region + 1]; k++)
        if (eg__lower_node(l, l->inside[k])->op == op) function(s, l->inside[k]);
}

static void each_result(loop *s, eg__op_id op, node_function function) {
    const eg__lowering *l = s->l;
    for (uint32_t k = l->user_first[s->scan]; k < l->user_first[s->scan + 1]; k++)
        if (eg__lower_node(l, l->users[k])->op == op) function(s, l->users[k]);
}

static uint32_t user_of(const eg__lowering *l, uint32_t id, eg__op_id op) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++)
        if (eg__lower_node(l, l->users[k])->op == op &&
            !(op == EG__GRAPH_stack && eg__lower_node(l, l->users[k])->attributes.stack.every))
            return l->users[k];
    return 0;
}

/* The slot of a history before the first step or after the last one. */
static eg__view history_end(const loop *s, uint32_t carry, bool after) {
    eg__view view = s->l->value[carry];
    const size_t size = view.time;
    const bool at_length = after != s->reverse;
    view.offset = at_length && !s->l->length ? s->length * size : 0;
    view.time = at_length && s->l->length ? size : 0; /* outside, time is the length of the run */
    return view;
}

/* ---- before the loop */
static void begin_carry(loop *s, uint32_t id) {
    eg__lowering *l = s->l;
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t initial = eg__lower_input(l, id, 1), last = user_of(l, id, EG__GRAPH_last);
    const size_t size = (size_t)eg__node_elements(node) * eg__element_size(node->type);
    const bool history =
        user_of(l, id, EG__GRAPH_stack) && eg__pass_is_on(l->options, EG__PASS_in_place) && size;
    eg__view view = {0}, start;
    if (history) {
        view = eg__lower_new(l, EG__REGION_MAIN, node);
        if (l->status) return;
        l->buffers[view.buffer].size = l->buffers[view.buffer].bound =
            eg__round_up((s->length + 1) * size, 64);
        view.time = size;
        view.offset = s->reverse ? size : 0;
    } else {
        if (last && !l->located[last]) view = eg__lower_storage(l, last, 0);
        if (!view.buffer || !eg__view_is_contiguous(node, &view)) {
            view = eg__lower_new(l, EG__REGION_MAIN, node);
            if (last) l->value[last] = view;
        }
        if (view.buffer) l->buffers[view.buffer].owner = 0;
    }
    l->value[id] = view;
    l->located[id] = 1;
    start = history ? history_end(s, id, false) : view;
    eg__view from = eg__lower_value(l, initial);
    if (!l->status) eg__lower_copy(l, EG__REGION_MAIN, initial, node, &from, &start);
}

static void begin_total(loop *s, uint32_t id) {
    eg__lowering *l = s->l;
    eg__matrix rows;
    eg__view view = eg__lower_storage(l, id, 0);
    if (!l->status && !eg__view_rows(eg__lower_node(l, id), &view, &rows))
        view = eg__lower_plain_storage(l, id);
    if (!l->status) eg__lower_fill(l, EG__REGION_MAIN, id, eg__lower_node(l, id), 0, &view);
}

/* ---- in each step, after the units of the body */
/* Checkpoints: the copy step computes the slot from the time step when it runs. */
static void stack_every(loop *s, uint32_t id, const eg__view *from) {
    eg__lowering *l = s->l;
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t value = eg__lower_input(l, id, 1);
    eg__view to = eg__lower_storage(l, id, 0);
    const size_t place = to.stride[0];
    for (unsigned i = 0; i + 1 < node->rank; i++) to.stride[i] = to.stride[i + 1];
    const size_t before = l->regions[s->region].count;
    eg__lower_copy(l, s->region, value, eg__lower_node(l, value), from, &to);
    if (l->status || l->regions[s->region].count == before) return;
    eg__step_copy *copy = &l->regions[s->region].steps[before].u.copy;
    copy->every = (size_t)node->attributes.stack.every;
    copy->length = s->length;
    copy->place = place;
    copy->reverse = s->reverse;
}

static void stack_value(loop *s, uint32_t id) {
    eg__lowering *l = s->l;
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t value = eg__lower_input(l, id, 1);
    eg__view from = eg__lower_value(l, value), to = {0};
    if (l->status || l->written_directly[id]) return;
    if (node->attributes.stack.every) {
        stack_every(s, id, &from);
        return;
    }
    if (!l->located[id] && l->region[value] == s->region && from.time &&
        l->buffers[from.buffer].region == EG__REGION_MAIN &&
        l->buffers[from.buffer].space == EG__SPACE_ARENA) { /* computed in a stack */
        to = from;
        to.time = 0;
        to.stride[0] = from.time / eg__element_size(from.type);
        for (unsigned i = 1; i < node->rank; i++) to.stride[i] = from.stride[i - 1];
        l->buffers[from.buffer].owner = 0; /* now two values share this memory */
        l->value[id] = to;
        l->located[id] = 1;
        return;
    }
    to = eg__lower_storage(l, id, 0);
    to.time = eg__view_bytes(&to, to.stride[0]);
    for (unsigned i = 0; i + 1 < node->rank; i++) to.stride[i] = to.stride[i + 1];
    const eg__node *shape = eg__lower_node(l, value);
    if (!eg__view_same(shape, &from, &to)) eg__lower_copy(l, s->region, value, shape, &from, &to);
}

static void add_total(loop *s, uint32_t id) {
    eg__lowering *l = s->l;
    const uint32_t value = eg__lower_input(l, id, 1);
    const eg__matrix from = eg__lower_rows(l, value);
    if (!l->status)
        eg__lower_add(l, s->region, value, eg__lower_node(l, id), &from.view, &l->value[id]);
}

/* Where the new value of a carry must be copied to, if it was not computed there. */
static bool must_move(const loop *s, uint32_t id, eg__view *from, eg__view *to) {
    eg__lowering *l = s->l;
    const eg__node *node = eg__lower_node(l, id);
    if (node->op != EG__GRAPH_carry || l->status) return false;
    *from = eg__lower_value(l, node->next);
    *to = l->value[id];
    if (to->time) to->offset = s->reverse ? to->offset - to->time : to->offset + to->time;
    return !eg__view_same(node, from, to);
}

/* Carries that were not updated in place. The new value of one may be the old value of another, so
 * all are read before any is written; a history has a separate slot for the new value. */
static void advance(loop *s) {
    eg__lowering *l = s->l;
    const uint32_t first = l->inside_first[s->region], end = l->inside_first[s->region + 1];
    eg__view *kept = eg__lower_array(l, end - first + 1, sizeof *kept), from, to;
    for (uint32_t k = first; k < end; k++) {
        const uint32_t id = l->inside[k];
        if (!must_move(s, id, &from, &to)) continue;
        if (!to.time) kept[k - first] = eg__lower_new(l, s->region, eg__lower_node(l, id));
        eg__lower_copy(l, s->region, id, eg__lower_node(l, id), &from,
                       to.time ? &to : &kept[k - first]);
    }
    for (uint32_t k = first; !l->status && k < end; k++)
        if (kept[k - first].buffer)
            eg__lower_copy(l, s->region, l->inside[k], eg__lower_node(l, l->inside[k]),
                           &kept[k - first], &l->value[l->inside[k]]);
    eg__memory_give(l->memory, kept);
}

/* ---- after the loop */
static void finish_last(loop *s, uint32_t id) {
    eg__lowering *l = s->l;
    const uint32_t carry = eg__lower_input(l, id, 1);
    if (!l->value[carry].time) {
        if (!l->located[id]) l->value[id] = l->value[carry];
        l->located[id] = 1;
        return;
    }
    eg__view from = history_end(s, carry, true), to = eg__lower_storage(l, id, 0);
    eg__lower_copy(l, EG__REGION_MAIN, id, eg__lower_node(l, id), &from, &to);
}

/* The memory of the body: one buffer of the main region, split by item. */
static void plan_body(loop *s, size_t position) {
    eg__lowering *l = s->l;
    eg__region *region = &l->regions[s->region];
    eg__buffer **list = eg__lower_array(l, l->buffer_count, sizeof *list);
    size_t count = 0;
    if (!list) return;
    for (size_t b = 1; b < l->buffer_count; b++)
        if (l->buffers[b].region == s->region) list[count++] = &l->buffers[b];
    eg__plan plan;
    l->status = eg__plan_memory(l->memory, count, list, eg__pass_is_on(l->options, EG__PASS_reuse),
                                &plan, l->error);
    eg__memory_give(l->memory, list);
    const size_t items = eg__max(region->batch_items, 1);
    region->memory = eg__lower_buffer(l, EG__REGION_MAIN, plan.size * items);
    if (l->status) return;
    eg__buffer *memory = &l->buffers[region->memory];
    memory->bound = plan.bound * items;
    memory->first = memory->last = (uint32_t)position;
    for (size_t b = 1; b < l->buffer_count; b++)
        if (l->buffers[b].used_by_body && l->buffers[b].region == EG__REGION_MAIN) {
            eg__buffer *buffer = &l->buffers[b];
            buffer->used_by_body = false;
            if (buffer->first == EG__NEVER) buffer->first = (uint32_t)position;
            buffer->last = (uint32_t)position;
        }
}

/* Samples whose values in one time step fit a part of the L2 cache, beside the weights. A product of
 * so many rows reads each weight often enough even from a slower cache. */
static size_t block_of(const eg__region *region) {
    enum { BYTES = 128 << 10, LEAST = 32 };
    double bytes = 0; /* operands of steps that all items share do not count */
    for (size_t i = 0; i < region->count; i++)
        bytes += (double)region->steps[i].items * (double)region->steps[i].rows *
                 (double)region->steps[i].columns * sizeof(float);
    const size_t fit = (size_t)(BYTES * (double)region->batch_items / (bytes + 1));
    return eg__max(fit / LEAST * LEAST, LEAST);
}

static void emit(loop *s) {
    enum { WORTH_NS = 10000, FEWEST = 4 };
    eg__lowering *l = s->l;
    const eg__region *region = &l->regions[s->region];
    plan_body(s, l->regions[EG__REGION_MAIN].count);
    eg__step step = eg__lower_begin(s->scan, EG__STEP_scan);
    step.items = eg__max(region->batch_items, 1);
    step.columns = 1;
    step.u.scan = (eg__step_scan){.region = s->region,
                                  .count = (uint32_t)region->count,
                                  .length = l->length ? 0 : s->length,
                                  .block = block_of(region),
                                  .reverse = s->reverse};
    double ns = 0;
    for (size_t i = 0; i < region->count; i++) {
        step.flops += region->steps[i].flops * (double)s->length;
        step.bytes += region->steps[i].bytes * (double)s->length;
        ns += (region->steps[i].flops / 40 + 10) * (double)s->length;
    }
    if (region->batch_items)
        step.grain = eg__max(FEWEST, (size_t)(WORTH_NS * (double)region->batch_items / (ns + 1)));
    for (size_t i = 0; step.grain && i < region->count; i++)
        step.grain =
            eg__max(step.grain, eg__lower_unit_grain(l, &region->steps[i], region->batch_items));
    eg__lower_emit(l, EG__REGION_MAIN, &step, 0, NULL);
}

void eg__lower_scan_unit(eg__lowering *l, uint32_t scan) {
    const eg__node *node = eg__lower_node(l, scan);
    loop s = {l, scan, EG__REGION_BODIES, (size_t)node->attributes.scan.length,
              node->attributes.scan.reverse};
    while (l->regions[s.region].scan != scan) s.region++;
    each_inside(&s, EG__GRAPH_carry, begin_carry);
    each_result(&s, EG__GRAPH_total, begin_total);
    const eg__region *region = &l->regions[s.region];
    for (size_t i = 0; i < region->unit_count; i++) eg__lower_unit(l, region->units[i]);
    each_result(&s, EG__GRAPH_stack, stack_value);
    each_result(&s, EG__GRAPH_total, add_total);
    if (!l->status) advance(&s);
    if (!l->status) emit(&s);
    each_result(&s, EG__GRAPH_last, finish_last);
}
