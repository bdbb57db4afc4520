/* The accesses of the kernels over synapses: blocks of samples side by side, or one sample by lanes. */
#include "profile/cache/cache_steps.h"

enum { V, WEIGHT, MIDDLE, SLOPE, REVERSAL, ENDS, OUT, D };
enum { BLOCK = EG__SYNAPSES_BLOCK, TOGETHER = 4 }; /* as in synapses_f32_body.h */

typedef struct synapses {
    const eg__cache_walk *w;
    const eg__step *step;
    const eg__step_synapses *s;
    size_t lanes, batch, count; /* count: synapses */
    uint64_t at[D + 1];
} synapses;

static uint64_t floats(uint64_t at, size_t n) { return at + sizeof(float) * n; }
static size_t stride(const synapses *s, unsigned operand) {
    return s->step->operand[operand].stride;
}

/* The kernels transpose with the AVX2 routine where there is one. */
static size_t side(const synapses *s) { return s->lanes == 16 ? 8 : s->lanes; }

/* Zeros for the lanes of samples from `first` on. */
static void block_zero(const synapses *s, size_t first, size_t rows, size_t columns, uint64_t to) {
    const size_t wide = eg__round_up(rows, s->lanes);
    for (size_t c = 0; c < columns; c++)
        eg__cache_write_row(s->w, floats(to, c * BLOCK + first), wide - first, s->lanes);
}
static void block_load(const synapses *s, size_t rows, size_t columns, uint64_t from, size_t step,
                       uint64_t to) {
    const eg__cache_move move = {rows, columns, from, to, step, BLOCK};
    if (rows % s->lanes) block_zero(s, rows - rows % s->lanes, rows, columns, to);
    eg__cache_transpose(s->w, side(s), &move);
}
static void block_store(const synapses *s, size_t rows, size_t columns, uint64_t from, uint64_t to,
                        size_t step) {
    const eg__cache_move move = {columns, rows, from, to, BLOCK, step};
    eg__cache_transpose(s->w, side(s), &move);
}

/* Vectors of a synapse's samples: what the gradients read, and what that of the sources writes back. */
typedef struct lines {
    uint64_t read[3], changed;
    bool changes;
} lines;

static void samples_run(const synapses *s, const lines *l, size_t wide) {
    for (size_t i = 0, n; i < wide; i += n) {
        n = i + TOGETHER * s->lanes <= wide ? TOGETHER * s->lanes : s->lanes;
        for (unsigned k = 0; k < 3; k++)
            eg__cache_read_row(s->w, floats(l->read[k], i), n, s->lanes);
        const uint64_t changed = floats(l->changed, i);
        if (l->changes) eg__cache_copy_row(s->w, changed, changed, n, s->lanes);
    }
}

/* A constant, so the real list is used. */
static int32_t ends_of(const synapses *s, size_t p) {
    return (int32_t)eg__cache_index(s->w, &s->step->operand[ENDS], p, 0);
}

/* The parameters of synapse p and where it leads; false for padding. */
static bool synapse_read(const synapses *s, size_t p, size_t *source, size_t *target) {
    const int32_t ends = ends_of(s, p), to = eg__synapse_target(ends);
    eg__cache_read(s->w, floats(s->at[ENDS], p), 1);
    if (to < 0) return false;
    *source = eg__synapse_source(ends), *target = (size_t)to;
    for (unsigned k = WEIGHT; k <= REVERSAL; k++) eg__cache_read(s->w, floats(s->at[k], p), 1);
    return true;
}

/* The synapses of a lane: their sums are in registers until its end. */
static void lane_run(const synapses *s, size_t first, size_t end, size_t step, size_t wide,
                     uint64_t v, uint64_t sums) {
    const size_t target = (size_t)eg__synapse_target(ends_of(s, first));
    const uint64_t current = floats(sums, target * BLOCK);
    for (size_t i = 0, n; i < wide; i += n) {
        n = s->lanes * (i + 4 * s->lanes <= wide ? 4 : i + 2 * s->lanes <= wide ? 2 : 1);
        for (size_t p = first, from, to; p < end; p += step)
            if (synapse_read(s, p, &from, &to))
                eg__cache_read_row(s->w, floats(v, from * BLOCK + i), n, s->lanes);
        for (unsigned k = 0; k < 2; k++) {
            const uint64_t sum = floats(current, k * s->s->targets * BLOCK + i);
            eg__cache_copy_row(s->w, sum, sum, n, s->lanes);
        }
    }
}

static int32_t target_of(const synapses *s, size_t p) { return eg__synapse_target(ends_of(s, p)); }

static void block_forward(const synapses *s, size_t row, size_t rows) {
    const size_t targets = s->s->targets, wide = eg__round_up(rows, s->lanes);
    const size_t width = s->s->in_lanes ? EG__LANES : 1;
    const uint64_t v = s->w->scratch, sums = floats(v, s->s->sources * BLOCK);
    block_load(s, rows, s->s->sources, floats(s->at[V], row * stride(s, V)), stride(s, V), v);
    block_zero(s, 0, rows, 2 * targets, sums);
    for (size_t first = 0, end; first < s->count; first = end) {
        end = first + width;
        while (width > 1 && end < s->count && target_of(s, end) == target_of(s, first))
            end += width;
        for (size_t lane = first; lane < first + width; lane++)
            if (target_of(s, lane) >= 0) lane_run(s, lane, end, width, wide, v, sums);
    }
    block_store(s, rows, 2 * targets, sums, floats(s->at[OUT], row * stride(s, OUT)),
                stride(s, OUT));
}

static void block_back(const synapses *s, size_t row, size_t rows) {
    const size_t sources = s->s->sources, targets = s->s->targets;
    const size_t wide = eg__round_up(rows, s->lanes);
    const bool dv = s->step->kind == EG__STEP_synapses_dv;
    const uint64_t v = s->w->scratch, d = floats(v, sources * BLOCK);
    const uint64_t back = floats(d, 2 * targets * BLOCK);
    block_load(s, rows, sources, floats(s->at[V], row * stride(s, V)), stride(s, V), v);
    block_load(s, rows, 2 * targets, floats(s->at[D], row * stride(s, D)), stride(s, D), d);
    if (dv) block_zero(s, 0, rows, sources, back);
    for (size_t p = 0, from, to; p < s->count; p++) {
        if (!synapse_read(s, p, &from, &to)) continue;
        const uint64_t source = floats(v, from * BLOCK), current = floats(d, to * BLOCK);
        const lines l = {
            {source, current, floats(current, targets * BLOCK)}, floats(back, from * BLOCK), dv};
        samples_run(s, &l, wide);
        for (unsigned k = 0; k < 4 && !dv; k++) {
            const uint64_t sum = floats(s->at[OUT], k * stride(s, OUT) + p);
            eg__cache_copy_row(s->w, sum, sum, 1, 1);
        }
    }
    if (dv)
        block_store(s, rows, sources, back, floats(s->at[OUT], row * stride(s, OUT)),
                    stride(s, OUT));
}

/* ---- one sample: many synapses at a time through a buffer, then their sums, in pairs */
enum { MANY = 64 * EG__LANES, TABLE = 64 };

/* Where the two sums of a target grow, and those of a group of lanes before they are added there. */
static uint64_t total_at(const synapses *s, size_t target) {
    return floats(s->w->scratch, 2 * target);
}
static uint64_t lanes_at(const synapses *s) {
    return total_at(s, eg__round_up(s->s->targets + 1, EG__LANES));
}

static void flush(const synapses *s, size_t group) {
    eg__cache_write_row(s->w, lanes_at(s), 2 * EG__LANES, s->lanes);
    for (size_t lane = 0; lane < EG__LANES; lane++) {
        const int32_t t = target_of(s, group + lane);
        const uint64_t total = total_at(s, t < 0 ? s->s->targets : (size_t)t);
        eg__cache_read(s->w, floats(s->at[ENDS], group + lane), 1);
        eg__cache_read(s->w, floats(lanes_at(s), 2 * lane), 2);
        eg__cache_copy_row(s->w, total, total, 2, 2);
    }
}

/* From sources in registers, where there are few and the instructions; else number by number. */
static void activate(const synapses *s, uint64_t v, size_t from, size_t count) {
    static const unsigned read[] = {SLOPE, MIDDLE, WEIGHT, ENDS};
    const bool looks = s->lanes == 16 && s->s->sources <= TABLE;
    const uint64_t buffer = s->w->stack;
    if (looks) eg__cache_read_row(s->w, v, s->s->sources, s->lanes);
    for (size_t i = 0; !looks && i < count; i++) {
        eg__cache_read(s->w, floats(s->at[ENDS], from + i), 1);
        eg__cache_read(s->w, floats(v, eg__synapse_source(ends_of(s, from + i))), 1);
        eg__cache_write(s->w, floats(buffer, i), 1);
    }
    for (size_t i = 0; i < count; i += s->lanes) {
        eg__cache_read(s->w, looks ? floats(s->at[ENDS], from + i) : floats(buffer, i), s->lanes);
        for (unsigned k = 0; k < sizeof read / sizeof *read; k++)
            eg__cache_read(s->w, floats(s->at[read[k]], from + i), s->lanes);
        eg__cache_write(s->w, floats(buffer, i), s->lanes);
    }
}

/* The sums of both kinds are taken apart at the end. */
static void separate(const synapses *s, uint64_t out) {
    const size_t targets = s->s->targets;
    for (size_t t = 0, n; t < targets; t += n) {
        n = t + s->lanes <= targets ? s->lanes : 1;
        eg__cache_read_row(s->w, total_at(s, t), 2 * n, n);
        eg__cache_write(s->w, floats(out, t), n);
        eg__cache_write(s->w, floats(out, targets + t), n);
    }
}

static void sample_run(const synapses *s, size_t b) {
    const uint64_t v = floats(s->at[V], b * stride(s, V)), buffer = s->w->stack;
    size_t first = 0;
    eg__cache_write_row(s->w, total_at(s, 0), 2 * (s->s->targets + 1), eg__cache_copy_lanes(s->w));
    for (size_t from = 0; from < s->count; from += MANY) {
        const size_t count = eg__min(MANY, s->count - from);
        activate(s, v, from, count);
        for (size_t i = 0; i < count; i += EG__LANES) {
            eg__cache_read(s->w, floats(s->at[ENDS], from + i), 1);
            if (target_of(s, from + i) != target_of(s, first)) {
                flush(s, first);
                first = from + i;
            }
            eg__cache_read_row(s->w, floats(buffer, i), EG__LANES, s->lanes);
            eg__cache_read_row(s->w, floats(s->at[REVERSAL], from + i), EG__LANES, s->lanes);
        }
    }
    if (s->count) flush(s, first);
    separate(s, floats(s->at[OUT], b * stride(s, OUT)));
}

/* ---- the gradient of one sample by its sources: a lane per synapse */
static void sample_back(const synapses *s, size_t b) {
    static const unsigned read[] = {SLOPE, MIDDLE, REVERSAL, WEIGHT};
    enum { PART = 16 * EG__LANES };
    const uint64_t v = floats(s->at[V], b * stride(s, V)), d = floats(s->at[D], b * stride(s, D));
    const uint64_t out = floats(s->at[OUT], b * stride(s, OUT)), buffer = s->w->stack;
    eg__cache_write_row(s->w, out, s->s->sources, eg__cache_copy_lanes(s->w));
    for (size_t from = 0; from < s->count; from += PART) {
        const size_t count = eg__min(PART, s->count - from);
        for (size_t i = 0; i < count; i++) {
            const size_t t = (size_t)eg__max(target_of(s, from + i), 0);
            eg__cache_read(s->w, floats(s->at[ENDS], from + i), 1);
            eg__cache_read(s->w, floats(v, eg__synapse_source(ends_of(s, from + i))), 1);
            eg__cache_read(s->w, floats(d, t), 1);
            eg__cache_read(s->w, floats(d, t + s->s->targets), 1);
            for (size_t k = 0; k < 3; k++) eg__cache_write(s->w, floats(buffer, k * PART + i), 1);
        }
        for (size_t i = 0; i < count; i += s->lanes) {
            for (unsigned k = 0; k < sizeof read / sizeof *read; k++)
                eg__cache_read(s->w, floats(s->at[read[k]], from + i), s->lanes);
            for (size_t k = 0; k < 3; k++)
                eg__cache_read(s->w, floats(buffer, k * PART + i), s->lanes);
            for (size_t k = 0; k < 2; k++)
                eg__cache_write(s->w, floats(buffer, k * PART + i), s->lanes);
        }
        for (size_t i = 0; i < count; i++) {
            const uint64_t to = floats(out, eg__synapse_source(ends_of(s, from + i)));
            eg__cache_read(s->w, floats(s->at[ENDS], from + i), 1);
            if (target_of(s, from + i) < 0) continue;
            for (size_t k = 0; k < 2; k++) eg__cache_read(s->w, floats(buffer, k * PART + i), 1);
            eg__cache_copy_row(s->w, to, to, 1, 1);
        }
    }
}

void eg__cache_step_synapses(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_synapses *s = &step->u.synapses;
    const bool over_batch = step->kind == EG__STEP_synapses_dp;
    synapses all = {.w = w,
                    .step = step,
                    .s = s,
                    .lanes = eg__cache_lanes(w, EG__OP_synapses_f32),
                    .count = over_batch ? w->count : s->count,
                    .batch = over_batch ? eg__cache_timed(w, s->batch, s->batch_timed)
                                        : w->count * step->rows};
    for (unsigned i = 0; i < step->operands; i++) all.at[i] = eg__cache_at(w, &step->operand[i]);
    for (size_t k = 0; over_batch && k < 4; k++)
        eg__cache_write_row(w, floats(all.at[OUT], k * stride(&all, OUT)), all.count,
                            eg__cache_copy_lanes(w));
    const bool forward = step->kind == EG__STEP_synapses;
    size_t few = s->in_lanes && !over_batch ? all.batch % all.lanes : 0;
    if (few > 3 * all.lanes / (forward ? 4 : 8)) few = 0;
    for (size_t row = 0; row < all.batch - few; row += BLOCK)
        (forward ? block_forward : block_back)(&all, row, eg__min(BLOCK, all.batch - few - row));
    for (size_t b = all.batch - few; b < all.batch; b++)
        (forward ? sample_run : sample_back)(&all, b);
}
