/* Programs as plain C: compiled, run, and compared with the library. */
#include "export_run.h"
#include "graph_rules.h"
#include "random_graph.h"
#include "test.h"
#include "test_models.h"
#include "nn/model.h"

#include <dirent.h>

AREA(export, "programs as C99, compiled -Wall -Wextra -Werror, against the library")

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error;
    eg_context_options options = {.threads = 1};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* ---- cells with states, one step at a time */
static eg_node linear(eg_graph *g, const char *name, eg_node x, uint64_t from, uint64_t to) {
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    eg_node w = eg_parameter(g, weight, 2, (uint64_t[]){from, to});
    return eg_add(g, eg_matmul(g, x, w), eg_parameter(g, bias, 1, (uint64_t[]){to}));
}

static eg_node input(eg_graph *g, const char *name, uint64_t rows, uint64_t columns) {
    return eg_input(g, name, EG_F32, 2, (uint64_t[]){rows, columns});
}

static size_t build_mlp(eg_graph *g, eg_output *out) {
    eg_node h = eg_gelu(g, linear(g, "first", input(g, "x", 1, 7), 7, 20));
    out[0] = (eg_output){"y", linear(g, "second", eg_relu(g, linear(g, "mid", h, 20, 19)), 19, 3)};
    return 1;
}

static size_t build_stream(eg_graph *g, eg_output *out) {
    eg_node x = input(g, "x", 1, 2), h = eg_state(g, "h", 2, (uint64_t[]){1, 3});
    eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){5, 3}), both[] = {x, h};
    eg_node next = eg_tanh(g, eg_matmul(g, eg_concat(g, 1, 2, both), w));
    out[0] = (eg_output){"y", eg_update(g, h, next)};
    return 1;
}

static size_t build_gru(eg_graph *g, eg_output *out) {
    eg_node x = input(g, "sensors", 1, 6), h = eg_state(g, "h", 2, (uint64_t[]){1, 18});
    eg_node z = eg_add(g, linear(g, "xz", x, 6, 18), linear(g, "hz", h, 18, 18));
    eg_node r = eg_add(g, linear(g, "xr", x, 6, 18), linear(g, "hr", h, 18, 18));
    eg_node fresh = eg_mul(g, eg_sigmoid(g, r), linear(g, "hn", h, 18, 18));
    fresh = eg_tanh(g, eg_add(g, linear(g, "xn", x, 6, 18), fresh));
    eg_node next = eg_add(g, fresh, eg_mul(g, eg_sigmoid(g, z), eg_sub(g, h, fresh)));
    out[0] = (eg_output){"motors", linear(g, "out", eg_update(g, h, next), 18, 2)};
    return 1;
}

static size_t build_cfc(eg_graph *g, eg_output *out) {
    eg_node x = input(g, "sensors", 1, 16), span = input(g, "elapsed", 1, 1);
    eg_node h = eg_state(g, "h", 2, (uint64_t[]){1, 64}), both[] = {x, h};
    eg_node q = eg_silu(g, linear(g, "backbone", eg_concat(g, 1, 2, both), 80, 128));
    eg_node f1 = eg_tanh(g, linear(g, "ff1", q, 128, 64));
    eg_node f2 = eg_tanh(g, linear(g, "ff2", q, 128, 64));
    eg_node time = eg_mul(g, span, linear(g, "time_a", q, 128, 64));
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(g, "time_b", q, 128, 64)));
    eg_node next = eg_add(g, f1, eg_mul(g, gate, eg_sub(g, f2, f1)));
    out[0] = (eg_output){"motors", linear(g, "out", eg_update(g, h, next), 64, 4)};
    out[1] = (eg_output){"hidden", next};
    return 2;
}

/* Names that C has for itself, integers, and whatever else is no product. */
static size_t build_mixed(eg_graph *g, eg_output *out) {
    eg_node x = input(g, "float", 5, 9), y = input(g, "a b*/", 5, 9);
    eg_node index = eg_input(g, "index", EG_I32, 1, (uint64_t[]){3});
    eg_node table = eg_parameter(g, "1 table", 2, (uint64_t[]){4, 9});
    eg_node s = eg_softmax(g, x), n = eg_layer_norm(g, y, 1e-5), rows = eg_gather(g, table, index);
    eg_node where = eg_select(g, eg_lt(g, x, y), eg_pow(g, eg_abs(g, x), y), eg_max(g, s, n));
    out[0] = (eg_output){"self", where};
    out[1] = (eg_output){"arena", eg_argmax(g, where)};
    out[2] = (eg_output){"v0", eg_mean(g, eg_mul(g, eg_log_softmax(g, y), n), 1, 0)};
    out[3] = (eg_output){"r", eg_reduce_max(g, rows, 2, 1)};
    out[4] = (eg_output){"i", eg_transpose(g, eg_rms_norm(g, x, 1e-6), (unsigned[]){1, 0})};
    out[5] = (eg_output){"indices", index};
    out[6] = (eg_output){"t", eg_gather(g, table, eg_argmax(g, eg_slice(g, x, 1, 2, 4)))};
    out[7] = (eg_output){"attention", eg_matmul_transposed(g, s, 0, n, 1)};
    return 8;
}

typedef size_t build_function_all(eg_graph *g, eg_output *out);
static const struct {
    const char *name;
    build_function_all *build;
} cells[] = {{"mlp", build_mlp},
             {"stream", build_stream},
             {"gru", build_gru},
             {"cfc", build_cfc},
             {"mixed", build_mixed}};
enum { CELLS = sizeof cells / sizeof *cells };

TEST(export, cells) {
    static exporter e;
    if (!exporter_begin(&e, 1e-5)) return;
    eg_context *context = context_new();
    eg_error error;
    for (size_t i = 0; i < CELLS; i++) {
        eg_graph *g;
        eg_output outputs[8];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = cells[i].build(g, outputs);
        CHECK_OK(eg_graph_check(g, &error), error);
        exporter_add(&e, context, g, count, outputs, cells[i].name, -0.5, 0.5);
        eg_graph_destroy(g);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}

/* Sequences: both directions, a batch, lengths, gradients with and without every carry. */
TEST(export, scans) {
    static const model_case models[] = {
        {"gru", 5, 1, 4, 7, .reverse = false},
        {"gru", 5, 3, 12, 20, .reverse = true},
        {"cfc", 5, 2, 3, 18, .lengths = true},
        {"cfc", 9, 2, 3, 6, .gradient = true, .options = {.every = 4}},
        {"gru", 6, 17, 3, 5, .gradient = true},
    };
    static exporter e;
    if (!exporter_begin(&e, 1e-5)) return;
    eg_context *context = context_new();
    eg_error error;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        eg_graph *g;
        eg_output outputs[MODEL_OUTPUTS];
        char name[32];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = model_build(g, &models[i], outputs);
        snprintf(name, sizeof name, "scan_%zu_%s", i, models[i].name);
        exporter_add(&e, context, g, count, outputs, name, -0.5, 0.5);
        eg_graph_destroy(g);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}

/* Every operation, and its gradient. */
TEST(export, operations) {
    static exporter e;
    if (!exporter_begin(&e, 1e-4)) return;
    eg_context *context = context_new();
    eg_error error = {0};
    for (size_t i = 0; i < graph_rule_count; i++) {
        const graph_rule *rule = &graph_rules[i];
        eg_graph *g;
        eg_node leaf[RULE_LEAVES], d[RULE_LEAVES];
        char name[64];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        for (unsigned k = 0; k < rule->leaves; k++) {
            snprintf(name, sizeof name, "x%u", k);
            leaf[k] = k % 2 ? eg_parameter(g, name, rule->leaf[k].rank, rule->leaf[k].shape)
                            : eg_input(g, name, EG_F32, rule->leaf[k].rank, rule->leaf[k].shape);
        }
        eg_node y = rule->build(g, leaf), loss = weighted_loss(g, y);
        CHECK_OK(eg_gradient(g, loss, rule->leaves, leaf, d, &error), error);
        static const char *const names[] = {"d0", "d1", "d2", "d3"};
        eg_output outputs[RULE_LEAVES + 2] = {{"y", y}, {"loss", loss}};
        for (unsigned k = 0; k < rule->leaves; k++) outputs[2 + k] = (eg_output){names[k], d[k]};
        snprintf(name, sizeof name, "rule_%zu", i);
        exporter_add(&e, context, g, 2 + rule->leaves, outputs, name, rule->low, rule->high);
        eg_graph_destroy(g);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}

TEST(export, random_graphs) {
    static exporter e;
    if (!exporter_begin(&e, 1e-4)) return;
    eg_context *context = context_new();
    eg_error error;
    for (uint64_t i = 0; i < (test_quick() ? 12 : 60); i++) {
        eg_graph *g;
        eg_output outputs[RANDOM_OUTPUTS];
        char name[32];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = random_graph(g, 7000 + i, outputs);
        snprintf(name, sizeof name, "random_%u", (unsigned)i);
        if (eg_graph_check(g, NULL) == EG_OK)
            exporter_add(&e, context, g, count, outputs, name, -1, 1);
        eg_graph_destroy(g);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}

/* ---- files and refusals */
typedef struct small {
    eg_context *context;
    eg_program *program;
    eg_weights *weights;
} small;

static eg_status small_open(small *s, const eg_context_options *options, bool training,
                            eg_error *error) {
    eg_graph *g;
    eg_output out[2];
    eg_status status = eg_context_create(options, &s->context, error);
    if (status) return status;
    status = eg_graph_create(s->context, &g, error);
    if (status) return status;
    size_t count = build_stream(g, out);
    if (training) out[0].node = eg_dropout(g, out[0].node, 0.5);
    status = eg_graph_check(g, error);
    const eg_compile_options compile = {.training = training};
    if (!status) status = eg_compile(s->context, g, count, out, &compile, &s->program, error);
    eg_graph_destroy(g);
    if (!status) status = eg_weights_create(s->program, &s->weights, error);
    return status;
}

static void small_close(small *s) {
    eg_weights_destroy(s->weights);
    eg_program_release(s->program);
    eg_context_destroy(s->context);
}

static unsigned files_in(const char *folder) {
    unsigned count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    if (list) closedir(list);
    return count;
}

TEST(export, refusals) {
    static const char *const bad[] = {"", "1a", "a-b", "float", "product", "v7", "a/b", "\xc3\xa4"};
    const char *folder = test_folder();
    small s = {0};
    eg_error error;
    CHECK_OK(small_open(&s, NULL, false, &error), error);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(eg_export_c(s.program, s.weights, folder, bad[i], NULL, &error), error,
                    EG_ERR_ARGUMENT, "is not a C name");
    CHECK_FAILS(eg_export_c(s.program, NULL, folder, "a", NULL, &error), error, EG_ERR_ARGUMENT,
                "needs weights");
    CHECK_FAILS(eg_export_c(NULL, NULL, folder, "a", NULL, &error), error, EG_ERR_ARGUMENT,
                "no program");
    CHECK_FAILS(eg_export_c(s.program, s.weights, "/nowhere/at/all", "a", NULL, &error), error,
                EG_ERR_FILE, "/nowhere/at/all/a.c");
    CHECK_OK(eg_weights_begin(s.weights, 0, &error), error);
    CHECK_FAILS(eg_export_c(s.program, s.weights, folder, "a", NULL, &error), error, EG_ERR_BUSY,
                "being changed");
    eg_weights_end(s.weights);
    CHECK(files_in(folder) == 0, "files are left after failures");
    CHECK_OK(eg_export_c(s.program, s.weights, folder, "a", NULL, &error), error);
    CHECK(files_in(folder) == 2, "%u files, expected a.c and a.h", files_in(folder));
    small_close(&s);
    small dropping = {0};
    CHECK_OK(small_open(&dropping, NULL, true, &error), error);
    CHECK_FAILS(eg_export_c(dropping.program, dropping.weights, folder, "b", NULL, &error), error,
                EG_ERR_UNSUPPORTED, "no C for a step 'dropout'");
    CHECK(files_in(folder) == 2, "files are left after a failure");
    small_close(&dropping);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    const eg_context_options options = {
        .allocator = *allocator, .threads = 1, .memory_cache_off = 1};
    small s = {0};
    eg_status status = small_open(&s, &options, false, error);
    if (!status) status = eg_export_c(s.program, s.weights, user, "tight", NULL, error);
    small_close(&s);
    return status;
}

TEST(export, every_allocation) {
    char folder[EXPORT_PATH];
    snprintf(folder, sizeof folder, "%s", test_folder());
    CHECK(test_every_allocation(attempt, folder) > 10, "hardly any allocation was made to fail");
}

/* ---- whole models, one step of a stream */
TEST(export, models) {
    static const char *const specs[] = {"cfc:12,in=5,backbone=16",
                                        "cfc:9,in=3,mode=pure,backbone=0,proj=2",
                                        "cfc:9,in=3,mode=no_gate,mixed=1,activation=gelu",
                                        "cfc:autoncp:20:4,in=5",
                                        "cfc:autoncp:20:4,in=5,backbone=16+8,activation=silu",
                                        "cfc:random:4,in=9,sparsity=0.9,backbone=8,mode=pure",
                                        "ltc:autoncp:20:4,in=5",
                                        "ltc:6,in=3,mixed=1,unfolds=2,output_map=none",
                                        "cfc:8,in=3/ltc:5"};
    exporter e;
    if (!exporter_begin(&e, 1e-5)) return;
    eg_context *context = context_new();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        eg_model *model;
        eg_graph *g;
        eg_output output;
        eg_error error;
        char name[32];
        snprintf(name, sizeof name, "model_%zu", i);
        CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        CHECK_OK(eg__stream_graph(model, g, &output, &error), error);
        exporter_add(&e, context, g, 1, &output, name, 0.05, 0.6);
        eg_graph_destroy(g);
        eg_model_destroy(model);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}
