/* Small graphs that use every operation. */
#include "graph_rules.h"
#include "test.h"

#include <math.h>

#define UNARY(name) \
    static eg_node unary_##name(eg_graph *g, const eg_node *x) { return eg_##name(g, x[0]); }
EG_UNARY_MAP(UNARY)
#undef UNARY
#define BINARY(name) \
    static eg_node binary_##name(eg_graph *g, const eg_node *x) { return eg_##name(g, x[0], x[1]); }
EG_BINARY_MAP(BINARY)
#undef BINARY

static eg_node build_reshape(eg_graph *g, const eg_node *x) {
    return eg_reshape(g, x[0], 2, (uint64_t[]){4, 6});
}
static eg_node build_transpose(eg_graph *g, const eg_node *x) {
    return eg_mul(g, eg_transpose(g, x[0], (unsigned[]){2, 0, 1}), x[1]);
}
static eg_node build_slice(eg_graph *g, const eg_node *x) { return eg_slice(g, x[0], 1, 1, 2); }
static eg_node build_pad(eg_graph *g, const eg_node *x) {
    return eg_tanh(g, eg_pad(g, x[0], 1, 2, 1, 0.5));
}
static eg_node build_concat(eg_graph *g, const eg_node *x) {
    eg_node parts[] = {x[0], x[1], x[0]};
    return eg_sin(g, eg_concat(g, 1, 3, parts));
}
static eg_node build_broadcast(eg_graph *g, const eg_node *x) {
    return eg_exp(g, eg_broadcast(g, x[0], 3, (uint64_t[]){2, 3, 4}));
}
static eg_node index_constant(eg_graph *g) {
    static const int32_t rows[] = {2, 0, 2, 4, 1, 2};
    eg_tensor tensor = {EG_I32, 2, {2, 3}, (void *)rows};
    return eg_constant(g, &tensor);
}
static eg_node build_gather(eg_graph *g, const eg_node *x) {
    return eg_tanh(g, eg_gather(g, x[0], index_constant(g)));
}
static eg_node build_scatter(eg_graph *g, const eg_node *x) {
    return eg_tanh(g, eg_scatter_add(g, x[0], index_constant(g), 5));
}
static eg_node build_select(eg_graph *g, const eg_node *x) {
    return eg_select(g, eg_lt(g, x[0], x[1]), eg_exp(g, x[0]), eg_sin(g, x[2]));
}
static eg_node build_sum(eg_graph *g, const eg_node *x) { return eg_exp(g, eg_sum(g, x[0], 2, 0)); }
static eg_node build_sum_kept(eg_graph *g, const eg_node *x) {
    return eg_mul(g, x[0], eg_sum(g, eg_exp(g, x[0]), 5, 1));
}
static eg_node build_mean(eg_graph *g, const eg_node *x) {
    return eg_exp(g, eg_mean(g, x[0], EG_ALL_AXES, 0));
}
static eg_node build_largest(eg_graph *g, const eg_node *x) {
    return eg_exp(g, eg_reduce_max(g, x[0], 4, 0));
}
static eg_node build_matmul(eg_graph *g, const eg_node *x) { return eg_matmul(g, x[0], x[1]); }
static eg_node build_matmul_ta(eg_graph *g, const eg_node *x) {
    return eg_matmul_transposed(g, x[0], 1, x[1], 0);
}
static eg_node build_matmul_tb(eg_graph *g, const eg_node *x) {
    return eg_matmul_transposed(g, x[0], 0, x[1], 1);
}
static eg_node build_matmul_both(eg_graph *g, const eg_node *x) {
    return eg_matmul_transposed(g, x[0], 1, x[1], 1);
}
static eg_node build_softmax(eg_graph *g, const eg_node *x) { return eg_softmax(g, x[0]); }
static eg_node build_log_softmax(eg_graph *g, const eg_node *x) { return eg_log_softmax(g, x[0]); }
static eg_node build_layer_norm(eg_graph *g, const eg_node *x) {
    return eg_layer_norm(g, x[0], 1e-5);
}
static eg_node build_rms_norm(eg_graph *g, const eg_node *x) { return eg_rms_norm(g, x[0], 1e-5); }
static eg_node build_dropout(eg_graph *g, const eg_node *x) {
    return eg_dropout(g, eg_exp(g, x[0]), 0.4);
}
static eg_node build_update(eg_graph *g, const eg_node *x) {
    eg_node state = eg_state(g, "state", 2, (uint64_t[]){3, 4});
    return eg_mul(g, eg_update(g, state, eg_sin(g, x[0])), x[0]);
}
static eg_node build_place(eg_graph *g, const eg_node *x) {
    const int32_t row = 2;
    eg_node at = eg_constant(g, &(eg_tensor){EG_I32, 0, {0}, (void *)&row});
    eg_node placed = eg_slice_update(g, eg_sin(g, x[0]), at, x[1]);
    return eg_mul(g, eg_slice_at(g, placed, at, 3), eg_slice_at(g, x[0], at, 3));
}
/* three targets, seven synapses of which one is padding, as a plain list */
static eg_node build_synapses(eg_graph *g, const eg_node *x) {
    static const int32_t ends[2][7] = {{0, 1, 2, 3, 0, 2, 0}, {0, 0, 1, 2, 2, 2, -1}};
    const eg_tensor source = {EG_I32, 1, {7}, (void *)ends[0]};
    const eg_tensor target = {EG_I32, 1, {7}, (void *)ends[1]};
    const eg_node parameters[] = {eg_reshape(g, eg_slice(g, x[1], 0, 0, 1), 1, (uint64_t[]){7}),
                                  eg_reshape(g, eg_slice(g, x[1], 0, 1, 1), 1, (uint64_t[]){7}),
                                  eg_reshape(g, eg_slice(g, x[1], 0, 2, 1), 1, (uint64_t[]){7}),
                                  eg_reshape(g, eg_slice(g, x[1], 0, 3, 1), 1, (uint64_t[]){7})};
    const eg_synapse_nodes nodes = {
        x[0],          parameters[0],           parameters[1],          parameters[2],
        parameters[3], eg_constant(g, &source), eg_constant(g, &target)};
    return eg_synapses(g, &nodes, 3);
}
/* the same inside a scan: a cell of three neurons and one input */
static eg_node scan_synapses(eg_graph *g, const eg_node *x) {
    eg_node scan = eg_scan(g, 5, 0), h = eg_scan_carry(g, scan, x[1]);
    eg_node both[] = {h, eg_scan_step(g, scan, x[0])};
    eg_node sums = build_synapses(g, (eg_node[]){eg_concat(g, 1, 2, both), x[2]});
    eg_node current = eg_slice(g, sums, 1, 0, 3), conductance = eg_slice(g, sums, 1, 3, 3);
    eg_scan_update(g, h, eg_div(g, current, eg_add(g, conductance, eg_scalar(g, 3))));
    eg_node senses = build_synapses(
        g, (eg_node[]){eg_concat(g, 1, 2, (eg_node[]){eg_tanh(g, both[1]), x[3]}), x[2]});
    return eg_add(g, eg_scan_last(g, h),
                  eg_sum(g, eg_scan_stack(g, scan, eg_slice(g, senses, 1, 2, 3)), 1, 0));
}
/* ---- attention: heads that share keys, masks, lengths, windows, a query that sees nothing */
static eg_node build_attention(eg_graph *g, const eg_node *x) {
    const eg_attention_options o = {.heads = 4, .kv_heads = 2, .causal = 1};
    return eg_attention(g, &o, x[0], x[1], x[2], (eg_node){0}, (eg_node){0});
}
static eg_node build_attention_mask(eg_graph *g, const eg_node *x) {
    static const float hides[2][4] = {{0.5f, -1, 0.25f, -INFINITY}, {0, 1, -0.5f, 0.75f}};
    static const int32_t lengths[] = {4, 2};
    const eg_attention_options o = {.heads = 2, .kv_heads = 1, .scale = 0.7, .dropout = 0.3};
    return eg_attention(g, &o, x[0], x[1], x[2],
                        eg_constant(g, &(eg_tensor){EG_F32, 3, {2, 1, 4}, (void *)hides}),
                        eg_constant(g, &(eg_tensor){EG_I32, 1, {2}, (void *)lengths}));
}
static eg_node build_attention_window(eg_graph *g, const eg_node *x) {
    static const float lengths[] = {4, 1};
    const eg_attention_options o = {.heads = 2, .window = 2};
    return eg_attention(g, &o, x[0], x[1], eg_tanh(g, x[1]), (eg_node){0},
                        eg_constant(g, &(eg_tensor){EG_F32, 1, {2}, (void *)lengths}));
}
/* a body that looks at all rows of its state */
static eg_node scan_attention(eg_graph *g, const eg_node *x) {
    const eg_attention_options o = {.heads = 2, .causal = 1, .dropout = 0.25};
    eg_node scan = eg_scan(g, 5, 0), h = eg_scan_carry(g, scan, x[1]);
    eg_node in = eg_scan_step(g, scan, x[0]);
    eg_node seen = eg_attention(g, &o, eg_mul(g, in, h), h, in, (eg_node){0}, (eg_node){0});
    eg_scan_update(g, h, eg_tanh(g, eg_add(g, seen, h)));
    return eg_add(g, eg_scan_last(g, h), eg_sum(g, eg_scan_stack(g, scan, seen), 1, 0));
}
static eg_node build_rotary(eg_graph *g, const eg_node *x) {
    static const int32_t positions[] = {3, 0, 40};
    const eg_rotary_options o = {.d = 4};
    return eg_rotary(g, &o, x[0], eg_constant(g, &(eg_tensor){EG_I32, 1, {3}, (void *)positions}));
}
static eg_node build_rotary_pairs(eg_graph *g, const eg_node *x) {
    static const int32_t first = 7;
    const eg_rotary_options o = {.d = 6, .base = 50, .interleaved = 1};
    eg_node at = eg_constant(g, &(eg_tensor){EG_I32, 0, {0}, (void *)&first});
    return eg_mul(g, eg_rotary(g, &o, x[0], at), eg_rotary(g, &o, x[0], (eg_node){0}));
}
static eg_node build_again(eg_graph *g, const eg_node *x) {
    eg_node y = eg_tanh(g, x[0]);
    return eg_mul(g, y, eg_tanh(g, eg__barrier(g, x[0], eg_exp(g, y))));
}
/* inside a scan, of what is inside and of what is outside */
static eg_node scan_again(eg_graph *g, const eg_node *x) {
    eg_node scan = eg_scan(g, 5, 0), h = eg_scan_carry(g, scan, x[1]);
    eg_node in = eg_scan_step(g, scan, x[0]), late = eg_sin(g, in);
    eg_node y = eg_mul(g, eg__barrier(g, h, late), eg__barrier(g, x[1], in));
    eg_scan_update(g, h, eg__barrier(g, eg_tanh(g, eg_add(g, y, late)), h));
    return eg_add(g, eg_scan_stack(g, scan, eg__barrier(g, late, y)), eg_scan_last(g, h));
}

/* ---- convolutions: of sequences and images, strided, padded, dilated, in groups, of single channels */
static eg_node build_conv(eg_graph *g, const eg_node *x) { return eg_conv(g, NULL, x[0], x[1]); }
static eg_node build_conv_strided(eg_graph *g, const eg_node *x) {
    const eg_conv_options o = {
        .stride = {2}, .before = {2}, .after = {1}, .dilation = {2}, .groups = 2};
    return eg_tanh(g, eg_conv(g, &o, x[0], eg_sin(g, x[1])));
}
static eg_node build_conv_image(eg_graph *g, const eg_node *x) {
    const eg_conv_options o = {
        .stride = {2, 3}, .before = {1, 4}, .after = {0, 2}, .dilation = {1, 2}};
    return eg_mul(g, eg_conv(g, &o, x[0], x[1]), x[2]);
}
static eg_node build_conv_cropped(eg_graph *g,
                                  const eg_node *x) { /* the last column meets nothing */
    const eg_conv_options o = {.stride = {2, 2}, .groups = 2};
    return eg_add(g, eg_conv(g, &o, x[0], x[1]), x[2]);
}
static eg_node build_conv_depthwise(eg_graph *g, const eg_node *x) {
    const eg_conv_options o = {
        .stride = {1, 2}, .before = {1, 2}, .after = {1, 1}, .dilation = {2, 1}, .groups = 3};
    return eg_conv(g, &o, x[0], x[1]);
}
/* filters of all steps are the same: one convolution before the scan */
static eg_node scan_conv(eg_graph *g, const eg_node *x) {
    const eg_conv_options o = {.before = {1}, .after = {1}};
    eg_node scan = eg_scan(g, 5, 0), h = eg_scan_carry(g, scan, x[1]);
    eg_node in = eg_conv(g, &o, eg_scan_step(g, scan, x[0]), x[2]);
    eg_scan_update(g, h, eg_tanh(g, eg_add(g, in, eg_conv(g, &o, h, x[3]))));
    return eg_add(g, eg_scan_last(g, h), eg_sum(g, eg_scan_stack(g, scan, h), 1, 0));
}
/* x used twice, and through two paths */
static eg_node build_shared(eg_graph *g, const eg_node *x) {
    eg_node y = eg_tanh(g, eg_add(g, x[0], x[1]));
    return eg_add(g, eg_mul(g, y, x[0]), eg_mul(g, y, y));
}

/* ---- scans: sequence [5,2,3], state [2,4], weights */
static eg_node rnn(eg_graph *g, const eg_node *x, int reverse, int output) {
    eg_node scan = eg_scan(g, 5, reverse), h = eg_scan_carry(g, scan, x[1]);
    eg_node in = eg_scan_step(g, scan, x[0]);
    eg_node z = eg_add(g, eg_matmul(g, in, x[2]), eg_matmul(g, h, x[3]));
    eg_node next = eg_tanh(g, z);
    eg_scan_update(g, h, next);
    switch (output) {
    case 0: return eg_scan_stack(g, scan, next);
    case 1: return eg_scan_last(g, h);
    case 2: return eg_scan_sum(g, scan, eg_mul(g, next, h));
    default: {
        eg_node stack = eg_scan_stack(g, scan, eg_softmax(g, z));
        eg_node dropped = eg_scan_stack(g, scan, eg_dropout(g, eg_mul(g, h, next), 0.3));
        return eg_add(g, eg_mul(g, stack, dropped), eg_scan_last(g, h));
    }
    }
}
static eg_node scan_stack(eg_graph *g, const eg_node *x) { return rnn(g, x, 0, 0); }
static eg_node scan_last(eg_graph *g, const eg_node *x) { return rnn(g, x, 0, 1); }
static eg_node scan_sum(eg_graph *g, const eg_node *x) { return rnn(g, x, 0, 2); }
static eg_node scan_mixed(eg_graph *g, const eg_node *x) { return rnn(g, x, 0, 3); }
static eg_node scan_reverse(eg_graph *g, const eg_node *x) { return rnn(g, x, 1, 3); }
/* two carries that change places, and a second scan over the first one's output */
static eg_node scan_two(eg_graph *g, const eg_node *x) {
    eg_node scan = eg_scan(g, 5, 0);
    eg_node a = eg_scan_carry(g, scan, x[1]), b = eg_scan_carry(g, scan, eg_sin(g, x[1]));
    eg_node in = eg_matmul(g, eg_scan_step(g, scan, x[0]), x[2]);
    eg_scan_update(g, a, b);
    eg_scan_update(g, b, eg_tanh(g, eg_add(g, in, eg_mul(g, a, a))));
    eg_node stack = eg_scan_stack(g, scan, eg_mul(g, a, b));
    eg_node second = eg_scan(g, 5, 1), c = eg_scan_carry(g, second, eg_scan_last(g, a));
    eg_node value = eg_matmul(g, eg_add(g, c, eg_scan_step(g, second, stack)), x[3]);
    eg_scan_update(g, c, eg_sigmoid(g, value));
    return eg_add(g, eg_scan_last(g, c), eg_scan_sum(g, second, value));
}

#define V(rank, ...)          \
    {                         \
        rank, { __VA_ARGS__ } \
    }
#define RNN V(3, 5, 2, 3), V(2, 2, 4), V(2, 3, 4), V(2, 4, 4)
const graph_rule graph_rules[] = {
#define UNARY(name) {#name, unary_##name, 1, {V(2, 3, 4)}, 0.2, 2.5},
    EG_UNARY_MAP(UNARY)
#undef UNARY
#define UNARY(name) {#name " of both signs", unary_##name, 1, {V(2, 3, 4)}, -2.5, 2.5},
        UNARY(neg) UNARY(abs) UNARY(tanh) UNARY(sigmoid) UNARY(softplus) UNARY(erf) UNARY(gelu)
            UNARY(silu) UNARY(relu) UNARY(sin) UNARY(cos)
#undef UNARY
#define BINARY(name)                                                                        \
    {#name, binary_##name, 2, {V(2, 3, 4), V(2, 3, 4)}, 0.2, 2.5},                          \
        {#name " broadcast", binary_##name, 2, {V(3, 2, 3, 4), V(2, 1, 4)}, 0.2, 2.5},      \
        {#name " both broadcast", binary_##name, 2, {V(3, 2, 1, 4), V(2, 3, 1)}, 0.2, 2.5}, \
        {#name " scalar", binary_##name, 2, {V(0, 0), V(2, 3, 1)}, 0.2, 2.5},
                EG_BINARY_MAP(BINARY)
#undef BINARY
                    {"reshape", build_reshape, 1, {V(3, 2, 3, 4)}, -1, 1},
    {"transpose", build_transpose, 2, {V(3, 2, 3, 4), V(3, 4, 2, 3)}, -1, 1},
    {"slice", build_slice, 1, {V(3, 2, 4, 3)}, -1, 1},
    {"pad", build_pad, 1, {V(3, 2, 2, 3)}, -1, 1},
    {"concat", build_concat, 2, {V(3, 2, 2, 3), V(3, 2, 1, 3)}, -1, 1},
    {"broadcast", build_broadcast, 1, {V(2, 3, 1)}, -1, 1},
    {"gather", build_gather, 1, {V(2, 5, 3)}, -1, 1},
    {"scatter", build_scatter, 1, {V(3, 2, 3, 2)}, -1, 1},
    {"select", build_select, 3, {V(2, 3, 4), V(1, 4), V(2, 3, 1)}, -1, 1},
    {"sum", build_sum, 1, {V(3, 2, 3, 4)}, -1, 1},
    {"sum kept", build_sum_kept, 1, {V(3, 2, 3, 4)}, -1, 1},
    {"mean", build_mean, 1, {V(3, 2, 3, 4)}, -1, 1},
    {"largest", build_largest, 1, {V(3, 2, 3, 4)}, -1, 1},
    {"matmul", build_matmul, 2, {V(2, 3, 4), V(2, 4, 2)}, -1, 1},
    {"matmul batched", build_matmul, 2, {V(4, 2, 1, 3, 4), V(3, 3, 4, 2)}, -1, 1},
    {"matmul shared right", build_matmul, 2, {V(3, 5, 3, 4), V(2, 4, 2)}, -1, 1},
    {"matmul a'", build_matmul_ta, 2, {V(3, 2, 4, 3), V(2, 4, 2)}, -1, 1},
    {"matmul b'", build_matmul_tb, 2, {V(2, 3, 4), V(3, 2, 2, 4)}, -1, 1},
    {"matmul a'b'", build_matmul_both, 2, {V(2, 4, 3), V(2, 2, 4)}, -1, 1},
    {"softmax", build_softmax, 1, {V(2, 3, 5)}, -2, 2},
    {"log softmax", build_log_softmax, 1, {V(2, 3, 5)}, -2, 2},
    {"layer norm", build_layer_norm, 1, {V(2, 3, 5)}, -2, 2},
    {"rms norm", build_rms_norm, 1, {V(2, 3, 5)}, -2, 2},
    {"dropout", build_dropout, 1, {V(2, 5, 8)}, -1, 1},
    {"update", build_update, 1, {V(2, 3, 4)}, -1, 1},
    {"again", build_again, 1, {V(2, 3, 4)}, -1, 1},
    {"shared", build_shared, 2, {V(2, 3, 4), V(1, 4)}, -1, 1},
    {"place and take", build_place, 2, {V(2, 6, 3), V(2, 2, 3)}, -1, 1},
    {"synapses", build_synapses, 2, {V(3, 2, 3, 4), V(2, 4, 7)}, -1, 1},
    {"scan synapses", scan_synapses, 4, {V(3, 5, 4, 1), V(2, 4, 3), V(2, 4, 7), V(2, 4, 3)}, -1, 1},
    {"attention", build_attention, 3, {V(3, 2, 3, 12), V(3, 2, 4, 6), V(3, 2, 4, 4)}, -1, 1},
    {"attention mask",
     build_attention_mask,
     3,
     {V(3, 2, 3, 4), V(3, 2, 4, 2), V(3, 2, 4, 3)},
     -1,
     1},
    {"attention window", build_attention_window, 2, {V(3, 2, 3, 4), V(3, 2, 4, 4)}, -1, 1},
    {"scan attention", scan_attention, 2, {V(4, 5, 2, 3, 4), V(3, 2, 3, 4)}, -1, 1},
    {"rotary", build_rotary, 1, {V(3, 2, 3, 8)}, -1, 1},
    {"rotary pairs", build_rotary_pairs, 1, {V(3, 2, 3, 6)}, -1, 1},
    {"scan again", scan_again, 2, {V(3, 5, 2, 3), V(2, 2, 3)}, -1, 1},
    {"conv", build_conv, 2, {V(3, 2, 3, 7), V(3, 4, 3, 3)}, -1, 1},
    {"conv of single elements", build_conv, 2, {V(4, 2, 3, 2, 3), V(4, 5, 3, 1, 1)}, -1, 1},
    {"conv strided", build_conv_strided, 2, {V(3, 2, 4, 9), V(3, 6, 2, 3)}, -1, 1},
    {"conv image", build_conv_image, 3, {V(4, 2, 2, 6, 5), V(4, 3, 2, 3, 2), V(3, 3, 1, 1)}, -1, 1},
    {"conv cropped",
     build_conv_cropped,
     3,
     {V(4, 1, 4, 5, 6), V(4, 2, 2, 3, 3), V(3, 2, 1, 1)},
     -1,
     1},
    {"conv depthwise", build_conv_depthwise, 2, {V(4, 2, 3, 5, 6), V(4, 6, 1, 3, 3)}, -1, 1},
    {"conv depthwise sequence", build_conv_depthwise, 2, {V(3, 2, 3, 11), V(3, 3, 1, 4)}, -1, 1},
    {"scan conv",
     scan_conv,
     4,
     {V(4, 5, 2, 2, 6), V(3, 2, 3, 6), V(3, 3, 2, 3), V(3, 3, 3, 3)},
     -1,
     1},
    {"scan stack", scan_stack, 4, {RNN}, -1, 1},
    {"scan last", scan_last, 4, {RNN}, -1, 1},
    {"scan sum", scan_sum, 4, {RNN}, -1, 1},
    {"scan mixed", scan_mixed, 4, {RNN}, -1, 1},
    {"scan reverse", scan_reverse, 4, {RNN}, -1, 1},
    {"scan two", scan_two, 4, {RNN}, -1, 1},
};

const size_t graph_rule_count = sizeof graph_rules / sizeof *graph_rules;

eg_node weighted_loss(eg_graph *g, eg_node y) {
    static float weights[4096];
    const eg__node n = *eg__node_at(g, y);
    uint64_t state = 99;
    for (uint64_t i = 0; i < eg__node_elements(&n); i++) weights[i] = test_random(&state);
    eg_tensor tensor = {.type = EG_F32, .rank = n.rank, .data = weights};
    memcpy(tensor.shape, n.shape, sizeof tensor.shape);
    return eg_sum(g, eg_mul(g, y, eg_constant(g, &tensor)), EG_ALL_AXES, 0);
}
