/* The reference loss: that of a constant prediction, which ignores the inputs. */
#include "train/fit.h"
#include "train/data.h"

#include <math.h>

typedef struct reference {
    eg_loss loss;
    const eg__store *store;
    const float *scale; /* scale of the targets, in the model's units; NULL = 1 */
    double *mean;       /* [targets] of the training */
    double *count;      /* [targets] that have a value there */
    double *share;      /* [classes] of the training */
    double sum, counted;
} reference;

/* Calls `row` for each target row of the windows, as often as it occurs in them. */
static void each_target(const eg_data *data, void (*row)(void *user, const float *y), void *user) {
    const eg__store *s = data->store;
    for (size_t i = 0; i < data->count; i++) {
        const eg__window w = data->windows[i];
        for (uint64_t t = s->last ? w.length - 1 : 0; t < w.length; t++)
            row(user, s->y + (w.first + t) * s->targets);
    }
}

static void count_class(void *user, const float *y) {
    if (!isnan(*y)) ((double *)user)[(size_t)*y]++;
}

static void add_to_mean(void *user, const float *y) {
    reference *r = user;
    for (uint64_t i = 0; i < r->store->targets; i++)
        if (!isnan(y[i])) r->mean[i] += ((double)y[i] - r->mean[i]) / ++r->count[i];
}

static double loss_of(const reference *r, uint64_t i, double y) {
    if (r->loss == EG_LOSS_CLASSES) return -log(r->share[(size_t)y]);
    if (r->loss == EG_LOSS_BINARY) {
        const double p = fmin(fmax(r->mean[i], 1e-6), 1 - 1e-6);
        return -y * log(p) - (1 - y) * log(1 - p);
    }
    const double e = fabs(y - r->mean[i]) / (r->scale ? (double)r->scale[i] : 1);
    if (r->loss == EG_LOSS_MAE) return e;
    if (r->loss == EG_LOSS_HUBER) return e < 1 ? e * e / 2 : e - 0.5;
    return e * e;
}

static void add(void *user, const float *y) {
    reference *r = user;
    for (uint64_t i = 0; i < r->store->targets; i++) {
        if (isnan(y[i])) continue;
        r->sum += loss_of(r, i, (double)y[i]);
        r->counted++;
    }
}

/* Shares of the classes, with add-one smoothing: none is impossible. */
static void find_shares(const eg_data *training, double *share) {
    const size_t classes = training->store->classes;
    double all = 0;
    each_target(training, count_class, share);
    for (size_t i = 0; i < classes; i++) all += ++share[i];
    for (size_t i = 0; i < classes; i++) share[i] /= all;
}

eg_status eg__fit_constant(const eg__fit *f, const eg_data *data, double *out, eg_error *error) {
    const eg__store *s = f->training->store;
    eg_status status = EG_OK;
    eg_scaling units;
    eg_model_scaling_get(f->model, &units);
    const size_t targets = (size_t)s->targets;
    double *share = eg__data_take(s->memory, s->classes, sizeof *share, &status, error);
    double *mean = eg__data_take(s->memory, 2 * targets, sizeof *mean, &status, error);
    if (!status) {
        reference r = {f->options.loss, s, units.output_scale, mean, mean + targets, share, 0, 0};
        each_target(f->training, add_to_mean, &r);
        if (s->classes) find_shares(f->training, share);
        each_target(data, add, &r);
        *out = r.counted > 0 ? r.sum / r.counted : NAN;
    }
    eg__memory_give(s->memory, share);
    eg__memory_give(s->memory, mean);
    return status;
}
