/* Packs right sides of products, large ones a few panels at a time. */
#include "graph/steps/program.h"

#include <string.h>

/* Packing whole panels of a column-major matrix is a transpose. */
static void pack(eg__transpose_f32_function *transpose, const eg__step_pack *p, size_t k, size_t n,
                 const float *from, float *to) {
    if (p->row_stride == 1 && p->column_stride != 1)
        for (; n >= EG__PANEL; n -= EG__PANEL) {
            const eg__move_f32_args panel = {EG__PANEL, k, from, p->column_stride, to, EG__PANEL};
            transpose(&panel);
            from += EG__PANEL * p->column_stride;
            to += EG__PANEL * k;
        }
    if (n) eg__gemm_pack_f32(k, n, from, p->row_stride, p->column_stride, to);
}

/* Packs part of a panel from lane `lane` on and clears the lanes after it: the next part fills
 * them, or they are padding. */
static void pack_lanes(eg__transpose_f32_function *transpose, const eg__step_pack *p, size_t k,
                       size_t lane, size_t n, const float *from, float *to) {
    if (p->row_stride == 1 && p->column_stride != 1) {
        const eg__move_f32_args lanes = {n, k, from, p->column_stride, to + lane, EG__PANEL};
        transpose(&lanes);
    } else
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++)
                to[i * EG__PANEL + lane + j] = from[i * p->row_stride + j * p->column_stride];
    const size_t end = lane + n;
    for (size_t i = 0; end < EG__PANEL && i < k; i++)
        memset(to + i * EG__PANEL + end, 0, (EG__PANEL - end) * sizeof *to);
}

/* Panels from `panel` to `end` of a part that begins inside of a panel. */
static void pack_between(eg__transpose_f32_function *transpose, const eg__step_pack *p, size_t k,
                         size_t panel, size_t end, const float *from, float *to) {
    for (; panel < end; panel++) {
        const size_t begin = panel ? panel * EG__PANEL - p->lane : 0;
        pack_lanes(transpose, p, k, panel ? 0 : p->lane,
                   eg__min(p->n, (panel + 1) * EG__PANEL - p->lane) - begin,
                   from + begin * p->column_stride, to + panel * EG__PANEL * k);
    }
}

eg_status eg__run_pack(const eg__step *step, const eg__frame *frame) {
    const eg__step_pack *p = &step->u.pack;
    eg__transpose_f32_function *transpose = step->function[0].transpose_f32;
    const size_t k = p->k_timed ? p->k * frame->run->length : p->k;
    const float *from = eg__operand_at(frame, &step->operand[0]);
    float *to = eg__operand_at(frame, &step->operand[1]);
    if (p->panels && p->lane) {
        pack_between(transpose, p, k, frame->first, frame->first + frame->count, from, to);
        return EG_OK;
    }
    if (p->panels) {
        const size_t first = frame->first * EG__PANEL;
        pack(transpose, p, k, eg__min(p->n - first, frame->count * EG__PANEL),
             from + first * p->column_stride, to + first * k);
        return EG_OK;
    }
    for (size_t i = 0; i < frame->count * p->products; i++)
        pack(transpose, p, k, p->n, from + i * p->from_step,
             to + i * eg__gemm_packed_size(k, p->n));
    return EG_OK;
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
    operands[0].offset += begin * p->column_stride * sizeof(float);
    operands[1].offset += first * EG__PANEL * p->k * sizeof(float);
    *from = operands[0].offset;
    *end = *from + ((piece->u.pack.n - 1) * p->column_stride + p->k) * sizeof(float);
    return true;
}
