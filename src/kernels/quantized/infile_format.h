/* The formats of weights in file layout: one row each, with all that differs between them as
 * columns. A format is not a type: a tensor of EG_I8 has its scales in a separate array, Q8_0 has
 * them between its int8 values. */
#ifndef EG__INFILE_FORMAT_H
#define EG__INFILE_FORMAT_H

#include "elegans/quantize.h"
#include "elegans/tensor.h"
#include "kernels/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks of GGUF: an f16 scale d, then 32 values d q. Of Q8_0 q is an int8; Q4_0 has 16 bytes, of which byte i has
 * value i in its low half and value i + 16 in its high half, d (q - 8). */
enum { EG__BLOCK = EG_BLOCK_GGUF, EG__BLOCK_Q8_0 = 2 + 32, EG__BLOCK_Q4_0 = 2 + 16 };

typedef enum eg__infile_format {
    EG__INFILE_F32,
    EG__INFILE_F16,
    EG__INFILE_BF16,
    EG__INFILE_Q8_0,
    EG__INFILE_Q4_0,
    EG__INFILE_COUNT
} eg__infile_format;

typedef int eg__infile_integer_function(const uint8_t *block, size_t i);
typedef void eg__infile_block_function(const uint8_t *block, float *to);
eg__infile_integer_function eg__infile_integer_q8_0, eg__infile_integer_q4_0;
eg__infile_block_function eg__infile_dequantize_q8_0, eg__infile_dequantize_q4_0;

typedef struct eg__infile_traits {
    const char *name;                   /* as ggml calls it */
    eg_type type;                       /* as the public interface shows it */
    size_t block_bytes, block_elements; /* 1 element = there are no blocks */
    size_t alignment;                   /* of data, in bytes */
    eg__operation floats, integers; /* products with rows of f32, of int8; EG__OP_COUNT = none */
    eg__infile_integer_function *integer;  /* q of element i of a block; NULL = no blocks */
    eg__infile_block_function *dequantize; /* a whole block; NULL = no blocks */
} eg__infile_traits;

/* In a header so that kernels, for which the format is a constant, have constants. */
static inline const eg__infile_traits *eg__infile_traits_of(eg__infile_format format) {
    static const eg__infile_traits table[EG__INFILE_COUNT] = {
        [EG__INFILE_F32] = {"F32", EG_F32, 4, 1, 4, EG__OP_infile_f32, EG__OP_COUNT, NULL, NULL},
        [EG__INFILE_F16] = {"F16", EG_F16, 2, 1, 2, EG__OP_infile_f16, EG__OP_COUNT, NULL, NULL},
        [EG__INFILE_BF16] = {"BF16", EG_BF16, 2, 1, 2, EG__OP_infile_bf16, EG__OP_COUNT, NULL,
                             NULL},
        [EG__INFILE_Q8_0] = {"Q8_0", EG_I8, EG__BLOCK_Q8_0, EG__BLOCK, 2, EG__OP_infile_q8,
                             EG__OP_infile_q8i8, eg__infile_integer_q8_0,
                             eg__infile_dequantize_q8_0},
        [EG__INFILE_Q4_0] = {"Q4_0", EG_I4, EG__BLOCK_Q4_0, EG__BLOCK, 2, EG__OP_infile_q4,
                             EG__OP_infile_q4i8, eg__infile_integer_q4_0,
                             eg__infile_dequantize_q4_0},
    };
    return &table[format];
}

static inline bool eg__infile_is_blocks(eg__infile_format format) {
    return eg__infile_traits_of(format)->block_elements > 1;
}
/* Bytes of k elements, which fit; k is a multiple of a block. */
static inline size_t eg__infile_bytes(eg__infile_format format, size_t k) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    return k / of->block_elements * of->block_bytes;
}
/* The integer product, if it is asked for and the format has one. */
static inline bool eg__infile_integers(eg__infile_format format, bool asked) {
    return asked && eg__infile_traits_of(format)->integers != EG__OP_COUNT;
}
/* All of these are called as infile_f32 is. */
static inline eg__operation eg__infile_operation(eg__infile_format format, bool integers) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    return eg__infile_integers(format, integers) ? of->integers : of->floats;
}

/* The format of a description, a name ("Q4_0") or a kernel's operation; false = none. The
 * description is one that eg_quantization_check accepts, or f32, whose other fields are ignored. */
bool eg__infile_format_of(const eg_quantization *quantization, eg__infile_format *out);
bool eg__infile_format_named(const char *name, eg__infile_format *out);
bool eg__infile_format_read_by(eg__operation operation, eg__infile_format *out);
/* The description of a format, for eg_input_infile; with products of int8 rows where there are such. */
eg_quantization eg__infile_quantization(eg__infile_format format);

#endif
