/* The accesses of convolutions: blocks as conv.c cuts them, what unfold and depthwise read and write. */
#include "profile/cache/cache_steps.h"

static uint64_t floats(size_t n) { return sizeof(float) * (uint64_t)n; }

/* Contiguous elements of x are read as vectors, others one by one. */
static void span_read(const eg__cache_walk *w, const eg__conv_span *s, uint64_t x, size_t lanes) {
    if (s->step == 1 && s->from_step == 1) {
        eg__cache_read_row(w, x + floats(s->from), s->count, lanes);
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        eg__cache_read(w, x + floats(s->from + i * s->from_step), 1);
}

/* ---- unfold, as its kernel has its loops */
typedef struct unfold {
    const eg__cache_walk *w;
    const eg__conv_shape *shape;
    uint64_t x, to;
    size_t channels, first, count, row_stride, chunk_stride, lanes;
} unfold;

static void unfold_run(const unfold *u, size_t row, size_t column, size_t count, uint64_t to,
                       size_t room) {
    const eg__conv_shape *s = u->shape;
    const eg__conv_axis *h = &s->axis[0], *across = &s->axis[1];
    for (size_t t = 0; t < eg__conv_taps(s); t++) {
        const eg__conv_span down =
            eg__conv_span_of(h, eg__conv_offset(s, 0, t / across->taps), row, 1);
        eg__conv_span span =
            eg__conv_span_of(across, eg__conv_offset(s, 1, t % across->taps), column, count);
        if (!down.count) span.count = 0;
        for (size_t c = 0; c < u->channels; c++) {
            const uint64_t x = u->x + floats(c * eg__conv_plane(s) + down.from * across->in);
            span_read(u->w, &span, x, u->lanes);
            eg__cache_write_row(u->w, to + floats((c * eg__conv_taps(s) + t) * u->row_stride), room,
                                u->lanes);
        }
    }
}

static void unfold_all(const unfold *u) {
    const size_t width = u->shape->axis[1].out;
    for (size_t i = 0; i < u->count; i += EG__PANEL) {
        const uint64_t chunk = u->to + floats(i / EG__PANEL * u->chunk_stride);
        const size_t n = eg__min(EG__PANEL, u->count - i);
        for (size_t at = 0, some; at < n; at += some) {
            const size_t place = u->first + i + at;
            some = eg__min(n - at, width - place % width);
            unfold_run(u, place / width, place % width, some, chunk + floats(at), EG__PANEL - at);
        }
    }
}

/* ---- depthwise: lines, then each row of results with every tap */
typedef struct plane {
    const eg__cache_walk *w;
    const eg__conv_shape *shape;
    uint64_t x, filter, y; /* y: the result, or its gradient */
    size_t lanes;
    bool back;
} plane;

static void lines_fill(const plane *p, const eg__depthwise_lines *l, size_t row, size_t rows,
                       uint64_t to) {
    const eg__conv_axis *h = &p->shape->axis[0], *across = &p->shape->axis[1];
    const size_t count = l->lines - (l->rows - rows) * h->stride;
    for (size_t i = 0; i < count; i++, to += floats(l->stride)) {
        const eg__conv_span at = eg__conv_span_of(h, i, row, 1);
        for (size_t phase = 0; phase < l->phases; phase++) {
            const eg__conv_span span = eg__conv_span_of(across, phase, 0, l->width);
            if (at.count) span_read(p->w, &span, p->x + floats(at.from * across->in), p->lanes);
            eg__cache_write_row(p->w, to + floats(phase * l->width), l->width, p->lanes);
        }
    }
}

/* Four vectors at once; by the filter, all taps of a vector. */
static void row_run(const plane *p, const eg__depthwise_lines *l, uint64_t line, uint64_t y) {
    const eg__conv_shape *s = p->shape;
    const size_t width = s->axis[1].out, wide = (p->back ? 1 : 4) * p->lanes;
    for (size_t i = 0; i < width; i += wide) {
        const size_t n = eg__min(wide, width - i);
        if (p->back) eg__cache_read_row(p->w, y + floats(i), n, p->lanes);
        for (size_t t = 0; t < eg__conv_taps(s); t++) {
            if (!p->back) eg__cache_read(p->w, p->filter + floats(t), 1);
            eg__cache_read_row(p->w, line + floats(eg__depthwise_at(s, l, t) + i),
                               p->back ? n : eg__round_up(n, p->lanes), p->lanes);
        }
        if (!p->back) eg__cache_write_row(p->w, y + floats(i), n, p->lanes);
    }
}

static void plane_run(const plane *p) {
    const eg__conv_shape *s = p->shape;
    const eg__depthwise_lines l = eg__depthwise_lines_of(s);
    const size_t width = s->axis[1].out, height = s->axis[0].out, taps = eg__conv_taps(s);
    const uint64_t lines = p->w->scratch + floats(eg__round_up(taps, EG__PANEL));
    for (size_t first = 0; first < height; first += l.rows) {
        const size_t rows = eg__min(l.rows, height - first);
        lines_fill(p, &l, first, rows, lines);
        for (size_t r = 0; r < rows; r++)
            row_run(p, &l, lines + floats(r * s->axis[0].stride * l.stride),
                    p->y + floats((first + r) * width));
        for (size_t t = 0; p->back && t < taps; t++)
            eg__cache_copy_row(p->w, p->filter + floats(t), p->filter + floats(t), 1, 1);
    }
}

static void planes_run(const eg__cache_walk *w, const eg__step *step, bool back) {
    const eg__conv_shape *s = &step->u.conv.shape;
    const uint64_t x = eg__cache_at(w, &step->operand[0]), b = eg__cache_at(w, &step->operand[1]),
                   out = eg__cache_at(w, &step->operand[2]);
    const size_t samples = back ? step->u.conv.samples : w->count / s->filters;
    const size_t taps = eg__conv_taps(s), positions = eg__conv_positions(s);
    for (size_t i = 0; i < samples * s->filters; i++) {
        /* by the filter, the samples of a filter follow each other */
        const size_t filter = back ? i / samples : i % s->filters,
                     sample = back ? i % samples : i / s->filters;
        const size_t channel = sample * s->channels + filter / (s->filters / s->groups);
        const uint64_t y = floats((sample * s->filters + filter) * positions);
        const uint64_t f = floats(filter * taps);
        plane_run(&(plane){
            w, s, x + floats(channel * eg__conv_plane(s)), (back ? out : b) + f,
            (back ? b : out) + y,
            eg__cache_lanes(w, back ? EG__OP_depthwise_dw_f32 : EG__OP_depthwise_f32), back});
    }
}

/* ---- steps */
void eg__cache_step_conv(const eg__cache_walk *w, const eg__step *step) {
    const eg__conv_shape *s = &step->u.conv.shape;
    if (eg__conv_is_depthwise(s)) {
        planes_run(w, step, false);
        return;
    }
    const size_t positions = eg__conv_positions(s), depth = eg__conv_depth(s);
    const size_t block = eg__conv_block(s), blocks = eg__ceil_div(positions, block);
    const size_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    for (size_t i = 0; i < w->count; i++) {
        const size_t group = i / blocks % s->groups, sample = i / blocks / s->groups;
        const size_t first = i % blocks * block, count = eg__min(block, positions - first);
        const size_t channel = sample * s->channels + group * channels;
        const unfold u = {w,
                          s,
                          eg__cache_at(w, &step->operand[0]) + floats(channel * eg__conv_plane(s)),
                          w->scratch,
                          channels,
                          first,
                          count,
                          EG__PANEL,
                          EG__PANEL * depth,
                          eg__cache_lanes(w, EG__OP_unfold_f32)};
        unfold_all(&u);
        const eg__cache_product p = {
            .m = filters,
            .n = count,
            .k = depth,
            .a = eg__cache_at(w, &step->operand[1]) + floats(group * filters * depth),
            .b = w->scratch,
            .c = eg__cache_at(w, &step->operand[2]) +
                 floats((sample * s->filters + group * filters) * positions + first),
            .a_stride = depth,
            .c_stride = positions};
        eg__cache_product_run(w, eg__cache_lanes(w, EG__OP_gemm_f32), &p);
    }
}

/* A block of results for some channels and filters; see add_block in conv.c. */
static void add_block(const eg__cache_walk *w, const eg__step *step, const eg__conv_dw_cut *cut,
                      const size_t channels[2], const size_t filters[2], size_t sample,
                      size_t first) {
    const eg__conv_shape *s = &step->u.conv.shape;
    const size_t positions = eg__conv_positions(s), count = eg__min(cut->block, positions - first);
    const size_t rows = cut->channels * eg__conv_taps(s);
    const uint64_t packed = w->scratch + floats(rows * cut->row_stride);
    const uint64_t dy = eg__cache_at(w, &step->operand[1]) +
                        floats((sample * s->filters + filters[0]) * positions + first);
    const unfold u = {w,
                      s,
                      eg__cache_at(w, &step->operand[0]) +
                          floats((sample * s->channels + channels[0]) * eg__conv_plane(s)),
                      w->scratch,
                      channels[1],
                      first,
                      count,
                      cut->row_stride,
                      EG__PANEL,
                      eg__cache_lanes(w, EG__OP_unfold_f32)};
    unfold_all(&u);
    for (size_t i = 0; i < filters[1]; i += EG__PANEL) {
        const uint64_t to = packed + floats(i * count);
        const eg__cache_move move = {eg__min(EG__PANEL, filters[1] - i),
                                     count,
                                     dy + floats(i * positions),
                                     to,
                                     positions,
                                     EG__PANEL};
        if (move.rows < EG__PANEL)
            eg__cache_write_row(w, to, EG__PANEL * count, eg__cache_copy_lanes(w));
        eg__cache_transpose(w, eg__cache_lanes(w, EG__OP_transpose_f32), &move);
    }
    const eg__cache_product p = {.m = channels[1] * eg__conv_taps(s),
                                 .n = filters[1],
                                 .k = count,
                                 .a = w->scratch,
                                 .b = packed,
                                 .c = packed + floats(cut->block * cut->wide),
                                 .a_stride = cut->row_stride,
                                 .c_stride = cut->wide,
                                 .accumulate = sample || first};
    eg__cache_product_run(w, eg__cache_lanes(w, EG__OP_gemm_f32), &p);
}

static void dw_item(const eg__cache_walk *w, const eg__step *step, const eg__conv_dw_cut *cut,
                    size_t item) {
    const eg__conv_shape *s = &step->u.conv.shape;
    const size_t all = s->channels / s->groups, wanted = s->filters / s->groups;
    const size_t group = item / cut->channel_parts / cut->filter_parts, taps = eg__conv_taps(s);
    const size_t c = item % cut->channel_parts * cut->channels;
    const size_t f = item / cut->channel_parts % cut->filter_parts * cut->filters;
    const size_t channels[] = {group * all + c, eg__min(cut->channels, all - c)};
    const size_t filters[] = {group * wanted + f, eg__min(cut->filters, wanted - f)};
    for (size_t sample = 0; sample < step->u.conv.samples; sample++)
        for (size_t first = 0; first < eg__conv_positions(s); first += cut->block)
            add_block(w, step, cut, channels, filters, sample, first);
    const eg__cache_move move = {
        channels[1] * taps,
        filters[1],
        w->scratch + floats(cut->channels * taps * cut->row_stride + cut->block * cut->wide),
        eg__cache_at(w, &step->operand[2]) + floats((filters[0] * all + c) * taps),
        cut->wide,
        all * taps};
    eg__cache_transpose(w, eg__cache_lanes(w, EG__OP_transpose_f32), &move);
}

void eg__cache_step_conv_dw(const eg__cache_walk *w, const eg__step *step) {
    if (eg__conv_is_depthwise(&step->u.conv.shape)) {
        planes_run(w, step, true);
        return;
    }
    const eg__conv_dw_cut cut = eg__conv_dw_cut_of(&step->u.conv.shape);
    for (size_t i = 0; i < w->count; i++) dw_item(w, step, &cut, i);
}
