/* Elements of .gguf tensors as floats, block by block: the file aligns nothing to a float. */
#include "formats/bytes.h"
#include "formats/gguf.h"
#include "kernels/kernels.h"

#include <string.h>

enum { BLOCK = 32 };

static float half(const unsigned char *at) {
    const uint16_t bits = eg__get16(at);
    float value;
    eg__f16_to_f32_ref(1, &bits, &value);
    return value;
}

static void from_f32(const unsigned char *at, float *out) { memcpy(out, at, sizeof *out); }
static void from_f16(const unsigned char *at, float *out) { *out = half(at); }
static void from_bf16(const unsigned char *at, float *out) {
    const uint32_t bits = (uint32_t)eg__get16(at) << 16;
    memcpy(out, &bits, sizeof *out);
}

/* a scale, then 32 integers */
static void from_q8_0(const unsigned char *at, float *out) {
    const float scale = half(at);
    for (int i = 0; i < BLOCK; i++) out[i] = scale * (float)(int8_t)at[2 + i];
}

/* a scale, then 16 bytes: the low halves are the first 16 elements, the high ones the others */
static void from_q4_0(const unsigned char *at, float *out) {
    const float scale = half(at);
    for (int i = 0; i < BLOCK / 2; i++) {
        out[i] = scale * (float)((at[2 + i] & 15) - 8);
        out[i + BLOCK / 2] = scale * (float)((at[2 + i] >> 4) - 8);
    }
}

static const struct {
    const char *type;
    void (*widen)(const unsigned char *at, float *out); /* one block */
} readers[] = {{"F32", from_f32},
               {"F16", from_f16},
               {"BF16", from_bf16},
               {"Q8_0", from_q8_0},
               {"Q4_0", from_q4_0}};

eg_status eg_gguf_floats(const eg_gguf_tensor *tensor, uint64_t first, uint64_t count, float *out,
                         eg_error *error) {
    if (!tensor || !tensor->type || (count && !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "no tensor or no place for floats");
    if (first > tensor->elements || count > tensor->elements - first)
        return eg__fail(error, EG_ERR_ARGUMENT, "elements '%llu' to '%llu' of %llu of tensor '%s'",
                        (unsigned long long)first, (unsigned long long)(first + count),
                        (unsigned long long)tensor->elements, tensor->name);
    const eg__ggml_type *type = eg__ggml_type_find(tensor->type);
    for (size_t k = 0; type && k < sizeof readers / sizeof *readers; k++) {
        if (strcmp(readers[k].type, type->name) != 0) continue;
        if (first % type->block || count % type->block)
            return eg__fail(error, EG_ERR_ARGUMENT, "elements '%llu' to '%llu' are no blocks of %u",
                            (unsigned long long)first, (unsigned long long)(first + count),
                            type->block);
        const unsigned char *at =
            (const unsigned char *)tensor->data + first / type->block * type->bytes;
        for (uint64_t i = 0; i < count; i += type->block, at += type->bytes)
            readers[k].widen(at, out + i);
        return EG_OK;
    }
    return eg__fail(error, EG_ERR_UNSUPPORTED, "no floats from type '%s' of tensor '%s'",
                    tensor->type, tensor->name);
}
