/* The steps of quantized parameters: widened, packed, multiplied. */
#include "graph/steps/program.h"

eg_status eg__run_widen(const eg__step *step, const eg__frame *frame) {
    const eg__quantized_parameter *p = &step->u.widen.from;
    if (p->in_place) {
        eg__infile_widen(step->function[0].f16_to_f32, p->format, step->columns,
                         eg__operand_at(frame, &step->operand[0]),
                         eg__operand_at(frame, &step->operand[1]));
        return EG_OK;
    }
    const eg__quantized_matrix stored =
        eg__quantized_parameter_matrix(p, eg__operand_at(frame, &step->operand[0]));
    float *to = eg__operand_at(frame, &step->operand[1]);
    if (p->type == EG_F16 || p->type == EG_BF16)
        step->function[0].f16_to_f32(step->columns, stored.values, to);
    else
        for (size_t r = 0; r < p->rows; r++)
            for (size_t c = 0; c < p->columns; c++)
                to[r * p->columns + c] = eg__quantized_matrix_value(&stored, r, c);
    return EG_OK;
}

bool eg__pack_quantized_piece(const eg__step *step, size_t first, size_t end, eg__step *piece) {
    if (step->kind != EG__STEP_pack_quantized || !step->u.pack_quantized.by_rows) return false;
    *piece = *step;
    piece->u.pack_quantized.first = first;
    piece->u.pack_quantized.end = end;
    return true;
}

/* The intersection of a piece with the rows at hand; false = empty. */
static bool clip(const eg__step_pack_quantized *p, eg__quantized_piece *piece) {
    if (!p->end) return true;
    const size_t from = eg__max((size_t)piece->row, p->first);
    const size_t end = eg__min((size_t)piece->row + piece->n, p->end);
    if (from >= end) return false;
    piece->n_to += (uint32_t)from - piece->row;
    piece->row = (uint32_t)from;
    piece->n = (uint32_t)(end - from);
    return true;
}

eg_status eg__run_pack_quantized(const eg__step *step, const eg__frame *frame) {
    const eg__step_pack_quantized *p = &step->u.pack_quantized;
    const eg__packed_quantized to = eg__quantized_at(
        p->type, p->k, p->n, p->groups, eg__operand_at(frame, &step->operand[0]), &p->layout);
    const eg__quantized_side side = eg__quantized_side_of(eg__operand_at(frame, &step->operand[1]));
    if (!p->parameter && !p->first) eg__quantized_begin(&to, (const uint32_t *)side.ends);
    for (uint32_t i = 0; i < p->pieces; i++) {
        eg__quantized_piece piece;
        eg__quantized_matrix from;
        if (eg__quantized_side_piece(&side, i, &piece) != p->parameter || !clip(p, &piece))
            continue;
        eg__quantized_side_matrix(&side, i, p->type, eg__operand_at(frame, &step->operand[2]),
                                  &from);
        eg__quantized_pack(&to, &piece, &from);
    }
    return EG_OK;
}

eg_status eg__run_gemm_quantized(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t m = frame->count * step->rows;
    /* these kernels add the same bias to every row */
    const bool adds = g->add && (m == 1 || !step->operand[g->add].stride);
    const eg__operand *sum = &step->operand[adds ? g->sum : 2];
    const eg__fused_program *program = adds ? &g->rest : &g->epilogue;
    const bool has_epilogue = g->has_epilogue && program->length;
    eg__fused_epilogue fused;
    if (has_epilogue)
        eg__epilogue_fill(step, frame, step->function[1].fused_f32, m, program, &fused);
    const eg__epilogue epilogue = eg__fused_epilogue_use(&fused);
    const eg__gemm_quantized_args args = {
        .m = m,
        .a = eg__operand_at(frame, &step->operand[0]),
        .a_stride = step->operand[0].stride,
        .b = eg__quantized_at(g->quantized.type, g->k, g->n, g->quantized.groups,
                              eg__operand_at(frame, &step->operand[1]), &g->quantized.layout),
        .c = eg__operand_at(frame, sum),
        .c_stride = sum->stride,
        .add = adds ? eg__operand_at(frame, &step->operand[g->add]) : NULL,
        .epilogue = has_epilogue ? &epilogue : NULL,
        .scratch = frame->scratch};
    step->function[0].gemm_f16(&args);
    return EG_OK;
}
