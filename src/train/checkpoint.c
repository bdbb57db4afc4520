/* Checkpoints: a training at the end of a step, in a safetensors file. */
#include "train/fit.h"
#include "train/data.h"
#include "formats/models/model_config.h"
#include "formats/files/safetensors.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the model, data and options that a checkpoint belongs to */
static uint64_t hash_options(const eg_fit_options *o) {
    const double numbers[] = {(double)o->loss,
                              (double)o->optimizer.kind,
                              o->optimizer.learning_rate,
                              o->optimizer.beta1,
                              o->optimizer.beta2,
                              o->optimizer.epsilon,
                              o->optimizer.weight_decay,
                              o->optimizer.clip_norm,
                              (double)o->schedule.kind,
                              o->schedule.decay,
                              o->schedule.floor,
                              o->schedule.warmup,
                              o->schedule.kind == EG_SCHEDULE_COSINE ? (double)o->epochs : 0,
                              (double)o->accumulate,
                              (double)(o->seed >> 32),
                              (double)(uint32_t)o->seed,
                              o->average,
                              (double)o->dtype};
    return eg__hash(EG__HASH_SEED, numbers, sizeof numbers);
}

eg_status eg__fit_hash(eg__fit *f, eg_error *error) {
    char *config;
    eg_status status = eg__model_config_write(f->model, &config, error);
    if (status) return status;
    f->state.model_hash = eg__hash(EG__HASH_SEED, config, strlen(config));
    eg__memory_give(f->model->memory, config);
    f->state.data_hash = eg__data_hash(f->training, EG__HASH_SEED);
    if (f->validation) f->state.data_hash = eg__data_hash(f->validation, f->state.data_hash);
    f->state.options_hash = hash_options(&f->options);
    return EG_OK;
}

/* ---- arrays */
enum { ARRAYS = 5 };
static const char *const names[ARRAYS] = {"weights", "first", "second", "best", "average"};
/* A moment may overflow, which freezes its parameter; a parameter that overflows ends the
 * training. */
static const bool is_finite[ARRAYS] = {true, false, false, true, true};
static void arrays_of(const eg__fit *f, float *out[ARRAYS]) {
    out[0] = eg_weights_all(f->trainer->weights).data;
    out[1] = f->trainer->first;
    out[2] = f->trainer->second;
    out[3] = f->best;
    out[4] = f->average;
}

eg_status eg__checkpoint_save(eg__fit *f, eg_error *error) {
    float *arrays[ARRAYS];
    const char *used[ARRAYS + 2];
    eg_tensor tensors[ARRAYS + 2];
    size_t count = 0;
    arrays_of(f, arrays);
    used[count] = "state";
    tensors[count++] = (eg_tensor){EG_I64, 1, {EG__FIT_WORDS}, &f->state};
    if (f->state.history_count) {
        used[count] = "history";
        tensors[count++] =
            (eg_tensor){EG_I64, 2, {f->state.history_count, sizeof *f->history / 8}, f->history};
    }
    for (unsigned i = 0; i < ARRAYS; i++) {
        if (!arrays[i]) continue;
        used[count] = names[i];
        tensors[count++] = (eg_tensor){EG_F32, 1, {f->state.count}, arrays[i]};
    }
    const eg_pair metadata = {"format", "elegans checkpoint"};
    return eg__safetensors_save_summed(f->trainer->memory, f->options.checkpoint, count, used,
                                       tensors, 1, &metadata, error);
}

eg_status eg__checkpoint_try(const eg__fit *f, eg_error *error) {
    eg_file_output file;
    eg_status status = eg_file_begin(f->options.checkpoint, &file, error);
    if (!status) eg_file_abort(&file);
    return status;
}

/* ---- reading: everything is validated, even if the checksums agree */
static eg_status out_of_range(const char *name, double value, double least, double most,
                              eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "%s %.17g is not within %.17g..%.17g", name, value, least,
                    most);
}

static eg_status check_state(const eg__fit *f, const eg__fit_state *s, eg_error *error) {
    const uint64_t windows = f->data.windows;
    if (!s->batch_size || s->batch_size > windows)
        return out_of_range("batch_size", (double)s->batch_size, 1, (double)windows, error);
    const uint64_t batches = windows / s->batch_size + (windows % s->batch_size != 0);
    const uint64_t epochs = UINT32_MAX; /* shuffling uses only 32 bits of it */
    const uint64_t done = s->epoch <= epochs ? s->epoch * batches + s->batch : 0;
    const struct {
        const char *name;
        uint64_t value, most;
    } counts[] = {{"epoch", s->epoch, epochs},
                  {"history_count", s->history_count, s->epoch},
                  {"batch", s->batch, batches},
                  {"steps", s->steps, done},
                  {"skipped", s->skipped, done},
                  {"good", s->good, done},
                  {"seed", s->seed - (f->options.seed << 32), done},
                  {"best_epoch", s->best_epoch, s->epoch},
                  {"stale", s->stale, s->epoch}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value > counts[i].most)
            return out_of_range(counts[i].name, (double)counts[i].value, 0, (double)counts[i].most,
                                error);
    if (s->history_count != s->epoch)
        return eg__fail(error, EG_ERR_FORMAT, "%llu epochs do not agree with a history of %llu",
                        (unsigned long long)s->epoch, (unsigned long long)s->history_count);
    const struct {
        const char *name;
        double value, least, most;
    } numbers[] = {{"loss_sum", s->loss_sum, -HUGE_VAL, HUGE_VAL},
                   {"loss_weight", s->loss_weight, 0, HUGE_VAL},
                   {"norm_sum", s->norm_sum, 0, HUGE_VAL},
                   {"norms", s->norms, 0, (double)batches},
                   {"rate", s->rate, 0, HUGE_VAL},
                   {"scale", s->scale, 0x1p-126, 0x1p126}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most))
            return out_of_range(numbers[i].name, numbers[i].value, numbers[i].least,
                                numbers[i].most, error);
    return EG_OK;
}

static eg_status read_state(const eg__fit *f, eg_safetensors *file, eg__fit_state *out,
                            eg_error *error) {
    eg_tensor tensor;
    eg_status status = eg__safetensors_sums_check(file, error);
    if (status) return status;
    if (eg_safetensors_tensor(file, "state", &tensor, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "no state of a training");
    if (tensor.type != EG_I64 || tensor.rank != 1 || tensor.shape[0] != EG__FIT_WORDS)
        return eg__fail(error, EG_ERR_FORMAT, "not a checkpoint of this version");
    memcpy(out, tensor.data, sizeof *out);
    const char *other = NULL;
    if (out->version != EG__FIT_VERSION)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "checkpoints of version %llu are not supported",
                        (unsigned long long)out->version);
    if (out->options_hash != f->state.options_hash) other = "other options";
    if (out->model_hash != f->state.model_hash) other = "another model";
    /* after the data, because the model's units come from them */
    if (out->data_hash != f->state.data_hash) other = "other data";
    if (f->options.batch && out->batch_size != f->options.batch) other = "another batch size";
    if (other) return eg__fail(error, EG_ERR_ARGUMENT, "the checkpoint was made with %s", other);
    return check_state(f, out, error);
}

eg_status eg__checkpoint_batch(const eg__fit *f, uint64_t *batch_size, eg_error *error) {
    eg_safetensors *file;
    eg__fit_state state;
    eg_status status =
        eg__safetensors_open(f->model->memory, f->options.checkpoint, true, &file, error);
    if (status) return status;
    status = read_state(f, file, &state, error);
    eg_safetensors_close(file);
    if (status) return eg__file_blame(error, status, "", f->options.checkpoint);
    *batch_size = state.batch_size;
    return EG_OK;
}

static eg_status check_finite(const char *name, const float *values, size_t count,
                              eg_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return eg__fail(error, EG_ERR_FORMAT, "element %zu of '%s' is %g, not a finite number",
                            i, name, (double)values[i]);
    return EG_OK;
}

static eg_status read_arrays(eg__fit *f, const eg_safetensors *file, eg_error *error) {
    float *arrays[ARRAYS];
    arrays_of(f, arrays);
    eg_status status = EG_OK;
    for (unsigned i = 0; !status && i < ARRAYS; i++) {
        eg_tensor tensor;
        if (!arrays[i]) continue;
        if (eg_safetensors_tensor(file, names[i], &tensor, NULL))
            status = eg__fail(error, EG_ERR_FORMAT, "no '%s'", names[i]);
        else if (tensor.type != EG_F32 || tensor.rank != 1 || tensor.shape[0] != f->trainer->count)
            status = eg__fail(error, EG_ERR_FORMAT, "'%s' has the wrong size", names[i]);
        if (!status) memcpy(arrays[i], tensor.data, f->trainer->count * sizeof(float));
        if (!status && is_finite[i])
            status = check_finite(names[i], arrays[i], f->trainer->count, error);
    }
    return status;
}

/* Checks the values of a history. A loss may be missing (NaN); a validation loss may also be
 * infinite. */
static eg_status check_epoch(const eg__fit *f, const eg_fit_epoch *e, uint64_t number,
                             eg_error *error) {
    const double largest = DBL_MAX;
    if (!f->validation && !isnan(e->validation))
        return eg__fail(error, EG_ERR_FORMAT,
                        "the validation loss of epoch %llu is %.17g, but there are no "
                        "validation data",
                        (unsigned long long)number, e->validation);
    const struct {
        const char *name;
        double value, least, most;
        bool may_lack;
    } numbers[] = {{"loss", e->loss, -largest, largest, true},
                   {"validation", e->validation, -largest, HUGE_VAL, true},
                   {"rate", e->rate, 0, largest, false},
                   {"gradient_norm", e->gradient_norm, 0, largest, true},
                   {"seconds", e->seconds, 0, largest, false}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const double value = numbers[i].value;
        if (isnan(value) ? numbers[i].may_lack
                         : value >= numbers[i].least && value <= numbers[i].most)
            continue;
        char name[64];
        snprintf(name, sizeof name, "%s of epoch %llu", numbers[i].name,
                 (unsigned long long)number);
        return out_of_range(name, value, numbers[i].least, numbers[i].most, error);
    }
    return EG_OK;
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Fields that duplicate the history must agree with it. */
static eg_status check_history(const eg__fit *f, const eg__fit_state *s,
                               const eg_fit_epoch *history, eg_error *error) {
    eg_status status = EG_OK;
    for (uint64_t i = 0; !status && i < s->history_count; i++)
        status = check_epoch(f, &history[i], i + 1, error);
    if (status) return status;
    const eg_fit_epoch *chosen = s->best_epoch ? &history[s->best_epoch - 1] : NULL;
    const struct {
        const char *name;
        double value, told;
    } words[] = {{"best", s->best,
                  !chosen         ? NAN
                  : f->validation ? chosen->validation
                                  : chosen->loss},
                 {"validation", s->validation,
                  s->history_count ? history[s->history_count - 1].validation : NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!same(words[i].value, words[i].told))
            return eg__fail(error, EG_ERR_FORMAT, "%s %.17g differs from %.17g in the history",
                            words[i].name, words[i].value, words[i].told);
    return EG_OK;
}

static eg_status read_history(eg__fit *f, const eg_safetensors *file, const eg__fit_state *s,
                              eg_error *error) {
    eg_tensor tensor;
    const uint64_t count = s->history_count;
    if (!count) return check_history(f, s, NULL, error);
    if (eg_safetensors_tensor(file, "history", &tensor, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "no 'history'");
    if (tensor.type != EG_I64 || tensor.rank != 2 || tensor.shape[0] != count ||
        tensor.shape[1] != sizeof *f->history / 8)
        return eg__fail(error, EG_ERR_FORMAT, "'history' has the wrong size");
    eg_status status = eg__fit_history_room(f, count, error);
    if (status) return status;
    memcpy(f->history, tensor.data, (size_t)count * sizeof *f->history);
    return check_history(f, s, f->history, error);
}

eg_status eg__checkpoint_load(eg__fit *f, eg_error *error) {
    eg_safetensors *file;
    eg__fit_state state;
    eg_status status =
        eg__safetensors_open(f->model->memory, f->options.checkpoint, true, &file, error);
    if (status) return status;
    status = read_state(f, file, &state, error);
    if (!status && state.count != f->trainer->count)
        status = eg__fail(error, EG_ERR_FORMAT, "%llu parameters, but the model has %zu",
                          (unsigned long long)state.count, f->trainer->count);
    if (!status) status = eg_weights_begin(f->trainer->weights, 1, error);
    if (!status) {
        status = read_arrays(f, file, error);
        eg_weights_end(f->trainer->weights);
    }
    if (!status) status = read_history(f, file, &state, error);
    eg_safetensors_close(file);
    if (status) return eg__file_blame(error, status, "", f->options.checkpoint);
    f->state = state;
    f->trainer->steps = state.steps;
    f->trainer->seed = state.seed;
    f->trainer->scale = (float)state.scale;
    f->trainer->good = state.good;
    f->trainer->skipped = state.skipped;
    return EG_OK;
}
