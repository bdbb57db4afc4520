/* One user of a program: memory, states, bindings; and the run. */
#include "base/abi.h"
#include "engine/loop.h"
#include "engine/parts.h"
#include "graph/steps/stop.h"

#include <string.h>

typedef struct binding {
    size_t rows;   /* extent of the first axis, if that is time */
    bool missing;  /* nothing is bound */
    eg__space own; /* memory that the instance owns, for outputs */
} binding;

/* States, which last from run to run; several instances may share them. */
typedef struct states {
    int64_t references; /* atomic */
    char *plain, *caches;
    eg__space plain_space, caches_space; /* that they lie in */
    /* The instance whose devices hold newer values of the states than this memory; NULL = this
     * memory is current. */
    eg_instance *holder;
    bool is_open; /* locked by a reader or writer */
} states;

struct eg_instance {
    eg_program *program;
    eg_weights *weights;
    eg__derived *derived;    /* of `weights`; NULL = the program needs none */
    eg_weights *own_weights; /* derived constants of a program without parameters */
    char **base;             /* per space */
    binding *bindings;
    eg__space arena;
    float *scratch;
    states *states;
    size_t missing;  /* inputs and outputs that are not bound */
    size_t shortest; /* smallest number of time steps that is bound */
    eg__record *record;
    eg__part_instance *parts;
    bool has_states; /* its parts do */
};

static eg_status states_create(const eg_program *p, states **out, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    states *s = *out = eg__memory_take_zeroed(p->memory, EG_TAG_PROGRAM, sizeof *s, &reason);
    if (!s) return eg__fail(error, reason.status, "%s", reason.message);
    s->references = 1;
    eg_status status = eg__pages_take(p, EG_TAG_ARENA, p->states_size, &s->plain_space, error);
    if (!status && p->caches_size)
        status = eg__pages_take(p, EG_TAG_CACHE, p->caches_size, &s->caches_space, error);
    s->plain = s->plain_space.data;
    s->caches = s->caches_space.data;
    return status;
}

static void states_release(eg__memory *memory, states *s) {
    if (!s || __atomic_sub_fetch(&s->references, 1, __ATOMIC_ACQ_REL)) return;
    eg__space_close(memory, &s->plain_space);
    eg__space_close(memory, &s->caches_space);
    eg__memory_give(memory, s);
}

/* Copies states that a device holds to the host. */
static eg_status states_fetch(states *s, eg_error *error) {
    eg_instance *holder = s->holder;
    if (!holder) return EG_OK;
    eg_status status =
        eg__parts_sync(holder->program, holder->parts, s->plain, s->caches, EG__TO_HOST, error);
    if (!status) s->holder = NULL; /* on failure the device still holds them */
    return status;
}

/* Before a run: states that its parts hold must be on its devices, all others on the host. */
static eg_status states_place(eg_instance *in, eg_error *error) {
    states *s = in->states;
    if (s->is_open) return eg__fail(error, EG_ERR_BUSY, "the states are being read or changed");
    if (s->holder == in) return EG_OK;
    eg_status status = states_fetch(s, error);
    if (!status && in->has_states) {
        status = eg__parts_sync(in->program, in->parts, s->plain, s->caches, EG__TO_DEVICE, error);
        s->holder = status ? NULL : in;
    }
    return status;
}

/* Equal states in equal order have equal offsets. */
static eg_status states_share(const eg_instance *with, const eg_program *p, eg_error *error) {
    const eg__leaves *a = &p->states, *b = &with->program->states;
    if (p->memory != with->program->memory)
        return eg__fail(error, EG_ERR_ARGUMENT, "the other instance belongs to another context");
    for (size_t i = 0; i < eg__max(a->count, b->count); i++) {
        if (i >= a->count || i >= b->count || strcmp(a->list[i].name, b->list[i].name) != 0)
            return eg__fail(
                error, EG_ERR_ARGUMENT, "state %zu is '%s' here and '%s' in the other program", i,
                i < a->count ? a->list[i].name : "", i < b->count ? b->list[i].name : "");
        const eg_tensor other = eg__leaf_tensor(&b->list[i], with->states);
        eg_error reason;
        if (eg__leaf_check(&a->list[i], &other, false, &reason) ||
            a->list[i].cached != b->list[i].cached)
            return eg__fail(error, EG_ERR_ARGUMENT, "not the same state in both programs: %s",
                            a->list[i].cached != b->list[i].cached ? a->list[i].name
                                                                   : reason.message);
    }
    __atomic_add_fetch(&with->states->references, 1, __ATOMIC_RELAXED);
    return EG_OK;
}

/* Derived values may be shared with another program; constants are not. */
static eg_status create(eg_instance *in, eg_error *error) {
    const eg_program *p = in->program;
    eg__memory *memory = p->memory;
    const size_t bound = p->inputs.count + p->outputs.count;
    const size_t threads = eg__threads_count(p->context->threads);
    size_t scratch;
    if (!eg__size_mul(p->scratch_size, threads, &scratch))
        return eg__fail(error, EG_ERR_OVERFLOW, "scratch memory of %zu threads", threads);
    eg_error reason = {EG_ERR_MEMORY, ""};
    in->base = eg__memory_take_array(memory, EG_TAG_PROGRAM, EG__SPACE_BOUND + bound,
                                     sizeof *in->base, &reason);
    in->bindings =
        eg__memory_take_array(memory, EG_TAG_PROGRAM, bound + 1, sizeof *in->bindings, &reason);
    in->scratch =
        eg__memory_take_array(memory, EG_TAG_ARENA, scratch + 1, sizeof *in->scratch, &reason);
    if (!in->base || !in->bindings || !in->scratch)
        return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__pages_take(p, EG_TAG_ARENA, p->arena_size, &in->arena, error);
    if (status) return status;
    for (size_t i = 0; i < bound; i++) in->bindings[i].missing = true;
    in->missing = bound;
    in->shortest = SIZE_MAX;
    in->base[EG__SPACE_ARENA] = eg__space_or_nothing(in->arena.data);
    in->base[EG__SPACE_STATES] = eg__space_or_nothing(in->states->plain);
    in->base[EG__SPACE_CACHES] = eg__space_or_nothing(in->states->caches);
    in->base[EG__SPACE_CONSTANTS] = eg__space_or_nothing(p->constants);
    if (!in->weights && (p->prologue_count || p->part_count)) {
        status = eg_weights_create(in->program, &in->own_weights, error);
        if (status) return status;
        in->weights = in->own_weights;
    }
    in->has_states = eg__parts_have_states(p);
    if (!in->weights) return EG_OK;
    status = eg__weights_attach(in->weights, in->program, &in->derived, error);
    if (status) return status;
    in->base[EG__SPACE_PARAMETERS] = eg__space_or_nothing(in->weights->data);
    in->base[EG__SPACE_DERIVED] = eg__space_or_nothing(in->derived->data);
    return eg__parts_create(p, in->derived->parts, &in->parts, error);
}

eg_status eg_instance_create(eg_program *program, eg_weights *weights, eg_instance **out,
                             eg_error *error) {
    return eg_instance_create_with(program, weights, NULL, out, error);
}

eg_status eg_instance_create_with(eg_program *program, eg_weights *weights, const eg_instance *with,
                                  eg_instance **out, eg_error *error) {
    if (!program || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "instance: no program or no output pointer");
    *out = NULL;
    if (!weights && program->parameters.count)
        return eg__fail(error, EG_ERR_ARGUMENT, "a program with %zu parameters needs weights",
                        program->parameters.count);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_instance *in = eg__memory_take_zeroed(program->memory, EG_TAG_PROGRAM, sizeof *in, &reason);
    if (!in) return eg__fail(error, reason.status, "%s", reason.message);
    in->program = program;
    in->weights = weights;
    eg__program_keep(program);
    eg_status status =
        with ? states_share(with, program, error) : states_create(program, &in->states, error);
    if (!status && with) in->states = with->states;
    if (!status) status = create(in, error);
    if (status) eg_instance_destroy(in);
    else *out = in;
    return status;
}

void eg_instance_destroy(eg_instance *in) {
    if (!in) return;
    eg__memory *memory = in->program->memory;
    if (in->states && in->states->holder == in) (void)states_fetch(in->states, NULL);
    eg__parts_release(in->program, in->parts);
    for (size_t i = 0; in->bindings && i < in->program->inputs.count + in->program->outputs.count;
         i++)
        eg__space_close(memory, &in->bindings[i].own);
    eg_weights_destroy(in->own_weights);
    eg__memory_give(memory, in->base);
    eg__memory_give(memory, in->bindings);
    eg__space_close(memory, &in->arena);
    states_release(memory, in->states);
    eg__memory_give(memory, in->scratch);
    eg_program_release(in->program);
    eg__memory_give(memory, in);
}

/* ---- bindings */
static const eg__leaf *bound_leaf(const eg_program *p, size_t at) {
    return at < p->inputs.count ? &p->inputs.list[at] : &p->outputs.list[at - p->inputs.count];
}

static void bind(eg_instance *in, size_t at, void *data, size_t rows) {
    const eg_program *p = in->program;
    binding *b = &in->bindings[at];
    in->missing -= b->missing;
    b->missing = false;
    b->rows = rows;
    in->base[EG__SPACE_BOUND + at] = data;
    in->shortest = SIZE_MAX;
    for (size_t i = 0; i < p->inputs.count + p->outputs.count; i++) {
        const eg__leaf *leaf = bound_leaf(p, i);
        if (!leaf->timed || in->bindings[i].missing) continue;
        const size_t per_step = (size_t)leaf->shape[0] / p->length;
        in->shortest = eg__min(in->shortest, in->bindings[i].rows / per_step);
    }
}

static bool find_bound(const eg_program *p, const char *name, size_t *at) {
    if (eg__leaf_find(&p->inputs, name, at)) return true;
    if (!eg__leaf_find(&p->outputs, name, at)) return false;
    *at += p->inputs.count;
    return true;
}

eg_status eg_instance_bind(eg_instance *in, const char *name, const eg_tensor *tensor,
                           eg_error *error) {
    size_t at;
    if (!in) return eg__fail(error, EG_ERR_ARGUMENT, "no instance");
    if (!find_bound(in->program, name, &at))
        return eg__fail(error, EG_ERR_NOT_FOUND, "no input or output '%s'", name ? name : "");
    const eg__leaf *leaf = bound_leaf(in->program, at);
    eg_status status = eg__leaf_check(leaf, tensor, leaf->timed, error);
    /* from now on the old memory may be freed */
    if (!status) status = eg__parts_forget(in->program, in->parts, error);
    if (!status) bind(in, at, tensor->data, leaf->rank ? (size_t)tensor->shape[0] : 1);
    return status;
}

eg_status eg_instance_output(eg_instance *in, const char *name, eg_tensor *out, eg_error *error) {
    size_t at;
    if (!in || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no instance or no output pointer");
    const eg__leaf *leaf = eg__leaf_find(&in->program->outputs, name, &at);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no output '%s'", name ? name : "");
    at += in->program->inputs.count;
    binding *b = &in->bindings[at];
    if (b->missing) {
        eg_status status = eg__pages_take(in->program, EG_TAG_ARENA,
                                          eg__max(leaf->elements, 1) * eg__element_size(leaf->type),
                                          &b->own, error);
        if (status) return status;
        bind(in, at, b->own.data, leaf->rank ? (size_t)leaf->shape[0] : 1);
    }
    *out = eg__leaf_tensor(leaf, in->base[EG__SPACE_BOUND + at]);
    return EG_OK;
}

eg_status eg_instance_state(eg_instance *in, const char *name, eg_tensor *out, eg_error *error) {
    if (!in || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no instance or no output pointer");
    const eg__leaf *leaf = eg__leaf_find(&in->program->states, name, NULL);
    if (!leaf) return eg__fail(error, EG_ERR_NOT_FOUND, "no state '%s'", name ? name : "");
    char *data = leaf->cached ? in->states->caches : in->states->plain;
    *out = eg__leaf_tensor(leaf, data + leaf->offset);
    return EG_OK;
}

eg_status eg_instance_state_begin(eg_instance *in, eg_error *error) {
    if (!in) return eg__fail(error, EG_ERR_ARGUMENT, "no instance");
    if (in->states->is_open)
        return eg__fail(error, EG_ERR_BUSY, "the states are being read or changed already");
    eg_status status = states_fetch(in->states, error);
    in->states->is_open = !status;
    return status;
}

void eg_instance_state_end(eg_instance *in) {
    if (in) in->states->is_open = false;
}

void eg_instance_reset(eg_instance *in) {
    if (!in) return;
    const eg_program *p = in->program;
    in->states->holder = NULL; /* values on devices are outdated now */
    if (p->states_size) memset(in->states->plain, 0, p->states_size);
    if (p->caches_size) memset(in->states->caches, 0, p->caches_size);
}

/* ---- running */
static eg_status check_run(const eg_instance *in, uint64_t length, eg_error *error) {
    const eg_program *p = in->program;
    for (size_t i = 0; in->missing && i < p->inputs.count + p->outputs.count; i++)
        if (in->bindings[i].missing)
            return eg__fail(error, EG_ERR_ARGUMENT, "%s '%s' has no memory: bind it%s",
                            i < p->inputs.count ? "input" : "output", bound_leaf(p, i)->name,
                            i < p->inputs.count ? "" : " or ask for it");
    if (length && !p->length)
        return p->length_fixed
                   ? eg__fail(error, EG_ERR_UNSUPPORTED,
                              "the length of this program is fixed: its %s mixes time steps",
                              eg__node_operation(&p->graph->nodes[p->length_node]))
                   : eg__fail(error, EG_ERR_UNSUPPORTED,
                              "this program has no time axis, so no length can be set");
    if (length > p->length)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a run of %llu steps is not within 1..%zu, which the program "
                        "was compiled for",
                        (unsigned long long)length, p->length);
    if (p->length && (length ? length : p->length) > in->shortest)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a run of %llu steps does not fit the bound tensors, which have "
                        "%zu",
                        (unsigned long long)(length ? length : p->length), in->shortest);
    return EG_OK;
}

const eg_program *eg__instance_program(const eg_instance *in) { return in->program; }
void eg__instance_record(eg_instance *in, eg__record *record) { in->record = record; }

/* Both clocks are read at the begin of the recording, and again whenever it has become an eighth
 * longer, so that ticks can be converted to nanoseconds. Reading the system's clock after every run
 * would take longer than the steps of small models. */
static eg_status run_recorded(eg_instance *in, eg__run run, eg_error *error) {
    eg__record *record = in->record;
    run.record = record;
    if (!record->began) {
        record->began_ns = eg_clock_ns();
        record->began = eg__ticks();
    }
    const eg_status status =
        eg__steps_run(&run, in->program->steps, in->program->main_count, error);
    const uint64_t now = eg__ticks(), known = record->ended ? record->ended - record->began : 0;
    if (now - record->began >= known + known / 8) {
        record->ended_ns = eg_clock_ns();
        record->ended = eg__ticks();
    }
    return status;
}

eg_status eg__instance_run(eg_instance *in, uint64_t length, uint64_t seed, eg__stop *stop,
                           eg_error *error) {
    const eg_program *p = in->program;
    if (in->missing || length || in->shortest < p->length) {
        eg_status status = check_run(in, length, error);
        if (status) return status;
    }
    if (in->has_states || in->states->holder || in->states->is_open) {
        eg_status status = states_place(in, error);
        if (status) return status;
    }
    if (in->weights && __atomic_add_fetch(&in->weights->users, 1, __ATOMIC_ACQUIRE) <= 0) {
        __atomic_sub_fetch(&in->weights->users, 1, __ATOMIC_RELAXED);
        return eg__weights_unready(in->weights, error);
    }
    if (in->derived && __atomic_load_n(&in->derived->state, __ATOMIC_ACQUIRE) != EG__DERIVED_USED) {
        const eg_status status = eg__weights_derive(in->weights, in->derived, error);
        if (status) {
            __atomic_sub_fetch(&in->weights->users, 1, __ATOMIC_RELEASE);
            return status;
        }
    }
    const eg__run run = {.program = p,
                         .threads = p->context->threads,
                         .stop = stop,
                         .base = in->base,
                         .scratch = in->scratch,
                         .scratch_size = p->scratch_size,
                         .length = length ? (size_t)length : p->length,
                         .seed = seed,
                         .parts = in->parts};
    const eg_status status = in->record && eg__record_wants(in->record)
                                 ? run_recorded(in, run, error)
                                 : eg__steps_run(&run, p->steps, p->main_count, error);
    if (status) eg__parts_settle(p, in->parts);
    if (in->weights) __atomic_sub_fetch(&in->weights->users, 1, __ATOMIC_RELEASE);
    return status;
}

eg_status eg_run(eg_instance *in, const eg_run_options *options, eg_error *error) {
    if (!in) return eg__fail(error, EG_ERR_ARGUMENT, "no instance");
    if (!options) return eg__instance_run(in, 0, 0, NULL, error); /* stream steps must be fast */
    return eg_run_all(1, &in, options, error);
}
