/* Whole trainings: schedules, validation, early stopping, memory, faults that name their source. */
#include "test.h"
#include "fit_data.h"

#include <math.h>

AREA(fit, "schedules, early stopping, the best epoch, batches that fit, the source of a NaN")

TEST(fit, schedules) {
    const eg_schedule constant = {0}, fall = {.kind = EG_SCHEDULE_EXPONENTIAL, .decay = 0.5},
                      wave = {.kind = EG_SCHEDULE_COSINE, .floor = 0.1, .warmup = 2};
    static const struct {
        int which;
        double epoch, factor;
    } cases[] = {{0, 0, 1}, {0, 9.5, 1}, {1, 0, 1}, {1, 0.99, 1}, {1, 1, 0.5}, {1, 3.5, 0.125},
                 {2, 0, 0}, {2, 1, 0.5}, {2, 2, 1}, {2, 6, 0.55}, {2, 10, 0.1}};
    const eg_schedule *const all[] = {&constant, &fall, &wave};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = eg_schedule_factor(all[cases[i].which], cases[i].epoch, 10);
        CHECK(fabs(got - cases[i].factor) < 1e-12, "schedule %d at %g: %g, not %g", cases[i].which,
              cases[i].epoch, got, cases[i].factor);
    }
    CHECK(!eg_schedule_name((eg_schedule_kind)3), "a fourth schedule");
}

static int count_events(void *user, const eg_fit_progress *p) {
    ((int *)user)[p->event]++;
    return 0;
}

/* It learns, tells of it, and ends with the best epoch. */
TEST(fit, learns) {
    fit_data d;
    eg_error error;
    eg_fit_result r;
    int events[3] = {0};
    const eg_fit_options how = {.epochs = 12,
                                .batch = 8,
                                .optimizer = {.learning_rate = 0.01, .clip_norm = 1},
                                .schedule = {.kind = EG_SCHEDULE_COSINE},
                                .progress = count_events,
                                .user = events};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:autoncp:12:1,in=2,seed=3", false, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &how, &r, &error), error);
    CHECK(r.history_count == 12 && r.epochs == 12, "%llu epochs", (unsigned long long)r.epochs);
    CHECK(events[EG_FIT_STEP] == (int)r.steps && events[EG_FIT_EPOCH] == 12 && !events[2],
          "%d steps told of %llu", events[0], (unsigned long long)r.steps);
    CHECK(r.history[11].validation < 0.3 * r.history[0].validation, "%g after %g",
          r.history[11].validation, r.history[0].validation);
    double loss;
    CHECK_OK(eg_evaluate(d.model, d.validation, NULL, &loss, NULL, &error), error);
    CHECK(fabs(loss - r.best) < 1e-6 * r.best, "the model has %g, the best epoch %g", loss, r.best);
    double least = INFINITY;
    for (int i = 0; i < 12; i++) least = fmin(least, r.history[i].validation);
    CHECK(least == r.best && r.history[r.best_epoch - 1].validation == r.best, "%g, not %g", r.best,
          least);
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
}

/* What it says of a window is what a stream says of it, in the units of the data. */
static void compare(void *user, uint64_t window, uint64_t steps, const float *outputs) {
    fit_data *d = user;
    eg_stream_program *program;
    eg_stream *stream;
    eg_error error;
    uint64_t first, length;
    eg_data_window(d->whole, window, &first, &length);
    CHECK(steps == 10 && length == 10, "%llu steps", (unsigned long long)steps);
    if (window % 9) return;
    eg_train_batch batch = {0};
    float x[10][2], spans[10], target[10], weight[10];
    batch.x = &x[0][0];
    batch.spans = spans;
    batch.target = target;
    batch.weight = weight;
    batch.target_size = 1;
    eg_data_fill(d->whole, NULL, window, 1, 10, 0, &batch);
    CHECK_OK(eg_stream_compile(d->model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    for (int t = 0; t < 10; t++) {
        float y;
        CHECK_OK(eg_stream_step(stream, x[t], spans[t], &y, &error), error);
        CHECK(fabsf(y - outputs[t]) < 1e-3f, "window %llu, step %d: %g, not %g",
              (unsigned long long)window, t, (double)outputs[t], (double)y);
    }
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
}

TEST(fit, outputs_in_the_units_of_the_data) {
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, "ltc:autoncp:8:1,in=2,seed=3", false, &error), error);
    const eg_evaluate_options how = {.batch = 7, .outputs = compare, .user = &d};
    double loss;
    eg_metrics *metrics;
    eg_metrics_result r;
    CHECK_OK(eg_metrics_create(d.context, EG_LOSS_MSE, 1, 0, &metrics, &error), error);
    CHECK_OK(eg_evaluate(d.model, d.whole, &how, &loss, metrics, &error), error);
    eg_metrics_get(metrics, &r);
    CHECK(fabs(r.mse - loss * 4900) < 1e-3 * r.mse, "mse %g, loss %g", r.mse, loss);
    eg_metrics_destroy(metrics);
    fit_data_close(&d);
}

TEST(fit, early_stopping_and_the_last_epoch) {
    fit_data d;
    eg_error error;
    eg_fit_result r;
    eg_fit_options how = {.epochs = 50, /* nothing gets better with such steps */
                          .patience = 3,
                          .batch = 8,
                          .optimizer = {.kind = EG_SGD, .learning_rate = 1e-12}};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", false, &error), error);
    const uint64_t before = fit_model_bits(d.model);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &how, &r, &error), error);
    CHECK(r.early && r.epochs <= 8, "%llu epochs", (unsigned long long)r.epochs);
    CHECK(r.epochs == r.best_epoch + 3, "the best is %llu of %llu",
          (unsigned long long)r.best_epoch, (unsigned long long)r.epochs);
    CHECK(before == fit_model_bits(d.model), "steps of nothing changed the model");
    eg_fit_release(d.model, &r);
    how = (eg_fit_options){.epochs = 2, .batch = 8, .keep_last = 1, .average = 0.9};
    CHECK_OK(eg_fit(d.model, d.training, NULL, &how, &r, &error), error);
    CHECK(isnan(r.history[0].validation) && r.best_epoch == 2, "no validation: %g",
          r.history[0].validation);
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
}

/* The same bits on any number of threads. */
TEST(fit, same_bits_on_any_threads) {
    static const char *const specs[] = {"cfc:16,in=2,proj=1,backbone=16x2,dropout=0.2",
                                        "ltc:autoncp:10:1,in=2"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t bits[2];
        for (unsigned threads = 1; threads <= 2; threads++) {
            eg_context_options options = {.size = sizeof options, .threads = threads};
            fit_data d;
            eg_error error;
            const eg_fit_options how = {.epochs = 2, .batch = 16, .accumulate = 3, .seed = 5};
            CHECK_OK(fit_data_open(&d, &options, specs[i], false, &error), error);
            CHECK_OK(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error);
            bits[threads - 1] = fit_model_bits(d.model);
            fit_data_close(&d);
        }
        CHECK(bits[0] == bits[1], "%s: other bits with two threads", specs[i]);
    }
}

/* ---- memory */
static uint64_t batch_for(uint64_t memory, uint64_t batch, eg_status *status, eg_error *error,
                          double *loss) {
    fit_data d;
    eg_fit_result r = {0};
    const eg_fit_options how = {.epochs = 1, .batch = batch, .memory = memory};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:32,in=2,proj=1,backbone=32", false, error), *error);
    *status = eg_fit(d.model, d.training, NULL, &how, &r, error);
    const uint64_t used = r.batch_size;
    if (!*status) {
        CHECK(!memory || r.memory <= memory, "%llu bytes of %llu", (unsigned long long)r.memory,
              (unsigned long long)memory);
        *loss = r.history[0].loss;
    }
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
    return used;
}

TEST(fit, batches_that_fit) {
    eg_status status;
    eg_error error;
    double loss, same;
    /* 61 windows: 64 are enough */
    CHECK(batch_for(0, 0, &status, &error, &loss) == 64, "without a limit");
    uint64_t last = 64;
    for (uint64_t memory = 2 << 20; memory > 100 << 10; memory /= 2) {
        const uint64_t batch = batch_for(memory, 0, &status, &error, &loss);
        if (status) break;
        CHECK(batch <= last, "%llu windows in less memory", (unsigned long long)batch);
        last = batch;
    }
    CHECK(last < 16, "never fewer than %llu", (unsigned long long)last);
    /* more than there are would be computed in vain */
    CHECK(batch_for(0, 1000, &status, &error, &loss) == 61, "a batch of 1000");
    batch_for(20000, 0, &status, &error, &loss);
    CHECK(status == EG_ERR_BUDGET && strstr(error.message, "the 20000 allowed"), "%s",
          error.message);
    /* with steps computed twice, a batch fits where it did not: the same loss */
    batch_for(0, 16, &status, &error, &loss);
    CHECK_OK(status, error);
    batch_for(500 << 10, 16, &status, &error, &same);
    CHECK_OK(status, error);
    CHECK(fabs(loss - same) < 1e-5 * loss, "%.9g, not %.9g", same, loss);
}

/* ---- faults */
TEST(fit, source_of_a_nan) {
    fit_data d;
    eg_error error;
    const eg_fit_options how = {.epochs = 1, .batch = 8};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", true, &error), error);
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &how, NULL, &error), error, EG_ERR_FORMAT,
                "the first inf comes from node");
    /* a window that has row 205, at a step that it is */
    const char *row = strstr(error.message, "(row "), *time = strstr(error.message, "time ");
    CHECK(row && time && atoi(row + 5) + atoi(time + 5) == 205, "%s", error.message);
    fit_data_close(&d);
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", false, &error), error);
    eg_tensor tensor;
    const char *name = eg_model_tensor(d.model, 0, &tensor, NULL);
    *(float *)tensor.data = NAN;
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &how, NULL, &error), error, EG_ERR_FORMAT,
                "is nan");
    CHECK(strstr(error.message, name), "%s", error.message);
    fit_data_close(&d);
    /* finite weights, but not what is made of them inside of a scan */
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=4,activation=relu", false, &error),
             error);
    for (size_t i = 0; (name = eg_model_tensor(d.model, i, &tensor, NULL)); i++)
        if (strstr(name, "backbone") && tensor.rank == 2)
            for (uint64_t k = 0; k < tensor.shape[0] * tensor.shape[1]; k++)
                ((float *)tensor.data)[k] = 3e38f;
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &how, NULL, &error), error, EG_ERR_FORMAT,
                "epoch 1, batch 1: the loss is");
    CHECK(strstr(error.message, "comes from node") && strstr(error.message, "time "), "%s",
          error.message);
    fit_data_close(&d);
}

TEST(fit, refusals) {
    static const struct {
        const char *spec;
        eg_fit_options how;
        const char *part;
    } cases[] = {
        {"cfc:4,in=2", {0}, "the model has 4 outputs, the data 1 targets"},
        {"cfc:4,in=2,proj=1", {.loss = EG_LOSS_CLASSES}, "no targets for the loss 'classes'"},
        {"cfc:4,in=2,proj=1", {.average = 1}, "average 1"},
        {"cfc:4,in=2,proj=1", {.optimizer = {.learning_rate = -1}}, "rate -1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fit_data d;
        eg_error error;
        const eg_units none = {0};
        fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error);
        eg_model_destroy(d.model);
        CHECK_OK(eg_model_open(d.context, cases[i].spec, &d.model, &error), error);
        CHECK_OK(eg_model_units_set(d.model, &none, &error), error);
        CHECK_FAILS(eg_fit(d.model, d.training, NULL, &cases[i].how, NULL, &error), error,
                    EG_ERR_ARGUMENT, cases[i].part);
        fit_data_close(&d);
    }
    eg_error error;
    fit_data d;
    const eg_fit_options binary = {.loss = EG_LOSS_BINARY};
    fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error);
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &binary, NULL, &error), error, EG_ERR_ARGUMENT,
                "is not within 0..1");
    /* as many outputs as targets, also when nothing is learned */
    eg_model_destroy(d.model);
    CHECK_OK(eg_model_open(d.context, "cfc:4,in=2", &d.model, &error), error);
    double loss;
    CHECK_FAILS(eg_evaluate(d.model, d.training, NULL, &loss, NULL, &error), error, EG_ERR_ARGUMENT,
                "the model has 4 outputs, the data 1 targets");
    fit_data_close(&d);
    CHECK_FAILS(eg_fit(NULL, NULL, NULL, NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no model");
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    const eg_fit_options how = {.epochs = 1, .batch = 32, .average = 0.5};
    eg_status status = fit_data_open_in(&d, context, user, false, error);
    if (!status) status = eg_fit(d.model, d.training, d.validation, &how, NULL, error);
    fit_data_close(&d);
    return status;
}

TEST(fit, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:4,in=2,backbone=0,proj=1");
    CHECK(failed > 100, "only %d allocations", failed);
}
