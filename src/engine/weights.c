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

static void run_steps(const eg_weights *weights, const eg__derived *derived, const eg__step *steps,
                      size_t count) {
    eg_program *p = derived->program;
    float *work = derived->work.data;
    float *base[EG__SPACE_BOUND] = {work, weights->data, derived->data, p->constants, NULL};
    const eg__run run = {.program = p,
                         .kernels = p->kernels,
                         .threads = weights->context->threads,
                         .base = base,
                         .scratch = work + p->prologue_size,
                         .scratch_size = p->scratch_size};
    eg__steps_run(&run, steps, count);
}

static const eg__step *prologue(const eg__derived *derived) {
    return derived->program->steps + derived->program->main_count;
}
static void run_prologue(const eg_weights *weights, const eg__derived *derived) {
    run_steps(weights, derived, prologue(derived), derived->program->prologue_count);
}

/* ---- life */
static eg_status create(eg_program *program, bool is_lent, eg_weights **out, eg_error *error) {
    eg__memory *memory = program->memory;
    const size_t parameters = program->parameters.count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_status status = EG_OK;
    size_t bytes = 0;
    if (!eg__size_mul(program->parameters_size + 1, sizeof(float), &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "weights of %zu values", program->parameters_size);
    eg_weights *weights = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *weights, &reason);
    if (!weights) return eg__fail(error, reason.status, "%s", reason.message);
    weights->context = program->context;
    weights->program = program;
    weights->is_lent = is_lent;
    eg__program_keep(program);
    status = eg__space_open(memory, EG_TAG_WEIGHTS, bytes, &weights->space, error);
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

/* ---- what they hold */
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
    return (eg_tensor){EG_F32, 1, {weights->program->parameters_size}, weights->data};
}

eg_status eg_weights_begin(eg_weights *weights, int wait, eg_error *error) {
    eg_status status = check_own(weights, error);
    if (status) return status;
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
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "'%s' is quantized: eg_weights_set_quantized", name);
    if (!status && leaf->masked)
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "'%s' is masked by its model: eg_model_weights", name);
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

eg_status eg__leaf_fill_scales(const eg__leaf *leaf, const eg_quantized *quantized, void *memory,
                               eg_error *error) {
    eg_status status = eg__leaf_check(leaf, &quantized->values, false, error);
    if (!status && (leaf->type == EG_F32 || !same_quantization(&leaf->how, &quantized->how)))
        status = eg__fail(error, EG_ERR_ARGUMENT, "'%s' is quantized in another way", leaf->name);
    if (status) return status;
    const eg__stored_layout *layout = &leaf->small.layout;
    char *to = memory;
    const size_t scales = leaf->small.scales;
    if (scales) memcpy(to + layout->scale, quantized->scale, scales * sizeof *quantized->scale);
    if (leaf->small.has_zeros) memcpy(to + layout->zero, quantized->zero, scales);
    return EG_OK;
}

static eg_status fill_quantized(const eg__leaf *leaf, const eg_quantized *quantized, void *to,
                                eg_error *error) {
    uint64_t bytes = 0;
    eg_status status = eg__leaf_fill_scales(leaf, quantized, to, error);
    eg_tensor_measure(&quantized->values, NULL, &bytes, NULL);
    if (!status && bytes) memcpy(to, quantized->values.data, (size_t)bytes);
    return status;
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
        if (x->masked != y->masked)
            return eg__fail(
                error, EG_ERR_ARGUMENT,
                "parameter '%.80s' is masked by the model for one program, by the graph "
                "of the other (eg_model_options.lent)",
                x->name);
        if (eg__is_quantized(x->type) && !same_quantization(&x->how, &y->how))
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

/* ---- parameters that are lent: there while steps of a prologue read them, or to stay */
static size_t leaf_bytes(const eg__leaf *leaf) { return eg__leaf_floats(leaf) * sizeof(float); }

static eg_status fetch(eg_weights *w, size_t index, eg__holding as, eg_error *error) {
    const eg__leaf *leaf = &w->program->parameters.list[index];
    const size_t offset = leaf->offset * sizeof(float), size = leaf_bytes(leaf);
    if (w->holds[index]) {
        w->holds[index] = eg__max(w->holds[index], as);
        return EG_OK;
    }
    if (!w->lender.fill)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "these weights were prepared for one program");
    eg_status status = eg__space_use(w->program->memory, &w->space, offset, size, error);
    if (status) return status;
    w->holds[index] = as;
    return w->lender.fill(w->lender.user, leaf, 0, leaf->elements, w->data + leaf->offset, error);
}

static void drop_passing(eg_weights *w, size_t index) {
    const eg__leaf *leaf = &w->program->parameters.list[index];
    if (w->holds[index] != EG__PASSING) return;
    eg__space_drop(w->program->memory, &w->space, leaf->offset * sizeof(float), leaf_bytes(leaf));
    w->holds[index] = EG__ABSENT;
}

/* What the program itself reads. */
static eg_status fetch_read(eg_weights *w, const eg_program *program, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; i < program->parameters.count && !status; i++)
        if (!program->parameters.list[i].settled) status = fetch(w, i, EG__STAYING, error);
    return status;
}

/* A large matrix that is only packed is there a few panels at a time; as a whole it would be there twice. */
enum { PIECE = 1 << 20 };

static bool reads(const eg__step *step, const eg__leaf *leaf) {
    for (unsigned i = 0; i < step->operands; i++) {
        const eg__operand *o = &step->operand[i];
        if (o->space == EG__SPACE_PARAMETERS && o->offset >= leaf->offset &&
            o->offset < leaf->offset + eg__leaf_floats(leaf))
            return true;
    }
    return false;
}

static bool packs_by_pieces(const eg__step *step) {
    eg__step piece;
    eg__operand operands[2];
    size_t from, end;
    return eg__pack_piece(step, 0, 1, &piece, operands, &from, &end);
}

/* The parameter that `step` packs, if all that read it can do with pieces; NULL = none. */
static const eg__leaf *in_pieces(const eg_weights *w, const eg__derived *d, const eg__step *step) {
    const eg__leaves *leaves = &d->program->parameters;
    const eg__leaf *leaf = NULL;
    if (!w->space.mapped || !w->lender.fill || !packs_by_pieces(step)) return NULL;
    for (size_t i = 0; i < leaves->count && !leaf; i++)
        if (w->holds[i] == EG__ABSENT && reads(step, &leaves->list[i])) leaf = &leaves->list[i];
    if (!leaf || leaf->type != EG_F32 || leaf_bytes(leaf) < 4 * PIECE) return NULL;
    for (uint32_t s = leaf->first_read; s <= leaf->last_read; s++)
        if (reads(prologue(d) + s, leaf) && !packs_by_pieces(prologue(d) + s)) return NULL;
    return leaf;
}

static eg_status pack_pieces(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                             const eg__step *step, eg_error *error) {
    eg__memory *memory = w->program->memory;
    const size_t panels = eg__max(PIECE / (leaf_bytes(leaf) / step->items + 1), 1);
    eg_status status = EG_OK;
    for (size_t at = 0; at < step->items && !status; at += panels) {
        eg__step piece;
        eg__operand operands[2];
        size_t from, end;
        eg__pack_piece(step, at, eg__min(panels, step->items - at), &piece, operands, &from, &end);
        const size_t offset = from * sizeof(float), size = (end - from) * sizeof(float);
        status = eg__space_use(memory, &w->space, offset, size, error);
        if (status) return status;
        status = w->lender.fill(w->lender.user, leaf, from - leaf->offset, end - from,
                                w->data + from, error);
        if (!status) run_steps(w, d, &piece, 1);
        eg__space_drop(memory, &w->space, offset, size);
    }
    return status;
}

static eg_status prepare_step(eg_weights *w, const eg__derived *d, uint32_t s, eg_error *error) {
    const eg__leaves *leaves = &d->program->parameters;
    const eg__step *step = prologue(d) + s;
    const eg__leaf *packed = in_pieces(w, d, step);
    if (packed) return pack_pieces(w, d, packed, step, error);
    eg_status status = EG_OK;
    for (size_t i = 0; i < leaves->count && !status; i++)
        if (reads(step, &leaves->list[i])) status = fetch(w, i, EG__PASSING, error);
    if (!status) run_steps(w, d, step, 1);
    /* a large one is fetched again by the next step that reads it: there may be many of them in between */
    for (size_t i = 0; i < leaves->count; i++)
        if (leaves->list[i].last_read == s || leaf_bytes(&leaves->list[i]) >= 4 * PIECE)
            drop_passing(w, i);
    return status;
}

static eg_status prepare_lent(eg_weights *w, const eg__derived *d, eg_error *error) {
    const eg__leaves *leaves = &d->program->parameters;
    eg_status status = fetch_read(w, d->program, error);
    for (uint32_t s = 0; s < d->program->prologue_count && !status; s++)
        status = prepare_step(w, d, s, error);
    for (size_t i = 0; i < leaves->count && status; i++) drop_passing(w, i);
    return status;
}

static eg_status open_derived(eg_weights *weights, eg__derived *d, eg_error *error) {
    const eg_program *p = d->program;
    eg__memory *memory = weights->program->memory;
    size_t kept = 0, work = 0;
    if (!eg__size_mul(p->derived_size + 1, sizeof(float), &kept) ||
        !eg__size_mul(p->scratch_size, eg__threads_count(weights->context->threads), &work) ||
        !eg__size_add(work, p->prologue_size + 1, &work) ||
        !eg__size_mul(work, sizeof(float), &work))
        return eg__fail(error, EG_ERR_OVERFLOW, "the prologue of the program is too large");
    eg_status status = eg__space_open(memory, EG_TAG_WEIGHTS, kept, &d->kept, error);
    if (!status) status = eg__space_use(memory, &d->kept, 0, kept, error);
    if (!status) status = eg__space_open(memory, EG_TAG_WEIGHTS, work, &d->work, error);
    if (!status) status = eg__space_use(memory, &d->work, 0, work, error);
    d->data = d->kept.data;
    return status;
}

static eg_status attach(eg_weights *weights, eg_program *program, const eg__derived **out,
                        eg_error *error) {
    for (eg__derived *d = weights->derived; d; d = d->next)
        if (same_prologue(d->program, program)) {
            *out = d;
            return weights->is_lent ? fetch_read(weights, program, error) : EG_OK;
        }
    eg__memory *memory = weights->program->memory;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__derived *d = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *d, &reason);
    if (!d) return eg__fail(error, reason.status, "%s", reason.message);
    d->program = program;
    eg__program_keep(program);
    eg_status status = open_derived(weights, d, error);
    if (!status && weights->is_lent) {
        status = prepare_lent(weights, d, error);
        eg__space_close(memory, &d->work); /* it never runs again */
    } else if (!status) run_prologue(weights, d);
    if (status) {
        free_derived(memory, d);
        return status;
    }
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

eg_status eg__weights_settle(eg_weights *weights, eg_program *program, eg_error *error) {
    const eg__derived *derived;
    eg_status status = eg__weights_attach(weights, program, &derived, error);
    weights->lender = (eg__lender){.fill = NULL};
    return status;
}
