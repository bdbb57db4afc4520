/* Runs the steps on inputs in file layout: products with rows, gathers of rows. */
#include "graph/steps/program.h"

#include <string.h>

/* Items are rows of the left side or, with a chunk, chunks of columns of the result. */
eg_status eg__run_gemm_infile(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t m = g->chunk ? step->rows : frame->count * step->rows;
    const size_t column = g->chunk * frame->first;
    const size_t n = g->chunk ? eg__min(g->n - column, g->chunk * frame->count) : g->n;
    const eg__operand *sum = &step->operand[g->add ? g->sum : 2];
    const eg__fused_program *program = g->add ? &g->rest : &g->epilogue;
    const bool has_epilogue = g->has_epilogue && program->length;
    eg__fused_epilogue fused;
    if (has_epilogue) {
        eg__epilogue_fill(step, frame, step->function[1].fused_f32, m, program, &fused);
        fused.args.columns = n;
    }
    const eg__epilogue epilogue = eg__fused_epilogue_use(&fused);
    const uint8_t *w = eg__operand_at(frame, &step->operand[1]);
    const eg__infile_args args = {.m = m,
                                  .n = n,
                                  .k = g->k,
                                  .a = eg__operand_at(frame, &step->operand[0]),
                                  .a_stride = step->operand[0].stride,
                                  .w = w + g->infile.skip + column * g->infile.row_bytes,
                                  .c = eg__operand_at(frame, sum),
                                  .c_stride = sum->stride,
                                  .add =
                                      g->add ? eg__operand_at(frame, &step->operand[g->add]) : NULL,
                                  .add_stride = g->add ? step->operand[g->add].stride : 0,
                                  .epilogue = has_epilogue ? &epilogue : NULL,
                                  .scratch = frame->scratch,
                                  .blocks = step->blocks};
    step->function[0].infile_f32(&args);
    return EG_OK;
}

static void widen_row(eg__f16_to_f32_function *widen, const eg__step_gather *g, const uint8_t *x,
                      size_t row, size_t columns, float *to) {
    if (g->plain) {
        eg__infile_widen(widen, g->format, columns, x + row * g->row_bytes, to);
        return;
    }
    const eg__quantized_matrix from = eg__quantized_parameter_matrix(&g->quantized, x);
    for (size_t c = 0; c < columns; c++) to[c] = eg__quantized_matrix_value(&from, row, c);
}

eg_status eg__run_gather_infile(const eg__step *step, const eg__frame *frame) {
    const eg__step_gather *g = &step->u.gather;
    const uint8_t *x = eg__operand_at(frame, &step->operand[0]);
    const float *index = eg__operand_at(frame, &step->operand[1]); /* i32 values */
    float *y = eg__operand_at(frame, &step->operand[2]);
    for (size_t r = 0; r < frame->count * step->rows; r++) {
        int32_t at;
        memcpy(&at, index + r * step->operand[1].stride, sizeof at);
        float *to = y + r * step->operand[2].stride;
        if (at >= 0 && (size_t)at < g->limit)
            widen_row(step->function[0].f16_to_f32, g, x, g->first + (size_t)at, step->columns, to);
        else memset(to, 0, step->columns * sizeof *to);
    }
    return EG_OK;
}
