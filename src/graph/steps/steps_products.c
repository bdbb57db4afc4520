/* What products with a packed right side do when they run. */
#include "graph/steps/program.h"

enum { GEMM, GEMV, FUSED }; /* kernels */

void eg__epilogue_fill(const eg__step *step, const eg__frame *frame, eg__fused_f32_function *fused,
                       size_t rows, const eg__fused_program *program, eg__fused_epilogue *out) {
    out->kernel = fused;
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
                                        0,
                                        step->blocks,
                                        step->kernel[GEMM]->cblas};
        step->function[GEMM].gemm_f32(&args);
    }
}

eg_status eg__run_gemm(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    if (g->products) {
        run_products(step, frame);
        return EG_OK;
    }
    const size_t k = g->k_timed ? g->k * frame->run->length : g->k, m = frame->count * step->rows;
    const float *a = eg__operand_at(frame, &step->operand[0]);
    const float *b = eg__operand_at(frame, &step->operand[1]);
    const eg__operand *sum = &step->operand[g->add ? g->sum : 2];
    float *c = eg__operand_at(frame, sum);
    const float *add = g->add ? eg__operand_at(frame, &step->operand[g->add]) : NULL;
    const eg__fused_program *program = g->add ? &g->rest : &g->epilogue;
    const bool has_epilogue = g->has_epilogue && program->length;
    eg__fused_epilogue fused;
    fused.kernel = NULL;
    if (has_epilogue)
        eg__epilogue_fill(step, frame, step->function[FUSED].fused_f32, m, program, &fused);
    if (m == 1) { /* calls directly what gemm would call */
        const eg__gemv_f32_args row = {g->n, k, a, b, c, add};
        step->function[GEMV].gemv_f32(&row);
        if (has_epilogue) fused.kernel(&fused.args);
        return EG_OK;
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
                                    g->add ? step->operand[g->add].stride : 0,
                                    step->blocks,
                                    step->kernel[GEMM]->cblas};
    step->function[GEMM].gemm_f32(&args);
    return EG_OK;
}
