/* What lies around a training: specs that data complete, units, and what a model remembers. */
#include "test.h"
#include "fit_data.h"

#include <math.h>

AREA(recipe, "specs that data complete, units of fresh models, notes and what they say again")

TEST(recipe, specs_that_data_complete) {
    static const struct {
        const char *given;
        uint64_t seed;
        const char *expected; /* NULL = refused */
    } cases[] = {{"cfc:autoncp:12:1", 0, "cfc:autoncp:12:1,in=2"},
                 {"cfc:autoncp:12:4", 0, "cfc:autoncp:12:4,in=2,proj=1"},
                 {"cfc:autoncp:12:4", 7, "cfc:autoncp:12:4,in=2,seed=7,proj=1"},
                 {"cfc:autoncp:12:4,seed=3", 7, "cfc:autoncp:12:4,seed=3,in=2,proj=1"},
                 {"cfc:8,in=2,proj=1", 0, "cfc:8,in=2,proj=1"},
                 {"cfc:8/cfc:6", 5, "cfc:8,in=2,seed=5/cfc:6,proj=1"},
                 {"ltc:autoncp:12:1", 0, "ltc:autoncp:12:1,in=2"},
                 {"ltc:autoncp:12:3", 0, NULL}, /* an LTC has no linear map */
                 {"cfc:8,in=3", 0, NULL},
                 {"cfc:8,proj=2", 0, NULL},
                 {"cfc:8,wings=2", 0, NULL},
                 {"llama:1:32,vocab=64", 0, NULL}};
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64] = "";
        eg_model *model;
        const eg_status status = eg_fit_spec(d.context, cases[i].given, d.training, cases[i].seed,
                                             text, sizeof text, &model, &error);
        CHECK(!status == !!cases[i].expected && !model == !cases[i].expected, "%s: %s",
              cases[i].given, error.message);
        CHECK(status || strcmp(text, cases[i].expected) == 0, "%s: '%s', not '%s'", cases[i].given,
              text, cases[i].expected);
        eg_model_destroy(model);
    }
    char text[16];
    CHECK_FAILS(eg_fit_spec(d.context, "cfc:autoncp:12:1", d.training, 0, text, 16, NULL, &error),
                error, EG_ERR_ARGUMENT, "too long");
    fit_data_close(&d);
}

/* Against means and deviations of the table itself: every row is in a window. */
TEST(recipe, units) {
    fit_data d;
    eg_error error;
    eg_scaling s;
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error), error);
    for (int which = 0; eg_standardize_name((eg_standardize)which); which++) {
        CHECK_OK(eg_fit_units(d.model, d.whole, EG_LOSS_MSE, (eg_standardize)which, 0, &error),
                 error);
        eg_model_scaling_get(d.model, &s);
        CHECK(!s.input_mean == (which >= EG_STANDARDIZE_TARGETS), "%d: inputs", which);
        CHECK(!s.output_mean == (which == EG_STANDARDIZE_INPUTS || which == EG_STANDARDIZE_NONE),
              "%d: targets", which);
        if (s.input_mean)
            CHECK(fabs((double)s.input_mean[0] - 10) < 0.5, "mean %g", (double)s.input_mean[0]);
        if (s.output_scale)
            CHECK(fabs((double)s.output_scale[0] - 70) < 5, "scale %g", (double)s.output_scale[0]);
        CHECK(s.time > 0.1f && s.time < 0.3f, "time %g", (double)s.time);
    }
    CHECK_OK(eg_fit_units(d.model, d.whole, EG_LOSS_BINARY, EG_STANDARDIZE_BOTH, 2.5, &error),
             error);
    eg_model_scaling_get(d.model, &s);
    CHECK(!s.output_mean && s.time == 2.5f, "units of a binary target, or time %g", (double)s.time);
    static const double bad[] = {-1, NAN, INFINITY, 1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(
            eg_fit_units(d.model, d.whole, EG_LOSS_MSE, EG_STANDARDIZE_BOTH, bad[i], &error), error,
            EG_ERR_ARGUMENT, "unit of time");
    CHECK_FAILS(eg_fit_units(d.model, d.whole, EG_LOSS_MSE, (eg_standardize)4, 0, &error), error,
                EG_ERR_ARGUMENT, "unknown choice");
    fit_data_close(&d);
}

static int same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

TEST(recipe, remembered_and_recalled) {
    static const char *const names[] = {"a, b", "say \"x\"", "t", "kind"};
    static const char *const kinds[] = {"cold", "warm"};
    static const eg_column columns[] = {{.kind = EG_COLUMN_NUMBER},
                                        {.kind = EG_COLUMN_NUMBER},
                                        {.kind = EG_COLUMN_NUMBER},
                                        {EG_COLUMN_LABEL, 2, kinds}};
    double values[8][4];
    for (int i = 0; i < 8; i++)
        memcpy(values[i], (double[4]){i, -i, 0.5 * i, i % 2}, sizeof values[i]);
    const eg_table table = {
        .rows = 8, .columns = 4, .names = names, .values = &values[0][0], .kinds = columns};
    const eg_data_options options = {.targets = "kind",
                                     .time = "t",
                                     .classes = 1,
                                     .missing = EG_MISSING_MEAN,
                                     .window = 4,
                                     .ahead = 1,
                                     .last = 1};
    eg_context *context;
    eg_data *data;
    eg_model *model;
    eg_error error;
    eg_loss loss;
    CHECK(eg_data_are_labels(&table, "kind") && eg_data_are_labels(&table, "4") &&
              eg_data_are_labels(&table, "\"kind\"") && !eg_data_are_labels(&table, "t") &&
              !eg_data_are_labels(&table, "kind,t") && !eg_data_are_labels(&table, "nothing") &&
              !eg_data_are_labels(&table, "\"kind") && !eg_data_are_labels(&table, NULL),
          "columns of labels");
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_data_create(context, 1, &table, &options, &data, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:4,in=2,proj=2", &model, &error), error);
    eg_data_options o = {.size = sizeof o};
    CHECK_OK(eg_fit_recall(model, &o, &loss, &error), error);
    CHECK(!o.inputs && !o.targets && !o.labels && !o.window && o.first_timespan == 1 &&
              loss == EG_LOSS_MSE,
          "a fresh model remembers something");
    eg_fit_recall_release(model, &o);
    CHECK_OK(eg_fit_remember(model, data, &options, "mdy", EG_LOSS_CLASSES, &error), error);
    CHECK_OK(eg_fit_recall(model, &o, &loss, &error), error);
    CHECK(same(o.inputs, "\"a, b\",\"say \"\"x\"\"\"") && same(o.targets, "kind") &&
              same(o.time, "t") && !o.timespans && !o.group,
          "columns '%s', '%s'", o.inputs, o.targets);
    CHECK(o.label_count == 2 && same(o.labels[0], "cold") && same(o.labels[1], "warm"), "labels");
    CHECK(o.window == 4 && o.ahead == 1 && o.last == 1 && o.classes == 1 &&
              o.missing == EG_MISSING_MEAN && o.first_timespan == 0.5 && loss == EG_LOSS_CLASSES,
          "options, %g before the first row", o.first_timespan);
    CHECK(same(eg_model_note(model, "dates", 0), "mdy"), "the order of dates");
    eg_data *again; /* they name the same columns */
    CHECK_OK(eg_data_create(context, 1, &table, &o, &again, &error), error);
    CHECK(again && same(eg_data_input(again, 0), "a, b"), "the first input");
    eg_fit_recall_release(model, &o);
    CHECK_OK(eg_fit_remember(model, data, NULL, NULL, EG_LOSS_MSE, &error), error);
    CHECK(!eg_model_note(model, "time", 0) && !eg_model_note(model, "dates", 0),
          "notes of the training before");
    const char *nonsense = "wings";
    CHECK_OK(eg_model_note_set(model, "loss", 1, &nonsense, &error), error);
    CHECK_FAILS(eg_fit_recall(model, &o, &loss, &error), error, EG_ERR_FORMAT, "loss 'wings'");
    CHECK(!o.inputs && !o.labels, "options after a failure");
    eg_data_destroy(again);
    eg_data_destroy(data);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static int stop_later(void *user) { return ++*(int *)user > 2; }

TEST(recipe, evaluation_that_is_stopped) {
    fit_data d;
    eg_error error;
    int asked = 0;
    double loss;
    const eg_evaluate_options options = {
        .size = sizeof options, .batch = 4, .stop = stop_later, .stop_user = &asked};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:4,in=2,proj=1", false, &error), error);
    CHECK_FAILS(eg_evaluate(d.model, d.whole, &options, &loss, NULL, &error), error, EG_ERR_STOPPED,
                "after 8 of");
    CHECK(asked == 3, "asked %d times", asked);
    fit_data_close(&d);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    char text[64];
    eg_model *model = NULL;
    eg_data_options o = {.size = sizeof o};
    eg_status status = fit_data_open_in(&d, context, user, false, error);
    if (!status)
        status = eg_fit_spec(context, "cfc:4", d.training, 1, text, sizeof text, &model, error);
    if (!status)
        status = eg_fit_units(d.model, d.training, EG_LOSS_MSE, EG_STANDARDIZE_BOTH, 0, error);
    if (!status) status = eg_fit_remember(d.model, d.training, NULL, NULL, EG_LOSS_MSE, error);
    if (!status) status = eg_fit_recall(d.model, &o, NULL, error);
    if (!status) eg_fit_recall_release(d.model, &o);
    eg_model_destroy(model);
    fit_data_close(&d);
    return status;
}

TEST(recipe, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:4,in=2,backbone=0,proj=1");
    CHECK(failed > 30, "only %d allocations", failed);
}
