/* What memory the steps of a program touch, and how exported code names it. */
#include "export/c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the steps */
eg__c_frame eg__c_body_frame(const eg__c_export *x, const eg__step *scan, const eg__step *step) {
    const size_t length = scan->u.scan.length ? scan->u.scan.length : x->program->length;
    return (eg__c_frame){scan->items == 1 ? step->items : scan->items, length};
}

void eg__c_each(eg__c_export *x, eg__c_visitor *visit) {
    const eg_program *p = x->program;
    for (size_t i = 0; i < p->main_count && !x->status; i++) {
        const eg__step *step = &p->steps[i];
        const eg__c_frame frame = {eg__step_items(step, p->length), 0};
        visit(x, step, &frame);
        const eg__step_scan *scan = eg__step_body(step);
        for (uint32_t k = 0; scan && k < scan->count; k++) {
            const eg__step *inner = &p->steps[scan->first + k];
            const eg__c_frame body = eg__c_body_frame(x, step, inner);
            if (eg__step_body(inner))
                eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for a scan inside a scan");
            else visit(x, inner, &body);
        }
    }
}

/* ---- ranges */
/* The source counts in floats, all of its elements having four bytes. */
static size_t start_of(const eg__c_export *x, const eg__operand *operand,
                       const eg__c_frame *frame) {
    return (operand->offset + frame->count * operand->scale +
            (frame->length ? 0 : x->program->length * operand->time)) /
           sizeof(float);
}

const float *eg__c_literal(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                           unsigned i) {
    const eg__operand *operand = &step->operand[i];
    const eg__c_step *row = eg__c_row(step);
    if (operand->space != EG__SPACE_CONSTANTS || operand->time || row->span(x, step, frame, i) != 1)
        return NULL;
    if (!eg__step_shape_of(step, 1).program || i < row->chain) return NULL;
    return &x->data[EG__SPACE_CONSTANTS][start_of(x, operand, frame)];
}

static void add_range(eg__c_export *x, const eg__step *step, const eg__c_frame *frame, unsigned i) {
    const eg__operand *operand = &step->operand[i];
    const eg__c_step *row = eg__c_row(step);
    eg__c_range *range = &x->ranges[x->range_count];
    *range = (eg__c_range){.space = operand->space,
                           .from = start_of(x, operand, frame),
                           .size = row->span(x, step, frame, i),
                           .is_index = row->is_index && row->is_index(x, step, i)};
    if (!range->size) {
        eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for a step '%s' of nothing", step->name);
        return;
    }
    if (frame->length) range->size += (frame->length - 1) * operand->time / sizeof(float);
    if (row->packed_side && i == 1 && operand->space == EG__SPACE_DERIVED) {
        const eg__step_gemm *g = &step->u.gemm;
        if (g->products || operand->time)
            eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for a step 'gemm' with many constant matrices");
        range->k = g->k;
        range->n = g->n;
        range->quantized = eg__is_quantized(g->quantized.type) ? g : NULL;
        range->size = 1; /* it is found by where it begins */
    }
    x->range_count++;
}

static void visit(eg__c_export *x, const eg__step *step, const eg__c_frame *frame) {
    for (unsigned i = 0; i < step->operands; i++)
        if (eg__is_half(step->operand[i].type) && !eg__c_row(step)->reads_infile)
            eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for values of type '%s'",
                       eg_type_name(step->operand[i].type));
    if (x->status) return;
    eg__c_need_functions(x, step);
    if (eg__c_row(step)->collect) eg__c_row(step)->collect(x, step);
    for (unsigned i = 0; i < step->operands && !x->status; i++) {
        const uint32_t space = step->operand[i].space;
        if (space >= EG__SPACE_BOUND) x->used[space - EG__SPACE_BOUND] = true;
        else if (space != EG__SPACE_STATES && !eg__c_literal(x, step, frame, i))
            add_range(x, step, frame, i);
    }
}

static int by_place(const void *a, const void *b) {
    const eg__c_range *p = a, *q = b;
    if (p->space != q->space) return p->space < q->space ? -1 : 1;
    return p->from < q->from ? -1 : p->from > q->from;
}

static void merge(eg__c_export *x) {
    size_t count = 0;
    qsort(x->ranges, x->range_count, sizeof *x->ranges, by_place);
    for (size_t i = 0; i < x->range_count; i++) {
        const eg__c_range *next = &x->ranges[i];
        eg__c_range *last = count ? &x->ranges[count - 1] : NULL;
        if (last && last->space == next->space && next->from < last->from + last->size) {
            last->size = eg__max(last->size, next->from + next->size - last->from);
            last->is_index = last->is_index || next->is_index;
        } else x->ranges[count++] = *next;
    }
    x->range_count = count;
}

/* ---- names */
const eg__leaf *eg__c_leaf(const eg__leaves *leaves, size_t offset, size_t *index) {
    for (size_t i = 0; i < leaves->count; i++) {
        const eg__leaf *leaf = &leaves->list[i];
        const size_t from = leaf->offset / sizeof(float);
        if (offset < from || offset - from >= eg__leaf_bytes(leaf) / sizeof(float)) continue;
        if (index) *index = i;
        return leaf;
    }
    return NULL;
}

/* A packed matrix may be a whole parameter, or some of its rows. */
static const char *packed_name(const eg__c_export *x, size_t offset) {
    const eg_program *p = x->program;
    for (size_t i = p->main_count; i < p->main_count + p->prologue_count; i++) {
        const eg__step *step = &p->steps[i];
        const eg__c_step *row = eg__c_row(step);
        const char *name = row->packed ? row->packed(x, step, offset) : NULL;
        if (name) return name;
    }
    return NULL;
}

static void name_range(eg__c_export *x, eg__c_range *range) {
    const eg__leaf *leaf = range->space == EG__SPACE_PARAMETERS
                               ? eg__c_leaf(&x->program->parameters, range->from, NULL)
                               : NULL;
    const char *name = leaf ? leaf->name : range->k ? packed_name(x, range->from) : NULL;
    char wanted[EG__C_NAME];
    if (range->quantized) {
        eg__c_quantized_name(x, range, name ? name : "weights");
        return;
    }
    if (name) snprintf(wanted, sizeof wanted, "w_%.40s", name);
    else strcpy(wanted, range->space == EG__SPACE_CONSTANTS ? "constant" : "weights");
    strcpy(range->name, eg__c_name(x, wanted));
}

static void name_leaves(eg__c_export *x, const eg__leaves *leaves) {
    for (size_t i = 0; i < leaves->count; i++) {
        if (leaves->list[i].elements > INT32_MAX)
            eg__c_fail(x, EG_ERR_OVERFLOW, "'%.80s' is too large for C", leaves->list[i].name);
        eg__c_name(x, leaves->list[i].name);
    }
}

void eg__c_collect(eg__c_export *x) {
    const eg_program *p = x->program;
    name_leaves(x, &p->states);
    name_leaves(x, &p->inputs);
    name_leaves(x, &p->outputs);
    eg__c_each(x, visit);
    if (x->status) return;
    merge(x);
    const size_t row = x->row; /* of int8: its size so far, its place from here on */
    size_t arena = 0, weights = 0;
    for (size_t i = 0; i < x->range_count; i++) {
        eg__c_range *range = &x->ranges[i];
        if (range->space == EG__SPACE_ARENA) {
            range->place = arena;
            arena += range->size;
            continue;
        }
        name_range(x, range);
        if (range->k && !range->quantized) range->size = range->k * range->n;
        weights += range->quantized ? range->k * range->n : range->size;
        x->info.weight_bytes +=
            range->quantized ? eg__c_quantized_bytes(x, range) : range->size * sizeof(float);
    }
    x->row = arena;
    arena += row;
    if (arena > INT32_MAX || weights > INT32_MAX)
        eg__c_fail(x, EG_ERR_OVERFLOW, "%zu numbers are too many for C", eg__max(arena, weights));
    for (size_t i = 0; i < p->states.count; i++)
        x->info.state_bytes += p->states.list[i].elements * sizeof(float);
    x->info.arena_bytes = arena * sizeof(float);
}

/* ---- places */
static const eg__c_range *range_at(const eg__c_export *x, uint32_t space, size_t offset) {
    for (size_t i = 0; i < x->range_count; i++) {
        const eg__c_range *range = &x->ranges[i];
        if (range->space == space && offset >= range->from && offset - range->from < range->size)
            return range;
    }
    return NULL;
}

const eg__c_range *eg__c_array(const eg__c_export *x, const eg__step *step,
                               const eg__c_frame *frame, unsigned i) {
    const eg__operand *operand = &step->operand[i];
    return range_at(x, operand->space, start_of(x, operand, frame));
}

static size_t place_bound(const eg__c_export *x, size_t at, size_t start, char base[EG__C_TEXT]) {
    const eg_program *p = x->program;
    const bool is_input = at < p->inputs.count;
    const eg__leaf *leaf = is_input ? &p->inputs.list[at] : &p->outputs.list[at - p->inputs.count];
    const char *name = x->names[p->states.count + at];
    if (leaf->type == EG_I32) eg__c_add(base, "(%sfloat *)%s", is_input ? "const " : "", name);
    else eg__c_add(base, "%s", name);
    return start;
}

void eg__c_place(eg__c_export *x, const eg__step *step, const eg__c_frame *frame, unsigned i,
                 char base[EG__C_TEXT], char terms[EG__C_TEXT]) {
    const eg__operand *operand = &step->operand[i];
    size_t start = start_of(x, operand, frame), index;
    base[0] = terms[0] = 0;
    if (operand->space >= EG__SPACE_BOUND)
        start = place_bound(x, operand->space - EG__SPACE_BOUND, start, base);
    else if (operand->space == EG__SPACE_STATES) {
        const eg__leaf *leaf = eg__c_leaf(&x->program->states, start, &index);
        if (leaf) {
            eg__c_add(base, "self->%s", x->names[index]);
            start -= leaf->offset / sizeof(float);
        }
    } else {
        const eg__c_range *range = range_at(x, operand->space, start);
        if (range && operand->space == EG__SPACE_ARENA) {
            eg__c_add(base, "arena");
            start = range->place + start - range->from;
        } else if (range) {
            eg__c_add(base, "%s%s", range->is_index ? "(const float *)" : "", range->name);
            start -= range->from;
        }
    }
    if (!base[0]) eg__c_fail(x, EG_ERR_UNSUPPORTED, "no place for a step '%s'", step->name);
    if (start) eg__c_add(terms, "%zu", start);
    if (frame->length && operand->time)
        eg__c_add(terms, "%st * %zu", terms[0] ? " + " : "", operand->time / sizeof(float));
}

const char *eg__c_pointer(eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                          unsigned i, char out[EG__C_TEXT]) {
    char terms[EG__C_TEXT];
    eg__c_place(x, step, frame, i, out, terms);
    if (terms[0]) eg__c_add(out, " + %s", terms);
    return out;
}
