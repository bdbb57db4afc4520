/* A small data set for tests of whole trainings. */
#include "test.h"
#include "fit_data.h"

#include <math.h>

eg_status fit_data_open_in(fit_data *out, eg_context *context, const char *spec, bool spoiled,
                           eg_error *error) {
    static const char *const names[] = {"t", "a", "b", "next", "trip"};
    enum { COLUMNS = 5 };
    static double values[FIT_ROWS][COLUMNS];
    double time = 0;
    uint64_t seed = 7;
    *out = (fit_data){.context = context};
    for (int i = 0; i < FIT_ROWS; i++) {
        const double phase = (double)(i / 100);
        if (i % 100 == 0) time = 0;
        const double row[COLUMNS] = {time, 10 + 3 * sin(time + phase), cos(1.7 * time),
                                     100 * sin(time + phase + 0.3), phase};
        memcpy(values[i], row, sizeof row);
        time += 0.2 + 0.1 * (double)test_random(&seed);
    }
    if (spoiled) values[204][3] = 3e38; /* whose square is none */
    const eg_table table = {
        .rows = FIT_ROWS, .columns = COLUMNS, .names = names, .values = &values[0][0]};
    const eg_data_options options = {.inputs = "a,b",
                                     .targets = "next",
                                     .time = "t",
                                     .group = "trip",
                                     .window = 10,
                                     .stride = 5};
    const eg_split split = {.kind = EG_SPLIT_WINDOWS, .fraction = 0.2, .seed = 1};
    float in[2][2] = {{10, 0}, {2, 1}}, target[2] = {0, 70};
    const eg_scaling units = {in[0], in[1], &target[0], &target[1], 0.2f};
    eg_status status = eg_data_create(out->context, 1, &table, &options, &out->whole, error);
    if (!status)
        status = eg_data_split(out->whole, &split, &out->training, &out->validation, error);
    if (!status) status = eg_model_open(out->context, spec, &out->model, error);
    if (!status) status = eg_model_scaling_set(out->model, &units, error);
    return status;
}

eg_status fit_data_open(fit_data *out, const eg_context_options *options, const char *spec,
                        bool spoiled, eg_error *error) {
    eg_context *context;
    *out = (fit_data){0};
    eg_status status = eg_context_create(options, &context, error);
    if (status) return status;
    status = fit_data_open_in(out, context, spec, spoiled, error);
    out->made = context;
    return status;
}

void fit_data_close(fit_data *d) {
    eg_model_destroy(d->model);
    eg_data_destroy(d->whole);
    eg_data_destroy(d->training);
    eg_data_destroy(d->validation);
    eg_context_destroy(d->made);
    *d = (fit_data){0};
}

uint64_t fit_model_bits(const eg_model *model) {
    uint64_t hash = 0xcbf29ce484222325u;
    eg_tensor tensor;
    for (size_t i = 0; eg_model_tensor(model, i, &tensor, NULL); i++) {
        const unsigned char *bytes = tensor.data;
        size_t count = sizeof(float);
        for (unsigned axis = 0; axis < tensor.rank; axis++) count *= (size_t)tensor.shape[axis];
        for (size_t k = 0; k < count; k++) hash = (hash ^ bytes[k]) * 0x100000001b3u;
    }
    return hash;
}
