/* The accesses of the kernels over synapses: blocks of samples side by side, or one sample by lanes. */
#include "profile/cache_steps.h"

enum { V, WEIGHT, MIDDLE, SLOPE, REVERSAL, SOURCE, TARGET, OUT, D };
enum { BLOCK = EG__SYNAPSES_BLOCK, TOGETHER = 4, FEW = 4 }; /* as in synapses_f32_body.h */

typedef struct synapses {
    const eg__cache_walk *w;
    const eg__step *step;
    const eg__step_synapses *s;
    size_t lanes, batch;
    uint64_t at[D + 1];
} synapses;

static uint64_t floats(uint64_t at, size_t n) { return at + sizeof(float) * n; }
static size_t stride(const synapses *s, unsigned operand) {
    return s->step->operand[operand].stride;
}

/* Samples to lanes, number by number, after zeros everywhere. */
static void block_load(const synapses *s, size_t rows, size_t columns, uint64_t from, size_t step,
                       uint64_t to) {
    eg__cache_write_row(s->w, to, columns * BLOCK, eg__cache_copy_lanes(s->w));
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++) {
            eg__cache_read(s->w, floats(from, r * step + c), 1);
            eg__cache_write(s->w, floats(to, c * BLOCK + r), 1);
        }
}
static void block_store(const synapses *s, size_t rows, size_t columns, uint64_t from, uint64_t to,
                        size_t step) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            eg__cache_read(s->w, floats(from, c * BLOCK + r), 1);
            eg__cache_write(s->w, floats(to, r * step + c), 1);
        }
}

/* Vectors of a synapse's samples: what each kernel reads, and what it writes back. */
typedef struct lines {
    uint64_t read[3], changed[2];
    unsigned reads, changes;
} lines;

static void samples_run(const synapses *s, const lines *l, size_t wide) {
    for (size_t i = 0, n; i < wide; i += n) {
        n = i + TOGETHER * s->lanes <= wide ? TOGETHER * s->lanes : s->lanes;
        for (unsigned k = 0; k < l->reads; k++)
            eg__cache_read_row(s->w, floats(l->read[k], i), n, s->lanes);
        for (unsigned k = 0; k < l->changes; k++)
            eg__cache_copy_row(s->w, floats(l->changed[k], i), floats(l->changed[k], i), n,
                               s->lanes);
    }
}

/* The parameters of synapse p and where it leads; false for padding. */
static bool synapse_read(const synapses *s, size_t p, size_t *source, size_t *target) {
    const eg__operand *o = s->step->operand;
    eg__cache_read(s->w, floats(s->at[TARGET], p), 1);
    const int64_t to = eg__cache_index(s->w, &o[TARGET], p, s->s->targets);
    const int64_t from = eg__cache_index(s->w, &o[SOURCE], p, s->s->sources);
    if (to < 0 || from < 0) return false;
    *source = (size_t)from, *target = (size_t)to;
    eg__cache_read(s->w, floats(s->at[SOURCE], p), 1);
    for (unsigned k = WEIGHT; k <= REVERSAL; k++) eg__cache_read(s->w, floats(s->at[k], p), 1);
    return true;
}

static void block_run(const synapses *s, size_t row, size_t rows) {
    const size_t sources = s->s->sources, targets = s->s->targets;
    const size_t wide = eg__round_up(rows, s->lanes);
    const bool forward = s->step->run == eg__run_synapses, dv = s->step->run == eg__run_synapses_dv;
    const uint64_t v = s->w->scratch, sums = floats(v, sources * BLOCK);
    const uint64_t back = floats(sums, 2 * targets * BLOCK);
    block_load(s, rows, sources, floats(s->at[V], row * stride(s, V)), stride(s, V), v);
    if (forward) eg__cache_write_row(s->w, sums, 2 * targets * BLOCK, eg__cache_copy_lanes(s->w));
    else block_load(s, rows, 2 * targets, floats(s->at[D], row * stride(s, D)), stride(s, D), sums);
    if (dv) eg__cache_write_row(s->w, back, sources * BLOCK, eg__cache_copy_lanes(s->w));
    for (size_t p = 0, from, to; p < s->s->count; p++) {
        if (!synapse_read(s, p, &from, &to)) continue;
        const uint64_t source = floats(v, from * BLOCK), current = floats(sums, to * BLOCK);
        const uint64_t conductance = floats(current, targets * BLOCK);
        lines l = {{source, current, conductance}, {floats(back, from * BLOCK), 0}, 3, dv};
        if (forward) l = (lines){{source, 0, 0}, {current, conductance}, 1, 2};
        samples_run(s, &l, wide);
        for (unsigned k = 0; k < 4 && !forward && !dv; k++) {
            const uint64_t sum = floats(s->at[OUT], k * s->s->count + p);
            eg__cache_copy_row(s->w, sum, sum, 1, 1);
        }
    }
    if (forward)
        block_store(s, rows, 2 * targets, sums, floats(s->at[OUT], row * stride(s, OUT)),
                    stride(s, OUT));
    if (dv)
        block_store(s, rows, sources, back, floats(s->at[OUT], row * stride(s, OUT)),
                    stride(s, OUT));
}

/* ---- one sample: many synapses at a time through a buffer, then their sums */
static void sums_run(const synapses *s, size_t from, size_t count, uint64_t buffer, uint64_t out) {
    const eg__operand *o = s->step->operand;
    for (size_t i = 0; i < count; i += EG__LANES) {
        eg__cache_read(s->w, floats(s->at[TARGET], from + i), 1);
        eg__cache_read_row(s->w, floats(buffer, i), EG__LANES, s->lanes);
        eg__cache_read_row(s->w, floats(s->at[REVERSAL], from + i), EG__LANES, s->lanes);
        const size_t next = from + i + EG__LANES;
        if (next < s->s->count && eg__cache_index(s->w, &o[TARGET], next, s->s->targets) ==
                                      eg__cache_index(s->w, &o[TARGET], from + i, s->s->targets))
            continue;
        for (size_t lane = 0; lane < EG__LANES; lane++) { /* these targets are complete */
            const int64_t t = eg__cache_index(s->w, &o[TARGET], from + i + lane, s->s->targets);
            if (t < 0) continue;
            eg__cache_write(s->w, floats(out, (size_t)t), 1);
            eg__cache_write(s->w, floats(out, s->s->targets + (size_t)t), 1);
        }
    }
}

static void sample_run(const synapses *s, size_t b) {
    enum { MANY = 32 * EG__LANES };
    const uint64_t v = floats(s->at[V], b * stride(s, V)), buffer = s->w->stack;
    const uint64_t out = floats(s->at[OUT], b * stride(s, OUT));
    eg__cache_write_row(s->w, out, 2 * s->s->targets, eg__cache_copy_lanes(s->w));
    for (size_t from = 0; from < s->s->count; from += MANY) {
        const size_t count = eg__min(MANY, s->s->count - from);
        for (size_t i = 0; i < count; i++) {
            const int64_t at =
                eg__cache_index(s->w, &s->step->operand[SOURCE], from + i, s->s->sources);
            eg__cache_read(s->w, floats(s->at[SOURCE], from + i), 1);
            eg__cache_read(s->w, floats(v, at < 0 ? 0 : (size_t)at), 1);
            eg__cache_write(s->w, floats(buffer, i), 1);
        }
        for (size_t i = 0; i < count; i += s->lanes) {
            static const unsigned read[] = {SLOPE, MIDDLE, WEIGHT, TARGET};
            for (unsigned k = 0; k < sizeof read / sizeof *read; k++)
                eg__cache_read(s->w, floats(s->at[read[k]], from + i), s->lanes);
            eg__cache_copy_row(s->w, floats(buffer, i), floats(buffer, i), s->lanes, s->lanes);
        }
        sums_run(s, from, count, buffer, out);
    }
}

void eg__cache_step_synapses(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_synapses *s = &step->u.synapses;
    const bool over_batch = step->run == eg__run_synapses_dp;
    synapses all = {.w = w,
                    .step = step,
                    .s = s,
                    .lanes = eg__cache_lanes(w, EG__OP_synapses_f32),
                    .batch = over_batch ? eg__cache_timed(w, s->batch, s->batch_timed)
                                        : w->count * step->rows};
    for (unsigned i = 0; i < step->operands; i++) all.at[i] = eg__cache_at(w, &step->operand[i]);
    if (over_batch) eg__cache_write_row(w, all.at[OUT], 4 * s->count, eg__cache_copy_lanes(w));
    if (step->run == eg__run_synapses && s->laned && all.batch <= FEW && all.lanes > 1) {
        for (size_t b = 0; b < all.batch; b++) sample_run(&all, b);
        return;
    }
    for (size_t row = 0; row < all.batch; row += BLOCK)
        block_run(&all, row, eg__min(BLOCK, all.batch - row));
}
