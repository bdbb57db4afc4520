/* A part of a program that runs on a device becomes a separate graph, which the device compiles,
 * and two steps: one submits it, one waits for it as late as its results allow. Both have all
 * values that cross the boundary as operands, so that the planner does not reuse their memory in
 * between. */
#include "graph/lower/lower.h"
#include "graph/passes/rewrite.h"

#include <stdio.h>
#include <string.h>

/* ---- which values cross the boundary of a part */
typedef struct border {
    eg__lowering *l;
    uint32_t number; /* 1 + index of the part */
    eg__lower_part *part;
    unsigned char *crosses; /* per node: computed outside of the part */
} border;

static void add_value(border *b, size_t *count, uint32_t id) {
    b->part->values[b->part->inputs + b->part->outputs] = id;
    (*count)++;
}

static void find_input(void *user, uint32_t id) {
    border *b = user;
    const eg__lowering *l = b->l;
    const eg__node *node = eg__lower_node(l, id);
    if (b->crosses[id] || node->scan || node->op == EG__GRAPH_scan ||
        l->region[id] == EG__REGION_PROLOGUE ||
        eg__lower_part_of(l, eg__lower_origin(l, id)) == b->number)
        return;
    b->crosses[id] = 1;
    add_value(b, &b->part->inputs, id);
}

static bool is_needed_outside(const border *b, uint32_t id) {
    const eg__lowering *l = b->l;
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].id == id) return true;
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op == EG__GRAPH_update &&
            eg__lower_part_of(l, eg__lower_input(l, user, 0)) != b->number)
            return true;
        if (!node->scan && eg__is_view(l, user) ? is_needed_outside(b, user)
                                                : eg__lower_part_of(l, user) != b->number)
            return true;
    }
    for (uint32_t carry = l->becomes[id]; carry; carry = l->becomes_next[carry])
        if (eg__lower_part_of(l, carry) != b->number) return true;
    return false;
}

static void find_output(void *user, uint32_t id) {
    border *b = user;
    const eg__node *node = eg__lower_node(b->l, id);
    if (!b->l->reachable[id] || node->scan || node->op == EG__GRAPH_scan) return;
    if (is_needed_outside(b, id)) add_value(b, &b->part->outputs, id);
}

static void find_border(border *b) {
    eg__lowering *l = b->l;
    eg__lower_part *part = b->part;
    const uint32_t *order = l->regions[EG__REGION_MAIN].units;
    part->values = eg__lower_array(l, 2 * (size_t)l->graph->size + 1, sizeof *part->values);
    b->crosses = eg__lower_array(l, l->graph->size + 1, 1);
    for (size_t i = part->first; !l->status && i < part->end; i++)
        eg__lower_reads(l, order[i], find_input, b);
    for (size_t i = part->first; !l->status && i < part->end; i++)
        eg__lower_members(l, order[i], find_output, b);
}

/* ---- the graph of a part */
typedef struct extraction {
    const border *border;
    uint32_t *made; /* node of the new graph -> node of the program that it replaces */
} extraction;

static bool updates(const eg__rewrite *r, uint32_t id) {
    const border *b = ((const extraction *)r->rewriter->given)->border;
    return b->l->reachable[id] && eg__lower_part_of(b->l, eg__old_input(r, id, 0)) == b->number;
}

static bool needs(const eg__rewrite *r, uint32_t id, unsigned input) {
    const border *b = ((const extraction *)r->rewriter->given)->border;
    if (eg__old(r, id)->op == EG__GRAPH_update && !updates(r, id) && input == 0) return false;
    return !b->crosses[id];
}

static eg_node extract(eg__rewrite *r, uint32_t id) {
    const extraction *e = r->rewriter->given;
    const border *b = e->border;
    const eg__node *node = eg__old(r, id);
    if (b->crosses[id]) {
        char name[32];
        snprintf(name, sizeof name, "\x01%u", id); /* must not equal the name of a user's leaf */
        const eg_node input =
            eg__graph_leaf(r->to, EG__GRAPH_input, name, node->type, node->rank, node->shape);
        if (!input.id) return input;
        eg__node_at(r->to, input)->kind = b->l->timed[id] ? EG__INPUT_TIMED : EG__INPUT_PLAIN;
        e->made[input.id] = id;
        return input;
    }
    if (node->op == EG__GRAPH_update && !updates(r, id)) return r->map[eg__old_input(r, id, 1)];
    return (eg_node){0};
}

/* Indices of leaves count in the order of the device's graph. */
static uint32_t leaf_index(const eg__leaves *leaves, const char *name) {
    uint32_t at = 0;
    while (strcmp(leaves->list[at].name, name) != 0) at++;
    return at;
}

static void list_leaves(border *b, const eg_graph *graph, const uint32_t *made, eg__part *out) {
    eg__lowering *l = b->l;
    eg__lower_part *part = b->part;
    out->parameters = eg__lower_array(l, graph->size + 1, sizeof *out->parameters);
    out->states = eg__lower_array(l, graph->size + 1, sizeof *out->states);
    if (l->status) return;
    size_t inputs = 0;
    for (uint32_t i = 1; i <= graph->size; i++) {
        const eg__node *node = &graph->nodes[i];
        if (made[i]) part->values[inputs++] = made[i];
        else if (node->op == EG__GRAPH_parameter)
            out->parameters[out->parameter_count++] =
                leaf_index(&l->program->parameters, node->name);
        else if (node->op == EG__GRAPH_state || node->op == EG__GRAPH_cache)
            out->states[out->state_count++] = leaf_index(&l->program->states, node->name);
    }
    /* inputs that only unneeded nodes read are removed */
    memmove(part->values + inputs, part->values + part->inputs,
            part->outputs * sizeof *part->values);
    part->inputs = inputs;
}

static void compile_part(border *b, eg__part *out) {
    eg__lowering *l = b->l;
    eg__lower_part *part = b->part;
    extraction e = {b, eg__lower_array(l, (size_t)l->graph->size + 2, sizeof *e.made)};
    eg_node *outputs = eg__lower_array(l, part->outputs + 1, sizeof *outputs);
    eg_graph *graph = NULL;
    const eg__rewriter rewriter = {
        .rule = extract, .needs = needs, .updates = updates, .given = &e};
    for (size_t i = 0; !l->status && i < part->outputs; i++)
        outputs[i].id = part->values[part->inputs + i];
    if (!l->status)
        l->status = eg__graph_rewrite(l->graph, part->outputs, outputs, l->options->training,
                                      &rewriter, &graph, l->error);
    if (!l->status) list_leaves(b, graph, e.made, out);
    if (!l->status) {
        const eg__device_task task = {.graph = graph,
                                      .count = part->outputs,
                                      .outputs = outputs,
                                      .length = l->length,
                                      .training = l->options->training};
        l->status = part->device->compile(part->device, &task, &out->program, l->error);
    }
    eg_graph_destroy(graph);
    eg__memory_give(l->memory, outputs);
    eg__memory_give(l->memory, e.made);
}

void eg__part_free(eg__memory *memory, eg__part *part) {
    if (part->program) part->device->program_release(part->device, part->program);
    eg__memory_give(memory, part->values);
    eg__memory_give(memory, part->parameters);
    eg__memory_give(memory, part->states);
}

/* ---- steps */
static void count_flops(void *user, uint32_t id) {
    border *b = user;
    const eg__lowering *l = b->l;
    const eg__node *node = eg__lower_node(l, id);
    const eg__op *op = eg__op_row(node->op);
    const double times =
        node->scan ? (double)eg__lower_node(l, node->scan)->attributes.scan.length : 1;
    eg__step *step = &l->regions[EG__REGION_MAIN].steps[b->part->step];
    if (op->flops && l->reachable[id]) step->flops += times * op->flops(l->graph, node);
}

static size_t bytes_of(const eg__node *node) {
    return (size_t)eg__node_elements(node) * eg_type_bits(node->type) / 8;
}

static void submit(border *b, eg__part *out) {
    eg__lowering *l = b->l;
    eg__lower_part *part = b->part;
    const size_t count = part->inputs + part->outputs;
    eg__step step = eg__lower_begin(
        l->units[l->regions[EG__REGION_MAIN].units[part->end - 1]].first, EG__STEP_submit);
    step.items = step.columns = 1;
    step.name = part->device->name;
    step.u.submit = (eg__step_submit){.part = b->number - 1};
    eg__operand *operands = eg__lower_array(l, count + 1, sizeof *operands);
    out->values = eg__lower_array(l, count + 1, sizeof *out->values);
    for (size_t i = 0; i < count && !l->status; i++) {
        const uint32_t id = part->values[i];
        const eg__view view =
            i < part->inputs ? eg__lower_contiguous(l, id) : eg__lower_dense_storage(l, id, 0);
        if (l->status) break;
        /* the device may still be reading it: do not overwrite it */
        if (i < part->inputs) l->buffers[view.buffer].owner = 0;
        operands[i] = eg__lower_operand(&step, &view, 0, false);
        out->values[i] = (eg__part_value){bytes_of(eg__lower_node(l, id)), l->timed[id]};
        step.bytes += (double)out->values[i].bytes;
    }
    out->device = part->device;
    out->inputs = part->inputs;
    out->outputs = part->outputs;
    part->step = l->regions[EG__REGION_MAIN].count;
    if (!l->status) eg__lower_emit(l, EG__REGION_MAIN, &step, count, operands);
    part->is_open = true;
    eg__memory_give(l->memory, operands);
    for (size_t i = part->first; i < part->end && !l->status; i++)
        eg__lower_members(l, l->regions[EG__REGION_MAIN].units[i], count_flops, b);
}

static void wait(eg__lowering *l, size_t index) {
    eg__lower_part *part = &l->parts[index];
    const eg__step *submitted = &l->regions[EG__REGION_MAIN].steps[part->step];
    eg__step step = eg__lower_begin(submitted->node, EG__STEP_wait);
    step.items = step.columns = 1;
    step.u.submit = submitted->u.submit;
    const size_t count = submitted->operands;
    eg__operand *operands = eg__lower_array(l, count + 1, sizeof *operands);
    if (l->status) return;
    if (count) memcpy(operands, l->operands + submitted->first_operand, count * sizeof *operands);
    eg__lower_emit(l, EG__REGION_MAIN, &step, count, operands);
    eg__memory_give(l->memory, operands);
    part->is_open = false;
}

/* ---- steps in the order of the units */
typedef struct waiting {
    eg__lowering *l;
    uint32_t own; /* a part does not wait for itself */
} waiting;

static void wait_for(void *user, uint32_t unit) {
    const waiting *w = user;
    const uint32_t part = w->l->part_of_unit[unit];
    if (part && part != w->own && w->l->parts[part - 1].is_open && !w->l->status)
        wait(w->l, part - 1);
}

size_t eg__lower_parts(eg__lowering *l, size_t at) {
    if (!l->part_count) return at;
    const uint32_t *order = l->regions[EG__REGION_MAIN].units;
    waiting w = {l, l->part_of_unit[order[at]]};
    border b = {.l = l, .number = w.own, .part = w.own ? &l->parts[w.own - 1] : NULL};
    const size_t end = b.part ? b.part->end : at;
    for (size_t i = at; i < eg__max(end, at + 1); i++) eg__lower_needs(l, order[i], wait_for, &w);
    if (!b.part || l->status) return end;
    if (!l->program->parts)
        l->program->parts = eg__lower_array(l, l->part_count, sizeof *l->program->parts);
    if (l->status) return end;
    eg__part *out = &l->program->parts[l->program->part_count++];
    *out = (eg__part){.device = b.part->device};
    find_border(&b);
    if (!l->status) compile_part(&b, out);
    if (!l->status) submit(&b, out);
    eg__memory_give(l->memory, b.crosses);
    return end;
}

void eg__lower_parts_end(eg__lowering *l) {
    for (size_t i = 0; i < l->part_count && !l->status; i++)
        if (l->parts[i].is_open) wait(l, i);
}

/* ---- the prologue: devices compute derived parameters themselves */
typedef struct prologue {
    eg__lowering *l;
    unsigned char *needed;
} prologue;

static void need(void *user, uint32_t id) {
    prologue *p = user;
    const eg__lowering *l = p->l;
    const uint32_t unit = l->unit[eg__lower_origin(l, id)];
    if (!unit || l->units[unit].region != EG__REGION_PROLOGUE || p->needed[unit]) return;
    p->needed[unit] = 1;
    eg__lower_reads(l, unit, need, p);
}

void eg__lower_prologue_needs(eg__lowering *l, unsigned char *needed) {
    prologue p = {l, needed};
    const eg__region *main = &l->regions[EG__REGION_MAIN];
    for (size_t i = 0; i < main->unit_count; i++)
        if (!l->part_of_unit[main->units[i]]) eg__lower_reads(l, main->units[i], need, &p);
    for (size_t i = 0; i < l->output_count; i++) need(&p, l->outputs[i].id);
    for (uint32_t i = 1; i <= l->graph->size; i++)
        if (l->reachable[i] && eg__lower_node(l, i)->op == EG__GRAPH_update)
            need(&p, eg__lower_input(l, i, 1));
}
