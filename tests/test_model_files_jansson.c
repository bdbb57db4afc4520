/* Models in files: saved and loaded, from .npz, with something missing; what can be asked of them. */
#include "test_formats.h"
#include "elegans/elegans.h"

AREA(model_files,
     "models saved, loaded from .safetensors and .npz, with tensors missing; their layers")

static eg_context *open_context(const eg_allocator *allocator) {
    eg_context *context = NULL;
    eg_error error = {0};
    eg_context_options options = {.threads = 1};
    if (allocator) options.allocator = *allocator;
    CHECK_OK(eg_context_create(&context, &options, &error), error);
    return context;
}

static void check_same(const eg_model *a, const eg_model *b) {
    CHECK(eg_model_count(a) == eg_model_count(b), "%zu tensors, not %zu", eg_model_count(b),
          eg_model_count(a));
    eg_tensor left, right;
    const char *name;
    for (size_t i = 0; (name = eg_model_tensor(a, i, &left, NULL)); i++) {
        uint64_t bytes = 0;
        eg_tensor_measure(&left, NULL, &bytes, NULL);
        const char *other = eg_model_tensor(b, i, &right, NULL);
        CHECK(other && strcmp(name, other) == 0 && memcmp(left.data, right.data, bytes) == 0,
              "'%s' differs", name);
    }
}

/* The state-dict of a model as numpy would save it; `skip` names start there. */
static void write_npz(eg_context *context, const eg_model *model, const char *path,
                      const char *before, const char *skip) {
    enum { MANY = 64 };
    static char texts[MANY][128];
    const char *names[MANY], *name;
    eg_tensor tensors[MANY], tensor;
    eg_error error = {0};
    size_t count = 0;
    int trainable;
    for (size_t i = 0; count < MANY && (name = eg_model_tensor(model, i, &tensor, &trainable));
         i++) {
        if (!trainable || (skip && strstr(name, skip))) continue;
        snprintf(texts[count], sizeof texts[count], "%s%s", before, name);
        names[count] = texts[count];
        tensors[count++] = tensor;
    }
    CHECK_OK(eg_npz_write(context, path, count, names, tensors, &error), error);
}

static const char config[] =
    "{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": {\"kind\": \"AutoNCP\", \"args\": "
    "{\"units\": 12, \"output_size\": 2}}}";

TEST(model_files, round_trips) {
    static const char *const specs[] = {"cfc:8,in=3,seed=4,backbone=16x2,proj=2",
                                        "cfc:autoncp:12:2,in=3,seed=1", "ltc:autoncp:12:2,in=3",
                                        "cfc:4,in=2,mixed=1,bidirectional=concat",
                                        "ltc:random:7:2,in=3,sparsity=0.5"};
    eg_context *context = open_context(NULL);
    const char *path = test_join(test_folder(), "m.safetensors");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        eg_model *model = NULL, *back = NULL;
        eg_error error = {0};
        CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
        CHECK_OK(eg_model_save(model, path, &error), error);
        CHECK_OK(eg_model_open(context, path, &back, &error), error);
        if (model && back) check_same(model, back);
        eg_model_destroy(model);
        eg_model_destroy(back);
    }
    eg_context_destroy(context);
}

TEST(model_files, units_and_notes) {
    static const float mean[] = {0.1f, -3e20f, 7}, scale[] = {1e-7f, 2, 3};
    static const char *const names[] = {"Temperature", "\"quoted\", and \xc3\xbcml\xc3\xa4uts"};
    const char *path = test_join(test_folder(), "units.safetensors");
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    eg_model *model, *loaded;
    CHECK_OK(eg_model_open(context, "cfc:4,in=3,proj=2", &model, &error), error);
    const eg_units units = {mean, scale, mean, scale, 59.5f};
    CHECK_OK(eg_model_units_set(model, &units, &error), error);
    CHECK_OK(eg_model_note_set(model, "inputs", 2, names, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &loaded, &error), error);
    eg_units got = {0};
    eg_model_units_get(loaded, &got);
    CHECK(got.input_mean && memcmp(got.input_mean, mean, 3 * sizeof *mean) == 0 &&
              memcmp(got.input_scale, scale, 3 * sizeof *mean) == 0 &&
              memcmp(got.output_mean, mean, 2 * sizeof *mean) == 0 && got.time == 59.5f,
          "other units");
    for (size_t i = 0; i < 2; i++) {
        const char *note = eg_model_note(loaded, "inputs", i);
        CHECK(note && strcmp(note, names[i]) == 0, "note %zu: %s", i, note ? note : "none");
    }
    eg_model_destroy(loaded);
    eg_model_destroy(model);
    static const struct {
        const char *more, *part;
    } wrong[] = {
        {"\"units\": 3", "'units' is not an object"},
        {"\"units\": {\"input_mean\": [1]}", "'input_mean' is not a list of one number"},
        {"\"units\": {\"input_mean\": [1, 2, \"x\"]}", "'input_mean' is not a list of num"},
        {"\"units\": {\"input_mean\": [1, 2, 3]}", "a mean without a scale"},
        {"\"units\": {\"time\": []}", "'time' is not a number"},
        {"\"notes\": []", "'notes' is not an object"},
        {"\"notes\": {\"a\": [1]}", "note 'a' is not a list"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"elegans_model\": 1, \"layers\": [{\"model\": \"CfC\", \"input_size\": 3, "
                 "\"units\": 4, \"backbone_units\": 4}], %s}",
                 wrong[i].more);
        CHECK_FAILS(eg_model_load(context, path, text, &loaded, &error), error,
                    i == 3 ? EG_ERR_ARGUMENT : EG_ERR_FORMAT, wrong[i].part);
    }
    eg_context_destroy(context);
}

TEST(model_files, npz) {
    eg_context *context = open_context(NULL);
    char path[300];
    snprintf(path, sizeof path, "%s/m.npz", test_folder());
    eg_model *model, *back;
    eg_error error = {0};
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:2,in=3,seed=1", &model, &error), error);
    static const char *const before[] = {"", "param.", "model.rnn."};
    for (size_t i = 0; i < 3; i++) {
        write_npz(context, model, path, before[i], NULL);
        CHECK_OK(eg_model_load(context, path, config, &back, &error), error);
        if (back) check_same(model, back);
        eg_model_destroy(back);
    }
    CHECK_FAILS(eg_model_load(context, path, NULL, &back, &error), error, EG_ERR_FORMAT,
                "does not say its architecture");
    CHECK_FAILS(eg_model_load(context, path, "{", &back, &error), error, EG_ERR_FORMAT, "model: ");
    write_npz(context, model, path, "", "layer_1.ff1");
    CHECK_FAILS(eg_model_load(context, path, config, &back, &error), error, EG_ERR_NOT_FOUND,
                "no tensor 'rnn_cell.layer_1.ff1.weight', 'rnn_cell.layer_1.ff1.bias' in '");
    write_npz(context, model, path, "", "layer_");
    CHECK_FAILS(eg_model_load(context, path, config, &back, &error), error, EG_ERR_NOT_FOUND,
                " more in '");
    CHECK(!back, "a model is left");
    CHECK_FAILS(eg_model_load(context, "/nonexistent.npz", config, &back, &error), error,
                EG_ERR_FILE, "/nonexistent.npz");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(model_files, layers) {
    eg_context *context = open_context(NULL);
    eg_model *model;
    eg_layer_info l;
    eg_error error = {0};
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:2,in=3", &model, &error), error);
    CHECK_OK(eg_model_layer(model, 0, &l, &error), error);
    CHECK(strcmp(l.cell, "cfc") == 0 && strcmp(l.wiring, "autoncp") == 0 && !l.activation &&
              !l.merge,
          "%s %s", l.cell, l.wiring);
    CHECK(l.inputs == 3 && l.units == 12 && l.outputs == 2 && l.synapses && l.synapses < l.possible,
          "%d of %d synapses", (int)l.synapses, (int)l.possible);
    CHECK_FAILS(eg_model_layer(model, 1, &l, &error), error, EG_ERR_ARGUMENT, "no layer 1");
    eg_stream_program *program;
    eg_program_info p;
    CHECK_OK(eg_stream_compile(model, &program, &error), error);
    eg_stream_program_info_get(program, &p);
    CHECK(p.flops > 0 && p.states == 1 && p.state_bytes >= 48, "%g FLOP, %zu states", p.flops,
          p.states);
    eg_stream_program_destroy(program);
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, "ltc:full:5:2,in=2,unfolds=3", &model, &error), error);
    CHECK_OK(eg_model_layer(model, 0, &l, &error), error);
    CHECK(!l.mode && l.unfolds == 3 && l.synapses == 35 && l.possible == 35, "%d synapses",
          (int)l.synapses);
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, "cfc:5,in=2,backbone=8+4,activation=silu,bidirectional=mul",
                           &model, &error),
             error);
    CHECK_OK(eg_model_layer(model, 0, &l, &error), error);
    CHECK(l.backbone_count == 2 && l.backbone[1] == 4 && strcmp(l.activation, "silu") == 0 &&
              strcmp(l.merge, "mul") == 0 && !l.wiring && !l.possible,
          "%zu layers of the backbone", l.backbone_count);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg_context_options options = {.allocator = *allocator, .threads = 1};
    eg_context *context;
    eg_model *model;
    eg_status status = eg_context_create(&context, &options, error);
    if (status) return status;
    status = eg_model_load(context, user, config, &model, error);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return status;
}

TEST(model_files, every_allocation) {
    eg_context *context = open_context(NULL);
    char path[300];
    snprintf(path, sizeof path, "%s/m.npz", test_folder());
    eg_model *model;
    eg_error error = {0};
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:2,in=3,seed=1", &model, &error), error);
    write_npz(context, model, path, "", NULL);
    eg_model_destroy(model);
    eg_context_destroy(context);
    int failed = test_every_allocation(attempt, path);
    CHECK(failed >= 20, "only %d allocations", failed);
}
