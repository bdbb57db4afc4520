/* Epochs over a data set. */
#include "base/abi.h"
#include "train/fit.h"
#include "base/random.h"
#include "train/check.h"
#include "train/publish.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- preparing */
static eg_status check(const eg__fit *f, eg_error *error) {
    const eg_fit_options *o = &f->options;
    const eg_data *const sets[] = {f->training, f->validation};
    for (unsigned i = 0; i < 2 && sets[i]; i++) {
        eg_data_info d = {.size = sizeof d};
        eg_data_info_get(sets[i], &d);
        eg_status status = eg__data_fits(f->model, sets[i], o->loss, true, error);
        if (!status) status = eg__data_teaches(sets[i], i == 1, error);
        if (status) return status;
        if (!d.windows || d.windows > UINT32_MAX)
            return eg__fail(error, EG_ERR_ARGUMENT, "data with %llu windows: needs 1 to 2^32 - 1",
                            (unsigned long long)d.windows);
    }
    if (!(o->average >= 0 && o->average < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "average %g is not within [0, 1)", o->average);
    return EG_OK;
}

static float *take(eg__fit *f, size_t count, size_t size, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory = eg__memory_take_array(f->model->memory, EG_TAG_WEIGHTS, count, size, &reason);
    if (!memory && !*status) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

static double weight_of(const eg_trainer *t, const eg_train_batch *batch) {
    const uint64_t rows = t->options.last ? t->options.batch : t->options.batch * t->options.time;
    double sum = 0;
    for (uint64_t i = 0; i < rows * batch->target_size; i++) sum += (double)batch->weight[i];
    return sum;
}

/* The loss on `count` windows, with the parameters as they are. */
static eg_status measure(eg__fit *f, eg__loader *loader, const uint32_t *order, uint64_t count,
                         double *out, eg_error *error) {
    double sum = 0, weights = 0, loss;
    const eg_train_batch *batch;
    *out = NAN;
    eg__loader_begin(loader, order, count, 0);
    while ((batch = eg__loader_next(loader))) {
        eg_status status = eg_trainer_use(f->trainer, batch, error);
        if (!status) status = eg_trainer_evaluate(f->trainer, &loss, NULL, error);
        if (status) return status;
        const double weight = weight_of(f->trainer, batch);
        if (weight > 0) sum += loss * weight;
        weights += weight;
    }
    if (weights > 0) *out = sum / weights;
    return EG_OK;
}

static eg_status validate(eg__fit *f, double *out, eg_error *error) {
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(f->validation, &info);
    return measure(f, f->validation_loader, NULL, info.windows, out, error);
}

static float *parameters(const eg__fit *f) { return eg_weights_all(f->trainer->weights).data; }

/* ---- epochs */
/* The order of windows is a function of the seed and the epoch, so that a continued training has
 * the same. */
static void draw_order(eg__fit *f, uint64_t epoch) {
    const uint32_t count = (uint32_t)f->data.windows;
    const uint32_t words[] = {(uint32_t)f->options.seed, (uint32_t)(f->options.seed >> 32),
                              (uint32_t)epoch};
    eg__pcg random;
    eg__pcg_seed_words(&random, words, 3);
    for (uint32_t i = 0; i < count; i++) f->order[i] = i;
    eg__pcg_shuffle(&random, count, f->order);
}

/* The loss on a sample of the training data, always the same one, with the parameters as they are. */
static eg_status measure_training(eg__fit *f, double *out, eg_error *error) {
    enum { BATCHES = 16 }; /* the whole set would take a third of an epoch */
    const uint64_t most = BATCHES * f->trainer->options.batch;
    draw_order(f, 0);
    return measure(f, f->loader, f->order, most < f->data.windows ? most : f->data.windows, out,
                   error);
}

/* The reference losses: of the initial model, also when training continues from a checkpoint. */
static eg_status look_around(eg__fit *f, eg_error *error) {
    eg_status status = measure_training(f, &f->training_initial, error);
    if (!status) status = eg__fit_constant(f, f->training, &f->training_constant, error);
    f->initial = f->training_initial;
    f->constant = f->training_constant;
    if (!status && f->validation) status = validate(f, &f->initial, error);
    if (!status && f->validation) status = eg__fit_constant(f, f->validation, &f->constant, error);
    return status;
}

static eg_status begin(eg__fit *f, eg_error *error) {
    eg_fit_options *o = &f->options;
    eg_status status = eg_fit_check(f->model, o, error);
    if (!status) status = check(f, error);
    if (!status && o->checkpoint) status = eg__fit_hash(f, error);
    if (status) return status;
    if (o->resume && o->checkpoint && access(o->checkpoint, F_OK) == 0) {
        f->resumed = true;
        status = eg__checkpoint_batch(f, &o->batch, error);
    }
    if (!status && o->checkpoint) status = eg__checkpoint_try(f, error);
    if (!status) status = eg__fit_trainer(f, error);
    if (status) return status;
    eg_trainer *t = f->trainer;
    t->seed = o->seed << 32;
    f->state.version = EG__FIT_VERSION;
    f->state.batch_size = t->options.batch;
    f->state.count = t->count;
    f->state.best = f->state.validation = NAN;
    f->batches = f->data.windows / t->options.batch + (f->data.windows % t->options.batch != 0);
    f->order = (uint32_t *)take(f, (size_t)f->data.windows, sizeof *f->order, &status, error);
    f->best = take(f, t->count, sizeof *f->best, &status, error);
    if (o->average > 0) f->average = take(f, t->count, sizeof *f->average, &status, error);
    if (status) return status;
    memcpy(f->best, parameters(f), t->count * sizeof *f->best);
    if (f->average) memcpy(f->average, parameters(f), t->count * sizeof *f->average);
    status = eg__loader_start(t, f->training, &f->loader, error);
    if (!status && f->validation)
        status = eg__loader_start(t, f->validation, &f->validation_loader, error);
    if (!status) status = look_around(f, error);
    if (!status && f->resumed) status = eg__checkpoint_load(f, error);
    eg__publish_update_cost(f->options.publisher, t, f->options.accumulate);
    f->began = f->saved = eg_clock_ns();
    f->saved_steps = f->state.steps;
    return status;
}

static void end(eg__fit *f) {
    eg__memory *memory = f->model->memory;
    eg__loader_stop(f->loader);
    eg__loader_stop(f->validation_loader);
    eg_trainer_destroy(f->trainer);
    eg__memory_give(memory, f->order);
    eg__memory_give(memory, f->best);
    eg__memory_give(memory, f->average);
    eg__memory_give(memory, f->history);
}

/* ---- progress and checkpoints */
static double seconds_since(uint64_t start) { return (double)(eg_clock_ns() - start) * 1e-9; }

static bool tell(eg__fit *f, eg_fit_event event) {
    const eg__fit_state *s = &f->state;
    if (!f->options.progress && !f->options.publisher) return false;
    const double seconds = seconds_since(f->began), epoch = seconds_since(f->epoch_began);
    const bool ended = event == EG_FIT_EPOCH || (event == EG_FIT_CHECKPOINT && !s->batch);
    eg_fit_progress p = {.event = event,
                         .epoch = s->epoch + !ended,
                         .epochs = f->options.epochs,
                         .batch = ended ? f->batches : s->batch,
                         .batches = f->batches,
                         .steps = s->steps,
                         .batch_size = s->batch_size,
                         .validation = s->validation,
                         .best = s->best,
                         .best_epoch = s->best_epoch,
                         .rate = f->rate,
                         .gradient_norm = f->norm,
                         .seconds = seconds,
                         .seconds_left = NAN,
                         .samples_per_second = epoch > 0 ? (double)f->samples / epoch : NAN,
                         .resumed = f->resumed,
                         .dtype = f->options.dtype,
                         .scale = (double)f->trainer->scale,
                         .skipped = f->trainer->skipped};
    p.loss = ended                ? f->history[s->history_count - 1].loss
             : s->loss_weight > 0 ? s->loss_sum / s->loss_weight
                                  : NAN;
    const double left =
        (double)(f->options.epochs - s->epoch) - (double)s->batch / (double)f->batches;
    if (f->samples && epoch > 0)
        p.seconds_left = left * (double)f->data.windows * epoch / (double)f->samples;
    eg__publish_progress(f->options.publisher, &p);
    return f->options.progress && f->options.progress(f->options.user, &p) != 0;
}

static eg_status save(eg__fit *f, bool now, bool *stop, eg_error *error) {
    const eg_fit_options *o = &f->options;
    if (!o->checkpoint) return EG_OK;
    const double wait = o->checkpoint_seconds > 0 ? o->checkpoint_seconds : 10;
    const bool due = o->checkpoint_steps ? f->state.steps >= f->saved_steps + o->checkpoint_steps
                                         : seconds_since(f->saved) >= wait;
    if (!now && !due) return EG_OK;
    f->state.seed = f->trainer->seed;
    f->state.scale = (double)f->trainer->scale;
    f->state.good = f->trainer->good;
    f->state.skipped = f->trainer->skipped;
    eg_error reason;
    eg_status status = eg__checkpoint_save(f, &reason);
    f->saved = eg_clock_ns();
    f->saved_steps = f->state.steps;
    /* a full disk may be free later, and the old checkpoint is intact; but a training that was
     * asked to stop must not lose its progress */
    if (status && (*stop || status != EG_ERR_FILE))
        return eg__fail(error, status, "%s", reason.message);
    if (status) {
        if (!f->unsaved)
            eg__log_write(&f->model->context->log, EG_LOG_WARNING,
                          "%s: training goes on without this checkpoint", reason.message);
        f->unsaved = true;
        f->checkpoint_failed++;
        return EG_OK;
    }
    f->unsaved = false;
    if (tell(f, EG_FIT_CHECKPOINT)) *stop = true;
    return EG_OK;
}

/* ---- learning */
/* The running mean follows the parameters faster at first, when it has little history. */
static void add_to_average(eg__fit *f) {
    if (!f->average) return;
    const double ramp = (1 + (double)f->state.steps) / (10 + (double)f->state.steps);
    const float old = (float)(ramp < f->options.average ? ramp : f->options.average);
    const float *p = parameters(f);
    for (size_t i = 0; i < f->trainer->count; i++)
        f->average[i] = old * f->average[i] + (1 - old) * p[i];
}

static eg_status update(eg__fit *f, eg_error *error) {
    eg_train_result result;
    const double at = (double)f->state.epoch + (double)f->state.batch / (double)f->batches;
    const double factor = eg_schedule_factor(&f->options.schedule, at, (double)f->options.epochs);
    f->rate = f->trainer->options.optimizer.learning_rate * (factor > 0 ? factor : 1e-12);
    f->state.rate = f->rate;
    eg_status status = eg_trainer_update(f->trainer, f->rate, &result, error);
    if (status || result.skipped) return status;
    f->state.steps++;
    f->norm = result.gradient_norm;
    f->state.norm_sum += result.gradient_norm;
    f->state.norms++;
    add_to_average(f);
    return EG_OK;
}

/* The window of a sample of the batch, for a message. */
static eg_status blame(eg__fit *f, eg_status status, eg_error *error) {
    eg__blame b;
    eg_error reason;
    if (status != EG_ERR_FORMAT) return status;
    eg__train_blame(f->trainer, &b, &reason);
    uint64_t at = f->state.batch * f->state.batch_size + b.sample, first = 0, length = 0;
    if (b.sample == UINT64_MAX || at >= f->data.windows)
        return eg__fail(error, status, "epoch %llu, batch %llu: %s",
                        (unsigned long long)f->state.epoch + 1,
                        (unsigned long long)f->state.batch + 1, reason.message);
    eg_data_window(f->training, f->order[at], &first, &length);
    size_t table;
    uint64_t row;
    eg_data_row(f->training, first, &table, &row);
    return eg__fail(error, status, "epoch %llu, batch %llu: %.150s (row %llu of table %zu)",
                    (unsigned long long)f->state.epoch + 1, (unsigned long long)f->state.batch + 1,
                    reason.message, (unsigned long long)row + 1, table + 1);
}

static eg_status learn(eg__fit *f, bool *stop, eg_error *error) {
    eg__fit_state *s = &f->state;
    eg_trainer *t = f->trainer;
    const eg_train_batch *batch;
    const uint64_t accumulate = f->options.accumulate;
    draw_order(f, f->state.epoch);
    f->epoch_began = eg_clock_ns();
    f->samples = 0;
    eg__loader_begin(f->loader, f->order, f->data.windows, s->batch);
    while (!*stop && (batch = eg__loader_next(f->loader))) {
        eg_train_result result;
        if (s->batch % accumulate == 0) eg_publisher_begin(f->options.publisher);
        eg_status status = eg_trainer_use(t, batch, error);
        if (!status) status = eg_trainer_gradient(t, &result, error);
        if (status) return blame(f, status, error);
        const double weight = weight_of(t, batch);
        s->loss_sum += result.loss * weight;
        s->loss_weight += weight;
        const uint64_t before = s->batch * s->batch_size;
        f->samples +=
            before + s->batch_size < f->data.windows ? s->batch_size : f->data.windows - before;
        const bool due = (s->batch + 1) % accumulate == 0 || s->batch + 1 == f->batches;
        if (due) status = update(f, error);
        if (status) return blame(f, status, error);
        s->batch++;
        if (!due) continue;
        eg_publisher_end(f->options.publisher);
        *stop = tell(f, EG_FIT_STEP);
        status = save(f, *stop, stop, error);
        if (status) return status;
    }
    return EG_OK;
}

/* Evaluates with the parameters, or with their running mean if there is one. */
static eg_status swap_average(eg__fit *f, eg_error *error) {
    if (!f->average) return EG_OK;
    eg_status status = eg_weights_begin(f->trainer->weights, 1, error);
    if (status) return status;
    float *p = parameters(f);
    for (size_t i = 0; i < f->trainer->count; i++) {
        const float kept = p[i];
        p[i] = f->average[i];
        f->average[i] = kept;
    }
    eg_weights_end(f->trainer->weights);
    return EG_OK;
}

eg_status eg__fit_history_room(eg__fit *f, uint64_t count, eg_error *error) {
    void *list = f->history;
    if (count <= f->history_room) return EG_OK;
    if (!eg__memory_grow(f->model->memory, EG_TAG_WEIGHTS, &list, f->state.history_count,
                         &f->history_room, count - f->state.history_count, sizeof *f->history))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for the history of a training");
    f->history = list;
    return EG_OK;
}

/* Ends an epoch: its losses, and whether it is the best. */
static eg_status conclude(eg__fit *f, eg_error *error) {
    eg__fit_state *s = &f->state;
    eg_fit_epoch now = {.rate = s->rate,
                        .seconds = seconds_since(f->epoch_began),
                        .loss = s->loss_weight > 0 ? s->loss_sum / s->loss_weight : NAN,
                        .validation = NAN,
                        .gradient_norm = s->norms > 0 ? s->norm_sum / s->norms : NAN};
    eg_status status = swap_average(f, error);
    if (!status && f->validation) status = validate(f, &now.validation, error);
    const double chosen = f->validation ? now.validation : now.loss;
    if (!status) status = eg__fit_history_room(f, s->history_count + 1, error);
    if (status) return status;
    f->history[s->history_count++] = now;
    s->validation = now.validation;
    s->epoch++;
    s->batch = 0;
    s->loss_sum = s->loss_weight = s->norm_sum = s->norms = 0;
    s->stale++;
    if (!s->best_epoch || (isnan(s->best) ? !isnan(chosen) : chosen < s->best)) {
        s->best = chosen;
        s->best_epoch = s->epoch;
        s->stale = 0;
        memcpy(f->best, parameters(f), f->trainer->count * sizeof *f->best);
    }
    return swap_average(f, error);
}

static eg_status run(eg__fit *f, eg_fit_result *out, eg_error *error) {
    const eg_fit_options *o = &f->options;
    bool stop = false;
    eg_status status = EG_OK;
    while (!status && !stop && f->state.epoch < o->epochs) {
        if (o->patience && f->state.stale >= o->patience) {
            out->early = 1;
            break;
        }
        status = learn(f, &stop, error);
        if (status || stop) break;
        status = conclude(f, error);
        if (!status) stop = tell(f, EG_FIT_EPOCH);
        const bool last = stop || f->state.epoch == o->epochs;
        if (!status) status = save(f, last, &stop, error);
    }
    out->stopped = stop;
    return status;
}

/* Copies the best (or last) parameters to the model's weights. */
static eg_status keep(eg__fit *f, eg_error *error) {
    eg_trainer *t = f->trainer;
    const bool best = f->state.best_epoch && !f->options.keep_last;
    const float *from = best ? f->best : f->average ? f->average : parameters(f);
    eg_status status = eg_weights_begin(t->weights, 1, error);
    if (status) return status;
    if (from != parameters(f)) memcpy(parameters(f), from, t->count * sizeof *from);
    eg_weights_end(t->weights);
    return EG_OK;
}

/* Detects divergence. In any training that learns, the loss on the training data falls below that
 * of the initial model, or at least below that of predicting the mean; a margin of one half allows
 * for chance and for the first steps of a short training, which may go up. Too large a learning
 * rate leaves saturated units (an error of twice the variance) or unbounded weights. The loss is
 * measured with the final parameters: the loss of an epoch averages over the parameters before each
 * of its steps. Validation data are not used, because they may be distributed differently. */
static eg_status check_learned(eg__fit *f, eg_error *error) {
    const eg__fit_state *s = &f->state;
    double kept, least = 0;
    if (!s->history_count) return EG_OK;
    if (isfinite(f->training_initial)) least = f->training_initial;
    if (isfinite(f->training_constant)) least = fmax(least, f->training_constant);
    const double validation = f->history[s->history_count - 1].validation;
    if (f->validation && !isfinite(f->options.keep_last ? validation : s->best))
        return eg__fail(
            error, EG_ERR_FORMAT,
            "nothing was learned: the validation loss is not finite in any epoch; try a "
            "learning rate below %g, or clip gradients",
            f->trainer->options.optimizer.learning_rate);
    const eg_status status = measure_training(f, &kept, error);
    if (status || (isfinite(kept) && kept <= 1.5 * least + 1e-6)) return status;
    return eg__fail(
        error, EG_ERR_FORMAT,
        "nothing was learned: the training loss is %.4g after the %s epoch, but was %.4g "
        "before, and predicting the mean has %.4g; try a learning rate below %g, or clip "
        "gradients",
        kept, f->options.keep_last ? "last" : "best", f->training_initial, f->training_constant,
        f->trainer->options.optimizer.learning_rate);
}

eg_status eg_fit(eg_model *model, const eg_data *training, const eg_data *validation,
                 const eg_fit_options *options, eg_fit_result *out, eg_error *error) {
    eg_fit_options kept;
    eg_fit_result ignored;
    if (!out) out = &ignored;
    memset(out, 0, sizeof *out);
    if (!model || !training) return eg__fail(error, EG_ERR_ARGUMENT, "fit: no model or no data");
    eg_status taken = eg__model_check_values(model, error);
    if (!taken) taken = EG__OPTIONS(eg_fit_options, &kept, options, error);
    if (taken) return taken;
    eg__fit f = {.model = model, .training = training, .validation = validation, .options = kept};
    if (!f.options.epochs) f.options.epochs = 50;
    if (!f.options.accumulate) f.options.accumulate = 1;
    eg_data_info_get(training, &f.data);
    /* a larger one would be wasted work */
    if (f.options.batch > f.data.windows) f.options.batch = f.data.windows;
    eg_status status = begin(&f, error);
    if (!status) {
        status = run(&f, out, error);
        out->diverged = status == EG_ERR_FORMAT; /* a non-finite batch */
    }
    if (!status) status = keep(&f, error);
    if (!status && !out->stopped) {
        status = check_learned(&f, error);
        out->diverged = status == EG_ERR_FORMAT;
    }
    if (!status) status = eg_trainer_store(f.trainer, model, error);
    if (!status) {
        out->epochs = f.state.epoch;
        out->steps = f.state.steps;
        out->skipped = f.trainer->skipped;
        out->scale = (double)f.trainer->scale;
        out->batch_size = f.state.batch_size;
        out->best = f.state.best;
        out->best_epoch = f.state.best_epoch;
        out->initial = f.initial;
        out->constant = f.constant;
        out->seconds = seconds_since(f.began);
        out->checkpoints_failed = f.checkpoint_failed;
        const eg__train_room room = eg__fit_room(&f);
        out->memory = eg__train_bytes(f.trainer, &room);
        if (out != &ignored) {
            out->history_count = f.state.history_count;
            out->history = f.history;
            f.history = NULL;
        }
    }
    end(&f);
    return status;
}

void eg_fit_release(eg_model *model, eg_fit_result *result) {
    eg__memory_give(model->memory, result->history);
    result->history = NULL;
    result->history_count = 0;
}
