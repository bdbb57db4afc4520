/* Every golden model: outputs, states and gradients of the original implementation, and its initial
 * values bit for bit. */
#include "test.h"
#include "formats/models/model_config.h"
#include "formats/files/safetensors.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>

AREA(golden_models,
     "models of the original implementation: outputs, states, gradients, initial values")

typedef struct golden_run {
    const char *name;
    eg_safetensors *file;
    eg_model *model;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    bool gradients;
    bool wired; /* the unwired CfC of the file, along a full wiring */
} golden_run;

static bool flag(const json_t *config, const char *key) {
    return json_is_true(json_object_get(config, key));
}

/* The largest difference, relative to the largest value (at least `least`). */
static void compare(const golden_run *r, const char *key, const eg_tensor *got, double tolerance,
                    double least) {
    eg_tensor want;
    eg_error error;
    CHECK_OK(eg_safetensors_tensor(r->file, key, &want, &error), error);
    uint64_t n = 0, m = 0;
    eg_tensor_measure(&want, &n, NULL, NULL);
    eg_tensor_measure(got, &m, NULL, NULL);
    CHECK(n == m, "%s: %s has %llu elements, not %llu", r->name, key, (unsigned long long)m,
          (unsigned long long)n);
    double worst = 0, size = least;
    for (uint64_t i = 0; n == m && i < n; i++) {
        const double a = ((const float *)got->data)[i], b = ((const float *)want.data)[i];
        if (!(fabs(a - b) <= worst)) worst = fabs(a - b);
        size = fmax(size, fabs(b));
    }
    CHECK(worst <= tolerance * size, "%s: %s is off by %g of %g", r->name, key, worst, size);
}

static eg_tensor output(golden_run *r, const char *name) {
    eg_tensor tensor = {0};
    eg_error error;
    CHECK_OK(eg_instance_output(r->instance, name, &tensor, &error), error);
    return tensor;
}

/* A leaf of the graph from the file. */
static void give(golden_run *r, const char *leaf, const char *key, bool is_parameter) {
    eg_tensor tensor;
    eg_error error;
    CHECK_OK(eg_safetensors_tensor(r->file, key, &tensor, &error), error);
    if (is_parameter) CHECK_OK(eg_weights_set(r->weights, leaf, &tensor, &error), error);
    else CHECK_OK(eg_instance_bind(r->instance, leaf, &tensor, &error), error);
}

/* The name of a parameter in the file: the only layer of a full wiring is the cell. */
static void as_in_file(const golden_run *r, const char *name, char out[16 + EG__NAME_MAX]) {
    static const char before[] = "rnn_cell.layer_0.";
    const size_t length = strlen(before);
    const bool inside = r->wired && strncmp(name, before, length) == 0;
    snprintf(out, 16 + EG__NAME_MAX, "%s%s", inside ? "rnn_cell." : "",
             inside ? name + length : name);
}

/* Outputs and, with `gradients`, those of the sum of squares by everything that is trainable. */
static void check_run(golden_run *r, eg_context *context, const json_t *config) {
    enum { MANY = 64 };
    static char names[MANY][EG__NAME_MAX + 8];
    eg_error error = {0};
    eg_graph *g;
    eg_model_nodes nodes;
    eg_model_options o = {.batch = (uint64_t)json_integer_value(json_object_get(config, "batch")),
                          .time = (uint64_t)json_integer_value(json_object_get(config, "seq")),
                          .batch_first = flag(config, "batch_first"),
                          .unbatched = !flag(config, "batched"),
                          .last = !flag(config, "return_sequences"),
                          .timespans = flag(config, "timespans"),
                          .state = flag(config, "hx"),
                          .as_parameters = r->gradients};
    if (o.unbatched) o.batch = 1;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(r->model, g, &o, &nodes, &error), error);
    eg_output outputs[MANY + 8] = {{"y", nodes.y}};
    size_t count = 1, wanted = 0;
    for (size_t i = 0; i < nodes.states; i++)
        outputs[count++] = (eg_output){i ? "cn" : "hn", nodes.final[i]};
    eg_node wrt[MANY], d[MANY];
    for (uint32_t i = 1; r->gradients && i <= g->size && wanted < MANY; i++)
        if (g->nodes[i].op == EG__GRAPH_parameter && strcmp(g->nodes[i].name, "timespans") != 0) {
            snprintf(names[wanted], sizeof names[0], "d.%s", g->nodes[i].name);
            wrt[wanted++] = (eg_node){i};
        }
    if (wanted) {
        eg_node loss = eg_sum(g, eg_mul(g, nodes.y, nodes.y), EG_ALL_AXES, 0);
        CHECK_OK(eg_gradient(g, loss, wanted, wrt, d, &error), error);
        for (size_t i = 0; i < wanted; i++) outputs[count++] = (eg_output){names[i], d[i]};
    }
    CHECK_OK(eg_compile(context, g, count, outputs, NULL, &r->program, &error), error);
    if (!r->program) {
        test_fail(__FILE__, __LINE__, "%s: %s", r->name, error.message);
        eg_graph_destroy(g);
        return;
    }
    CHECK_OK(eg_weights_create(r->program, &r->weights, &error), error);
    CHECK_OK(eg_instance_create(r->program, r->weights, &r->instance, &error), error);
    CHECK_OK(eg_model_weights(r->model, r->weights, &error), error);
    give(r, "x", "input", r->gradients);
    if (o.timespans) give(r, "timespans", "timespans", r->gradients);
    if (o.state) give(r, "h0", "h0", r->gradients);
    if (o.state && nodes.states > 1) give(r, "c0", "c0", r->gradients);
    for (size_t i = 0; i < count; i++) output(r, outputs[i].name);
    CHECK_OK(eg_run(r->instance, NULL, &error), error);
    eg_tensor y = output(r, "y"), h = output(r, "hn");
    compare(r, "output", &y, 2e-5, 1);
    compare(r, "hn", &h, 2e-5, 1);
    if (nodes.states > 1) {
        eg_tensor c = output(r, "cn");
        compare(r, "cn", &c, 2e-5, 1);
    }
    for (size_t i = 0; i < wanted; i++) {
        char key[EG__NAME_MAX + 32];
        char name[16 + EG__NAME_MAX];
        as_in_file(r, names[i] + 2, name);
        const bool leaf =
            strcmp(name, "x") == 0 || strcmp(name, "h0") == 0 || strcmp(name, "c0") == 0;
        snprintf(key, sizeof key, "grad.%s%s", leaf ? "" : "param.",
                 strcmp(name, "x") == 0 ? "input" : name);
        eg_tensor got = output(r, names[i]);
        compare(r, key, &got, 1e-4, 1e-6);
    }
    eg_instance_destroy(r->instance);
    eg_weights_destroy(r->weights);
    eg_program_release(r->program);
    r->program = NULL;
    eg_graph_destroy(g);
}

/* Untouched parameters are those that a seed gives. */
static unsigned check_initial(const golden_run *r, const json_t *config) {
    if (!json_is_false(json_object_get(config, "perturb"))) return 0;
    const char *seed = eg_safetensors_metadata(r->file, "seed");
    const eg__parameter *list = r->model->parameters, *end = list + r->model->parameter_count;
    size_t count = 0, at = 0;
    for (const eg__parameter *p = list; p < end; p++) count += eg__parameter_size(p);
    float *loaded = test_alloc((count + 1) * sizeof *loaded);
    float *drawn = test_alloc((count + 1) * sizeof *drawn);
    for (const eg__parameter *p = list; p < end; at += eg__parameter_size(p++))
        eg__parameter_floats(r->model, p, loaded + at);
    eg_error error;
    CHECK_OK(eg__model_initialise(r->model, strtoull(seed, NULL, 10), &error), error);
    at = 0;
    for (const eg__parameter *p = list; p < end; at += eg__parameter_size(p++)) {
        if (strstr(p->name, "recurrent_map")) continue; /* from LAPACK */
        if (p->is_mask) eg__mask_floats(r->model, p, drawn + at);
        else eg__parameter_floats(r->model, p, drawn + at);
        CHECK(memcmp(loaded + at, drawn + at, eg__parameter_size(p) * sizeof(float)) == 0,
              "%s: '%s' is not as seed %s makes it", r->name, p->name, seed);
    }
    at = 0;
    for (const eg__parameter *p = list; p < end; at += eg__parameter_size(p++))
        if (!p->is_mask)
            memcpy(eg__parameter_values(r->model, p), loaded + at,
                   eg__parameter_size(p) * sizeof(float));
    free(drawn);
    free(loaded);
    return 1;
}

/* The same CfC as a wired one: every synapse is there, so that it must compute the same. */
static eg_model *wire(const golden_run *r, eg_context *context, const json_t *config) {
    json_t *other = json_deep_copy(config), *units = json_object_get(other, "units");
    json_object_set_new(
        other, "wiring",
        json_pack("{s:s, s:{s:O}}", "kind", "FullyConnected", "args", "units", units));
    json_object_del(other, "units");
    char *text = json_dumps(other, 0);
    eg_model *model = NULL;
    eg_error error = {0};
    eg_status status =
        eg__model_config_read(context, text, strlen(text), UINT64_MAX, &model, &error);
    if (!status) status = eg__model_fill(model, &error);
    CHECK(status == EG_OK, "%s, wired: %s", r->name, error.message);
    const golden_run wired = {.wired = true};
    for (size_t i = 0; model && i < model->parameter_count; i++) {
        const eg__parameter *to = &model->parameters[i];
        char name[16 + EG__NAME_MAX];
        as_in_file(&wired, to->name, name);
        const eg__parameter *from = eg__model_parameter(r->model, name);
        const size_t size = eg__parameter_size(to);
        if (to->is_mask) continue;
        CHECK(from && eg__parameter_size(from) == size, "%s, wired: '%s'", r->name, to->name);
        if (from && eg__parameter_size(from) == size)
            memcpy(eg__parameter_values(model, to), eg__parameter_values(r->model, from),
                   size * sizeof(float));
    }
    free(text);
    json_decref(other);
    return model;
}

static unsigned check_file(eg_context *context, const char *path, const char *name) {
    golden_run r = {.name = name};
    eg_error error = {0};
    CHECK_OK(eg_safetensors_open(context, path, &r.file, &error), error);
    if (!r.file) return 0;
    json_t *config = json_loads(eg_safetensors_metadata(r.file, "config"), 0, NULL);
    eg_status status = eg_model_load(context, path, NULL, &r.model, &error);
    CHECK(status == EG_OK, "%s: %s", name, error.message);
    unsigned initial = 0;
    const bool plain = !status && r.model->layers[0].cell == EG__CFC && !r.model->layers[0].wiring;
    if (!status) {
        initial = check_initial(&r, config);
        for (int gradients = 0; gradients <= 1; gradients++) {
            r.gradients = gradients;
            check_run(&r, context, config);
        }
    }
    eg_model *wired = plain ? wire(&r, context, config) : NULL;
    if (wired) {
        eg_model_destroy(r.model);
        r.model = wired;
        r.wired = true;
        check_run(&r, context, config);
    }
    json_decref(config);
    eg_model_destroy(r.model);
    eg_safetensors_close(r.file);
    return initial;
}

static unsigned check_folder(eg_context *context, const char *folder, unsigned *initial) {
    unsigned files = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        const size_t length = strlen(entry->d_name);
        if (length < 12 || strcmp(entry->d_name + length - 12, ".safetensors") != 0) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        *initial += check_file(context, path, entry->d_name);
        files++;
    }
    if (list) closedir(list);
    return files;
}

static void check_all(const char *folder, const char *isa) {
    eg_context *context;
    eg_error error;
    eg_context_options options = {.threads = 2, .isa = isa};
    if (eg_context_create(&options, &context, &error)) {
        test_skip("no '%s' here", isa);
        return;
    }
    unsigned initial = 0, files = check_folder(context, folder, &initial);
    CHECK(files > 0, "no golden model in %s", folder);
    test_claim("%u models (%s): outputs, states, gradients; %u initialised bit for bit", files,
               eg_context_isa(context), initial);
    eg_context_destroy(context);
}

TEST(golden_models, own) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", test_path("fixtures/models"));
    check_all(folder, NULL);
    check_all(folder, "ref");
}

TEST(golden_models, all) {
    const char *data = test_data("ncp-golden/public/models");
    if (!data) {
        test_skip("ELEGANS_DATA is not set");
        return;
    }
    char folder[512];
    snprintf(folder, sizeof folder, "%s", data);
    check_all(folder, NULL);
}
