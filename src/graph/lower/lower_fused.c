/* From a chain of elementwise nodes to a register program and its operands. */
#include "graph/lower/lower.h"

#include <string.h>

typedef struct chain {
    eg__lowering *l;
    unsigned members, inputs, stored, copies;
    uint32_t member[EG__FUSED_INSTRUCTIONS];
    uint32_t input[EG__FUSED_OPERANDS]; /* nodes from outside */
    uint8_t store[EG__FUSED_OPERANDS];  /* members whose value is stored */
    uint8_t copy[EG__FUSED_OPERANDS];   /* members that are stored a second time */
    uint32_t user[EG__FUSED_OPERANDS];  /* the node that needs that copy; 0 = a stack */
    /* of a multiplication: the addition that absorbs it (FMA); 255 = none */
    uint8_t into[EG__FUSED_INSTRUCTIONS];
    uint8_t last[EG__FUSED_INSTRUCTIONS];    /* the last member that reads a member */
    uint8_t last_input[EG__FUSED_OPERANDS];  /* the last member that reads an input */
    bool deferred[EG__FUSED_OPERANDS];       /* stores that wait until all inputs are read */
    eg__view view[EG__FUSED_OPERANDS];       /* of inputs, stores, copies */
    eg__fused_kind kind[EG__FUSED_OPERANDS]; /* full, per row, per column or scalar */
    size_t stride[EG__FUSED_OPERANDS];
    eg__fused_program program;
} chain;
enum { NO = 255 };

static unsigned member_index(const chain *c, uint32_t id) {
    for (unsigned i = 0; i < c->members; i++)
        if (c->member[i] == id) return i;
    return NO;
}

static bool add_input(chain *c, uint32_t id, unsigned *index) {
    for (*index = 0; *index < c->inputs; (*index)++)
        if (c->input[*index] == id) return true;
    if (c->inputs == EG__FUSED_OPERANDS) return false;
    c->input[c->inputs++] = id;
    return true;
}

/* Something outside of the chain reads the value. */
static bool is_stored(const chain *c, uint32_t id) {
    const eg__lowering *l = c->l;
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].id == id) return true;
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++)
        if (member_index(c, l->users[k]) == NO) return true;
    return l->becomes[id] != 0;
}

static bool is_stacked(const eg__lowering *l, uint32_t id) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++)
        if (eg__lower_node(l, l->users[k])->op == EG__GRAPH_stack &&
            !eg__lower_node(l, l->users[k])->attributes.stack.every)
            return true;
    return false;
}

/* ---- a multiplication that only one addition reads becomes an FMA with it: rounded once */
static bool is_binary(const eg__node *node, eg__binary kind) {
    return node->op == EG__GRAPH_binary && node->kind == kind;
}

static unsigned readers(const chain *c, uint32_t id) {
    return c->l->user_first[id + 1] - c->l->user_first[id];
}

static void join_products(chain *c) {
    for (unsigned i = 0; i < c->members; i++) c->into[i] = NO;
    for (unsigned i = 0; i < c->members; i++) {
        const eg__node *node = eg__lower_node(c->l, c->member[i]);
        if (!is_binary(node, EG__BINARY_add)) continue;
        for (unsigned k = 0; k < 2; k++) {
            const uint32_t id = eg__node_input(c->l->graph, node, k).id;
            const unsigned product = member_index(c, id);
            if (product == NO || !is_binary(eg__lower_node(c->l, id), EG__BINARY_mul)) continue;
            if (readers(c, id) != 1 || is_stored(c, id)) continue;
            c->into[product] = (uint8_t)i;
            break;
        }
    }
}

/* The values that member i reads; those of a multiplication it absorbs come first. */
static unsigned reads(const chain *c, unsigned i, uint32_t out[3]) {
    const eg__node *node = eg__lower_node(c->l, c->member[i]);
    for (unsigned product = 0; product < i; product++) {
        if (c->into[product] != i) continue;
        const uint32_t id = c->member[product];
        const uint32_t a = eg__node_input(c->l->graph, node, 0).id;
        out[0] = eg__lower_input(c->l, id, 0);
        out[1] = eg__lower_input(c->l, id, 1);
        out[2] = a == id ? eg__node_input(c->l->graph, node, 1).id : a;
        return 3;
    }
    for (unsigned k = 0; k < node->input_count; k++)
        out[k] = eg__node_input(c->l->graph, node, k).id;
    return node->input_count;
}

static bool collect(chain *c, uint32_t unit, uint32_t other) {
    const eg__lowering *l = c->l;
    uint32_t a = l->units[unit].first, b = other ? l->units[other].first : 0;
    while (a || b) {
        uint32_t *from = !b || (a && a < b) ? &a : &b;
        if (c->members == EG__FUSED_INSTRUCTIONS) return false;
        c->member[c->members++] = *from;
        *from = l->next_member[*from];
    }
    join_products(c);
    unsigned index;
    for (unsigned i = 0; i < c->members; i++) {
        uint32_t in[3];
        if (c->into[i] != NO) continue;
        for (unsigned k = reads(c, i, in); k-- > 0;) {
            const unsigned member = member_index(c, in[k]);
            if (member != NO) c->last[member] = (uint8_t)i;
            else if (!add_input(c, in[k], &index)) return false;
            else c->last_input[index] = (uint8_t)i;
        }
    }
    for (unsigned i = 0; i < c->members; i++) {
        if (!is_stored(c, c->member[i])) continue;
        if (c->inputs + c->stored >= EG__FUSED_OPERANDS) return false;
        c->store[c->stored++] = (uint8_t)i;
        c->copies += is_stacked(l, c->member[i]); /* room for a second store */
    }
    return c->inputs + c->stored + c->copies <= EG__FUSED_OPERANDS &&
           c->members + c->copies + c->stored <= EG__FUSED_INSTRUCTIONS;
}

/* ---- instructions */
static unsigned store_of(const chain *c, unsigned member) {
    for (unsigned s = 0; s < c->stored; s++)
        if (c->store[s] == member) return s;
    return NO;
}

static bool generate(chain *c) {
    uint8_t place[EG__FUSED_INSTRUCTIONS];
    unsigned free_registers = (1u << EG__FUSED_REGISTERS) - 1;
    eg__fused_program *p = &c->program;
    memset(p, 0, sizeof *p);
    p->operands = (uint8_t)(c->inputs + c->stored + c->copies);
    for (unsigned i = 0; i < c->members; i++) {
        uint32_t in[3];
        uint8_t at[3] = {0};
        if (c->into[i] != NO) continue;
        const unsigned count = reads(c, i, in);
        const eg__node *node = eg__lower_node(c->l, c->member[i]);
        for (unsigned k = 0; k < count; k++) {
            unsigned member = member_index(c, in[k]), index = 0;
            if (member == NO) {
                add_input(c, in[k], &index);
                at[k] = EG__OPERAND(index);
            } else {
                at[k] = place[member];
                if (c->last[member] == i && place[member] < EG__FUSED_REGISTERS) {
                    const unsigned s = store_of(c, member);
                    if (s == NO) free_registers |= 1u << place[member];
                }
            }
        }
        const unsigned store = store_of(c, i);
        uint8_t to;
        if (store != NO && !c->deferred[store]) to = EG__OPERAND(c->inputs + store);
        else {
            if (!free_registers) return false;
            to = (uint8_t)__builtin_ctz(free_registers);
            free_registers &= ~(1u << to);
        }
        place[i] = to;
        const unsigned op = count == 3 && node->input_count == 2
                                ? EG__FUSED_FMA
                                : eg__op_row(node->op)->fused(node);
        p->code[p->length++] = (eg__fused_instruction){(uint8_t)op, to, at[0], at[1], at[2]};
    }
    for (unsigned s = 0; s < c->stored; s++)
        if (c->deferred[s])
            p->code[p->length++] = (eg__fused_instruction){
                EG__FUSED_COPY, EG__OPERAND(c->inputs + s), place[c->store[s]], 0, 0};
    for (unsigned k = 0; k < c->copies; k++)
        p->code[p->length++] = (eg__fused_instruction){
            EG__FUSED_COPY, EG__OPERAND(c->inputs + c->stored + k), place[c->copy[k]], 0, 0};
    return true;
}

bool eg__lower_fits(eg__lowering *l, uint32_t unit, uint32_t other) {
    chain c = {.l = l};
    if (!collect(&c, unit, other)) return false;
    c.copies = 0;
    return generate(&c);
}

/* ---- storage */
static void place_inputs(chain *c, const eg__node *shape) {
    for (unsigned i = 0; i < c->inputs; i++) {
        const eg__view view = eg__lower_value(c->l, c->input[i]);
        c->view[i] = eg__view_broadcast(eg__lower_node(c->l, c->input[i]), &view, shape);
    }
}

/* An input whose last use is in this chain may be overwritten, if the store comes after that
 * read. */
static uint32_t input_to_reuse(const chain *c, unsigned member) {
    for (unsigned i = 0; i < c->inputs; i++)
        if (c->last_input[i] <= member && eg__lower_reusable(c->l, c->member[member], c->input[i]))
            return c->input[i];
    return 0;
}

static void place_stores(chain *c, const eg__node *shape) {
    eg__lowering *l = c->l;
    c->copies = 0;
    for (unsigned s = 0; s < c->stored; s++) {
        const uint32_t id = c->member[c->store[s]];
        const eg__view home = eg__lower_storage(l, id, input_to_reuse(c, c->store[s]));
        c->view[c->inputs + s] = home;
        for (unsigned i = 0; i < c->inputs; i++)
            if (c->view[i].buffer == home.buffer && c->last_input[i] > c->store[s])
                c->deferred[s] = true;
    }
    for (unsigned s = 0; s < c->stored; s++) {
        const uint32_t id = c->member[c->store[s]];
        eg__view place;
        if (!eg__lower_stack_place(l, id, &place) ||
            eg__view_same(shape, &place, &c->view[c->inputs + s]))
            continue;
        c->copy[c->copies] = c->store[s];
        c->view[c->inputs + c->stored + c->copies++] = place;
        for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++)
            if (eg__lower_node(l, l->users[k])->op == EG__GRAPH_stack &&
                !eg__lower_node(l, l->users[k])->attributes.stack.every) {
                l->written_directly[l->users[k]] = 1;
                break;
            }
    }
}

/* ---- a split of the axes into rows and columns that suits all operands */
static bool split_fits(chain *c, const eg__node *shape, unsigned split) {
    const unsigned all = c->inputs + c->stored + c->copies;
    for (unsigned i = 0; i < all; i++)
        if (!eg__view_split(shape, &c->view[i], split, &c->kind[i], &c->stride[i]) ||
            (i >= c->inputs && c->kind[i] != EG__FULL))
            return false;
    return true;
}

/* Fallback: the last axis is the columns, operands that do not fit are copied first. */
static unsigned split_force(chain *c, const eg__node *shape, uint32_t region) {
    const unsigned split = shape->rank ? shape->rank - 1 : 0;
    eg__lowering *l = c->l;
    for (unsigned i = 0; i < c->inputs + c->stored + c->copies; i++) {
        if (eg__view_split(shape, &c->view[i], split, &c->kind[i], &c->stride[i]) &&
            (i < c->inputs || c->kind[i] == EG__FULL))
            continue;
        eg__view dense = eg__lower_new(l, region, shape);
        if (i < c->inputs) eg__lower_copy(l, region, c->member[0], shape, &c->view[i], &dense);
        else {
            const uint32_t id = c->member[c->store[i - c->inputs]];
            if (i >= c->inputs + c->stored)
                eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u: a stack without dense rows", id);
            else dense = eg__lower_plain_storage(l, id);
        }
        c->view[i] = dense;
        eg__view_split(shape, &dense, split, &c->kind[i], &c->stride[i]);
    }
    return split;
}

/* ---- second stores. They save a copy step, but are dropped when no split suits the chain with
 * them. */
static void add_seconds(chain *c, unsigned s) {
    eg__lowering *l = c->l;
    const uint32_t id = c->member[c->store[s]];
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        eg__view place;
        const unsigned all = c->inputs + c->stored + c->copies;
        if (all == EG__FUSED_OPERANDS ||
            c->members + c->stored + c->copies >= EG__FUSED_INSTRUCTIONS ||
            !eg__lower_second_place(l, id, l->users[k], &place))
            continue;
        bool free = true; /* inputs that lie there must not be overwritten */
        for (unsigned i = 0; i < all; i++) free = free && c->view[i].buffer != place.buffer;
        if (!free) continue;
        c->user[c->copies] = l->users[k];
        c->copy[c->copies++] = c->store[s];
        c->view[all] = place;
    }
}

static void place_seconds(chain *c, const eg__node *shape, unsigned split, unsigned last) {
    eg__lowering *l = c->l;
    const unsigned stacks = c->copies;
    for (unsigned s = 0; s < c->stored && !l->status; s++) add_seconds(c, s);
    if (c->copies == stacks || l->status) return;
    while (split <= last && !split_fits(c, shape, split)) split++;
    if (split > last) c->copies = stacks;
    for (unsigned i = stacks; i < c->copies; i++) {
        const uint32_t id = c->member[c->copy[i]], user = c->user[i];
        if (eg__lower_node(l, user)->op == EG__GRAPH_concat) l->part_of[id] = user;
        else l->written_directly[user] = 1;
    }
}

/* ---- the step */
double eg__fused_operand_bytes(eg__fused_kind kind, double rows, double columns) {
    switch (kind) {
    case EG__FULL: return 4 * rows * columns;
    case EG__ROW: return 4 * rows;
    case EG__COLUMN: return 4 * columns;
    case EG__SCALAR: break;
    }
    return 4;
}

static void emit(chain *c, uint32_t unit, const eg__node *shape, unsigned split) {
    eg__lowering *l = c->l;
    const uint32_t region = l->units[unit].region, id = l->units[unit].last;
    const unsigned all = c->inputs + c->stored + c->copies;
    size_t rows = 1, columns = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        *(i < split ? &rows : &columns) *= (size_t)shape->shape[i];
    eg__step step = eg__lower_step(l, region, id, EG__STEP_fused, rows, columns);
    const bool flat =
        rows == 1 && columns > 4 * EG__FLAT && !step.timed && !l->regions[region].batch_items;
    eg__operand operands[EG__FUSED_OPERANDS];
    for (unsigned i = 0; i < all; i++) {
        const bool moves = c->kind[i] == EG__FULL || c->kind[i] == EG__ROW;
        c->program.kind[i] = (uint8_t)c->kind[i];
        operands[i] = eg__lower_operand(&step, &c->view[i], moves ? c->stride[i] : 0, moves);
        if (flat) operands[i].item = moves ? EG__FLAT * sizeof(float) : 0;
        step.bytes += eg__fused_operand_bytes(c->kind[i], (double)rows, (double)columns);
    }
    if (flat) {
        step.u.fused.flat = columns;
        step.items = eg__ceil_div(columns, EG__FLAT);
    }
    if (eg__pass_is_on(l->options, EG__PASS_fuse)) eg__fused_arrange(&c->program);
    step.u.fused.program = c->program;
    step.operation[0] = eg__fused_operation(&c->program);
    step.flops = (double)c->members * (double)rows * (double)columns;
    eg__lower_emit(l, region, &step, all, operands);
}

static void emit_epilogue(chain *c, uint32_t host, const eg__view *product) {
    eg__operand operands[EG__FUSED_OPERANDS];
    const unsigned all = c->inputs + c->stored + c->copies;
    for (unsigned i = 0; i < all; i++) {
        const bool moves = c->kind[i] == EG__FULL || c->kind[i] == EG__ROW;
        const eg__step one = {.rows = 1};
        c->program.kind[i] = (uint8_t)c->kind[i];
        operands[i] = eg__lower_operand(&one, &c->view[i], moves ? c->stride[i] : 0, moves);
    }
    eg__lower_matmul(c->l, host, product, &c->program, all, operands);
}

void eg__lower_fused_unit(eg__lowering *l, uint32_t unit) {
    const uint32_t host = l->units[unit].host, region = l->units[unit].region;
    const eg__node *shape = eg__lower_node(l, l->units[unit].first);
    chain c = {.l = l};
    eg__view product = {0};
    if (!collect(&c, unit, 0)) {
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "a chain of %u elementwise nodes is too long",
                       c.members);
        return;
    }
    if (host) product = eg__lower_plain_storage(l, host);
    place_inputs(&c, shape);
    place_stores(&c, shape);
    if (l->status) return;
    if (!eg__node_elements(shape)) return;
    const bool rows =
        l->regions[region].batch_items || (l->timed[l->units[unit].first] && shape->rank);
    unsigned split = rows ? 1 : 0;
    if (host) place_seconds(&c, shape, shape->rank - 1, shape->rank - 1);
    else place_seconds(&c, shape, split, shape->rank);
    if (l->status) return;
    for (int attempt = 0; !generate(&c); attempt++) { /* no free register for a deferred store */
        if (attempt) {
            eg__lower_fail(l, EG_ERR_UNSUPPORTED,
                           "a chain of elementwise nodes needs too many registers");
            return;
        }
        for (unsigned s = 0; s < c.stored; s++) {
            if (!c.deferred[s]) continue;
            c.view[c.inputs + s] = eg__lower_plain_storage(l, c.member[c.store[s]]);
            c.deferred[s] = false;
        }
    }
    c.program.operations = c.members;
    if (eg__pass_is_on(l->options, EG__PASS_fuse)) eg__fused_join(&c.program);
    if (host) {
        if (split_fits(&c, shape, shape->rank - 1)) {
            emit_epilogue(&c, host, &product);
            return;
        }
        eg__lower_matmul(l, host, &product, NULL, 0, NULL);
    }
    while (split <= shape->rank && !split_fits(&c, shape, split)) split++;
    if (split > shape->rank) split = split_force(&c, shape, region);
    emit(&c, unit, shape, split);
}
