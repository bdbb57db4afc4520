/* Models in files: saved and loaded, from .npz, with something missing; what can be asked of them. */
#include "test_formats.h"
#include "elegans/elegans.h"
#include "formats/models/model_config.h"
#include "formats/files/safetensors.h"

AREA(model_files,
     "models saved, loaded from .safetensors and .npz, with tensors missing; their layers")

static eg_context *open_context(const eg_allocator *allocator) {
    eg_context *context = NULL;
    eg_error error = {0};
    eg_context_options options = {.threads = 1};
    if (allocator) options.allocator = *allocator;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
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

/* The state-dict of a model as numpy would save it; those with `skip` in their name, or masks if that is
 * NULL, are left out. */
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
        if (skip ? strstr(name, skip) != NULL : !trainable) continue;
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
                                        "cfc:autoncp:12:2,in=3,seed=1",
                                        "ltc:autoncp:12:2,in=3",
                                        "cfc:autoncp:12:2,in=3,backbone=8+4,activation=gelu",
                                        "cfc:random:4,in=9,sparsity=0.9,backbone=8x3,dropout=0.3",
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

/* Names for other columns or classes than the model has would be those of something else. */
TEST(model_files, as_many_names_as_there_are) {
    static const char *const plain[] = {"a", "b", "c", "d", "e"}, *const same[] = {"a", "a"};
    static const struct {
        const char *key;
        size_t count;
        const char *loss, *part; /* NULL = fine */
        bool same;               /* all names are */
    } cases[] = {
        {"inputs", 3, "mse", NULL, false},
        {"inputs", 2, "mse", "2 names in note 'inputs' for 3 inputs", false},
        {"inputs", 4, "mse", "4 names in note 'inputs' for 3 inputs", false},
        {"targets", 2, "mse", NULL, false},
        {"targets", 1, "mse", "1 name in note 'targets' for 2 outputs", false},
        {"targets", 1, "classes", NULL, false},
        {"targets", 2, "classes", "2 names in note 'targets' for 1 column of classes", false},
        {"labels", 2, "classes", NULL, false},
        {"labels", 1, "classes", "1 name in note 'labels' for 2 outputs", false},
        {"labels", 3, "classes", "3 names in note 'labels' for 2 outputs", false},
        {"labels", 2, "classes", "label 'a' is there twice in note 'labels'", true},
        {"others", 2, "mse", NULL, true},
        {"others", 5, "mse", NULL, false}};
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = test_join(test_folder(), "names.safetensors");
        eg_model *model, *loaded = NULL;
        CHECK_OK(eg_model_open(context, "cfc:4,in=3,proj=2", &model, &error), error);
        CHECK_OK(eg_model_note_set(model, "loss", 1, &cases[i].loss, &error), error);
        const char *const *names = cases[i].same ? same : plain;
        CHECK_OK(eg_model_note_set(model, cases[i].key, cases[i].count, names, &error), error);
        CHECK_OK(eg_model_save(model, path, &error), error);
        const eg_status status = eg_model_open(context, path, &loaded, &error);
        CHECK((status == EG_OK) == !cases[i].part, "case %zu: %s", i,
              status ? error.message : "no failure");
        if (status && cases[i].part)
            CHECK(strstr(error.message, cases[i].part) &&
                      strstr(error.message, "names.safetensors'"),
                  "%s", error.message);
        eg_model_destroy(loaded);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* As many as a training may have. */
TEST(model_files, thousands_of_labels) {
    enum { MANY = 5000 };
    static char texts[MANY][8];
    static const char *names[MANY];
    const char *path = test_join(test_folder(), "many.safetensors");
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    eg_model *model, *loaded = NULL;
    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        names[i] = texts[i];
    }
    CHECK_OK(eg_model_open(context, "cfc:2,in=1,backbone=0,proj=5000", &model, &error), error);
    CHECK_OK(eg_model_note_set(model, "labels", MANY, names, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &loaded, &error), error);
    const char *last = loaded ? eg_model_note(loaded, "labels", MANY - 1) : NULL;
    CHECK(last && strcmp(last, "4999") == 0, "the last is '%s'", last ? last : "none");
    eg_model_destroy(loaded);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(model_files, units_and_notes) {
    static const float mean[] = {0.1f, -3e20f, 7}, scale[] = {1e-7f, 2, 3};
    static const char *const names[] = {"Temperature", "\"quoted\", and \xc3\xbcml\xc3\xa4uts", ""};
    const char *path = test_join(test_folder(), "units.safetensors");
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    eg_model *model, *loaded;
    CHECK_OK(eg_model_open(context, "cfc:4,in=3,proj=2", &model, &error), error);
    const eg_scaling units = {mean, scale, mean, scale, 59.5f};
    CHECK_OK(eg_model_scaling_set(model, &units, &error), error);
    CHECK_OK(eg_model_note_set(model, "inputs", 3, names, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &loaded, &error), error);
    eg_scaling got = {0};
    eg_model_scaling_get(loaded, &got);
    CHECK(got.input_mean && memcmp(got.input_mean, mean, 3 * sizeof *mean) == 0 &&
              memcmp(got.input_scale, scale, 3 * sizeof *mean) == 0 &&
              memcmp(got.output_mean, mean, 2 * sizeof *mean) == 0 && got.time == 59.5f,
          "other units");
    for (size_t i = 0; i < 3; i++) {
        const char *note = eg_model_note(loaded, "inputs", i);
        CHECK(note && strcmp(note, names[i]) == 0, "note %zu: %s", i, note ? note : "none");
    }
    eg_model_destroy(loaded);
    /* a text that JSON cannot hold: nothing is saved, rather than a list that lacks it */
    static const char *const labels[] = {"tea", "caf\xe9", "milk"};
    eg_status status = eg_model_note_set(model, "labels", 3, labels, &error);
    if (!status) status = eg_model_save(model, path, &error);
    CHECK(status == EG_ERR_ARGUMENT && strstr(error.message, "not UTF-8") &&
              strstr(error.message, "labels"),
          "a label that is not UTF-8: %s", error.message);
    CHECK_OK(eg_model_open(context, path, &loaded, &error), error);
    CHECK(!eg_model_note(loaded, "labels", 0), "labels in the old file");
    eg_model_destroy(loaded);
    eg_model_destroy(model);
    static const struct {
        const char *more, *part;
    } wrong[] = {
        {"\"units\": 3", "'units' is no object"},
        {"\"units\": {\"mean\": [1]}", "unknown key 'mean' of 'units', which has input_mean, "},
        {"\"units\": {\"input_mean\": [1]}", "'input_mean' is not a list of one number"},
        {"\"units\": {\"input_mean\": [1, 2, \"x\"]}", "'input_mean' is not a list of num"},
        {"\"units\": {\"input_mean\": [1, 2, 3]}", "both mean and scale are needed"},
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
                    i == 4 ? EG_ERR_ARGUMENT : EG_ERR_FORMAT, wrong[i].part);
    }
    eg_context_destroy(context);
}

/* What a wiring, a layer and a document may say, and where it would mean nothing. */
#define AUTO    "\"wiring\": {\"kind\": \"AutoNCP\", \"args\": {\"units\": 12, \"output_size\": 2"
#define CIRCUIT "\"model\": \"CfC\", \"input_size\": 3, " AUTO "}}"
#define PLAIN   "\"model\": \"CfC\", \"input_size\": 3, \"units\": 4"
#define LIQUID  "\"model\": \"LTC\", \"input_size\": 3, \"units\": 4"
#define ROWS                                                                             \
    "{\"elegans_model\": 1, \"transformer\": {\"family\": \"bert\", \"epsilon\": 1e-5, " \
    "\"rope_base\": 1, \"dropout\": 0, \"rows\": ["
TEST(model_files, keys) {
    static const struct {
        const char *config, *part;
    } rows[] = {
        {"{" PLAIN ", \"backbone_unit\": 4}",
         "unknown key 'backbone_unit' of a CfC; did you mean 'backbone_units'?"},
        {"{" PLAIN ", \"backbone_unit\": null}", "unknown key 'backbone_unit'"},
        {"{" LIQUID ", \"backbone_unit\": 4}", "unknown key 'backbone_unit' of an LTC, which has"},
        {"{" PLAIN ", \"ode_unfolds\": 6}", "meaningless key 'ode_unfolds' of a CfC"},
        {"{" PLAIN ", \"output_dim\": 2}", "meaningless key 'output_dim' of a CfC"},
        {"{" CIRCUIT ", \"epsilon\": 1e-8}", "meaningless key 'epsilon' of a wired CfC"},
        {"{" CIRCUIT ", \"units\": 12}", "meaningless key 'units' of a wired CfC"},
        {"{" LIQUID ", \"backbone_units\": 8}", "meaningless key 'backbone_units' of an LTC"},
        {"{" LIQUID ", \"mode\": \"pure\"}", "meaningless key 'mode' of an LTC"},
        {"{" LIQUID ", \"proj_size\": 3}", "meaningless key 'proj_size' of an LTC"},
        {"{\"model\": \"LTC\", \"input_size\": 3, " AUTO "}}, \"output_dim\": 2}",
         "meaningless key 'output_dim' of a wired LTC"},
        {"{" CIRCUIT ", \"activation\": \"silu\"}",
         "meaningless key 'activation' of a wired CfC without a backbone: give backbone_units"},
        {"{" CIRCUIT ", \"backbone_dropout\": 0.1}", "meaningless key 'backbone_dropout'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, " AUTO ", \"inter_neurons\": 4}}}",
         "meaningless key 'inter_neurons' of wiring 'AutoNCP', which has units, output_size"},
        {"{\"model\": \"CfC\", \"input_size\": 3, " AUTO ", \"random_seed\": 4}}}",
         "meaningless key 'random_seed' of wiring 'AutoNCP'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, " AUTO ", \"sparsity\": 0.3}}}",
         "unknown key 'sparsity' of wiring 'AutoNCP'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, " AUTO "}, \"seed\": 3}}",
         "unknown key 'seed' of 'wiring', which has kind, args"},
        {"{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": {\"kind\": \"AutoNCP\"}}",
         "no 'args' of 'wiring'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": 5}", "'wiring' is no object"},
        {"{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": {\"kind\": \"Auto\", \"args\": {}}}",
         "'kind' cannot be 'Auto'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": {\"kind\": \"NCP\", \"args\": "
         "{\"inter_neurons\": 3, \"command_neurons\": 3, \"motor_neurons\": 1, \"sensory_fanout\": 2,"
         " \"inter_fanout\": 2, \"motor_fanin\": 1}}}",
         "no 'recurrent_command_synapses' of wiring 'NCP'"},
        {"{\"model\": \"CfC\", \"input_size\": 3, \"wiring\": {\"kind\": \"Edges\", \"args\": "
         "{\"units\": 2, \"inputs\": 2, \"outputs\": 2, \"synapses\": [], \"sensory\": []}}}",
         "the wiring has 2 inputs, but 'input_size' is 3"},
        {"{\"model\": \"CfC\", \"units\": 3}", "no 'input_size' of a CfC"},
        {"{\"input_size\": 3, \"units\": 3}", "'model' is not given"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"seed\": 1}",
         "unknown key 'seed' of a model, which has elegans_model, layers"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"transformer\": {}}",
         "meaningless key 'layers' of a model"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN ", \"batch\": 3}]}",
         "meaningless key 'batch' of a CfC"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"quantization\": [{\"type\": \"i8\", "
         "\"bits\": 8, \"tensors\": []}]}",
         "unknown key 'bits' of a quantization"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"quantization\": [{\"type\": \"f16\", "
         "\"per\": \"channel\", \"tensors\": []}]}",
         "meaningless key 'per' of a quantization"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"quantization\": [{\"type\": \"i8\", "
         "\"symmetric\": 1, \"tensors\": []}]}",
         "'symmetric' of a quantization is not true or false"},
        {"{\"elegans_model\": 1, \"layers\": [{" PLAIN "}], \"quantization\": [{\"type\": \"i8\", "
         "\"tensors\": 3}]}",
         "'tensors' of a quantization is no list"},
        {"{\"elegans_model\": 1, \"transformer\": {\"family\": \"llama\", \"depth\": 3}}",
         "unknown key 'depth' of a transformer, which has family"},
        {"{\"elegans_model\": 1, \"transformer\": {\"family\": \"bert\", \"pooling\": \"middle\", "
         "\"epsilon\": 1e-5, \"rope_base\": 1, \"dropout\": 0}}",
         "unknown pooling 'middle'"},
        {"{\"elegans_model\": 1, \"transformer\": {\"family\": \"bert\", \"tied\": 1, "
         "\"epsilon\": 1e-5, \"rope_base\": 1, \"dropout\": 0}}",
         "'tied' is not true or false"},
        {ROWS "{\"dense\": 4, \"bias\": 1}]}}", "step 0 of 'rows' is no dense layer"},
        {ROWS "{\"dense\": 0}, {\"dense\": 4, \"activation\": 3}]}}", "step 1 of 'rows'"},
        {ROWS "{\"dense\": 4, \"activation\": \"swish\"}]}}", "step 0 of 'rows'"},
        {ROWS "{\"dense\": 4, \"units\": 3}]}}", "unknown key 'units' of a step of 'rows'"},
        {"{" PLAIN ", \"backbone\": [4], \"backbone_layers\": 1}",
         "'backbone' beside 'backbone_layers': say it in one way"},
        {"{" PLAIN ", \"backbone\": [4], \"backbone_units\": 4}",
         "'backbone' beside 'backbone_units': say it in one way"},
        {"{" PLAIN ", \"backbone\": 4}", "'backbone' is not a list of widths"},
        {"{" PLAIN ", \"backbone_units\": 0}", "'backbone_units' is not a width within 1..1048576"},
        {"{" PLAIN ", \"backbone_units\": [4, \"x\"]}", "'backbone_units' is not a width"},
        {"{" PLAIN ", \"backbone_units\": [4, 5], \"backbone_layers\": 3}",
         "'backbone_layers' is not the length of 'backbone_units'"},
        {"{" PLAIN ", \"backbone_layers\": 9}", "'backbone_units' is not a backbone of at most 8"},
    };
    const char *path = test_join(test_folder(), "m.safetensors");
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    eg_model *model = NULL;
    CHECK_OK(eg_model_open(context, "cfc:4,in=3", &model, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(eg_model_load(context, path, rows[i].config, &model, &error), error,
                    EG_ERR_FORMAT, rows[i].part);
        CHECK(!model, "%s: a model", rows[i].config);
    }
    eg_context_destroy(context);
}

/* The arguments of a CfC, wired or not, and the widths of the backbone that they make. */
TEST(model_files, backbones) {
    static const struct {
        const char *config;
        uint64_t width[5];
    } rows[] = {
        {"{" PLAIN "}", {128}},
        {"{" PLAIN ", \"backbone_units\": 16, \"backbone_layers\": 2}", {16, 16}},
        {"{" PLAIN ", \"backbone_units\": [16, 8]}", {16, 8}},
        {"{" PLAIN ", \"backbone_units\": [16, 8], \"backbone_layers\": 2}", {16, 8}},
        {"{" PLAIN ", \"backbone_units\": [16], \"backbone_layers\": 3}", {16, 16, 16}},
        {"{" PLAIN ", \"backbone_units\": 16, \"backbone_layers\": 0}", {0}},
        {"{" PLAIN ", \"backbone\": []}", {0}},
        {"{" PLAIN ", \"ode_unfolds\": null}", {128}}, /* not of a CfC, and says nothing */
        {"{" CIRCUIT "}", {0}},
        {"{" CIRCUIT ", \"backbone_units\": null, \"backbone_layers\": null, "
         "\"backbone_dropout\": null, \"activation\": null}",
         {0}},
        {"{" CIRCUIT ", \"backbone_layers\": 0, \"activation\": \"silu\"}", {0}},
        {"{" CIRCUIT ", \"backbone_units\": [64, 32], \"backbone_layers\": 2, "
         "\"backbone_dropout\": 0.1}",
         {64, 32}},
        {"{" CIRCUIT ", \"backbone_units\": 20}", {20}},
        {"{" CIRCUIT ", \"backbone_layers\": 2, \"activation\": \"gelu\"}", {128, 128}},
        {"{" CIRCUIT ", \"backbone\": [6, 5, 4]}", {6, 5, 4}},
    };
    eg_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_model *model = NULL;
        eg_layer_info layer = {.size = sizeof layer};
        eg_error error = {0};
        eg_status status = eg__model_config_read(context, rows[i].config, strlen(rows[i].config),
                                                 UINT64_MAX, &model, &error);
        CHECK(status == EG_OK, "%s: %s", rows[i].config, error.message);
        if (status) continue;
        CHECK_OK(eg_model_layer(model, 0, &layer, &error), error);
        size_t count = 0;
        while (rows[i].width[count]) count++;
        CHECK(layer.backbone_count == count &&
                  memcmp(layer.backbone, rows[i].width, count * sizeof *layer.backbone) == 0,
              "%s: %zu layers, the first of %llu", rows[i].config, layer.backbone_count,
              (unsigned long long)layer.backbone[0]);
        const bool wired = strstr(rows[i].config, "wiring") != NULL;
        char name[64];
        snprintf(name, sizeof name, "rnn_cell.%sbackbone.0.weight", wired ? "layer_2." : "");
        CHECK((eg__model_parameter(model, name) != NULL) == (count > 0), "%s: '%s'", rows[i].config,
              name);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* A file says its link; an older one has that of the loss it was trained with. */
TEST(model_files, links) {
    static const struct {
        const char *more;
        eg_link link;
    } cases[] = {{"\"link\": \"softmax\"", EG_LINK_SOFTMAX},
                 {"\"notes\": {\"loss\": [\"binary\"]}", EG_LINK_SIGMOID},
                 {"\"notes\": {\"loss\": [\"classes\"]}", EG_LINK_SOFTMAX},
                 {"\"notes\": {\"loss\": [\"huber\"]}", EG_LINK_IDENTITY},
                 {"\"notes\": {}", EG_LINK_IDENTITY},
                 {"\"link\": null, \"notes\": {\"loss\": [\"classes\"]}", EG_LINK_SOFTMAX},
                 /* what a loss of 0 and 1 cannot have taught */
                 {"\"notes\": {\"loss\": [\"binary\"]}, \"units\": {\"output_mean\": [1, 2, 3, 4], "
                  "\"output_scale\": [1, 2, 3, 4]}",
                  EG_LINK_IDENTITY},
                 {"\"link\": \"identity\", \"notes\": {\"loss\": [\"binary\"]}", EG_LINK_IDENTITY}};
    static const struct {
        const char *more, *part;
        eg_status status;
    } wrong[] = {
        {"\"link\": \"probit\"", "link 'probit' is none of", EG_ERR_FORMAT},
        {"\"link\": 1", "link '' is none of", EG_ERR_FORMAT},
        {"\"link\": \"sigmoid\", \"units\": {\"output_mean\": [1, 2, 3, 4], \"output_scale\": "
         "[1, 2, 3, 4]}",
         "the outputs have units", EG_ERR_ARGUMENT}};
    char path[300], again[300];
    snprintf(path, sizeof path, "%s/link.safetensors", test_folder());
    snprintf(again, sizeof again, "%s/again.safetensors", test_folder());
    eg_context *context = open_context(NULL);
    eg_error error = {0};
    eg_model *model = NULL, *back = NULL;
    CHECK_OK(eg_model_open(context, "cfc:4,in=3,backbone=4", &model, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
    static const char head[] = "{\"elegans_model\": 1, \"layers\": [{\"model\": \"CfC\", "
                               "\"input_size\": 3, \"units\": 4, \"backbone_units\": 4}], %s}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, head, cases[i].more);
        CHECK_OK(eg_model_load(context, path, text, &model, &error), error);
        CHECK_OK(eg_model_save(model, again, &error), error);
        CHECK_OK(eg_model_open(context, again, &back, &error), error);
        CHECK(eg_model_link(model) == cases[i].link && eg_model_link(back) == cases[i].link,
              "%s: %s, and %s when saved", cases[i].more, eg_link_name(eg_model_link(model)),
              eg_link_name(eg_model_link(back)));
        eg_model_destroy(model);
        eg_model_destroy(back);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        snprintf(text, sizeof text, head, wrong[i].more);
        CHECK_FAILS(eg_model_load(context, path, text, &model, &error), error, wrong[i].status,
                    wrong[i].part);
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
                "has no architecture in its metadata");
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

/* ---- masks of a file, and tensors that nothing uses */
static void output_of(eg_context *context, const eg_model *model, float y[64]) {
    eg_error error = {0};
    eg_stream_program *program = NULL;
    eg_stream *stream = NULL;
    const float x[] = {0.3f, -0.7f, 1.1f};
    (void)context;
    CHECK_OK(eg_stream_compile((eg_model *)(uintptr_t)model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    for (int t = 0; t < 4; t++) CHECK_OK(eg_stream_step(stream, x, 0.5f, y, &error), error);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
}

/* Signs of synapses, too. A CfC has forgotten those that can be drawn again. */
static eg__wiring *drawn_of(const eg__wiring *w) {
    eg__wiring *drawn = NULL;
    eg_error error;
    CHECK_OK(eg__wiring_build(w->memory, &w->options, w->inputs, &drawn, &error), error);
    for (size_t i = 0; w->adjacency && i < (size_t)w->units * w->units; i++)
        drawn->adjacency[i] = w->adjacency[i];
    for (size_t i = 0; w->sensory && i < (size_t)w->inputs * w->units; i++)
        drawn->sensory[i] = w->sensory[i];
    return drawn;
}
static void check_same_wiring(const eg__wiring *a, const eg__wiring *b, const char *name) {
    eg__wiring *const one = drawn_of(a), *const two = drawn_of(b);
    CHECK(memcmp(one->adjacency, two->adjacency, (size_t)one->units * one->units) == 0 &&
              memcmp(one->sensory, two->sensory, (size_t)one->inputs * one->units) == 0,
          "%s: synapses of another polarity", name);
    eg__wiring_destroy(one);
    eg__wiring_destroy(two);
}

#define WITH_SEED ", \"seed\": 7}}}"
#define LTC_AUTO  "{\"model\": \"LTC\", \"input_size\": 3, " AUTO
TEST(model_files, masks) {
    static const struct {
        const char *spec, *config, *part; /* NULL: it is what was saved */
    } rows[] = {
        {"cfc:autoncp:12:2,in=3,seed=1", "{" CIRCUIT "}", NULL},
        {"cfc:autoncp:12:2,in=3,seed=1", "{\"model\": \"CfC\", \"input_size\": 3, " AUTO WITH_SEED,
         "of 'rnn_cell.layer_0.sparsity_mask' in '"},
        {"cfc:autoncp:12:2,in=3,backbone=8",
         "{\"model\": \"CfC\", \"input_size\": 3, \"backbone_units\": 8, " AUTO WITH_SEED,
         "of 'rnn_cell.layer_0.sparsity_mask' in '"},
        {"ltc:autoncp:12:2,in=3", LTC_AUTO "}}}", NULL},
        {"ltc:autoncp:12:2,in=3", LTC_AUTO WITH_SEED, "of 'rnn_cell.sparsity_mask' in '"},
        /* no word of a wiring: the masks are the wiring */
        {"ltc:autoncp:12:2,in=3",
         "{\"model\": \"LTC\", \"input_size\": 3, \"units\": 12, \"output_dim\": 2}", NULL},
        {"ltc:random:5,in=3,sparsity=0.6", "{\"model\": \"LTC\", \"input_size\": 3, \"units\": 5}",
         NULL},
    };
    static const char *const ends[] = {"m.safetensors", "m.npz", "back.safetensors"};
    eg_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char paths[3][300];
        float wanted[64], got[64];
        eg_model *model = NULL;
        eg_error error = {0};
        for (int k = 0; k < 3; k++)
            snprintf(paths[k], sizeof paths[k], "%s/%s", test_folder(), ends[k]);
        CHECK_OK(eg_model_open(context, rows[i].spec, &model, &error), error);
        CHECK_OK(eg_model_save(model, paths[0], &error), error);
        write_npz(context, model, paths[1], "", "nothing of this name");
        output_of(context, model, wanted);
        eg_layer_info before = {.size = sizeof before}, after = {.size = sizeof after};
        eg_model_layer(model, 0, &before, &error);
        for (int k = 0; k < 2; k++) {
            eg_model *back = NULL;
            if (rows[i].part) {
                CHECK_FAILS(eg_model_load(context, paths[k], rows[i].config, &back, &error), error,
                            EG_ERR_FORMAT, rows[i].part);
                CHECK(strstr(error.message,
                             "the wiring 'autoncp' of the architecture, its sizes or its "
                             "seed, contradicts ") &&
                          strstr(error.message, " entries (first ["),
                      "'%s'", error.message);
                continue;
            }
            CHECK_OK(eg_model_load(context, paths[k], rows[i].config, &back, &error), error);
            CHECK_OK(eg_model_save(back, paths[2], &error), error);
            for (int again = 0; back && again < 2; again++) {
                check_same(model, back);
                output_of(context, back, got);
                eg_model_layer(back, 0, &after, &error);
                CHECK(memcmp(wanted, got, (size_t)before.outputs * sizeof *got) == 0 &&
                          before.synapses == after.synapses,
                      "%s: other outputs, %llu synapses", rows[i].spec,
                      (unsigned long long)after.synapses);
                check_same_wiring(model->layers[0].wiring, back->layers[0].wiring, rows[i].spec);
                eg_model_destroy(back);
                back = NULL;
                if (!again) CHECK_OK(eg_model_open(context, paths[2], &back, &error), error);
            }
            eg_model_destroy(back);
        }
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

TEST(model_files, unused_tensors) {
    static const struct {
        const char *spec, *config, *part;
    } rows[] = {
        {"cfc:4,in=3,mixed=1", "{" PLAIN "}", "no use for 'lstm.input_map.weight' and 2 more in '"},
        {"cfc:4,in=3,proj=2", "{" PLAIN "}", "no use for 'fc.weight' and 1 more in '"},
        {"cfc:4,in=3,backbone=8x2", "{" PLAIN ", \"backbone_units\": 8}",
         "no use for 'rnn_cell.backbone.2.weight' and 1 more in '"},
        {"ltc:4,in=3", "{" LIQUID ", \"output_mapping\": \"linear\"}",
         "the architecture has no use for 'rnn_cell.output_b' in '"},
    };
    eg_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[300];
        eg_model *model = NULL, *back = NULL;
        eg_error error = {0};
        snprintf(path, sizeof path, "%s/m.npz", test_folder());
        CHECK_OK(eg_model_open(context, rows[i].spec, &model, &error), error);
        write_npz(context, model, path, "model.", NULL);
        CHECK_FAILS(eg_model_load(context, path, rows[i].config, &back, &error), error,
                    EG_ERR_FORMAT, rows[i].part);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* An architecture of more numbers than its file can hold is no reason to take memory for them. */
TEST(model_files, more_than_the_file) {
    eg_context *context = open_context(NULL);
    const char *path = test_join(test_folder(), "m.safetensors");
    eg_model *model = NULL, *back = NULL;
    eg_error error = {0};
    CHECK_OK(eg_model_open(context, "ltc:4,in=3", &model, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    CHECK_FAILS(eg_model_load(context, path,
                              "{\"model\": \"LTC\", \"input_size\": 3, \"units\": 16384}", &back,
                              &error),
                error, EG_ERR_FORMAT,
                "the architecture has 1074020358 values, but the file can hold at most 4608");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* What was saved as f16 and says nothing of a quantization is read as f32: a state-dict of torch in halves. */
TEST(model_files, halves) {
    enum { MANY = 32 };
    eg_context *context = open_context(NULL);
    const char *path = test_join(test_folder(), "half.safetensors"), *names[MANY];
    eg_model *model = NULL, *back = NULL;
    eg_error error = {0};
    eg_tensor halves[MANY], wide, got;
    size_t count = 0;
    CHECK_OK(eg_model_open(context, "cfc:4,in=3,backbone=8", &model, &error), error);
    for (; count < MANY && (names[count] = eg_model_tensor(model, count, &wide, NULL)); count++) {
        CHECK_OK(eg_tensor_create(context, EG_F16, wide.rank, wide.shape, &halves[count], &error),
                 error);
        CHECK_OK(eg_tensor_convert(context, &wide, &halves[count], &error), error);
        CHECK_OK(eg_tensor_convert(context, &halves[count], &wide, &error), error); /* rounded */
    }
    CHECK_OK(eg__safetensors_save(model->memory, path, count, names, halves, 0, NULL, &error),
             error);
    CHECK_OK(eg_model_load(context, path, "{" PLAIN ", \"backbone_units\": 8}", &back, &error),
             error);
    if (back) check_same(model, back);
    CHECK(back && eg_model_tensor(back, 0, &got, NULL) && got.type == EG_F32, "no f32");
    for (size_t i = 0; i < count; i++) eg_tensor_release(context, &halves[i]);
    eg_model_destroy(model);
    eg_model_destroy(back);
    eg_context_destroy(context);
}

/* A mask that is neither 0 nor 1 would scale a weight. */
TEST(model_files, odd_mask) {
    eg_context *context = open_context(NULL);
    char path[300];
    eg_model *model = NULL, *back = NULL;
    eg_error error = {0};
    eg_tensor mask;
    snprintf(path, sizeof path, "%s/m.npz", test_folder());
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:2,in=3,seed=1", &model, &error), error);
    eg_model_tensor(model, 0, &mask, NULL);
    float *entry = &((float *)mask.data)[9];
    const float kept = *entry;
    *entry = 1 - kept;
    write_npz(context, model, path, "", "nothing of this name");
    CHECK_FAILS(eg_model_load(context, path, config, &back, &error), error, EG_ERR_FORMAT,
                kept > 0 ? "contradicts 1 of 54 entries (first [1,0]: 0)"
                         : "contradicts 1 of 54 entries (first [1,0]: 1)");
    *entry = 0.5f;
    write_npz(context, model, path, "", "nothing of this name");
    CHECK_FAILS(eg_model_load(context, path, config, &back, &error), error, EG_ERR_FORMAT,
                "'rnn_cell.layer_0.sparsity_mask' is 0.5 at [1,0]: a mask is 0 or 1 in '");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(model_files, layers) {
    eg_context *context = open_context(NULL);
    eg_model *model;
    eg_layer_info l = {.size = sizeof l};
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
    eg_program_info p = {.size = sizeof p};
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
    eg_status status = eg_context_create(&options, &context, error);
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
