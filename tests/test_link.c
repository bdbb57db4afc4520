/* Links: what a model gives is what it computes, linked, wherever it runs; training sets them. */
#include "test.h"
#include "export_run.h"
#include "nn/model.h"

#include <math.h>

AREA(link, "streams, batches, evaluations and exported C apply the link of a model; losses set it")

enum { I = 3, O = 4, T = 6 };
static const char *const specs[] = {"cfc:autoncp:10:4,in=3,seed=5",
                                    "cfc:7,in=3,backbone=6,proj=4,seed=5",
                                    "ltc:autoncp:10:4,in=3,seed=5", "ltc:full:5:4,in=3,seed=5"};
enum { SPECS = sizeof specs / sizeof *specs };

/* The definition, in double. */
static void apply(eg_link link, const float *y, double *out) {
    double sum = 0;
    for (int i = 0; i < O; i++) sum += exp((double)y[i]);
    for (int i = 0; i < O; i++)
        out[i] = link == EG_LINK_SOFTMAX   ? exp((double)y[i]) / sum
                 : link == EG_LINK_SIGMOID ? 1 / (1 + exp(-(double)y[i]))
                                           : (double)y[i];
}

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    return context;
}

static void run_stream(eg_model *model, float x[T][I], float y[T][O]) {
    eg_error error;
    eg_stream_program *program;
    eg_stream *stream;
    CHECK_OK(eg_stream_compile(model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    for (int t = 0; t < T; t++) CHECK_OK(eg_stream_step(stream, x[t], 1, y[t], &error), error);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
}

/* `how` asks for all steps of one sample, in whatever layout. */
static void run_graph(eg_context *context, const eg_model *model, const eg_model_options *options,
                      float x[T][I], float y[T][O]) {
    eg_graph *g;
    eg_model_nodes n;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_tensor given;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, options, &n, &error), error);
    const eg_output output = {"y", n.y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_model_weights(model, weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    eg_tensor in = {EG_F32, 3, {1, T, I}, x};
    if (options->unbatched) in = (eg_tensor){EG_F32, 2, {T, I}, x};
    CHECK_OK(eg_instance_bind(instance, "x", &in, &error), error);
    CHECK_OK(eg_instance_output(instance, "y", &given, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    memcpy(y[options->last ? T - 1 : 0], given.data, (options->last ? 1 : T) * sizeof *y);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
}

static void check_linked(const char *spec, const char *where, eg_link link, int first,
                         float raw[T][O], float got[T][O]) {
    for (int t = first; t < T; t++) {
        double want[O];
        apply(link, raw[t], want);
        for (int i = 0; i < O; i++)
            CHECK(fabs((double)got[t][i] - want[i]) < 2e-6, "%s, %s, %s, step %d: y[%d] %g, not %g",
                  spec, eg_link_name(link), where, t, i, (double)got[t][i], want[i]);
    }
}

TEST(link, wherever_a_model_runs) {
    static const struct {
        const char *name;
        eg_model_options how;
    } ways[] = {{"batch", {.time = T, .batch_first = 1}},
                {"unbatched", {.time = T, .unbatched = 1}},
                {"last", {.time = T, .batch_first = 1, .last = 1}}};
    eg_context *context = context_new();
    for (size_t s = 0; s < SPECS; s++) {
        eg_model *model;
        eg_error error;
        uint64_t seed = 3 + s;
        float x[T][I], raw[T][O], got[T][O];
        for (int i = 0; i < T * I; i++) x[i / I][i % I] = 3 * test_random(&seed);
        CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
        CHECK(eg_model_link(model) == EG_LINK_IDENTITY, "%s: a link", specs[s]);
        run_stream(model, x, raw);
        for (int k = 0; eg_link_name((eg_link)k); k++) {
            const eg_link link = (eg_link)k;
            CHECK_OK(eg_model_link_set(model, link, &error), error);
            run_stream(model, x, got);
            check_linked(specs[s], "stream", link, 0, raw, got);
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                run_graph(context, model, &ways[w].how, x, got);
                check_linked(specs[s], ways[w].name, link, ways[w].how.last ? T - 1 : 0, raw, got);
            }
            /* what a loss is made of stands before the link */
            run_graph(context, model,
                      &(eg_model_options){.time = T, .batch_first = 1, .standard = 1}, x, got);
            check_linked(specs[s], "standard", EG_LINK_IDENTITY, 0, raw, got);
        }
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    CHECK(!eg_link_name((eg_link)3), "a fourth link");
}

TEST(link, as_c) {
    static exporter e;
    if (!exporter_begin(&e, 1e-5)) return;
    e.runs = 20;
    eg_context *context = context_new();
    for (size_t s = 0; s < SPECS; s++)
        for (int k = 1; eg_link_name((eg_link)k); k++) {
            eg_model *model;
            eg_stream_program *stream;
            eg_weights *weights;
            eg_error error;
            char name[32];
            snprintf(name, sizeof name, "linked_%zu_%d", s, k);
            CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
            CHECK_OK(eg_model_link_set(model, (eg_link)k, &error), error);
            CHECK_OK(eg_stream_compile(model, &stream, &error), error);
            eg_program *program = eg__stream_program_inner(stream, &weights);
            exporter_add_program(&e, program, weights, name, -2, 2);
            eg_stream_program_destroy(stream);
            eg_model_destroy(model);
        }
    exporter_end(&e);
    eg_context_destroy(context);
}

/* The header says what comes out, whatever the classes are called. */
TEST(link, header_names_what_comes_out) {
    static const char *const labels[] = {"clear", "*/ rain /*", "a\\\nb", "snow"};
    static const char *const loss[] = {"classes"}, *const inputs[] = {"CO2", "Light", "Hour"};
    static const struct {
        eg_link link;
        const char *parts[4];
    } cases[] = {{EG_LINK_SOFTMAX,
                  {"Each y is a probability: the softmax of", "y[0]  probability of 'clear'",
                   "y[1]  probability of '* / rain / *'", "y[2]  probability of 'a??b'"}},
                 {EG_LINK_IDENTITY,
                  {"x[0]  'CO2'", "y[0]  logit of 'clear'", "y[3]  logit of 'snow'", "elapsed: "}}};
    eg_context *context = context_new();
    eg_model *model;
    eg_error error;
    CHECK_OK(eg_model_open(context, specs[0], &model, &error), error);
    CHECK_OK(eg_model_note_set(model, "labels", 4, labels, &error), error);
    CHECK_OK(eg_model_note_set(model, "inputs", 3, inputs, &error), error);
    CHECK_OK(eg_model_note_set(model, "loss", 1, loss, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(eg_model_link_set(model, cases[i].link, &error), error);
        const char *folder = test_folder();
        CHECK_OK(eg_model_export_c(model, folder, "weather", NULL, &error), error);
        char path[600], text[4096] = "";
        snprintf(path, sizeof path, "%s/weather.h", folder);
        FILE *file = fopen(path, "r");
        if (file) text[fread(text, 1, sizeof text - 1, file)] = 0;
        if (file) fclose(file);
        for (size_t k = 0; k < 4; k++)
            CHECK(strstr(text, cases[i].parts[k]), "no '%s' in\n%s", cases[i].parts[k], text);
    }
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* Of many inputs the first are named, and the others counted. */
TEST(link, header_names_the_first_inputs) {
    enum { MANY = 70 };
    static char names[MANY][8];
    const char *inputs[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "in %d", i);
        inputs[i] = names[i];
    }
    eg_context *context = context_new();
    eg_model *model;
    eg_error error;
    char path[600], text[8192] = "";
    CHECK_OK(eg_model_open(context, "cfc:4,in=70,backbone=0", &model, &error), error);
    CHECK_OK(eg_model_note_set(model, "inputs", MANY, inputs, &error), error);
    const char *folder = test_folder();
    CHECK_OK(eg_model_export_c(model, folder, "wide", NULL, &error), error);
    snprintf(path, sizeof path, "%s/wide.h", folder);
    FILE *file = fopen(path, "r");
    if (file) text[fread(text, 1, sizeof text - 1, file)] = 0;
    if (file) fclose(file);
    CHECK(strstr(text, "x[63]  'in 63'\n *   and 6 more in their order\n") &&
              !strstr(text, "x[64]"),
          "%s", text);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- training */
enum { ROWS = 60 };
static eg_data *make_data(eg_context *context, bool classes) {
    static const char *const names[] = {"a", "b", "c", "p", "q", "r", "s", "class"};
    enum { COLUMNS = 8 };
    static double values[ROWS][COLUMNS];
    uint64_t seed = 9;
    eg_data *data = NULL;
    eg_error error;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            const float random = test_random(&seed);
            values[i][k] = k < 3 ? (double)random : k < 7 ? random > 0 : i % 4;
        }
    const eg_table table = {
        .rows = ROWS, .columns = COLUMNS, .names = names, .values = &values[0][0]};
    const eg_data_options options = {.inputs = "a,b,c",
                                     .targets = classes ? "class" : "p,q,r,s",
                                     .classes = classes,
                                     .window = 10};
    CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
    return data;
}

typedef struct same_rows {
    const eg_data *data;
    eg_model *model;
    const char *what;
    int windows;
} same_rows;

static void compare(void *user, uint64_t window, uint64_t steps, const float *outputs) {
    same_rows *s = user;
    float x[10][I], y[T][O], target[10 * O], weight[10 * O];
    const eg_train_batch batch = {
        .x = &x[0][0], .target = target, .weight = weight, .target_size = 1};
    eg_data_fill(s->data, NULL, window, 1, 10, 0, &batch);
    run_stream(s->model, x, y);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < O; i++)
            CHECK(fabsf(y[t][i] - outputs[t * O + i]) < 2e-6f, "%s, window %d, step %d: %g, not %g",
                  s->what, (int)window, t, (double)outputs[t * O + i], (double)y[t][i]);
    s->windows += steps == 10;
}

TEST(link, follows_from_the_loss) {
    static const struct {
        eg_loss loss;
        eg_link link;
    } cases[] = {{EG_LOSS_BINARY, EG_LINK_SIGMOID},
                 {EG_LOSS_CLASSES, EG_LINK_SOFTMAX},
                 {EG_LOSS_MSE, EG_LINK_IDENTITY},
                 {EG_LOSS_MAE, EG_LINK_IDENTITY},
                 {EG_LOSS_HUBER, EG_LINK_IDENTITY}};
    eg_context *context = context_new();
    for (size_t s = 0; s < SPECS; s++) {
        eg_model *model;
        eg_error error;
        CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) { /* one after the other */
            eg_data *data = make_data(context, cases[i].loss == EG_LOSS_CLASSES);
            const eg_fit_options options = {.loss = cases[i].loss, .epochs = 1, .batch = 3};
            CHECK(eg_loss_link(cases[i].loss) == cases[i].link, "another link of loss %zu", i);
            CHECK_OK(eg_fit(model, data, NULL, &options, NULL, &error), error);
            CHECK(eg_model_link(model) == cases[i].link, "%s after '%s'",
                  eg_link_name(eg_model_link(model)), eg_loss_name(cases[i].loss));
            same_rows same = {data, model, specs[s], 0};
            const eg_evaluate_options ask = {
                .loss = cases[i].loss, .outputs = compare, .user = &same};
            double loss;
            CHECK_OK(eg_evaluate(model, data, &ask, &loss, NULL, &error), error);
            CHECK(same.windows == 6 && isfinite(loss), "%d windows, loss %g", same.windows, loss);
            eg_data_destroy(data);
        }
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

TEST(link, refusals) {
    static const float mean[O], scale[O] = {1, 1, 1, 1};
    const eg_scaling units = {.output_mean = mean, .output_scale = scale};
    eg_context *context = context_new();
    eg_data *data = make_data(context, false);
    eg_model *model;
    eg_error error;
    eg_fit_options options = {.loss = EG_LOSS_BINARY, .epochs = 1};
    CHECK_OK(eg_model_open(context, specs[1], &model, &error), error);
    CHECK_OK(eg_model_scaling_set(model, &units, &error), error);
    CHECK_FAILS(eg_model_link_set(model, EG_LINK_SIGMOID, &error), error, EG_ERR_ARGUMENT,
                "the outputs have units");
    CHECK_FAILS(eg_fit(model, data, NULL, &options, NULL, &error), error, EG_ERR_ARGUMENT,
                "the outputs have units");
    CHECK_FAILS(eg_model_link_set(model, (eg_link)7, &error), error, EG_ERR_ARGUMENT,
                "unknown link 7");
    CHECK_OK(eg_model_scaling_set(model, &(eg_scaling){0}, &error), error);
    CHECK_OK(eg_model_link_set(model, EG_LINK_SIGMOID, &error), error);
    CHECK_FAILS(eg_model_scaling_set(model, &units, &error), error, EG_ERR_ARGUMENT,
                "outputs that are probabilities (link 'sigmoid') cannot have units");
    /* a figure of logits would not be one of what the model gives */
    CHECK_FAILS(
        eg_evaluate(model, data, &(eg_evaluate_options){.loss = EG_LOSS_MSE}, NULL, NULL, &error),
        error, EG_ERR_ARGUMENT, "the loss 'mse' does not measure; try 'binary'");
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, "llama:1:32,vocab=16,heads=2", &model, &error), error);
    CHECK_FAILS(eg_model_link_set(model, EG_LINK_SOFTMAX, &error), error, EG_ERR_ARGUMENT,
                "a transformer gives logits");
    eg_model_destroy(model);
    eg_data_destroy(data);
    eg_context_destroy(context);
}
