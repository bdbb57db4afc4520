/* One step of training: compiled programs for loss and gradients, and for the update. */
#include "base/abi.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

/* ---- memory */
static float *take(eg_trainer *t, size_t count, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *memory =
        eg__memory_take_array(t->memory, EG_TAG_WEIGHTS, count + 16, sizeof *memory, &reason);
    if (!memory && !*status) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

static eg_status batch_take(eg_trainer *t, eg_train_batch *out, eg_error *error) {
    const eg_train_options *o = &t->options;
    const size_t steps = (size_t)(o->time * o->batch), rows = o->last ? (size_t)o->batch : steps;
    const size_t targets = rows * (size_t)t->batch.target_size;
    const size_t sizes[] = {steps * (size_t)t->info.inputs, targets, targets,
                            o->timespans ? steps : 0, o->lengths ? (size_t)o->batch : 0};
    size_t total = 0, at[5];
    for (unsigned i = 0; i < 5; i++) {
        at[i] = total;
        total += eg__round_up(sizes[i], 16);
    }
    eg_status status = EG_OK;
    float *m = take(t, total, &status, error);
    if (status) return status;
    *out = (eg_train_batch){.x = m + at[0],
                            .tokens = t->model->transformer ? (int32_t *)(m + at[0]) : NULL,
                            .target = m + at[1],
                            .weight = m + at[2],
                            .timespans = o->timespans ? m + at[3] : NULL,
                            .lengths = o->lengths ? m + at[4] : NULL,
                            .target_size = t->batch.target_size};
    return EG_OK;
}

static void batch_fill(const eg_trainer *t, const eg_train_batch *batch) {
    const eg_train_options *o = &t->options;
    const size_t steps = (size_t)(o->time * o->batch), rows = o->last ? (size_t)o->batch : steps;
    const size_t targets = rows * (size_t)batch->target_size;
    for (size_t i = 0; i < targets; i++) batch->weight[i] = 1;
    for (size_t i = 0; batch->timespans && i < steps; i++) batch->timespans[i] = 1;
    for (size_t i = 0; batch->lengths && i < o->batch; i++) batch->lengths[i] = (float)o->time;
}

eg_status eg_trainer_batch_create(eg_trainer *t, eg_train_batch *out, eg_error *error) {
    const eg_status status = batch_take(t, out, error);
    if (!status) batch_fill(t, out);
    return status;
}

/* The trainer's own batch costs nothing until somebody asks for it; a loader has batches of its
 * own. */
static void batch_own(eg_trainer *t) {
    if (!t->batch_filled) batch_fill(t, &t->batch);
    t->batch_filled = true;
}

void eg_trainer_batch_destroy(eg_trainer *t, eg_train_batch *batch) {
    eg__memory_give(t->memory, batch->x); /* one piece of memory begins there */
    *batch = (eg_train_batch){0};
}

/* The memory of an input or output; NULL for a gradient. */
static void *memory_of(eg_trainer *t, const char *name) {
    const struct {
        const char *name;
        void *memory;
    } known[] = {{"x", t->used->x},
                 {"tokens", t->used->tokens},
                 {"target", t->used->target},
                 {"weight", t->used->weight},
                 {"timespans", t->used->timespans},
                 {"lengths", t->used->lengths},
                 {EG__LOSS_SCALE, &t->scale},
                 {"loss", &t->loss},
                 {"y", t->outputs},
                 {"given", t->given}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) return known[i].memory;
    return NULL;
}

static eg_status bind_one(eg_trainer *t, eg_instance *instance, const eg_program *program,
                          eg_leaf_kind kind, size_t index, eg_error *error) {
    eg_tensor tensor;
    const char *name = eg_program_leaf(program, kind, index, &tensor);
    tensor.data = memory_of(t, name);
    if (!tensor.data) { /* gradients are in the order of the parameters */
        eg_tensor parameter;
        eg_status status = eg_weights_tensor(t->weights, name + 2, &parameter, error);
        if (status) return status;
        const float *all = eg_weights_all(t->weights).data;
        tensor.data = t->gradients + ((const float *)parameter.data - all);
    }
    return eg_instance_bind(instance, name, &tensor, error);
}

static eg_status bind_all(eg_trainer *t, eg_leaf_kind kind, eg_error *error) {
    eg_instance *const instances[] = {t->instance, t->forward_instance};
    const eg_program *const programs[] = {t->program, t->forward};
    eg_status status = EG_OK;
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; !status && instances[k] && eg_program_leaf(programs[k], kind, i, NULL);
             i++)
            status = bind_one(t, instances[k], programs[k], kind, i, error);
    return status;
}

eg_status eg_trainer_use(eg_trainer *t, const eg_train_batch *batch, eg_error *error) {
    if (!batch) {
        batch_own(t);
        batch = &t->batch;
    }
    if (batch == t->used) return EG_OK;
    t->used = batch;
    return bind_all(t, EG_LEAF_INPUT, error);
}

static eg_status check_room(const eg_trainer *t, const eg__train_room *room, eg_error *error) {
    if (!room) return EG_OK;
    const uint64_t bytes = eg__train_bytes(t, room), left = eg__memory_left(t->memory);
    const bool allowed = !room->most || bytes <= room->most;
    if (allowed && bytes <= left) return EG_OK;
    return eg__fail(error, EG_ERR_BUDGET, "a batch of %llu takes %llu bytes, more than the %llu %s",
                    (unsigned long long)t->options.batch, (unsigned long long)bytes,
                    (unsigned long long)(allowed ? left : room->most),
                    allowed ? "that may still be used here" : "allowed");
}

static eg_status create(eg_trainer *t, const eg__train_room *room, eg_error *error) {
    eg_status status = eg__optimizer_complete(&t->options.optimizer, error);
    if (!status) status = eg__train_compile(t, error);
    if (!status) status = check_room(t, room, error);
    eg_program *program = t->program ? t->program : t->forward;
    if (!status) status = eg_weights_create(program, &t->weights, error);
    if (!status) status = eg_model_weights(t->model, t->weights, error);
    if (!status) status = batch_take(t, &t->batch, error);
    if (status) return status;
    const uint64_t rows = t->options.last ? t->options.batch : t->options.time * t->options.batch;
    t->count = (size_t)eg_weights_all(t->weights).shape[0];
    t->outputs = take(t, (size_t)(rows * t->info.outputs), &status, error);
    if (t->gives) t->given = take(t, (size_t)(rows * t->info.outputs), &status, error);
    float **const arrays[] = {&t->gradients, &t->first, &t->second};
    for (unsigned i = 0; t->program && i < 3; i++) *arrays[i] = take(t, t->count, &status, error);
    if (!status && t->program)
        status = eg_instance_create(t->program, t->weights, &t->instance, error);
    const eg__update_buffers buffers = {eg_weights_all(t->weights).data, t->gradients, t->first,
                                        t->second};
    if (!status && t->program) status = eg__update_bind(&t->update, &buffers, error);
    t->used = &t->batch;
    if (!status) status = bind_all(t, EG_LEAF_INPUT, error);
    if (!status) status = bind_all(t, EG_LEAF_OUTPUT, error);
    return status;
}

eg_status eg__trainer_create(const eg_model *model, const eg_train_options *given,
                             const eg__train_room *room, eg_trainer **out, eg_error *error) {
    if (!model || !given || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "trainer: no model, options or output pointer");
    *out = NULL;
    eg_train_options kept, *const options = &kept;
    eg_status taken = eg__model_check_values(model, error);
    if (!taken) taken = EG__OPTIONS(eg_train_options, &kept, given, error);
    if (taken) return taken;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_trainer *t = eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *t, &reason);
    if (!t) return eg__fail(error, reason.status, "%s", reason.message);
    t->context = model->context;
    t->memory = model->memory;
    t->model = model;
    t->options = *options;
    if (!t->options.batch) t->options.batch = 1;
    if (!t->options.time) t->options.time = 1;
    t->scale = t->options.dtype == EG_F16 ? 0x1p16f : 1;
    eg_model_info_get(model, &t->info);
    t->batch.target_size = options->loss == EG_LOSS_CLASSES ? 1 : t->info.outputs;
    eg_status status = EG_OK;
    if (model->transformer && (options->last || options->timespans || options->lengths))
        status = eg__fail(error, EG_ERR_UNSUPPORTED,
                          "a transformer learns from all its tokens: the options last, "
                          "spans and lengths do not apply");
    if (!status && !model->transformer)
        status = eg__link_fits(model, eg_loss_link(options->loss), error);
    if (!status) status = create(t, room, error);
    if (status) eg_trainer_destroy(t);
    else *out = t;
    return status;
}

eg_status eg_trainer_create(const eg_model *model, const eg_train_options *options,
                            eg_trainer **out, eg_error *error) {
    return eg__trainer_create(model, options, NULL, out, error);
}

void eg_trainer_destroy(eg_trainer *t) {
    if (!t) return;
    eg__update_release(&t->update);
    eg_instance_destroy(t->instance);
    eg_instance_destroy(t->forward_instance);
    eg_weights_destroy(t->weights);
    eg_program_release(t->program);
    eg_program_release(t->forward);
    float *const arrays[] = {t->gradients, t->sum, t->first, t->second, t->outputs, t->given};
    for (unsigned i = 0; i < 6; i++) eg__memory_give(t->memory, arrays[i]);
    eg_trainer_batch_destroy(t, &t->batch);
    eg__memory_give(t->memory, t);
}

eg_train_batch eg_trainer_batch(eg_trainer *t) {
    batch_own(t);
    return t->batch;
}

const eg_program *eg_trainer_program(const eg_trainer *t) { return t->program; }

const char *eg_train_part_name(eg_train_part part) {
    static const char *const names[EG_TRAIN_PARTS] = {"gradient", "sum", "norm", "update"};
    return (unsigned)part < EG_TRAIN_PARTS ? names[part] : NULL;
}

const eg_program *eg_trainer_part(const eg_trainer *t, eg_train_part part, eg_instance **instance) {
    const bool known = (unsigned)part < EG_TRAIN_PARTS, first = part == EG_TRAIN_GRADIENT;
    if (instance) *instance = !known ? NULL : first ? t->instance : t->update.instances[part];
    return !known ? NULL : first ? t->program : t->update.programs[part];
}

/* ---- steps */

/* Begins a sum with the gradient there is. Its memory is taken the first time: many trainings never add. */
static eg_status begin_sum(eg_trainer *t, eg_error *error) {
    eg_status status = EG_OK;
    if (!t->sum) t->sum = take(t, t->count, &status, error);
    if (!status) status = eg__update_sum_in(&t->update, t->sum, error);
    if (!status) status = eg__update_sum(&t->update, false, error);
    t->summed = !status;
    return status;
}

eg_status eg_trainer_gradient(eg_trainer *t, eg_train_result *out, eg_error *error) {
    if (!t->program) return eg__fail(error, EG_ERR_ARGUMENT, "this trainer only evaluates");
    const eg_run_options options = {.seed = ++t->seed};
    if (t->used == &t->batch) batch_own(t);
    eg_status status = EG_OK;
    if (t->added && !t->summed) status = begin_sum(t, error); /* a single gradient needs no sum */
    if (!status) status = eg_run(t->instance, &options, error);
    if (status) return status;
    if (!isfinite(t->loss)) return eg__train_blame(t, NULL, error);
    if (t->summed) status = eg__update_sum(&t->update, true, error);
    if (status) return status;
    t->added++;
    if (out) out->loss = t->loss;
    return EG_OK;
}

/* ---- loss scaling. Scales are powers of two: multiplying by them is exact. */
#define SCALE_LEAST 0x1p-14f
#define SCALE_MOST  0x1p24f
enum { SCALE_AFTER = 2000 }; /* updates between increases */

static eg_status skip(eg_trainer *t, eg_error *error) {
    if (t->options.dtype != EG_F16 || t->scale <= SCALE_LEAST)
        return eg__train_blame(t, NULL, error);
    t->scale /= 2;
    t->good = t->added = 0;
    t->summed = false; /* the sum is not finite: skip further gradients */
    t->skipped++;
    return EG_OK;
}

static void scale_grow(eg_trainer *t) {
    if (t->options.dtype != EG_F16 || ++t->good < SCALE_AFTER || t->scale >= SCALE_MOST) return;
    t->scale *= 2;
    t->good = 0;
}

/* With exclusive access to the weights: runs the optimizer, then the model's constraints. */
static eg_status make_step(eg_trainer *t, double learning_rate, double scale, eg_error *error) {
    eg_status status = eg_weights_begin(t->weights, 1, error);
    if (status) return status;
    if (!(learning_rate > 0)) learning_rate = t->options.optimizer.learning_rate;
    status = eg__update_step(&t->update, t->steps + 1, learning_rate, scale, error);
    eg_weights_end(t->weights);
    if (status) return status;
    t->steps++;
    t->added = 0;
    t->summed = false;
    scale_grow(t);
    return EG_OK;
}

eg_status eg_trainer_update(eg_trainer *t, double learning_rate, eg_train_result *out,
                            eg_error *error) {
    if (!t->added) return eg__fail(error, EG_ERR_ARGUMENT, "no gradient since the last update");
    const double clip = t->options.optimizer.clip_norm;
    const double divisor = (double)t->added * (double)t->scale;
    double norm, scale = 1 / divisor;
    eg_status status = eg__update_use(&t->update, t->summed ? t->sum : t->gradients, error);
    if (!status) status = eg__update_norm(&t->update, &norm, error);
    if (status) return status;
    norm /= divisor;
    eg_train_result ignored;
    if (!out) out = &ignored;
    out->gradient_norm = isfinite(norm) ? norm : NAN;
    out->skipped = !isfinite(norm);
    if (clip > 0 && norm > clip) scale *= clip / norm;
    status = out->skipped ? skip(t, error) : make_step(t, learning_rate, scale, error);
    out->scale = (double)t->scale;
    return status;
}

eg_status eg_trainer_step(eg_trainer *t, double learning_rate, eg_train_result *out,
                          eg_error *error) {
    eg_status status = eg_trainer_gradient(t, out, error);
    return status ? status : eg_trainer_update(t, learning_rate, out, error);
}

/* Made when it is needed: it has weights packed in its own way. */
static eg_status forward_make(eg_trainer *t, eg_error *error) {
    if (t->forward_instance) return EG_OK;
    eg_status status = eg_instance_create(t->forward, t->weights, &t->forward_instance, error);
    if (!status) status = bind_all(t, EG_LEAF_INPUT, error);
    if (!status) status = bind_all(t, EG_LEAF_OUTPUT, error);
    if (!status) return EG_OK;
    eg_instance_destroy(t->forward_instance);
    t->forward_instance = NULL;
    return status;
}

eg_status eg_trainer_evaluate(eg_trainer *t, double *loss, const float **outputs, eg_error *error) {
    if (t->used == &t->batch) batch_own(t);
    eg_status status = forward_make(t, error);
    if (!status) status = eg_run(t->forward_instance, NULL, error);
    if (status) return status;
    if (loss) *loss = t->loss;
    if (outputs) *outputs = t->outputs;
    return EG_OK;
}

eg_status eg_trainer_store(const eg_trainer *t, eg_model *model, eg_error *error) {
    eg_status status = eg_model_widen(model, error);
    for (size_t i = 0; !status && i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        eg_tensor tensor;
        if (p->is_mask || eg__parameter_is_of_rows(p)) continue;
        status = eg_weights_tensor(t->weights, p->name, &tensor, error);
        if (!status) status = eg__parameter_own(model, p, error);
        if (status) return status;
        model->values_exposed = true;
        memcpy(eg__parameter_values(model, p), tensor.data, eg__parameter_size(p) * sizeof(float));
    }
    if (!status && !model->transformer)
        status = eg_model_link_set(model, eg_loss_link(t->options.loss), error);
    return status;
}
