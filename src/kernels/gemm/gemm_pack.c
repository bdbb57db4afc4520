/* Packing of a matrix into panels of sixteen columns. */
#include "kernels/gemm/gemm_halves.h"

#include <string.h>

void eg__gemm_pack_f32(size_t k, size_t n, const float *b, size_t row_stride, size_t column_stride,
                       float *packed) {
    for (size_t column = 0; column < n; column += EG__PANEL) {
        size_t width = n - column < EG__PANEL ? n - column : EG__PANEL;
        for (size_t i = 0; i < k; i++, packed += EG__PANEL) {
            const float *from = b + i * row_stride + column * column_stride;
            if (column_stride == 1 && width == EG__PANEL) {
                memcpy(packed, from, EG__PANEL * sizeof *packed); /* constant size: inlined */
                continue;
            }
            if (column_stride == 1) memcpy(packed, from, width * sizeof *packed);
            else
                for (size_t j = 0; j < width; j++) packed[j] = from[j * column_stride];
            memset(packed + width, 0, (EG__PANEL - width) * sizeof *packed);
        }
    }
}

void eg__gemm_pack_halves(size_t k, size_t n, const uint16_t *b, size_t row_stride,
                          size_t column_stride, uint16_t *packed) {
    for (size_t column = 0; column < n; column += EG__PANEL) {
        const size_t width = n - column < EG__PANEL ? n - column : EG__PANEL;
        for (size_t i = 0; i < k; i += 2, packed += 2 * EG__PANEL) {
            const uint16_t *even = b + i * row_stride + column * column_stride;
            const size_t odd = i + 1 < k ? row_stride : 0;
            for (size_t j = 0; j < width; j++) {
                packed[2 * j] = even[j * column_stride];
                packed[2 * j + 1] = odd ? even[j * column_stride + odd] : 0;
            }
            memset(packed + 2 * width, 0, 2 * (EG__PANEL - width) * sizeof *packed);
        }
    }
}
