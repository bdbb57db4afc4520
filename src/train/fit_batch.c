/* Chooses the batch size: programs are planned before they run, so it is known what fits. */
#include "base/abi.h"
#include "train/fit.h"
#include "elegans/batch.h"

/* The best parameters so far, their running mean, and the sum of several gradients. */
static uint64_t copies(const eg_fit_options *o) {
    return (uint64_t)1 + (o->average > 0) + (o->accumulate > 1);
}

eg__train_room eg__fit_room(const eg__fit *f) {
    const uint64_t loaders = f->validation ? 2 : 1;
    return (eg__train_room){1 + loaders * EG__LOADER_BATCHES, copies(&f->options),
                            f->options.memory};
}

static eg_status too_large(uint64_t parameters, uint64_t bytes, uint64_t most, const char *what,
                           eg_error *error) {
    return eg__fail(
        error, EG_ERR_BUDGET,
        "training %llu parameters takes at least %llu bytes (weights, gradients, moments, "
        "the best so far), more than the %llu %s",
        (unsigned long long)parameters, (unsigned long long)bytes, (unsigned long long)most, what);
}

eg_status eg_fit_check(const eg_model *model, const eg_fit_options *given, eg_error *error) {
    if (!model || !given) return eg__fail(error, EG_ERR_ARGUMENT, "fit: no model or no options");
    eg_fit_options kept, *const options = &kept;
    const eg_status taken = EG__OPTIONS(eg_fit_options, &kept, given, error);
    if (taken) return taken;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const uint64_t one = info.parameters * sizeof(float);
    const uint64_t bytes = (EG__TRAIN_ARRAYS + copies(options)) * one;
    if (options->memory && bytes > options->memory)
        return too_large(info.parameters, bytes, options->memory,
                         "allowed: ask for a smaller model, or allow more memory", error);
    const uint64_t left = eg__memory_left(model->memory);
    const uint64_t all = bytes + (model->outline ? one : 0); /* its values are not loaded yet */
    if (all > left)
        return too_large(info.parameters, all, left,
                         "that may still be used here: ask for a smaller model", error);
    return EG_OK;
}

static eg_status try(eg__fit *f, uint64_t batch, uint64_t kept, eg_error *error) {
    const eg_fit_options *o = &f->options;
    eg_data_info validation = {.size = sizeof validation};
    if (f->validation) eg_data_info_get(f->validation, &validation);
    const eg_train_options options = {
        .batch = batch,
        .time = f->data.steps > validation.steps ? f->data.steps : validation.steps,
        .last = f->data.last,
        .timespans = f->data.timespans || validation.timespans,
        .lengths = f->data.lengths || validation.lengths || f->data.steps < validation.steps ||
                   (validation.steps && validation.steps < f->data.steps),
        .loss = o->loss,
        .optimizer = o->optimizer,
        .memory = kept,
        .dtype = o->dtype};
    eg_trainer *t;
    const eg__train_room room = eg__fit_room(f);
    const eg_status status = eg__trainer_create(f->model, &options, &room, &t, error);
    if (status) return status;
    eg_trainer_destroy(f->trainer);
    f->trainer = t;
    return EG_OK;
}

/* Tries to keep less and less of the forward pass (checkpointing). */
static eg_status try_less(eg__fit *f, uint64_t batch, eg_error *error) {
    eg_status status = try(f, batch, 0, error);
    for (uint64_t kept = f->options.memory / 2; status == EG_ERR_BUDGET && kept > 4096; kept /= 2)
        status = try(f, batch, kept, NULL); /* the first message is the most helpful */
    return status;
}

eg_status eg__fit_trainer(eg__fit *f, eg_error *error) {
    const eg_fit_options *o = &f->options;
    const uint64_t least = o->batch_least ? o->batch_least : 1;
    uint64_t most = o->batch_most ? o->batch_most : 128;
    if (o->batch) return try_less(f, o->batch, error);
    /* larger would be mostly empty */
    while (most > least && most / 2 >= f->data.windows) most /= 2;
    eg_batch batch;
    eg_status status = EG_OK;
    eg_batch_begin(&batch, 0, least, most);
    while (!eg_batch_settled(&batch)) {
        status = try(f, batch.size, 0, batch.works ? NULL : error);
        if (status && status != EG_ERR_BUDGET && status != EG_ERR_MEMORY) return status;
        eg_batch_adjust(&batch, status == EG_OK);
    }
    if (batch.works) return EG_OK; /* the last trainer that fitted has that size */
    return status == EG_ERR_BUDGET ? try_less(f, least, error) : status;
}
