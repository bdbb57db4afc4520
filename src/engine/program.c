/* Compiling, and questions about a program. */
#include "base/abi.h"
#include "engine/program.h"
#include "graph/passes/passes.h"
#include "graph/passes/split.h"

#include <stdio.h>
#include <string.h>

/* Options as the graph's files take them. */
static eg_status take_options(eg_context *context, const eg_compile_options *given,
                              eg__compile_options *out, eg_error *error) {
    eg_compile_options options;
    eg_status status = EG__OPTIONS(eg_compile_options, &options, given, error);
    *out = (eg__compile_options){.training = options.training,
                                 .products = options.products,
                                 .placement = &context->placement};
    if (!status) status = eg__passes_parse(options.passes, &out->passes, error);
    if (status) return status;
    if (out->products != EG_F32 && out->products != EG_F16 && out->products != EG_BF16)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "products cannot be rounded to '%s', only to f16 and bf16",
                        eg_type_name(out->products));
    return EG_OK;
}

static eg_status take_outputs(eg_context *context, size_t count, const eg_output *outputs,
                              eg__output **out, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = eg__memory_take_array(context->memory, EG_TAG_PROGRAM, count + 1, sizeof **out, &reason);
    if (!*out) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < count; i++) (*out)[i] = (eg__output){outputs[i].name, outputs[i].node};
    return EG_OK;
}

static eg_status compile(eg_context *context, const eg_graph *graph, size_t count,
                         const eg__output *outputs, const eg__compile_options *options,
                         eg_program **out, eg_error *error) {
    const eg_status status =
        eg__program_compile(graph, &context->kernels, count, outputs, options, out, error);
    if (!status) (*out)->context = context;
    return status;
}

eg_status eg_compile(eg_context *context, const eg_graph *graph, size_t count,
                     const eg_output *outputs, const eg_compile_options *given, eg_program **out,
                     eg_error *error) {
    if (!context || !graph || !out || (count && !outputs))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "compile: no context, graph, outputs or output pointer");
    *out = NULL;
    eg__compile_options options;
    eg__output *list;
    eg_status status = take_options(context, given, &options, error);
    if (!status) status = take_outputs(context, count, outputs, &list, error);
    if (status) return status;
    status = compile(context, graph, count, list, &options, out, error);
    eg__memory_give(context->memory, list);
    return status;
}

eg_status eg_compile_split(eg_context *context, const eg_graph *graph, size_t late_count,
                           const eg_node *late, size_t count, const eg_output *outputs,
                           const eg_compile_options *given, eg_program **first, eg_program **second,
                           eg_error *error) {
    if (first) *first = NULL;
    if (second) *second = NULL;
    if (!context || !graph || !first || !second || (count && !outputs) || (late_count && !late))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "compile: no context, graph, inputs, outputs or output pointer");
    eg__compile_options options;
    eg__output *list;
    eg__split split;
    eg_status status = take_options(context, given, &options, error);
    if (!status) status = take_outputs(context, count, outputs, &list, error);
    if (status) return status;
    eg_program **const programs[] = {first, second};
    status = eg__split_open(&split, graph, late_count, late, count, list, options.training, error);
    for (unsigned i = 0; i < 2 && !status; i++)
        status = compile(context, split.sides[i].graph, split.sides[i].count,
                         split.sides[i].outputs, &options, programs[i], error);
    if (status) {
        eg_program_release(*first);
        *first = NULL;
    }
    eg__split_close(&split, graph->memory);
    eg__memory_give(context->memory, list);
    return status;
}

void eg__program_keep(eg_program *program) {
    __atomic_add_fetch(&program->references, 1, __ATOMIC_RELAXED);
}

void eg_program_release(eg_program *program) {
    if (program && __atomic_sub_fetch(&program->references, 1, __ATOMIC_ACQ_REL) == 0)
        eg__program_free(program);
}

const char *eg_pass_name(size_t index) {
    return index < EG__PASS_COUNT ? eg__pass_name((unsigned)index) : NULL;
}
const char *eg_pass_text(size_t index) {
    return index < EG__PASS_COUNT ? eg__pass_text((unsigned)index) : NULL;
}

const eg_graph *eg_program_graph(const eg_program *program) { return program->graph; }

/* Bytes of parameters that runs read; small ones count whole: see eg__space_open. */
static size_t held_bytes(const eg_program *p) {
    const size_t all = p->parameters_size;
    size_t bytes = 0;
    for (size_t i = 0; i < p->parameters.count; i++)
        if (!p->parameters.list[i].settled) bytes += eg__leaf_bytes(&p->parameters.list[i]);
    return all < EG__SPACE_LEAST ? all : bytes;
}

void eg_program_info_get(const eg_program *p, eg_program_info *out) {
    eg_program_info info = {.steps = p->step_count,
                            .run_steps = p->main_count,
                            .prologue_steps = p->prologue_count,
                            .inputs = p->inputs.count,
                            .outputs = p->outputs.count,
                            .parameters = p->parameters.count,
                            .states = p->states.count,
                            .arena_bytes = p->arena_size,
                            .arena_bound_bytes = p->arena_bound,
                            .scratch_bytes = p->scratch_size * sizeof(float),
                            .parameter_bytes = p->parameters_size,
                            .derived_bytes = p->derived_size,
                            .held_bytes = held_bytes(p),
                            .state_bytes = p->states_size,
                            .cache_bytes = p->caches_size,
                            .constant_bytes = p->constants_size,
                            .length = p->length,
                            .compile_seconds = p->compile_seconds};
    for (size_t i = 0; i < p->main_count; i++) {
        info.flops += p->steps[i].flops;
        info.bytes += p->steps[i].bytes;
    }
    EG__INFO(eg_program_info, out, &info);
}

/* ---- leaves */
static const eg__leaves *leaves_of(const eg_program *p, eg_leaf_kind kind) {
    return kind == EG_LEAF_INPUT       ? &p->inputs
           : kind == EG_LEAF_OUTPUT    ? &p->outputs
           : kind == EG_LEAF_PARAMETER ? &p->parameters
                                       : &p->states;
}

eg_tensor eg__leaf_tensor(const eg__leaf *leaf, void *data) {
    eg_tensor tensor = {.type = leaf->type, .rank = leaf->rank, .data = data};
    memcpy(tensor.shape, leaf->shape, sizeof tensor.shape);
    return tensor;
}

const char *eg_program_leaf(const eg_program *program, eg_leaf_kind kind, size_t index,
                            eg_tensor *out) {
    const eg__leaves *leaves = leaves_of(program, kind);
    if (index >= leaves->count) return NULL;
    if (out) *out = eg__leaf_tensor(&leaves->list[index], NULL);
    return leaves->list[index].name;
}

const eg__leaf *eg__leaf_find(const eg__leaves *leaves, const char *name, size_t *index) {
    for (size_t i = 0; name && i < leaves->count; i++)
        if (strcmp(leaves->list[i].name, name) == 0) {
            if (index) *index = i;
            return &leaves->list[i];
        }
    return NULL;
}

static const char *shape_text(unsigned rank, const uint64_t *shape, char out[160]) {
    eg__node node = {.rank = rank};
    memcpy(node.shape, shape, rank * sizeof *shape);
    return eg__shape_text(&node, out);
}

eg_status eg__leaf_check(const eg__leaf *leaf, const eg_tensor *tensor, bool shorter,
                         eg_error *error) {
    char want[160], got[160];
    if (!tensor || !tensor->data)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s': no memory given", leaf->name);
    if (tensor->type != leaf->type)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is %s, got %s", leaf->name,
                        eg_type_name(leaf->type), eg_type_name(tensor->type));
    bool same = tensor->rank == leaf->rank;
    for (unsigned i = 0; same && i < leaf->rank; i++)
        same = tensor->shape[i] == leaf->shape[i] ||
               (shorter && i == 0 && tensor->shape[0] < leaf->shape[0]);
    if (same) return EG_OK;
    if (tensor->rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s': rank %u is not supported", leaf->name,
                        tensor->rank);
    return eg__fail(error, EG_ERR_ARGUMENT, "'%s' has shape %s, got %s", leaf->name,
                    shape_text(leaf->rank, leaf->shape, want),
                    shape_text(tensor->rank, tensor->shape, got));
}

/* ---- steps */
static void fused_text(const eg__fused_program *program, char *out, size_t size) {
    size_t at = 0;
    out[0] = 0;
    for (unsigned i = 0; i < program->length && at + 16 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? " " : "",
                               eg__fused_op_name(program->code[i].op));
    if (program->length && at + 16 >= size) snprintf(out + size - 4, 4, "...");
}

static void step_part(const eg_program *p, size_t index, eg_step_info *out) {
    out->part = index < p->main_count                       ? "run"
                : index < p->main_count + p->prologue_count ? "prologue"
                                                            : "scan";
    for (size_t i = 0; i < p->main_count; i++) {
        const eg__step_scan *scan = eg__step_body(&p->steps[i]);
        if (scan && index >= scan->first && index < scan->first + scan->count)
            out->scan = (uint32_t)i;
    }
}

/* A product of one row has another kernel than one of several. */
static const eg__kernel *main_kernel(const eg__step *step, const eg__step_shape *shape) {
    const eg__kernel *other = step->kernel[1];
    return shape->rows == 1 && other && other->operation == EG__OP_gemv_f32 ? other
                                                                            : step->kernel[0];
}

eg_status eg_program_step(const eg_program *p, size_t index, eg_step_info *out, eg_error *error) {
    if (!p || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no program or no output pointer");
    if (index >= p->step_count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no step %zu in a program of %zu", index,
                        p->step_count);
    const eg__step *step = &p->steps[index];
    const eg__step_shape shape = eg__step_shape_of(step, eg__max(p->length, 1));
    const eg__kernel *kernel = main_kernel(step, &shape);
    eg_step_info info = {.kernel = step->name,
                         .operation = eg__node_operation(&p->graph->nodes[step->node]),
                         .rows = shape.rows,
                         .columns = shape.columns,
                         .depth = shape.depth,
                         .operands = step->operands,
                         .flops = step->flops,
                         .bytes = step->bytes,
                         .live_bytes = step->live,
                         .work = eg__step_work(step, &shape),
                         .traits = step->traits,
                         .function = kernel ? kernel->name : "",
                         .isa = kernel ? kernel->isa : ""};
    step_part(p, index, &info);
    if (shape.program) fused_text(shape.program, info.text, sizeof info.text);
    const eg__step_scan *scan = eg__step_body(step);
    if (scan) {
        info.body = scan->first;
        info.body_steps = scan->count;
    }
    EG__INFO(eg_step_info, out, &info);
    return EG_OK;
}

eg_status eg_program_operand(const eg_program *p, size_t index, size_t operand,
                             eg_operand_info *out, eg_error *error) {
    static const char *const spaces[] = {"arena",     "parameters", "derived",
                                         "constants", "states",     "caches"};
    if (!p || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no program or no output pointer");
    if (index >= p->step_count || operand >= p->steps[index].operands)
        return eg__fail(error, EG_ERR_ARGUMENT, "no operand %zu in step %zu", operand, index);
    const eg__operand *o = &p->steps[index].operand[operand];
    const size_t bound = o->space - EG__SPACE_BOUND;
    eg_operand_info info = {.space = o->space < EG__SPACE_BOUND ? spaces[o->space]
                                     : bound < p->inputs.count
                                         ? p->inputs.list[bound].name
                                         : p->outputs.list[bound - p->inputs.count].name,
                            .offset = o->offset + o->scale,
                            .row_stride = o->stride * eg__element_size(o->type),
                            .time_stride = o->time};
    EG__INFO(eg_operand_info, out, &info);
    return EG_OK;
}
