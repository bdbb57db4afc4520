/* How many windows a step takes: programs are planned before they run, so that what fits is known. */
#include "train/fit.h"

static eg_status try(eg__fit *f, uint64_t batch, uint64_t kept, eg_error *error) {
    const eg_fit_options *o = &f->options;
    eg_data_info validation = {0};
    if (f->validation) eg_data_info_get(f->validation, &validation);
    const eg_train_options options = {
        .batch = batch,
        .time = f->data.steps > validation.steps ? f->data.steps : validation.steps,
        .last = f->data.last,
        .spans = f->data.spans || validation.spans,
        .lengths = f->data.lengths || validation.lengths || f->data.steps < validation.steps ||
                   (validation.steps && validation.steps < f->data.steps),
        .loss = o->loss,
        .optimizer = o->optimizer,
        .memory = kept,
        .dtype = o->dtype};
    eg_trainer *t;
    eg_status status = eg_trainer_create(f->model, &options, &t, error);
    if (status) return status;
    const uint64_t loaders = f->validation ? 2 : 1;
    const uint64_t bytes = eg__train_bytes(t, 1 + loaders * EG__LOADER_BATCHES);
    if (o->memory && bytes > o->memory) {
        eg_trainer_destroy(t);
        return eg__fail(
            error, EG_ERR_BUDGET, "a batch of %llu takes %llu bytes, more than the %llu allowed",
            (unsigned long long)batch, (unsigned long long)bytes, (unsigned long long)o->memory);
    }
    eg_trainer_destroy(f->trainer);
    f->trainer = t;
    return EG_OK;
}

/* Keeping less and less of the forward pass. */
static eg_status try_less(eg__fit *f, uint64_t batch, eg_error *error) {
    eg_status status = try(f, batch, 0, error);
    for (uint64_t kept = f->options.memory / 2; status == EG_ERR_BUDGET && kept > 4096; kept /= 2)
        status = try(f, batch, kept, NULL); /* the message of the first is the one that helps */
    return status;
}

eg_status eg__fit_trainer(eg__fit *f, eg_error *error) {
    const eg_fit_options *o = &f->options;
    const uint64_t least = o->batch_least ? o->batch_least : 1;
    uint64_t most = o->batch_most ? o->batch_most : 128, batch = 32;
    if (o->batch) return try_less(f, o->batch, error);
    while (most > least && most / 2 >= f->data.windows) most /= 2; /* no emptier than need be */
    if (batch > most) batch = most;
    if (batch < least) batch = least;
    eg_status status = try(f, batch, 0, error);
    if (status == EG_OK)
        while (batch * 2 <= most && try(f, batch * 2, 0, NULL) == EG_OK) batch *= 2;
    while ((status == EG_ERR_BUDGET || status == EG_ERR_MEMORY) && batch / 2 >= least)
        status = try(f, batch /= 2, 0, error);
    if (status == EG_ERR_BUDGET) status = try_less(f, least, error);
    return status;
}
