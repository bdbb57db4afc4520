/* Checkpoints: a training at the end of a step, in a safetensors file. */
#include "train/fit.h"
#include "train/data.h"
#include "formats/model_config.h"
#include "formats/safetensors.h"

#include <string.h>

/* ---- what a checkpoint belongs to */
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
    return eg__safetensors_save(f->trainer->memory, f->options.checkpoint, count, used, tensors, 1,
                                &metadata, error);
}

/* ---- reading */
static eg_status read_state(const eg__fit *f, eg_safetensors *file, eg__fit_state *out,
                            eg_error *error) {
    eg_tensor tensor;
    if (eg_safetensors_tensor(file, "state", &tensor, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "no state of a training");
    if (tensor.type != EG_I64 || tensor.rank != 1 || tensor.shape[0] != EG__FIT_WORDS)
        return eg__fail(error, EG_ERR_FORMAT, "no checkpoint of this version");
    memcpy(out, tensor.data, sizeof *out);
    const char *other = NULL;
    if (out->version != EG__FIT_VERSION)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "a checkpoint of version %llu",
                        (unsigned long long)out->version);
    if (out->options_hash != f->state.options_hash) other = "other options";
    if (out->model_hash != f->state.model_hash) other = "another model";
    /* after it, because the units of a model follow from its data */
    if (out->data_hash != f->state.data_hash) other = "other data";
    if (f->options.batch && out->batch_size != f->options.batch) other = "another batch size";
    if (other) return eg__fail(error, EG_ERR_ARGUMENT, "the checkpoint was made with %s", other);
    return EG_OK;
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
            status = eg__fail(error, EG_ERR_FORMAT, "'%s' has another size", names[i]);
        if (!status) memcpy(arrays[i], tensor.data, f->trainer->count * sizeof(float));
    }
    return status;
}

static eg_status read_history(eg__fit *f, const eg_safetensors *file, uint64_t count,
                              eg_error *error) {
    eg_tensor tensor;
    if (!count) return EG_OK;
    if (eg_safetensors_tensor(file, "history", &tensor, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "no 'history'");
    if (tensor.type != EG_I64 || tensor.rank != 2 || tensor.shape[0] != count ||
        tensor.shape[1] != sizeof *f->history / 8)
        return eg__fail(error, EG_ERR_FORMAT, "'history' has another size");
    eg_status status = eg__fit_history_room(f, count, error);
    if (!status) memcpy(f->history, tensor.data, (size_t)count * sizeof *f->history);
    return status;
}

eg_status eg__checkpoint_load(eg__fit *f, eg_error *error) {
    eg_safetensors *file;
    eg__fit_state state;
    eg_status status =
        eg__safetensors_open(f->model->memory, f->options.checkpoint, true, &file, error);
    if (status) return status;
    status = read_state(f, file, &state, error);
    if (!status && state.count != f->trainer->count)
        status = eg__fail(error, EG_ERR_FORMAT, "%llu parameters where %zu belong",
                          (unsigned long long)state.count, f->trainer->count);
    if (!status) status = eg_weights_begin(f->trainer->weights, 1, error);
    if (!status) {
        status = read_arrays(f, file, error);
        eg_weights_end(f->trainer->weights);
    }
    if (!status) status = read_history(f, file, state.history_count, error);
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
