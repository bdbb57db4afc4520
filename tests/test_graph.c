/* Building graphs: shapes, mistakes that name both shapes, random sequences of operations. */
#include "test.h"
#include "graph/graph.h"
#include "graph/ops/synapses.h"
#include "graph/passes/order.h"

#include <math.h>

AREA(graph, "shape rules, mistakes with both shapes, random builders, every failing allocation")

static eg__memory *memory_new(void) {
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    return memory;
}

#define S(...) \
    (uint64_t[]) { __VA_ARGS__ }

static void expect_shape(eg_graph *g, eg_node node, const char *shape, int line) {
    char text[160];
    eg_error error = {0};
    eg_graph_check(g, &error);
    CHECK(node.id, "line %d: no node: %s", line, error.message);
    if (node.id)
        CHECK(strcmp(eg__shape_text(eg__node_at(g, node), text), shape) == 0, "line %d: %s, not %s",
              line, text, shape);
}
#define SHAPE(node, shape) expect_shape(g, node, shape, __LINE__)

TEST(graph, shapes) {
    eg__memory *memory = memory_new();
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 3, S(2, 3, 4)), y = eg_input(g, "y", EG_F32, 2, S(3, 1));
    eg_node index = eg_input(g, "index", EG_I32, 2, S(5, 6));
    SHAPE(eg_add(g, x, y), "[2, 3, 4]");
    SHAPE(eg_mul(g, eg_scalar(g, 2), y), "[3, 1]");
    SHAPE(eg_reshape(g, x, 1, S(24)), "[24]");
    SHAPE(eg_transpose(g, x, (unsigned[]){2, 0, 1}), "[4, 2, 3]");
    SHAPE(eg_slice(g, x, 2, 1, 2), "[2, 3, 2]");
    SHAPE(eg_slice(g, x, 2, 4, 0), "[2, 3, 0]");
    SHAPE(eg_concat(g, 0, 2, (eg_node[]){x, x}), "[4, 3, 4]");
    SHAPE(eg_broadcast(g, y, 3, S(7, 3, 9)), "[7, 3, 9]");
    SHAPE(eg_pad(g, x, 0, 1, 2, 0), "[5, 3, 4]");
    SHAPE(eg_gather(g, x, index), "[5, 6, 3, 4]");
    SHAPE(eg_sum(g, x, 5, 0), "[3]");
    SHAPE(eg_sum(g, x, 5, 1), "[1, 3, 1]");
    SHAPE(eg_mean(g, x, EG_ALL_AXES, 0), "[]");
    SHAPE(eg_argmax(g, x), "[2, 3]");
    SHAPE(eg_matmul_transposed(g, x, 0, x, 1), "[2, 3, 3]");
    eg_node right = eg_broadcast(g, eg_scalar(g, 1), 3, S(5, 4, 7));
    SHAPE(eg_matmul(g, eg_reshape(g, x, 4, S(2, 1, 3, 4)), right), "[2, 5, 3, 7]");
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

/* Each wrong use, and what its message must contain. */
typedef struct wrong {
    void (*build)(eg_graph *g, eg_node x, eg_node y);
    eg_status status;
    const char *part;
} wrong;
#define WRONG(number, code)                                         \
    static void wrong_##number(eg_graph *g, eg_node x, eg_node y) { \
        (void)x, (void)y;                                           \
        code;                                                       \
    }
WRONG(0, eg_add(g, x, y)) /* [2, 3, 4] and [5] */
WRONG(1, eg_matmul(g, x, x))
WRONG(2, eg_matmul(g, x, y))
WRONG(3, eg_reshape(g, x, 2, S(5, 5)))
WRONG(4, eg_reshape(g, x, 7, S(1, 1, 1, 1, 1, 1, 24)))
WRONG(5, eg_transpose(g, x, (unsigned[]){0, 0, 1}))
WRONG(6, eg_slice(g, x, 1, 2, 2))
WRONG(7, eg_slice(g, x, 3, 0, 1))
WRONG(8, eg_concat(g, 0, 2, (eg_node[]){x, y}))
WRONG(9, eg_broadcast(g, x, 3, S(2, 3, 5)))
WRONG(10, eg_input(g, "x", EG_F32, 1, S(1)))
WRONG(11, eg_input(g, "", EG_F32, 1, S(1)))
WRONG(12, eg_input(g, "byte", EG_I8, 1, S(1)))
WRONG(13, eg_input(g, "big", EG_F32, 2, S(UINT64_C(1) << 40, UINT64_C(1) << 40)))
WRONG(14, eg_tanh(g, eg_argmax(g, x)))
WRONG(15, eg_gather(g, x, y))
WRONG(16, eg_sum(g, x, 8, 0))
WRONG(17, eg_dropout(g, x, 1))
WRONG(18, eg_layer_norm(g, x, -1))
WRONG(19, eg_scan(g, 0, 0))
WRONG(20, eg_scan_step(g, eg_scan(g, 9, 0), x))
WRONG(21, eg_scan_step(g, x, x))
WRONG(22, eg_node s = eg_scan(g, 2, 0); eg_node c = eg_scan_carry(g, s, y);
      eg_scan_update(g, c, eg_sum(g, c, 1, 0)))
WRONG(23, eg_node a = eg_scan_step(g, eg_scan(g, 2, 0), x);
      eg_add(g, a, eg_scan_step(g, eg_scan(g, 2, 0), x)))
WRONG(24, eg_add(g, x, (eg_node){999}))
WRONG(25, eg_pad(g, x, 0, INT64_MAX, INT64_MAX, 0))
WRONG(26, eg_update(g, eg_neg(g, x), x))
WRONG(27, eg_concat(g, 0, 0, NULL))
WRONG(28, eg_scan_last(g, x))
static const wrong wrongs[] = {
    {wrong_0, EG_ERR_ARGUMENT, "add: shapes [2, 3, 4] and [5]"},
    {wrong_1, EG_ERR_ARGUMENT, "matmul: cannot multiply [2, 3, 4] by [2, 3, 4]"},
    {wrong_2, EG_ERR_ARGUMENT, "matmul: cannot multiply [2, 3, 4] by [5]"},
    {wrong_3, EG_ERR_ARGUMENT, "reshape: [2, 3, 4] and [5, 5] have different numbers of elements"},
    {wrong_4, EG_ERR_ARGUMENT, "rank 7"},
    {wrong_5, EG_ERR_ARGUMENT, "axis 0 at position 1"},
    {wrong_6, EG_ERR_ARGUMENT, "2 elements from 2 are not in axis 1 of [2, 3, 4]"},
    {wrong_7, EG_ERR_ARGUMENT, "no axis 3"},
    {wrong_8, EG_ERR_ARGUMENT, "[2, 3, 4] and [5]"},
    {wrong_9, EG_ERR_ARGUMENT, "[2, 3, 4] and [2, 3, 5]"},
    {wrong_10, EG_ERR_ARGUMENT, "'x' is taken"},
    {wrong_11, EG_ERR_ARGUMENT, "name"},
    {wrong_12, EG_ERR_UNSUPPORTED, "'i8'"},
    {wrong_13, EG_ERR_OVERFLOW, "input"},
    {wrong_14, EG_ERR_ARGUMENT, "'i32'"},
    {wrong_15, EG_ERR_ARGUMENT, "i32 index"},
    {wrong_16, EG_ERR_ARGUMENT, "sum: axes (bit mask 0x8) are not all in [2, 3, 4]"},
    {wrong_17, EG_ERR_ARGUMENT, "rate 1"},
    {wrong_18, EG_ERR_ARGUMENT, "epsilon -1"},
    {wrong_19, EG_ERR_ARGUMENT, "length of 0"},
    {wrong_20, EG_ERR_ARGUMENT, "[2, 3, 4] for a scan of 9"},
    {wrong_21, EG_ERR_ARGUMENT, "no scan"},
    {wrong_22, EG_ERR_ARGUMENT, "a carry of f32 [5] cannot become f32 []"},
    {wrong_23, EG_ERR_ARGUMENT, "add: inputs are inside two different scans"},
    {wrong_24, EG_ERR_ARGUMENT, "999"},
    {wrong_25, EG_ERR_OVERFLOW, "pad"},
    {wrong_26, EG_ERR_ARGUMENT, "update: 'neg' is not a state, a cache or an f32 input"},
    {wrong_27, EG_ERR_ARGUMENT, "concat: needs at least one input"},
    {wrong_28, EG_ERR_ARGUMENT, "no carry"},
};

TEST(graph, mistakes) {
    eg__memory *memory = memory_new();
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        eg_graph *g;
        eg_error error = {0};
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        eg_node x = eg_input(g, "x", EG_F32, 3, S(2, 3, 4)), y = eg_input(g, "y", EG_F32, 1, S(5));
        wrongs[i].build(g, x, y);
        eg_status status = eg_graph_check(g, &error);
        CHECK(status == wrongs[i].status && strstr(error.message, wrongs[i].part),
              "mistake %zu: %s '%s', expected '%s'", i, eg_status_name(status), error.message,
              wrongs[i].part);
        CHECK(!eg_add(g, x, x).id, "mistake %zu: building went on", i);
        eg_graph_destroy(g);
    }
    eg__memory_destroy(memory);
    CHECK(eg_graph_check(NULL, NULL) == EG_ERR_ARGUMENT, "no graph");
    eg_graph_destroy(NULL);
}

TEST(graph, forgiven_mistakes) {
    eg__memory *memory = memory_new();
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, S(2, 3));
    CHECK(!eg_matmul(g, x, x).id, "a product of shapes that do not fit");
    CHECK(!eg_add(g, x, x).id, "a node after a mistake");
    CHECK(eg_graph_check(g, &error) == EG_ERR_ARGUMENT, "no mistake");
    eg_graph_forgive(g);
    eg_graph_forgive(NULL);
    CHECK_OK(eg_graph_check(g, &error), error);
    CHECK(eg_graph_size(g) == 1, "%zu nodes", eg_graph_size(g));
    SHAPE(eg_add(g, x, x), "[2, 3]");
    CHECK(!eg_input(g, "x", EG_F32, 0, NULL).id, "a name twice");
    CHECK(eg_graph_check(g, &error) && strstr(error.message, "'x'"), "the second mistake: %s",
          error.message);
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

TEST(graph, circles_and_missing_updates) {
    eg__memory *memory = memory_new();
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 1, S(3));
    eg_node scan = eg_scan(g, 4, 0), c = eg_scan_carry(g, scan, x);
    eg_node stack = eg_scan_stack(g, scan, c), sum = eg_sum(g, stack, 1, 0);
    uint32_t *order;
    size_t size;
    CHECK_FAILS(eg__graph_order(g, 1, &sum, &order, &size, &error), error, EG_ERR_ARGUMENT,
                "no update");
    eg_scan_update(g, c, eg_add(g, c, sum)); /* the body needs what comes out of it */
    CHECK_FAILS(eg__graph_order(g, 1, &sum, &order, &size, &error), error, EG_ERR_ARGUMENT,
                "depends on itself");
    CHECK_FAILS(eg__graph_order(g, 1, &c, &order, &size, &error), error, EG_ERR_ARGUMENT,
                "outside");
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

TEST(graph, questions_and_costs) {
    eg__memory *memory = memory_new();
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node a = eg_input(g, "a", EG_F32, 3, S(2, 3, 4)), b = eg_parameter(g, "b", 2, S(4, 5));
    eg_node c = eg_tanh(g, eg_matmul(g, a, b));
    eg_node_info info = {.size = sizeof info};
    CHECK_OK(eg_graph_node(g, (eg_node){3}, &info, &error), error);
    CHECK(strcmp(info.operation, "matmul") == 0 && info.flops == 2.0 * 2 * 3 * 4 * 5, "%s %g",
          info.operation, info.flops);
    CHECK(info.bytes == 4.0 * (24 + 20 + 30), "bytes %g", info.bytes);
    CHECK_OK(eg_graph_node(g, c, &info, &error), error);
    CHECK(strcmp(info.operation, "tanh") == 0 && info.inputs[0].id == 3, "%s", info.operation);
    CHECK_OK(eg_graph_node(g, b, &info, &error), error);
    CHECK(strcmp(info.name, "b") == 0 && info.bytes == 0, "name '%s'", info.name);
    CHECK(eg_graph_size(g) == 4, "size");
    CHECK_FAILS(eg_graph_node(g, (eg_node){5}, &info, &error), error, EG_ERR_ARGUMENT, "5");
    eg_node d;
    CHECK_FAILS(eg_gradient(g, c, 1, &b, &d, &error), error, EG_ERR_ARGUMENT, "[2, 3, 5]");
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

/* ---- random operations on random nodes: statuses, never a crash; what was built evaluates */
static uint32_t pick(uint64_t *state, uint32_t n) {
    test_random(state);
    return (uint32_t)(*state >> 33) % n;
}

static eg_node random_operation(eg_graph *g, uint64_t *state, const eg_node *pool, uint32_t count) {
    eg_node a = pool[pick(state, count)], b = pool[pick(state, count)],
            c = pool[pick(state, count)];
    unsigned axis = pick(state, 4);
    switch (pick(state, 24)) {
    case 0: return eg_add(g, a, b);
    case 1: return eg_mul(g, a, b);
    case 2: return eg_lt(g, a, b);
    case 3: return eg_tanh(g, a);
    case 4: return eg_matmul(g, a, b);
    case 5: return eg_matmul_transposed(g, a, 1, b, 0);
    case 6: return eg_slice(g, a, axis, pick(state, 3), pick(state, 3));
    case 7: return eg_pad(g, a, axis, pick(state, 2), pick(state, 2), 1);
    case 8: return eg_concat(g, axis, 2, (eg_node[]){a, b});
    case 9: return eg_sum(g, a, pick(state, 8), (int)pick(state, 2));
    case 10: return eg_reduce_max(g, a, pick(state, 8), 0);
    case 11: return eg_argmax(g, a);
    case 12: return eg_gather(g, a, b);
    case 13: return eg_scatter_add(g, a, b, 4);
    case 14: return eg_softmax(g, a);
    case 15: return eg_layer_norm(g, a, 1e-5);
    case 16: return eg_select(g, a, b, c);
    case 17: return eg_dropout(g, a, 0.5);
    case 18: return eg_transpose(g, a, (unsigned[]){1, 0, 2, 3, 4, 5});
    case 19: return eg_reshape(g, a, 1, S(pick(state, 3) * 6));
    case 20: return eg_scan(g, 1 + pick(state, 3), (int)pick(state, 2));
    case 21: return eg_scan_step(g, a, b);
    case 22: return eg_scan_stack(g, a, b);
    default: {
        eg_node carry = eg_scan_carry(g, a, b);
        if (carry.id) eg_scan_update(g, carry, pick(state, 2) ? carry : eg_tanh(g, carry));
        return carry;
    }
    }
}

TEST(graph, random_builders) {
    eg__memory *memory = memory_new();
    const int rounds = getenv("ELEGANS_QUICK") ? 100 : 3000;
    int evaluated = 0, mistaken = 0;
    for (int round = 0; round < rounds; round++) {
        eg_graph *g;
        eg_error error = {0};
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        uint64_t state = (uint64_t)round * 7919 + 1;
        eg_node pool[64];
        uint32_t count = 0;
        pool[count++] = eg_input(g, "a", EG_F32, 2, S(2, 3));
        pool[count++] = eg_input(g, "b", EG_F32, 2, S(3, 2));
        pool[count++] = eg_input(g, "c", EG_F32, 3, S(2, 3, 3));
        pool[count++] = eg_input(g, "i", EG_I32, 1, S(2));
        double values[18];
        for (int i = 0; i < 18; i++) values[i] = (double)(i % 5) - 2;
        eg__binding bound[] = {
            {pool[0], values}, {pool[1], values}, {pool[2], values}, {pool[3], values}};
        while (count < 40 && g->mistake.status == EG_OK) {
            eg_node made = random_operation(g, &state, pool, count);
            if (made.id && eg__node_elements(eg__node_at(g, made)) < 100000) pool[count++] = made;
            /* one mistake ends a graph; most rounds go on without it, as a user would correct it */
            if (g->mistake.status && pick(&state, 100)) {
                g->mistake.status = EG_OK;
                mistaken++;
            }
        }
        uint32_t at = count - 1;
        while (eg__node_at(g, pool[at])->scan || eg__node_at(g, pool[at])->op == EG__GRAPH_scan)
            at--;
        eg_node last = pool[at];
        const eg__node *n = eg__node_at(g, last);
        if (!g->mistake.status) {
            double *out = test_alloc(eg__node_elements(n) * sizeof *out + 8);
            eg_status status = eg__graph_evaluate(g, 4, bound, 1, &last, &out, false, 0, &error);
            CHECK(status == EG_OK || strstr(error.message, "no update") ||
                      strstr(error.message, "depends on itself"),
                  "round %d: %s", round, error.message);
            evaluated += status == EG_OK;
            free(out);
        }
        eg_graph_destroy(g);
    }
    CHECK(evaluated > rounds / 20 && mistaken > rounds, "%d evaluated, %d mistakes", evaluated,
          mistaken);
    eg__memory_destroy(memory);
}

/* What was found out about a list of synapses is kept with it: an operation for which its ends are
 * out of range is refused all the same. */
TEST(graph, synapses_of_one_list) {
    static const struct {
        uint64_t sources, targets;
        const char *mistake;
    } rows[] = {{6, 3, NULL},
                {5, 3, "synapse 2 has source 5 and target 0, out of range"},
                {6, 2, "synapse 1 has source 1 and target 2, out of range"},
                {6, 4, NULL},
                {7, 3, NULL}};
    int32_t ends[] = {eg__synapse_ends(0, 1), eg__synapse_ends(1, 2), eg__synapse_ends(5, 0),
                      EG__NO_SYNAPSE | 4};
    for (int kept = 0; kept < 2; kept++) {
        eg__memory *memory = memory_new();
        eg_graph *g;
        eg_error error;
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        eg_node p = eg_input(g, "p", EG_F32, 1, S(4)), list = {0};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            if (!kept || !list.id) list = eg_constant(g, &(eg_tensor){EG_I32, 1, {4}, ends});
            char name[8];
            snprintf(name, sizeof name, "v%zu", r);
            eg_node v = eg_input(g, name, EG_F32, 2, S(2, rows[r].sources));
            eg__synapses(g, &(eg_synapse_nodes){v, p, p, p, p, {0}, {0}}, list, rows[r].targets);
            if (rows[r].mistake)
                CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, rows[r].mistake);
            else CHECK_OK(eg_graph_check(g, &error), error);
            eg_graph_forgive(g);
        }
        eg_graph_destroy(g);
        eg__memory_destroy(memory);
    }
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    (void)user;
    eg__memory *memory;
    eg__memory_options options = {.allocator = *allocator};
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_graph *g = NULL;
    status = eg__graph_new(memory, &g, error);
    if (!status) {
        eg_node x = eg_parameter(g, "x", 2, S(3, 4)), scan = eg_scan(g, 3, 0);
        eg_node c = eg_scan_carry(g, scan, eg_slice(g, x, 0, 0, 1));
        eg_scan_update(g, c, eg_tanh(g, eg_mul(g, c, eg_scalar(g, 2))));
        eg_node loss = eg_sum(g, eg_scan_last(g, c), EG_ALL_AXES, 0), d = {0};
        status = eg_gradient(g, loss, 1, &x, &d, error);
        double values[12] = {0.5}, out[12], *place = out;
        eg__binding bound = {x, values};
        if (!status) status = eg__graph_evaluate(g, 1, &bound, 1, &d, &place, true, 1, error);
    }
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
    return status;
}

TEST(graph, every_allocation_can_fail) {
    int failed = test_every_allocation(attempt, NULL);
    CHECK(failed > 20, "only %d allocations", failed);
}
