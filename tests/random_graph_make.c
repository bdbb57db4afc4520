/* Whole random graphs: scans, operations, outputs, gradients. Everything follows from the number of the case. */
#include "random_graph.h"
#include "test.h"

#include <math.h>

static bool is_full(const maker *m) { return m->count > POOL - 60 || m->leaves > 40; }
static void operation(maker *m);

/* ---- scans */
static item pick_outside(maker *m) {
    for (int i = 0; i < 8; i++) {
        item x = m->pool[random_draw(m, m->count)];
        if (size_of(m, x) <= 300) return random_tame(m, x, 4);
    }
    return random_new_leaf(m);
}
/* What a carry can become: anything of its shape, itself and other carries too. */
static item pick_like(maker *m, item like) {
    item x;
    for (int i = 0; i < 12; i++) {
        x = random_pick(m);
        if (eg__same_shape(at(m, x), at(m, like)) && x.bound <= 4) return x;
    }
    const eg_node sum = eg_sum(m->g, random_tame(m, x, 1).node, EG_ALL_AXES, 0);
    return (item){eg_tanh(m->g, eg_add(m->g, like.node, sum)), 1};
}
static item pick_sequence(maker *m, uint64_t length) {
    uint64_t shape[4] = {length};
    for (int i = 0; i < 8; i++) {
        item x = m->pool[random_draw(m, m->count)];
        if (at(m, x)->rank && at(m, x)->shape[0] == length) return x;
    }
    return random_leaf(m, 1 + random_shape(m, shape + 1, 3, 100), shape);
}
static void drop_others(maker *m, size_t from, uint64_t batch) {
    for (size_t k = from; k < m->count; k++)
        if (at(m, m->pool[k])->scan &&
            (!at(m, m->pool[k])->rank || at(m, m->pool[k])->shape[0] != batch))
            m->pool[k--] = m->pool[--m->count];
}
static eg_node result(maker *m, eg_node scan, item x, size_t carries, const item *carry) {
    const uint64_t kind = random_draw(m, 6);
    if (carries && kind < 2) return eg_scan_last(m->g, carry[random_draw(m, carries)].node);
    if (kind == 2) return eg_scan_sum(m->g, scan, x.node);
    return at(m, x)->rank < EG_RANK_MAX && size_of(m, x) * m->length <= MOST
               ? eg_scan_stack(m->g, scan, x.node)
               : (eg_node){0};
}
static void scan(maker *m) {
    item carry[4], next[4], step[3];
    eg_node out[8];
    size_t outs = 0, carries = random_draw(m, 4), steps = random_draw(m, 3) + !carries;
    const uint64_t length = random_draw(m, 4) ? m->length : 1 + random_draw(m, 5);
    /* everything inside may have the same first axis: such bodies are cut between threads */
    const uint64_t batch = random_draw(m, 2) ? m->favourite[random_draw(m, 2)] : 0;
    for (size_t i = 0; i < carries; i++) {
        const uint64_t shape[] = {batch, random_extent(m) % 9, 1 + random_draw(m, 3)};
        carry[i] = pick_outside(m);
        if (batch && (!at(m, carry[i])->rank || at(m, carry[i])->shape[0] != batch))
            carry[i] = random_leaf(m, 1 + (unsigned)random_draw(m, 3), shape);
    }
    if (carries > 1 && random_draw(m, 2)) carry[1] = carry[0]; /* so that they can change places */
    for (size_t i = 0; i < steps; i++) step[i] = pick_sequence(m, length);
    const eg_node s = eg_scan(m->g, length, (int)random_draw(m, 2));
    m->inside = m->count;
    for (size_t i = 0; i < carries; i++)
        carry[i] = random_keep(m, eg_scan_carry(m->g, s, carry[i].node), 4);
    for (size_t i = 0; i < steps; i++)
        step[i] = random_keep(m, eg_scan_step(m->g, s, step[i].node), step[i].bound);
    for (size_t i = random_draw(m, 9); i > 0; i--) {
        operation(m);
        if (batch) drop_others(m, m->inside + carries + steps, batch);
    }
    for (size_t i = 0; i < carries; i++) {
        next[i] = pick_like(m, carry[i]);
        eg_scan_update(m->g, carry[i].node, next[i].node);
    }
    for (size_t i = 1 + random_draw(m, 5); i > 0; i--) {
        item x = random_pick(m);
        if (carries && random_draw(m, 3) == 0)
            x = (random_draw(m, 2) ? next : carry)[random_draw(m, carries)];
        out[outs] = result(m, s, x, carries, carry);
        outs += out[outs].id != 0;
    }
    size_t left = m->inside;
    for (size_t i = m->inside; i < m->count; i++)
        if (!at(m, m->pool[i])->scan) m->pool[left++] = m->pool[i];
    m->count = left;
    m->inside = 0;
    for (size_t i = 0; i < outs; i++) random_keep(m, out[i], 4 * sqrt((double)length));
}

static void operation(maker *m) {
    const uint64_t which = random_draw(m, 20);
    if (is_full(m)) return;
    item x = random_pick(m);
    if (which < 3) random_unary(m, x);
    else if (which < 6) random_binary(m, x, random_partner(m, x, false));
    else if (which == 6) /* a long chain: the limits of a fused program */
        for (uint64_t i = random_draw(m, 6) ? 6 : 12 + random_draw(m, 30); i > 0 && !is_full(m);
             i--) {
            x = m->pool[m->count - 1];
            if (random_draw(m, 3) == 0) random_unary(m, x);
            else random_binary(m, x, random_partner(m, x, false));
        }
    else if (which == 8 && random_draw(m, 2)) random_conv(m);
    else if (which < 10) random_product(m);
    else if (which < 14) random_movement(m);
    else if (which < 16) random_over_axes(m);
    else if (which == 16)
        random_keep(m, eg_dropout(m->g, x.node, 0.1 * (double)random_draw(m, 6)), 2 * x.bound);
    else if (which == 17) random_new_leaf(m);
    else if (m->inside) random_unary(m, x);
    else if (which == 18) scan(m);
    else random_state(m);
}

/* ---- a whole graph */
enum { OUTPUTS = RANDOM_OUTPUTS };
static void add_output(random_case *c, eg_node node) {
    static const char *const names[OUTPUTS] = {"o0", "o1", "o2", "o3", "o4",  "o5",
                                               "o6", "o7", "o8", "o9", "o10", "o11"};
    c->output[c->count] = (eg_output){names[c->count], node};
    c->count++;
}
static void add_gradients(maker *m, random_case *c) {
    item y = random_tame(m, m->pool[m->count - 1 - random_draw(m, m->count < 3 ? 1 : 3)], 4);
    eg_node wrt[4], d[4], keep[3];
    eg_error error = {0};
    const size_t count = 1 + random_draw(m, 4);
    const eg_gradient_options options = {.keep_count = random_draw(m, 4), .keep = keep};
    for (size_t i = 0; i < options.keep_count; i++)
        keep[i] = m->pool[random_draw(m, m->count)].node;
    for (size_t i = 0; i < count; i++) wrt[i] = m->pool[random_draw(m, m->count)].node;
    const eg_node weights = eg_sin(m->g, eg_add(m->g, y.node, eg_scalar(m->g, 0.7)));
    const eg_node loss = eg_mean(m->g, eg_mul(m->g, y.node, weights), EG_ALL_AXES, 0);
    add_output(c, loss);
    const eg_status status = eg_gradient_with(m->g, &options, loss, count, wrt, d, &error);
    if (status && strstr(error.message, "rank 6 has no room for time")) return; /* as documented */
    CHECK_OK(status, error);
    for (size_t i = 0; i < count; i++) add_output(c, d[i]);
}
void random_case_make(eg_graph *g, uint64_t number, random_case *c) {
    maker *m = test_alloc(sizeof *m);
    *m = (maker){.g = g, .state = number * 0x2545f4914f6cdd1du + 1};
    *c = (random_case){.threads = 1 + (unsigned)number % 4};
    for (int i = 0; i < 4; i++) m->favourite[i] = 1 + random_draw(m, i == 3 ? 40 : 6);
    if (random_draw(m, 25) == 0) m->favourite[random_draw(m, 4)] = 0;
    m->length = random_draw(m, 4) ? 2 + random_draw(m, 5) : m->favourite[0] + !m->favourite[0];
    for (uint64_t i = 1 + random_draw(m, 3); i > 0; i--) random_new_leaf(m);
    for (uint64_t i = 2 + random_draw(m, random_draw(m, 2) ? 6 : 24); i > 0; i--) operation(m);
    for (uint64_t i = 1 + random_draw(m, 4); i > 0; i--) add_output(c, random_pick(m).node);
    if (random_draw(m, 2)) add_gradients(m, c);
    size_t passes = 0;
    while (eg_pass_name(passes)) passes++;
    snprintf(c->name, sizeof c->name, "case %llu", (unsigned long long)number);
    snprintf(c->passes, sizeof c->passes, "all,-%s", eg_pass_name(random_draw(m, passes)));
    const uint64_t which = random_draw(m, 8);
    c->c = (compiled_case){c->name,
                           which < 4    ? NULL
                           : which == 4 ? "none"
                                        : c->passes,
                           random_draw(m, 4) != 0, -1, 1};
    free(m);
}

size_t random_graph(eg_graph *g, uint64_t number, eg_output outputs[RANDOM_OUTPUTS]) {
    random_case c;
    random_case_make(g, number, &c);
    memcpy(outputs, c.output, sizeof c.output);
    return c.count;
}
