/* Runs casts: rows of f16 or bf16 to f32 and back. */
#include "graph/steps/program.h"

eg_status eg__run_cast(const eg__step *step, const eg__frame *frame) {
    const eg__operand *from = &step->operand[0], *to = &step->operand[1];
    const size_t from_row = from->stride * eg__element_size(from->type);
    const size_t to_row = to->stride * eg__element_size(to->type);
    const bool widens = to->type == EG_F32;
    const char *x = eg__operand_at(frame, from);
    char *y = eg__operand_at(frame, to);
    for (size_t r = 0; r < frame->count * step->rows; r++, x += from_row, y += to_row)
        if (widens) step->function[0].f16_to_f32(step->columns, (const void *)x, (void *)y);
        else step->function[0].f32_to_f16(step->columns, (const void *)x, (void *)y);
    return EG_OK;
}
