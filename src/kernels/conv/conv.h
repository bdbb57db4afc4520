/* Convolutions: their sizes, and how they are split into blocks. */
#ifndef EG__CONV_H
#define EG__CONV_H

#include "base/base.h"

/* Result i is the sum over taps k of w[k] * x[i*stride - before + k*dilation], where x has spread-1 zeros
 * between its elements and any number of them around it. */
typedef struct eg__conv_axis {
    size_t in, out, taps;
    size_t stride, dilation, spread;
    ptrdiff_t before;
} eg__conv_axis;

/* x [samples, channels, in, in], w [filters, channels/groups, taps, taps], y [samples, filters,
 * out, out]. A sequence has a height of 1. With a spread and `flipped` this also computes the
 * gradient of x. */
typedef struct eg__conv_shape {
    eg__conv_axis axis[2]; /* height, width */
    size_t channels, filters, groups;
    bool flipped; /* the last tap first */
} eg__conv_shape;

static inline size_t eg__conv_taps(const eg__conv_shape *s) {
    return s->axis[0].taps * s->axis[1].taps;
}
static inline size_t eg__conv_plane(const eg__conv_shape *s) { /* of x */
    return s->axis[0].in * s->axis[1].in;
}
static inline size_t eg__conv_positions(const eg__conv_shape *s) { /* of the result */
    return s->axis[0].out * s->axis[1].out;
}
static inline size_t eg__conv_depth(const eg__conv_shape *s) { /* elements per filter */
    return s->channels / s->groups * eg__conv_taps(s);
}
/* Offset of tap k from the first element that a result reads. */
static inline size_t eg__conv_offset(const eg__conv_shape *s, unsigned axis, size_t k) {
    const eg__conv_axis *a = &s->axis[axis];
    return (s->flipped ? a->taps - 1 - k : k) * a->dilation;
}

/* The index in x of the element at `offset` of result i; false = it is a zero (padding or
 * spread). */
static inline bool eg__conv_meets(const eg__conv_axis *a, size_t i, size_t offset, size_t *from) {
    const int64_t at = (int64_t)(i * a->stride + offset) - (int64_t)a->before;
    *from = (size_t)at;
    if (at < 0) return false;
    /* avoids a division, which takes as long as a short line */
    if (a->spread > 1) *from /= a->spread;
    return *from < a->in && *from * a->spread == (size_t)at;
}

/* Of the results [first, first + count), those whose element at `offset` is inside x: result first
 * + skip + i*step has x[from + i*from_step], for i < count. */
typedef struct eg__conv_span {
    size_t skip, count, step, from, from_step;
} eg__conv_span;
eg__conv_span eg__conv_span_of(const eg__conv_axis *axis, size_t offset, size_t first,
                               size_t count);

/* ---- unfold: the element of channel c that tap t of result first + j needs, at
 * to[j/16*chunk_stride + (c*taps + t)*row_stride + j%16]; 0 where there is none and for j from count to a
 * multiple of 16. With a row stride of 16 these are the panels that gemm takes. */
typedef struct eg__unfold_f32_args {
    const eg__conv_shape *shape;
    const float *x;
    size_t channels; /* whose planes are contiguous */
    size_t first, count;
    float *to;
    size_t row_stride, chunk_stride;
} eg__unfold_f32_args;

/* ---- depthwise: one plane of x with one filter of its own. A band of rows of the result is
 * computed from zero-padded lines that are split by phase of the stride, so that neighbouring
 * results read neighbouring elements. */
typedef struct eg__depthwise_f32_args {
    const eg__conv_shape *shape;
    const float *x, *w;
    float *y;
    float *scratch; /* eg__depthwise_scratch(shape) floats */
} eg__depthwise_f32_args;

/* The gradient of its filter, added to dw. */
typedef struct eg__depthwise_dw_f32_args {
    const eg__conv_shape *shape;
    const float *x, *dy;
    float *dw, *scratch;
} eg__depthwise_dw_f32_args;

/* The layout of the lines of a band. Line l has, for each phase < phases, x[i*stride + phase -
 * before] at l*stride + phase*width + i. */
typedef struct eg__depthwise_lines {
    size_t rows;                 /* of the result, in a band */
    size_t lines, phases, width; /* of a band; of a line; of a phase */
    size_t stride;               /* phases * width */
} eg__depthwise_lines;
eg__depthwise_lines eg__depthwise_lines_of(const eg__conv_shape *shape);
size_t eg__depthwise_scratch(const eg__conv_shape *shape);
/* Where tap t lies, from the line and column of a result on. */
size_t eg__depthwise_at(const eg__conv_shape *shape, const eg__depthwise_lines *lines, size_t t);

/* ---- everything: on these kernels, for some of the items */
struct eg__conv_kernels; /* of kernels.h */
typedef struct eg__conv_f32_args {
    const eg__conv_shape *shape;
    const float *x, *w; /* w: forward */
    const float *dy;    /* gradient by the filters */
    float *out;         /* y, or dw */
    size_t samples;     /* gradient by the filters: an item is a part of these, over all samples */
    size_t first, count;
    float *scratch; /* eg__conv_scratch, eg__conv_dw_scratch; then what the gemm kernel needs */
} eg__conv_f32_args;

static inline bool eg__conv_is_depthwise(const eg__conv_shape *s) {
    return s->channels == s->groups;
}
/* Results that are unfolded and multiplied at once: they fit into L2, and their number is a
 * multiple of 16 below the threshold from which gemm copies its left side. */
size_t eg__conv_block(const eg__conv_shape *shape);
size_t eg__conv_items(const eg__conv_shape *shape); /* of one sample */
size_t eg__conv_scratch(const eg__conv_shape *shape);
void eg__conv_f32(const struct eg__conv_kernels *kernels, const eg__conv_f32_args *args);

/* The gradient of the filters is computed for some channels and some filters of a group at once,
 * over blocks of results. */
typedef struct eg__conv_dw_cut {
    size_t channels, filters;           /* of an item */
    size_t channel_parts, filter_parts; /* of a group */
    size_t block, row_stride;           /* of the unfolded rows */
    size_t wide;                        /* filters, a multiple of 16 */
} eg__conv_dw_cut;
eg__conv_dw_cut eg__conv_dw_cut_of(const eg__conv_shape *shape);
size_t eg__conv_dw_items(const eg__conv_shape *shape);
size_t eg__conv_dw_scratch(const eg__conv_shape *shape);
void eg__conv_dw_f32(const struct eg__conv_kernels *kernels, const eg__conv_f32_args *args);

#endif
