/* Transformers from arbitrary bytes: as .gguf, as a checkpoint of llama2.c, or as config.json with the weights
 * behind it (a zero byte between them). What opens is small compared to its file, every tensor can be read, and
 * it takes tokens. */
#include "fuzz.h"
#include "elegans/elegans.h"
#include "formats/models/transformer.h"

#include <string.h>
#include <sys/stat.h>

/* ---- files */
static char folder[64], config[96], weights[96];

static void remove_folder(void) {
    unlink(config);
    unlink(weights);
    rmdir(folder);
}

/* In memory where there is such a place: its files are written again for every input. */
static void make_folder(void) {
    static const char *const places[] = {"/dev/shm", "/tmp"};
    int made = 0;
    for (int i = 0; i < 2 && !made; i++) {
        snprintf(folder, sizeof folder, "%s/fuzz_transformer.XXXXXX", places[i]);
        made = mkdtemp(folder) != NULL;
    }
    require(made);
    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    atexit(remove_folder);
}

static eg_status open_bytes(eg_context *context, const uint8_t *bytes, size_t length,
                            eg_model **model, eg_error *error) {
    if (length && bytes[0] == '{') {
        const uint8_t *end = memchr(bytes, 0, length);
        const size_t first = end ? (size_t)(end - bytes) : length;
        fuzz_write(config, bytes, first);
        fuzz_write(weights, end ? end + 1 : bytes, end ? length - first - 1 : 0);
        return eg_model_open(context, folder, model, error);
    }
    char path[64];
    const int file = fuzz_file(bytes, length, path);
    const bool gguf = length >= 4 && memcmp(bytes, "GGUF", 4) == 0;
    eg_status status = gguf ? eg_model_open(context, path, model, error)
                            : eg__transformer_from_llama2c(context, path, model, error);
    close(file); /* what is mapped stays */
    return status;
}

/* ---- what opened */
static void read_all(const eg_model *model, size_t length) {
    eg_tensor tensor;
    for (size_t i = 0; eg_model_tensor(model, i, &tensor, NULL); i++) {
        uint64_t count = 0, bytes = 0;
        require(eg_tensor_measure(&tensor, &count, NULL, NULL) == EG_OK);
        require(eg_model_numbers(model, i, &bytes) && bytes <= 2 * (uint64_t)length);
        float *values = malloc(count * sizeof *values + 1);
        require(values && eg_model_read(model, i, values, NULL) == EG_OK);
        free(values);
    }
}

static void use(eg_model *model, const eg_transformer_info *info) {
    const uint32_t tokens[] = {0, (uint32_t)info->vocabulary - 1, 0};
    const eg_generator_options options = {.context = 3, .chunk = 2};
    eg_error error = {0};
    eg_status status;
    if (strcmp(info->family, "bert") == 0) {
        eg_embedder *e = NULL;
        float row[256];
        status = eg_embedder_create(model, NULL, &e, &error);
        if (!status) status = eg_embedder_run(e, tokens, 1, row, &error);
        eg_embedder_destroy(e);
    } else {
        eg_generator *g = NULL;
        const float *logits;
        const bool fits = info->rope_base > 0 || info->context >= 3;
        status = eg_generator_create(model, &options, &g, &error);
        require(fits || status == EG_ERR_ARGUMENT);
        if (!status) status = eg_generator_feed(g, tokens, 3, &logits, &error);
        eg_generator_destroy(g);
        if (!fits) return;
    }
    require(status == EG_OK || status == EG_ERR_BUDGET);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 28};
    static eg_context *context; /* making one takes longer than all else */
    if (!context) {
        require(eg_context_create(&options, &context, NULL) == EG_OK);
        make_folder();
    }
    eg_error error = {0};
    eg_model *model = NULL;
    eg_memory_figures held;
    eg_memory_reset_peak(context);
    eg_status status = open_bytes(context, bytes, length, &model, &error);
    require(status ? error.message[0] && !model : model != NULL);
    /* names and shapes of the most layers there may be, and numbers as floats */
    require(eg_memory_query(context, EG_TAG_WEIGHTS, &held, NULL) == EG_OK);
    require(held.peak <= (UINT64_C(1) << 23) + 16 * (uint64_t)length);
    if (model) {
        eg_transformer_info info = {.size = sizeof info};
        require(eg_model_transformer(model, &info, NULL) == EG_OK);
        read_all(model, length);
        if (info.layers <= 4 && info.width <= 256 && info.hidden <= 1024) use(model, &info);
    }
    eg_model_destroy(model);
    require(eg_memory_query(context, EG_TAG_FILE, &held, NULL) == EG_OK && held.current == 0);
    require(eg_memory_query(context, EG_TAG_WEIGHTS, &held, NULL) == EG_OK && held.current == 0);
    return 0;
}
