/* Quantized tensors: f16, bf16, int8 or int4, the integers with a scale per tensor, channel or block.
 * Stable. */
#ifndef ELEGANS_QUANTIZE_H
#define ELEGANS_QUANTIZE_H

#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which values share a scale: all, those of a row (everything behind the first axis; a tensor
 * of rank 0 or 1 is one row), or `block` consecutive ones of a row, whose last block may be
 * shorter. */
#define EG_GRANULARITY_MAP(X)    \
    X(EG_PER_CHANNEL, "channel") \
    X(EG_PER_TENSOR, "tensor")   \
    X(EG_PER_BLOCK, "block")
typedef enum eg_granularity {
#define EG_GRANULARITY_ENUM(name, text) name,
    EG_GRANULARITY_MAP(EG_GRANULARITY_ENUM)
#undef EG_GRANULARITY_ENUM
} eg_granularity;
EG_API const char *
eg_granularity_name(eg_granularity per); /* "block"; static; NULL past the last */

/* Where the scales are: in a separate array, like zero points; or in front of each block of values, as in GGUF. Such
 * a block has an f16 scale, no zero point and 32 values: of int8 (Q8_0) one byte each; of int4 (Q4_0) 16 bytes, byte i
 * with value i in its low half and value i + 16 in its high half, both raised by 8. */
#define EG_LAYOUT_MAP(X)        \
    X(EG_LAYOUT_APART, "apart") \
    X(EG_LAYOUT_BLOCKS, "blocks")
typedef enum eg_layout {
#define EG_LAYOUT_ENUM(name, text) name,
    EG_LAYOUT_MAP(EG_LAYOUT_ENUM)
#undef EG_LAYOUT_ENUM
} eg_layout;
EG_API const char *eg_layout_name(eg_layout layout); /* "blocks"; static; NULL past the last */

enum { EG_BLOCK_DEFAULT = 128, EG_BLOCK_GGUF = 32 };
typedef struct eg_quantization {
    eg_type type;       /* EG_I8 [-128, 127], EG_I4 [-8, 7]; EG_F16 and EG_BF16 have no scales */
    eg_granularity per; /* of the scales */
    uint32_t block;     /* EG_PER_BLOCK: values per scale; 0 = 128 */
    int symmetric;      /* 1: no zero points, and the lowest integer is not used */
    int integers; /* 1: integer products: the left side is quantized to int8 row by row at run time,
                           and sums are integers. 0: the left side stays f32. Not for f16 and bf16. */
    eg_layout layout; /* EG_LAYOUT_BLOCKS: symmetric int8 or int4, per block of 32 */
    int least_squares; /* 1: scales are searched for the least squared error instead of the range; a few
                          values are then off by more than half a step. Better for int4 */
} eg_quantization;
/* EG_ERR_UNSUPPORTED: another type than these four, or EG_LAYOUT_BLOCKS with anything but GGUF's blocks. */
EG_API eg_status eg_quantization_check(const eg_quantization *quantization, eg_error *error);

/* Difference of two tensors of the same shape. Pairs of which one is not finite are left out. */
typedef struct eg_difference {
    uint64_t count; /* pairs that were compared */
    double most;    /* largest absolute difference */
    double rms;     /* root of the mean square */
    double
        snr; /* dB: power of `exact` over that of the difference; infinite where they are equal */
} eg_difference;
/* A quantized tensor: x = scale * (value - zero). The range always includes 0, so that 0 stays 0.
 *
 * Values that are not finite do not affect the range: an infinity becomes the end of the range on its side, NaN
 * becomes 0. Where all values are zero or not finite, the scale is 0 and so is every result. f16 has no range: what is
 * too large for it becomes an infinity. */
typedef struct eg_quantized {
    eg_quantization quantization; /* with the block that was used */
    eg_tensor values;             /* of that type, of the original shape */
    uint64_t rows, columns;       /* of the values, as scales see them */
    uint64_t groups;              /* blocks of a row; 1 = the row as a whole */
    uint64_t scales;   /* number of scales: rows * groups, or 1 per tensor; 0 for f16 and bf16 */
    float *scale;      /* NULL for f16 and bf16 */
    int8_t *zero;      /* NULL = all 0 */
    uint64_t odd;      /* values of the original that were not finite */
    eg_difference off; /* from the original; all zero when it is unknown */
} eg_quantized;

/* From f32. You own *out: give it back with eg_quantized_release, which leaves it all zero. Only
 * EG_LAYOUT_APART; EG_LAYOUT_BLOCKS is EG_ERR_UNSUPPORTED. */
EG_API eg_status eg_quantize(eg_context *context, const eg_tensor *tensor,
                             const eg_quantization *quantization, eg_quantized *out,
                             eg_error *error);
EG_API void eg_quantized_release(eg_context *context, eg_quantized *quantized);
/* Memory for a quantized tensor of this shape, all zero: to be filled, from a file for instance. */
EG_API eg_status eg_quantized_create(eg_context *context, unsigned rank, const uint64_t *shape,
                                     const eg_quantization *quantization, eg_quantized *out,
                                     eg_error *error);
/* Into `to`, f32 of the same shape. */
EG_API eg_status eg_dequantize(const eg_context *context, const eg_quantized *quantized,
                               eg_tensor *to, eg_error *error);
EG_API uint64_t eg_quantized_bytes(const eg_quantized *quantized); /* values, scales, zero points */

/* Two tensors of f32. */
EG_API eg_status eg_tensor_compare(const eg_tensor *exact, const eg_tensor *other,
                                   eg_difference *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
