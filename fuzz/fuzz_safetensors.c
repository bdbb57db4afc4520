/* Feeds arbitrary bytes to the reader of .safetensors: what opens can be read to the last byte. */
#include "fuzz.h"
#include "formats/files/safetensors.h"

static void read_all(const eg_safetensors *file) {
    volatile unsigned sum = 0;
    for (size_t i = 0; i < eg_safetensors_count(file); i++) {
        eg_tensor tensor;
        eg_error error = {0};
        eg_status status =
            eg_safetensors_tensor(file, eg_safetensors_name(file, i), &tensor, &error);
        require(!status || (status == EG_ERR_UNSUPPORTED && error.message[0] && !tensor.data));
        if (status) continue;
        uint64_t size;
        require(eg_tensor_measure(&tensor, NULL, &size, NULL) == EG_OK);
        require((uintptr_t)tensor.data % (eg_type_bits(tensor.type) / 8) == 0);
        for (uint64_t k = 0; k < size; k++) sum += ((const unsigned char *)tensor.data)[k];
    }
    for (size_t i = 0; i < eg_safetensors_metadata_count(file); i++) {
        const char *key, *value;
        require(eg_safetensors_metadata_at(file, i, &key, &value) == EG_OK);
        require(eg_safetensors_metadata(file, key) == value);
    }
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_safetensors *file;
    eg_error error = {0};
    eg_status status = eg__safetensors_parse(memory, bytes, length, &file, &error);
    require(!status == (file != NULL) && error.status == status);
    read_all(file);
    eg_safetensors_close(file);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    require(held.current == 0);
    eg__memory_destroy(memory);
    return 0;
}
