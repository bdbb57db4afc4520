/* Elements of .gguf tensors as floats, block by block: the file aligns nothing to a float. */
#include "formats/gguf.h"
#include "kernels/blocks.h"

eg_status eg_gguf_floats(const eg_gguf_tensor *tensor, uint64_t first, uint64_t count, float *out,
                         eg_error *error) {
    if (!tensor || !tensor->type || (count && !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "no tensor or no place for floats");
    if (first > tensor->elements || count > tensor->elements - first)
        return eg__fail(error, EG_ERR_ARGUMENT, "elements '%llu' to '%llu' of %llu of tensor '%s'",
                        (unsigned long long)first, (unsigned long long)(first + count),
                        (unsigned long long)tensor->elements, tensor->name);
    eg__format format;
    if (eg__format_find(tensor->type, &format)) {
        const eg__format_info *type = eg__format_get(format);
        if (first % type->block || count % type->block)
            return eg__fail(error, EG_ERR_ARGUMENT, "elements '%llu' to '%llu' are no blocks of %u",
                            (unsigned long long)first, (unsigned long long)(first + count),
                            type->block);
        eg__blocks_widen(format,
                         (const unsigned char *)tensor->data + first / type->block * type->bytes,
                         (size_t)(count / type->block), out);
        return EG_OK;
    }
    return eg__fail(error, EG_ERR_UNSUPPORTED, "no floats from type '%s' of tensor '%s'",
                    tensor->type, tensor->name);
}
