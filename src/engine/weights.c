/* Parameters in one piece of memory, and the values that prologues derive from them. */
#include "engine/loop.h"
#include "engine/parts.h"
#include "engine/program.h"

#include <sched.h>
#include <string.h>

enum { CHANGING = -(1 << 30) };

/* A spin lock: held briefly and rarely, never while a program runs, and it needs no destruction. */
static void list_lock(eg_weights *weights) {
    while (__atomic_test_and_set(&weights->listing, __ATOMIC_ACQUIRE)) sched_yield();
}
static void list_unlock(eg_weights *weights) {
    __atomic_clear(&weights->listing, __ATOMIC_RELEASE);
}

eg_status eg__weights_run(const eg_weights *weights, const eg__derived *derived,
                          const eg__step *steps, size_t count, eg_error *error) {
    eg_program *p = derived->program;
    char *work = derived->work.data;
    char *base[EG__SPACE_BOUND] = {eg__space_or_nothing(work), eg__space_or_nothing(weights->data),
                                   eg__space_or_nothing(derived->data),
                                   eg__space_or_nothing(p->constants), NULL};
    const eg__run run = {.program = p,
                         .threads = weights->context->threads,
                         .base = base,
                         .scratch = (float *)(void *)(work + p->prologue_size),
                         .scratch_size = p->scratch_size};
    return eg__steps_run(&run, steps, count, error);
}

static eg_status run_prologue(const eg_weights *weights, const eg__derived *derived,
                              eg_error *error) {
    const eg_program *p = derived->program;
    return eg__weights_run(weights, derived, p->steps + p->main_count, p->prologue_count, error);
}

/* ---- life */
static eg_status create(eg_program *program, bool is_lent, eg_weights **out, eg_error *error) {
    eg__memory *memory = program->memory;
    const size_t parameters = program->parameters.count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_status status = EG_OK;
    size_t bytes = 0;
    if (!eg__size_add(program->parameters_size, sizeof(float), &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "weights of %zu bytes", program->parameters_size);
    eg_weights *weights = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *weights, &reason);
    if (!weights) return eg__fail(error, reason.status, "%s", reason.message);
    weights->context = program->context;
    weights->program = program;
    weights->is_lent = is_lent;
    eg__program_keep(program);
    /* small weights share pages, unless a device may import them */
    status = program->context->placement.count && bytes < EG__SPACE_LEAST
                 ? eg__space_take(memory, EG_TAG_WEIGHTS, bytes, &weights->space, error)
                 : eg__space_open(memory, EG_TAG_WEIGHTS, bytes, &weights->space, error);
    if (!status && !is_lent)
        status = eg__space_use(memory, &weights->space, 0, weights->space.size, error);
    if (!status && is_lent) {
        weights->holds = eg__memory_take_array(memory, EG_TAG_WEIGHTS, parameters + 1,
                                               sizeof *weights->holds, &reason);
        if (!weights->holds) status = eg__fail(error, reason.status, "%s", reason.message);
    }
    weights->data = weights->space.data;
    if (status) eg_weights_destroy(weights);
    else *out = weights;
    return status;
}

eg_status eg_weights_create(eg_program *program, eg_weights **out, eg_error *error) {
    if (!program || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "weights: no program or no output pointer");
    *out = NULL;
    return create(program, false, out, error);
}

eg_status eg__weights_lend(eg_program *program, const eg__lender *lender, eg_weights **out,
                           eg_error *error) {
    eg_status status = create(program, true, out, error);
    if (!status) (*out)->lender = *lender;
    return status;
}

static void free_derived(eg__memory *memory, eg__derived *d) {
    if (!d) return;
    eg__part_weights_release(d->program, d->parts);
    eg_program_release(d->program);
    eg__space_close(memory, &d->kept);
    eg__space_close(memory, &d->work);
    eg__memory_give(memory, d);
}

void eg_weights_destroy(eg_weights *weights) {
    if (!weights) return;
    eg_program *program = weights->program;
    eg__memory *memory = program->memory;
    for (eg__derived *d = weights->derived, *next; d; d = next) {
        next = d->next;
        free_derived(memory, d);
    }
    eg__space_close(memory, &weights->space);
    eg__memory_give(memory, weights->holds);
    eg__memory_give(memory, weights);
    eg_program_release(program);
}

/* ---- reading and writing parameters */
static eg_status check_own(const eg_weights *weights, eg_error *error) {
    if (!weights) return eg__fail(error, EG_ERR_ARGUMENT, "no weights");
    if (!weights->is_lent) return EG_OK;
    return eg__fail(error, EG_ERR_UNSUPPORTED,
                    "these weights are a model's and keep no copy: eg_weights_create makes some "
                    "that can be read and changed");
}

eg_status eg_weights_tensor(const eg_weights *weights, const char *name, eg_tensor *out,
                            eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for a tensor");
    eg_status status = check_own(weights, error);
    if (status) return status;
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    *out = eg__leaf_tensor(leaf, weights->data + leaf->offset);
    return EG_OK;
}

eg_tensor eg_weights_all(const eg_weights *weights) {
    if (weights->is_lent) return (eg_tensor){EG_F32, 1, {0}, NULL};
    return (eg_tensor){
        EG_F32, 1, {weights->program->parameters_size / sizeof(float)}, weights->data};
}

eg_status eg_weights_begin(eg_weights *weights, int wait, eg_error *error) {
    eg_status status = check_own(weights, error);
    if (status) return status;
    for (;;) {
        int64_t users = 0;
        if (__atomic_compare_exchange_n(&weights->users, &users, CHANGING, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return EG_OK;
        bool failed = true;
        if (__atomic_compare_exchange_n(&weights->failed, &failed, false, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return EG_OK; /* an earlier change failed and left them unusable */
        if (!wait)
            return users < 0 ? eg__fail(error, EG_ERR_BUSY, "the weights are being changed already")
                             : eg__fail(error, EG_ERR_BUSY, "%lld runs use the weights",
                                        (long long)users);
        sched_yield();
    }
}

static int state_of(const eg__derived *d) { return __atomic_load_n(&d->state, __ATOMIC_ACQUIRE); }
static void state_set(eg__derived *d, eg__derived_state state) {
    __atomic_store_n(&d->state, state, __ATOMIC_RELEASE);
}

static eg_status derive(eg_weights *weights, eg__derived *d, eg__derived_state state,
                        eg_error *error) {
    eg_status status = run_prologue(weights, d, error);
    if (!status) status = eg__weights_upload(weights, d, error);
    if (!status) state_set(d, state);
    return status;
}

eg_status eg__weights_derive(eg_weights *weights, eg__derived *d, eg_error *error) {
    eg_status status = EG_OK;
    list_lock(weights);
    if (state_of(d) == EG__DERIVED_STALE) status = derive(weights, d, EG__DERIVED_USED, error);
    else state_set(d, EG__DERIVED_USED);
    list_unlock(weights);
    return status;
}

static eg_status end(eg_weights *weights, eg_error *error) {
    eg_status status = EG_OK;
    list_lock(weights);
    for (eg__derived *d = weights->derived; d && !status; d = d->next)
        if (state_of(d) != EG__DERIVED_USED) state_set(d, EG__DERIVED_STALE);
        else status = derive(weights, d, EG__DERIVED_UNUSED, &weights->reason);
    if (status) eg__fail(error, status, "%s", weights->reason.message);
    list_unlock(weights);
    if (!status) {
        __atomic_sub_fetch(&weights->users, CHANGING, __ATOMIC_RELEASE);
        return EG_OK;
    }
    __atomic_store_n(&weights->failed, true, __ATOMIC_RELEASE);
    return status;
}

void eg_weights_end(eg_weights *weights) {
    if (weights) end(weights, NULL);
}

eg_status eg__weights_unready(eg_weights *weights, eg_error *error) {
    list_lock(weights); /* the reason is protected by it */
    const bool failed = __atomic_load_n(&weights->failed, __ATOMIC_ACQUIRE);
    const eg_error reason = weights->reason;
    list_unlock(weights);
    if (!failed) return eg__fail(error, EG_ERR_BUSY, "the weights are being changed");
    return eg__fail(error, reason.status, "the weights could not be prepared: %s", reason.message);
}

eg_status eg_weights_set(eg_weights *weights, const char *name, const eg_tensor *tensor,
                         eg_error *error) {
    if (!weights) return eg__fail(error, EG_ERR_ARGUMENT, "no weights");
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    eg_status status = eg__leaf_check(leaf, tensor, false, error);
    if (!status && leaf->type != EG_F32)
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "'%s' is quantized: eg_weights_set_quantized", name);
    if (!status && leaf->masked)
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "'%s' is masked by its model: eg_model_weights", name);
    if (!status) status = eg_weights_begin(weights, 0, error);
    if (status) return status;
    if (leaf->elements)
        memcpy(weights->data + leaf->offset, tensor->data, leaf->elements * sizeof(float));
    return end(weights, error);
}

static bool same_quantization(const eg_quantization *a, const eg_quantization *b) {
    if (a->type != b->type) return false;
    if (a->type == EG_F16 || a->type == EG_BF16) return true;
    return a->per == b->per && (a->per != EG_PER_BLOCK || a->block == b->block) &&
           !a->symmetric == !b->symmetric;
}

eg_status eg__leaf_check_quantized(const eg__leaf *leaf, const eg_quantized *quantized,
                                   eg_error *error) {
    eg_status status = eg__leaf_check(leaf, &quantized->values, false, error);
    if (!status &&
        (leaf->type == EG_F32 || !same_quantization(&leaf->quantization, &quantized->quantization)))
        status = eg__fail(error, EG_ERR_ARGUMENT, "'%s' is quantized differently", leaf->name);
    return status;
}

static eg_status fill_quantized(const eg__leaf *leaf, const eg_quantized *quantized, char *to,
                                eg_error *error) {
    const eg__quantized_matrix_layout *layout = &leaf->quantized.layout;
    const size_t scales = leaf->quantized.scales;
    uint64_t bytes = 0;
    const eg_status status = eg__leaf_check_quantized(leaf, quantized, error);
    if (status) return status;
    eg_tensor_measure(&quantized->values, NULL, &bytes, NULL);
    if (bytes) memcpy(to, quantized->values.data, (size_t)bytes);
    if (scales) memcpy(to + layout->scale, quantized->scale, scales * sizeof *quantized->scale);
    if (leaf->quantized.has_zeros) memcpy(to + layout->zero, quantized->zero, scales);
    return EG_OK;
}

eg_status eg_weights_set_quantized(eg_weights *weights, const char *name,
                                   const eg_quantized *quantized, eg_error *error) {
    if (!weights || !quantized)
        return eg__fail(error, EG_ERR_ARGUMENT, "no weights or no quantized tensor");
    const eg__leaf *leaf = eg__leaf_find(&weights->program->parameters, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no parameter '%s'", name ? name : "");
    eg_status status = eg_weights_begin(weights, 0, error);
    if (status) return status;
    status = fill_quantized(leaf, quantized, weights->data + leaf->offset, error);
    const eg_status ended = end(weights, status ? NULL : error);
    return status ? status : ended;
}

/* ---- other programs of the same model */
static eg_status check_same(const eg_program *a, const eg_program *b, eg_error *error) {
    if (a == b) return EG_OK;
    if (a->parameters.count != b->parameters.count)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the weights have %zu parameters, the program needs %zu",
                        a->parameters.count, b->parameters.count);
    for (size_t i = 0; i < a->parameters.count; i++) {
        const eg__leaf *x = &a->parameters.list[i], *y = &b->parameters.list[i];
        if (strcmp(x->name, y->name) != 0)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "parameter %zu is '%.80s', the program needs '%.80s'", i, x->name,
                            y->name);
        const eg_tensor tensor = eg__leaf_tensor(x, (void *)x);
        eg_status status = eg__leaf_check(y, &tensor, false, error);
        if (status) return status;
        if (x->masked != y->masked)
            return eg__fail(
                error, EG_ERR_ARGUMENT,
                "parameter '%.80s' is masked by the model for one program, by the graph "
                "of the other (eg_model_options.lent)",
                x->name);
        if (eg__is_quantized(x->type) && !same_quantization(&x->quantization, &y->quantization))
            return eg__fail(error, EG_ERR_ARGUMENT, "parameter '%.80s' is quantized differently",
                            x->name);
    }
    return EG_OK;
}

static bool same_constants(const eg_program *a, const eg_program *b) {
    return a->constants_size == b->constants_size &&
           (!a->constants_size || memcmp(a->constants, b->constants, a->constants_size) == 0);
}

/* Programs with equal prologues share derived values. */
static bool same_prologue(const eg_program *a, const eg_program *b) {
    if (a == b) return true;
    if (a->part_count || b->part_count) return false; /* devices derive values per program */
    if (a->prologue_count != b->prologue_count || a->derived_size != b->derived_size) return false;
    for (size_t i = 0; i < a->prologue_count; i++) {
        const eg__step *x = &a->steps[a->main_count + i], *y = &b->steps[b->main_count + i];
        if (x->kind != y->kind || x->items != y->items || x->rows != y->rows ||
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

static eg_status open_derived(eg_weights *weights, eg__derived *d, eg_error *error) {
    const eg_program *p = d->program;
    eg__memory *memory = weights->program->memory;
    size_t kept = 0, work = 0;
    if (!eg__size_add(p->derived_size, sizeof(float), &kept) ||
        !eg__size_mul(p->scratch_size, eg__threads_count(weights->context->threads), &work) ||
        !eg__size_mul(work, sizeof(float), &work) ||
        !eg__size_add(work, p->prologue_size + sizeof(float), &work))
        return eg__fail(error, EG_ERR_OVERFLOW, "the prologue of the program is too large");
    eg_status status = eg__space_open(memory, EG_TAG_WEIGHTS, kept, &d->kept, error);
    if (!status) status = eg__space_use(memory, &d->kept, 0, kept, error);
    if (!status) status = eg__space_open(memory, EG_TAG_WEIGHTS, work, &d->work, error);
    if (!status) status = eg__space_use(memory, &d->work, 0, work, error);
    d->data = d->kept.data;
    return status;
}

static eg_status attach(eg_weights *weights, eg_program *program, eg__derived **out,
                        eg_error *error) {
    for (eg__derived *d = weights->derived; d; d = d->next)
        if (same_prologue(d->program, program)) {
            *out = d;
            if (state_of(d) == EG__DERIVED_STALE)
                return derive(weights, d, EG__DERIVED_UNUSED, error);
            return weights->is_lent ? eg__weights_fetch(weights, program, error) : EG_OK;
        }
    eg__memory *memory = weights->program->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__derived *d = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *d, &reason);
    if (!d) return eg__fail(error, reason.status, "%s", reason.message);
    d->program = program;
    eg__program_keep(program);
    eg_status status = open_derived(weights, d, error);
    if (!status && weights->is_lent) {
        status = eg__weights_prepare(weights, d, error);
        eg__space_close(memory, &d->work); /* it never runs again */
    } else if (!status) status = run_prologue(weights, d, error);
    if (!status) status = eg__part_weights_create(program, &d->parts, error);
    if (!status) status = eg__weights_upload(weights, d, error);
    if (status) {
        free_derived(memory, d);
        return status;
    }
    d->next = weights->derived;
    weights->derived = d;
    *out = d;
    return EG_OK;
}

eg_status eg__weights_attach(eg_weights *weights, eg_program *program, eg__derived **out,
                             eg_error *error) {
    eg_status status = check_same(weights->program, program, error);
    if (status) return status;
    list_lock(weights);
    status = attach(weights, program, out, error);
    list_unlock(weights);
    return status;
}

eg_status eg__weights_settle(eg_weights *weights, eg_program *program, eg_error *error) {
    eg__derived *derived;
    eg_status status = eg__weights_attach(weights, program, &derived, error);
    weights->lender = (eg__lender){.fill = NULL};
    return status;
}
