/* Attention in graphs: compiled against the definition in double, threads, memory, mistakes, counts. */
#include "graph/steps/program.h"
#include "test.h"
#include "test_compile.h"

#include <math.h>

AREA(attention, "attention compiled against the definition, on any number of threads")

static const eg_node none = {0};

static eg_context *context_with(unsigned threads) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = threads}, &context, &error), error);
    return context;
}

typedef struct attention_case {
    uint64_t samples, queries, keys, d, dv;
    eg_attention_options options;
    int mask, lengths; /* mask: rank 2, or 3 with one row; lengths: 1 i32, 2 f32 */
} attention_case;

/* Queries, keys and values are slices of one value, as a projection to all three gives them. */
static size_t build(eg_graph *g, const attention_case *c, eg_output *outputs) {
    const eg_attention_options *o = &c->options;
    const uint64_t kv = o->kv_heads ? o->kv_heads : o->heads;
    const uint64_t wide[] = {o->heads * c->d, kv * c->d, kv * c->dv};
    eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){c->samples, c->queries, wide[0]});
    eg_node both =
        eg_input(g, "kv", EG_F32, 3, (uint64_t[]){c->samples, c->keys, wide[1] + wide[2]});
    eg_node k = eg_slice(g, both, 2, 0, wide[1]), v = eg_slice(g, both, 2, wide[1], wide[2]);
    eg_node mask = none, lengths = none;
    if (c->mask == 2) mask = eg_input(g, "mask", EG_F32, 2, (uint64_t[]){c->queries, c->keys});
    if (c->mask == 3) mask = eg_input(g, "mask", EG_F32, 3, (uint64_t[]){c->samples, 1, c->keys});
    if (c->lengths) /* about half of the keys, of values within -1 .. 3 */
        lengths = eg_input(g, "lengths", c->lengths == 1 ? EG_I32 : EG_F32, 1, &c->samples);
    eg_node y = eg_attention(g, o, q, k, v, mask, lengths), d[2];
    eg_node loss = eg_sum(g, eg_mul(g, y, eg_sin(g, y)), EG_ALL_AXES, 0);
    eg_error error = {0};
    CHECK_OK(eg_gradient(g, loss, 2, (eg_node[]){q, both}, d, &error), error);
    outputs[0] = (eg_output){"y", y};
    outputs[1] = (eg_output){"dq", d[0]};
    outputs[2] = (eg_output){"dkv", d[1]};
    return 3;
}

static const attention_case cases[] = {
    {2, 5, 7, 8, 6, {.heads = 3}, 0, 0},
    {1, 1, 40, 16, 16, {.heads = 4, .kv_heads = 2, .causal = 1}, 0, 0},
    {2, 33, 33, 12, 20, {.heads = 4, .kv_heads = 1, .causal = 1}, 2, 0},
    {3, 9, 4, 5, 3, {.heads = 2, .scale = 0.3}, 3, 1},
    {3, 9, 4, 5, 3, {.heads = 2, .window = 2}, 0, 2},
    {2, 140, 70, 16, 8, {.heads = 2, .causal = 1, .window = 30, .dropout = 0.2}, 0, 0},
    {2, 20, 20, 64, 64, {.heads = 2, .dropout = 0.5}, 2, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

TEST(attention, against_the_definition) {
    eg_context *context = context_with(2);
    for (size_t i = 0; i < CASES; i++)
        for (int training = 0; training < 2; training++) {
            eg_graph *g;
            eg_error error;
            eg_output outputs[3];
            char name[32];
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            const size_t count = build(g, &cases[i], outputs);
            snprintf(name, sizeof name, "case %zu", i);
            const compiled_case c = {name, NULL, training, -1, 3};
            compiled_check(context, g, count, outputs, &c);
            eg_graph_destroy(g);
        }
    eg_context_destroy(context);
}

/* ---- who sees whom: with equal weights and powers of two as values, a mean says which keys there were */
static void check_seen(eg_graph *g, const eg_attention_options *o, int lengths,
                       const char *const *want) {
    enum { B = 2, Q = 3, K = 5 };
    double q[B * Q] = {0}, k[B * K] = {0}, v[B * K], n[B] = {lengths, K}, y[B * Q], *out[] = {y};
    for (int i = 0; i < B * K; i++) v[i] = (double)(1 << i % K);
    const eg_node leaf[] = {eg_input(g, "q", EG_F32, 3, (uint64_t[]){B, Q, 1}),
                            eg_input(g, "k", EG_F32, 3, (uint64_t[]){B, K, 1}),
                            eg_input(g, "v", EG_F32, 3, (uint64_t[]){B, K, 1}),
                            eg_input(g, "n", EG_F32, 1, (uint64_t[]){B})};
    const eg__binding bound[] = {{leaf[0], q}, {leaf[1], k}, {leaf[2], v}, {leaf[3], n}};
    const eg_node node = eg_attention(g, o, leaf[0], leaf[1], leaf[2], none, leaf[3]);
    eg_error error;
    CHECK_OK(eg__graph_evaluate(g, 4, bound, 1, &node, out, false, 0, &error), error);
    for (int i = 0; i < Q; i++) {
        double sum = 0, count = 0;
        for (int key = 0; key < K; key++)
            if (want[i][key] == 'x') sum += v[key], count++;
        CHECK(fabs(y[i] - (count > 0 ? sum / count : 0)) < 1e-12,
              "query %d of %d keys, causal %d, window %d: %g, not the mean of %s", i, lengths,
              o->causal, (int)o->window, y[i], want[i]);
    }
}

TEST(attention, who_sees_whom) {
    static const struct {
        eg_attention_options options;
        int lengths; /* of the first sample */
        const char *seen[3];
    } rows[] = {{{.heads = 1}, 5, {"xxxxx", "xxxxx", "xxxxx"}},
                {{.heads = 1}, 2, {"xx...", "xx...", "xx..."}},
                {{.heads = 1}, 0, {".....", ".....", "....."}},
                {{.heads = 1, .causal = 1}, 5, {"xxx..", "xxxx.", "xxxxx"}},
                {{.heads = 1, .causal = 1}, 3, {"x....", "xx...", "xxx.."}},
                {{.heads = 1, .causal = 1}, 2, {".....", "x....", "xx..."}},
                {{.heads = 1, .window = 2}, 5, {".xx..", "..xx.", "...xx"}},
                {{.heads = 1, .window = 2, .causal = 1}, 3, {"x....", "xx...", ".xx.."}}};
    eg_context *context = context_with(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_error error;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        check_seen(g, &rows[i].options, rows[i].lengths, rows[i].seen);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* As many weights as the rate says, others for another seed and another layer, and none outside training. */
static double kept_part(eg_graph *g, eg_node y, const eg__binding *bound, bool training,
                        uint64_t seed) {
    double out[4], *outs[] = {out}, sum = 0;
    eg_error error;
    CHECK_OK(eg__graph_evaluate(g, 2, bound, 1, &y, outs, training, seed, &error), error);
    for (int i = 0; i < 4; i++) sum += out[i] / 4;
    return sum;
}
TEST(attention, dropout) {
    enum { K = 5000 };
    const double rate = 0.3;
    eg_context *context = context_with(1);
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    double q[4] = {0}, *k = test_alloc(K * sizeof *k);
    for (int i = 0; i < K; i++) k[i] = 1;
    eg_node leaf[] = {eg_input(g, "q", EG_F32, 3, (uint64_t[]){1, 4, 1}),
                      eg_input(g, "k", EG_F32, 3, (uint64_t[]){1, K, 1})};
    const eg__binding bound[] = {{leaf[0], q}, {leaf[1], k}};
    const eg_attention_options o = {.heads = 1, .dropout = rate};
    eg_node y = eg_attention(g, &o, leaf[0], leaf[1], leaf[1], none, none);
    eg_node other = eg_attention(g, &o, leaf[0], leaf[1], leaf[1], none, none);
    const double one = kept_part(g, y, bound, true, 1), two = kept_part(g, y, bound, true, 2);
    /* the mean of 20000 weights of 0 or 1 / (1 - rate) strays by 0.0046 */
    CHECK(fabs(one - 1) < 0.02 && fabs(two - 1) < 0.02 && one != two, "%g and %g", one, two);
    CHECK(kept_part(g, other, bound, true, 1) != one, "two layers drop the same");
    CHECK(fabs(kept_part(g, y, bound, false, 1) - 1) < 1e-12, "it drops outside training");
    free(k);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- threads */
static eg_status run_case(unsigned threads, const attention_case *c, float *out, size_t *size) {
    eg_context *context = context_with(threads);
    eg_graph *g;
    eg_error error;
    eg_output outputs[3];
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_tensor tensor;
    const char *name;
    uint64_t state = 8;
    static float data[4][1 << 18];
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = build(g, c, outputs);
    eg_status status = eg_compile(context, g, count, outputs, &(eg_compile_options){.training = 1},
                                  &program, &error);
    CHECK_OK(status, error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    for (size_t i = 0; (name = eg_program_leaf(program, EG_LEAF_INPUT, i, &tensor)); i++) {
        uint64_t n;
        eg_tensor_measure(&tensor, &n, NULL, NULL);
        for (uint64_t k = 0; k < n; k++) data[i][k] = test_random(&state);
        tensor.data = data[i];
        CHECK_OK(eg_instance_bind(instance, name, &tensor, &error), error);
    }
    *size = 0;
    eg_tensor result[3];
    for (size_t i = 0; i < count; i++)
        CHECK_OK(eg_instance_output(instance, outputs[i].name, &result[i], &error), error);
    CHECK_OK(eg_run(instance, &(eg_run_options){.seed = 3}, &error), error);
    for (size_t i = 0; i < count; i++) {
        uint64_t n;
        eg_tensor_measure(&result[i], &n, NULL, NULL);
        memcpy(out + *size, result[i].data, (size_t)n * sizeof *out);
        *size += (size_t)n;
    }
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return status;
}

TEST(attention, threads_give_the_same_bits) {
    static float one[1 << 20], two[1 << 20];
    static const attention_case wide[] = {
        {1, 300, 300, 32, 32, {.heads = 2, .causal = 1}, 0, 0},
        {2, 150, 260, 16, 24, {.heads = 4, .kv_heads = 2, .dropout = 0.1}, 2, 0}};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t n = 0, m = 0;
        run_case(1, &wide[i], one, &n);
        for (unsigned threads = test_quick() ? 5 : 2; threads < 6; threads++) {
            run_case(threads, &wide[i], two, &m);
            CHECK(n == m && memcmp(one, two, n * sizeof *one) == 0, "case %zu on %u threads", i,
                  threads);
        }
    }
}

/* Steps of a single sample are worth several threads. */
TEST(attention, one_sample_is_shared) {
    eg_context *context = context_with(1);
    eg_graph *g;
    eg_error error;
    eg_program *program;
    eg_output outputs[3];
    eg_program_info info = {.size = sizeof info};
    eg_step_info step = {.size = sizeof step};
    const attention_case c = {1, 512, 512, 64, 64, {.heads = 1}, 0, 0};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    build(g, &c, outputs);
    CHECK_OK(eg_compile(context, g, 1, outputs, NULL, &program, &error), error);
    eg_program_info_get(program, &info);
    bool found = false;
    for (size_t i = 0; i < info.run_steps; i++) {
        CHECK_OK(eg_program_step(program, i, &step, &error), error);
        if (strcmp(step.kernel, "attention") != 0) continue;
        found = true;
        CHECK(step.rows == 512 && step.columns == 65, "%llu x %llu", (unsigned long long)step.rows,
              (unsigned long long)step.columns);
        CHECK(step.flops == 512.0 * 512 * (4 * 64 + 5), "%g FLOPs", step.flops);
        CHECK(step.bytes == 4.0 * 512 * (64 * 3 + 65), "%g bytes", step.bytes);
        const eg__step *own = &program->steps[i];
        CHECK(own->items == 4 && own->grain == 1, "%zu items, at least %zu for a thread",
              own->items, own->grain);
    }
    CHECK(found, "no step 'attention'");
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* What is seen is what is counted: 1 + 2 + ... keys, or as many as the window has. */
TEST(attention, counts) {
    static const struct {
        eg_attention_options options;
        uint64_t queries, keys;
        double pairs; /* of a head */
        uint64_t samples;
    } rows[] = {{{.heads = 2}, 3, 5, 15, 3},
                {{.heads = 2, .causal = 1}, 3, 5, 3 + 4 + 5, 3},
                {{.heads = 2, .causal = 1}, 5, 3, 1 + 2 + 3, 3},
                {{.heads = 2, .window = 2}, 4, 4, 1 + 2 + 2 + 2, 3},
                {{.heads = 2, .window = 3}, 2, 4, 3 + 3, 1},
                {{.heads = 2, .causal = 1}, UINT64_C(1) << 40, 3, 1, 0}}; /* at once */
    eg_context *context = context_with(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_error error;
        eg_node_info info = {.size = sizeof info};
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){rows[i].samples, rows[i].queries, 8});
        eg_node k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){rows[i].samples, rows[i].keys, 8});
        eg_node y = eg_attention(g, &rows[i].options, q, k, k, none, none);
        CHECK_OK(eg_graph_node(g, y, &info, &error), error); /* a slice of it */
        CHECK_OK(eg_graph_node(g, info.inputs[0], &info, &error), error);
        CHECK(info.flops == (double)rows[i].samples * 2 * rows[i].pairs * (2 * (4 + 4) + 5),
              "%zu: %g FLOPs", i, info.flops);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* ---- memory */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    const eg_attention_options o = {.heads = 2, .causal = 1};
    const eg_rotary_options r = {.d = 4};
    eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){2, 5, 8}), d;
    eg_node turned = eg_rotary(g, &r, x, none);
    eg_node loss = eg_sum(g, eg_attention(g, &o, turned, turned, x, none, none), EG_ALL_AXES, 0);
    status = eg_gradient(g, loss, 1, &x, &d, error);
    if (!status) status = eg_compile(context, g, 1, &(eg_output){"d", d}, NULL, &program, error);
    eg_program_release(program);
    eg_graph_destroy(g);
    return status;
}

TEST(attention, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed > 20, "only %d allocations", failed);
}

/* ---- nothing to see, and nothing at all */
TEST(attention, of_nothing) {
    static const attention_case empty[] = {{2, 3, 0, 4, 4, {.heads = 2}, 0, 0},
                                           {2, 0, 3, 4, 4, {.heads = 2, .causal = 1}, 0, 0},
                                           {0, 3, 3, 4, 4, {.heads = 1}, 0, 0}};
    eg_context *context = context_with(1);
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        eg_graph *g;
        eg_error error;
        eg_output outputs[3];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = build(g, &empty[i], outputs);
        compiled_check(context, g, count, outputs, &(compiled_case){"nothing", NULL, 0, -1, 1});
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* ---- mistakes */
typedef eg_node mistake(eg_graph *g, eg_node q, eg_node k);
static eg_node no_heads(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){0}, q, k, k, none, none);
}
static eg_node odd_heads(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 4, .kv_heads = 3}, q, k, k, none, none);
}
static eg_node wrong_columns(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 3}, q, k, k, none, none);
}
static eg_node wrong_keys(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 2}, q, k, q, none, none);
}
static eg_node wrong_mask(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 2}, q, k, k, q, none);
}
static eg_node wrong_lengths(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 2}, q, k, k, none, q);
}
static eg_node all_dropped(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 2, .dropout = 1}, q, k, k, none, none);
}
static eg_node no_scale(eg_graph *g, eg_node q, eg_node k) {
    return eg_attention(g, &(eg_attention_options){.heads = 2, .scale = NAN}, q, k, k, none, none);
}
static eg_node odd_turn(eg_graph *g, eg_node q, eg_node k) {
    (void)k;
    return eg_rotary(g, &(eg_rotary_options){.d = 3}, q, none);
}
static eg_node wrong_turn(eg_graph *g, eg_node q, eg_node k) {
    (void)k;
    return eg_rotary(g, &(eg_rotary_options){.d = 6}, q, none);
}
static eg_node wrong_positions(eg_graph *g, eg_node q, eg_node k) {
    return eg_rotary(g, &(eg_rotary_options){.d = 4}, q, k);
}

TEST(attention, mistakes) {
    static const struct {
        mistake *make;
        const char *part;
    } rows[] = {
        {no_heads, "attention: 0 query heads are not a multiple of 0 key heads"},
        {odd_heads, "attention: 4 query heads are not a multiple of 3 key heads"},
        {wrong_columns,
         "attention: q [2, 3, 8], k [2, 5, 8] and v [2, 5, 8] do not fit 3 query heads and 3 key heads; needs f32 [batch, time, heads d]"},
        {wrong_keys,
         "attention: q [2, 3, 8], k [2, 5, 8] and v [2, 3, 8] do not fit 2 query heads and 2 key heads; needs f32 [batch, time, heads d]"},
        {wrong_mask, "attention: mask is f32 [2, 3, 8]"},
        {wrong_lengths, "attention: lengths are f32 [2, 3, 8]"},
        {all_dropped, "dropout is not within [0, 1): 1"},
        {no_scale, "attention: the scale nan is not finite"},
        {odd_turn, "rotary: heads of 3 columns, base 10000"},
        {wrong_turn, "rotary: f32 [2, 3, 8] is not made of heads of 6 columns"},
        {wrong_positions, "rotary: positions f32 [2, 5, 8] for [2, 3, 8]"}};
    eg_context *context = context_with(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_error error;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){2, 3, 8});
        eg_node k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){2, 5, 8});
        CHECK(!rows[i].make(g, q, k).id, "%zu gave a node", i);
        CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, rows[i].part);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

TEST(attention, masks_have_no_gradient) {
    eg_context *context = context_with(1);
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){2, 3, 8}), d;
    eg_node mask = eg_parameter(g, "mask", 2, (uint64_t[]){3, 3});
    eg_node y = eg_attention(g, &(eg_attention_options){.heads = 2}, x, x, x, mask, none);
    CHECK_FAILS(eg_gradient(g, eg_sum(g, y, EG_ALL_AXES, 0), 1, &mask, &d, &error), error,
                EG_ERR_UNSUPPORTED, "attention: the mask and the lengths have no gradient");
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
