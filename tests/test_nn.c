/* Models from specs and files, streams, time. */
#include "test.h"
#include "elegans/elegans.h"
#include "nn/model.h"

#include <math.h>

AREA(nn, "specs, files, streams, elapsed times, lengths; what cannot be is refused by name")

typedef struct fixture {
    eg_context *context;
    eg_model *model;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_model_info info;
    eg_model_nodes nodes;
} fixture;

static void open_model(fixture *f, const char *spec) {
    eg_error error = {0};
    eg_context_options options = {.threads = 1};
    CHECK_OK(eg_context_create(&options, &f->context, &error), error);
    CHECK_OK(eg_model_open(f->context, spec, &f->model, &error), error);
    f->info.size = sizeof f->info;
    if (f->model) eg_model_info_get(f->model, &f->info);
}

static void compile(fixture *f, const eg_model_options *options) {
    eg_error error = {0};
    eg_graph *g;
    CHECK_OK(eg_graph_create(f->context, &g, &error), error);
    CHECK_OK(eg_model_build(f->model, g, options, &f->nodes, &error), error);
    eg_output outputs[EG_MODEL_STATES + 1] = {{"y", f->nodes.y}};
    static const char *const names[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};
    for (size_t i = 0; i < f->nodes.states; i++)
        outputs[1 + i] = (eg_output){names[i], f->nodes.final[i]};
    CHECK_OK(eg_compile(f->context, g, 1 + f->nodes.states, outputs, NULL, &f->program, &error),
             error);
    CHECK_OK(eg_weights_create(f->program, &f->weights, &error), error);
    CHECK_OK(eg_model_weights(f->model, f->weights, &error), error);
    CHECK_OK(eg_instance_create(f->program, f->weights, &f->instance, &error), error);
    eg_tensor unused;
    for (size_t i = 0; i <= f->nodes.states; i++)
        CHECK_OK(eg_instance_output(f->instance, outputs[i].name, &unused, &error), error);
    eg_graph_destroy(g);
}

static void close_all(fixture *f) {
    eg_instance_destroy(f->instance);
    eg_weights_destroy(f->weights);
    eg_program_release(f->program);
    eg_model_destroy(f->model);
    eg_context_destroy(f->context);
    *f = (fixture){0};
}

static void fill(float *to, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) to[i] = test_random(&seed);
}

static const char *const specs[] = {
    "cfc:12,in=5,seed=3",
    "cfc:12,in=5,backbone=16+8,activation=silu,mode=no_gate",
    "cfc:12,in=5,backbone=0,mode=pure,proj=3",
    "cfc:12,in=5,keras=1,mixed=1",
    "cfc:autoncp:20:4,in=5,seed=9",
    "cfc:ncp:6:5:3,in=5,sensory_fanout=3,inter_fanout=2,motor_fanin=2,mixed=1",
    "cfc:random:9,in=5,sparsity=0.5",
    "cfc:autoncp:20:4,in=5,backbone=16+8,activation=silu,mixed=1,proj=3",
    "cfc:random:4,in=5,sparsity=0.9,backbone=8,mode=pure",
    "cfc:autoncp:14:3,in=5,backbone=8x3,dropout=0.2,keras=1/cfc:autoncp:9:2,backbone=4,mode=no_gate",
    "ltc:10,in=5",
    "ltc:autoncp:20:4,in=5,unfolds=3,explicit=1,input_map=linear,output_map=none",
    "ltc:autoncp:20:4,in=5,mixed=1,wiring_seed=7",
    "cfc:12,in=5/cfc:autoncp:14:3/ltc:6",
};
enum { SPECS = sizeof specs / sizeof *specs, T = 9 };

/* Inputs and states that are not finite are found, each by its place; a reset mends the state. */
static void check_finite(eg_stream *stream, const eg_model_info *info) {
    eg_error error;
    float *x = test_alloc((size_t)info->inputs * sizeof *x);
    float *state = test_alloc((size_t)info->state * sizeof *state);
    char text[64];
    for (uint64_t i = 0; i < info->inputs; i++) x[i] = 1;
    CHECK_OK(eg_stream_check(stream, x, &error), error);
    for (uint64_t i = 0; i < info->inputs; i++) {
        x[i] = i % 2 ? NAN : -INFINITY;
        snprintf(text, sizeof text, "input %llu is", (unsigned long long)i + 1);
        CHECK_FAILS(eg_stream_check(stream, x, &error), error, EG_ERR_ARGUMENT, text);
        CHECK_OK(eg_stream_check(stream, NULL, &error), error);
        x[i] = 1;
    }
    for (uint64_t i = 0; i < info->state; i++) {
        eg_stream_state_get(stream, state);
        const float kept = state[i];
        state[i] = i % 2 ? NAN : INFINITY;
        eg_stream_state_set(stream, state);
        CHECK_FAILS(eg_stream_check(stream, x, &error), error, EG_ERR_FORMAT, "state");
        if (i % 3 == 0) eg_stream_reset(stream);
        else {
            state[i] = kept;
            eg_stream_state_set(stream, state);
        }
        CHECK_OK(eg_stream_check(stream, x, &error), error);
    }
    CHECK_FAILS(eg_stream_check(NULL, x, &error), error, EG_ERR_ARGUMENT, "no stream");
    free(state);
    free(x);
}

/* One step at a time is the whole sequence; the state can be taken out and put back. */
TEST(nn, streams_are_sequences) {
    for (size_t i = 0; i < SPECS; i++) {
        fixture f = {0};
        eg_error error = {0};
        open_model(&f, specs[i]);
        if (!f.model) continue;
        compile(&f, &(eg_model_options){.time = T, .timespans = 1});
        float x[T * 5], timespans[T], y[64], state[256], again[64];
        fill(x, T * f.info.inputs, i + 1);
        for (int t = 0; t < T; t++) timespans[t] = 0.2f + 0.3f * (float)t;
        const eg_tensor xs = {EG_F32, 3, {T, 1, f.info.inputs}, x},
                        ts = {EG_F32, 2, {T, 1}, timespans};
        CHECK_OK(eg_instance_bind(f.instance, "x", &xs, &error), error);
        CHECK_OK(eg_instance_bind(f.instance, "timespans", &ts, &error), error);
        CHECK_OK(eg_run(f.instance, NULL, &error), error);
        eg_tensor all;
        CHECK_OK(eg_instance_output(f.instance, "y", &all, &error), error);
        eg_stream_program *program;
        eg_stream *stream, *other;
        CHECK_OK(eg_stream_compile(f.model, &program, &error), error);
        CHECK_OK(eg_stream_create(program, &stream, &error), error);
        CHECK_OK(eg_stream_create(program, &other, &error), error);
        double worst = 0;
        for (int turn = 0; turn < 2; turn++, eg_stream_reset(stream))
            for (int t = 0; t < T; t++) {
                eg_stream_state_get(stream, state);
                CHECK_OK(
                    eg_stream_step(stream, x + t * (int)f.info.inputs, timespans[t], y, &error),
                    error);
                for (uint64_t k = 0; k < f.info.outputs; k++)
                    worst = test_worse(
                        worst, fabs((double)y[k] -
                                    (double)((float *)all.data)[(uint64_t)t * f.info.outputs + k]));
                eg_stream_state_set(other, state);
                CHECK_OK(
                    eg_stream_step(other, x + t * (int)f.info.inputs, timespans[t], again, &error),
                    error);
                CHECK(memcmp(y, again, (size_t)f.info.outputs * sizeof *y) == 0,
                      "%s: a state put back does not go on", specs[i]);
            }
        CHECK(worst <= 2e-5, "%s: a stream is off by %g", specs[i], worst);
        CHECK_FAILS(eg_stream_step(stream, x, -1, y, &error), error, EG_ERR_ARGUMENT, "-1");
        CHECK_FAILS(eg_stream_step(stream, x, NAN, y, &error), error, EG_ERR_ARGUMENT, "nan");
        check_finite(stream, &f.info);
        eg_stream_destroy(stream);
        eg_stream_destroy(other);
        eg_stream_program_destroy(program);
        close_all(&f);
    }
}

/* Saved and loaded, it is the same model. */
TEST(nn, files) {
    for (size_t i = 0; i < SPECS; i++) {
        fixture f = {0};
        eg_error error = {0};
        char path[512];
        open_model(&f, specs[i]);
        if (!f.model) continue;
        snprintf(path, sizeof path, "%s/model.safetensors", test_folder());
        const eg_status saved = eg_model_save(f.model, path, &error);
        if (saved == EG_ERR_UNSUPPORTED) { /* the same for all */
            test_skip("%s", error.message);
            close_all(&f);
            return;
        }
        CHECK_OK(saved, error);
        eg_model *again;
        CHECK_OK(eg_model_open(f.context, path, &again, &error), error);
        CHECK(again && eg_model_count(again) == eg_model_count(f.model), "%s: other tensors",
              specs[i]);
        for (size_t k = 0; again && k < eg_model_count(again); k++) {
            eg_tensor a, b;
            const char *x = eg_model_tensor(f.model, k, &a, NULL),
                       *y = eg_model_tensor(again, k, &b, NULL);
            uint64_t bytes;
            eg_tensor_measure(&a, NULL, &bytes, NULL);
            CHECK(strcmp(x, y) == 0 && memcmp(a.data, b.data, (size_t)bytes) == 0,
                  "%s: '%s' differs", specs[i], x);
        }
        eg_model_destroy(again);
        close_all(&f);
    }
}

/* Samples do not see each other: elapsed times and lengths are each sample's own. */
TEST(nn, samples_alone) {
    static const char *const few[] = {"cfc:12,in=5", "cfc:autoncp:20:4,in=5",
                                      "ltc:autoncp:20:4,in=5", "ltc:6,in=5,mixed=1"};
    enum { B = 6 };
    for (size_t i = 0; i < 4; i++) {
        fixture f = {0}, one = {0};
        eg_error error = {0};
        open_model(&f, few[i]);
        open_model(&one, few[i]);
        compile(
            &f,
            &(eg_model_options){
                .time = T, .batch = B, .batch_first = 1, .timespans = 1, .lengths = 1, .last = 1});
        float x[B * T * 5], timespans[B * T], lengths[B];
        fill(x, B * T * 5, 7);
        for (int k = 0; k < B * T; k++) timespans[k] = 0.1f * (float)(k % 11); /* 0 among them */
        for (int k = 0; k < B; k++) lengths[k] = (float)(T - k);
        const eg_tensor xs = {EG_F32, 3, {B, T, 5}, x}, ts = {EG_F32, 2, {B, T}, timespans},
                        ls = {EG_F32, 1, {B}, lengths};
        CHECK_OK(eg_instance_bind(f.instance, "x", &xs, &error), error);
        CHECK_OK(eg_instance_bind(f.instance, "timespans", &ts, &error), error);
        CHECK_OK(eg_instance_bind(f.instance, "lengths", &ls, &error), error);
        CHECK_OK(eg_run(f.instance, NULL, &error), error);
        eg_tensor all, alone;
        CHECK_OK(eg_instance_output(f.instance, "y", &all, &error), error);
        compile(&one, &(eg_model_options){.time = T, .unbatched = 1, .timespans = 1, .last = 1});
        for (int b = 0; b < B; b++) {
            const eg_tensor x1 = {EG_F32, 2, {T, 5}, x + b * T * 5},
                            t1 = {EG_F32, 1, {T}, timespans + b * T};
            CHECK_OK(eg_instance_bind(one.instance, "x", &x1, &error), error);
            CHECK_OK(eg_instance_bind(one.instance, "timespans", &t1, &error), error);
            CHECK_OK(
                eg_run(one.instance, &(eg_run_options){.length = (uint64_t)lengths[b]}, &error),
                error);
            CHECK_OK(eg_instance_output(one.instance, "y", &alone, &error), error);
            for (uint64_t k = 0; k < f.info.outputs; k++) {
                const double a = ((float *)all.data)[(uint64_t)b * f.info.outputs + k],
                             c = ((float *)alone.data)[k];
                CHECK(fabs(a - c) <= 1e-5, "%s: sample %d output %llu is %g, alone %g", few[i], b,
                      (unsigned long long)k, a, c);
            }
        }
        close_all(&f);
        close_all(&one);
    }
}

/* No time, no change: what the LTC of the original divides by zero for. */
TEST(nn, ltc_without_time) {
    fixture f = {0};
    eg_error error = {0};
    open_model(&f, "ltc:autoncp:20:4,in=5");
    eg_stream_program *program;
    eg_stream *stream;
    CHECK_OK(eg_stream_compile(f.model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    float x[5] = {1, -1, 0.5f, 2, 0}, y[4], before[20], after[20];
    CHECK_OK(eg_stream_step(stream, x, 1, y, &error), error);
    eg_stream_state_get(stream, before);
    CHECK_OK(eg_stream_step(stream, x, 0, y, &error), error);
    eg_stream_state_get(stream, after);
    CHECK(memcmp(before, after, sizeof before) == 0, "the state changed in no time");
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    close_all(&f);
}

/* Both ways: the backward half of a palindrome is its forward half, mirrored. */
TEST(nn, both_ways) {
    static const char *const merges[] = {"concat", "sum", "mul", "average"};
    for (int i = 0; i < 4; i++) {
        char spec[80];
        snprintf(spec, sizeof spec, "cfc:6,in=2,bidirectional=%s", merges[i]);
        fixture f = {0};
        eg_error error = {0};
        open_model(&f, spec);
        eg_tensor tensor;
        for (size_t k = 0; k < eg_model_count(f.model) / 2; k++) { /* the same weights both ways */
            eg_tensor other;
            uint64_t bytes;
            eg_model_tensor(f.model, k, &tensor, NULL);
            eg_model_tensor(f.model, k + eg_model_count(f.model) / 2, &other, NULL);
            eg_tensor_measure(&tensor, NULL, &bytes, NULL);
            memcpy(other.data, tensor.data, (size_t)bytes);
        }
        compile(&f, &(eg_model_options){.time = 5});
        float x[10] = {1, 2, 0.5f, -1, 0.3f, 0.7f, 0.5f, -1, 1, 2};
        CHECK_OK(eg_instance_bind(f.instance, "x", &(eg_tensor){EG_F32, 3, {5, 1, 2}, x}, &error),
                 error);
        CHECK_OK(eg_run(f.instance, NULL, &error), error);
        CHECK_OK(eg_instance_output(f.instance, "y", &tensor, &error), error);
        const float *y = tensor.data;
        const size_t width = (size_t)f.info.outputs;
        CHECK(width == (i == 0 ? 12u : 6u), "%s gives %zu outputs", merges[i], width);
        for (int t = 0; t < 5; t++)
            for (int k = 0; k < 6; k++) {
                const float a = y[(size_t)t * width + (size_t)k];
                const float b = y[(size_t)(4 - t) * width + (size_t)k + (i == 0 ? 6 : 0)];
                CHECK(fabsf(a - b) < 1e-6f, "%s: step %d unit %d: %g and %g", merges[i], t, k,
                      (double)a, (double)b);
            }
        eg_stream_program *program;
        CHECK_FAILS(eg_stream_compile(f.model, &program, &error), error, EG_ERR_UNSUPPORTED,
                    "bidirectional");
        close_all(&f);
    }
}

TEST(nn, refused) {
    static const struct {
        const char *spec;
        eg_status status;
        const char *part;
    } rows[] = {
        {"", EG_ERR_ARGUMENT, "'' is neither a file nor a spec"},
        {"gru:64,in=3", EG_ERR_ARGUMENT, "begin with 'cfc:'"},
        {"cfc:64", EG_ERR_ARGUMENT, "in=N"},
        {"cfc:64,in=0", EG_ERR_ARGUMENT, "in=0"},
        {"cfc:64,in=x", EG_ERR_ARGUMENT, "in=x"},
        {"cfc:0,in=3", EG_ERR_ARGUMENT, "units=0"},
        {"cfc:64,in=3,mode=loud", EG_ERR_ARGUMENT, "mode=loud"},
        {"cfc:64,in=3,activation=sin", EG_ERR_ARGUMENT, "activation=sin"},
        {"cfc:64,in=3,backbone=8x9", EG_ERR_ARGUMENT, "more than 8"},
        {"cfc:64,in=3,dropout=1", EG_ERR_ARGUMENT, "dropout 1"},
        {"cfc:64,in=3,sparsity=0.5", EG_ERR_ARGUMENT, "sparsity"},
        {"cfc:64,in=3,seed=-1", EG_ERR_ARGUMENT, "seed=-1"},
        {"cfc:64,in", EG_ERR_ARGUMENT, "not key=value"},
        {"cfc:autoncp:20:4,in=3,backbone=5x9", EG_ERR_ARGUMENT, "more than 8"},
        {"cfc:autoncp:20:19,in=3", EG_ERR_ARGUMENT, ""},
        {"cfc:autoncp:20:4,in=3,activation=silu", EG_ERR_ARGUMENT,
         "'activation' has no meaning for a wired CfC without a backbone"},
        {"cfc:autoncp:20:4,in=3,dropout=0.1", EG_ERR_ARGUMENT, "'dropout' has no meaning"},
        {"cfc:20,in=3,unfolds=4", EG_ERR_ARGUMENT, "unfolds=4 has no meaning for a CfC"},
        {"ltc:20,in=3,mode=pure", EG_ERR_ARGUMENT, "mode=pure has no meaning for an LTC"},
        {"ltc:20,in=3,backbone=0", EG_ERR_ARGUMENT, "backbone=0 has no meaning for an LTC"},
        {"cfc:20,in=3,in=4", EG_ERR_ARGUMENT, "repeated key 'in'"},
        {"ltc:autoncp:20:4,in=3,proj=2", EG_ERR_ARGUMENT, "proj=2 has no meaning for an LTC"},
        {"cfc:8,in=3/cfc:8,in=4", EG_ERR_ARGUMENT, "takes 4 inputs"},
        {"cfc:8,in=3,a_key_of_sixty-four_letters_that_is_as_long_as_a_key_ought_to_be=1",
         EG_ERR_ARGUMENT, "unknown key 'a_key_of_sixty-four_letters_"},
        {"missing.safetensors", EG_ERR_FILE, "missing.safetensors"},
    };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_model *model;
        CHECK_FAILS(eg_model_open(context, rows[i].spec, &model, &error), error, rows[i].status,
                    rows[i].part);
    }
    const float timespans[] = {1, 2, 0, 1, -3, 1};
    CHECK_FAILS(eg_model_check_timespans(timespans, 2, 3, 1, &error), error, EG_ERR_ARGUMENT,
                "sample 1, step 1");
    CHECK_FAILS(eg_model_check_timespans(timespans, 2, 3, 0, &error), error, EG_ERR_ARGUMENT,
                "sample 0, step 2");
    eg_context_destroy(context);
}

/* By hand: 5 units, 3 inputs. */
TEST(nn, bytes_of_wirings) {
    enum { INNER = 25, OUTER = 15, BOTH = INNER + OUTER, SYNAPSE = 5 * 4, DRAWN = 2 * 4 * INNER };
    static const struct {
        const char *spec;
        uint64_t model, runs; /* bytes; what a program has beside them */
    } rows[] = {{"cfc:5,in=3", 0, 0},
                {"cfc:full:5,in=3", BOTH + 5, 0},
                {"cfc:random:5,in=3,sparsity=0.5", BOTH + DRAWN + 5, 0},
                {"ltc:5,in=3", BOTH, BOTH * SYNAPSE},
                {"ltc:full:5,in=3,self=0", BOTH, (BOTH - 5) * SYNAPSE},
                {"ltc:random:5,in=3,sparsity=0.5", BOTH + DRAWN, BOTH / 2 * SYNAPSE}};
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_model *model = NULL;
        CHECK_OK(eg_model_open(context, rows[i].spec, &model, &error), error);
        const uint64_t bytes = model ? eg__layer_bytes(&model->layers[0], false) : 0,
                       all = model ? eg__layer_bytes(&model->layers[0], true) : 0;
        CHECK(bytes == rows[i].model && all == rows[i].model + rows[i].runs, "%s: %llu and %llu",
              rows[i].spec, (unsigned long long)bytes, (unsigned long long)all);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* What is too large for the memory there may be used is refused before any of it is taken or drawn, with what it
 * would need. */
TEST(nn, too_large) {
    static const struct {
        const char *spec, *part;
    } rows[] = {
        {"cfc:1000000,in=4", "a model of 644000640 parameters needs at least 4.8 GiB of memory"},
        {"cfc:1000000,in=1000000,backbone=0",
         "8000004000000 parameters needs at least 59604.7 GiB"},
        {"cfc:64,in=4/cfc:1000000", "parameters needs at least "},
        {"ltc:16384,in=4", "1074085896 parameters needs at least 13."},
        {"ltc:autoncp:16384:100,in=16384", "parameters needs at least "},
        {"cfc:autoncp:16384:100,in=16384", "parameters needs at least "},
        {"cfc:random:16384,in=16384,sparsity=0.5,backbone=8", "parameters needs at least "},
        {"cfc:full:16384,in=4,mixed=1", "parameters needs at least "},
        {"llama:80:8192,heads=64,vocab=32000", "parameters needs at least "},
        {"bert:12:768,vocab=30000", "parameters needs at least "},
    };
    eg_context *context;
    eg_error error = {0};
    const eg_context_options options = {.threads = 1, .memory_budget = 64 << 20};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_model *model = NULL;
        eg_memory_figures before, after;
        CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &before, &error), error);
        CHECK_FAILS(eg_model_open(context, rows[i].spec, &model, &error), error, EG_ERR_BUDGET,
                    rows[i].part);
        CHECK(!model && strstr(error.message, "GiB that may be used are left"), "%s: '%s'",
              rows[i].spec, error.message);
        CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &after, &error), error);
        CHECK(after.current == before.current && after.peak < before.current + (2 << 20),
              "%s: %llu bytes were taken first", rows[i].spec,
              (unsigned long long)(after.peak - before.current));
    }
    eg_model *small = NULL;
    CHECK_OK(eg_model_open(context, "cfc:autoncp:64:16,in=16", &small, &error), error);
    eg_model_destroy(small);
    eg_context_destroy(context);
}

/* An outline answers what follows from the spec as the model does, and refuses what needs values. */
TEST(nn, outline) {
    static const char *const outlined[] = {"cfc:8,in=2", "cfc:autoncp:12:3,in=2,mixed=1",
                                           "ltc:autoncp:12:3,in=3", "llama:1:32,vocab=64"};
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof outlined / sizeof *outlined; i++) {
        eg_model *outline, *model;
        eg_model_info a = {.size = sizeof a}, b = {.size = sizeof b};
        eg_tensor tensor;
        float value[1];
        CHECK_OK(eg_model_outline(context, outlined[i], &outline, &error), error);
        CHECK_OK(eg_model_open(context, outlined[i], &model, &error), error);
        eg_model_info_get(outline, &a);
        eg_model_info_get(model, &b);
        CHECK(a.kind == b.kind && a.inputs == b.inputs && a.outputs == b.outputs &&
                  a.state == b.state && a.layers == b.layers && a.parameters == b.parameters &&
                  a.uses_time == b.uses_time,
              "%s: other figures", outlined[i]);
        CHECK(!outline->values, "%s: values were taken", outlined[i]);
        if (a.kind == EG_MODEL_LIQUID) {
            eg_stream_program *of_outline, *of_model;
            eg_stream *stream;
            eg_program_info c = {.size = sizeof c}, d = {.size = sizeof d};
            CHECK_OK(eg_stream_compile(outline, &of_outline, &error), error);
            CHECK_OK(eg_stream_compile(model, &of_model, &error), error);
            eg_stream_program_info_get(of_outline, &c);
            eg_stream_program_info_get(of_model, &d);
            CHECK(c.flops == d.flops && c.held_bytes == d.held_bytes &&
                      c.arena_bytes == d.arena_bytes,
                  "%s: other costs", outlined[i]);
            CHECK_FAILS(eg_stream_create(of_outline, &stream, &error), error, EG_ERR_ARGUMENT, "");
            eg_stream_program_destroy(of_outline);
            eg_stream_program_destroy(of_model);
        }
        const char *name = eg_model_tensor(outline, 0, &tensor, NULL);
        CHECK(name && !tensor.data, "%s: data of '%s'", outlined[i], name ? name : "nothing");
        const eg_model_quantization quantization = {.quantization = {.type = EG_F16}};
        eg_trainer *trainer;
        const eg_train_options train = {.batch = 1};
        CHECK_FAILS(eg_model_read(outline, 0, value, &error), error, EG_ERR_ARGUMENT, "an outline");
        CHECK_FAILS(eg_model_widen(outline, &error), error, EG_ERR_ARGUMENT, outlined[i]);
        CHECK_FAILS(eg_model_quantize(outline, &quantization, &error), error, EG_ERR_ARGUMENT,
                    "an outline");
        CHECK_FAILS(eg_model_save(outline, "nothing.safetensors", &error), error, EG_ERR_ARGUMENT,
                    "open it with eg_model_open");
        CHECK_FAILS(eg_model_export_c(outline, ".", "nothing", NULL, &error), error,
                    EG_ERR_ARGUMENT, "an outline");
        CHECK_FAILS(eg_trainer_create(outline, &train, &trainer, &error), error, EG_ERR_ARGUMENT,
                    "an outline");
        eg_model_destroy(outline);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model = NULL;
    eg_stream_program *program = NULL;
    eg_stream *stream = NULL;
    eg_status status = eg_model_open(context, user, &model, error);
    if (!status) status = eg_stream_compile(model, &program, error);
    if (!status) status = eg_stream_create(program, &stream, error);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    eg_model_destroy(model);
    return status;
}

TEST(nn, every_allocation_may_fail) {
    int failed = test_every_allocation_within(attempt, "cfc:autoncp:8:2,in=2");
    failed += test_every_allocation_within(attempt, "cfc:random:3,in=6,sparsity=0.9,backbone=4x2");
    failed += test_every_allocation_within(attempt, "ltc:autoncp:8:2,in=2");
    CHECK(failed > 100, "only %d allocations", failed);
}

/* A model of an architecture is the model of the spec that says the same, and tells that architecture. */
TEST(nn, created) {
    static const char *const told[] = {"cfc:8,in=2,seed=5", "cfc:autoncp:12:3,in=2,mixed=1,seed=5",
                                       "ltc:autoncp:12:3,in=4,seed=5", "cfc:8,in=2,seed=5/ltc:4",
                                       "ltc:random:9:2,in=3,seed=5,bidirectional=sum"};
    eg_context *context;
    eg_error error = {0};
    char text[4096], again[4096];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        eg_model *model, *created;
        size_t length;
        CHECK_OK(eg_model_open(context, told[i], &model, &error), error);
        CHECK_OK(eg_model_config(model, NULL, 0, &length, &error), error);
        CHECK(length < sizeof text, "%zu bytes", length);
        CHECK_OK(eg_model_config(model, text, sizeof text, &length, &error), error);
        CHECK(length == strlen(text), "%zu bytes, not %zu", strlen(text), length);
        CHECK_OK(eg_model_create(context, text, 5, &created, &error), error);
        CHECK_OK(eg_model_config(created, again, sizeof again, NULL, &error), error);
        CHECK(strcmp(again, text) == 0, "%s", again);
        eg_tensor a, b;
        for (size_t k = 0; eg_model_tensor(model, k, &a, NULL); k++) {
            uint64_t bytes;
            CHECK(eg_model_tensor(created, k, &b, NULL) != NULL, "%s: a tensor is missing",
                  told[i]);
            CHECK_OK(eg_tensor_measure(&a, NULL, &bytes, &error), error);
            CHECK(memcmp(a.data, b.data, bytes) == 0, "%s: tensor %zu differs", told[i], k);
        }
        eg_model_destroy(created);
        eg_model_destroy(model);
    }
    eg_model *none;
    CHECK_FAILS(eg_model_create(context, "{", 0, &none, &error), error, EG_ERR_FORMAT, "");
    CHECK_FAILS(eg_model_create(context,
                                "{\"model\": \"CfC\", \"input_size\": 2, \"units\": 4, \"x\": 1}",
                                0, &none, &error),
                error, EG_ERR_FORMAT, "'x'");
    CHECK_FAILS(eg_model_create(context, NULL, 0, &none, &error), error, EG_ERR_ARGUMENT, "");
    eg_context_destroy(context);
}
