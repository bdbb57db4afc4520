/* Products of f16 or bf16: the right side packed in pairs, rows of the left side rounded as they are needed. */
#include "graph/steps/program.h"

#include <string.h>

enum { GEMM, NARROW, FUSED }; /* kernels */

/* ---- packing */
/* `n` columns from `from` on become the lanes from `lane` on of a panel of halves; lanes behind them are cleared, because the
 * next part fills them or they are padding. */
static void pack_lanes(const eg__step *step, const eg__step_pack *p, size_t k, size_t lane,
                       size_t n, const char *from, uint16_t *to) {
    enum { ROWS = 32 };
    _Alignas(64) float rows[ROWS][EG__PANEL] = {{0}};
    _Alignas(64) uint16_t halves[ROWS][EG__PANEL] = {{0}};
    const bool narrows = step->operand[0].type == EG_F32;
    for (size_t first = 0, count; first < k; first += count, to += count / 2 * 2 * EG__PANEL) {
        count = eg__min(ROWS, k - first);
        const size_t start = first * p->row_stride;
        if (narrows) {
            const float *x = (const float *)from + start;
            for (size_t j = 0; j < n; j++)
                for (size_t i = 0; i < count; i++)
                    rows[i][j] = x[i * p->row_stride + j * p->column_stride];
            step->function[0].f32_to_f16(count * EG__PANEL, rows[0], halves[0]);
        } else {
            const uint16_t *x = (const uint16_t *)from + start;
            for (size_t j = 0; j < n; j++)
                for (size_t i = 0; i < count; i++)
                    halves[i][j] = x[i * p->row_stride + j * p->column_stride];
        }
        if (count % 2) memset(halves[count], 0, sizeof halves[count]); /* only the last is odd */
        for (size_t i = 0; i < count; i += 2) {
            uint16_t *pairs = to + i * EG__PANEL + 2 * lane;
            for (size_t j = 0; j < EG__PANEL - lane; j++) {
                pairs[2 * j] = halves[i][j];
                pairs[2 * j + 1] = halves[i + 1][j];
            }
        }
    }
}

eg_status eg__run_pack_halves(const eg__step *step, const eg__frame *frame) {
    const eg__step_pack *p = &step->u.pack;
    const size_t k = p->k_timed ? p->k * frame->run->length : p->k;
    const size_t panel = eg__gemm_pairs(k) * 2 * EG__PANEL;
    const size_t size = eg__element_size(step->operand[0].type);
    const char *from = eg__operand_at(frame, &step->operand[0]);
    uint16_t *to = eg__operand_at(frame, &step->operand[1]);
    const size_t matrices = p->panels ? 1 : frame->count * p->products;
    const size_t first = p->panels ? frame->first : 0;
    const size_t end = p->panels ? frame->first + frame->count : eg__gemm_panels(p->n);
    for (size_t m = 0; m < matrices; m++)
        for (size_t i = first; i < end; i++) {
            const size_t begin = i ? i * EG__PANEL - p->lane : 0;
            const size_t columns = eg__min(p->n, (i + 1) * EG__PANEL - p->lane) - begin;
            pack_lanes(step, p, k, i ? 0 : p->lane, columns,
                       from + (m * p->from_step + begin * p->column_stride) * size,
                       to + (m * eg__gemm_panels(p->n) + i) * panel);
        }
    return EG_OK;
}

/* ---- products */
/* Rows of the left side that are rounded at a time: they stay in the second cache. */
size_t eg__halves_band(size_t k) {
    enum { MOST = 192, LEAST = 24, BYTES = 262144 };
    const size_t rows = BYTES / (2 * eg__max(k, 1)) / LEAST * LEAST;
    return eg__max(LEAST, eg__min(MOST, rows));
}

/* An epilogue of rows that begin at `row` of those it knows. */
typedef struct later_rows {
    eg__epilogue epilogue;
    size_t row;
} later_rows;
static void apply_later(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                        size_t column, size_t columns) {
    const later_rows *later = user;
    later->epilogue.apply(later->epilogue.user, c, c_stride, later->row + row, rows, column,
                          columns);
}

/* Rows of A as kernels want them: halves, an even number in each. */
static void round_rows(const eg__step *step, size_t rows, size_t k, const char *from,
                       size_t from_stride, uint16_t *to, size_t to_stride) {
    const bool narrows = step->operand[0].type == EG_F32;
    if (narrows && from_stride == k && to_stride == k) {
        step->function[NARROW].f32_to_f16(rows * k, (const float *)from, to);
        return;
    }
    for (size_t i = 0; i < rows; i++, to += to_stride) {
        if (narrows)
            step->function[NARROW].f32_to_f16(k, (const float *)from + i * from_stride, to);
        else memcpy(to, (const uint16_t *)from + i * from_stride, k * sizeof *to);
        if (k < to_stride) to[k] = 0;
    }
}

/* A product whose left side lies at `a`, in bands if it must be rounded or padded. */
static void product(const eg__step *step, const eg__frame *frame, const char *a,
                    eg__gemm_halves_args args) {
    const eg__operand *left = &step->operand[0];
    const size_t even = 2 * eg__gemm_pairs(args.k), size = eg__element_size(left->type);
    if (left->type != EG_F32 && even == args.k && left->stride % 2 == 0 && (uintptr_t)a % 4 == 0) {
        args.a = (const uint16_t *)a;
        args.a_stride = left->stride;
        args.scratch = frame->scratch;
        step->function[GEMM].gemm_bf16bf16(&args);
        return;
    }
    const size_t band = eg__halves_band(even), all = args.m;
    later_rows later = {.row = 0};
    const eg__epilogue wrapped = {apply_later, &later};
    if (args.epilogue) {
        later.epilogue = *args.epilogue;
        args.epilogue = &wrapped;
    }
    uint16_t *rows = (uint16_t *)frame->scratch;
    args.a = rows;
    args.a_stride = even;
    args.scratch = frame->scratch + eg__halves_band_floats(even);
    for (size_t row = 0; row < all; row += args.m) {
        args.m = eg__min(band, all - row);
        args.m += all - row - args.m == 1; /* a single row may be summed in another order */
        later.row = row;
        round_rows(step, args.m, args.k, a + row * left->stride * size, left->stride, rows, even);
        step->function[GEMM].gemm_bf16bf16(&args);
        args.c += args.m * args.c_stride;
        if (args.add) args.add += args.m * args.add_stride;
    }
}

eg_status eg__run_gemm_halves(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t size = eg__element_size(step->operand[0].type);
    const char *a = eg__operand_at(frame, &step->operand[0]);
    const uint16_t *b = eg__operand_at(frame, &step->operand[1]);
    const eg__operand *sum = &step->operand[g->add ? g->sum : 2];
    const eg__fused_program *program = g->add ? &g->rest : &g->epilogue;
    eg__gemm_halves_args args = {.m = g->products ? step->rows : frame->count * step->rows,
                                 .n = g->n,
                                 .k = g->k_timed ? g->k * frame->run->length : g->k,
                                 .b = b,
                                 .c = eg__operand_at(frame, sum),
                                 .c_stride = sum->stride,
                                 .blocks = step->blocks};
    if (g->products) { /* each with a right side of its own */
        float *c = args.c;
        for (size_t i = 0; i < frame->count * g->products; i++) {
            args.b = b + i * g->b_step;
            args.c = c + i * g->c_step;
            product(step, frame, a + i * g->a_step * size, args);
        }
        return EG_OK;
    }
    eg__fused_epilogue fused;
    eg__epilogue epilogue;
    if (g->has_epilogue && program->length) {
        eg__epilogue_fill(step, frame, step->function[FUSED].fused_f32, args.m, program, &fused);
        epilogue = eg__fused_epilogue_use(&fused);
        args.epilogue = &epilogue;
    }
    if (g->add) {
        args.add = eg__operand_at(frame, &step->operand[g->add]);
        args.add_stride = step->operand[g->add].stride;
    }
    product(step, frame, a, args);
    return EG_OK;
}
