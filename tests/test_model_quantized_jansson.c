/* Models in quantized numbers: as their values in f32, through files, and what is refused. */
#include "test_formats.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(model_quantized, "quantized models: what their values give in f32, saved, loaded, refused")

static const char *const specs[] = {
    "cfc:autoncp:12:2,in=3,seed=1",           "cfc:random:2,in=3,sparsity=0.8,backbone=8+6,seed=1",
    "cfc:8,in=3,seed=4,backbone=16x2,proj=2", "cfc:8,in=3,mode=pure",
    "ltc:autoncp:12:2,in=3,seed=2",           "cfc:6,in=3,mixed=1,bidirectional=concat",
};
enum { SPECS = sizeof specs / sizeof *specs, BATCH = 3, STEPS = 5 };

static const eg_quantization ways[] = {
    {.type = EG_F16},
    {.type = EG_BF16},
    {.type = EG_I8},
    {.type = EG_I8, .per = EG_PER_TENSOR, .symmetric = 1},
    {.type = EG_I4, .per = EG_PER_BLOCK, .block = 4},
    {.type = EG_I4, .per = EG_PER_BLOCK, .symmetric = 1},
    {.type = EG_I8, .integers = 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static eg_context *open_context(void) {
    eg_context *context = NULL;
    eg_error error = {0};
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    return context;
}

/* [BATCH, STEPS, outputs] of a model, from numbers that are always the same. */
static eg_status run(eg_context *context, const eg_model *model, eg_tensor *y, eg_error *error) {
    const eg_model_options options = {.batch = BATCH, .time = STEPS, .batch_first = 1};
    eg_graph *graph = NULL;
    eg_program *program = NULL;
    eg_weights *weights = NULL;
    eg_instance *instance = NULL;
    eg_model_nodes nodes;
    float values[BATCH * STEPS * 3];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = test_random(&seed);
    const eg_tensor x = {EG_F32, 3, {BATCH, STEPS, 3}, values};
    eg_tensor out;
    eg_status status = eg_graph_create(context, &graph, error);
    if (!status) status = eg_model_build(model, graph, &options, &nodes, error);
    const eg_output output = {"y", nodes.y};
    if (!status) status = eg_compile(context, graph, 1, &output, NULL, &program, error);
    if (!status) status = eg_weights_create(program, &weights, error);
    if (!status) status = eg_model_weights(model, weights, error);
    if (!status) status = eg_instance_create(program, weights, &instance, error);
    if (!status) status = eg_instance_bind(instance, "x", &x, error);
    if (!status) status = eg_instance_output(instance, "y", &out, error);
    if (!status) status = eg_run(instance, NULL, error);
    if (!status) status = eg_tensor_create(context, EG_F32, out.rank, out.shape, y, error);
    if (!status) status = eg_tensor_convert(context, &out, y, error);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(graph);
    return status;
}

/* A model of f32 with the values of another one. */
static void copy_values(const eg_model *from, eg_model *to) {
    eg_tensor a, b;
    for (size_t i = 0; eg_model_tensor(from, i, &a, NULL); i++) {
        uint64_t bytes = 0;
        eg_model_tensor(to, i, &b, NULL);
        eg_tensor_measure(&a, NULL, &bytes, NULL);
        memcpy(b.data, a.data, (size_t)bytes);
    }
}

static void check(eg_context *context, const char *spec, const eg_quantization *quantization,
                  const char *path) {
    eg_model *small = NULL, *wide = NULL, *back = NULL;
    eg_error error = {0};
    eg_tensor y[3] = {0};
    eg_difference d = {0};
    const eg_model_quantization all = {.quantization = *quantization};
    CHECK_OK(eg_model_open(context, spec, &small, &error), error);
    CHECK_OK(eg_model_open(context, spec, &wide, &error), error);
    CHECK_OK(eg_model_quantize(small, &all, &error), error);
    copy_values(small, wide);
    CHECK_OK(run(context, small, &y[0], &error), error);
    CHECK_OK(run(context, wide, &y[1], &error), error);
    CHECK_OK(eg_tensor_compare(&y[1], &y[0], &d, &error), error);
    CHECK(d.count && (quantization->integers ? d.snr > 30 : d.most < 1e-5),
          "%s %s: off by %g, %g dB", spec, eg_type_name(quantization->type), d.most, d.snr);
    CHECK_OK(eg_model_save(small, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &back, &error), error);
    CHECK_OK(run(context, back, &y[2], &error), error);
    CHECK(memcmp(y[0].data, y[2].data, (size_t)d.count * sizeof(float)) == 0,
          "%s %s: another result from the file", spec, eg_type_name(quantization->type));
    size_t kept = 0, quantized = 0;
    for (size_t i = 0; i < eg_model_count(back); i++)
        *(eg_model_quantized(back, i) ? &quantized : &kept) += 1;
    CHECK(quantized && kept + quantized == eg_model_count(small), "%zu tensors", quantized);
    for (int i = 0; i < 3; i++) eg_tensor_release(context, &y[i]);
    eg_model_destroy(small);
    eg_model_destroy(wide);
    eg_model_destroy(back);
}

TEST(model_quantized, as_its_values) {
    eg_context *context = open_context();
    const char *path = test_join(test_folder(), "small.safetensors");
    for (size_t s = 0; s < SPECS; s++)
        for (size_t w = 0; w < WAYS; w++) check(context, specs[s], &ways[w], path);
    eg_context_destroy(context);
}

/* Of a model whose file is mapped, values are those of the quantized numbers also after pages of the file were given
 * back: they may not lie there any more. */
TEST(model_quantized, of_a_mapped_file) {
    const char *path = test_join(test_folder(), "mapped.safetensors");
    const eg_model_quantization quantization = {.quantization = {.type = EG_I8}};
    eg_context *context = open_context();
    eg_error error = {0};
    eg_model *drawn = NULL, *mapped = NULL;
    eg_tensor y, a, b;
    const char *name;
    CHECK_OK(eg_model_open(context, "cfc:64,in=3,backbone=128x2,seed=1", &drawn, &error), error);
    CHECK_OK(eg_model_save(drawn, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &mapped, &error), error);
    CHECK_OK(eg_model_quantize(drawn, &quantization, &error), error);
    CHECK_OK(eg_model_quantize(mapped, &quantization, &error), error);
    CHECK_OK(run(context, mapped, &y, &error), error); /* copies all values */
    for (size_t i = 0; (name = eg_model_tensor(drawn, i, &a, NULL)); i++) {
        uint64_t bytes = 0;
        eg_model_tensor(mapped, i, &b, NULL);
        eg_tensor_measure(&a, NULL, &bytes, NULL);
        CHECK(b.data && memcmp(a.data, b.data, (size_t)bytes) == 0, "'%s' has other values", name);
    }
    eg_tensor_release(context, &y);
    eg_model_destroy(drawn);
    eg_model_destroy(mapped);
    eg_context_destroy(context);
}

/* Quantized numbers again, to another type, and back to fewer of them. */
TEST(model_quantized, again_and_kept) {
    eg_context *context = open_context();
    eg_model *model = NULL;
    eg_error error = {0};
    static const char *const keep[] = {"time_a", "layer_1"};
    eg_model_quantization quantization = {.quantization = {.type = EG_I8}};
    CHECK_OK(eg_model_open(context, specs[0], &model, &error), error);
    CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
    quantization = (eg_model_quantization){{.type = EG_F16}, 2, keep};
    CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
    const char *name;
    for (size_t i = 0; (name = eg_model_tensor(model, i, NULL, NULL)); i++) {
        const eg_quantized *q = eg_model_quantized(model, i);
        const bool stays = strstr(name, "mask") || strstr(name, keep[0]) || strstr(name, keep[1]);
        CHECK(!q == stays && (!q || q->quantization.type == EG_F16), "'%s' is %s", name,
              q ? eg_type_name(q->quantization.type) : "f32");
    }
    quantization.keep = (const char *const[]){"ff1", "nothing"};
    CHECK_FAILS(eg_model_quantize(model, &quantization, &error), error, EG_ERR_NOT_FOUND,
                "'nothing'");
    quantization = (eg_model_quantization){.quantization = {.type = EG_I32}};
    CHECK_FAILS(eg_model_quantize(model, &quantization, &error), error, EG_ERR_UNSUPPORTED,
                "'i32'");
    eg_tensor tensor;
    eg_model_tensor(model, 1, &tensor, NULL);
    ((float *)tensor.data)[3] = INFINITY;
    quantization.quantization.type = EG_I8;
    CHECK_FAILS(eg_model_quantize(model, &quantization, &error), error, EG_ERR_ARGUMENT,
                "not finite");
    CHECK(eg_model_quantized(model, 1) && eg_model_quantized(model, 1)->quantization.type == EG_F16,
          "a model that failed is not as it was");
    eg_trainer *trainer = NULL;
    const eg_train_options train = {.batch = 2, .time = 3};
    CHECK_FAILS(eg_trainer_create(model, &train, &trainer, &error), error, EG_ERR_UNSUPPORTED,
                "quantized");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- files that are wrong */
typedef struct fault {
    const char *what;
    const char *from, *to; /* a text of the header, and what it becomes: of the same length */
    const char *part;      /* of the message */
    eg_status status;
} fault;
static const fault faults[] = {
    {"unknown type", "\\\"type\\\":\\\"i8\\\"", "\\\"type\\\":\\\"i9\\\"", "not understood",
     EG_ERR_FORMAT},
    {"another type", "\\\"type\\\":\\\"i8\\\"", "\\\"type\\\":\\\"i4\\\"", "quantization says",
     EG_ERR_FORMAT},
    {"a type that is none", "\\\"type\\\":\\\"i8\\\"", "\\\"type\\\":\\\"u8\\\"", "u8",
     EG_ERR_UNSUPPORTED},
    {"another granularity", "\\\"channel\\\"", "\\\"tensors\\\"", "not understood", EG_ERR_FORMAT},
    {"no scales", "ff1.weight.scale", "ff1.weight.scald", "ff1.weight.scale", EG_ERR_FORMAT},
    {"no zero points", "ff2.weight.zero", "ff2.weight.nero", "ff2.weight.zero", EG_ERR_FORMAT},
    {"a stranger", "\\\"rnn_cell.layer_0.ff1.weight\\\",", "\\\"rnn_cell.layer_7.ff1.weight\\\",",
     "quantization of 'rnn_cell.layer_7.ff1.weight', which the model does not have", EG_ERR_FORMAT},
};

static void replace(char *bytes, size_t size, const char *from, const char *to) {
    const size_t length = strlen(from);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, from, length) == 0) memcpy(bytes + i, to, length);
}

TEST(model_quantized, damaged_files) {
    eg_context *context = open_context();
    eg_model *model = NULL;
    eg_error error = {0};
    const char *folder = test_folder();
    char good[512], bad[512];
    snprintf(good, sizeof good, "%s/good.safetensors", folder);
    snprintf(bad, sizeof bad, "%s/bad.safetensors", folder);
    CHECK_OK(eg_model_open(context, specs[0], &model, &error), error);
    CHECK_OK(
        eg_model_quantize(model, &(eg_model_quantization){.quantization = {.type = EG_I8}}, &error),
        error);
    CHECK_OK(eg_model_save(model, good, &error), error);
    eg_model_destroy(model);
    FILE *file = fopen(good, "rb");
    static char bytes[1 << 16];
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        static char copy[sizeof bytes];
        memcpy(copy, bytes, size);
        CHECK(strlen(faults[i].from) == strlen(faults[i].to), "%s: lengths", faults[i].what);
        replace(copy, size, faults[i].from, faults[i].to);
        CHECK(memcmp(copy, bytes, size) != 0, "%s: nothing was changed", faults[i].what);
        file = fopen(bad, "wb");
        fwrite(copy, 1, size, file);
        fclose(file);
        model = NULL;
        CHECK_FAILS(eg_model_open(context, bad, &model, &error), error, faults[i].status,
                    faults[i].part);
        CHECK(!model, "%s: a model all the same", faults[i].what);
    }
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model = NULL, *back = NULL;
    eg_tensor y = {0};
    eg_status status = eg_model_open(context, specs[0], &model, error);
    const eg_model_quantization quantization = {.quantization = ways[4]};
    if (!status) status = eg_model_quantize(model, &quantization, error);
    if (!status) status = eg_model_save(model, user, error);
    if (!status) status = eg_model_open(context, user, &back, error);
    if (!status) status = run(context, back, &y, error);
    eg_tensor_release(context, &y);
    eg_model_destroy(model);
    eg_model_destroy(back);
    return status;
}

TEST(model_quantized, every_allocation) {
    char path[512];
    snprintf(path, sizeof path, "%s", test_join(test_folder(), "a.safetensors"));
    test_every_allocation_within(attempt, path);
}
