/* Metrics against numbers by hand and by the formulas of scikit-learn, over several batches. */
#include "test_tables.h"

AREA(metrics,
     "mse, mae, r2, accuracy, F1, confusion over batches, weights and units; NaN for unknown")

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}
#define CHECK_NUMBER(got, want) \
    CHECK(same(got, want), "%s is %.17g, not %.17g", #got, got, (double)(want))

/* ---- numbers. By numpy; r2 as sklearn's r2_score(multioutput='variance_weighted') defines it. */
static const float y[4][2] = {{1, 2}, {3, 1}, {2, 5}, {0, 4}},
                   t[4][2] = {{1.5f, 2}, {2, 0}, {2, 4}, {1, 7}}, w[4] = {1, 2, 0, 1};

TEST(metrics, numbers) {
    data_test test;
    data_test_open(&test);
    eg_metrics *m;
    eg_metrics_result r;
    CHECK_OK(eg_metrics_create(test.context, EG_LOSS_MSE, 2, 0, &m, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 0 && r.counted == 0, "nothing was added");
    const double nothing[] = {r.mse, r.mae, r.rmse, r.r2, r.accuracy, r.f1, r.macro_f1};
    for (int i = 0; i < 7; i++)
        CHECK(isnan(nothing[i]), "figure %d of nothing is %g", i, nothing[i]);
    /* in two batches */
    CHECK_OK(eg_metrics_add(m, y[0], t[0], NULL, 3, NULL, &test.error), test.error);
    CHECK_OK(eg_metrics_add(m, y[3], t[3], NULL, 1, NULL, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 4 && r.counted == 4, "%d rows", (int)r.rows);
    CHECK_NUMBER(r.mse, 1.65625);
    CHECK_NUMBER(r.mae, 0.9375);
    CHECK_NUMBER(r.rmse, 1.286953767623375);
    CHECK_NUMBER(r.r2, 0.5170842824601367);
    CHECK_NUMBER(r.accuracy, NAN);
    CHECK_OK(eg_metrics_output(m, 0, &r, &test.error), test.error);
    CHECK_NUMBER(r.mse, 0.5625);
    CHECK_NUMBER(r.mae, 0.625);
    CHECK_NUMBER(r.r2, 1 - 2.25 / 0.6875);
    CHECK_OK(eg_metrics_output(m, 1, &r, &test.error), test.error);
    CHECK_NUMBER(r.mse, 2.75);
    CHECK_NUMBER(r.r2, 0.58878504672897192);
    CHECK_FAILS(eg_metrics_output(m, 2, &r, &test.error), test.error, EG_ERR_ARGUMENT, "output 2");
    /* weights */
    eg_metrics_reset(m);
    CHECK_OK(eg_metrics_add(m, y[0], t[0], w, 4, NULL, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 3 && r.counted == 4, "%d rows", (int)r.rows);
    CHECK_NUMBER(r.mse, 1.78125);
    CHECK_NUMBER(r.mae, 1.0625);
    CHECK_NUMBER(r.r2, 0.5738317757009346);
    /* units */
    const eg_scaling units = {.output_mean = (float[]){10, -3}, .output_scale = (float[]){2, 0.5f}};
    eg_metrics_reset(m);
    CHECK_OK(eg_metrics_add(m, y[0], t[0], NULL, 4, &units, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK_NUMBER(r.mse, 1.46875);
    CHECK_NUMBER(r.mae, 0.9375);
    CHECK_NUMBER(r.r2, -0.24503311258278138);
    eg_metrics_destroy(m);
    eg_metrics_destroy(NULL);
    data_test_close(&test);
}

TEST(metrics, unknown_numbers) {
    data_test test;
    data_test_open(&test);
    eg_metrics *m;
    eg_metrics_result r;
    CHECK_OK(eg_metrics_create(test.context, EG_LOSS_MAE, 2, 0, &m, &test.error), test.error);
    /* a target that is missing does not count, one that never changes has no r2 */
    const float outputs[] = {1, 9, 2, 9}, targets[] = {3, NAN, 3, NAN};
    CHECK_OK(eg_metrics_add(m, outputs, targets, NULL, 2, NULL, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 2, "%d rows", (int)r.rows);
    CHECK_NUMBER(r.mae, 1.5);
    CHECK_NUMBER(r.mse, 2.5);
    CHECK_NUMBER(r.r2, NAN);
    CHECK_OK(eg_metrics_output(m, 1, &r, &test.error), test.error);
    CHECK(r.rows == 0, "%d rows of an output without targets", (int)r.rows);
    CHECK_NUMBER(r.mae, NAN);
    CHECK_NUMBER(r.rmse, NAN);
    /* weights that are none */
    eg_metrics_reset(m);
    CHECK_OK(eg_metrics_add(m, outputs, targets, (const float[]){0, NAN}, 2, NULL, &test.error),
             test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 0 && isnan(r.mae), "%d rows", (int)r.rows);
    /* an output that is no number */
    CHECK_OK(eg_metrics_add(m, (const float[]){NAN, 1}, (const float[]){1, 1}, NULL, 1, NULL,
                            &test.error),
             test.error);
    eg_metrics_get(m, &r);
    CHECK_NUMBER(r.mae, NAN);
    CHECK_OK(eg_metrics_output(m, 1, &r, &test.error), test.error);
    CHECK_NUMBER(r.mae, 0);
    CHECK_NUMBER(eg_metrics_confusion(m, 0, 0, 0), NAN);
    eg_metrics_destroy(m);
    data_test_close(&test);
}

/* ---- classes. Truth 0 0 0 1 1 2, called 0 0 1 1 2 1; class 3 never occurs:
 * f1 = 4/5, 2/5, 0, unknown; sklearn's f1_score(average='macro') is 0.4 and accuracy 0.5. */
static const float logits[7][4] = {{3, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 0}, {0, 5, 1, 0},
                                   {0, 0, 1, 0}, {0, 2, 1, 0}, {9, 9, 9, 9}},
                   truth[7] = {0, 0, 0, 1, 1, 2, NAN};

TEST(metrics, classes) {
    static const struct {
        double support, precision, recall, f1;
    } want[] = {{3, 1, 2.0 / 3, 0.8}, {2, 1.0 / 3, 0.5, 0.4}, {1, 0, 0, 0}, {0, NAN, NAN, NAN}};
    static const double confusion[4][4] = {{2, 1, 0, 0}, {0, 1, 1, 0}, {0, 1, 0, 0}, {0}};
    data_test test;
    data_test_open(&test);
    eg_metrics *m;
    eg_metrics_result r;
    eg_metrics_class c;
    CHECK_OK(eg_metrics_create(test.context, EG_LOSS_CLASSES, 4, 4, &m, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(isnan(r.accuracy) && isnan(r.macro_f1), "nothing was added");
    CHECK_OK(eg_metrics_add(m, logits[0], truth, NULL, 2, NULL, &test.error), test.error);
    CHECK_OK(eg_metrics_add(m, logits[2], truth + 2, NULL, 5, NULL, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK(r.rows == 6, "%d rows", (int)r.rows);
    CHECK_NUMBER(r.accuracy, 0.5);
    CHECK_NUMBER(r.macro_f1, 0.4);
    CHECK_NUMBER(r.f1, NAN); /* not of more than two */
    CHECK_NUMBER(r.mse, NAN);
    for (uint64_t i = 0; i < 4; i++) {
        CHECK_OK(eg_metrics_class_get(m, 0, i, &c, &test.error), test.error);
        CHECK_NUMBER(c.support, want[i].support);
        CHECK_NUMBER(c.precision, want[i].precision);
        CHECK_NUMBER(c.recall, want[i].recall);
        CHECK_NUMBER(c.f1, want[i].f1);
        for (uint64_t k = 0; k < 4; k++)
            CHECK_NUMBER(eg_metrics_confusion(m, 0, i, k), confusion[i][k]);
    }
    CHECK_FAILS(eg_metrics_class_get(m, 0, 4, &c, &test.error), test.error, EG_ERR_ARGUMENT,
                "no class 4 of output 0");
    CHECK_FAILS(eg_metrics_class_get(m, 1, 0, &c, &test.error), test.error, EG_ERR_ARGUMENT,
                "no class 0 of output 1");
    CHECK_NUMBER(eg_metrics_confusion(m, 0, 4, 0), NAN);
    /* a class that does not exist: nothing is added; with weight 0 it does not matter */
    const float bad[] = {0, 4}, half[] = {1.5f, 0}, off[] = {1, 0};
    CHECK_FAILS(eg_metrics_add(m, logits[0], bad, NULL, 2, NULL, &test.error), test.error,
                EG_ERR_FORMAT, "row 2: class '4' is not a whole number below 4");
    CHECK_FAILS(eg_metrics_add(m, logits[0], half, NULL, 2, NULL, &test.error), test.error,
                EG_ERR_FORMAT, "row 1: class '1.5' is not a whole number below 4");
    eg_metrics_get(m, &r);
    CHECK(r.rows == 6, "%d rows", (int)r.rows);
    CHECK_OK(eg_metrics_add(m, logits[0], bad, off, 2, NULL, &test.error), test.error);
    /* an output that is no number: what it is cannot be known */
    CHECK_OK(eg_metrics_add(m, (const float[]){1, NAN, 0, 0}, (const float[]){1}, NULL, 1, NULL,
                            &test.error),
             test.error);
    eg_metrics_get(m, &r);
    CHECK_NUMBER(r.accuracy, NAN);
    CHECK_NUMBER(r.macro_f1, NAN);
    eg_metrics_destroy(m);
    data_test_close(&test);
}

/* Two classes. Truth 1 1 1 0 0, called 1 1 0 1 0, the last with weight 3: tp 2, fn 1, fp 1, tn 3. */
TEST(metrics, two_classes_and_binary) {
    static const float two[5][2] = {{0, 1}, {0, 1}, {1, 0}, {0, 1}, {1, 0}},
                       one[5] = {2, 1, -1, 3, 0}, target[5] = {1, 1, 1, 0, 0},
                       weights[5] = {1, 1, 1, 1, 3};
    data_test test;
    data_test_open(&test);
    for (int binary = 0; binary < 2; binary++) {
        eg_metrics *m;
        eg_metrics_result r;
        eg_metrics_class c;
        CHECK_OK(eg_metrics_create(test.context, binary ? EG_LOSS_BINARY : EG_LOSS_CLASSES,
                                   binary ? 1 : 2, 0, &m, &test.error),
                 test.error);
        CHECK_OK(eg_metrics_add(m, binary ? one : two[0], target, weights, 5, NULL, &test.error),
                 test.error);
        eg_metrics_get(m, &r);
        CHECK_NUMBER(r.counted, 7);
        CHECK_NUMBER(r.accuracy, 5.0 / 7);
        CHECK_NUMBER(r.f1, 2.0 / 3);
        CHECK_NUMBER(r.macro_f1, (2.0 / 3 + 0.75) / 2);
        CHECK_NUMBER(eg_metrics_confusion(m, 0, 0, 1), 1);
        CHECK_NUMBER(eg_metrics_confusion(m, 0, 0, 0), 3);
        CHECK_OK(eg_metrics_class_get(m, 0, 0, &c, &test.error), test.error);
        CHECK_NUMBER(c.precision, 0.75);
        eg_metrics_destroy(m);
    }
    data_test_close(&test);
}

TEST(metrics, several_binary_outputs) {
    /* output 0: tp, tn, fn; output 1: tn and a missing target, so that its class 1 never occurs */
    static const float outputs[3][2] = {{1, -1}, {-1, -2}, {-3, 4}},
                       targets[3][2] = {{1, 0}, {0, 0}, {1, NAN}};
    data_test test;
    data_test_open(&test);
    eg_metrics *m;
    eg_metrics_result r;
    CHECK_OK(eg_metrics_create(test.context, EG_LOSS_BINARY, 2, 0, &m, &test.error), test.error);
    CHECK_OK(eg_metrics_add(m, outputs[0], targets[0], NULL, 3, NULL, &test.error), test.error);
    eg_metrics_get(m, &r);
    CHECK_NUMBER(r.accuracy, 0.8);
    CHECK_NUMBER(r.f1, 2.0 / 3);
    CHECK_NUMBER(r.macro_f1, (2.0 / 3 + 2.0 / 3 + 1) / 3);
    CHECK_OK(eg_metrics_output(m, 1, &r, &test.error), test.error);
    CHECK(r.rows == 2, "%d rows", (int)r.rows);
    CHECK_NUMBER(r.accuracy, 1);
    CHECK_NUMBER(r.f1, NAN);
    CHECK_OK(eg_metrics_add(m, (const float[]){NAN, 1}, (const float[]){0, 1}, NULL, 1, NULL,
                            &test.error),
             test.error);
    eg_metrics_get(m, &r);
    CHECK_NUMBER(r.accuracy, NAN);
    CHECK_OK(eg_metrics_output(m, 1, &r, &test.error), test.error);
    CHECK_NUMBER(r.f1, 1);
    eg_metrics_destroy(m);
    data_test_close(&test);
}

TEST(metrics, refusals) {
    static const struct {
        eg_loss loss;
        uint64_t outputs, classes;
        const char *part;
    } rows[] = {{(eg_loss)5, 1, 0, "unknown loss 5"},
                {EG_LOSS_MSE, 0, 0, "metrics of 0 outputs"},
                {EG_LOSS_MSE, 2, 2, "2 classes do not fit 2 outputs with the loss 'mse'"},
                {EG_LOSS_CLASSES, 3, 2, "2 classes do not fit 3 outputs with the loss 'classes'"}};
    data_test test;
    data_test_open(&test);
    eg_metrics *m;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_FAILS(eg_metrics_create(test.context, rows[i].loss, rows[i].outputs, rows[i].classes,
                                      &m, &test.error),
                    test.error, EG_ERR_ARGUMENT, rows[i].part);
    CHECK_FAILS(eg_metrics_create(NULL, EG_LOSS_MSE, 1, 0, &m, &test.error), test.error,
                EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(
        eg_metrics_create(test.context, EG_LOSS_CLASSES, UINT64_C(1) << 40, 0, &m, &test.error),
        test.error, EG_ERR_OVERFLOW, "do not fit");
    CHECK_OK(eg_metrics_create(test.context, EG_LOSS_HUBER, 1, 0, &m, &test.error), test.error);
    CHECK_FAILS(eg_metrics_add(m, NULL, NULL, NULL, 1, NULL, &test.error), test.error,
                EG_ERR_ARGUMENT, "no outputs");
    CHECK_OK(eg_metrics_add(m, NULL, NULL, NULL, 0, NULL, &test.error), test.error);
    eg_metrics_destroy(m);
    data_test_close(&test);
}
