/* Training in half: rounded products, the scale of the loss, losses beside those of f32. */
#include "test.h"
#include "fit_data.h"
#include "graph/graph.h"

#include <math.h>

AREA(half, "products of f16 and bf16, the scale of the loss, losses within 1 % of f32")

static const eg_type types[] = {EG_F32, EG_BF16, EG_F16};

/* ---- products */
static bool is_rounded(const eg_graph *g, eg_node node, const char *wanted) {
    eg_node_info info = {.size = sizeof info};
    return eg_graph_node(g, node, &info, NULL) == EG_OK && strcmp(info.operation, wanted) == 0;
}

/* Both sides of every product, forward and backward, outside of scans and inside. */
TEST(half, every_product_is_rounded) {
    static const char *const specs[] = {"cfc:16,in=3,proj=2,backbone=16x2,mixed=1",
                                        "cfc:autoncp:16:2,in=3", "ltc:autoncp:12:2,in=3"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++) {
            eg_model *model;
            eg_trainer *t;
            eg_node_info info = {.size = sizeof info};
            size_t products = 0, roundings = 0;
            const char *wanted = types[k] == EG_F16 ? "round_f16" : "round_bf16";
            const eg_train_options options = {.batch = 4, .time = 5, .dtype = types[k]};
            CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
            CHECK_OK(eg_trainer_create(model, &options, &t, &error), error);
            const eg_graph *g = eg_program_graph(eg_trainer_program(t));
            for (uint32_t n = 1; n <= eg_graph_size(g); n++) {
                eg_graph_node(g, (eg_node){n}, &info, NULL);
                roundings += strncmp(info.operation, "round_", 6) == 0;
                if (strcmp(info.operation, "matmul") != 0) continue;
                products++;
                const bool by_itself = g->nodes[n].kind == (unsigned)types[k]; /* what it does */
                CHECK(types[k] == EG_F32 || by_itself ||
                          (is_rounded(g, info.inputs[0], wanted) &&
                           is_rounded(g, info.inputs[1], wanted)),
                      "%s, %s: product %u has a side that is not rounded", specs[i], wanted, n);
            }
            CHECK(products > 4 || i == 2, "%s: %zu products", specs[i], products);
            CHECK(roundings <= (types[k] == EG_F32 ? 0 : 2 * products), "%zu roundings", roundings);
            eg_trainer_destroy(t);
            eg_model_destroy(model);
        }
    eg_context_destroy(context);
}

/* A product of rounded sides, said in two ways: the same but for the order of sums. */
static void product_run(eg_context *context, bool explicit, eg_type type, const float *x,
                        const float *w, float *y) {
    enum { M = 7, K = 33, N = 19 };
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node a = eg_input(g, "x", EG_F32, 2, (uint64_t[]){M, K});
    eg_node b = eg_parameter(g, "w", 2, (uint64_t[]){K, N});
    if (explicit) {
        a = type == EG_F16 ? eg_round_f16(g, a) : eg_round_bf16(g, a);
        b = type == EG_F16 ? eg_round_f16(g, b) : eg_round_bf16(g, b);
    }
    const eg_output output = {"y", eg_matmul(g, a, b)};
    const eg_compile_options options = {.products = explicit ? EG_F32 : type};
    CHECK_OK(eg_compile(context, g, 1, &output, &options, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_weights_begin(weights, 1, &error), error);
    eg_tensor tensor;
    CHECK_OK(eg_weights_tensor(weights, "w", &tensor, &error), error);
    memcpy(tensor.data, w, K * N * sizeof *w);
    eg_weights_end(weights);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    const eg_tensor in = {EG_F32, 2, {M, K}, (void *)(uintptr_t)x}, out = {EG_F32, 2, {M, N}, y};
    CHECK_OK(eg_instance_bind(instance, "x", &in, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &out, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
}

TEST(half, products_of_rounded_sides) {
    float x[7 * 33], w[33 * 19], a[7 * 19], b[7 * 19];
    eg_context *context;
    eg_error error;
    uint64_t state = 11;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = test_random(&state);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = test_random(&state);
    for (unsigned k = 1; k < 3; k++) {
        product_run(context, false, types[k], x, w, a);
        product_run(context, true, types[k], x, w, b);
        for (size_t i = 0; i < sizeof a / sizeof *a; i++)
            CHECK(fabsf(a[i] - b[i]) <= 1e-5f, "%s: y[%zu] is %g, not %g", eg_type_name(types[k]),
                  i, (double)a[i], (double)b[i]);
        product_run(context, false, EG_F32, x, w, b);
        CHECK(memcmp(a, b, sizeof a) != 0, "%s: nothing is rounded", eg_type_name(types[k]));
    }
    eg_context_destroy(context);
}

/* ---- losses beside those of f32 */
static void compare(const fit_data *d, const char *name, const eg_fit_options *options) {
    double losses[3][2] = {{0}};
    eg_error error;
    for (unsigned k = 0; k < 3; k++) {
        eg_fit_options how = *options;
        eg_fit_result r;
        eg_model *model;
        eg_scaling units;
        how.dtype = types[k];
        CHECK_OK(eg_model_open(d->context, name, &model, &error), error);
        eg_model_scaling_get(d->model, &units);
        CHECK_OK(eg_model_scaling_set(model, &units, &error), error);
        CHECK_OK(eg_fit(model, d->training, d->validation, &how, &r, &error), error);
        losses[k][0] = r.history[r.history_count - 1].loss;
        losses[k][1] = r.best;
        CHECK(types[k] == EG_F16 ? r.scale >= 1024 : r.scale == 1 && !r.skipped, "scale %g",
              r.scale);
        /* synapses are no products: of an LTC nothing is rounded */
        CHECK(k == 0 || (losses[k][0] == losses[0][0]) == (strncmp(name, "ltc", 3) == 0),
              "%s, %s: loss %.9g, in f32 %.9g", name, eg_type_name(types[k]), losses[k][0],
              losses[0][0]);
        for (unsigned i = 0; i < 2; i++)
            CHECK(fabs(losses[k][i] - losses[0][i]) <= 0.01 * losses[0][i],
                  "%s, %s: loss %g, in f32 %g", name, eg_type_name(types[k]), losses[k][i],
                  losses[0][i]);
        eg_fit_release(model, &r);
        eg_model_destroy(model);
    }
}

/* The policy of the demonstration, a deep one, and one whose synapses stay f32. With a rate of 0.01 the deep
 * one's losses change by some percent with any rounding, better or worse: that would compare chance. */
TEST(half, losses_as_in_f32) {
    static const char *const specs[] = {"cfc:autoncp:28:1,in=2,seed=1",
                                        "cfc:32,in=2,proj=1,backbone=32x2,seed=1",
                                        "ltc:autoncp:12:1,in=2,seed=1"};
    for (unsigned i = 0; i < 3; i++) {
        fit_data d;
        eg_error error;
        const eg_fit_options options = {.epochs = test_emulated() ? 1
                                                  : test_quick()  ? 3
                                                                  : 12,
                                        .batch = 8,
                                        .optimizer = {.learning_rate = 0.003, .clip_norm = 1},
                                        .schedule = {.kind = EG_SCHEDULE_COSINE}};
        CHECK_OK(fit_data_open(&d, NULL, specs[i], false, &error), error);
        compare(&d, specs[i], &options);
        fit_data_close(&d);
    }
}

/* Occupancy of a room, as in examples/occupancy, with every fourth window. */
TEST(half, occupancy) {
    const char *path = test_data("occupancy/datatraining.txt");
    if (!path) return test_skip("ELEGANS_DATA is not set");
    if (test_quick()) return test_skip("a training as in losses_as_in_f32, and a long one");
    static const char spec[] = "cfc:32,in=5,proj=2,backbone=64,seed=1";
    fit_data d = {0};
    eg_error error;
    eg_table table;
    CHECK_OK(eg_context_create(NULL, &d.context, &error), error);
    d.made = d.context;
    CHECK_OK(eg_table_read(d.context, path, &(eg_table_options){.short_header = 1}, &table, &error),
             error);
    const eg_data_options columns = {.inputs = "Temperature,Humidity,Light,CO2,HumidityRatio",
                                     .targets = "Occupancy",
                                     .classes = 1,
                                     .window = 16,
                                     .stride = 4};
    const eg_split split = {.kind = EG_SPLIT_WINDOWS, .fraction = 0.1, .seed = 893429};
    CHECK_OK(eg_data_create(d.context, 1, &table, &columns, &d.whole, &error), error);
    CHECK_OK(eg_data_split(d.whole, &split, &d.training, &d.validation, &error), error);
    CHECK_OK(eg_model_open(d.context, spec, &d.model, &error), error);
    float mean[5], scale[5];
    CHECK_OK(eg_data_scaling(d.training, 0, mean, scale, NULL, NULL, NULL, &error), error);
    const eg_scaling units = {.input_mean = mean, .input_scale = scale};
    CHECK_OK(eg_model_scaling_set(d.model, &units, &error), error);
    const eg_fit_options options = {.loss = EG_LOSS_CLASSES,
                                    .epochs = 2,
                                    .batch = 16,
                                    .optimizer = {.learning_rate = 0.001, .clip_norm = 1},
                                    .schedule = {.kind = EG_SCHEDULE_COSINE, .warmup = 0.2}};
    compare(&d, spec, &options);
    eg_table_release(d.context, &table);
    fit_data_close(&d);
}

/* ---- the scale */
typedef struct pupil {
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
} pupil;

static void pupil_open(pupil *p, eg_type type, float target) {
    const eg_train_options options = {
        .batch = 2, .dtype = type, .optimizer = {.kind = EG_SGD, .learning_rate = 1e-12}};
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &p->context, &error), error);
    CHECK_OK(eg_model_open(p->context, "cfc:4,in=2,proj=1,backbone=4", &p->model, &error), error);
    CHECK_OK(eg_trainer_create(p->model, &options, &p->trainer, &error), error);
    const eg_train_batch batch = eg_trainer_batch(p->trainer);
    for (int i = 0; i < 4; i++) batch.x[i] = (float)i - 1.5f;
    for (int i = 0; i < 2; i++) batch.target[i] = target;
}
static void pupil_close(pupil *p) {
    eg_trainer_destroy(p->trainer);
    eg_model_destroy(p->model);
    eg_context_destroy(p->context);
}

/* A loss so large that its gradient overflows: the step is skipped, the scale halved, until it fits. */
TEST(half, overflow_halves_the_scale) {
    pupil p;
    eg_error error;
    eg_train_result r = {0};
    pupil_open(&p, EG_F16, 1000);
    int skipped = 0;
    const uint64_t before = fit_model_bits(p.model);
    double scale = 65536;
    for (; skipped < 40; skipped++) {
        CHECK_OK(eg_trainer_step(p.trainer, 0, &r, &error), error);
        CHECK(isfinite(r.loss), "a loss of %g", r.loss);
        if (!r.skipped) break;
        scale /= 2;
        CHECK(r.scale == scale && isnan(r.gradient_norm), "scale %g, norm %g", r.scale,
              r.gradient_norm);
        CHECK_OK(eg_trainer_store(p.trainer, p.model, &error), error);
        CHECK(fit_model_bits(p.model) == before, "a step that was skipped changed the model");
    }
    CHECK(skipped > 2 && skipped < 12 && r.scale == scale, "%d skipped, scale %g", skipped,
          r.scale);
    /* the gradient is what it is without a scale */
    pupil plain;
    eg_train_result f32;
    pupil_open(&plain, EG_F32, 1000);
    CHECK_OK(eg_trainer_step(plain.trainer, 0, &f32, &error), error);
    CHECK(fabs(r.gradient_norm - f32.gradient_norm) < 0.01 * f32.gradient_norm, "norm %g, not %g",
          r.gradient_norm, f32.gradient_norm);
    CHECK(f32.scale == 1 && !f32.skipped, "f32 has a scale of %g", f32.scale);
    pupil_close(&plain);
    pupil_close(&p);
    /* bf16 reaches as far as f32 */
    pupil_open(&p, EG_BF16, 1e15f);
    CHECK_OK(eg_trainer_step(p.trainer, 0, &r, &error), error);
    CHECK(!r.skipped && r.scale == 1, "scale %g", r.scale);
    pupil_close(&p);
}

/* What several batches added up to is forgotten with the step that is skipped. */
TEST(half, overflow_of_a_sum_is_forgotten) {
    pupil p;
    eg_error error;
    eg_train_result r = {.skipped = 1};
    pupil_open(&p, EG_F16, 1000);
    int skipped = -1;
    for (; r.skipped && skipped < 40; skipped++) {
        for (int i = 0; i < 3; i++) CHECK_OK(eg_trainer_gradient(p.trainer, &r, &error), error);
        CHECK_OK(eg_trainer_update(p.trainer, 0, &r, &error), error);
    }
    CHECK(skipped > 2 && skipped < 12, "%d skipped", skipped);
    pupil_close(&p);
}

TEST(half, scale_doubles) {
    pupil p;
    eg_error error;
    eg_train_result r = {0};
    pupil_open(&p, EG_F16, 0.1f);
    for (int i = 1; i <= 4000; i++) {
        CHECK_OK(eg_trainer_step(p.trainer, 0, &r, &error), error);
        CHECK(r.scale == (i < 2000   ? 65536
                          : i < 4000 ? 131072
                                     : 262144),
              "step %d: scale %g", i, r.scale);
    }
    pupil_close(&p);
}

/* What no scale helps against ends the training, with its source. */
TEST(half, beyond_all_scales) {
    pupil p;
    eg_error error;
    pupil_open(&p, EG_F16, 1e15f);
    for (int halved = 0; halved < 30; halved++)
        CHECK_OK(eg_trainer_step(p.trainer, 0, NULL, &error), error);
    CHECK_FAILS(eg_trainer_step(p.trainer, 0, NULL, &error), error, EG_ERR_FORMAT,
                "not even with a loss scale of 6.10352e-05");
    CHECK(strstr(error.message, "(round_f16)"), "%s", error.message);
    pupil_close(&p);
    /* forward nothing is scaled: a weight that is no f16 */
    pupil_open(&p, EG_F16, 0);
    eg_tensor tensor;
    for (size_t i = 0; eg_model_tensor(p.model, i, &tensor, NULL); i++)
        if (tensor.rank == 2) *(float *)tensor.data = 70000;
    eg_trainer_destroy(p.trainer);
    const eg_train_options options = {.batch = 2, .dtype = EG_F16};
    CHECK_OK(eg_trainer_create(p.model, &options, &p.trainer, &error), error);
    CHECK_FAILS(eg_trainer_step(p.trainer, 0, NULL, &error), error, EG_ERR_FORMAT,
                "the first inf comes from node");
    CHECK(strstr(error.message, "(round_f16)"), "%s", error.message);
    pupil_close(&p);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    const eg_fit_options options = {.epochs = 1, .batch = 32, .dtype = EG_F16};
    eg_status status = fit_data_open_in(&d, context, user, false, error);
    if (!status) status = eg_fit(d.model, d.training, NULL, &options, NULL, error);
    fit_data_close(&d);
    return status;
}

TEST(half, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:4,in=2,backbone=0,proj=1");
    CHECK(failed > 100, "only %d allocations", failed);
}
