/* Models from arbitrary bytes: as a file, quantized numbers and all, and as an architecture alone. Any outcome but
 * a status or a model whose every tensor can be read is a crash. */
#include "fuzz.h"
#include "elegans/elegans.h"
#include "formats/models/model_config.h"

static void read_all(const eg_model *model) {
    eg_tensor tensor;
    volatile float sum = 0;
    for (size_t i = 0; eg_model_tensor(model, i, &tensor, NULL); i++) {
        uint64_t count = 0;
        require(eg_tensor_measure(&tensor, &count, NULL, NULL) == EG_OK);
        for (uint64_t k = 0; k < count; k++) sum = sum + ((const float *)tensor.data)[k];
        const eg_quantized *small = eg_model_quantized(model, i);
        for (uint64_t k = 0; small && k < small->scales; k++) require(small->scale[k] >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    static eg_context *context; /* making one takes longer than all else */
    if (!context) require(eg_context_create(&options, &context, NULL) == EG_OK);
    eg_error error = {0};
    eg_model *model = NULL;
    eg_status status =
        eg__model_config_read(context, (const char *)bytes, length, UINT64_MAX, &model, &error);
    require(status ? error.message[0] && !model : model != NULL);
    eg_model_destroy(model);
    model = NULL;
    char path[64];
    const int file = fuzz_file(bytes, length, path);
    status = eg_model_load(context, path, NULL, &model, &error);
    require(status ? error.message[0] && !model : model != NULL);
    if (model) read_all(model);
    eg_model_destroy(model);
    close(file);
    eg_memory_figures held;
    require(eg_memory_query(context, EG_TAG_FILE, &held, NULL) == EG_OK);
    require(held.current == 0);
    return 0;
}
