/* Parameters in one piece of memory, and what prologues make of them. */
#include "engine/program.h"

#include <sched.h>
#include <string.h>

enum { CHANGING = -(1 << 30) };

/* Short and rare, never while a program runs: a lock of its own would have to be destroyed. */
static void list_lock(eg_weights *weights) {
    while (__atomic_test_and_set(&weights->listing, __ATOMIC_ACQUIRE)) sched_yield();
}
static void list_unlock(eg_weights *weights) {
    __atomic_clear(&weights->listing, __ATOMIC_RELEASE);
}

static void run_prologue(const eg_weights *weights, const eg__derived *derived) {
    eg_program *p = derived->program;
    float *base[EG__SPACE_BOUND] = {NULL, weights->data, derived->data, p->constants, NULL};
    const eg__run run = {.program = p,
                         .kernels = p->kernels,
                         .threads = weights->context->threads,
                         .base = base,
                         .scratch = derived->scratch,
                         .scratch_size = p->scratch_size};
    eg__steps_run(&run, p->steps + p->main_count, p->prologue_count);
}

eg_status eg_weights_create(eg_program *program, eg_weights **out, eg_error *error) {
    if (!program || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "weights: no program or no place");
    *out = NULL;
    eg__memory *memory = program->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_weights *weights = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *weights, &reason);
    float *data = eg__memory_take_array(memory, EG_TAG_WEIGHTS, program->parameters_size + 1,
                                        sizeof *data, &reason);
    if (!weights || !data) {
        eg__memory_give(memory, weights);
        eg__memory_give(memory, data);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    weights->context = program->context;
    weights->program = program;
    weights->data = data;
    eg__program_keep(program);
    *out = weights;
    return EG_OK;
}

void eg_weights_destroy(eg_weights *weights) {
    if (!weights) return;
    eg__memory *memory = weights->program->memory;
    for (eg__derived *d = weights->derived, *next; d; d = next) {
        next = d->next;
        eg_program_release(d->program);
        eg__memory_give(memory, d->data);
        eg__memory_give(memory, d->scratch);
        eg__memory_give(memory, d);
    }
    eg__memory_give(memory, weights->data);
    eg_program_release(weights->program);
    eg__memory_give(memory, weights);
}

eg_status eg_weights_tensor(const eg_weights *weights, const char *name, eg_tensor *out,
                            eg_error *error) {
    if (!weights || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no weights or no place");
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    *out = eg__leaf_tensor(leaf, weights->data + leaf->offset);
    return EG_OK;
}

eg_tensor eg_weights_all(const eg_weights *weights) {
    return (eg_tensor){EG_F32, 1, {weights->program->parameters_size}, weights->data};
}

eg_status eg_weights_begin(eg_weights *weights, int wait, eg_error *error) {
    if (!weights) return eg__fail(error, EG_ERR_ARGUMENT, "no weights");
    for (;;) {
        int64_t users = 0;
        if (__atomic_compare_exchange_n(&weights->users, &users, CHANGING, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return EG_OK;
        if (!wait)
            return users < 0 ? eg__fail(error, EG_ERR_BUSY, "the weights are being changed already")
                             : eg__fail(error, EG_ERR_BUSY, "%lld runs use the weights",
                                        (long long)users);
        sched_yield();
    }
}

void eg_weights_end(eg_weights *weights) {
    if (!weights) return;
    list_lock(weights);
    for (const eg__derived *d = weights->derived; d; d = d->next) run_prologue(weights, d);
    list_unlock(weights);
    __atomic_sub_fetch(&weights->users, CHANGING, __ATOMIC_RELEASE);
}

eg_status eg_weights_set(eg_weights *weights, const char *name, const eg_tensor *tensor,
                         eg_error *error) {
    if (!weights) return eg__fail(error, EG_ERR_ARGUMENT, "no weights");
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    eg_status status = eg__leaf_check(leaf, tensor, false, error);
    if (!status && leaf->type != EG_F32)
        status = eg__fail(error, EG_ERR_ARGUMENT, "'%s' is in small numbers: eg_weights_set_small",
                          name);
    if (!status) status = eg_weights_begin(weights, 0, error);
    if (status) return status;
    if (leaf->elements)
        memcpy(weights->data + leaf->offset, tensor->data, leaf->elements * sizeof(float));
    eg_weights_end(weights);
    return EG_OK;
}

static bool same_quantization(const eg_quantization *a, const eg_quantization *b) {
    if (a->type != b->type) return false;
    if (a->type == EG_F16 || a->type == EG_BF16) return true;
    return a->per == b->per && (a->per != EG_PER_BLOCK || a->block == b->block) &&
           !a->symmetric == !b->symmetric;
}

eg_status eg__weights_fill_small(eg_weights *weights, const char *name,
                                 const eg_quantized *quantized, eg_error *error) {
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    eg_status status = eg__leaf_check(leaf, &quantized->values, false, error);
    if (!status && (leaf->type == EG_F32 || !same_quantization(&leaf->how, &quantized->how)))
        status = eg__fail(error, EG_ERR_ARGUMENT, "'%s' is quantized in another way", name);
    if (status) return status;
    const eg__stored_layout *layout = &leaf->small.layout;
    char *to = (char *)(weights->data + leaf->offset);
    uint64_t bytes = 0;
    eg_tensor_measure(&quantized->values, NULL, &bytes, NULL);
    const size_t scales = leaf->small.scales;
    if (bytes) memcpy(to, quantized->values.data, (size_t)bytes);
    if (scales) memcpy(to + layout->scale, quantized->scale, scales * sizeof *quantized->scale);
    if (leaf->small.has_zeros) memcpy(to + layout->zero, quantized->zero, scales);
    return EG_OK;
}

eg_status eg_weights_set_small(eg_weights *weights, const char *name, const eg_quantized *quantized,
                               eg_error *error) {
    if (!weights || !quantized) return eg__fail(error, EG_ERR_ARGUMENT, "no weights or no numbers");
    eg_status status = eg_weights_begin(weights, 0, error);
    if (status) return status;
    status = eg__weights_fill_small(weights, name, quantized, error);
    eg_weights_end(weights);
    return status;
}

/* ---- other programs of the same model */
static eg_status check_same(const eg_program *a, const eg_program *b, eg_error *error) {
    if (a == b) return EG_OK;
    if (a->parameters.count != b->parameters.count)
        return eg__fail(error, EG_ERR_ARGUMENT, "weights of %zu parameters for a program of %zu",
                        a->parameters.count, b->parameters.count);
    for (size_t i = 0; i < a->parameters.count; i++) {
        const eg__leaf *x = &a->parameters.list[i], *y = &b->parameters.list[i];
        if (strcmp(x->name, y->name) != 0)
            return eg__fail(error, EG_ERR_ARGUMENT, "parameter %zu is '%.80s', not '%.80s'", i,
                            x->name, y->name);
        const eg_tensor tensor = eg__leaf_tensor(x, (void *)x);
        eg_status status = eg__leaf_check(y, &tensor, false, error);
        if (status) return status;
        if (eg__is_small(x->type) && !same_quantization(&x->how, &y->how))
            return eg__fail(error, EG_ERR_ARGUMENT, "parameter '%.80s' is quantized in another way",
                            x->name);
    }
    return EG_OK;
}

static bool same_constants(const eg_program *a, const eg_program *b) {
    return a->constants_size == b->constants_size &&
           (!a->constants_size ||
            memcmp(a->constants, b->constants, a->constants_size * sizeof *a->constants) == 0);
}

/* Two programs that make the same of the parameters share it. */
static bool same_prologue(const eg_program *a, const eg_program *b) {
    if (a == b) return true;
    if (a->prologue_count != b->prologue_count || a->derived_size != b->derived_size) return false;
    for (size_t i = 0; i < a->prologue_count; i++) {
        const eg__step *x = &a->steps[a->main_count + i], *y = &b->steps[b->main_count + i];
        if (x->run != y->run || x->items != y->items || x->rows != y->rows ||
            x->columns != y->columns || x->operands != y->operands ||
            memcmp(&x->u, &y->u, sizeof x->u) != 0)
            return false;
        for (unsigned k = 0; k < x->operands; k++) {
            const eg__operand *p = &x->operand[k], *q = &y->operand[k];
            if (p->space != q->space || p->offset != q->offset || p->stride != q->stride)
                return false;
            if (p->space == EG__SPACE_CONSTANTS && !same_constants(a, b)) return false;
        }
    }
    return true;
}

static eg_status attach(eg_weights *weights, eg_program *program, const eg__derived **out,
                        eg_error *error) {
    for (eg__derived *d = weights->derived; d; d = d->next)
        if (same_prologue(d->program, program)) {
            *out = d;
            return EG_OK;
        }
    eg__memory *memory = weights->program->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__derived *d = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *d, &reason);
    float *data = eg__memory_take_array(memory, EG_TAG_WEIGHTS, program->derived_size + 1,
                                        sizeof *data, &reason);
    size_t size = 0;
    const bool fits =
        eg__size_mul(program->scratch_size, eg__threads_count(weights->context->threads), &size);
    float *scratch =
        fits ? eg__memory_take_array(memory, EG_TAG_WEIGHTS, size + 1, sizeof *scratch, &reason)
             : NULL;
    if (!d || !data || !scratch) {
        eg__memory_give(memory, d);
        eg__memory_give(memory, data);
        eg__memory_give(memory, scratch);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    d->program = program;
    d->data = data;
    d->scratch = scratch;
    eg__program_keep(program);
    run_prologue(weights, d);
    d->next = weights->derived;
    weights->derived = d;
    *out = d;
    return EG_OK;
}

eg_status eg__weights_attach(eg_weights *weights, eg_program *program, const eg__derived **out,
                             eg_error *error) {
    eg_status status = check_same(weights->program, program, error);
    if (status) return status;
    list_lock(weights);
    status = attach(weights, program, out, error);
    list_unlock(weights);
    return status;
}
