/* Whole trainings: schedules, validation, early stopping, memory, faults that name their source. */
#include "test.h"
#include "engine/context.h"
#include "fit_data.h"
#include "publish/publisher.h"

#include <math.h>
#include <sys/stat.h>

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
    const eg_fit_options options = {.epochs = 12,
                                    .batch = 8,
                                    .optimizer = {.learning_rate = 0.01, .clip_norm = 1},
                                    .schedule = {.kind = EG_SCHEDULE_COSINE},
                                    .progress = count_events,
                                    .user = events};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:autoncp:12:1,in=2,seed=3", false, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, &r, &error), error);
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
    float x[10][2], timespans[10], target[10], weight[10];
    batch.x = &x[0][0];
    batch.timespans = timespans;
    batch.target = target;
    batch.weight = weight;
    batch.target_size = 1;
    eg_data_fill(d->whole, NULL, window, 1, 10, 0, &batch);
    CHECK_OK(eg_stream_compile(d->model, &program, &error), error);
    CHECK_OK(eg_stream_create(program, &stream, &error), error);
    for (int t = 0; t < 10; t++) {
        float y;
        CHECK_OK(eg_stream_step(stream, x[t], timespans[t], &y, &error), error);
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
    const eg_evaluate_options options = {.batch = 7, .outputs = compare, .user = &d};
    double loss;
    eg_metrics *metrics;
    eg_metrics_result r;
    CHECK_OK(eg_metrics_create(d.context, EG_LOSS_MSE, 1, 0, &metrics, &error), error);
    CHECK_OK(eg_evaluate(d.model, d.whole, &options, &loss, metrics, &error), error);
    eg_metrics_get(metrics, &r);
    CHECK(fabs(r.mse - loss * 4900) < 1e-3 * r.mse, "mse %g, loss %g", r.mse, loss);
    eg_metrics_destroy(metrics);
    fit_data_close(&d);
}

TEST(fit, early_stopping_and_the_last_epoch) {
    fit_data d;
    eg_error error;
    eg_fit_result r;
    eg_fit_options options = {.epochs = 50, /* nothing gets better with such steps */
                              .patience = 3,
                              .batch = 8,
                              .optimizer = {.kind = EG_SGD, .learning_rate = 1e-12}};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", false, &error), error);
    const uint64_t before = fit_model_bits(d.model);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, &r, &error), error);
    CHECK(r.early && r.epochs <= 8, "%llu epochs", (unsigned long long)r.epochs);
    CHECK(r.epochs == r.best_epoch + 3, "the best is %llu of %llu",
          (unsigned long long)r.best_epoch, (unsigned long long)r.epochs);
    CHECK(before == fit_model_bits(d.model), "steps of nothing changed the model");
    eg_fit_release(d.model, &r);
    options = (eg_fit_options){.epochs = 2, .batch = 8, .keep_last = 1, .average = 0.9};
    CHECK_OK(eg_fit(d.model, d.training, NULL, &options, &r, &error), error);
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
/* What cannot fit is refused before it is taken: by the parameters alone at once, and with the batch as soon as
 * the programs are planned. `memory` is the training's limit, `budget` the context's. */
TEST(fit, refused_before_it_is_taken) {
    static const struct {
        const char *spec;
        uint64_t memory, budget;
        const char *part;
    } rows[] = {
        {"cfc:2000,in=2,proj=1", 8 << 20, 0, "takes at least 25"},
        {"cfc:2000,in=2,proj=1", 8 << 20, 0, "more than the 8388608 allowed: ask for a smaller"},
        {"cfc:2000,in=2,proj=1", 0, 28 << 20, "that may still be used here: ask for a smaller"},
        {"cfc:2000,in=2,proj=1", 32 << 20, 0, "a batch of 8 takes "},
        {"cfc:2000,in=2,proj=1", 0, 40 << 20, "a batch of 8 takes "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fit_data d;
        eg_error error;
        eg_memory_figures before, after;
        const eg_context_options options = {.threads = 1, .memory_budget = rows[i].budget};
        const eg_fit_options how = {.epochs = 1, .batch = 8, .memory = rows[i].memory};
        CHECK_OK(fit_data_open(&d, &options, rows[i].spec, false, &error), error);
        eg__memory_peak_reset(eg__context_memory(d.context));
        CHECK_OK(eg_memory_query(d.context, EG_TAG_COUNT, &before, &error), error);
        CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error,
                    EG_ERR_BUDGET, rows[i].part);
        CHECK_OK(eg_memory_query(d.context, EG_TAG_COUNT, &after, &error), error);
        /* programs: those of the optimizer, too */
        CHECK(after.peak - before.current < 2 << 20, "row %zu: %llu bytes were taken first", i,
              (unsigned long long)(after.peak - before.current));
        fit_data_close(&d);
    }
}

/* The same can be asked of a model that has no values yet, and they count. */
TEST(fit, checked_without_values) {
    eg_context *context;
    eg_error error;
    eg_model *model = NULL;
    const eg_fit_options plain = {0}, average = {.average = 0.9, .memory = 26 << 20},
                         accumulate = {.accumulate = 2, .memory = 26 << 20},
                         enough = {.memory = 26 << 20};
    const eg_context_options options = {.threads = 1, .memory_budget = 64 << 20};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_model_outline(context, "cfc:2000,in=2,proj=1", &model, &error), error);
    CHECK_OK(eg_fit_check(model, &plain, &error), error);
    CHECK_OK(eg_fit_check(model, &enough, &error), error);
    CHECK_FAILS(eg_fit_check(model, &average, &error), error, EG_ERR_BUDGET, "takes at least 309");
    CHECK_FAILS(eg_fit_check(model, &accumulate, &error), error, EG_ERR_BUDGET,
                "takes at least 309");
    eg_model_destroy(model);
    CHECK_OK(eg_model_outline(context, "cfc:4800,in=2,proj=1", &model, &error), error);
    CHECK_FAILS(eg_fit_check(model, &plain, &error), error, EG_ERR_BUDGET, "takes at least 74");
    CHECK_FAILS(eg_fit_check(NULL, &plain, &error), error, EG_ERR_ARGUMENT, "no model");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static uint64_t batch_for(uint64_t memory, uint64_t batch, eg_status *status, eg_error *error,
                          double *loss) {
    fit_data d;
    eg_fit_result r = {0};
    const eg_fit_options options = {.epochs = 1, .batch = batch, .memory = memory};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:32,in=2,proj=1,backbone=32", false, error), *error);
    *status = eg_fit(d.model, d.training, NULL, &options, &r, error);
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
    const eg_fit_options options = {.epochs = 1, .batch = 8};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", true, &error), error);
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error, EG_ERR_FORMAT,
                "the first inf comes from node");
    /* a window that has row 205, at a step that it is */
    const char *row = strstr(error.message, "(row "), *time = strstr(error.message, "time ");
    CHECK(row && time && atoi(row + 5) + atoi(time + 5) == 205, "%s", error.message);
    fit_data_close(&d);
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", false, &error), error);
    eg_tensor tensor;
    const char *name = eg_model_tensor(d.model, 0, &tensor, NULL);
    *(float *)tensor.data = NAN;
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error, EG_ERR_FORMAT,
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
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error, EG_ERR_FORMAT,
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
        const eg_scaling none = {0};
        fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error);
        eg_model_destroy(d.model);
        CHECK_OK(eg_model_open(d.context, cases[i].spec, &d.model, &error), error);
        CHECK_OK(eg_model_scaling_set(d.model, &none, &error), error);
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

/* ---- trainings that learn nothing leave the model alone, and say why */
TEST(fit, nothing_learned) {
    static const struct {
        const char *spec;
        double rate;
        bool validated, last;
        uint64_t batch;
        const char *part; /* NULL = it learns */
    } cases[] = {
        {"cfc:autoncp:12:1,in=2", 0.01, true, false, 8, NULL},
        {"cfc:autoncp:12:1,in=2", 0.01, false, true, 8, NULL},
        {"cfc:autoncp:12:1,in=2", 0.01, true, false, 10000, NULL},
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, true, false, 8,
         "nothing was learned: the training loss"},
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, false, false, 8, "a learning rate below 1e+09"},
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, true, true, 8, "after the last epoch"},
        /* its outputs stay within -1..1, whatever the weights are */
        {"cfc:autoncp:12:1,in=2", 1e9, true, false, 8, "nothing was learned"},
        /* an epoch of one step: its loss is that of the model as it came */
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, true, false, 10000, "after the best epoch"},
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, false, false, 10000, "after the best epoch"},
        {"cfc:4,in=2,proj=1,backbone=0", 1e9, false, true, 10000, "after the last epoch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fit_data d;
        eg_error error;
        eg_fit_result r;
        const eg_fit_options options = {.epochs = 3,
                                        .batch = cases[i].batch,
                                        .keep_last = cases[i].last,
                                        .optimizer = {.learning_rate = cases[i].rate}};
        CHECK_OK(fit_data_open(&d, NULL, cases[i].spec, false, &error), error);
        const uint64_t before = fit_model_bits(d.model);
        const eg_data *validation = cases[i].validated ? d.validation : NULL;
        const eg_status status = eg_fit(d.model, d.training, validation, &options, &r, &error);
        CHECK((status == EG_OK) == !cases[i].part, "case %zu: %s", i, eg_status_name(status));
        if (cases[i].part) {
            CHECK(status == EG_ERR_FORMAT && strstr(error.message, cases[i].part), "%s",
                  error.message);
            CHECK(r.diverged && fit_model_bits(d.model) == before, "case %zu: another model", i);
        } else {
            CHECK(!r.diverged && fit_model_bits(d.model) != before, "case %zu: the same model", i);
            CHECK(r.initial > 0.1 && r.initial < 3 && r.constant > 0.5 && r.constant < 2,
                  "case %zu: beside %g and %g", i, r.initial, r.constant);
            eg_fit_release(d.model, &r);
        }
        fit_data_close(&d);
    }
}

/* One good epoch and one that is not: the best is kept, the last is refused. */
TEST(fit, last_epoch_that_diverged) {
    for (int last = 0; last < 2; last++) {
        fit_data d;
        eg_error error = {0};
        const eg_fit_options options = {
            .epochs = 2,
            .batch = 8,
            .keep_last = last,
            .optimizer = {.learning_rate = 0.01},
            .schedule = {.kind = EG_SCHEDULE_EXPONENTIAL, .decay = 1e5}};
        CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1,backbone=0", false, &error), error);
        if (last)
            CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error,
                        EG_ERR_FORMAT, "after the last epoch");
        else CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error);
        fit_data_close(&d);
    }
}

/* Squares of its targets are beyond all floats: no epoch is the best. */
TEST(fit, validation_without_a_finite_loss) {
    static const char *const names[] = {"a", "b", "y"};
    static const double far[] = {1, 2, 1e30, 2, 3, 1e30};
    const eg_table table = {.rows = 2, .columns = 3, .names = names, .values = (double *)far};
    const eg_data_options columns = {.targets = "y"};
    for (int last = 0; last < 2; last++) {
        fit_data d;
        eg_data *validation = NULL;
        eg_error error;
        const eg_fit_options options = {.epochs = 2, .batch = 8, .keep_last = last};
        CHECK_OK(fit_data_open(&d, NULL, "cfc:autoncp:12:1,in=2", false, &error), error);
        CHECK_OK(eg_data_create(d.context, 1, &table, &columns, &validation, &error), error);
        const uint64_t before = fit_model_bits(d.model);
        CHECK_FAILS(eg_fit(d.model, d.training, validation, &options, NULL, &error), error,
                    EG_ERR_FORMAT, "the validation loss is not finite in any epoch");
        CHECK(fit_model_bits(d.model) == before, "another model");
        eg_data_destroy(validation);
        fit_data_close(&d);
    }
}

/* What predicting the mean costs, by hand: targets 0 0 1 3 (or classes 0 0 1 2), learned from and measured. */
TEST(fit, loss_of_a_constant) {
    static const double values[] = {1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 3, 1, 1, 1, 0, 4, 3, 2, 1, 0};
    static const char *const names[] = {"a", "y", "k", "b", "never"};
    static const struct {
        eg_loss loss;
        const char *target;
        double want;
    } cases[] = {{EG_LOSS_MSE, "y", 1.5},
                 {EG_LOSS_MAE, "y", 1},
                 {EG_LOSS_HUBER, "y", (0.5 + 0.5 + 0 + 1.5) / 4},
                 {EG_LOSS_BINARY, "b", 0.5623351446188083}, /* three of four */
                 {EG_LOSS_BINARY, "never", 1e-6},           /* a finite one */
                 {EG_LOSS_CLASSES, "k", (0.8472978603872037 + 1.252762968495368) / 2}};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const eg_table table = {.rows = 4, .columns = 5, .names = names, .values = (double *)values};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool classes = cases[i].loss == EG_LOSS_CLASSES;
        const eg_data_options options = {
            .inputs = "a", .targets = cases[i].target, .classes = classes};
        const eg_fit_options fit = {.loss = cases[i].loss, .epochs = 1};
        eg_data *data;
        eg_model *model;
        eg_fit_result r;
        CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
        CHECK_OK(eg_model_open(context, classes ? "cfc:4,in=1,proj=3" : "cfc:4,in=1,proj=1", &model,
                               &error),
                 error);
        CHECK_OK(eg_fit(model, data, NULL, &fit, &r, &error), error);
        CHECK(fabs(r.constant - cases[i].want) < 5e-7, "%s of '%s': %.9g, not %.9g",
              eg_loss_name(cases[i].loss), cases[i].target, r.constant, cases[i].want);
        eg_fit_release(model, &r);
        eg_model_destroy(model);
        eg_data_destroy(data);
    }
    /* learned from the last rows of two windows, 0 and 3: only these count */
    const eg_data_options ends = {.inputs = "a", .targets = "y", .window = 2, .last = 1};
    const eg_fit_options once = {.epochs = 1};
    eg_data *data;
    eg_model *model;
    eg_fit_result r;
    CHECK_OK(eg_data_create(context, 1, &table, &ends, &data, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:4,in=1,proj=1", &model, &error), error);
    CHECK_OK(eg_fit(model, data, NULL, &once, &r, &error), error);
    CHECK(fabs(r.constant - 2.25) < 1e-6, "of last rows: %.9g", r.constant);
    eg_fit_release(model, &r);
    eg_data_destroy(data);
    /* a target that only other rows have is none */
    double others[20];
    memcpy(others, values, sizeof others);
    others[5 + 1] = others[15 + 1] = NAN;
    const eg_table spoiled = {.rows = 4, .columns = 5, .names = names, .values = others};
    CHECK_OK(eg_data_create(context, 1, &spoiled, &ends, &data, &error), error);
    CHECK_FAILS(eg_fit(model, data, NULL, &once, NULL, &error), error, EG_ERR_ARGUMENT,
                "target 'y' has no value in the 4 rows of the training data");
    eg_data_destroy(data);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- targets that are missing, each by itself */

/* Two targets on alternating rows: as good as if each were learned from its own rows. */
TEST(fit, targets_on_alternating_rows) {
    enum { ROWS = 200, COLUMNS = 4 };
    static const char *const names[] = {"a", "b", "y", "z"};
    static double values[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        const double row[COLUMNS] = {sin(0.3 * i), cos(0.3 * i), sin(0.3 * i + 0.5),
                                     cos(0.3 * i - 0.5)};
        memcpy(values[i], row, sizeof row);
        values[i][2 + i % 2] = NAN;
        if (i % 20 == 7) values[i][2] = values[i][3] = NAN; /* neither */
    }
    const eg_table table = {
        .rows = ROWS, .columns = COLUMNS, .names = names, .values = &values[0][0]};
    const eg_data_options options = {.targets = "y,z", .window = 20, .stride = 10};
    const eg_fit_options fit = {
        .epochs = 30, .batch = 4, .optimizer = {.learning_rate = 0.02, .clip_norm = 1}};
    eg_context *context;
    eg_model *model;
    eg_data *data;
    eg_error error;
    eg_fit_result r;
    eg_data_info info = {.size = sizeof info};
    eg_metrics *metrics;
    eg_metrics_result each[2];
    double loss;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
    eg_data_info_get(data, &info);
    CHECK(info.covered == ROWS && info.missing_targets == ROWS + 10 && info.without_target == 10,
          "%d targets missing, %d rows without", (int)info.missing_targets,
          (int)info.without_target);
    CHECK_OK(eg_model_open(context, "cfc:autoncp:16:8,in=2,proj=2", &model, &error), error);
    CHECK_OK(eg_fit(model, data, NULL, &fit, &r, &error), error);
    CHECK(r.best < 0.1 * r.constant, "%g, and the mean has %g", r.best, r.constant);
    CHECK_OK(eg_metrics_create(context, EG_LOSS_MSE, 2, 0, &metrics, &error), error);
    CHECK_OK(eg_evaluate(model, data, NULL, &loss, metrics, &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(eg_metrics_output(metrics, (uint64_t)i, &each[i], &error), error);
        CHECK(each[i].mse < 0.1, "target %d: %g", i, each[i].mse);
    }
    /* 19 windows of 20: rows 10 .. 189 are in two of them; 7, 27, .. have no target, which would be y's */
    CHECK(each[0].rows == 171 && each[1].rows == 190, "%d and %d rows", (int)each[0].rows,
          (int)each[1].rows);
    const double mean = (each[0].mse * 171 + each[1].mse * 190) / 361;
    CHECK(fabs(mean - loss) < 1e-5 * loss, "loss %g, metrics %g", loss, mean);
    eg_metrics_destroy(metrics);
    eg_fit_release(model, &r);
    eg_data_destroy(data);
    /* a target of which nothing is there is refused by its name */
    for (int i = 0; i < ROWS; i++) values[i][3] = NAN;
    const uint64_t before = fit_model_bits(model);
    CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
    CHECK_FAILS(eg_fit(model, data, NULL, &fit, NULL, &error), error, EG_ERR_ARGUMENT,
                "target 'z' has no value in the 200 rows of the training data");
    CHECK(fit_model_bits(model) == before, "another model");
    eg_data_destroy(data);
    /* of the validation data, one that is there is enough */
    eg_data *first, *second;
    const eg_split split = {.kind = EG_SPLIT_TIME, .fraction = 0.5};
    for (int i = 0; i < ROWS; i++) values[i][3] = i < ROWS / 2 ? 1 : NAN;
    for (int there = 1; there >= 0; there--) {
        for (int i = ROWS / 2; !there && i < ROWS; i++) values[i][2] = NAN;
        CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
        CHECK_OK(eg_data_split(data, &split, &first, &second, &error), error);
        if (there) CHECK_OK(eg_fit(model, first, second, &fit, NULL, &error), error);
        else
            CHECK_FAILS(eg_fit(model, first, second, &fit, NULL, &error), error, EG_ERR_ARGUMENT,
                        "no target has a value in the 100 rows of the validation data");
        eg_data_destroy(first);
        eg_data_destroy(second);
        eg_data_destroy(data);
    }
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    const eg_fit_options options = {.epochs = 1, .batch = 32, .average = 0.5};
    eg_status status = fit_data_open_in(&d, context, user, false, error);
    if (!status) status = eg_fit(d.model, d.training, d.validation, &options, NULL, error);
    fit_data_close(&d);
    return status;
}

TEST(fit, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:4,in=2,backbone=0,proj=1");
    CHECK(failed > 100, "only %d allocations", failed);
}

/* A training and an evaluation report themselves: every update and batch, at the costs of the programs they run. */
static double cost_of(const eg_trainer *t, eg_train_part part) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(eg_trainer_part(t, part, NULL), &info);
    return info.flops;
}

TEST(fit, publishes) {
    fit_data d;
    eg_error error;
    eg_fit_result r;
    eg_publisher *p;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", test_folder());
    chmod(folder, 0700);
    CHECK_OK(fit_data_open(&d, NULL, "cfc:autoncp:12:1,in=2,seed=3", false, &error), error);
    const eg_publisher_options page = {.size = sizeof page, .folder = folder, .activity = "train"};
    CHECK_OK(eg_publisher_open(d.context, &page, &p, &error), error);
    if (!p) return;
    const eg_fit_options options = {
        .size = sizeof options, .epochs = 2, .batch = 8, .accumulate = 3, .publisher = p};
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, &r, &error), error);
    eg_data_info data = {.size = sizeof data};
    eg_data_info_get(d.training, &data);
    const eg_train_options train = {
        .batch = 8, .time = data.steps, .timespans = data.timespans, .lengths = data.lengths};
    eg_trainer *t;
    CHECK_OK(eg_trainer_create(d.model, &train, &t, &error), error);
    const double flops = 3 * cost_of(t, EG_TRAIN_GRADIENT) + 3 * cost_of(t, EG_TRAIN_SUM) +
                         cost_of(t, EG_TRAIN_NORM) + cost_of(t, EG_TRAIN_UPDATE);
    const double told = eg__double_of(eg__word_get(&p->page->step_flops));
    CHECK(told == flops && eg__double_of(eg__word_get(&p->page->step_bytes)) > 0,
          "%g FLOPs of an update, not %g", told, flops);
    CHECK(eg__word_get(&p->page->steps) == r.steps && p->training.step == r.steps &&
              p->training.epoch == 2 && p->training.points > 1,
          "%llu of %llu updates", (unsigned long long)eg__word_get(&p->page->steps),
          (unsigned long long)r.steps);
    const eg_evaluate_options once = {.size = sizeof once, .batch = 8, .publisher = p};
    CHECK_OK(eg_evaluate(d.model, d.training, &once, NULL, NULL, &error), error);
    CHECK(eg__word_get(&p->page->steps) == r.steps + (data.windows + 7) / 8 &&
              eg__double_of(eg__word_get(&p->page->step_flops)) < cost_of(t, EG_TRAIN_GRADIENT),
          "%llu steps", (unsigned long long)eg__word_get(&p->page->steps));
    eg_trainer_destroy(t);
    eg_publisher_close(p);
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
}
