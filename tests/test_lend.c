/* Weights that a model lends: the same bits as a copy, from memory that is there only while it is needed. */
#include "elegans/elegans.h"
#include "engine/program.h"
#include "test.h"

AREA(lend, "lent weights: the bits of a copy, counted memory, refusals, lenders that fail")

/* ---- a graph with every way to read a parameter: packed, by the prologue and the run, by the run alone, by none */
enum { K = 384, N = 512, PARAMETERS = 5 };
static const char *const names[PARAMETERS] = {"a", "b", "bias", "shared", "unused"};
static const uint64_t shapes[PARAMETERS][2] = {{N, K}, {N, K}, {N, 1}, {N, K}, {N, N}};

static eg_program *compile(eg_context *context, uint64_t batch, bool sums) {
    eg_error error;
    eg_graph *g;
    eg_program *program = NULL;
    eg_node p[PARAMETERS];
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    for (int i = 0; i < PARAMETERS; i++)
        p[i] = eg_parameter(g, names[i], i == 2 ? 1 : 2, shapes[i]);
    const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){batch, K});
    eg_node y = eg_add(g, eg_matmul_transposed(g, x, 0, p[0], 1), p[2]);
    /* a sum of parameters is prepared; `shared` is read by runs, too, where it is summed up */
    y = eg_mul(g, y, eg_matmul_transposed(g, x, 0, eg_add(g, p[1], p[3]), 1));
    if (sums) y = eg_add(g, y, eg_sum(g, eg_mul(g, p[3], eg_slice(g, x, 0, 0, 1)), 1u << 1, 0));
    const eg_output output = {"y", y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_graph_destroy(g);
    return program;
}

typedef struct lending {
    float *values[PARAMETERS];
    unsigned asked[PARAMETERS];
    int fails; /* the parameter that cannot be had; -1 = none */
} lending;

static eg_status fill(void *user, const eg__leaf *leaf, size_t first, size_t count, void *to,
                      eg_error *error) {
    lending *l = user;
    int at = 0;
    while (strcmp(names[at], leaf->name) != 0) at++;
    l->asked[at]++;
    if (at == l->fails) return eg__fail(error, EG_ERR_FILE, "'%s' cannot be read", leaf->name);
    memcpy(to, l->values[at] + first, count * sizeof(float));
    return EG_OK;
}

static lending lending_open(void) {
    lending l = {.fails = -1};
    uint64_t seed = 5;
    for (int i = 0; i < PARAMETERS; i++) {
        const size_t count = (size_t)(shapes[i][0] * shapes[i][1]);
        l.values[i] = malloc(count * sizeof(float));
        for (size_t k = 0; k < count; k++) l.values[i][k] = test_random(&seed);
    }
    return l;
}

static void lending_close(lending *l) {
    for (int i = 0; i < PARAMETERS; i++) free(l->values[i]);
}

static eg_weights *copy(eg_program *program, const lending *l) {
    eg_error error;
    eg_weights *weights = NULL;
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    for (int i = 0; i < PARAMETERS; i++) {
        const eg_tensor tensor = {
            EG_F32, i == 2 ? 1 : 2, {shapes[i][0], shapes[i][1]}, l->values[i]};
        CHECK_OK(eg_weights_set(weights, names[i], &tensor, &error), error);
    }
    return weights;
}

static void run(eg_program *program, eg_weights *weights, uint64_t batch, float *y) {
    eg_error error;
    eg_instance *instance;
    eg_tensor out;
    float x[4 * K];
    uint64_t seed = 3;
    for (size_t i = 0; i < batch * K; i++) x[i] = test_random(&seed);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    CHECK_OK(eg_instance_bind(instance, "x", &(eg_tensor){EG_F32, 2, {batch, K}, x}, &error),
             error);
    CHECK_OK(eg_instance_output(instance, "y", &out, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    memcpy(y, out.data, (size_t)batch * N * sizeof *y);
    eg_instance_destroy(instance);
}

static eg_context *open_context(uint64_t budget) {
    eg_error error;
    eg_context *context = NULL;
    const eg_context_options options = {
        .size = sizeof options, .threads = 2, .memory_budget = budget};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static uint64_t held(eg_context *context) {
    eg_memory_figures figures = {0};
    eg_memory_query(context, EG_TAG_WEIGHTS, &figures, NULL);
    return figures.current;
}

TEST(lend, bits_and_bytes_of_two_programs) {
    eg_context *context = open_context(0);
    lending l = lending_open();
    const eg__lender lender = {fill, &l};
    eg_error error;
    eg_weights *lent;
    eg_program *program[2] = {compile(context, 4, false), compile(context, 3, true)};
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program[0], &info);
    CHECK_OK(eg__weights_lend(program[0], &lender, &lent, &error), error);
    const uint64_t before = held(context);
    for (int i = 0; i < 2; i++) {
        const uint64_t batch = i ? 3 : 4;
        float want[4 * N], got[4 * N];
        run(program[i], lent, batch, got);
        const uint64_t holds = held(context) - before;
        eg_weights *copied = copy(program[i], &l);
        run(program[i], copied, batch, want);
        eg_weights_destroy(copied);
        CHECK(memcmp(want, got, (size_t)batch * N * sizeof *want) == 0, "program %d: other bits",
              i);
        if (i) continue;
        CHECK(holds > info.derived_bytes + info.held_bytes &&
                  holds < info.derived_bytes + info.held_bytes + 1024,
              "%llu bytes held: derived %llu, read by runs %llu", (unsigned long long)holds,
              (unsigned long long)info.derived_bytes, (unsigned long long)info.held_bytes);
        CHECK(info.held_bytes < info.parameter_bytes / 100, "%llu of %llu bytes stay",
              (unsigned long long)info.held_bytes, (unsigned long long)info.parameter_bytes);
    }
    CHECK(l.asked[0] == 1 && l.asked[2] == 1 && !l.asked[4], "asked %u, %u and %u times",
          l.asked[0], l.asked[2], l.asked[4]);
    eg_weights_destroy(lent);
    for (int i = 0; i < 2; i++) eg_program_release(program[i]);
    lending_close(&l);
    eg_context_destroy(context);
}

TEST(lend, nobody_reads_or_changes_them) {
    eg_context *context = open_context(0);
    lending l = lending_open();
    const eg__lender lender = {fill, &l};
    eg_error error;
    eg_weights *lent;
    eg_tensor tensor;
    float y[4 * N];
    eg_program *program = compile(context, 4, false), *other = compile(context, 3, true);
    CHECK_OK(eg__weights_lend(program, &lender, &lent, &error), error);
    CHECK_FAILS(eg_weights_begin(lent, 1, &error), error, EG_ERR_UNSUPPORTED, "keep no copy");
    CHECK_FAILS(eg_weights_tensor(lent, "a", &tensor, &error), error, EG_ERR_UNSUPPORTED, "copy");
    CHECK(!eg_weights_all(lent).data && !eg_weights_all(lent).shape[0], "a vector of nothing");
    /* prepared for one program, they need no lender and take no other */
    CHECK_OK(eg__weights_settle(lent, program, &error), error);
    const unsigned asked = l.asked[0];
    run(program, lent, 4, y);
    eg_instance *instance;
    CHECK_FAILS(eg_instance_create(other, lent, &instance, &error), error, EG_ERR_UNSUPPORTED,
                "one");
    CHECK(l.asked[0] == asked, "asked after they were settled");
    eg_weights_destroy(lent);
    eg_program_release(program);
    eg_program_release(other);
    lending_close(&l);
    eg_context_destroy(context);
}

/* Whatever cannot be had: the instance is refused, nothing stays behind, and the next try succeeds. */
TEST(lend, lenders_and_budgets_fail) {
    lending l = lending_open();
    const eg__lender lender = {fill, &l};
    eg_error error;
    eg_weights *lent;
    eg_instance *instance;
    for (int i = 0; i < 4; i++) {
        eg_context *context = open_context(0);
        eg_program *program = compile(context, 4, true);
        CHECK_OK(eg__weights_lend(program, &lender, &lent, &error), error);
        const uint64_t before = held(context);
        l.fails = i;
        CHECK_FAILS(eg_instance_create(program, lent, &instance, &error), error, EG_ERR_FILE,
                    names[i]);
        uint64_t stays = 0; /* what runs read is kept: it is needed by the next try */
        for (size_t k = 0; k < PARAMETERS; k++)
            if (lent->holds[k] == EG__STAYING)
                stays += eg__leaf_bytes(&program->parameters.list[k]);
        CHECK(held(context) - before == stays, "'%s': %llu bytes held", names[i],
              (unsigned long long)(held(context) - before));
        eg_weights_destroy(lent);
        eg_program_release(program);
        eg_context_destroy(context);
    }
    l.fails = -1;
    eg_context *context = open_context(3 << 20); /* two of the four matrices */
    eg_program *program = compile(context, 4, false);
    CHECK_OK(eg__weights_lend(program, &lender, &lent, &error), error);
    CHECK_FAILS(eg_instance_create(program, lent, &instance, &error), error, EG_ERR_BUDGET, "room");
    eg_weights_destroy(lent);
    eg_program_release(program);
    eg_context_destroy(context);
    lending_close(&l);
}

/* A model and its file, both ways. */
TEST(lend, models) {
    static const char *const specs[] = {"cfc:256,in=8,backbone=256x2", "ltc:autoncp:64:8,in=4"};
    eg_context *context = open_context(0);
    eg_error error;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int small = 0; small < 2; small++) {
            const eg_model_quantization quantization = {
                .quantization = {.type = EG_I8, .per = EG_PER_CHANNEL}};
            eg_model *model;
            eg_graph *g;
            eg_program *program;
            eg_model_nodes nodes;
            const eg_model_options options = {.time = 3};
            CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
            if (small) CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
            const eg_output output = {"y", nodes.y};
            CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
            eg_tensor y[2] = {{0}};
            eg_instance *instance[2];
            eg_weights *weights[2];
            for (int lent = 0; lent < 2; lent++) {
                if (lent) CHECK_OK(eg_model_lend(model, program, &weights[1], &error), error);
                else CHECK_OK(eg_weights_create(program, &weights[0], &error), error);
                if (!lent) CHECK_OK(eg_model_weights(model, weights[0], &error), error);
                CHECK_OK(eg_instance_create(program, weights[lent], &instance[lent], &error),
                         error);
                eg_tensor x;
                eg_program_leaf(program, EG_LEAF_INPUT, 0, &x);
                float values[64] = {0.5f, -1, 0.25f, 2};
                x.data = values;
                CHECK_OK(eg_instance_bind(instance[lent], "x", &x, &error), error);
                CHECK_OK(eg_instance_output(instance[lent], "y", &y[lent], &error), error);
                CHECK_OK(eg_run(instance[lent], NULL, &error), error);
            }
            size_t bytes = sizeof(float);
            for (unsigned k = 0; k < y[0].rank; k++) bytes *= (size_t)y[0].shape[k];
            CHECK(memcmp(y[0].data, y[1].data, bytes) == 0, "%s: other bits", specs[i]);
            for (int lent = 0; lent < 2; lent++) {
                eg_instance_destroy(instance[lent]);
                eg_weights_destroy(weights[lent]);
            }
            eg_program_release(program);
            eg_graph_destroy(g);
            eg_model_destroy(model);
        }
    eg_context_destroy(context);
}

/* A program whose graph has no masks takes only weights that the model masks. */
TEST(lend, masks_are_applied_once) {
    eg_context *context = open_context(0);
    eg_error error;
    eg_model *model;
    eg_program *program[2];
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:2,in=3", &model, &error), error);
    for (int lent = 0; lent < 2; lent++) {
        const eg_model_options options = {.lent = lent};
        eg_graph *g;
        eg_model_nodes nodes;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
        const eg_output output = {"y", nodes.y};
        CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program[lent], &error), error);
        eg_graph_destroy(g);
    }
    for (int lent = 0; lent < 2; lent++) {
        eg_weights *weights;
        eg_instance *instance = NULL;
        CHECK_OK(eg_weights_create(program[lent], &weights, &error), error);
        CHECK_OK(eg_model_weights(model, weights, &error), error);
        CHECK_FAILS(eg_instance_create(program[!lent], weights, &instance, &error), error,
                    EG_ERR_ARGUMENT, "'rnn_cell.layer_0.ff1.weight' is masked by the model");
        eg_tensor w;
        CHECK_OK(eg_weights_tensor(weights, "rnn_cell.layer_0.ff1.weight", &w, &error), error);
        if (lent)
            CHECK_FAILS(eg_weights_set(weights, "rnn_cell.layer_0.ff1.weight", &w, &error), error,
                        EG_ERR_ARGUMENT, "is masked by its model");
        else CHECK_OK(eg_weights_set(weights, "rnn_cell.layer_0.ff1.weight", &w, &error), error);
        eg_weights_destroy(weights);
    }
    for (int lent = 0; lent < 2; lent++) eg_program_release(program[lent]);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* Matrices so large that they are packed by pieces, some of which begin inside a panel; masks that the model applies, and
 * those that the graph does. */
TEST(lend, large_and_masked) {
    static const char *const specs[] = {
        "cfc:1003,in=20,backbone=1500",       "cfc:full:1004,in=300",
        "cfc:autoncp:1600:9,in=20",           "cfc:1100,in=20,mixed=1",
        "cfc:autoncp:40:9,in=20,backbone=30", "ltc:autoncp:40:9,in=20"};
    eg_context *context = open_context(0);
    eg_error error;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (test_quick() && i < 3) continue; /* minutes under an emulator; one large one is left */
        eg_model *model;
        float y[2][2 * 1200];
        size_t count = 0;
        CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
        for (int lent = 0; lent < 2; lent++) {
            const eg_model_options options = {.time = 2, .lent = lent};
            eg_graph *g;
            eg_model_nodes nodes;
            eg_program *program;
            eg_weights *weights;
            eg_instance *instance;
            eg_tensor x, out;
            float values[600];
            uint64_t seed = 9;
            for (size_t k = 0; k < 600; k++) values[k] = test_random(&seed);
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
            const eg_output output = {"y", nodes.y};
            CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
            if (lent) CHECK_OK(eg_model_lend(model, program, &weights, &error), error);
            else {
                CHECK_OK(eg_weights_create(program, &weights, &error), error);
                CHECK_OK(eg_model_weights(model, weights, &error), error);
            }
            CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
            eg_program_leaf(program, EG_LEAF_INPUT, 0, &x);
            x.data = values;
            CHECK_OK(eg_instance_bind(instance, "x", &x, &error), error);
            CHECK_OK(eg_instance_output(instance, "y", &out, &error), error);
            CHECK_OK(eg_run(instance, NULL, &error), error);
            count = (size_t)(out.shape[0] * out.shape[1] * out.shape[2]);
            CHECK(count <= 2 * 1200, "%zu outputs", count);
            memcpy(y[lent], out.data, count * sizeof(float));
            eg_instance_destroy(instance);
            eg_weights_destroy(weights);
            eg_program_release(program);
            eg_graph_destroy(g);
        }
        CHECK(memcmp(y[0], y[1], count * sizeof(float)) == 0, "%s: other bits", specs[i]);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}
