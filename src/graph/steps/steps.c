/* What the steps of a program do when they run, and the loop that runs them. */
#include "graph/steps/program.h"

#include <string.h>

/* ---- elementwise */
void eg__run_fused(const eg__step *step, const eg__frame *frame) {
    const eg__step_fused *fused = &step->u.fused;
    eg__fused_f32_args args;
    args.program = &fused->program;
    if (fused->flat) {
        args.rows = 1;
        args.columns =
            eg__min(fused->flat - frame->first * EG__FLAT, frame->count * (size_t)EG__FLAT);
    } else {
        args.rows = frame->count * step->rows;
        args.columns = step->columns;
    }
    for (unsigned i = 0; i < step->operands; i++) {
        args.operand[i].data = eg__operand_at(frame, &step->operand[i]);
        args.operand[i].stride = step->operand[i].stride;
    }
    fused->kernel(&args);
}

/* ---- products */
void eg__epilogue_fill(const eg__step *step, const eg__frame *frame, size_t rows,
                       const eg__fused_program *program, eg__fused_epilogue *out) {
    out->kernel = frame->run->kernels->fused_f32;
    out->args.program = program;
    out->args.rows = rows;
    out->args.columns = step->u.gemm.n;
    for (unsigned i = 3; i < step->operands; i++) {
        out->args.operand[i - 3].data = eg__operand_at(frame, &step->operand[i]);
        out->args.operand[i - 3].stride = step->operand[i].stride;
    }
}

/* Many small products, each with a right side of its own. */
static void run_products(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    const float *a = eg__operand_at(frame, &step->operand[0]);
    const float *b = eg__operand_at(frame, &step->operand[1]);
    float *c = eg__operand_at(frame, &step->operand[2]);
    for (size_t i = 0; i < frame->count * g->products; i++) {
        const eg__gemm_f32_args args = {step->rows,
                                        g->n,
                                        g->k,
                                        a + i * g->a_step,
                                        step->operand[0].stride,
                                        b + i * g->b_step,
                                        c + i * g->c_step,
                                        step->operand[2].stride,
                                        false,
                                        NULL,
                                        frame->scratch,
                                        NULL,
                                        0};
        frame->run->kernels->gemm_f32(&args);
    }
}

void eg__run_gemm(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    if (g->products) {
        run_products(step, frame);
        return;
    }
    const eg__kernels *kernels = frame->run->kernels;
    const size_t k = g->k_timed ? g->k * frame->run->length : g->k, m = frame->count * step->rows;
    const float *a = eg__operand_at(frame, &step->operand[0]);
    const float *b = eg__operand_at(frame, &step->operand[1]);
    const eg__operand *sum = &step->operand[g->add ? g->sum : 2];
    float *c = eg__operand_at(frame, sum);
    const float *add = g->add ? eg__operand_at(frame, &step->operand[g->add]) : NULL;
    const eg__fused_program *program = g->add ? &g->rest : &g->epilogue;
    const bool has_epilogue = g->has_epilogue && program->length;
    eg__fused_epilogue fused;
    fused.kernel = kernels->fused_f32;
    if (has_epilogue) eg__epilogue_fill(step, frame, m, program, &fused);
    if (m == 1) { /* straight to what gemm would call */
        const eg__gemv_f32_args row = {g->n, k, a, b, c, add};
        kernels->gemv_f32(&row);
        if (has_epilogue) kernels->fused_f32(&fused.args);
        return;
    }
    const eg__epilogue epilogue = eg__fused_epilogue_use(&fused);
    const eg__gemm_f32_args args = {m,
                                    g->n,
                                    k,
                                    a,
                                    step->operand[0].stride,
                                    b,
                                    c,
                                    sum->stride,
                                    false,
                                    has_epilogue ? &epilogue : NULL,
                                    frame->scratch,
                                    add,
                                    g->add ? step->operand[g->add].stride : 0};
    kernels->gemm_f32(&args);
}

/* Whole panels of a matrix that lies by columns are transposes. */
static void pack(const eg__kernels *kernels, const eg__step_pack *p, size_t k, size_t n,
                 const float *from, float *to) {
    if (p->row_stride == 1 && p->column_stride != 1)
        for (; n >= EG__PANEL; n -= EG__PANEL) {
            const eg__move_f32_args panel = {EG__PANEL, k, from, p->column_stride, to, EG__PANEL};
            kernels->transpose_f32(&panel);
            from += EG__PANEL * p->column_stride;
            to += EG__PANEL * k;
        }
    if (n) eg__gemm_pack_f32(k, n, from, p->row_stride, p->column_stride, to);
}

/* Part of a panel, from its lane `lane` on; lanes behind it are cleared, for the next part or for good. */
static void pack_lanes(const eg__kernels *kernels, const eg__step_pack *p, size_t k, size_t lane,
                       size_t n, const float *from, float *to) {
    if (p->row_stride == 1 && p->column_stride != 1) {
        const eg__move_f32_args lanes = {n, k, from, p->column_stride, to + lane, EG__PANEL};
        kernels->transpose_f32(&lanes);
    } else
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++)
                to[i * EG__PANEL + lane + j] = from[i * p->row_stride + j * p->column_stride];
    const size_t end = lane + n;
    for (size_t i = 0; end < EG__PANEL && i < k; i++)
        memset(to + i * EG__PANEL + end, 0, (EG__PANEL - end) * sizeof *to);
}

/* Panels from `panel` to `end` of a part that begins inside of a panel. */
static void pack_between(const eg__kernels *kernels, const eg__step_pack *p, size_t k, size_t panel,
                         size_t end, const float *from, float *to) {
    for (; panel < end; panel++) {
        const size_t begin = panel ? panel * EG__PANEL - p->lane : 0;
        pack_lanes(kernels, p, k, panel ? 0 : p->lane,
                   eg__min(p->n, (panel + 1) * EG__PANEL - p->lane) - begin,
                   from + begin * p->column_stride, to + panel * EG__PANEL * k);
    }
}

void eg__run_pack(const eg__step *step, const eg__frame *frame) {
    const eg__step_pack *p = &step->u.pack;
    const eg__kernels *kernels = frame->run->kernels;
    const size_t k = p->k_timed ? p->k * frame->run->length : p->k;
    const float *from = eg__operand_at(frame, &step->operand[0]);
    float *to = eg__operand_at(frame, &step->operand[1]);
    if (p->panels && p->lane) {
        pack_between(kernels, p, k, frame->first, frame->first + frame->count, from, to);
        return;
    }
    if (p->panels) {
        const size_t first = frame->first * EG__PANEL;
        pack(kernels, p, k, eg__min(p->n - first, frame->count * EG__PANEL),
             from + first * p->column_stride, to + first * k);
        return;
    }
    for (size_t i = 0; i < frame->count * p->products; i++)
        pack(kernels, p, k, p->n, from + i * p->from_step, to + i * eg__gemm_packed_size(k, p->n));
}

bool eg__pack_piece(const eg__step *step, size_t first, size_t count, eg__step *piece,
                    eg__operand operands[2], size_t *from, size_t *end) {
    const eg__step_pack *p = &step->u.pack;
    if (step->kind != EG__STEP_pack || !p->panels || p->k_timed || p->row_stride != 1 ||
        p->column_stride < p->k)
        return false;
    const size_t begin = first ? first * EG__PANEL - p->lane : 0;
    *piece = *step;
    piece->operand = operands;
    piece->items = count;
    piece->u.pack.n = eg__min(p->n, (first + count) * EG__PANEL - p->lane) - begin;
    if (first) piece->u.pack.lane = 0;
    for (int i = 0; i < 2; i++) operands[i] = step->operand[i];
    operands[0].offset += begin * p->column_stride;
    operands[1].offset += first * EG__PANEL * p->k;
    *from = operands[0].offset;
    *end = *from + (piece->u.pack.n - 1) * p->column_stride + p->k;
    return true;
}

/* ---- movement */
typedef struct mover {
    const eg__step_copy *copy;
    const eg__kernels *kernels;
} mover;

static void move_plane(const mover *m, unsigned axis, size_t rows, const float *from, float *to) {
    const eg__step_copy *c = m->copy;
    const size_t columns = c->shape[axis + 1];
    const size_t from_row = c->from[axis], from_column = c->from[axis + 1];
    const size_t to_row = c->to[axis], to_column = c->to[axis + 1];
    eg__move_f32_args args = {rows, columns, from, from_row, to, to_row};
    if (from_column == 1 && to_column == 1) m->kernels->copy_f32(&args);
    else if (from_row == 1 && to_column == 1) {
        args = (eg__move_f32_args){columns, rows, from, from_column, to, to_row};
        m->kernels->transpose_f32(&args);
    } else if (from_column == 1 && to_row == 1) {
        args.y_stride = to_column;
        m->kernels->transpose_f32(&args);
    } else
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < columns; i++)
                to[r * to_row + i * to_column] = from[r * from_row + i * from_column];
}

/* Axes from `axis` on; the first of them has `extent` elements. */
static void move(const mover *m, unsigned axis, size_t extent, const float *from, float *to) {
    const eg__step_copy *c = m->copy;
    if (axis + 2 == c->rank) {
        move_plane(m, axis, extent, from, to);
        return;
    }
    for (size_t i = 0; i < extent; i++)
        move(m, axis + 1, c->shape[axis + 1], from + i * c->from[axis], to + i * c->to[axis]);
}

void eg__run_copy(const eg__step *step, const eg__frame *frame) {
    const eg__step_copy *copy = &step->u.copy;
    const float *from = eg__operand_at(frame, &step->operand[0]);
    float *to = eg__operand_at(frame, &step->operand[1]);
    if (copy->every)
        to += (copy->reverse ? copy->length - 1 - frame->time : frame->time) / copy->every *
              copy->place;
    if (copy->is_row && frame->count == 1) {
        memcpy(to, from, step->columns * sizeof *to);
        return;
    }
    const mover m = {copy, frame->run->kernels};
    move(&m, 0, frame->count, from, to);
}

void eg__run_gather(const eg__step *step, const eg__frame *frame) {
    const float *x = eg__operand_at(frame, &step->operand[0]);
    const float *index = eg__operand_at(frame, &step->operand[1]); /* i32, of the same size */
    float *y = eg__operand_at(frame, &step->operand[2]);
    const size_t bytes = step->columns * sizeof *y, rows = frame->count * step->rows;
    for (size_t r = 0; r < rows; r++) {
        int32_t at;
        memcpy(&at, index + r * step->operand[1].stride, sizeof at);
        float *to = y + r * step->operand[2].stride;
        if (at >= 0 && (size_t)at < step->u.gather.limit)
            memcpy(to, x + (size_t)at * step->operand[0].stride, bytes);
        else memset(to, 0, bytes);
    }
}

/* In the order the rows come, so that the sum is always the same; never cut. */
void eg__run_scatter(const eg__step *step, const eg__frame *frame) {
    const float *x = eg__operand_at(frame, &step->operand[0]);
    const float *index = eg__operand_at(frame, &step->operand[1]);
    float *y = eg__operand_at(frame, &step->operand[2]);
    const size_t stride = step->operand[2].stride, limit = step->u.gather.limit;
    for (size_t r = 0; r < limit; r++) memset(y + r * stride, 0, step->columns * sizeof *y);
    for (size_t r = 0; r < frame->count * step->rows; r++) {
        int32_t at;
        memcpy(&at, index + r * step->operand[1].stride, sizeof at);
        if (at < 0 || (size_t)at >= limit) continue;
        const float *from = x + r * step->operand[0].stride;
        float *to = y + (size_t)at * stride;
        for (size_t i = 0; i < step->columns; i++) to[i] += from[i];
    }
}

/* Floats before the row that operand 1 says. */
static size_t place_of(const eg__step *step, const eg__frame *frame) {
    int32_t at;
    memcpy(&at, eg__operand_at(frame, &step->operand[1]), sizeof at);
    return (at < 0 ? 0 : eg__min((size_t)at, step->u.slice_update.limit)) * step->columns;
}
void eg__run_slice_update(const eg__step *step, const eg__frame *frame) {
    float *to = eg__operand_at(frame, &step->operand[2]) + place_of(step, frame);
    memcpy(to, eg__operand_at(frame, &step->operand[0]), step->rows * step->columns * sizeof *to);
}
void eg__run_slice_at(const eg__step *step, const eg__frame *frame) {
    float *to = eg__operand_at(frame, &step->operand[2]);
    const float *from = eg__operand_at(frame, &step->operand[0]) + place_of(step, frame);
    memcpy(to, from, step->rows * step->columns * sizeof *to);
}

/* ---- rows */
static size_t timed(const eg__frame *frame, size_t n, bool per_step) {
    return per_step ? n * frame->run->length : n;
}

void eg__run_reduce(const eg__step *step, const eg__frame *frame) {
    const eg__step_rows *r = &step->u.row;
    const eg__reduce_f32_args args = {r->reduction,
                                      frame->count * step->rows,
                                      timed(frame, step->columns, r->height_timed),
                                      eg__operand_at(frame, &step->operand[0]),
                                      step->operand[0].stride,
                                      eg__operand_at(frame, &step->operand[1]),
                                      NULL};
    frame->run->kernels->reduce_f32(&args);
}

void eg__run_argmax(const eg__step *step, const eg__frame *frame) {
    const eg__reduce_f32_args args = {EG__REDUCE_ARGMAX,
                                      frame->count * step->rows,
                                      step->columns,
                                      eg__operand_at(frame, &step->operand[0]),
                                      step->operand[0].stride,
                                      NULL,
                                      (int32_t *)eg__operand_at(frame, &step->operand[1])};
    frame->run->kernels->reduce_f32(&args);
}

void eg__run_softmax(const eg__step *step, const eg__frame *frame) {
    const eg__softmax_f32_args args = {frame->count * step->rows,
                                       step->columns,
                                       eg__operand_at(frame, &step->operand[0]),
                                       step->operand[0].stride,
                                       eg__operand_at(frame, &step->operand[1]),
                                       step->operand[1].stride,
                                       step->u.row.logarithm};
    frame->run->kernels->softmax_f32(&args);
}

static eg__norm_f32_args norm_args(const eg__step *step, const eg__frame *frame) {
    return (eg__norm_f32_args){frame->count * step->rows,
                               step->columns,
                               eg__operand_at(frame, &step->operand[0]),
                               step->operand[0].stride,
                               eg__operand_at(frame, &step->operand[1]),
                               step->operand[1].stride,
                               NULL,
                               NULL,
                               step->u.row.number};
}
void eg__run_layer_norm(const eg__step *step, const eg__frame *frame) {
    const eg__norm_f32_args args = norm_args(step, frame);
    frame->run->kernels->layernorm_f32(&args);
}
void eg__run_rms_norm(const eg__step *step, const eg__frame *frame) {
    const eg__norm_f32_args args = norm_args(step, frame);
    frame->run->kernels->rmsnorm_f32(&args);
}

void eg__run_dropout(const eg__step *step, const eg__frame *frame) {
    const eg__step_dropout *r = &step->u.dropout;
    const float *x = eg__operand_at(frame, &step->operand[0]);
    float *y = eg__operand_at(frame, &step->operand[1]);
    const uint64_t time = r->in_scan ? frame->time + r->first : 0;
    const float scale = (float)(1 / (1 - r->rate));
    for (size_t row = 0; row < frame->count * step->rows; row++) {
        const uint64_t from = (frame->first * step->rows + row) * step->columns;
        for (size_t i = 0; i < step->columns; i++) {
            uint64_t bits = eg__dropout_bits(frame->run->seed, r->key, time, from + i);
            bool drops = (double)(bits >> 11) * 0x1p-53 < r->rate;
            float value = x[row * step->operand[0].stride + i];
            y[row * step->operand[1].stride + i] = drops ? 0 : value * scale;
        }
    }
}

/* ---- synapses */
static eg__synapses_f32_args synapse_args(const eg__step *step, const eg__frame *frame,
                                          size_t batch) {
    const eg__step_synapses *s = &step->u.synapses;
    const eg__operand *o = step->operand;
    return (eg__synapses_f32_args){
        .list = {s->sources, s->targets, s->count, (const int32_t *)eg__operand_at(frame, &o[5]),
                 (const int32_t *)eg__operand_at(frame, &o[6]), s->laned},
        .batch = batch,
        .v = eg__operand_at(frame, &o[0]),
        .v_stride = o[0].stride,
        .weight = eg__operand_at(frame, &o[1]),
        .middle = eg__operand_at(frame, &o[2]),
        .slope = eg__operand_at(frame, &o[3]),
        .reversal = eg__operand_at(frame, &o[4]),
        .out = eg__operand_at(frame, &o[7]),
        .out_stride = o[7].stride,
        .scratch = frame->scratch};
}

void eg__run_synapses(const eg__step *step, const eg__frame *frame) {
    const eg__synapses_f32_args args = synapse_args(step, frame, frame->count * step->rows);
    frame->run->kernels->synapses_f32(&args);
}

static eg__synapses_back_f32_args back_args(const eg__step *step, const eg__frame *frame,
                                            size_t batch) {
    return (eg__synapses_back_f32_args){.forward = synapse_args(step, frame, batch),
                                        .d = eg__operand_at(frame, &step->operand[8]),
                                        .d_stride = step->operand[8].stride,
                                        .result = eg__operand_at(frame, &step->operand[7]),
                                        .result_stride = step->operand[7].stride};
}
void eg__run_synapses_dv(const eg__step *step, const eg__frame *frame) {
    const eg__synapses_back_f32_args args = back_args(step, frame, frame->count * step->rows);
    frame->run->kernels->synapses_dv_f32(&args);
}
void eg__run_synapses_dp(const eg__step *step, const eg__frame *frame) {
    const eg__step_synapses *s = &step->u.synapses;
    eg__synapses_back_f32_args args =
        back_args(step, frame, timed(frame, s->batch, s->batch_timed));
    args.forward.list.count = frame->count; /* of the synapses, all samples */
    frame->run->kernels->synapses_dp_f32(&args);
}

/* ---- scans */
typedef struct body {
    const eg__step *steps;
    uint32_t first, count;
    bool whole; /* a body that is not cut: every step takes all its items */
} body;

static void run_body(const body *b, eg__frame *inner) {
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        eg__step_one(&b->steps[i], inner);
    }
}

/* The end of a step is the beginning of the next: one reading of the clock for each. */
static void record_body(const body *b, eg__frame *inner) {
    eg__ring *ring = inner->ring;
    const uint64_t run = inner->run->record->run;
    uint64_t begin = eg__ticks();
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->whole) inner->count = b->steps[i].items;
        eg__step_one(&b->steps[i], inner);
        const uint64_t end = eg__ticks();
        eg__ring_add(ring, begin, end, b->first + i, (uint32_t)inner->time, 1, run);
        begin = end;
    }
}

void eg__run_scan(const eg__step *step, const eg__frame *frame) {
    const eg__step_scan *scan = &step->u.scan;
    const body b = {frame->run->program->steps + scan->first, scan->first, scan->count,
                    step->items == 1};
    const size_t length = scan->length ? scan->length : frame->run->length;
    eg__frame inner = *frame;
    for (size_t t = 0; t < length; t++) {
        inner.time = scan->reverse ? length - 1 - t : t;
        if (frame->ring) record_body(&b, &inner);
        else run_body(&b, &inner);
    }
}

/* ---- the loop */
typedef struct part_job {
    const eg__run *run;
    const eg__step *step;
    size_t items, parts;
    eg__phase phase;
} part_job;

static void run_part(void *user, size_t part, unsigned thread) {
    const part_job *job = user;
    const size_t first = job->items * part / job->parts;
    const eg__frame frame = {.run = job->run,
                             .base = job->run->base,
                             .time = job->run->length,
                             .first = first,
                             .count = job->items * (part + 1) / job->parts - first,
                             .phase = job->phase,
                             .scratch = job->run->scratch + thread * job->run->scratch_size,
                             .ring = job->run->record ? &job->run->record->rings[thread] : NULL};
    if (!frame.ring || !thread) { /* thread 0 records the step as a whole */
        eg__step_one(job->step, &frame);
        return;
    }
    const uint64_t begin = eg__ticks();
    eg__step_one(job->step, &frame);
    eg__ring_add(frame.ring, begin, eg__ticks(), (uint32_t)(job->step - job->run->program->steps),
                 UINT32_MAX, (unsigned)job->parts, job->run->record->run);
}

static unsigned run_one(const eg__run *run, const eg__step *step, eg__frame *frame,
                        size_t threads) {
    frame->count = eg__step_items(step, run->length);
    const size_t items = frame->count * eg__max(step->slices, 1);
    const size_t parts = threads > 1 && step->grain ? eg__min(threads, items / step->grain) : 1;
    if (parts > 1) {
        part_job job = {run, step, items, parts, step->slices ? EG__PHASE_SLICES : EG__PHASE_WHOLE};
        eg__threads_run(run->threads, parts, run_part, &job);
        if (step->slices) {
            frame->phase = EG__PHASE_SUM;
            eg__step_one(step, frame);
            frame->phase = EG__PHASE_WHOLE;
        }
        return (unsigned)parts;
    }
    eg__step_one(step, frame);
    return 1;
}

void eg__steps_run(const eg__run *run, const eg__step *steps, size_t count) {
    const size_t threads = run->threads ? eg__threads_count(run->threads) : 1;
    eg__frame frame = {.run = run, .base = run->base, .time = run->length, .scratch = run->scratch};
    if (!run->record) {
        for (size_t i = 0; i < count; i++) run_one(run, &steps[i], &frame, threads);
        return;
    }
    frame.ring = run->record->rings;
    const uint32_t first = (uint32_t)(steps - run->program->steps);
    uint64_t begin = eg__ticks();
    for (size_t i = 0; i < count; i++) {
        const unsigned parts = run_one(run, &steps[i], &frame, threads);
        const uint64_t end = eg__ticks();
        eg__ring_add(frame.ring, begin, end, first + (uint32_t)i, UINT32_MAX, parts,
                     run->record->run);
        begin = end;
    }
}
