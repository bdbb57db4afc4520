/* Steps and their operands, and the movement that many operations need. */
#include "graph/lower/lower.h"

eg__step eg__lower_step(eg__lowering *l, uint32_t region, uint32_t id, eg__step_id kind,
                        size_t rows, size_t columns) {
    eg__step step = eg__lower_begin(id, kind);
    step.items = rows;
    step.columns = columns;
    const size_t cut = l->regions[region].batch_items;
    if (cut) {
        step.items = cut;
        step.rows = rows / cut;
    } else if (region == EG__REGION_MAIN && l->timed[id] && rows % l->length == 0) {
        step.timed = true;
        step.items = rows / l->length;
    }
    return step;
}

eg__operand eg__lower_operand(const eg__step *step, const eg__view *view, size_t stride,
                              bool moves) {
    return (eg__operand){.space = view->buffer,
                         .type = view->type,
                         .offset = view->offset,
                         .time = view->time,
                         .item = moves ? eg__view_bytes(view, step->rows * stride) : 0,
                         .stride = stride};
}

static void touch(eg__lowering *l, uint32_t id, uint32_t region) {
    eg__buffer *buffer = &l->buffers[id];
    if (buffer->region != region) {
        buffer->used_by_body =
            true; /* live while the scan runs: the lifetime is that of the scan's step */
        if (buffer->region == EG__REGION_PROLOGUE) buffer->kept = true;
        return;
    }
    const uint32_t at = (uint32_t)l->regions[region].count;
    if (buffer->first == EG__NEVER) buffer->first = at;
    buffer->last = at;
}

/* A transcendental function counts as one FLOP but takes more instructions than a division. */
static uint32_t traits_of(const eg__step *step) {
    enum { FUNCTION = 14 };
    const eg__fused_program *program = eg__step_shape_of(step, 1).program;
    uint32_t traits = step->traits;
    for (unsigned i = 0; program && i < program->length; i++)
        if (eg__fused_op_flops(program->code[i].op) >= FUNCTION) traits |= EG_STEP_FUNCTIONS;
    return traits;
}

/* A chain over one long row: its operands (gradients, parameters) are often in this core's private
 * cache and would have to move through slower shared caches if another thread took a part. */
static bool is_flat_and_simple(const eg__step *step) {
    const uint32_t chain = EG_STEP_ELEMENTWISE | EG_STEP_FUNCTIONS;
    return (step->traits & chain) == EG_STEP_ELEMENTWISE && eg__step_shape_of(step, 1).rows == 1;
}

/* Starting a thread pays from a few microseconds of work on. */
static size_t grain_of(const eg__step *step, size_t items) {
    enum { WORTH_NS = 5000 };
    const eg__cut cut = eg__step_kind_of(step)->cut;
    if (cut == EG__CUT_BODY) return step->grain;
    if (step->kernel[0] && step->kernel[0]->whole) return 0;
    if (!items || cut == EG__CUT_NEVER || (cut == EG__CUT_SLICES && !step->slices)) return 0;
    const bool product = cut == EG__CUT_PRODUCT, fast = product || cut == EG__CUT_FAST;
    double ns = (step->flops / (fast ? 60 : 6) + step->bytes / 20) / (double)items;
    if (is_flat_and_simple(step)) ns /= 4; /* measured: ten instructions per ns */
    size_t grain = ns * (double)items < 1 ? items : (size_t)(WORTH_NS / ns) + 1;
    if (product && !step->u.gemm.products) grain = eg__max(grain, eg__ceil_div(8, step->rows));
    return grain;
}

static void pick_kernels(const eg__lowering *l, uint32_t region, eg__step *step) {
    const eg__step_shape shape = eg__step_shape_of(step, eg__max(l->length, 1));
    const bool cut =
        region != EG__REGION_MAIN || eg__step_kind_of(step)->cut != EG__CUT_PRODUCT || step->slices;
    const eg__kernel_shape sizes = {
        .m = shape.rows, .n = shape.columns, .k = shape.depth, .cut = cut};
    step->blocks = &l->kernels->blocks;
    for (unsigned i = 0; i < EG__STEP_KERNELS; i++)
        if (step->operation[i] != EG__OP_COUNT) {
            step->kernel[i] = eg__kernels_pick(l->kernels, step->operation[i], &sizes);
            step->function[i] = step->kernel[i]->function;
            if (step->kernel[i]->blocks.rows) step->blocks = &step->kernel[i]->blocks;
            if (step->kernel[i]->enter) step->run = eg__run_entered;
        }
}

/* More threads than matrix units would only wait for each other; items / grain is what divides them. */
size_t eg__lower_unit_grain(const eg__lowering *l, const eg__step *step, size_t items) {
    size_t grain = 0;
    for (unsigned i = 0; i < EG__STEP_KERNELS; i++)
        if (step->kernel[i] && step->kernel[i]->units) {
            const size_t units = eg__max(l->kernels->clusters, 1) * step->kernel[i]->units;
            grain = eg__max(grain, items / (units + 1) + 1);
        }
    return grain;
}

void eg__lower_emit(eg__lowering *l, uint32_t region, eg__step *step, size_t count,
                    const eg__operand *operands) {
    eg__region *r = &l->regions[region];
    void *steps = r->steps, *all = l->operands;
    if (!eg__lower_grow(l, &steps, r->count, &r->room, sizeof *r->steps)) return;
    r->steps = steps;
    if (!eg__memory_grow(l->memory, EG_TAG_GRAPH, &all, l->operand_count, &l->operand_room, count,
                         sizeof *l->operands)) {
        eg__lower_fail(l, EG_ERR_MEMORY, "no memory for a larger program");
        return;
    }
    l->operands = all;
    step->first_operand = (uint32_t)l->operand_count;
    step->operands = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        touch(l, operands[i].space, region);
        l->operands[l->operand_count++] = operands[i];
    }
    const size_t items =
        (step->timed ? step->items * l->length : step->items) * eg__max(step->slices, 1);
    step->traits = traits_of(step);
    pick_kernels(l, region, step);
    step->grain = grain_of(step, items);
    if (step->grain) step->grain = eg__max(step->grain, eg__lower_unit_grain(l, step, items));
    r->steps[r->count++] = *step;
}

/* ---- movement that many operations need */
void eg__lower_copy(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    const eg__view *from, const eg__view *to) {
    if (l->status || !eg__node_elements(shape)) return;
    const size_t rows = shape->rank ? (size_t)shape->shape[0] : 1;
    eg__step step = eg__lower_step(l, region, id, EG__STEP_copy, rows, 1);
    eg__step_copy *copy = &step.u.copy;
    /* drops axes of extent 1 and merges contiguous neighbours; axis 0 stays, it is split into
     * items */
    copy->shape[copy->rank] = rows;
    copy->from[copy->rank] = shape->rank ? from->stride[0] : 0;
    copy->to[copy->rank++] = shape->rank ? to->stride[0] : 0;
    for (unsigned i = 1; i < shape->rank; i++) {
        const unsigned last = copy->rank - 1;
        const size_t n = (size_t)shape->shape[i];
        if (n == 1) continue;
        if (last > 0 && copy->from[last] == from->stride[i] * n &&
            copy->to[last] == to->stride[i] * n) {
            copy->shape[last] *= n;
            copy->from[last] = from->stride[i];
            copy->to[last] = to->stride[i];
        } else {
            copy->shape[copy->rank] = n;
            copy->from[copy->rank] = from->stride[i];
            copy->to[copy->rank++] = to->stride[i];
        }
    }
    if (copy->rank == 1) {
        copy->shape[1] = copy->from[1] = copy->to[1] = 1;
        copy->rank = 2;
    }
    if (!step.timed && !l->regions[region].batch_items && rows > 1 && copy->rank == 2 &&
        copy->from[0] == copy->from[1] * copy->shape[1] &&
        copy->to[0] == copy->to[1] * copy->shape[1] && rows * copy->shape[1] <= 65536) {
        copy->shape[1] *= rows; /* one short contiguous copy */
        copy->shape[0] = step.items = 1;
    }
    step.columns = (size_t)eg__node_elements(shape) / copy->shape[0];
    copy->is_row = copy->rank == 2 && copy->from[1] == 1 && copy->to[1] == 1;
    double read = (double)eg__node_elements(shape); /* broadcast elements are read once */
    for (unsigned i = 0; i < shape->rank; i++)
        if (!from->stride[i]) read /= (double)shape->shape[i];
    step.bytes = (double)eg__element_size(shape->type) * (read + (double)eg__node_elements(shape));
    step.rows = 1;
    eg__operand operands[] = {eg__lower_operand(&step, from, copy->from[0], true),
                              eg__lower_operand(&step, to, copy->to[0], true)};
    eg__lower_emit(l, region, &step, 2, operands);
}

/* A program of one instruction on dense or strided rows of a shape. */
static void emit_simple(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                        eg__fused_op op, const eg__view *from, const eg__view *to) {
    eg__matrix rows;
    if (l->status || !eg__node_elements(shape)) return;
    if (!eg__view_rows(shape, to, &rows)) {
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u: rows that are not dense", id);
        return;
    }
    eg__step step = eg__lower_step(l, region, id, EG__STEP_fused, rows.rows, rows.columns);
    eg__fused_program *program = &step.u.fused.program;
    const bool adds = op == EG__FUSED_ADD;
    program->length = 1;
    program->operands = 2;
    program->kind[0] = adds ? EG__FULL : EG__SCALAR;
    program->kind[1] = EG__FULL;
    program->code[0] = (eg__fused_instruction){(uint8_t)op, EG__OPERAND(1), EG__OPERAND(0),
                                               adds ? EG__OPERAND(1) : 0, 0};
    step.flops = adds ? (double)eg__node_elements(shape) : 0;
    step.bytes = (adds ? 12.0 : 4.0) * (double)eg__node_elements(shape);
    eg__matrix source = rows;
    if (adds && !eg__view_rows(shape, from, &source))
        eg__lower_fail(l, EG_ERR_UNSUPPORTED, "node %u: rows that are not dense", id);
    eg__operand operands[] = {eg__lower_operand(&step, from, adds ? source.stride : 0, adds),
                              eg__lower_operand(&step, to, rows.stride, true)};
    eg__lower_emit(l, region, &step, 2, operands);
}

void eg__lower_fill(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    float value, const eg__view *to) {
    eg__view constant = eg__lower_constant(l, sizeof value, &value);
    emit_simple(l, region, id, shape, EG__FUSED_COPY, &constant, to);
}

void eg__lower_add(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                   const eg__view *from, const eg__view *to) {
    emit_simple(l, region, id, shape, EG__FUSED_ADD, from, to);
}

void eg__lower_rows_step(eg__lowering *l, uint32_t id, eg__step_id kind, const eg__step_rows *rows,
                         double flops) {
    const uint32_t input = eg__lower_input(l, id, 0);
    const eg__matrix x = eg__lower_rows(l, input), y = eg__lower_rows_storage(l, id, input);
    if (l->status || !x.rows || !x.columns) return;
    eg__step step = eg__lower_step(l, l->region[id], id, kind, x.rows, x.columns);
    step.u.row = *rows;
    step.flops = flops;
    step.bytes = 8.0 * (double)x.rows * (double)x.columns;
    eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                              eg__lower_operand(&step, &y.view, y.stride, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}
