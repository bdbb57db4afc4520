/* A graph in two, cut where values go from what comes first to what needs late inputs. */
#include "graph/passes/split.h"

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

#include <stdio.h>
#include <string.h>

/* What is known of a node. */
enum {
    LATE = 1, /* needs a late input; a scan counts as a whole */
    VARIES =
        2, /* needs an input of any kind, or is random: parameters and constants do not tell it */
    WANTED = 4, /* the second side computes it, or has it as an input */
    KEPT = 8    /* an input of the second side */
};

typedef struct cut {
    const eg_graph *given; /* its parameters are those of both sides */
    eg_graph *graph;       /* the same without what is computed twice */
    unsigned char *flags;  /* per node of `graph` */
    uint32_t *number;      /* of a kept node */
    size_t kept;
} cut;

/* ---- what is late */
static unsigned char flags_of(const cut *c, uint32_t id) {
    const eg__node *node = &c->graph->nodes[id];
    unsigned char flags = c->flags[id];
    if (node->op == EG__GRAPH_input || node->op == EG__GRAPH_scan || node->op == EG__GRAPH_dropout)
        flags |= VARIES;
    for (unsigned i = 0; i < node->input_count; i++)
        flags |= c->flags[eg__node_input(c->graph, node, i).id] & (LATE | VARIES);
    return flags;
}

/* Carries become what was built after them, so one pass over the nodes is not enough. */
static void spread(cut *c) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i <= c->graph->size; i++) {
            const eg__node *node = &c->graph->nodes[i];
            const unsigned char flags = flags_of(c, i);
            changed = changed || flags != c->flags[i];
            c->flags[i] = flags;
            if (node->scan && (flags & LATE) && !(c->flags[node->scan] & LATE)) {
                c->flags[node->scan] |= LATE;
                changed = true;
            }
        }
    }
}

/* ---- what the second side needs: a value that comes early is kept, unless it costs nothing to have it again */
static bool is_kept(const cut *c, uint32_t id) {
    const eg__node *node = &c->graph->nodes[id];
    if ((c->flags[id] & (LATE | VARIES)) != VARIES || node->op == EG__GRAPH_input) return false;
    return !node->scan && node->op != EG__GRAPH_scan && !eg__op_row(node->op)->view;
}

static void want(cut *c, uint32_t *stack, size_t *depth, uint32_t id) {
    if (c->flags[id] & WANTED) return;
    c->flags[id] |= WANTED;
    if (is_kept(c, id)) {
        c->flags[id] |= KEPT;
        c->number[id] = (uint32_t)c->kept++;
    } else stack[(*depth)++] = id;
}

static void find_kept(cut *c, size_t count, const eg_node *nodes, uint32_t *stack) {
    size_t depth = 0;
    for (size_t i = 0; i < count; i++)
        if (c->flags[nodes[i].id] & LATE) want(c, stack, &depth, nodes[i].id);
    while (depth) {
        const eg__node *node = &c->graph->nodes[stack[--depth]];
        for (unsigned i = 0; i < eg__read_count(node); i++)
            want(c, stack, &depth, eg__node_input(c->graph, node, i).id);
        if (node->op == EG__GRAPH_carry && node->next) want(c, stack, &depth, node->next);
    }
}

/* ---- the two graphs */

/* All parameters, used or not, in their order: so programs of both sides have the same weights. */
static bool take_parameters(eg__rewrite *r) {
    const cut *c = r->rewriter->given;
    eg__rewrite given = {.from = c->given, .to = r->to};
    uint32_t at = 1;
    for (uint32_t i = 1; i <= c->given->size && !r->to->mistake.status; i++) {
        const eg__node *node = &c->given->nodes[i];
        if (node->op != EG__GRAPH_parameter) continue;
        const eg_node copy = eg__rewrite_copy(&given, i);
        while (at <= r->from->size && eg__old(r, at)->op != EG__GRAPH_parameter) at++;
        if (at <= r->from->size && !strcmp(eg__old(r, at)->name, node->name)) r->map[at++] = copy;
    }
    return !r->to->mistake.status;
}

static eg_node first_rule(eg__rewrite *r, uint32_t id) { return r->map[id]; }

static eg_node second_rule(eg__rewrite *r, uint32_t id) {
    const cut *c = r->rewriter->given;
    const eg__node *node = eg__old(r, id);
    if (!(c->flags[id] & KEPT)) return r->map[id];
    char name[EG__KEPT_NAME];
    snprintf(name, sizeof name, "kept.%u", c->number[id]);
    return eg_input(r->to, name, node->type, node->rank, node->shape);
}

static bool second_needs(const eg__rewrite *r, uint32_t id, unsigned input) {
    (void)input;
    return !(((const cut *)r->rewriter->given)->flags[id] & KEPT);
}

static eg_status make_sides(eg__split *s, cut *c, size_t count, const eg__output *outputs,
                            const eg_node *nodes, bool training, eg_error *error) {
    const eg__rewriter rewriters[] = {
        {.rule = first_rule, .begin = take_parameters, .given = c},
        {.rule = second_rule, .begin = take_parameters, .needs = second_needs, .given = c}};
    eg__memory *memory = c->graph->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_node *list =
        eg__memory_take_array(memory, EG_TAG_GRAPH, count + c->kept + 1, sizeof *list, &reason);
    s->names = eg__memory_take_array(memory, EG_TAG_GRAPH, c->kept + 1, sizeof *s->names, &reason);
    eg_status status = EG_OK;
    if (!list || !s->names) status = eg__fail(error, reason.status, "%s", reason.message);
    for (unsigned side = 0; side < 2 && !status; side++) {
        struct eg__split_side *to = &s->sides[side];
        to->outputs = eg__memory_take_array(memory, EG_TAG_GRAPH, count + c->kept + 1,
                                            sizeof *to->outputs, &reason);
        if (!to->outputs) {
            status = eg__fail(error, reason.status, "%s", reason.message);
            break;
        }
        for (size_t i = 0; i < count; i++) {
            if (!!(c->flags[nodes[i].id] & LATE) != side) continue;
            list[to->count] = nodes[i];
            to->outputs[to->count++].name = outputs[i].name;
        }
        for (uint32_t i = 1; !side && i <= c->graph->size; i++) {
            if (!(c->flags[i] & KEPT)) continue;
            const uint32_t number = c->number[i];
            snprintf(s->names[number], sizeof *s->names, "kept.%u", number);
            list[to->count] = (eg_node){i};
            to->outputs[to->count++].name = s->names[number];
        }
        status = eg__graph_rewrite(c->graph, to->count, list, training, &rewriters[side],
                                   &to->graph, error);
        for (size_t i = 0; !status && i < to->count; i++) to->outputs[i].node = list[i];
    }
    eg__memory_give(memory, list);
    return status;
}

static eg_status check(const eg_graph *graph, size_t late_count, const eg_node *late, size_t count,
                       const eg__output *outputs, eg_error *error) {
    for (size_t i = 0; i < late_count; i++)
        if (!late[i].id || late[i].id > graph->size ||
            eg__node_at(graph, late[i])->op != EG__GRAPH_input)
            return eg__fail(error, EG_ERR_ARGUMENT, "late input %zu is no input", i);
    for (size_t i = 0; i < count; i++)
        if (!outputs[i].node.id || outputs[i].node.id > graph->size ||
            eg__node_at(graph, outputs[i].node)->scan ||
            eg__node_at(graph, outputs[i].node)->op == EG__GRAPH_scan)
            return eg__fail(error, EG_ERR_ARGUMENT, "output %zu is no value outside of scans", i);
    for (uint32_t i = 1; i <= graph->size; i++)
        if (graph->nodes[i].op == EG__GRAPH_state || graph->nodes[i].op == EG__GRAPH_cache ||
            graph->nodes[i].op == EG__GRAPH_update)
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "a graph with states cannot be split: node %u (%s)", i,
                            eg__node_operation(&graph->nodes[i]));
    return eg_graph_check(graph, error);
}

/* Late inputs are outputs here, so that they are followed from graph to graph. */
static eg_status simplify(cut *c, size_t count, eg_node *nodes, bool training, eg_error *error) {
    static const eg__rewriter plain = {0};
    const eg__compile_options options = {.training = training,
                                         .passes = 1u << EG__PASS_fold | 1u << EG__PASS_cse};
    eg_status status =
        eg__graph_rewrite(c->given, count, nodes, training, &plain, &c->graph, error);
    return status ? status : eg__passes_run(&c->graph, count, nodes, &options, error);
}

eg_status eg__split_open(eg__split *split, const eg_graph *graph, size_t late_count,
                         const eg_node *late, size_t count, const eg__output *outputs,
                         bool training, eg_error *error) {
    memset(split, 0, sizeof *split);
    eg_status status = check(graph, late_count, late, count, outputs, error);
    if (status) return status;
    eg__memory *memory = graph->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    cut c = {.given = graph};
    uint32_t *stack = NULL;
    eg_node *nodes =
        eg__memory_take_array(memory, EG_TAG_GRAPH, count + late_count + 1, sizeof *nodes, &reason);
    if (!nodes) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < count; i++) nodes[i] = outputs[i].node;
    for (size_t i = 0; i < late_count; i++) nodes[count + i] = late[i];
    status = simplify(&c, count + late_count, nodes, training, error);
    if (!status) {
        const size_t room = c.graph->size + 1;
        c.flags = eg__memory_take_array(memory, EG_TAG_GRAPH, room, 1, &reason);
        c.number = eg__memory_take_array(memory, EG_TAG_GRAPH, room, sizeof *c.number, &reason);
        stack = eg__memory_take_array(memory, EG_TAG_GRAPH, room, sizeof *stack, &reason);
        if (!c.flags || !c.number || !stack)
            status = eg__fail(error, reason.status, "%s", reason.message);
    }
    if (!status) {
        for (size_t i = 0; i < late_count; i++) c.flags[nodes[count + i].id] |= LATE;
        spread(&c);
        find_kept(&c, count, nodes, stack);
        status = make_sides(split, &c, count, outputs, nodes, training, error);
    }
    eg__memory_give(memory, stack);
    eg__memory_give(memory, c.number);
    eg__memory_give(memory, c.flags);
    eg__memory_give(memory, nodes);
    eg_graph_destroy(c.graph);
    return status;
}

void eg__split_close(eg__split *split, eg__memory *memory) {
    for (unsigned side = 0; side < 2; side++) {
        eg_graph_destroy(split->sides[side].graph);
        eg__memory_give(memory, split->sides[side].outputs);
    }
    eg__memory_give(memory, split->names);
}
