/* Units and notes of a model: what it takes and gives, and what it remembers. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(units, "a model in other units says what the bare one says; notes are kept")

enum { I = 2, O = 3, T = 5 };
static const float input_mean[I] = {10, -2}, input_scale[I] = {4, 0.5f};
static const float output_mean[O] = {1, 0, -7}, output_scale[O] = {2, 1, 0.25f};
static const eg_scaling units = {input_mean, input_scale, output_mean, output_scale, 30};

/* Outputs of a stream and of a batch, [2][T][O]; `given`: the batch is told the elapsed times. */
static void run(eg_context *context, eg_model *model, float x[T][I], float span, bool given,
                float y[2][T][O]) {
    eg_error error;
    eg_stream_program *program;
    eg_stream *stream;
    CHECK_OK(eg_stream_compile(model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    for (int t = 0; t < T; t++)
        CHECK_OK(eg_stream_step(stream, x[t], span, y[0][t], &error), error);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    eg_graph *g;
    eg_model_nodes n;
    eg_program *compiled;
    eg_weights *weights;
    eg_instance *instance;
    float timespans[T] = {span, span, span, span, span};
    const eg_model_options options = {.batch = 1, .time = T, .batch_first = 1, .timespans = given};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, &options, &n, &error), error);
    const eg_output output = {"y", n.y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &compiled, &error), error);
    CHECK_OK(eg_weights_create(compiled, &weights, &error), error);
    CHECK_OK(eg_model_weights(model, weights, &error), error);
    CHECK_OK(eg_instance_create(compiled, weights, &instance, &error), error);
    const eg_tensor tensors[] = {
        {EG_F32, 3, {1, T, I}, x}, {EG_F32, 2, {1, T}, timespans}, {EG_F32, 3, {1, T, O}, y[1]}};
    CHECK_OK(eg_instance_bind(instance, "x", &tensors[0], &error), error);
    if (given) CHECK_OK(eg_instance_bind(instance, "timespans", &tensors[1], &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &tensors[2], &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(compiled);
    eg_graph_destroy(g);
}

TEST(units, in_streams_and_batches) {
    static const char *const specs[] = {"cfc:6,in=2,proj=3,backbone=4,seed=2",
                                        "ltc:autoncp:9:3,in=2,seed=2",
                                        "cfc:autoncp:9:3,in=2,seed=2"};
    for (size_t s = 0; s < 3; s++) {
        eg_context *context;
        eg_model *model;
        eg_error error;
        float raw[T][I], standard[T][I], want[2][T][O], got[2][T][O];
        uint64_t seed = 5;
        for (int t = 0; t < T; t++)
            for (int i = 0; i < I; i++) {
                standard[t][i] = test_random(&seed);
                raw[t][i] = standard[t][i] * input_scale[i] + input_mean[i];
            }
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
        run(context, model, standard, 1.5f, true, want);
        CHECK_OK(eg_model_scaling_set(model, &units, &error), error);
        run(context, model, raw, 45, true, got);
        for (int k = 0; k < 2; k++)
            for (int t = 0; t < T; t++)
                for (int o = 0; o < O; o++) {
                    const float y = want[k][t][o] * output_scale[o] + output_mean[o];
                    CHECK(fabsf(y - got[k][t][o]) < 1e-5f, "%s, step %d: %g, not %g", specs[s], t,
                          (double)got[k][t][o], (double)y);
                }
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}

/* Where nobody says what has passed, it is what the model learned, in streams and batches alike. */
TEST(units, usual_span) {
    static const struct {
        float unit; /* 0 = none */
        const char *note;
        float want;
    } cases[] = {{0, NULL, 1},     {0, "2.5", 2.5f},  {30, NULL, 30}, {30, "45", 45},
                 {30, "30", 30},   {30, "often", 30}, {30, "-1", 30}, {0, "1e99", 1},
                 {30, "1e-99", 30}}; /* no float: 0 would stop time */
    static const char *const specs[] = {"cfc:6,in=2,proj=3,backbone=4,seed=2",
                                        "ltc:autoncp:9:3,in=2,seed=2"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t s = 0; s < 2; s++) {
            eg_model *model;
            float x[T][I] = {{1, 2}, {-1, 0}, {0.5f, 1}}, y[2][T][O];
            CHECK_OK(eg_model_open(context, specs[s], &model, &error), error);
            CHECK_OK(eg_model_scaling_set(model, &(eg_scaling){.time = cases[i].unit}, &error),
                     error);
            if (cases[i].note)
                CHECK_OK(eg_model_note_set(model, "median_span", 1, &cases[i].note, &error), error);
            const float span = eg_model_timespan(model);
            CHECK(span == cases[i].want, "case %zu: %g", i, (double)span);
            run(context, model, x, span, false, y);
            for (int t = 0; t < T; t++)
                for (int o = 0; o < O; o++)
                    CHECK(fabsf(y[0][t][o] - y[1][t][o]) < 1e-5f,
                          "case %zu, %s, step %d: a batch has %g, a stream %g", i, specs[s], t,
                          (double)y[1][t][o], (double)y[0][t][o]);
            eg_model_destroy(model);
        }
    eg_context_destroy(context);
}

TEST(units, refusals) {
    static const float zero[] = {1, 0}, nothing[] = {NAN, 1};
    static const struct {
        eg_scaling units;
        const char *part;
    } cases[] = {
        {{.input_mean = input_mean}, "units of inputs: both mean and scale are needed"},
        {{.input_mean = input_mean, .input_scale = zero},
         "units of input 1: mean -2 or scale 0 is not a finite number, or the scale is not above 0"},
        {{.input_mean = nothing, .input_scale = input_scale}, "input 0: mean nan"},
        {{.time = -1}, "time -1"}};
    eg_context *context;
    eg_model *model;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:3,in=2", &model, &error), error);
    CHECK_OK(eg_model_scaling_set(model, &units, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_FAILS(eg_model_scaling_set(model, &cases[i].units, &error), error, EG_ERR_ARGUMENT,
                    cases[i].part);
    eg_scaling kept;
    eg_model_scaling_get(model, &kept);
    CHECK(kept.input_mean[1] == -2 && kept.output_scale[2] == 0.25f && kept.time == 30,
          "a refusal changed the units");
    CHECK_OK(eg_model_scaling_set(model, &kept, &error), error); /* its own */
    eg_model_scaling_get(model, &kept);
    CHECK(kept.input_mean[1] == -2, "its own units changed");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(units, notes) {
    static const char *const names[] = {"CO2", "a, b", ""};
    eg_context *context;
    eg_model *model;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:3,in=2", &model, &error), error);
    CHECK(!eg_model_note(model, "inputs", 0), "a note of nothing");
    CHECK_OK(eg_model_note_set(model, "inputs", 3, names, &error), error);
    CHECK_OK(eg_model_note_set(model, "loss", 1, names, &error), error);
    CHECK(strcmp(eg_model_note(model, "inputs", 1), "a, b") == 0 &&
              !eg_model_note(model, "inputs", 3),
          "another note");
    CHECK_OK(eg_model_note_set(model, "inputs", 1, names + 1, &error), error);
    CHECK(strcmp(eg_model_note(model, "inputs", 0), "a, b") == 0, "not replaced");
    CHECK_OK(eg_model_note_set(model, "inputs", 0, NULL, &error), error);
    CHECK(!eg_model_note(model, "inputs", 0) && eg_model_note(model, "loss", 0), "not removed");
    CHECK_FAILS(eg_model_note_set(model, "", 1, names, &error), error, EG_ERR_ARGUMENT, "key");
    char key[32];
    eg_status status = EG_OK;
    for (int i = 0; !status && i < 100; i++) {
        snprintf(key, sizeof key, "k%d", i);
        status = eg_model_note_set(model, key, 1, names, &error);
    }
    CHECK(status == EG_ERR_UNSUPPORTED, "a hundred notes: %s", eg_status_name(status));
    eg_model_destroy(model);
    eg_context_destroy(context);
}
