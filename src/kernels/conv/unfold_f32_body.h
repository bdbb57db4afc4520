/* unfold_f32 for any vector width: included by unfold_f32_<isa>.c after its simd header.
 *
 * Sixteen results at a time. Those of one row of the result need neighbours in x, which are one load where
 * nothing is strided. */
#include "kernels/kernels.h"

/* Stores `n` values, then zeros up to `room` (at most sixteen). */
INLINE void put(float *to, const float *from, size_t n, size_t room) {
    for (size_t i = 0; i < room; i += VF_N) {
        const vf v = n >= i + VF_N ? vf_load(from + i)
                     : n > i       ? vf_load_part(from + i, n - i)
                                   : vf_zero();
        if (room >= i + VF_N) vf_store(to + i, v);
        else vf_store_part(to + i, v, room - i);
    }
}

/* The same for every second element: a stride of 2. */
INLINE void put_pairs(float *to, const float *from, size_t n, size_t room) {
    float both[2 * EG__PANEL];
    const size_t all = 2 * n - 1, first = eg__min(all, EG__PANEL);
    put(both, from, first, EG__PANEL);
    put(both + EG__PANEL, from + first, all - first, EG__PANEL);
    for (size_t i = 0; i < room; i += VF_N) {
        vf even, odd;
        vf_load_pairs(both + 2 * i, &even, &odd);
        if (room >= i + VF_N) vf_store(to + i, even);
        else vf_store_part(to + i, even, room - i);
    }
}

/* One row of a chunk from one column to its end; what follows this run is overwritten later. */
INLINE void put_span(const eg__conv_span *s, const float *x, float *to, size_t room) {
    if (s->step == 1 && s->from_step <= 2 && s->count) {
        if (s->skip) put(to, x, 0, room);
        if (s->from_step == 1) put(to + s->skip, x + s->from, s->count, room - s->skip);
        else put_pairs(to + s->skip, x + s->from, s->count, room - s->skip);
        return;
    }
    put(to, x, 0, room);
    for (size_t i = 0; i < s->count; i++) to[s->skip + i * s->step] = x[s->from + i * s->from_step];
}

/* `count` results of a row, for all taps and channels; `to` is where the first of them goes. */
static void run(const eg__unfold_f32_args *u, size_t row, size_t column, size_t count, float *to,
                size_t room) {
    const eg__conv_shape *s = u->shape;
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    const size_t plane = eg__conv_plane(s), next = h->taps * w->taps * u->row_stride;
    for (size_t i = 0; i < h->taps; i++) {
        const eg__conv_span down = eg__conv_span_of(h, eg__conv_offset(s, 0, i), row, 1);
        for (size_t k = 0; k < w->taps; k++, to += u->row_stride) {
            eg__conv_span span = eg__conv_span_of(w, eg__conv_offset(s, 1, k), column, count);
            const float *x = u->x + down.from * w->in;
            float *place = to;
            if (!down.count || !span.count) span = (eg__conv_span){0, 0, 1, 0, 1};
            if (span.count == EG__PANEL && span.from_step == 1 && span.step == 1)
                for (size_t c = 0; c < u->channels; c++, place += next, x += plane)
                    put(place, x + span.from, EG__PANEL, EG__PANEL);
            else
                for (size_t c = 0; c < u->channels; c++, place += next, x += plane)
                    put_span(&span, x, place, room);
        }
    }
}

void SIMD(eg__unfold_f32)(const eg__unfold_f32_args *u) {
    const size_t width = u->shape->axis[1].out;
    for (size_t i = 0; i < u->count; i += EG__PANEL) {
        float *chunk = u->to + i / EG__PANEL * u->chunk_stride;
        const size_t n = eg__min(EG__PANEL, u->count - i);
        for (size_t at = 0, some; at < n; at += some) {
            const size_t row = (u->first + i + at) / width, column = (u->first + i + at) % width;
            some = eg__min(n - at, width - column);
            run(u, row, column, some, chunk + at, EG__PANEL - at);
        }
    }
}
