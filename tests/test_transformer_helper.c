/* A transformer from a file beside what torch gave. */
#include "test_transformer.h"

#include <math.h>

typedef struct expected {
    eg_context *context;
    eg_npz *archive;
    eg_tensor ids, lengths, y;
} expected;

const char *transformer_path(const char *name, char out[512]) {
    char inner[128];
    if (*name == '/') {
        snprintf(out, 512, "%s", name);
        return out;
    }
    snprintf(inner, sizeof inner, "fixtures/transformers/%s", name);
    snprintf(out, 512, "%s", test_path(inner));
    return out;
}

static void open_expected(expected *e, eg_context *context, const char *folder, const char *key) {
    eg_error error;
    char path[600], full[512];
    *e = (expected){.context = context};
    snprintf(path, sizeof path, "%s/expected.npz", transformer_path(folder, full));
    CHECK_OK(eg_npz_open(context, path, &e->archive, &error), error);
    CHECK_OK(eg_npz_read(e->archive, "ids", &e->ids, &error), error);
    CHECK_OK(eg_npz_read(e->archive, key, &e->y, &error), error);
    if ((strcmp(folder, "bert") == 0 || strcmp(folder, "prenorm") == 0))
        CHECK_OK(eg_npz_read(e->archive, "lengths", &e->lengths, &error), error);
}

static void close_expected(expected *e) {
    eg_tensor_release(e->context, &e->ids);
    eg_tensor_release(e->context, &e->lengths);
    eg_tensor_release(e->context, &e->y);
    eg_npz_close(e->archive);
}

/* The largest difference, where there are tokens. */
static double difference(const expected *e, const float *got) {
    const float *want = e->y.data;
    const uint64_t time = e->y.shape[1], columns = e->y.shape[2];
    double worst = 0;
    for (uint64_t b = 0; b < e->y.shape[0]; b++) {
        const uint64_t rows =
            e->lengths.data ? (uint64_t)((const int32_t *)e->lengths.data)[b] : time;
        for (uint64_t i = b * time * columns; i < (b * time + rows) * columns; i++)
            if (!(fabs((double)got[i] - (double)want[i]) <= worst))
                worst = fabs((double)got[i] - (double)want[i]);
    }
    return worst;
}

static double run(eg_model *model, const expected *e, int in_place) {
    eg_error error;
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_model_nodes nodes;
    eg_tensor y;
    float lengths[2] = {0};
    const eg_model_options options = {.batch = e->ids.shape[0],
                                      .time = e->ids.shape[1],
                                      .lengths = e->lengths.data != NULL,
                                      .in_place = in_place};
    CHECK_OK(eg_graph_create(e->context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
    const eg_output output = {"y", nodes.y};
    CHECK_OK(eg_compile(e->context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_model_weights(model, weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    CHECK_OK(eg_model_bind(model, instance, &error), error);
    CHECK_OK(eg_instance_bind(instance, "tokens", &e->ids, &error), error);
    if (e->lengths.data) {
        for (int i = 0; i < 2; i++) lengths[i] = (float)((const int32_t *)e->lengths.data)[i];
        const eg_tensor tensor = {EG_F32, 1, {2}, lengths};
        CHECK_OK(eg_instance_bind(instance, "lengths", &tensor, &error), error);
    }
    CHECK_OK(eg_instance_output(instance, "y", &y, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    const double worst = difference(e, y.data);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    return worst;
}

void check_transformer(const char *file, const char *folder, const char *key, double tolerance,
                       double in_place_tolerance) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    expected e;
    char path[512];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    open_expected(&e, context, folder, key);
    CHECK_OK(eg_model_open(context, transformer_path(file, path), &model, &error), error);
    for (int in_place = 0; in_place < 2; in_place++) {
        const double worst = run(model, &e, in_place);
        CHECK(worst <= (in_place ? in_place_tolerance : tolerance), "%s%s: off by %g", file,
              in_place ? " in place" : "", worst);
    }
    CHECK_OK(eg_model_widen(model, &error), error);
    const double worst = run(model, &e, 0);
    CHECK(worst <= tolerance, "%s in memory: off by %g", file, worst);
    eg_model_destroy(model);
    close_expected(&e);
    eg_context_destroy(context);
}

void transformer_expected(eg_context *context, const char *folder, const char *key,
                          eg_tensor *out) {
    eg_error error;
    eg_npz *archive;
    char path[600], full[512];
    *out = (eg_tensor){0};
    snprintf(path, sizeof path, "%s/expected.npz", transformer_path(folder, full));
    CHECK_OK(eg_npz_open(context, path, &archive, &error), error);
    if (archive) CHECK_OK(eg_npz_read(archive, key, out, &error), error);
    eg_npz_close(archive);
}

float *transformer_rows(eg_context *context, const eg_model *model, const uint32_t *tokens,
                        size_t count, int in_place, int hidden) {
    eg_error error;
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_model_nodes nodes;
    eg_transformer_info info = {.size = sizeof info};
    int32_t *ids = test_alloc(count * sizeof *ids);
    for (size_t i = 0; i < count; i++) ids[i] = (int32_t)tokens[i];
    CHECK_OK(eg_model_transformer(model, &info, &error), error);
    const uint64_t columns =
        hidden || strcmp(info.family, "bert") == 0 ? info.width : info.vocabulary;
    float *rows = test_alloc(count * columns * sizeof *rows);
    const eg_model_options options = {.time = count, .in_place = in_place, .hidden = hidden};
    const eg_tensor in = {EG_I32, 2, {1, count}, ids}, y = {EG_F32, 3, {1, count, columns}, rows};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
    const eg_output output = {"y", nodes.y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_model_weights(model, weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    CHECK_OK(eg_model_bind(model, instance, &error), error);
    CHECK_OK(eg_instance_bind(instance, "tokens", &in, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &y, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    free(ids);
    return rows;
}

static uint32_t likeliest(const float *logits, uint64_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

void check_choices(const char *file, const char *folder, eg_type cache) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    eg_generator *g;
    char path[512];
    eg_tensor ids, greedy;
    const float *logits = NULL;
    const eg_generator_options options = {.cache = cache};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, transformer_path(file, path), &model, &error), error);
    transformer_expected(context, folder, "ids", &ids);
    transformer_expected(context, folder, "greedy", &greedy);
    CHECK_OK(eg_generator_create(model, &options, &g, &error), error);
    uint32_t prompt[5];
    for (int i = 0; i < 5; i++) prompt[i] = (uint32_t)((const int32_t *)ids.data)[i];
    CHECK_OK(eg_generator_feed(g, prompt, 5, &logits, &error), error);
    CHECK(greedy.shape[0] == 24, "%llu tokens", (unsigned long long)greedy.shape[0]);
    for (uint64_t i = 0; i < greedy.shape[0] && logits; i++) {
        const uint32_t token = likeliest(logits, 100);
        const uint32_t chosen = (uint32_t)((const int32_t *)greedy.data)[i];
        CHECK(token == chosen, "%s: token %llu is %u, not %u", file, (unsigned long long)i, token,
              chosen);
        CHECK_OK(eg_generator_feed(g, &token, 1, &logits, &error), error);
    }
    eg_generator_destroy(g);
    eg_tensor_release(context, &ids);
    eg_tensor_release(context, &greedy);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

eg_context *small_context(void) {
    eg_error error;
    eg_context *context;
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 24};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

void check_opening(eg_context *context, const char *path, const char *what, eg_status wanted,
                   const char *part) {
    eg_error error = {0};
    eg_model *model = NULL;
    eg_memory_figures held;
    const eg_status status = eg_model_open(context, path, &model, &error);
    CHECK(status == wanted && (!status || strstr(error.message, part)),
          "%s: %s '%s', expected %s with '%s'", what, eg_status_name(status), error.message,
          eg_status_name(wanted), part);
    CHECK(!status == (model != NULL), "%s: %s and a model", what, eg_status_name(status));
    eg_model_destroy(model);
    CHECK(!eg_memory_query(context, EG_TAG_FILE, &held, NULL) && held.current == 0,
          "%s: %llu bytes are left", what, (unsigned long long)held.current);
}
