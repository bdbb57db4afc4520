/* Tensors in the memory of a context, and conversion between the floating types. */
#include "elegans/tensor.h"
#include "engine/context.h"

#include <string.h>

eg_status eg_tensor_create(eg_context *context, eg_type type, unsigned rank, const uint64_t *shape,
                           eg_tensor *out, eg_error *error) {
    if (!context || !out || (rank && !shape))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, shape or output pointer for the tensor");
    memset(out, 0, sizeof *out);
    eg_tensor tensor = {.type = type, .rank = rank};
    for (unsigned i = 0; i < rank && i < EG_RANK_MAX; i++) tensor.shape[i] = shape[i];
    uint64_t bytes;
    eg_status status = eg_tensor_measure(&tensor, NULL, &bytes, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    tensor.data = eg__memory_take_zeroed(context->memory, EG_TAG_TENSOR, bytes, &reason);
    if (!tensor.data) return eg__fail(error, reason.status, "%s", reason.message);
    *out = tensor;
    return EG_OK;
}

void eg_tensor_release(eg_context *context, eg_tensor *tensor) {
    if (!context || !tensor) return;
    eg__memory_give(context->memory, tensor->data);
    memset(tensor, 0, sizeof *tensor);
}

static bool same_shape(const eg_tensor *a, const eg_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

eg_status eg_tensor_convert(const eg_context *context, const eg_tensor *from, eg_tensor *to,
                            eg_error *error) {
    if (!context || !from || !to)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no tensor");
    uint64_t elements, bytes;
    eg_status status = eg_tensor_measure(from, &elements, &bytes, error);
    if (status) return status;
    if (!same_shape(from, to))
        return eg__fail(error, EG_ERR_ARGUMENT, "shapes differ: rank %u and rank %u", from->rank,
                        to->rank);
    const eg__kernels *kernels = &context->kernels;
    const size_t n = (size_t)elements;
    if (from->type == to->type) memmove(to->data, from->data, (size_t)bytes);
    else if (from->type == EG_F32 && to->type == EG_F16)
        kernels->f32_to_f16(n, from->data, to->data);
    else if (from->type == EG_F16 && to->type == EG_F32)
        kernels->f16_to_f32(n, from->data, to->data);
    else if (from->type == EG_F32 && to->type == EG_BF16)
        kernels->f32_to_bf16(n, from->data, to->data);
    else if (from->type == EG_BF16 && to->type == EG_F32)
        kernels->bf16_to_f32(n, from->data, to->data);
    else
        return eg__fail(error, EG_ERR_UNSUPPORTED, "no conversion from '%s' to '%s'",
                        eg_type_name(from->type), eg_type_name(to->type));
    return EG_OK;
}
