/* How much of an operand a step touches, in floats from where it begins. */
#include "formats/export_c.h"

static size_t span_rows(size_t rows, size_t stride, size_t columns) {
    return rows ? (rows - 1) * stride + columns : 0;
}

static size_t span_fused(eg__fused_kind kind, size_t stride, size_t rows, size_t columns) {
    switch (kind) {
    case EG__FULL: return span_rows(rows, stride, columns);
    case EG__ROW: return span_rows(rows, stride, 1);
    case EG__COLUMN: return columns;
    case EG__SCALAR: break;
    }
    return 1;
}

static size_t span_gemm(const eg__c_export *x, const eg__step *step, size_t count, unsigned i) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t k = eg__c_timed(x, g->k, g->k_timed), stride = step->operand[i].stride;
    const size_t rows = g->products ? step->rows : count * step->rows;
    const size_t products = g->products ? count * g->products : 1;
    switch (i) {
    case 0: return span_rows(products, g->a_step, span_rows(rows, stride, k));
    case 1: /* small numbers are found by where they begin */
        return g->small.kernel ? 1 : span_rows(products, g->b_step, k * g->n);
    case 2: return span_rows(products, g->c_step, span_rows(rows, stride, g->n));
    default: return span_fused(g->epilogue.kind[i - 3], stride, rows, g->n);
    }
}

static size_t span_turned(const eg__c_export *x, const eg__step *step, size_t rows, unsigned i) {
    const eg__step_gemm *g = &step->u.gemm;
    const size_t k = eg__c_timed(x, g->k, g->k_timed), stride = step->operand[i].stride;
    if (i > 2) return span_fused(g->epilogue.kind[i - 3], stride, rows, g->n);
    return i == 2 ? span_rows(rows, stride, g->n) : span_rows(k, stride, i ? g->n : rows);
}

/* What is packed here is a plain k x n matrix in exported code, which is never larger. */
static size_t span_pack(const eg__c_export *x, const eg__step *step, size_t count, unsigned i) {
    const eg__step_pack *p = &step->u.pack;
    const size_t k = eg__c_timed(x, p->k, p->k_timed),
                 products = p->panels ? 1 : count * p->products;
    if (i) return span_rows(products, eg__gemm_packed_size(k, p->n), k * p->n);
    return span_rows(products, p->from_step,
                     span_rows(k, p->row_stride, span_rows(p->n, p->column_stride, 1)));
}

static size_t span_copy(const eg__step *step, size_t count, unsigned i) {
    const eg__step_copy *c = &step->u.copy;
    size_t span = 1;
    for (unsigned axis = 0; axis < c->rank; axis++)
        span += ((axis ? c->shape[axis] : count) - 1) * (i ? c->to[axis] : c->from[axis]);
    if (i && c->every) span += (c->length - 1) / c->every * c->place;
    return span;
}

static size_t span_gather(const eg__step *step, size_t rows, unsigned i) {
    const bool scatters = step->run == eg__run_scatter;
    const size_t limit = step->u.gather.limit, stride = step->operand[i].stride;
    if (i == 1) return span_rows(rows, stride, 1);
    return span_rows((i == 0) == scatters ? rows : limit, stride, step->columns);
}

static size_t span_synapses(const eg__c_export *x, const eg__step *step, size_t rows, unsigned i) {
    const eg__step_synapses *s = &step->u.synapses;
    const size_t stride = step->operand[i].stride;
    const bool by_parameters = step->run == eg__run_synapses_dp;
    if (by_parameters) rows = eg__c_timed(x, s->batch, s->batch_timed);
    if (i == 0) return span_rows(rows, stride, s->sources);
    if (i == 8) return span_rows(rows, stride, 2 * s->targets);
    if (i < 7) return s->count;
    return by_parameters ? 4 * s->count : span_rows(rows, stride, step->columns);
}

static size_t span_attention(const eg__step *step, unsigned i) {
    const eg__step_attention *s = &step->u.attention;
    const eg__attention_f32_args *a = &s->args;
    const size_t stride = step->operand[i].stride;
    const size_t queries = s->samples * a->queries, keys = s->samples * a->keys;
    const unsigned others = step->run == eg__run_attention ? 4 : 6; /* after y and d */
    if (i == 0) return span_rows(queries, stride, a->heads * a->d);
    if (i == 1) return span_rows(keys, stride, a->kv_heads * a->d);
    if (i == 2) return span_rows(keys, stride, a->kv_heads * a->dv);
    if (i == 3)
        return span_rows(step->run == eg__run_attention_dkv ? keys : queries, stride,
                         step->columns);
    if (i < others) return span_rows(queries, stride, a->heads * (a->dv + 1));
    if (i > others || !s->has_mask) return s->samples; /* lengths */
    return (s->samples - 1) * a->mask_sample + (a->queries - 1) * a->mask_row + a->keys;
}

static size_t span_rotary(const eg__step *step, size_t rows, unsigned i) {
    if (i < 2) return span_rows(rows, step->operand[i].stride, step->columns);
    if (i == 2) return step->u.rotary.d / 2;
    return step->u.rotary.has_list ? step->u.rotary.period : 1;
}

static size_t span_conv(const eg__step *step, unsigned i) {
    const eg__conv_shape *s = &step->u.conv.shape;
    const size_t y = step->u.conv.samples * s->filters * eg__conv_positions(s);
    if (i == 0) return step->u.conv.samples * s->channels * eg__conv_plane(s);
    return (i == 1) == (step->run == eg__run_conv_dw) ? y : s->filters * eg__conv_depth(s);
}

size_t eg__c_span(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                  unsigned i) {
    const size_t rows = frame->count * step->rows, stride = step->operand[i].stride;
    const eg__step_rows *r = &step->u.rows_;
    if (step->run == eg__run_fused) {
        const eg__fused_kind kind = step->u.fused.program.kind[i];
        return step->u.fused.flat ? span_fused(kind, stride, 1, step->u.fused.flat)
                                  : span_fused(kind, stride, rows, step->columns);
    }
    if (step->run == eg__run_gemm_turned) return span_turned(x, step, rows, i);
    if (eg__c_is_product(step)) return span_gemm(x, step, frame->count, i);
    if (step->run == eg__run_pack) return span_pack(x, step, frame->count, i);
    if (step->run == eg__run_copy) return span_copy(step, frame->count, i);
    if (step->run == eg__run_gather || step->run == eg__run_scatter)
        return span_gather(step, rows, i);
    if (step->run == eg__run_place) {
        const size_t more = (i == 0) == step->u.place.takes ? step->u.place.limit : 0;
        return i == 1 ? 1 : (step->rows + more) * step->columns;
    }
    if (eg__step_is_attention(step)) return span_attention(step, i);
    if (eg__step_is_conv(step)) return span_conv(step, i);
    if (step->run == eg__run_rotary) return span_rotary(step, rows, i);
    if (eg__c_is_synapses(step)) return span_synapses(x, step, rows, i);
    if (step->run == eg__run_column_sum)
        return i ? rows * step->columns
                 : span_rows(rows * eg__c_timed(x, r->height, r->height_timed), stride,
                             step->columns);
    if (step->run == eg__run_argmax) return i ? rows : span_rows(rows, stride, step->columns);
    if (step->run == eg__run_reduce)
        return i ? rows : span_rows(rows, stride, eg__c_timed(x, step->columns, r->height_timed));
    return span_rows(rows, stride, step->columns); /* softmax, norms */
}
