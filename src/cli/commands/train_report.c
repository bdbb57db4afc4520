/* What a training says of itself: before it begins, and what it came to. */
#include "cli/commands/train.h"

#include <math.h>

void training_head(const training *t) {
    char value[200], bytes[32], title[200], a[64], b[64], c[64];
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(t->model, &info);
    snprintf(title, sizeof title, "%s, %s, %s", format_count(a, info.inputs, "input"),
             format_count(b, info.outputs, "output"),
             format_count(c, info.parameters, "parameter"));
    print_title(training_model(t->settings), title);
    data_print("training", t->first);
    if (t->second) data_print("validation", t->second);
    if (t->test) data_print("test", t->test);
    snprintf(value, sizeof value, "%s, %s %g, schedule %s, up to %s", eg_loss_name(t->loss),
             eg_optimizer_name(t->options.optimizer.kind),
             isnan(t->settings->rate) ? 0.001 : t->settings->rate,
             eg_schedule_name(t->options.schedule.kind),
             format_count(a, t->settings->epochs ? t->settings->epochs : 50, "epoch"));
    print_row("learning", value, "");
    if (t->options.dtype != EG_F32) {
        snprintf(value, sizeof value, "of %s values, sums in f32%s", eg_type_name(t->options.dtype),
                 t->options.dtype == EG_F16 ? ", loss scaled" : "");
        print_row("products", value, "");
    }
    if (t->options.memory) print_row("memory", format_bytes(bytes, t->options.memory), "at most");
    fflush(stdout);
}

static void print_tail(const training *t) {
    const eg_fit_result *r = &t->result;
    char value[200], seconds[32], bytes[32], steps[64], windows[64];
    print_section(r->stopped ? "stopped" : "trained", "");
    snprintf(value, sizeof value, "%llu%s, best %.6g at epoch %llu", (unsigned long long)r->epochs,
             r->early ? " (no better one since)" : "", r->best, (unsigned long long)r->best_epoch);
    print_row("epochs", value, "measured");
    snprintf(value, sizeof value, "%.6g untrained, %.6g predicting %s", r->initial, r->constant,
             t->loss == EG_LOSS_CLASSES ? "class shares" : "the mean");
    print_row("baselines", value, "measured");
    snprintf(value, sizeof value, "%s, %s of %s", format_seconds(seconds, r->seconds),
             format_count(steps, r->steps, "step"), format_count(windows, r->batch_size, "window"));
    print_row("time", value, "measured");
    if (t->options.dtype == EG_F16) {
        snprintf(value, sizeof value, "%g, %s skipped", r->scale,
                 format_count(steps, r->skipped, "step"));
        print_row("loss scale", value, "counted");
    }
    print_row("memory", format_bytes(bytes, r->memory), "counted");
}

static int print_json(const training *t, const double losses[2], eg_metrics *const metrics[2]) {
    const eg_fit_result *r = &t->result;
    json *document = json_new_object(), *history = json_new_list();
    json_put_text(document, "model", t->settings->output);
    json_put_text(document, "loss", eg_loss_name(t->loss));
    json_put_text(document, "dtype", eg_type_name(t->options.dtype));
    if (t->options.dtype == EG_F16) {
        json_put_number(document, "loss_scale", r->scale);
        json_put_count(document, "skipped", r->skipped);
    }
    json_put_count(document, "epochs", r->epochs);
    json_put_count(document, "steps", r->steps);
    json_put_count(document, "batch_size", r->batch_size);
    json_put_number(document, "best", r->best);
    json_put_count(document, "best_epoch", r->best_epoch);
    json_put_number(document, "initial", r->initial);
    json_put_number(document, "constant", r->constant);
    json_put_flag(document, "stopped", r->stopped);
    json_put_flag(document, "early", r->early);
    const eg_metric seconds = {r->seconds, EG_MEASURED, "s", "this run"};
    const eg_metric memory = {(double)r->memory, EG_COUNTED, "B", "programs, weights, batches"};
    json_put_metric(document, "seconds", &seconds);
    json_put_metric(document, "memory", &memory);
    for (uint64_t i = 0; i < r->history_count; i++) {
        json *line = json_new_object();
        json_put_number(line, "loss", r->history[i].loss);
        json_put_number(line, "validation", r->history[i].validation);
        json_put_number(line, "rate", r->history[i].rate);
        json_put_number(line, "seconds", r->history[i].seconds);
        json_append(history, line);
    }
    json_put(document, "history", history);
    json *data = json_new_object();
    json_put(data, "training", data_json(t->first));
    if (t->second) json_put(data, "validation", data_json(t->second));
    if (t->test) json_put(data, "test", data_json(t->test));
    json_put(document, "data", data);
    if (metrics[0])
        json_put(document, "validation", metrics_json(t->second, t->loss, losses[0], metrics[0]));
    if (metrics[1])
        json_put(document, "test", metrics_json(t->test, t->loss, losses[1], metrics[1]));
    return json_print(document);
}

static void warn_of(const training *t) {
    const eg_fit_result *r = &t->result;
    if (r->best_epoch && r->best >= r->constant)
        warn(
            "the best %s loss is %.4g, but predicting %s has %.4g: train longer (--epochs), or with "
            "another --rate",
            t->second ? "validation" : "training", r->best,
            t->loss == EG_LOSS_CLASSES ? "the shares of the classes" : "the mean", r->constant);
}

/* The figures of the finished model, and where it is. */
int training_report(const training *t) {
    const train_settings *w = t->settings;
    const eg_data *const sets[] = {t->second, t->test};
    static const char *const names[] = {"validation", "test"};
    eg_metrics *metrics[2] = {NULL, NULL};
    double losses[2];
    int code = CLI_OK;
    warn_of(t);
    for (int i = 0; !code && i < 2; i++)
        if (sets[i])
            code = metrics_of(t->context, t->model, training_model(t->settings), sets[i], t->loss,
                              &losses[i], &metrics[i]);
    if (!code && w->json) code = print_json(t, losses, metrics);
    else if (!code) {
        print_tail(t);
        for (int i = 0; i < 2; i++)
            if (metrics[i]) metrics_print(names[i], sets[i], t->loss, losses[i], metrics[i]);
        print_section("files", "");
        print_row("model", w->output, "");
        if (w->curve) print_row("curve", w->curve, "");
        if (w->log) print_row("log", w->log, "");
    }
    for (int i = 0; i < 2; i++) eg_metrics_destroy(metrics[i]);
    return code;
}
