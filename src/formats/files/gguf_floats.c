/* Elements of .gguf tensors as floats, block by block: the file aligns nothing to a float. */
#include "formats/files/gguf.h"
#include "kernels/quantized/infile.h"

eg_status eg_gguf_floats(const eg_gguf_tensor *tensor, uint64_t first, uint64_t count, float *out,
                         eg_error *error) {
    if (!tensor || !tensor->type || (count && !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "no tensor or no output pointer for floats");
    if (first > tensor->elements || count > tensor->elements - first)
        return eg__fail(error, EG_ERR_ARGUMENT, "elements '%llu' to '%llu' of %llu of tensor '%s'",
                        (unsigned long long)first, (unsigned long long)(first + count),
                        (unsigned long long)tensor->elements, tensor->name);
    eg__infile_format format;
    if (eg__infile_format_named(tensor->type, &format)) {
        const size_t unit = eg__infile_traits_of(format)->block_elements;
        if (first % unit || count % unit)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "elements '%llu' to '%llu' are no blocks of %zu",
                            (unsigned long long)first, (unsigned long long)(first + count), unit);
        for (uint64_t i = 0; i < count; i++)
            out[i] = eg__infile_number(format, tensor->data, (size_t)(first + i));
        return EG_OK;
    }
    return eg__fail(error, EG_ERR_UNSUPPORTED, "no floats from type '%s' of tensor '%s'",
                    tensor->type, tensor->name);
}
