/* From a graph to a program: leaves, passes, lowering, memory, addresses. */
#include "graph/ops/kv.h"
#include "graph/lower/lower.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "graph/passes/round.h"

#include <string.h>

/* ---- leaves, in the order they were made: the same for every program of a model */

/* The memory of a cache: rows of elements, for int8 followed by their scales. */
static bool lay_out_cache(const eg__node *node, eg__leaf *leaf, size_t *bytes) {
    eg__kv_rows rows;
    if (!eg__kv_layout(node, &rows)) return false;
    leaf->cached = true;
    leaf->type = rows.type;
    leaf->shape[1] = rows.size / rows.number;
    leaf->elements = rows.slots * (size_t)leaf->shape[1];
    *bytes = eg__round_up(rows.slots * rows.size, 64);
    return true;
}

static void add_leaf(eg__lowering *l, eg__leaves *leaves, const char *name, const eg__node *node,
                     size_t *offset) {
    eg__leaf *leaf = &leaves->list[leaves->count];
    eg_error reason = {EG_ERR_MEMORY, ""};
    leaf->name = eg__memory_take_text(l->memory, EG_TAG_GRAPH, name, strlen(name), &reason);
    if (!leaf->name) {
        eg__lower_fail(l, reason.status, "%s", reason.message);
        return;
    }
    leaf->type = node->type;
    leaf->masked = node->op == EG__GRAPH_parameter && node->kind == EG__PARAMETER_MASKED;
    leaf->updated = node->op == EG__GRAPH_input && node->next;
    leaf->rank = node->rank;
    memcpy(leaf->shape, node->shape, sizeof leaf->shape);
    leaf->elements = (size_t)eg__node_elements(node);
    size_t bytes = 0;
    bool fits = eg__size_mul(leaf->elements, eg__element_size(node->type), &bytes) &&
                eg__size_add(bytes, 64, &(size_t){0});
    bytes = eg__round_up(bytes, 64);
    if (eg__is_quantized_leaf(node)) {
        leaf->quantization = eg__leaf_quantization(node);
        fits = eg__quantized_parameter_of(node, &leaf->quantized);
        bytes = leaf->quantized.layout.bytes;
    }
    if (node->op == EG__GRAPH_cache) fits = lay_out_cache(node, leaf, &bytes);
    if (offset) {
        leaf->offset = *offset;
        fits = fits && eg__size_add(*offset, bytes, offset);
    }
    if (!fits) eg__lower_fail(l, EG_ERR_OVERFLOW, "'%s' is too large", name);
    leaves->count++;
}

/* Programs stay for long and few nodes are leaves: their lists have room for those alone. */
static void reserve_leaves(eg__lowering *l, const eg_graph *graph) {
    struct eg_program *p = l->program;
    size_t inputs = 0, parameters = 0, states = 0;
    for (uint32_t i = 1; i <= graph->size; i++) {
        const eg__op_id op = graph->nodes[i].op;
        inputs += op == EG__GRAPH_input;
        parameters += op == EG__GRAPH_parameter;
        states += op == EG__GRAPH_state || op == EG__GRAPH_cache;
    }
    p->inputs.list = eg__lower_array(l, inputs, sizeof *p->inputs.list);
    p->parameters.list = eg__lower_array(l, parameters, sizeof *p->parameters.list);
    p->states.list = eg__lower_array(l, states, sizeof *p->states.list);
    p->outputs.list = eg__lower_array(l, l->output_count, sizeof *p->outputs.list);
}

static void collect_leaves(eg__lowering *l, const eg_graph *graph, const eg__output *outputs) {
    struct eg_program *p = l->program;
    reserve_leaves(l, graph);
    for (uint32_t i = 1; !l->status && i <= graph->size; i++) {
        const eg__node *node = &graph->nodes[i];
        if (node->op == EG__GRAPH_input) add_leaf(l, &p->inputs, node->name, node, NULL);
        if (node->op == EG__GRAPH_parameter)
            add_leaf(l, &p->parameters, node->name, node, &p->parameters_size);
        if (node->op == EG__GRAPH_state) add_leaf(l, &p->states, node->name, node, &p->states_size);
        if (node->op == EG__GRAPH_cache) add_leaf(l, &p->states, node->name, node, &p->caches_size);
    }
    for (size_t i = 0; !l->status && i < l->output_count; i++)
        add_leaf(l, &p->outputs, outputs[i].name, eg__node_at(graph, outputs[i].node), NULL);
}

/* ---- final copies: outputs and states whose values were computed elsewhere */
static void finish_outputs(eg__lowering *l) {
    for (size_t i = 0; i < l->output_count && !l->status; i++) {
        const uint32_t id = l->outputs[i].id;
        const eg__node *node = eg__lower_node(l, id);
        const uint32_t space = EG__SPACE_BOUND + (uint32_t)(l->program->inputs.count + i);
        const eg__view from = eg__lower_value(l, id);
        const bool written =
            node->op == EG__GRAPH_update && l->written_directly[id]; /* the first of them */
        if (written) l->written_directly[id] = 0;
        if (l->status || written || l->buffers[from.buffer].space == space) continue;
        eg__view to = eg__lower_new(l, EG__REGION_MAIN, node);
        if (l->status) return;
        l->buffers[to.buffer].space = space;
        l->buffers[to.buffer].size = l->buffers[to.buffer].bound = 0;
        eg__lower_copy(l, EG__REGION_MAIN, id, node, &from, &to);
    }
}

/* Memory that is written at the end of a run: states, and inputs that have an update. */
static bool is_updated(const eg__lowering *l, uint32_t space) {
    const eg__leaves *inputs = &l->program->inputs;
    return space == EG__SPACE_STATES ||
           (space >= EG__SPACE_BOUND && space - EG__SPACE_BOUND < inputs->count &&
            inputs->list[space - EG__SPACE_BOUND].updated);
}

/* The new value of one may be the old value of another: then all are read before any is written. */
static void finish_states(eg__lowering *l) {
    for (int writing = 0; writing < 2; writing++)
        for (uint32_t i = 1; i <= l->graph->size && !l->status; i++) {
            const eg__node *node = eg__lower_node(l, i);
            if (!l->reachable[i] || node->op != EG__GRAPH_update ||
                eg__lower_part_of(l, eg__lower_input(l, i, 0)))
                continue;
            const eg__view from = eg__lower_value(l, i);
            const eg__view to = eg__lower_value(l, eg__lower_input(l, i, 0));
            if (l->status || eg__view_same(node, &from, &to)) continue;
            if (writing) eg__lower_copy(l, EG__REGION_MAIN, i, node, &from, &to);
            else if (is_updated(l, l->buffers[from.buffer].space)) {
                eg__view kept = eg__lower_new(l, EG__REGION_MAIN, node);
                eg__lower_copy(l, EG__REGION_MAIN, i, node, &from, &kept);
                l->value[i] = kept;
            }
        }
}

/* ---- memory and addresses */
static void plan_region(eg__lowering *l, uint32_t region, bool kept, eg__plan *plan) {
    eg__buffer **list = eg__lower_array(l, l->buffer_count, sizeof *list);
    size_t count = 0;
    for (size_t b = 1; list && b < l->buffer_count; b++) {
        eg__buffer *buffer = &l->buffers[b];
        const bool planned = buffer->space == EG__SPACE_ARENA || buffer->space == EG__SPACE_DERIVED;
        if (buffer->region == region && planned && buffer->kept == kept) list[count++] = buffer;
    }
    if (list)
        l->status = eg__plan_memory(l->memory, count, list,
                                    eg__pass_is_on(l->options, EG__PASS_reuse), plan, l->error);
    eg__memory_give(l->memory, list);
}

static void resolve(const eg__lowering *l, eg__operand *operand) {
    const eg__buffer *buffer = &l->buffers[operand->space];
    operand->space = buffer->space;
    if (buffer->region < EG__REGION_BODIES) {
        operand->offset += buffer->offset;
        return;
    }
    const eg__region *body = &l->regions[buffer->region];
    const eg__buffer *memory = &l->buffers[body->memory];
    operand->offset += memory->offset;
    if (body->batch_items) { /* memory is split by item; the items of one thread are adjacent */
        operand->item = memory->size / body->batch_items;
        operand->scale = buffer->offset;
    } else operand->offset += buffer->offset;
}

/* Temporaries of the prologue have their own arena. */
static void plan_all(eg__lowering *l) {
    struct eg_program *p = l->program;
    eg__plan main, derived, prologue;
    plan_region(l, EG__REGION_MAIN, false, &main);
    if (!l->status) plan_region(l, EG__REGION_PROLOGUE, true, &derived);
    if (!l->status) plan_region(l, EG__REGION_PROLOGUE, false, &prologue);
    if (l->status) return;
    p->arena_size = main.size;
    p->arena_bound = main.bound;
    p->derived_size = derived.size;
    p->prologue_size = prologue.size;
    for (size_t b = 1; b < l->buffer_count; b++)
        if (l->buffers[b].space == EG__SPACE_DERIVED && !l->buffers[b].kept)
            l->buffers[b].space = EG__SPACE_ARENA;
}

/* The parameter at that offset; empty parameters share their offset with the next, so the last one
 * counts. */
static eg__leaf *parameter_at(const struct eg_program *p, size_t offset) {
    size_t low = 0, high = p->parameters.count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (p->parameters.list[middle].offset <= offset) low = middle;
        else high = middle;
    }
    return &p->parameters.list[low];
}

/* Finds which steps read each parameter. Operands still refer to buffers here, one per
 * parameter. */
static void find_readers(eg__lowering *l) {
    struct eg_program *p = l->program;
    for (size_t i = 0; i < p->parameters.count; i++) {
        p->parameters.list[i].settled = true;
        p->parameters.list[i].first_read = p->parameters.list[i].last_read = EG__NO_STEP;
    }
    for (uint32_t r = 0; r < l->region_count; r++)
        for (uint32_t s = 0; s < l->regions[r].count; s++) {
            const eg__step *step = &l->regions[r].steps[s];
            for (unsigned i = 0; i < step->operands; i++) {
                const eg__buffer *from = &l->buffers[l->operands[step->first_operand + i].space];
                if (from->space != EG__SPACE_PARAMETERS) continue;
                eg__leaf *leaf = parameter_at(p, from->offset);
                if (r != EG__REGION_PROLOGUE) leaf->settled = false;
                else {
                    if (leaf->first_read == EG__NO_STEP) leaf->first_read = s;
                    leaf->last_read = s;
                }
            }
        }
}

static void link(eg__lowering *l) {
    struct eg_program *p = l->program;
    plan_all(l);
    if (l->status) return;
    find_readers(l);
    for (size_t i = 0; i < l->operand_count; i++) resolve(l, &l->operands[i]);
    size_t count = 0;
    for (size_t r = 0; r < l->region_count; r++) {
        l->regions[r].first = (uint32_t)count;
        count += l->regions[r].count;
    }
    p->steps = eg__lower_array(l, count + 1, sizeof *p->steps);
    if (!p->steps) return;
    for (size_t r = 0; r < l->region_count; r++)
        if (l->regions[r].count)
            memcpy(p->steps + l->regions[r].first, l->regions[r].steps,
                   l->regions[r].count * sizeof *p->steps);
    p->step_count = count;
    p->main_count = l->regions[EG__REGION_MAIN].count;
    p->prologue_count = l->regions[EG__REGION_PROLOGUE].count;
    p->operands = l->operands;
    p->operand_count = l->operand_count;
    l->operands = NULL;
    p->constants = l->constants;
    p->constants_size = l->constants_size;
    l->constants = NULL;
    for (size_t i = 0; i < count; i++) {
        eg__step *step = &p->steps[i];
        if (p->operands) step->operand = p->operands + step->first_operand;
        if (eg__step_body(step)) step->u.scan.first = l->regions[step->u.scan.region].first;
        p->scratch_size = eg__max(p->scratch_size,
                                  eg__round_up(eg__step_scratch(step, eg__max(p->length, 1)), 16));
    }
    eg__lower_live(l);
}

static void release(eg__lowering *l) {
    void *const all[] = {l->region,       l->unit,      l->next_member,
                         l->user_first,   l->users,     l->reachable,
                         l->timed,        l->located,   l->written_directly,
                         l->value,        l->buffers,   l->inside_first,
                         l->inside,       l->units,     l->becomes,
                         l->becomes_next, l->part_of,   l->packed,
                         l->operands,     l->constants, l->part_of_unit,
                         l->part_of_state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) eg__memory_give(l->memory, all[i]);
    for (size_t i = 0; i < l->part_count; i++) eg__memory_give(l->memory, l->parts[i].values);
    eg__memory_give(l->memory, l->parts);
    for (size_t r = 0; l->regions && r < l->region_count; r++) {
        eg__memory_give(l->memory, l->regions[r].steps);
        eg__memory_give(l->memory, l->regions[r].units);
    }
    eg__memory_give(l->memory, l->regions);
}

static void lower_prologue(eg__lowering *l) {
    const eg__region *prologue = &l->regions[EG__REGION_PROLOGUE];
    unsigned char *needed = l->part_count ? eg__lower_array(l, l->unit_count, 1) : NULL;
    if (needed) eg__lower_prologue_needs(l, needed);
    for (size_t i = 0; i < prologue->unit_count && !l->status; i++)
        if (!needed || needed[prologue->units[i]]) eg__lower_unit(l, prologue->units[i]);
    eg__memory_give(l->memory, needed);
}

static void lower_all(eg__lowering *l) {
    eg__lower_analyse(l);
    if (!l->status) eg__lower_schedule(l);
    if (!l->status) eg__lower_buffer(l, EG__REGION_MAIN, 0); /* [0] is none */
    if (!l->status) eg__lower_constants_reserve(l);
    if (l->status) return;
    l->buffers[0].space = EG__SPACE_CONSTANTS;
    lower_prologue(l);
    const eg__region *main = &l->regions[EG__REGION_MAIN];
    for (size_t i = 0; i < main->unit_count && !l->status;) {
        const size_t next = eg__lower_parts(l, i);
        if (next == i) eg__lower_unit(l, main->units[i++]);
        else i = next;
    }
    if (!l->status) eg__lower_parts_end(l);
    if (!l->status) finish_outputs(l);
    if (!l->status) finish_states(l);
    if (!l->status) link(l);
    if (!l->status) eg__lower_constants_lend(l);
    for (size_t i = 0; !l->status && i < l->program->inputs.count; i++)
        for (uint32_t n = 1; n <= l->graph->size; n++)
            if (eg__lower_node(l, n)->op == EG__GRAPH_input &&
                strcmp(eg__lower_node(l, n)->name, l->program->inputs.list[i].name) == 0)
                l->program->inputs.list[i].timed = l->timed[n];
    for (size_t i = 0; !l->status && i < l->output_count; i++)
        l->program->outputs.list[i].timed = l->timed[l->outputs[i].id];
}

static eg_status check(const eg_graph *graph, size_t count, const eg__output *outputs,
                       eg_error *error) {
    eg_status status = eg_graph_check(graph, error);
    if (status) return status;
    for (size_t i = 0; i < count; i++) {
        const uint32_t id = outputs[i].node.id;
        if (!outputs[i].name || !outputs[i].name[0])
            return eg__fail(error, EG_ERR_ARGUMENT, "output %zu has no name", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(outputs[i].name, outputs[k].name) == 0)
                return eg__fail(error, EG_ERR_ARGUMENT, "two outputs are called '%s'",
                                outputs[i].name);
        if (!id || id > graph->size || graph->nodes[id].scan ||
            graph->nodes[id].op == EG__GRAPH_scan)
            return eg__fail(error, EG_ERR_ARGUMENT, "output '%s' is not a value outside of scans",
                            outputs[i].name);
        if (eg__is_quantized_leaf(&graph->nodes[id]))
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "output '%s' has type '%s', which is not supported", outputs[i].name,
                            eg_type_name(graph->nodes[id].type));
        if (eg__kv_of(graph, id))
            return eg__fail(error, EG_ERR_UNSUPPORTED, "output '%s' is a cache: ask for the state",
                            outputs[i].name);
    }
    return EG_OK;
}

eg_status eg__program_compile(const eg_graph *graph, const eg__kernels *kernels, size_t count,
                              const eg__output *outputs, const eg__compile_options *options,
                              struct eg_program **out, eg_error *error) {
    static const eg__rewriter plain = {0};
    const uint64_t start = eg_clock_ns();
    *out = NULL;
    eg_status status = check(graph, count, outputs, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    struct eg_program *p = eg__memory_take_zeroed(graph->memory, EG_TAG_GRAPH, sizeof *p, &reason);
    eg_node *nodes =
        eg__memory_take_array(graph->memory, EG_TAG_GRAPH, count + 1, sizeof *nodes, &reason);
    if (!p || !nodes) {
        eg__memory_give(graph->memory, p);
        eg__memory_give(graph->memory, nodes);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    p->memory = graph->memory;
    p->kernels = kernels;
    p->references = 1;
    p->training = options->training;
    for (size_t i = 0; i < count; i++) nodes[i] = outputs[i].node;
    eg__lowering l = {.memory = graph->memory,
                      .kernels = kernels,
                      .options = options,
                      .program = p,
                      .output_count = count,
                      .outputs = nodes,
                      .error = error};
    collect_leaves(&l, graph, outputs);
    status = l.status;
    if (!status)
        status =
            eg__graph_rewrite(graph, count, nodes, options->training, &plain, &p->graph, error);
    if (!status) status = eg__passes_run(&p->graph, count, nodes, options, error);
    if (!status) status = eg__round_products(&p->graph, count, nodes, options, kernels, error);
    if (!status) {
        l.graph = p->graph;
        lower_all(&l);
        status = l.status;
    }
    release(&l);
    eg__memory_give(graph->memory, nodes);
    if (status) {
        eg__program_free(p);
        return status;
    }
    p->compile_seconds = (double)(eg_clock_ns() - start) * 1e-9;
    *out = p;
    return EG_OK;
}

void eg__program_free(struct eg_program *p) {
    if (!p) return;
    eg__leaves *const lists[] = {&p->inputs, &p->parameters, &p->states, &p->outputs};
    for (unsigned i = 0; i < 4; i++) {
        for (size_t k = 0; lists[i]->list && k < lists[i]->count; k++)
            eg__memory_give(p->memory, lists[i]->list[k].name);
        eg__memory_give(p->memory, lists[i]->list);
    }
    for (size_t i = 0; i < p->part_count; i++) eg__part_free(p->memory, &p->parts[i]);
    eg__memory_give(p->memory, p->parts);
    eg__memory_give(p->memory, p->steps);
    eg__memory_give(p->memory, p->operands);
    eg__memory_give(p->memory, p->constants);
    eg_graph_destroy(p->graph);
    eg__memory_give(p->memory, p);
}
