/* Numbers as files of language models have them: floats, halves, and blocks of 32 with a scale. */
#ifndef EG__BLOCKS_H
#define EG__BLOCKS_H

#include "base/base.h"

typedef enum eg__format {
    EG__FORMAT_F32,
    EG__FORMAT_F16,
    EG__FORMAT_BF16,
    EG__FORMAT_Q8_0, /* a scale (f16), then 32 int8 */
    EG__FORMAT_Q4_0, /* a scale (f16), then 16 bytes: 16 low halves, then 16 high ones, each less 8 */
    EG__FORMATS
} eg__format;

typedef struct eg__format_info {
    const char *name;      /* as ggml calls it */
    unsigned block, bytes; /* elements and bytes of a block */
} eg__format_info;
const eg__format_info *eg__format_get(eg__format format);
bool eg__format_find(const char *name, eg__format *out);

/* `count` blocks at any address as floats: exactly what they stand for. */
void eg__blocks_widen(eg__format format, const void *blocks, size_t count, float *out);

#endif
