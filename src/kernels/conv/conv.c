/* Convolutions as im2col + gemm: blocks of x are unfolded into panels and multiplied by the
 * filters, which are the left side without packing, so that the product has the layout of the
 * result. */
#include "kernels/kernels.h"

#include <string.h>

size_t eg__conv_block(const eg__conv_shape *s) {
    enum { FLOATS = 65536, MOST = 192, TILE = 48 };
    const size_t positions = eg__conv_positions(s), depth = eg__conv_depth(s);
    size_t block = eg__min(FLOATS / depth, MOST);
    block = block >= TILE ? block / TILE * TILE : eg__max(block / EG__PANEL, 1) * EG__PANEL;
    return eg__min(block, eg__round_up(positions, EG__PANEL));
}

size_t eg__conv_items(const eg__conv_shape *s) {
    if (eg__conv_is_depthwise(s)) return s->filters;
    return s->groups * eg__ceil_div(eg__conv_positions(s), eg__conv_block(s));
}

size_t eg__conv_scratch(const eg__conv_shape *s) {
    if (eg__conv_is_depthwise(s)) return eg__depthwise_scratch(s);
    return eg__conv_block(s) * eg__conv_depth(s);
}

static void depthwise(const eg__conv_kernels *kernels, const eg__conv_f32_args *args) {
    const eg__conv_shape *s = args->shape;
    for (size_t i = args->first; i < args->first + args->count; i++) {
        const size_t sample = i / s->filters, filter = i % s->filters;
        const size_t channel = filter / (s->filters / s->groups);
        const eg__depthwise_f32_args plane = {
            s, args->x + (sample * s->channels + channel) * eg__conv_plane(s),
            args->w + filter * eg__conv_taps(s), args->out + i * eg__conv_positions(s),
            args->scratch};
        kernels->depthwise(&plane);
    }
}

void eg__conv_f32(const eg__conv_kernels *kernels, const eg__conv_f32_args *args) {
    const eg__conv_shape *s = args->shape;
    if (eg__conv_is_depthwise(s)) {
        depthwise(kernels, args);
        return;
    }
    const size_t positions = eg__conv_positions(s), depth = eg__conv_depth(s);
    const size_t block = eg__conv_block(s), blocks = eg__ceil_div(positions, block);
    const size_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    for (size_t i = args->first; i < args->first + args->count; i++) {
        const size_t group = i / blocks % s->groups, sample = i / blocks / s->groups;
        const size_t first = i % blocks * block, count = eg__min(block, positions - first);
        const eg__unfold_f32_args unfold = {
            s,         args->x + (sample * s->channels + group * channels) * eg__conv_plane(s),
            channels,  first,
            count,     args->scratch,
            EG__PANEL, EG__PANEL * depth};
        kernels->unfold(&unfold);
        const eg__gemm_f32_args product = {
            .m = filters,
            .n = count,
            .k = depth,
            .a = args->w + group * filters * depth,
            .a_stride = depth,
            .b = args->scratch,
            .c = args->out + (sample * s->filters + group * filters) * positions + first,
            .c_stride = positions,
            .scratch = args->scratch + eg__conv_scratch(s),
            .blocks = kernels->blocks};
        kernels->gemm(&product);
    }
}

/* ---- the gradient of the filters: unfolded rows times the transposed gradient of the result */
static size_t even_part(size_t n, size_t most, size_t *parts) {
    *parts = eg__ceil_div(n, most);
    return eg__ceil_div(n, *parts);
}

eg__conv_dw_cut eg__conv_dw_cut_of(const eg__conv_shape *s) {
    enum { ROWS = 160, FILTERS = 256, BLOCK = 240 };
    eg__conv_dw_cut cut;
    cut.channels =
        even_part(s->channels / s->groups, eg__max(ROWS / eg__conv_taps(s), 1), &cut.channel_parts);
    cut.filters = even_part(s->filters / s->groups, FILTERS, &cut.filter_parts);
    cut.wide = eg__round_up(cut.filters, EG__PANEL);
    cut.block = eg__min(BLOCK, eg__round_up(eg__conv_positions(s), EG__PANEL));
    cut.row_stride = cut.block + EG__PANEL; /* rows a power of two apart would share cache sets */
    return cut;
}

size_t eg__conv_dw_items(const eg__conv_shape *s) {
    if (eg__conv_is_depthwise(s)) return s->filters;
    const eg__conv_dw_cut cut = eg__conv_dw_cut_of(s);
    return s->groups * cut.channel_parts * cut.filter_parts;
}

size_t eg__conv_dw_scratch(const eg__conv_shape *s) {
    if (eg__conv_is_depthwise(s)) return eg__depthwise_scratch(s);
    const eg__conv_dw_cut cut = eg__conv_dw_cut_of(s);
    const size_t rows = cut.channels * eg__conv_taps(s);
    return rows * cut.row_stride + cut.block * cut.wide + rows * cut.wide;
}

static void depthwise_dw(const eg__conv_kernels *kernels, const eg__conv_f32_args *args) {
    const eg__conv_shape *s = args->shape;
    const size_t taps = eg__conv_taps(s);
    for (size_t i = args->first; i < args->first + args->count; i++) {
        const size_t channel = i / (s->filters / s->groups);
        memset(args->out + i * taps, 0, taps * sizeof *args->out);
        for (size_t sample = 0; sample < args->samples; sample++) {
            const eg__depthwise_dw_f32_args plane = {
                s, args->x + (sample * s->channels + channel) * eg__conv_plane(s),
                args->dy + (sample * s->filters + i) * eg__conv_positions(s), args->out + i * taps,
                args->scratch};
            kernels->depthwise_dw(&plane);
        }
    }
}

/* Packs dy: sixteen filters per panel, one result per row. */
static void pack_transposed(const eg__conv_kernels *kernels, size_t filters, size_t count,
                            const float *dy, size_t stride, float *to) {
    for (size_t i = 0; i < filters; i += EG__PANEL, to += EG__PANEL * count) {
        const size_t some = eg__min(EG__PANEL, filters - i);
        if (some < EG__PANEL) memset(to, 0, EG__PANEL * count * sizeof *to);
        const eg__move_f32_args move = {some, count, dy + i * stride, stride, to, EG__PANEL};
        kernels->transpose(&move);
    }
}

/* The part of an item: some channels and some filters of a group. */
typedef struct dw_part {
    size_t channel, channels, filter, filters;
    float *rows, *packed, *sums;
} dw_part;

static void add_block(const eg__conv_kernels *kernels, const eg__conv_f32_args *args,
                      const dw_part *p, const eg__conv_dw_cut *cut, size_t sample, size_t first) {
    const eg__conv_shape *s = args->shape;
    const size_t positions = eg__conv_positions(s), count = eg__min(cut->block, positions - first);
    const eg__unfold_f32_args unfold = {s,
                                        args->x +
                                            (sample * s->channels + p->channel) * eg__conv_plane(s),
                                        p->channels,
                                        first,
                                        count,
                                        p->rows,
                                        cut->row_stride,
                                        EG__PANEL};
    kernels->unfold(&unfold);
    pack_transposed(kernels, p->filters, count,
                    args->dy + (sample * s->filters + p->filter) * positions + first, positions,
                    p->packed);
    const eg__gemm_f32_args product = {.m = p->channels * eg__conv_taps(s),
                                       .n = p->filters,
                                       .k = count,
                                       .a = p->rows,
                                       .a_stride = cut->row_stride,
                                       .b = p->packed,
                                       .c = p->sums,
                                       .c_stride = cut->wide,
                                       .accumulate = sample || first,
                                       .scratch = args->scratch + eg__conv_dw_scratch(s),
                                       .blocks = kernels->blocks};
    kernels->gemm(&product);
}

static void dw_item(const eg__conv_kernels *kernels, const eg__conv_f32_args *args,
                    const eg__conv_dw_cut *cut, size_t item) {
    const eg__conv_shape *s = args->shape;
    const size_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    const size_t group = item / cut->channel_parts / cut->filter_parts;
    const size_t c = item % cut->channel_parts * cut->channels;
    const size_t f = item / cut->channel_parts % cut->filter_parts * cut->filters;
    const size_t taps = eg__conv_taps(s), rows = cut->channels * taps;
    const dw_part p = {.channel = group * channels + c,
                       .channels = eg__min(cut->channels, channels - c),
                       .filter = group * filters + f,
                       .filters = eg__min(cut->filters, filters - f),
                       .rows = args->scratch,
                       .packed = args->scratch + rows * cut->row_stride,
                       .sums = args->scratch + rows * cut->row_stride + cut->block * cut->wide};
    if (!args->samples) memset(p.sums, 0, rows * cut->wide * sizeof *p.sums);
    for (size_t sample = 0; sample < args->samples; sample++)
        for (size_t first = 0; first < eg__conv_positions(s); first += cut->block)
            add_block(kernels, args, &p, cut, sample, first);
    const eg__move_f32_args move = {p.channels * taps,
                                    p.filters,
                                    p.sums,
                                    cut->wide,
                                    args->out + (p.filter * channels + c) * taps,
                                    channels * taps};
    kernels->transpose(&move);
}

void eg__conv_dw_f32(const eg__conv_kernels *kernels, const eg__conv_f32_args *args) {
    if (eg__conv_is_depthwise(args->shape)) {
        depthwise_dw(kernels, args);
        return;
    }
    const eg__conv_dw_cut cut = eg__conv_dw_cut_of(args->shape);
    for (size_t i = args->first; i < args->first + args->count; i++)
        dw_item(kernels, args, &cut, i);
}
