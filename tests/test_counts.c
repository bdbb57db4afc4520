/* FLOPs and bytes of every operation, alone and compiled, counted by hand. */
#include "test.h"
#include "elegans/elegans.h"
#include "graph/graph.h"

AREA(counts, "FLOPs and bytes of every operation are what a hand counts")

/* ---- operations. A is 4 x 6, B 6 x 5, three rows of an index; sequences have 5 steps of 2 x 3. */
enum { T = 5, SYNAPSES = 7, SAMPLES = 4, SOURCES = 4, TARGETS = 3 };

typedef struct leaves {
    eg_node a, b, c, row, index, at, three, sequence, initial;
} leaves;

static eg_node make_input(eg_graph *g, const leaves *x) {
    (void)g;
    return x->a;
}
static eg_node make_parameter(eg_graph *g, const leaves *x) {
    (void)x;
    return eg_parameter(g, "w", 2, (uint64_t[]){4, 6});
}
static eg_node make_widen(eg_graph *g, const leaves *x) {
    const eg_quantization half = {.type = EG_F16};
    (void)x;
    return eg_parameter_quantized(g, "w", &half, 2, (uint64_t[]){4, 6});
}
static eg_node make_constant(eg_graph *g, const leaves *x) {
    (void)x;
    return eg_scalar(g, 1);
}
static eg_node make_state(eg_graph *g, const leaves *x) {
    (void)x;
    return eg_state(g, "h", 2, (uint64_t[]){4, 6});
}
static eg_node make_update(eg_graph *g, const leaves *x) {
    return eg_update(g, make_state(g, x), x->a);
}
static eg_node make_reshape(eg_graph *g, const leaves *x) {
    return eg_reshape(g, x->a, 1, (uint64_t[]){24});
}
static eg_node make_transpose(eg_graph *g, const leaves *x) {
    return eg_transpose(g, x->a, (unsigned[]){1, 0});
}
static eg_node make_slice(eg_graph *g, const leaves *x) { return eg_slice(g, x->a, 1, 2, 3); }
static eg_node make_concat(eg_graph *g, const leaves *x) {
    return eg_concat(g, 0, 2, (eg_node[]){x->a, x->a});
}
static eg_node make_broadcast(eg_graph *g, const leaves *x) {
    return eg_broadcast(g, x->row, 2, (uint64_t[]){4, 6});
}
static eg_node make_pad(eg_graph *g, const leaves *x) { return eg_pad(g, x->a, 1, 1, 1, 0); }
static eg_node make_gather(eg_graph *g, const leaves *x) { return eg_gather(g, x->a, x->index); }
static eg_node make_scatter(eg_graph *g, const leaves *x) {
    return eg_scatter_add(g, x->three, x->index, 4);
}
static eg_node make_place(eg_graph *g, const leaves *x) {
    return eg_slice_update(g, x->a, x->at, x->three);
}
static eg_node make_take(eg_graph *g, const leaves *x) { return eg_slice_at(g, x->a, x->at, 3); }
static eg_node make_unary(eg_graph *g, const leaves *x) { return eg_tanh(g, x->a); }
static eg_node make_binary(eg_graph *g, const leaves *x) { return eg_mul(g, x->a, x->row); }
static eg_node make_select(eg_graph *g, const leaves *x) {
    return eg_select(g, x->c, x->a, x->row);
}
static eg_node make_dropout(eg_graph *g, const leaves *x) { return eg_dropout(g, x->a, 0.5); }
static eg_node make_reduce(eg_graph *g, const leaves *x) { return eg_sum(g, x->a, 2, 0); }
static eg_node make_columns(eg_graph *g, const leaves *x) { return eg_mean(g, x->a, 1, 0); }
static eg_node make_largest(eg_graph *g, const leaves *x) {
    return eg_reduce_max(g, x->a, EG_ALL_AXES, 0);
}
static eg_node make_argmax(eg_graph *g, const leaves *x) { return eg_argmax(g, x->a); }
static eg_node make_matmul(eg_graph *g, const leaves *x) { return eg_matmul(g, x->a, x->b); }
static eg_node make_cast(eg_graph *g, const leaves *x) { return eg_cast(g, x->a, EG_F16); }
static eg_node make_softmax(eg_graph *g, const leaves *x) { return eg_softmax(g, x->a); }
static eg_node make_log_softmax(eg_graph *g, const leaves *x) { return eg_log_softmax(g, x->a); }
static eg_node make_layer_norm(eg_graph *g, const leaves *x) {
    return eg_layer_norm(g, x->a, 1e-5);
}
static eg_node make_rms_norm(eg_graph *g, const leaves *x) { return eg_rms_norm(g, x->a, 1e-5); }
static eg_node make_sum_squares(eg_graph *g, const leaves *x) { return eg_sum_squares(g, x->a); }

static eg_node make_synapses(eg_graph *g, const leaves *x) {
    static const int32_t from[SYNAPSES] = {0, 1, 2, 3, 0, 2, 1},
                         to[SYNAPSES] = {0, 0, 1, 2, 2, 2, 1};
    const uint64_t count = SYNAPSES;
    (void)x;
    const eg_synapse_nodes nodes = {
        eg_input(g, "v", EG_F32, 2, (uint64_t[]){SAMPLES, SOURCES}),
        eg_parameter(g, "weight", 1, &count),
        eg_parameter(g, "middle", 1, &count),
        eg_parameter(g, "slope", 1, &count),
        eg_parameter(g, "reversal", 1, &count),
        eg_constant(g, &(eg_tensor){EG_I32, 1, {SYNAPSES}, (void *)from}),
        eg_constant(g, &(eg_tensor){EG_I32, 1, {SYNAPSES}, (void *)to})};
    return eg_synapses(g, &nodes, TARGETS);
}
/* The node that the gradient with respect to an input of the synapses is made of. */
static eg_node make_back(eg_graph *g, const leaves *x, unsigned input, eg__op_id op) {
    const eg_node y = make_synapses(g, x);
    const eg_node loss = eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0);
    eg_node gradient, found = {0};
    eg_error error;
    const eg_node wrt = eg__node_input(g, eg__node_at(g, y), input);
    CHECK_OK(eg_gradient(g, loss, 1, &wrt, &gradient, &error), error);
    for (uint32_t id = 1; id <= eg_graph_size(g); id++)
        if (eg__node_at(g, (eg_node){id})->op == op) found.id = id;
    return found;
}
static eg_node make_synapses_dv(eg_graph *g, const leaves *x) {
    return make_back(g, x, 0, EG__GRAPH_synapses_dv);
}
static eg_node make_synapses_dp(eg_graph *g, const leaves *x) {
    return make_back(g, x, 1, EG__GRAPH_synapses_dp);
}

/* h = tanh(h + x), five times. */
typedef struct loop {
    eg_node scan, step, carry, next;
} loop;
static loop make_loop(eg_graph *g, const leaves *x) {
    loop l = {.scan = eg_scan(g, T, 0)};
    l.carry = eg_scan_carry(g, l.scan, x->initial);
    l.step = eg_scan_step(g, l.scan, x->sequence);
    l.next = eg_tanh(g, eg_add(g, l.carry, l.step));
    eg_scan_update(g, l.carry, l.next);
    return l;
}
static eg_node make_scan(eg_graph *g, const leaves *x) { return make_loop(g, x).scan; }
static eg_node make_carry(eg_graph *g, const leaves *x) { return make_loop(g, x).carry; }
static eg_node make_step(eg_graph *g, const leaves *x) { return make_loop(g, x).step; }
static eg_node make_stack(eg_graph *g, const leaves *x) {
    const loop l = make_loop(g, x);
    return eg_scan_stack(g, l.scan, l.next);
}
static eg_node make_total(eg_graph *g, const leaves *x) {
    const loop l = make_loop(g, x);
    return eg_scan_sum(g, l.scan, l.next);
}
static eg_node make_last(eg_graph *g, const leaves *x) {
    return eg_scan_last(g, make_loop(g, x).carry);
}

/* T samples of two rows of three columns, one head that looks back: three pairs of each sample */
static eg_node make_attention(eg_graph *g, const leaves *x) {
    const eg_attention_options o = {.heads = 1, .causal = 1};
    const eg_node q = x->sequence, none = {0}, y = eg_attention(g, &o, q, q, q, none, none);
    return eg__node_input(g, eg__node_at(g, y), 0); /* y is a slice of it */
}
static eg_node make_attention_back(eg_graph *g, const leaves *x, eg__op_id op) {
    const eg_node y = make_attention(g, x), q = x->sequence, inputs[] = {q, q, q, y, y};
    const eg__attributes attributes = eg__node_at(g, y)->attributes;
    return eg__graph_add(g, op, 0, 5, inputs, &attributes, NULL);
}
static eg_node make_attention_dq(eg_graph *g, const leaves *x) {
    return make_attention_back(g, x, EG__GRAPH_attention_dq);
}
static eg_node make_attention_dkv(eg_graph *g, const leaves *x) {
    return make_attention_back(g, x, EG__GRAPH_attention_dkv);
}
/* Three rows into a cache of eight, of two heads of three halves, then looked at: four keys in two pages. */
static eg_node make_cache(eg_graph *g, const leaves *x) {
    (void)x;
    return eg_cache(g, "cache", EG_F16, 8, 2, 3);
}
static eg_node make_append(eg_graph *g, const leaves *x) {
    return eg_append(g, make_cache(g, x), eg_reshape(g, x->three, 3, (uint64_t[]){1, 3, 6}),
                     eg_reshape(g, x->index, 2, (uint64_t[]){1, 3}));
}
static eg_node make_attention_cached(eg_graph *g, const leaves *x) {
    const eg_attention_options o = {.heads = 2, .causal = 1};
    const eg_node append = make_append(g, x),
                  k = eg_update(g, eg__node_input(g, eg__node_at(g, append), 0), append);
    return eg_attention_cached(g, &o, eg_reshape(g, x->three, 3, (uint64_t[]){1, 3, 6}), k, k,
                               eg_input(g, "pages", EG_I32, 2, (uint64_t[]){1, 2}),
                               eg_reshape(g, x->at, 1, (uint64_t[]){1}), 2);
}
static eg_node make_rotary(eg_graph *g, const leaves *x) {
    const eg_rotary_options o = {.d = 6};
    return eg_rotary(g, &o, eg_reshape(g, x->a, 3, (uint64_t[]){2, 2, 6}), (eg_node){0});
}

static eg_node make_again(eg_graph *g, const leaves *x) { return eg__barrier(g, x->a, x->b); }
/* T sequences of two channels and three elements, a zero before and after, and a filter of two taps: four
 * results. Depthwise: six channels of four elements with filters of three taps: two results each. */
static eg_node make_conv(eg_graph *g, const leaves *x) {
    const eg_conv_options o = {.before = {1}, .after = {1}};
    return eg_conv(g, &o, x->sequence,
                   eg_reshape(g, eg_slice(g, x->row, 0, 0, 4), 3, (uint64_t[]){1, 2, 2}));
}
static eg_node make_conv_dw(eg_graph *g, const leaves *x) {
    const eg_node y = make_conv(g, x), inputs[] = {x->sequence, y};
    eg__attributes attributes = eg__node_at(g, y)->attributes;
    attributes.conv.taps[0] = 1, attributes.conv.taps[1] = 2;
    return eg__graph_add(g, EG__GRAPH_conv_dw, 0, 2, inputs, &attributes, NULL);
}
static eg_node make_depthwise(eg_graph *g, const leaves *x) {
    const eg_conv_options o = {.groups = 6};
    return eg_conv(g, &o, eg_reshape(g, x->a, 3, (uint64_t[]){1, 6, 4}),
                   eg_reshape(g, x->three, 3, (uint64_t[]){6, 1, 3}));
}

typedef struct count_case {
    eg__op_id op;
    const char *name;
    eg_node (*make)(eg_graph *g, const leaves *x);
    double flops, numbers;         /* of one evaluation; a number read or written is 4 bytes */
    double run_flops, run_numbers; /* compiled, as the only output; NONE = it cannot be one */
    const char *kernel;            /* of these steps alone; NULL = of all */
} count_case;
#define NONE              -1, -1, NULL
#define ROW(op)           EG__GRAPH_##op, #op, make_##op
#define AS(op, make_name) EG__GRAPH_##op, #make_name, make_##make_name
static const count_case cases[] = {
    /* leaves: somebody else's numbers; an output is a copy of them */
    {ROW(input), 0, 0, 0, 24 + 24, NULL},
    {ROW(parameter), 0, 0, 0, 24 + 24, NULL},
    {ROW(constant), 0, 0, 0, 1 + 1, NULL},
    {ROW(state), 0, 0, 0, 24 + 24, NULL},
    /* numbers of 2 bytes, widened once when they are set; a run copies them */
    {ROW(widen), 0, 24 / 2 + 24, 0, 24 + 24, NULL},
    {ROW(update), 0, 24 + 24, 0, 2 * (24 + 24), NULL}, /* to the state, and to the output */
    /* movement */
    {ROW(reshape), 0, 24 + 24, 0, 24 + 24, NULL},
    {AS(barrier, again), 0, 24 + 24, 0, 24 + 24, NULL},
    {ROW(transpose), 0, 24 + 24, 0, 24 + 24, NULL},
    {ROW(slice), 0, 12 + 12, 0, 12 + 12, NULL},
    {ROW(concat), 0, 24 + 24 + 48, 0, 24 + 24 + 48, NULL},
    {ROW(broadcast), 0, 6 + 24, 0, 6 + 24, NULL},
    {ROW(pad), 0, 24 + 32, 0, 32 + (24 + 24), NULL}, /* all of it filled, then the middle copied */
    {ROW(gather), 0, 18 + 3 + 18, 0, 18 + 3 + 18, NULL},
    /* rows are zeroed; each row of x is read, added to what is read, and written */
    {ROW(scatter), 18, 18 + 3 + 24, 18, 24 + 18 + 3 + 2 * 18, NULL},
    /* of 24 rows' numbers 6 stay; compiled, all are copied and 18 of them written over */
    {AS(slice_update, place), 0, 6 + 18 + 1 + 24, 0, (24 + 24) + (18 + 1 + 18), NULL},
    {AS(slice_at, take), 0, 18 + 1 + 18, 0, 18 + 1 + 18, NULL},
    /* elementwise: one each */
    {ROW(unary), 24, 24 + 24, 24, 24 + 24, NULL},
    {ROW(binary), 24, 24 + 6 + 24, 24, 24 + 6 + 24, NULL},
    {ROW(select), 24, 24 + 24 + 6 + 24, 24, 24 + 24 + 6 + 24, NULL},
    {ROW(dropout), 24, 24 + 24, 24, 24 + 24, NULL},
    /* rows: one per number that is read */
    {ROW(reduce), 24, 24 + 4, 24, 24 + 4, NULL},
    {AS(reduce, columns), 24, 24 + 6, 24, 24 + 6, NULL},
    {AS(reduce, largest), 24, 24 + 1, 24, 24 + 1, NULL},
    {ROW(argmax), 24, 24 + 4, 24, 24 + 4, NULL},
    {ROW(cast), 0, 24 + 12, 0, 24 + 12, NULL}, /* halves are written */
    /* the largest, difference to it, exp, sum, division; of the logarithm a second difference */
    {ROW(softmax), 5 * 24, 24 + 24, 5 * 24, 24 + 24, NULL},
    {AS(softmax, log_softmax), 5 * 24, 24 + 24, 5 * 24, 24 + 24, NULL},
    /* sum, difference, square, sum, difference, product; without a mean: square, sum, product */
    {AS(norm, layer_norm), 6 * 24, 24 + 24, 6 * 24, 24 + 24, NULL},
    {AS(norm, rms_norm), 3 * 24, 24 + 24, 3 * 24, 24 + 24, NULL},
    /* square, sum */
    {ROW(sum_squares), 2 * 24, 24 + 4, 2 * 24, 24 + 4, NULL},
    /* a right side that is an input is packed by every run */
    {ROW(matmul), 2 * 4 * 5 * 6, 24 + 30 + 20, 2 * 4 * 5 * 6, (30 + 30) + (24 + 30 + 20), NULL},
    /* z = slope (v - middle), sigmoid is negate, exp, add, divide: 6; a = weight s, current += a reversal,
     * conductance += a: 4. Four parameters and the ends of each synapse */
    {ROW(synapses), 10 * SAMPLES *SYNAPSES, 16 + 5 * SYNAPSES + 24, 10 * SAMPLES *SYNAPSES,
     16 + 5 * SYNAPSES + 24, NULL},
    /* 6; k = d reversal + d': 2; k weight s (1 - s) slope: 5; add: 1 */
    {ROW(synapses_dv), 14 * SAMPLES *SYNAPSES, 16 + 5 * SYNAPSES + 24 + 16, 14 * SAMPLES *SYNAPSES,
     16 + 5 * SYNAPSES + 24 + 16, "synapses_dv"},
    /* 6; k: 2; z = k weight s (1 - s): 4; sums of k s, z slope, z (v - middle), d weight s: 2 + 2 + 2 + 3 */
    {ROW(synapses_dp), 21 * SAMPLES *SYNAPSES, 16 + 5 * SYNAPSES + 24 + 4 * SYNAPSES,
     21 * SAMPLES *SYNAPSES, 16 + 5 * SYNAPSES + 24 + 4 * SYNAPSES, "synapses_dp"},
    /* of each pair: 2 x 3 of q k and of p v; scale, the largest, difference, exp, sum: 5. q, k and v are
     * read, and a log-sum-exp is written beside three columns */
    {ROW(attention), T * 3 * (6 + 6 + 5), T *(18 + 8), T * 3 * (6 + 6 + 5), T *(18 + 8), NULL},
    /* 2 x 3 of q k, of d v, of ds k; scale, difference, exp, dp - delta, p times that: 5 */
    {ROW(attention_dq), T * 3 * (6 + 6 + 6 + 5), T *(18 + 8 + 8 + 6), T * 3 * (6 + 6 + 6 + 5),
     T *(18 + 8 + 8 + 6), "attention_dq"},
    /* the same with ds q, and p d */
    {ROW(attention_dkv), T * 3 * (6 + 6 + 6 + 6 + 5), T *(18 + 8 + 8 + 12),
     T * 3 * (6 + 6 + 6 + 6 + 5), T *(18 + 8 + 8 + 12), "attention_dkv"},
    /* as place: the rows that stay, the new ones, where; the whole is written */
    {ROW(cache), 0, 0, NONE},
    {ROW(append), 0, (48 - 18) + 18 + 3 + 48, NONE},
    /* 2 + 3 + 4 keys of each head; q, four keys and values, two pages and a length are read. Compiled, keys and
     * values have two bytes each; and a row is read as f32 and written as f16, with its slot */
    {ROW(attention_cached), 18 * 17, 18 + 2 * 24 + 2 + 1 + 18, 18 * 17, 18 + 24 + 2 + 1 + 18,
     "attention_cached"},
    {EG__GRAPH_attention_cached, "append compiled", make_attention_cached, 18 * 17,
     18 + 2 * 24 + 2 + 1 + 18, 0, 3 * (6 + 3 + 1), "append"},
    /* four products and two sums for a pair; three frequencies */
    {ROW(rotary), 6 * 12, 24 + 3 + 24, 6 * 12, 24 + 3 + 24, NULL},
    /* of each result 2 channels x 2 taps, those that meet zeros, too */
    {ROW(conv), T * 4 * 2 * (2 * 2), T * 6 + 4 + T * 4, T * 4 * 2 * (2 * 2), T * 6 + 4 + T * 4,
     NULL},
    {ROW(conv_dw), T * 4 * 2 * (2 * 2), T * 6 + T * 4 + 4, T * 4 * 2 * (2 * 2), T * 6 + T * 4 + 4,
     "conv_dw"},
    {AS(conv, depthwise), 6 * 2 * 2 * 3, 24 + 18 + 12, 6 * 2 * 2 * 3, 24 + 18 + 12, NULL},
    /* a loop: what is inside is counted for one step, what comes out of it for all. Compiled: the state is
     * copied once; a step reads it and the input, adds, takes tanh, writes the state (and the stack) */
    {ROW(scan), 0, 0, NONE},
    {ROW(carry), 0, 6 + 6, NONE},
    {ROW(step), 0, 6 + 6, NONE},
    {ROW(stack), 0, T *(6 + 6), T * 2 * 6, (6 + 6) + T *(6 + 6 + 6 + 6), NULL},
    {ROW(total), T * 6, T * 6 + 6, T * 3 * 6, (6 + 6) + 6 + T *((6 + 6 + 6) + (6 + 6 + 6)), NULL},
    {ROW(last), 0, 6 + 6, T * 2 * 6, (6 + 6) + T *(6 + 6 + 6), NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

static leaves make_leaves(eg_graph *g) {
    return (leaves){.a = eg_input(g, "a", EG_F32, 2, (uint64_t[]){4, 6}),
                    .b = eg_input(g, "b", EG_F32, 2, (uint64_t[]){6, 5}),
                    .c = eg_input(g, "c", EG_F32, 2, (uint64_t[]){4, 6}),
                    .row = eg_input(g, "row", EG_F32, 1, (uint64_t[]){6}),
                    .index = eg_input(g, "index", EG_I32, 1, (uint64_t[]){3}),
                    .at = eg_input(g, "at", EG_I32, 0, NULL),
                    .three = eg_input(g, "three", EG_F32, 2, (uint64_t[]){3, 6}),
                    .sequence = eg_input(g, "sequence", EG_F32, 3, (uint64_t[]){T, 2, 3}),
                    .initial = eg_input(g, "initial", EG_F32, 2, (uint64_t[]){2, 3})};
}

static void check_run(eg_context *context, const eg_graph *g, const count_case *c, eg_node node) {
    const eg_output output = {"y", node};
    const eg_compile_options options = {.training = 1};
    eg_program *program;
    eg_program_info info = {.size = sizeof info};
    eg_error error;
    CHECK_OK(eg_compile(context, g, 1, &output, &options, &program, &error), error);
    eg_program_info_get(program, &info);
    double flops = 0, bytes = 0;
    for (size_t i = 0; i < info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_program_step(program, i, &step, &error), error);
        if (c->kernel && strcmp(c->kernel, step.kernel) != 0) continue;
        flops += step.flops;
        bytes += step.bytes;
    }
    CHECK(flops == c->run_flops, "%s compiled: %g FLOPs, not %g", c->name, flops, c->run_flops);
    CHECK(bytes == 4 * c->run_numbers, "%s compiled: %g numbers, not %g", c->name, bytes / 4,
          c->run_numbers);
    CHECK(c->kernel || (flops == info.flops && bytes == info.bytes),
          "%s: steps are not the program", c->name);
    eg_program_release(program);
}

TEST(counts, operations) {
    eg_context *context;
    eg_error error;
    bool seen[EG__GRAPH_COUNT] = {false};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < CASES; i++) {
        const count_case *c = &cases[i];
        eg_graph *g;
        eg_node_info info = {.size = sizeof info};
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const leaves x = make_leaves(g);
        const eg_node node = c->make(g, &x);
        CHECK_OK(eg_graph_check(g, &error), error);
        CHECK_OK(eg_graph_node(g, node, &info, &error), error);
        CHECK(eg__node_at(g, node)->op == c->op, "%s is a %s", c->name, info.operation);
        CHECK(info.flops == c->flops, "%s: %g FLOPs, not %g", c->name, info.flops, c->flops);
        CHECK(info.bytes == 4 * c->numbers, "%s: %g numbers, not %g", c->name, info.bytes / 4,
              c->numbers);
        if (c->run_numbers >= 0) check_run(context, g, c, node);
        seen[c->op] = true;
        eg_graph_destroy(g);
    }
    /* which passes make: below */
    seen[EG__GRAPH_quantized_matmul] = seen[EG__GRAPH_infile_matmul] = true;
    seen[EG__GRAPH_infile_gather] = true;
    for (int op = 0; op < EG__GRAPH_COUNT; op++)
        CHECK(seen[op], "nobody counted '%s' by hand", eg__op_row((eg__op_id)op)->name);
    eg_context_destroy(context);
}

/* A product with numbers of 2 bytes: its right side is one panel of 16 columns. */
TEST(counts, quantized_matmul) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_step_info step = {.size = sizeof step};
    eg_error error;
    const eg_quantization half = {.type = EG_F16};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const leaves x = make_leaves(g);
    const eg_node w = eg_parameter_quantized(g, "w", &half, 2, (uint64_t[]){6, 5});
    const eg_output output = {"y", eg_matmul(g, x.a, w)};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_program_step(program, 0, &step, &error), error);
    CHECK(strcmp(step.operation, "quantized_matmul") == 0 && step.flops == 2 * 4 * 5 * 6 &&
              step.bytes == 4 * (24 + 20) + 2 * 6 * 16,
          "%s %s: %g FLOPs, %g bytes", step.operation, step.kernel, step.flops, step.bytes);
    CHECK(strncmp(step.function, "gemm_f16_", 9) == 0 && strcmp(step.function + 9, step.isa) == 0,
          "kernel '%s' of '%s'", step.function, step.isa);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Rows of blocks of int8, 34 bytes for 32 numbers: five of eight rows met by four, three of them picked. */
TEST(counts, stored) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_step_info product = {.size = sizeof product}, gather = {.size = sizeof gather};
    eg_node_info info = {.size = sizeof info};
    eg_error error;
    const eg_quantization blocks = {.type = EG_I8,
                                    .per = EG_PER_BLOCK,
                                    .block = 32,
                                    .symmetric = 1,
                                    .layout = EG_LAYOUT_BLOCKS};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4, 64});
    const eg_node index = eg_input(g, "index", EG_I32, 1, (uint64_t[]){3});
    const eg_node w = eg_input_infile(g, "w", &blocks, 2, (uint64_t[]){8, 64});
    const eg_node part = eg_slice(g, w, 0, 2, 5);
    const eg_output outputs[] = {{"y", eg_matmul_transposed(g, x, 0, part, 1)},
                                 {"z", eg_gather(g, w, index)}};
    CHECK_OK(eg_graph_node(g, w, &info, &error), error);
    CHECK(info.bytes == 8 * 68 + 4 * 8 * 64, "widen: %g bytes", info.bytes);
    CHECK_OK(eg_compile(context, g, 2, outputs, NULL, &program, &error), error);
    CHECK_OK(eg_program_step(program, 0, &product, &error), error);
    CHECK_OK(eg_program_step(program, 1, &gather, &error), error);
    CHECK(strcmp(product.operation, "infile_matmul") == 0 && product.flops == 2 * 4 * 5 * 64 &&
              product.bytes == 4 * (4 * 64 + 4 * 5) + 5 * 68 && product.rows == 4 &&
              product.columns == 5 && product.depth == 64,
          "%s %s: %g FLOPs, %g bytes", product.operation, product.kernel, product.flops,
          product.bytes);
    CHECK(strcmp(gather.operation, "infile_gather") == 0 && gather.flops == 2 * 3 * 64 &&
              gather.bytes == 3 * 68 + 4 * 3 + 4 * 3 * 64,
          "%s %s: %g FLOPs, %g bytes", gather.operation, gather.kernel, gather.flops, gather.bytes);
    eg_step_cost costs[2];
    size_t count = 0;
    CHECK_OK(eg_program_costs(program, costs, &count, &error), error);
    CHECK(count == 2 && costs[0].work == EG_WORK_GEMM && costs[0].product == 2 * 4 * 5 * 64 &&
              costs[1].work == EG_WORK_MOVE,
          "%zu costs, a product of %g", count, costs[0].product);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Functions count as one, whichever they are, and so do their gradients' parts: every name of the lists. */
TEST(counts, functions) {
    eg_context *context;
    eg_graph *g;
    eg_error error;
    eg_node_info info = {.size = sizeof info};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const leaves x = make_leaves(g);
#define UNARY(name)                                                                           \
    CHECK_OK(eg_graph_node(g, eg_##name(g, x.a), &info, &error), error);                      \
    CHECK(info.flops == 24 && info.bytes == 4 * 48, #name ": %g FLOPs, %g bytes", info.flops, \
          info.bytes);
    EG_UNARY_MAP(UNARY)
#undef UNARY
#define BINARY(name)                                                                          \
    CHECK_OK(eg_graph_node(g, eg_##name(g, x.a, x.c), &info, &error), error);                 \
    CHECK(info.flops == 24 && info.bytes == 4 * 72, #name ": %g FLOPs, %g bytes", info.flops, \
          info.bytes);
    EG_BINARY_MAP(BINARY)
#undef BINARY
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
