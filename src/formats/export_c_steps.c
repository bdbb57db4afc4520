/* The steps of a program as statements of C. */
#include "formats/export_c.h"

#include <string.h>

typedef struct writing {
    eg__c_export *x;
    const eg__step *step;
    const eg__c_frame *frame;
    char at[3][EG__C_TEXT]; /* the first operands */
    size_t rows;
} writing;

/* ---- products */
static void write_gemm(writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    eg__c_export *x = w->x;
    const size_t k = eg__c_timed(x, g->k, g->k_timed);
    const size_t a_stride = w->step->operand[0].stride, c_stride = w->step->operand[2].stride;
    if (!g->products) {
        eg__c_line(x, "product(%zu, %zu, %zu, %s, %zu, %s, %s, %zu);", w->rows, g->n, k, w->at[0],
                   a_stride, w->at[1], w->at[2], c_stride);
        if (g->has_epilogue)
            eg__c_write_fused(x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
        return;
    }
    eg__c_line(x, "for (int p = 0; p < %zu; p++)", w->frame->count * g->products);
    eg__c_line(x, "    product(%zu, %zu, %zu, %s + p * %zu, %zu, %s + p * %zu, %s + p * %zu, %zu);",
               w->step->rows, g->n, k, w->at[0], g->a_step, a_stride, w->at[1], g->b_step, w->at[2],
               g->c_step, c_stride);
}

static void write_turned(writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    const eg__operand *o = w->step->operand;
    eg__c_line(w->x, "turned_product(%zu, %zu, %zu, %s, %zu, %s, %zu, %s, %zu);", w->rows, g->n,
               eg__c_timed(w->x, g->k, g->k_timed), w->at[0], o[0].stride, w->at[1], o[1].stride,
               w->at[2], o[2].stride);
    if (g->has_epilogue) eg__c_write_fused(w->x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
}

/* The right side is an array; a row that becomes int8 lies at the end of the arena. */
static void write_gemm_small(writing *w) {
    const eg__step_gemm *g = &w->step->u.gemm;
    eg__c_export *x = w->x;
    const eg__c_range *range = eg__c_array(x, w->step, w->frame, 1);
    char side[EG__C_TEXT] = "", groups[EG__C_TEXT] = "", row[EG__C_TEXT] = "";
    if (!range || !range->small) {
        eg__c_fail(x, EG_ERR_UNSUPPORTED, "no array for a step '%s'", w->step->name);
        return;
    }
    if (g->small.groups > 1) eg__c_add(groups, "%u, %s, ", g->small.groups, range->more[2]);
    if (g->small.integers) eg__c_add(row, "(int8_t *)(arena + %zu), ", x->row);
    eg__c_small_arguments(x, range, side);
    eg__c_line(x, "%s(%zu, %zu, %zu, %s%s, %zu,", eg__c_helper(w->step), w->rows, g->n, g->k,
               groups, w->at[0], w->step->operand[0].stride);
    eg__c_line(x, "    %s, %s%s, %zu);", side, row, w->at[2], w->step->operand[2].stride);
    if (g->has_epilogue) eg__c_write_fused(x, w->step, w->frame, &g->epilogue, 3, w->rows, g->n);
}

static void write_pack(writing *w) {
    const eg__step_pack *p = &w->step->u.pack;
    const size_t k = eg__c_timed(w->x, p->k, p->k_timed),
                 products = p->panels ? 1 : w->frame->count * p->products;
    if (products == 1) {
        eg__c_line(w->x, "matrix(%zu, %zu, %s, %zu, %zu, %s);", k, p->n, w->at[0], p->row_stride,
                   p->column_stride, w->at[1]);
        return;
    }
    eg__c_line(w->x, "for (int p = 0; p < %zu; p++)", products);
    eg__c_line(w->x, "    matrix(%zu, %zu, %s + p * %zu, %zu, %zu, %s + p * %zu);", k, p->n,
               w->at[0], p->from_step, p->row_stride, p->column_stride, w->at[1],
               eg__gemm_packed_size(k, p->n));
}

/* ---- movement */
static void add_term(char out[EG__C_TEXT], char variable, size_t stride) {
    if (stride == 1) eg__c_add(out, " + %c", variable);
    else if (stride) eg__c_add(out, " + %c * %zu", variable, stride);
}

/* Loops over the axes; the last is one piece of memory where it can be. */
static void write_copy(writing *w) {
    const eg__step_copy *c = &w->step->u.copy;
    eg__c_export *x = w->x;
    const unsigned outer = x->indent;
    size_t piece = 1;
    unsigned axes = c->rank;
    while (axes && (axes == 1 ? w->frame->count : c->shape[axes - 1]) == 1) axes--;
    if (axes && c->from[axes - 1] == 1 && c->to[axes - 1] == 1) {
        axes--;
        piece = axes ? c->shape[axes] : w->frame->count;
    }
    if (c->every) {
        if (c->reverse) eg__c_add(w->at[1], " + (%zu - t)", c->length - 1);
        else eg__c_add(w->at[1], " + t");
        eg__c_add(w->at[1], " / %zu * %zu", c->every, c->place);
    }
    for (unsigned axis = 0; axis < axes; axis++) {
        const size_t extent = axis ? c->shape[axis] : w->frame->count;
        const char variable = "ijklmn"[axis];
        if (extent == 1) continue;
        eg__c_line(x, "for (int %c = 0; %c < %zu; %c++)", variable, variable, extent, variable);
        x->indent++;
        add_term(w->at[0], variable, c->from[axis]);
        add_term(w->at[1], variable, c->to[axis]);
    }
    /* what may be an integer is never seen as a float */
    const bool floats = x->program->graph->nodes[w->step->node].type == EG_F32;
    if (piece == 1 && floats) eg__c_line(x, "*(%s) = *(%s);", w->at[1], w->at[0]);
    else if (piece == 1) eg__c_line(x, "memcpy(%s, %s, sizeof(float));", w->at[1], w->at[0]);
    else eg__c_line(x, "memcpy(%s, %s, %zu * sizeof(float));", w->at[1], w->at[0], piece);
    x->indent = outer;
}

static void write_gather(writing *w) {
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %s, %zu, %s, %s, %zu);", eg__c_helper(w->step), w->rows,
               w->step->columns, w->step->u.gather.limit, w->at[0], w->step->operand[0].stride,
               w->at[1], w->at[2], w->step->operand[2].stride);
}

/* ---- rows */
static void write_rows(writing *w) {
    const eg__step *step = w->step;
    const eg__step_rows *r = &step->u.rows_;
    const char *name = eg__c_helper(step);
    const size_t x_stride = step->operand[0].stride, y_stride = step->operand[1].stride;
    char number[32];
    if (step->run == eg__run_column_sum)
        eg__c_line(w->x, "%s(%zu, %zu, %zu, %s, %zu, %s);", name, w->rows,
                   eg__c_timed(w->x, r->height, r->height_timed), step->columns, w->at[0], x_stride,
                   w->at[1]);
    else if (step->run == eg__run_reduce || step->run == eg__run_argmax)
        eg__c_line(w->x, "%s(%zu, %zu, %s, %zu, %s);", name, w->rows,
                   eg__c_timed(w->x, step->columns, step->run == eg__run_reduce && r->height_timed),
                   w->at[0], x_stride, w->at[1]);
    else if (step->run == eg__run_softmax)
        eg__c_line(w->x, "%s(%zu, %zu, %s, %zu, %s, %zu);", name, w->rows, step->columns, w->at[0],
                   x_stride, w->at[1], y_stride);
    else
        eg__c_line(w->x, "%s(%zu, %zu, %s, %s, %zu, %s, %zu);", name, w->rows, step->columns,
                   eg__c_number(r->number, number), w->at[0], x_stride, w->at[1], y_stride);
}

/* ---- synapses: v, the four parameters, source, target, the result, and for gradients d */
static void write_synapses(writing *w) {
    const eg__step_synapses *s = &w->step->u.synapses;
    const eg__operand *o = w->step->operand;
    char at[9][EG__C_TEXT];
    for (unsigned i = 0; i < w->step->operands; i++)
        eg__c_pointer(w->x, w->step, w->frame, i, at[i]);
    const bool by_parameters = w->step->run == eg__run_synapses_dp;
    const size_t batch = by_parameters ? eg__c_timed(w->x, s->batch, s->batch_timed) : w->rows;
    eg__c_line(w->x, "%s(%zu, %zu, %zu, %zu, %s, %zu, %s, %s, %s,", eg__c_helper(w->step), batch,
               s->sources, s->targets, s->count, at[0], o[0].stride, at[1], at[2], at[3]);
    if (w->step->operands == 9)
        eg__c_line(w->x, "    %s, %s, %s, %s, %zu, %s, %zu);", at[4], at[5], at[6], at[7],
                   o[7].stride, at[8], o[8].stride);
    else eg__c_line(w->x, "    %s, %s, %s, %s, %zu);", at[4], at[5], at[6], at[7], o[7].stride);
}

/* ---- attention: q, k, v, the result, for gradients y and d, then mask and lengths if there are any */
static void write_attention(writing *w) {
    const eg__step_attention *s = &w->step->u.attention;
    const eg__attention_f32_args *a = &s->args;
    const eg__operand *o = w->step->operand;
    const bool back = w->step->run != eg__run_attention;
    const unsigned others = back ? 6 : 4;
    char at[8][EG__C_TEXT], scale[32];
    for (unsigned i = 0; i < w->step->operands; i++)
        eg__c_pointer(w->x, w->step, w->frame, i, at[i]);
    eg__c_line(w->x, "%s(%s%zu, %zu, %zu, %zu, %zu, %zu, %zu, %s, %d, %zu,", eg__c_helper(w->step),
               !back                                   ? ""
               : w->step->run == eg__run_attention_dkv ? "1, "
                                                       : "0, ",
               s->samples, a->queries, a->keys, a->heads, a->kv_heads, a->d, a->dv,
               eg__c_number(a->scale, scale), a->causal, eg__min(a->window, a->keys + a->queries));
    eg__c_line(w->x, "    %s, %zu, %s, %zu, %s, %zu, %s, %zu, %zu,", at[0], o[0].stride, at[1],
               o[1].stride, at[2], o[2].stride, s->has_mask ? at[others] : "0", a->mask_sample,
               a->mask_row);
    eg__c_line(w->x, "    %s, %d, %s, %zu%s", s->has_lengths ? at[others + s->has_mask] : "0",
               a->lengths_are_i32, at[3], o[3].stride, back ? "," : ");");
    if (back) eg__c_line(w->x, "    %s, %zu, %s, %zu);", at[4], o[4].stride, at[5], o[5].stride);
}

static void write_rotary(writing *w) {
    const eg__step_rotary *r = &w->step->u.rotary;
    const eg__operand *o = w->step->operand;
    char list[EG__C_TEXT] = "0";
    if (w->step->operands > 3) eg__c_pointer(w->x, w->step, w->frame, 3, list);
    eg__c_line(w->x, "rotary(%zu, %zu, %zu, %zu, %s, %zu, %s, %zu, %s, %s, %d, %d, %s);", w->rows,
               r->heads, r->d, r->period, w->at[0], o[0].stride, w->at[1], o[1].stride, w->at[2],
               list, r->has_list, r->interleaved, r->back ? "-1.0f" : "1.0f");
}

/* ---- convolutions */
static void axis_text(const eg__conv_axis *a, char out[EG__C_TEXT]) {
    out[0] = 0;
    eg__c_add(out, "(const int[]){%zu, %zu, %zu, %zu, %zu, %zu, %td}", a->in, a->out, a->taps,
              a->stride, a->dilation, a->spread, a->before);
}

static void write_conv(writing *w) {
    const eg__conv_shape *s = &w->step->u.conv.shape;
    char down[EG__C_TEXT], across[EG__C_TEXT];
    axis_text(&s->axis[0], down);
    axis_text(&s->axis[1], across);
    eg__c_line(w->x, "conv(%d, %zu, %zu, %zu, %zu, %d, %s,", w->step->run == eg__run_conv_dw,
               w->step->u.conv.samples, s->channels, s->filters, s->groups, s->flipped, down);
    eg__c_line(w->x, "     %s, %s, %s, %s);", across, w->at[0], w->at[1], w->at[2]);
}

/* ---- all */
static void write_step(eg__c_export *x, const eg__step *step, const eg__c_frame *frame) {
    writing w = {.x = x, .step = step, .frame = frame, .rows = frame->count * step->rows};
    if (step->run == eg__run_fused) {
        const size_t flat = step->u.fused.flat;
        eg__c_write_fused(x, step, frame, &step->u.fused.program, 0, flat ? 1 : w.rows,
                          flat ? flat : step->columns);
        return;
    }
    for (unsigned i = 0; i < step->operands && i < 3; i++)
        eg__c_pointer(x, step, frame, i, w.at[i]);
    if (step->run == eg__run_gemm) write_gemm(&w);
    else if (step->run == eg__run_gemm_turned) write_turned(&w);
    else if (step->run == eg__run_gemm_small) write_gemm_small(&w);
    else if (step->run == eg__run_pack) write_pack(&w);
    else if (step->run == eg__run_copy) write_copy(&w);
    else if (step->run == eg__run_gather || step->run == eg__run_scatter) write_gather(&w);
    else if (step->run == eg__run_place)
        eg__c_line(x, "%s(%zu, %zu, %zu, %s, %s, %s);", eg__c_helper(step), step->rows,
                   step->columns, step->u.place.limit, w.at[0], w.at[1], w.at[2]);
    else if (eg__c_is_synapses(step)) write_synapses(&w);
    else if (eg__step_is_attention(step)) write_attention(&w);
    else if (step->run == eg__run_rotary) write_rotary(&w);
    else if (eg__step_is_conv(step)) write_conv(&w);
    else write_rows(&w);
}

static void write_scan(eg__c_export *x, const eg__step *scan) {
    const eg__step *body = x->program->steps + scan->u.scan.first;
    const size_t length = scan->u.scan.length ? scan->u.scan.length : x->program->length;
    if (scan->u.scan.reverse) eg__c_open(x, "for (int t = %zu; t >= 0; t--)", length - 1);
    else eg__c_open(x, "for (int t = 0; t < %zu; t++)", length);
    for (uint32_t i = 0; i < scan->u.scan.count && !x->status; i++) {
        const eg__c_frame frame = eg__c_body_frame(x, scan, &body[i]);
        write_step(x, &body[i], &frame);
    }
    eg__c_close(x);
}

void eg__c_write_steps(eg__c_export *x) {
    const eg_program *p = x->program;
    for (size_t i = 0; i < p->main_count && !x->status; i++) {
        const eg__c_frame frame = {eg__step_items(&p->steps[i], p->length), 0};
        if (p->steps[i].run == eg__run_scan) write_scan(x, &p->steps[i]);
        else write_step(x, &p->steps[i], &frame);
    }
}
