/* Quantized right sides: how they are stored, how they are packed, what an element is. */
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float half_value(eg_type type, uint16_t half) {
    float value;
    if (type == EG_F16) eg__f16_to_f32_ref(1, &half, &value);
    else eg__bf16_to_f32_ref(1, &half, &value);
    return value;
}

/* ---- stored */
int eg__quantized_matrix_integer(const eg__quantized_matrix *s, size_t row, size_t column) {
    const size_t at = row * s->columns + column;
    return s->type == EG_I8 ? ((const int8_t *)s->values)[at] : eg__nibble_get(s->values, at);
}

float eg__quantized_matrix_value(const eg__quantized_matrix *s, size_t row, size_t column) {
    const size_t at = row * s->columns + column;
    if (eg__quantized_unit(s->type) == 1)
        return half_value(s->type, ((const uint16_t *)s->values)[at]);
    const size_t index = eg__quantized_matrix_scale(s, row, column);
    const int steps = eg__quantized_matrix_integer(s, row, column) - (s->zero ? s->zero[index] : 0);
    const double x = (double)s->scale[index] * steps;
    /* the end of a range may be half a step beyond the largest float */
    return fabs(x) <= FLT_MAX ? (float)x : copysignf(FLT_MAX, (float)x);
}

/* a + b*c rounded up to lines; false when that does not fit. */
static bool add_lines(size_t *at, size_t b, size_t c) {
    size_t bytes;
    if (!eg__size_mul(b, c, &bytes) || !eg__size_add(*at, bytes, at)) return false;
    if (*at > SIZE_MAX / 2) return false;
    *at = eg__round_up(*at, 64);
    return true;
}

bool eg__quantized_matrix_measure(eg_type type, size_t rows, size_t columns, size_t scales,
                                  bool has_zeros, eg__quantized_matrix_layout *out) {
    size_t at = 0, elements;
    if (!eg__size_mul(rows, columns, &elements)) return false;
    const bool fits = type == EG_I4 ? add_lines(&at, elements / 2 + elements % 2, 1)
                                    : add_lines(&at, elements, eg_type_bits(type) / 8);
    if (!fits) return false;
    out->scale = at;
    if (!add_lines(&at, scales, sizeof(float))) return false;
    out->zero = at;
    if (has_zeros && !add_lines(&at, scales, 1)) return false;
    out->bytes = at;
    return true;
}

/* ---- packed */
bool eg__quantized_measure(eg_type type, size_t k, size_t n, size_t groups, const uint32_t *ends,
                           bool has_zeros, bool integers, eg__quantized_layout *out) {
    const size_t unit = eg__quantized_unit(type), panels = eg__gemm_panels(n);
    size_t units = 0, at = 0, cells;
    for (size_t g = 0; g < groups; g++)
        units += eg__ceil_div(ends[g] - (g ? ends[g - 1] : 0), unit);
    const bool half = unit == 1;
    out->panel_bytes = half ? eg__round_up(k * EG__PANEL * 2, 64) : units * 64;
    if (!eg__size_mul(panels, groups * EG__PANEL, &cells)) return false;
    if (!add_lines(&at, panels, out->panel_bytes)) return false;
    out->scale = at;
    if (!half && !add_lines(&at, cells, sizeof(float))) return false;
    out->zero = has_zeros ? at : 0;
    if (has_zeros && !add_lines(&at, cells, 1)) return false;
    /* only kernels of int8 shift the left side */
    const bool has_sums = integers && type == EG_I8;
    out->sum = has_sums ? at : 0;
    if (has_sums && !add_lines(&at, cells, sizeof(int32_t))) return false;
    out->end = at;
    if (!add_lines(&at, groups, sizeof(uint32_t))) return false;
    out->bytes = at;
    return true;
}

eg__packed_quantized eg__quantized_at(eg_type type, size_t k, size_t n, size_t groups,
                                      const void *memory, const eg__quantized_layout *layout) {
    const uint8_t *at = memory;
    const bool half = eg__quantized_unit(type) == 1;
    return (eg__packed_quantized){.type = type,
                                  .n = n,
                                  .k = k,
                                  .groups = groups,
                                  .end = (const uint32_t *)(at + layout->end),
                                  .data = at,
                                  .panel_bytes = layout->panel_bytes,
                                  .scale = half ? NULL : (const float *)(at + layout->scale),
                                  .zero = layout->zero ? (const int8_t *)at + layout->zero : NULL,
                                  .sum = layout->sum ? (const int32_t *)(at + layout->sum) : NULL};
}

/* Where row k is packed: its group, the unit of the panel and the row within that unit. */
typedef struct place {
    size_t group, unit, row;
} place;
static place find(const eg__packed_quantized *b, size_t k) {
    const size_t size = eg__quantized_unit(b->type);
    place p = {0};
    size_t from = 0;
    while (k >= b->end[p.group]) {
        p.unit += eg__ceil_div(b->end[p.group] - from, size);
        from = b->end[p.group++];
    }
    p.unit += (k - from) / size;
    p.row = (k - from) % size;
    return p;
}

static uint8_t *byte_of(const eg__packed_quantized *b, const place *p, size_t n) {
    return (uint8_t *)b->data + n / EG__PANEL * b->panel_bytes + p->unit * 64 + n % EG__PANEL * 4 +
           p->row % 4;
}
static size_t cell_of(const eg__packed_quantized *b, size_t group, size_t n) {
    return (n / EG__PANEL * b->groups + group) * EG__PANEL + n % EG__PANEL;
}

int eg__quantized_integer(const eg__packed_quantized *b, size_t k, size_t n) {
    const place p = find(b, k);
    const uint8_t byte = *byte_of(b, &p, n);
    if (b->type == EG_I8) return (int8_t)byte;
    return (int)((byte >> (p.row / 4 * 4) & 15) ^ 8) - 8;
}

static uint16_t *half_of(const eg__packed_quantized *b, size_t k, size_t n) {
    return (uint16_t *)(b->data + n / EG__PANEL * b->panel_bytes) + k * EG__PANEL + n % EG__PANEL;
}

double eg__quantized_value(const eg__packed_quantized *b, size_t k, size_t n) {
    if (!b->scale) return half_value(b->type, *half_of(b, k, n));
    const size_t cell = cell_of(b, find(b, k).group, n);
    return (double)b->scale[cell] * eg__quantized_integer(b, k, n) + eg__quantized_offset(b, cell);
}

void eg__quantized_begin(const eg__packed_quantized *to, const uint32_t *ends) {
    const size_t panels = eg__gemm_panels(to->n), cells = panels * to->groups * EG__PANEL;
    memset((void *)to->data, 0, panels * to->panel_bytes);
    memcpy((void *)to->end, ends, to->groups * sizeof *ends);
    if (to->scale) memset((void *)to->scale, 0, cells * sizeof *to->scale);
    if (to->zero) memset((void *)to->zero, 0, cells);
    if (to->sum) memset((void *)to->sum, 0, cells * sizeof *to->sum);
}

static void pack_halves(const eg__packed_quantized *to, const eg__quantized_piece *p,
                        const eg__quantized_matrix *from) {
    const uint16_t *values = from->values;
    for (size_t n = 0; n < p->n; n++)
        for (size_t k = 0; k < p->k; k++) {
            const size_t row = p->row + (p->straight ? k : n);
            const size_t column = p->column + (p->straight ? n : k);
            *half_of(to, p->k_to + k, p->n_to + n) = values[row * from->columns + column];
        }
}

void eg__quantized_pack(const eg__packed_quantized *to, const eg__quantized_piece *p,
                        const eg__quantized_matrix *from) {
    if (!to->scale) {
        pack_halves(to, p, from);
        return;
    }
    for (size_t k = 0; k < p->k; k++) {
        const place at = find(to, p->k_to + k);
        for (size_t n = 0; n < p->n; n++) {
            const size_t row = p->row + n, column = p->column + k;
            const size_t cell = cell_of(to, at.group, p->n_to + n);
            const size_t index = eg__quantized_matrix_scale(from, row, column);
            const int q = eg__quantized_matrix_integer(from, row, column);
            uint8_t *byte = byte_of(to, &at, p->n_to + n);
            if (to->type == EG_I8) *byte = (uint8_t)q;
            else *byte |= (uint8_t)(((unsigned)q & 15) << at.row / 4 * 4);
            ((float *)to->scale)[cell] = from->scale[index];
            if (to->zero) ((int8_t *)to->zero)[cell] = from->zero ? from->zero[index] : 0;
            if (to->sum) ((int32_t *)to->sum)[cell] += q;
        }
    }
}

/* ---- rows as integers */
eg__quantized_rows eg__quantized_rows_at(const eg__gemm_quantized_args *args) {
    const eg__packed_quantized *b = &args->b;
    const size_t rows = eg__min(args->m, EG__QUANTIZED_ROWS), depth = eg__quantized_depth(b);
    int8_t *at = args->scratch;
    int32_t *sum = (int32_t *)(at + rows * depth);
    float *scale = (float *)((char *)sum + eg__round_up(rows * b->groups * sizeof *sum, 64));
    return (eg__quantized_rows){at, sum, scale, depth};
}

void eg__quantize_row(const eg__packed_quantized *b, const float *x, const eg__quantized_rows *to,
                      size_t row) {
    const size_t unit = eg__quantized_unit(b->type);
    int8_t *out = to->values + row * to->depth;
    float most = 0;
    for (size_t k = 0; k < b->k; k++) {
        const float size = fabsf(x[k]);
        if (size > most || isnan(size)) most = size; /* a NaN stays: nothing is above it */
    }
    const bool finite = most <= FLT_MAX;
    const bool tiny = most < 0x1p-100f; /* 1/scale would overflow: treated as zeros */
    const float scale = !finite ? NAN : tiny ? 0 : most / 127;
    const float inverse = finite && !tiny ? 127 / most : 0;
    to->scale[row] = scale;
    memset(out, 0, to->depth);
    for (size_t g = 0, from = 0; g < b->groups; from = b->end[g++]) {
        int32_t sum = 0;
        for (size_t k = from; k < b->end[g]; k++) {
            const float q = finite ? nearbyintf(x[k] * inverse) : 0;
            out[k - from] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
            sum += out[k - from];
        }
        to->sum[row * b->groups + g] = sum;
        out += eg__quantized_units(b, g) * unit;
    }
}

eg__operation eg__quantized_operation(eg_type type, bool integers) {
    switch (type) {
    case EG_F16: return EG__OP_gemm_f16;
    case EG_BF16: return EG__OP_gemm_bf16;
    case EG_I8: return integers ? EG__OP_gemm_i8i8 : EG__OP_gemm_i8;
    default: return integers ? EG__OP_gemm_i4i8 : EG__OP_gemm_i4;
    }
}
