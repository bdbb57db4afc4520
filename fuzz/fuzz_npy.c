/* Feeds arbitrary bytes to the decoders of .npy and .npz: any outcome but a status or a whole
 * tensor is a crash. Start it with tests/fixtures/npy as the corpus. */
#include "fuzz.h"
#include "elegans/tensor.h"
#include "formats/files/npy.h"
#include "formats/files/npz.h"

/* A decoded tensor can be measured, and all of it can be read. */
static void finish(eg__memory *memory, eg_status status, const eg_error *error, eg_tensor *tensor) {
    uint64_t size;
    if (status) {
        require(error->status == status && error->message[0] && !tensor->data);
        return;
    }
    require(eg_tensor_measure(tensor, NULL, &size, NULL) == EG_OK);
    volatile unsigned sum = 0;
    for (uint64_t i = 0; i < size; i++) sum += ((const unsigned char *)tensor->data)[i];
    (void)sum;
    eg__memory_give(memory, tensor->data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    /* Without a cache every block is the allocator's own, so that the sanitizer knows its end. */
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_tensor tensor;
    eg_error error = {0};
    finish(memory, eg__npy_decode(memory, bytes, length, &tensor, &error), &error, &tensor);
    eg_npz *archive;
    eg_status status = eg__npz_open_bytes(memory, bytes, length, &archive, &error);
    require(!status == (archive != NULL));
    for (size_t i = 0; i < eg_npz_count(archive); i++) {
        status = eg_npz_read(archive, eg_npz_name(archive, i), &tensor, &error);
        finish(memory, status, &error, &tensor);
    }
    eg_npz_close(archive);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    require(held.current == 0);
    eg__memory_figures_get(memory, EG_TAG_TENSOR, &held);
    require(held.current == 0);
    eg__memory_destroy(memory);
    return 0;
}
