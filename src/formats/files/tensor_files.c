/* The public calls that read and write tensors in files, on the memory of a context. */
#include "engine/context.h"
#include "formats/files/gguf.h"
#include "formats/files/npy.h"
#include "formats/files/npz.h"
#include "formats/files/safetensors.h"

static eg_status no_place(eg_error *error) {
    return eg__fail(error, EG_ERR_ARGUMENT,
                    "no context, no path or no output pointer for the result");
}

eg_status eg_npy_read(eg_context *context, const char *path, eg_tensor *out, eg_error *error) {
    if (!context || !path || !out) return no_place(error);
    return eg__npy_load(eg__context_memory(context), path, NULL, out, error);
}

eg_status eg_npz_open(eg_context *context, const char *path, eg_npz **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !path || !out) return no_place(error);
    return eg__npz_open(eg__context_memory(context), path, out, error);
}

eg_status eg_npz_write(eg_context *context, const char *path, size_t count,
                       const char *const *names, const eg_tensor *tensors, eg_error *error) {
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    return eg__npz_save(eg__context_memory(context), path, count, names, tensors, error);
}

eg_status eg_safetensors_open(eg_context *context, const char *path, eg_safetensors **out,
                              eg_error *error) {
    if (out) *out = NULL;
    if (!context || !path || !out) return no_place(error);
    return eg__safetensors_open(eg__context_memory(context), path,
                                eg__context_maps_weights(context), out, error);
}

eg_status eg_safetensors_write(eg_context *context, const char *path, size_t count,
                               const char *const *names, const eg_tensor *tensors,
                               size_t metadata_count, const eg_pair *metadata, eg_error *error) {
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    return eg__safetensors_save(eg__context_memory(context), path, count, names, tensors,
                                metadata_count, metadata, error);
}

eg_status eg_gguf_open(eg_context *context, const char *path, eg_gguf **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !path || !out) return no_place(error);
    return eg__gguf_load(eg__context_memory(context), path, eg__context_maps_weights(context), out,
                         error);
}
