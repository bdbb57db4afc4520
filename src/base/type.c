/* Element types and the size of a shape: arithmetic only, so that every layer can use it. */
#include "base/base.h"
#include "elegans/tensor.h"

#include <string.h>

static const struct {
    unsigned bits;
    const char *name;
} types[EG_TYPE_COUNT] = {
#define TYPE(name, bits, text, npy) [name] = {bits, text},
    EG_TYPE_MAP(TYPE)
#undef TYPE
};

static bool is_known(eg_type type) { return (unsigned)type < EG_TYPE_COUNT; }

const char *eg_type_name(eg_type type) { return is_known(type) ? types[type].name : "unknown"; }

unsigned eg_type_bits(eg_type type) { return is_known(type) ? types[type].bits : 0; }

eg_status eg_type_find(const char *name, eg_type *out, eg_error *error) {
    if (!name || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no name or no output pointer for a type");
    for (int i = 0; i < EG_TYPE_COUNT; i++)
        if (strcmp(name, types[i].name) == 0) return *out = (eg_type)i, EG_OK;
#define COMMA(name, bits, text, npy) ", " text
    static const char known[] = EG_TYPE_MAP(COMMA);
#undef COMMA
    return eg__fail(error, EG_ERR_UNSUPPORTED, "unknown type '%.60s', known are %s", name,
                    known + strlen(", "));
}

static eg_status too_large(const eg_tensor *tensor, eg_error *error) {
    return eg__fail(error, EG_ERR_OVERFLOW, "shape of rank %u is too large for %s elements",
                    tensor->rank, eg_type_name(tensor->type));
}

eg_status eg_tensor_measure(const eg_tensor *tensor, uint64_t *elements, uint64_t *bytes,
                            eg_error *error) {
    if (!tensor) return eg__fail(error, EG_ERR_ARGUMENT, "no tensor");
    if (!is_known(tensor->type))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown type '%d'", (int)tensor->type);
    if (tensor->rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "rank '%u' is above %d", tensor->rank, EG_RANK_MAX);
    /* Extents of 0 count as 1 until the end: strides of (0, 2^40, 2^40) must fit, too. */
    uint64_t product = 1;
    bool empty = false;
    for (unsigned i = 0; i < tensor->rank; i++) {
        uint64_t extent = tensor->shape[i];
        empty = empty || extent == 0;
        if (extent && __builtin_mul_overflow(product, extent, &product))
            return too_large(tensor, error);
    }
    uint64_t bits = types[tensor->type].bits, size;
    if (bits < 8) size = product / (8 / bits) + (product % (8 / bits) != 0);
    else if (__builtin_mul_overflow(product, bits / 8, &size)) return too_large(tensor, error);
    /* No object can be larger than pointers can be apart. */
    if (size > PTRDIFF_MAX || product > INT64_MAX) return too_large(tensor, error);
    if (elements) *elements = empty ? 0 : product;
    if (bytes) *bytes = empty ? 0 : size;
    return EG_OK;
}
