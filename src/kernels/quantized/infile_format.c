/* Formats of weights in files: which one is meant, and what the public interface calls it. */
#include "kernels/quantized/infile_format.h"

#include <string.h>

bool eg__infile_format_of(const eg_quantization *quantization, eg__infile_format *out) {
    for (int i = 0; i < EG__INFILE_COUNT; i++) {
        const eg__infile_traits *of = eg__infile_traits_of((eg__infile_format)i);
        const bool blocks = quantization->layout == EG_LAYOUT_BLOCKS &&
                            quantization->per == EG_PER_BLOCK &&
                            quantization->block == of->block_elements;
        if (of->type != quantization->type || (of->block_elements > 1 && !blocks)) continue;
        *out = (eg__infile_format)i;
        return true;
    }
    return false;
}

bool eg__infile_format_named(const char *name, eg__infile_format *out) {
    for (int i = 0; i < EG__INFILE_COUNT; i++)
        if (strcmp(eg__infile_traits_of((eg__infile_format)i)->name, name) == 0) {
            *out = (eg__infile_format)i;
            return true;
        }
    return false;
}

bool eg__infile_format_read_by(eg__operation operation, eg__infile_format *out) {
    for (int i = 0; operation != EG__OP_COUNT && i < EG__INFILE_COUNT; i++) {
        const eg__infile_traits *of = eg__infile_traits_of((eg__infile_format)i);
        if (of->floats != operation && of->integers != operation) continue;
        *out = (eg__infile_format)i;
        return true;
    }
    return false;
}

eg_quantization eg__infile_quantization(eg__infile_format format) {
    const eg__infile_traits *of = eg__infile_traits_of(format);
    if (!eg__infile_is_blocks(format)) return (eg_quantization){.type = of->type};
    return (eg_quantization){.type = of->type,
                             .per = EG_PER_BLOCK,
                             .block = (uint32_t)of->block_elements,
                             .symmetric = 1,
                             .integers = eg__infile_integers(format, true),
                             .layout = EG_LAYOUT_BLOCKS};
}
