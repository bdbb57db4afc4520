/* What the steps of attention, caches and rotary positions do when they run. */
#include "graph/steps/program.h"

#include <string.h>

enum { Q, K, V, OUT, Y, D };

static eg__attention_f32_args args_of(const eg__step *step, const eg__frame *frame) {
    const eg__step_attention *s = &step->u.attention;
    const eg__operand *o = step->operand;
    eg__attention_f32_args args = s->args;
    args.q = eg__operand_at(frame, &o[Q]);
    args.q_stride = o[Q].stride;
    args.k = eg__operand_at(frame, &o[K]);
    args.k_stride = o[K].stride;
    args.v = eg__operand_at(frame, &o[V]);
    args.v_stride = o[V].stride;
    args.out = eg__operand_at(frame, &o[OUT]);
    args.out_stride = o[OUT].stride;
    unsigned next = Y;
    if (step->kind != EG__STEP_attention) {
        args.y = eg__operand_at(frame, &o[Y]);
        args.y_stride = o[Y].stride;
        args.dy = eg__operand_at(frame, &o[D]);
        args.dy_stride = o[D].stride;
        next = D + 1;
    }
    if (s->has_mask) args.mask = eg__operand_at(frame, &o[next++]);
    if (s->has_lengths) args.lengths = eg__operand_at(frame, &o[next]);
    args.dropout.seed = frame->run->seed;
    args.dropout.time = s->in_scan ? frame->time + s->first : 0;
    args.first = frame->first;
    args.count = frame->count;
    args.scratch = frame->scratch;
    return args;
}

eg_status eg__run_attention(const eg__step *step, const eg__frame *frame) {
    const eg__attention_f32_args args = args_of(step, frame);
    step->function[0].attention_f32(&args);
    return EG_OK;
}
eg_status eg__run_attention_dq(const eg__step *step, const eg__frame *frame) {
    const eg__attention_f32_args args = args_of(step, frame);
    step->function[0].attention_dq_f32(&args);
    return EG_OK;
}
eg_status eg__run_attention_dkv(const eg__step *step, const eg__frame *frame) {
    const eg__attention_f32_args args = args_of(step, frame);
    step->function[0].attention_dkv_f32(&args);
    return EG_OK;
}

eg_status eg__run_attention_cached(const eg__step *step, const eg__frame *frame) {
    const eg__operand *o = step->operand;
    eg__attention_cached_f32_args args = step->u.attention_cached.args;
    args.f32.q = eg__operand_at(frame, &o[Q]);
    args.f32.q_stride = o[Q].stride;
    args.k.data = eg__operand_at(frame, &o[K]);
    args.v.data = eg__operand_at(frame, &o[V]);
    args.f32.out = eg__operand_at(frame, &o[OUT]);
    args.f32.out_stride = o[OUT].stride;
    args.pages = eg__operand_at(frame, &o[OUT + 1]);
    args.f32.lengths = eg__operand_at(frame, &o[OUT + 2]);
    args.f32.first = frame->first;
    args.f32.count = frame->count;
    args.f32.scratch = frame->scratch;
    step->function[0].attention_cached_f32(&args);
    return EG_OK;
}

/* In order: if two rows have the same slot, the last one wins. */
eg_status eg__run_append(const eg__step *step, const eg__frame *frame) {
    const eg__kv_rows *rows = &step->u.append.rows;
    const float *from = eg__operand_at(frame, &step->operand[0]);
    const float *slots = eg__operand_at(frame, &step->operand[1]);
    char *to = eg__operand_at(frame, &step->operand[2]);
    for (size_t r = 0; r < step->rows; r++) {
        int32_t slot;
        memcpy(&slot, slots + r, sizeof slot);
        if (slot < 0 || (size_t)slot >= rows->slots) continue;
        eg__kv_write_row(rows, step->function[0].f32_to_f16, from + r * step->operand[0].stride,
                         to + (size_t)slot * rows->size);
    }
    return EG_OK;
}

eg_status eg__run_rotary(const eg__step *step, const eg__frame *frame) {
    const eg__step_rotary *r = &step->u.rotary;
    const eg__operand *o = step->operand;
    eg__rotary_f32_args args = {.rows = frame->count * step->rows,
                                .heads = r->heads,
                                .d = r->d,
                                .x = eg__operand_at(frame, &o[0]),
                                .x_stride = o[0].stride,
                                .y = eg__operand_at(frame, &o[1]),
                                .y_stride = o[1].stride,
                                .frequency = eg__operand_at(frame, &o[2]),
                                .first = frame->first * step->rows,
                                .period = r->period,
                                .interleaved = r->interleaved,
                                .back = r->back,
                                .scratch = frame->scratch};
    if (r->has_list) args.positions = eg__operand_at(frame, &o[3]);
    if (r->has_offset) memcpy(&args.offset, eg__operand_at(frame, &o[3]), sizeof args.offset);
    step->function[0].rotary_f32(&args);
    return EG_OK;
}
