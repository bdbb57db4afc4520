/* A model over all windows of a data set. */
#include "base/abi.h"
#include "elegans/fit.h"
#include "train/check.h"
#include "train/publish.h"

#include <math.h>
#include <string.h>

typedef struct pass {
    const eg_model *model;
    const eg_data *data;
    const eg_evaluate_options *options;
    eg_metrics *metrics;
    eg_data_info info;
    eg_scaling units;
    eg_trainer *trainer;
    float *row; /* the outputs of a window, as the model gives them */
    double sum, weight;
} pass;

static void hand_out(const pass *p, uint64_t first, uint64_t count, const float *outputs) {
    const uint64_t n = p->trainer->info.outputs, batch = p->trainer->options.batch;
    const float *y = p->trainer->given ? p->trainer->given : outputs;
    for (uint64_t b = 0; b < count; b++) {
        uint64_t begin, steps;
        eg_data_window(p->data, first + b, &begin, &steps);
        if (p->info.last) steps = 1;
        for (uint64_t t = 0; t < steps; t++)
            memcpy(p->row + t * n, y + (t * batch + b) * n, (size_t)n * sizeof *y);
        p->options->outputs(p->options->user, first + b, steps, p->row);
    }
}

static eg_status one_batch(pass *p, uint64_t first, eg_error *error) {
    eg_trainer *t = p->trainer;
    const uint64_t batch = t->options.batch, left = p->info.windows - first;
    const uint64_t rows = p->info.last ? batch : batch * t->options.time;
    const eg_train_batch own = eg_trainer_batch(t);
    const float *y;
    double loss, weight = 0;
    if (p->options->stop && p->options->stop(p->options->stop_user))
        return eg__fail(error, EG_ERR_STOPPED, "stopped after %llu of %llu windows",
                        (unsigned long long)first, (unsigned long long)p->info.windows);
    eg_publisher_begin(p->options->publisher);
    for (uint64_t i = 0; i < batch; i++)
        eg_data_fill(p->data, &p->units, first + i, batch, t->options.time, i, &own);
    eg_status status = eg_trainer_evaluate(t, &loss, &y, error);
    if (status) return status;
    eg_publisher_end(p->options->publisher);
    for (uint64_t i = 0; i < rows * own.target_size; i++) {
        weight += (double)own.weight[i];
        /* targets of weight 0 are NaN for metrics */
        if (!(own.weight[i] > 0)) own.target[i] = NAN;
    }
    if (weight > 0) p->sum += loss * weight;
    p->weight += weight;
    if (p->metrics)
        status = eg_metrics_add(p->metrics, y, own.target, NULL, rows, &p->units, error);
    if (status) return status;
    if (p->options->outputs) hand_out(p, first, left < batch ? left : batch, y);
    return EG_OK;
}

static eg_status prepare(pass *p, eg_error *error) {
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(p->model, &info);
    eg_status status = eg__data_fits(p->model, p->data, p->options->loss, false, error);
    if (status) return status;
    uint64_t batch = p->options->batch ? p->options->batch : 32;
    if (batch > p->info.windows) batch = p->info.windows;
    const eg_train_options options = {.batch = batch,
                                      .time = p->info.steps,
                                      .last = p->info.last,
                                      .timespans = p->info.timespans,
                                      .lengths = p->info.lengths,
                                      .forward_only = 1,
                                      .loss = p->options->loss};
    status = eg_trainer_create(p->model, &options, &p->trainer, error);
    if (status) return status;
    eg__publish_forward_cost(p->options->publisher, p->trainer);
    eg_error reason = {EG_ERR_MEMORY, ""};
    p->row = eg__memory_take_array(p->model->memory, EG_TAG_WEIGHTS, (size_t)p->info.steps,
                                   (size_t)info.outputs * sizeof *p->row, &reason);
    return p->row ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

eg_status eg_evaluate(const eg_model *model, const eg_data *data,
                      const eg_evaluate_options *options, double *loss, eg_metrics *metrics,
                      eg_error *error) {
    eg_evaluate_options kept;
    if (!model || !data) return eg__fail(error, EG_ERR_ARGUMENT, "evaluate: no model or no data");
    const eg_status taken = EG__OPTIONS(eg_evaluate_options, &kept, options, error);
    if (taken) return taken;
    pass p = {.model = model, .data = data, .options = &kept, .metrics = metrics};
    eg_data_info_get(data, &p.info);
    eg_model_scaling_get(model, &p.units);
    eg_status status = prepare(&p, error);
    for (uint64_t first = 0; !status && first < p.info.windows; first += p.trainer->options.batch)
        status = one_batch(&p, first, error);
    if (!status && loss) *loss = p.weight > 0 ? p.sum / p.weight : NAN;
    eg__memory_give(model->memory, p.row);
    eg_trainer_destroy(p.trainer);
    return status;
}
