/* How good a model is, as text and as JSON. */
#include "cli/commands/train.h"
#include "cli/publishing.h"

#include <math.h>
#include <string.h>

int loss_parse(const char *name, eg_loss *out) {
    for (int i = 0; eg_loss_name((eg_loss)i); i++)
        if (strcmp(name, eg_loss_name((eg_loss)i)) == 0) {
            *out = (eg_loss)i;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "loss '%s' is not mse, mae, huber, binary or classes", name);
}

int metrics_of(eg_context *context, const eg_model *model, const char *name, const eg_data *data,
               eg_loss loss, double *value, eg_metrics **out) {
    eg_model_info info = {.size = sizeof info};
    eg_error error;
    eg_model_info_get(model, &info);
    eg_publisher *publisher = publish_open(context, "eval", name, NULL, false);
    const eg_evaluate_options options = {
        .size = sizeof options, .loss = loss, .publisher = publisher};
    eg_status status = eg_metrics_create(context, loss, info.outputs, 0, out, &error);
    if (!status) status = eg_evaluate(model, data, &options, value, *out, &error);
    eg_publisher_close(publisher);
    if (status) {
        eg_metrics_destroy(*out);
        *out = NULL;
        return fail_with(&error);
    }
    return CLI_OK;
}

static void print_number(const char *name, double number, const char *note) {
    char value[64];
    snprintf(value, sizeof value, "%.6g", number);
    if (isfinite(number)) print_row(name, value, note);
    else print_row(name, "unavailable: nothing to measure it on", "");
}

static void print_share(const char *name, double share) {
    char value[64];
    snprintf(value, sizeof value, "%.2f %%", 100 * share);
    if (isfinite(share)) print_row(name, value, "measured");
    else print_row(name, "unavailable: nothing to measure it on", "");
}

static void print_class(const eg_data *data, const eg_metrics *metrics, uint64_t index) {
    eg_metrics_class c;
    char value[160];
    if (eg_metrics_class_get(metrics, 0, index, &c, NULL)) return;
    const double numbers[] = {c.precision, c.recall, c.f1};
    char texts[3][24];
    for (int i = 0; i < 3; i++)
        snprintf(texts[i], sizeof texts[i], isfinite(numbers[i]) ? "%6.2f %%" : "     -  ",
                 100 * numbers[i]);
    snprintf(value, sizeof value, "precision %s  recall %s  f1 %s  of %.0f", texts[0], texts[1],
             texts[2], c.support);
    const char *name = eg_data_class(data, (size_t)index);
    print_row(name ? name : "?", value, "");
}

void metrics_print(const char *name, const eg_data *data, eg_loss loss, double value,
                   const eg_metrics *metrics) {
    eg_metrics_result r;
    char note[200], rows[64], windows[64];
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    eg_metrics_get(metrics, &r);
    format_count(note, r.rows, "row");
    const uint64_t once = (d.last ? d.windows : d.covered) - d.without_target;
    if (r.rows != once) /* of windows that overlap */
        snprintf(note, sizeof note, "%s, %llu times in %s", format_count(rows, once, "row"),
                 (unsigned long long)r.rows, format_count(windows, d.windows, "window"));
    print_section(name, note);
    print_number("loss", value, loss <= EG_LOSS_HUBER ? "measured, standard units" : "measured");
    if (loss == EG_LOSS_CLASSES || loss == EG_LOSS_BINARY) {
        print_share("accuracy", r.accuracy);
        if (isfinite(r.f1)) print_share("f1", r.f1);
        if (loss == EG_LOSS_CLASSES) print_share("macro f1", r.macro_f1);
        for (uint64_t i = 0; loss == EG_LOSS_CLASSES && d.classes <= 12 && i < d.classes; i++)
            print_class(data, metrics, i);
        return;
    }
    print_number("mse", r.mse, "measured, units of the data");
    print_number("rmse", r.rmse, "measured, units of the data");
    print_number("mae", r.mae, "measured, units of the data");
    print_number("r2", r.r2, "measured");
}

static json *class_json(const eg_data *data, const eg_metrics *metrics, uint64_t index,
                        uint64_t classes) {
    eg_metrics_class c;
    json *object = json_new_object(), *called = json_new_object();
    if (eg_metrics_class_get(metrics, 0, index, &c, NULL)) return object;
    json_put_text(object, "label", eg_data_class(data, (size_t)index));
    json_put_number(object, "support", c.support);
    json_put_number(object, "precision", c.precision);
    json_put_number(object, "recall", c.recall);
    json_put_number(object, "f1", c.f1);
    for (uint64_t k = 0; k < classes; k++)
        json_put_number(called, eg_data_class(data, (size_t)k),
                        eg_metrics_confusion(metrics, 0, index, k));
    json_put(object, "called", called);
    return object;
}

json *metrics_json(const eg_data *data, eg_loss loss, double value, const eg_metrics *metrics) {
    eg_metrics_result r;
    eg_data_info d = {.size = sizeof d};
    json *object = json_new_object();
    eg_data_info_get(data, &d);
    eg_metrics_get(metrics, &r);
    json_put_count(object, "rows", (d.last ? d.windows : d.covered) - d.without_target);
    json_put_count(object, "rows_in_windows", r.rows);
    json_put_count(object, "missing_targets", d.missing_targets);
    json_put_number(object, "loss", value);
    if (loss == EG_LOSS_CLASSES || loss == EG_LOSS_BINARY) {
        json_put_number(object, "accuracy", r.accuracy);
        json_put_number(object, "f1", r.f1);
        json_put_number(object, "macro_f1", r.macro_f1);
    } else {
        json_put_number(object, "mse", r.mse);
        json_put_number(object, "rmse", r.rmse);
        json_put_number(object, "mae", r.mae);
        json_put_number(object, "r2", r.r2);
    }
    if (loss == EG_LOSS_CLASSES) {
        json *classes = json_new_list();
        for (uint64_t i = 0; i < d.classes; i++)
            json_append(classes, class_json(data, metrics, i, d.classes));
        json_put(object, "classes", classes);
    }
    return object;
}
