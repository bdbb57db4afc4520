/* Graphs as JSON: what is written reads back node for node; damage is refused by name. */
#include "graph_rules.h"
#include "test.h"
#include "formats/models/graph_json.h"
#include "graph/ops/quantized.h"

#include <math.h>

AREA(graph_json, "round trip of every operation and of gradients; damage refused")

#define S(...) \
    (uint64_t[]) { __VA_ARGS__ }

/* Every operation, a scan, and the gradient of it all. */
static eg_graph *build(eg__memory *memory) {
    eg_graph *g;
    eg_error error = {0};
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node x = eg_parameter(g, "x", 3, S(2, 3, 4)),
            w = eg_parameter(g, "w \"quoted\"", 2, S(4, 4));
    static const int32_t rows[] = {1, 0};
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.1f};
    eg_tensor index = {EG_I32, 1, {2}, (void *)rows}, strange = {EG_F32, 1, {4}, (void *)odd};
    eg_node state = eg_state(g, "state", 2, S(3, 4));
    eg_node scan = eg_scan(g, 2, 1), h = eg_scan_carry(g, scan, state);
    eg_node z = eg_matmul_transposed(g, eg_add(g, eg_scan_step(g, scan, x), h), 0, w, 1);
    eg_scan_update(g, h, eg_dropout(g, eg_tanh(g, z), 0.25));
    eg_node y = eg_scan_stack(g, scan, eg_layer_norm(g, z, 1e-5));
    y = eg_mul(g, y, eg_scan_sum(g, scan, eg_rms_norm(g, z, 1e-6)));
    y = eg_concat(g, 1, 2, (eg_node[]){y, eg_gather(g, x, eg_constant(g, &index))});
    y = eg_pad(g, eg_slice(g, y, 1, 1, 3), 2, 1, 0, 0.5);
    y = eg_add(g, eg_softmax(g, y), eg_log_softmax(g, y));
    y = eg_select(g, eg_lt(g, y, eg_reduce_max(g, y, 4, 1)), y, eg_scalar(g, 2));
    y = eg_transpose(g, eg_broadcast(g, y, 4, S(2, 2, 3, 5)), (unsigned[]){3, 0, 1, 2});
    y = eg_scatter_add(g, eg_reshape(g, y, 2, S(2, 30)), eg_constant(g, &index), 3);
    eg_node loss =
        eg_add(g, eg_sum(g, y, EG_ALL_AXES, 0), eg_mean(g, eg_scan_last(g, h), EG_ALL_AXES, 0));
    const eg_attention_options attention = {.heads = 2, .causal = 1, .window = 3, .dropout = 0.3};
    const eg_rotary_options rotary = {.d = 2};
    const eg_node none = {0};
    eg_node turned = eg_rotary(g, &rotary, x, none);
    loss = eg_add(g, loss,
                  eg_sum(g, eg_attention(g, &attention, turned, x, x, none, none), EG_ALL_AXES, 0));
    eg_node cache = eg_cache(g, "cache", EG_I8, 8, 2, 2);
    eg_node at = eg_input(g, "at", EG_I32, 2, S(2, 3)), n = eg_input(g, "n", EG_I32, 1, S(2));
    eg_node kept = eg_update(g, cache, eg_append(g, cache, x, at));
    eg_attention_cached(g, &(eg_attention_options){.heads = 2, .window = 3}, x, kept, kept, at, n,
                        2);
    const eg_conv_options conv = {.stride = {2}, .before = {3}, .after = {1}, .dilation = {2}};
    eg_node filters = eg_reshape(g, w, 3, S(2, 4, 2));
    eg_node convolved = eg_conv(g, &conv, eg_transpose(g, x, (unsigned[]){0, 2, 1}), filters);
    loss = eg_add(g, loss, eg_sum(g, eg_mul(g, convolved, convolved), EG_ALL_AXES, 0));
    eg_mul(g, eg_constant(g, &strange), w);
    static const uint16_t halves[] = {0x3c00, 0x7c00, 0x8001, 0x1234};
    eg_node narrow = eg_constant(g, &(eg_tensor){EG_BF16, 1, {4}, (void *)halves});
    eg_node typed = eg_state_typed(g, "typed", EG_BF16, 1, S(4));
    eg_node steps = eg_scan(g, 3, 0), carry = eg_scan_carry(g, steps, typed);
    eg_scan_update(g, carry, eg_cast(g, eg_tanh(g, eg_cast(g, carry, EG_F32)), EG_BF16));
    eg_update(g, typed, eg_scan_last(g, carry));
    eg_cast(g, narrow, EG_F32);
    eg_constant(g, &(eg_tensor){EG_F16, 1, {4}, (void *)halves});
    eg_argmax(g, w);
    const eg_quantization half = {.type = EG_F16}, wide = {.type = EG_F32},
                          blocks = {.type = EG_I4,
                                    .per = EG_PER_BLOCK,
                                    .block = 32,
                                    .symmetric = 1,
                                    .integers = 1,
                                    .layout = EG_LAYOUT_BLOCKS};
    eg_parameter_quantized(g, "small", &half, 2, S(3, 4));
    eg_input_infile(g, "wide", &wide, 2, S(3, 4));
    eg_node stored = eg_input_infile(g, "stored", &blocks, 2, S(3, 64));
    eg_node picked = eg__infile_gather(g, (eg_node){stored.id - 1}, eg_constant(g, &index), 1, 2);
    eg__infile_matmul(g, picked, (eg_node){stored.id - 1}, 1, 2);
    eg_update(g, state, eg_slice(g, eg_reshape(g, x, 2, S(6, 4)), 0, 0, 3));
    eg_node d[2];
    CHECK_OK(eg_gradient(g, loss, 2, (eg_node[]){x, w}, d, &error), error);
    const eg_gradient_options checkpoints = {.keep_count = 1, .keep = &y};
    CHECK_OK(eg_gradient_with(g, &checkpoints, loss, 2, (eg_node[]){x, w}, d, &error), error);
    return g;
}

TEST(graph_json, round_trip) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg_graph *g = build(memory), *back = NULL;
    char *text = NULL, *again = NULL;
    size_t length = 0, length_again = 0;
    eg_status status = eg__graph_to_json(g, &text, &length, &error);
    if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
    else {
        CHECK_OK(status, error);
        CHECK_OK(eg__graph_from_json(memory, text, length, &back, &error), error);
        if (back) {
            CHECK(back->size == g->size, "%u nodes became %u", g->size, back->size);
            CHECK_OK(eg__graph_to_json(back, &again, &length_again, &error), error);
            CHECK(length == length_again && memcmp(text, again, length) == 0, "another text");
        }
    }
    eg__memory_give(memory, text);
    eg__memory_give(memory, again);
    eg_graph_destroy(back);
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

/* Every rule and its gradient: the same nodes, and no text for what is random or zero is lost. */
TEST(graph_json, rules) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < graph_rule_count; i++) {
        const graph_rule *rule = &graph_rules[i];
        eg_graph *g, *back = NULL;
        eg_node leaf[RULE_LEAVES], d[RULE_LEAVES];
        char name[16], *text = NULL;
        size_t length = 0;
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        for (unsigned k = 0; k < rule->leaves; k++) {
            snprintf(name, sizeof name, "x%u", k);
            leaf[k] = eg_parameter(g, name, rule->leaf[k].rank, rule->leaf[k].shape);
        }
        const eg_node loss = weighted_loss(g, rule->build(g, leaf));
        CHECK_OK(eg_gradient(g, loss, rule->leaves, leaf, d, &error), error);
        eg_status status = eg__graph_to_json(g, &text, &length, &error);
        if (!status) status = eg__graph_from_json(memory, text, length, &back, &error);
        if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
        else CHECK_OK(status, error);
        CHECK(status || back->size == g->size, "%s: %u nodes became %u", rule->name, g->size,
              back->size);
        for (uint32_t k = 1; !status && k <= g->size; k++)
            CHECK(g->nodes[k].op == back->nodes[k].op && g->nodes[k].kind == back->nodes[k].kind &&
                      g->nodes[k].next == back->nodes[k].next &&
                      eg__attributes_equal(g->nodes[k].op, &g->nodes[k].attributes,
                                           &back->nodes[k].attributes),
                  "%s: node %u, '%s', is another one", rule->name, k,
                  eg__node_operation(&g->nodes[k]));
        eg__memory_give(memory, text);
        eg_graph_destroy(back);
        eg_graph_destroy(g);
        if (status) break;
    }
    eg__memory_destroy(memory);
}

/* Attributes of the first version have no names; those of some operations were packed. */
TEST(graph_json, version_1) {
    static const char text[] =
        "{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"input\", \"name\": \"x\", \"type\": \"f32\", "
        "\"shape\": [2, 3, 4]}, {\"op\": \"input\", \"name\": \"w\", \"type\": \"f32\", \"shape\": "
        "[2, 3, 2]}, {\"op\": \"conv\", \"type\": \"f32\", \"shape\": [2, 2, 3], \"inputs\": [1, 2], "
        "\"index\": [2, 1099512676353, 1099513724930, 0, 4294967299]}, "
        "{\"op\": \"attention\", \"type\": \"f32\", \"shape\": [2, 3, 6], \"inputs\": [1, 1, 1], "
        "\"index\": [2, 2, 1, 3, 5, 7], \"number\": 0.5}, "
        "{\"op\": \"pad\", \"type\": \"f32\", \"shape\": [2, 4, 4], \"inputs\": [1], \"index\": [1, 0, "
        "1], \"number\": \"-inf\"}, "
        "{\"op\": \"transpose\", \"type\": \"f32\", \"shape\": [4, 2, 3], \"inputs\": [1], \"index\": "
        "[2, 0, 1]}]}";
    eg__memory *memory;
    eg_graph *g;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    const eg_status status = eg__graph_from_json(memory, text, sizeof text - 1, &g, &error);
    if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
    else CHECK_OK(status, error);
    if (!status) {
        const eg__conv_attributes *conv = &g->nodes[3].attributes.conv;
        CHECK(conv->groups == 1 && !conv->flipped && conv->stride[0] == 1 && conv->stride[1] == 2 &&
                  conv->dilation[1] == 2 && conv->spread[1] == 1 && conv->before[1] == 3 &&
                  conv->after[1] == 1 && !conv->taps[1],
              "conv");
        const eg__attention_attributes *attention = &g->nodes[4].attributes.attention;
        CHECK(attention->heads == 2 && attention->kv_heads == 2 && attention->causal &&
                  !attention->has_mask && !attention->has_lengths && attention->window == 3 &&
                  attention->dropout_key == 5 && attention->dropout_limit == 7 &&
                  attention->scale == 0.5,
              "attention");
        const eg__pad_attributes *pad = &g->nodes[5].attributes.pad;
        CHECK(pad->axis == 1 && !pad->before && pad->after == 1 && pad->value == -INFINITY, "pad");
        const unsigned *order = g->nodes[6].attributes.transpose.order;
        CHECK(order[0] == 2 && order[1] == 0 && order[2] == 1, "transpose");
    }
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

#define REDUCE(attributes)                                                                        \
    "{\"elegans_graph\": 2, \"nodes\": [{\"op\": \"input\", \"name\": \"x\", \"type\": \"f32\", " \
    "\"shape\": [3]}, {\"op\": \"sum\", \"type\": \"f32\", \"shape\": [], \"inputs\": [1], "      \
    "\"attributes\": " attributes "}]}"

TEST(graph_json, damage) {
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "line"},
        {"{}", "no graph of version 1"},
        {"{\"elegans_graph\": 3, \"nodes\": []}", "no graph of version 1 to 2"},
        {"{\"elegans_graph\": 1, \"nodes\": [{}]}", "node 1: unknown operation"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"fly\"}]}", "unknown operation"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"unary\"}]}", "unknown operation"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"input\", \"type\": \"f8\"}]}",
         "unknown type"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"input\", \"type\": \"f32\", \"shape\": "
         "[-1]}]}",
         "extent"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"input\", \"type\": \"f32\", \"shape\": "
         "[1]}]}",
         "name"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"tanh\", \"type\": \"f32\", \"shape\": [1], "
         "\"inputs\": [1]}]}",
         "no earlier node"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"tanh\", \"type\": \"f32\", \"shape\": "
         "[1]}]}",
         "wrong number"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"constant\", \"type\": \"f32\", \"shape\": "
         "[2], \"data\": [1]}]}",
         "does not fill"},
        {"{\"elegans_graph\": 1, \"nodes\": [{\"op\": \"constant\", \"type\": \"f32\", \"shape\": "
         "[], \"data\": [1]}, {\"op\": \"tanh\", \"type\": \"f32\", \"shape\": [3], \"inputs\": "
         "[1]}]}",
         "does not follow"},
        {REDUCE("{\"axes\": 1, \"keep\": 1}"), "attribute 'keep'"},
        {REDUCE("{\"axes\": -1}"), "attribute 'axes'"},
        {REDUCE("{\"axes\": 4294967296}"), "attribute 'axes'"},
        {REDUCE("{\"axis\": 1}"), "attributes that its operation does not have"},
        {REDUCE("[1]"), "attributes that its operation does not have"},
        {REDUCE("{\"axes\": 2}"), "not all in"},
    };
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_status status =
            eg__graph_from_json(memory, rows[i].text, strlen(rows[i].text), &g, &error);
        if (status == EG_ERR_UNSUPPORTED && strstr(error.message, "jansson")) {
            test_skip("%s", error.message);
            break;
        }
        CHECK(status && strstr(error.message, rows[i].part), "row %zu: '%s', expected '%s'", i,
              error.message, rows[i].part);
        CHECK(!g, "row %zu left a graph", i);
    }
    /* every byte changed in turn: refused, or another valid graph */
    eg_graph *g = build(memory), *back;
    char *text;
    size_t length;
    uint64_t state = 3;
    const size_t step = getenv("ELEGANS_QUICK") ? 997 : 7;
    if (eg__graph_to_json(g, &text, &length, &error) == EG_OK) {
        for (size_t i = 0; i < length; i += step) {
            char kept = text[i];
            test_random(&state);
            text[i] = "0123456789\",:[]{}x-"[(state >> 33) % 19];
            if (eg__graph_from_json(memory, text, length, &back, NULL) == EG_OK)
                eg_graph_destroy(back);
            text[i] = kept;
        }
        eg__memory_give(memory, text);
    }
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}
