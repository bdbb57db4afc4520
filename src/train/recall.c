/* What a model remembers of the data it was trained on, and that again as options for other data. */
#include "base/abi.h"
#include "elegans/fit.h"
#include "nn/model.h"
#include "train/data.h"

#include <stdio.h>
#include <string.h>

/* ---- writing */
/* Without a text, what an earlier training left there is removed. */
static eg_status put(eg_model *model, const char *key, const char *text, eg_error *error) {
    return eg_model_note_set(model, key, text && *text ? 1 : 0, &text, error);
}

static eg_status put_count(eg_model *model, const char *key, uint64_t count, eg_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    return put(model, key, count ? text : NULL, error);
}

eg_status eg_fit_remember(eg_model *model, const eg_data *data, const eg_data_options *given,
                          const char *dates, eg_loss loss, eg_error *error) {
    eg_data_options o;
    if (!model || !data || !eg_loss_name(loss))
        return eg__fail(error, EG_ERR_ARGUMENT, "remember: no model, no data or no loss");
    const eg_status taken = EG__OPTIONS(eg_data_options, &o, given, error);
    if (taken) return taken;
    const eg__store *s = data->store;
    char span[EG_NUMBER_SIZE];
    eg_number_format_f32(span, s->span);
    const struct {
        const char *key;
        size_t count;
        const char *const *texts;
    } lists[] = {{"inputs", (size_t)s->inputs, s->input_names},
                 {"targets", (size_t)s->targets, s->target_names},
                 {"labels", s->classes, s->class_names}};
    const struct {
        const char *key, *text;
    } texts[] = {{"time", o.time},
                 {"spans", o.timespans},
                 {"median_span", s->timespans ? span : NULL},
                 {"group", o.group},
                 {"missing", o.missing ? eg_missing_name(o.missing) : NULL},
                 {"dates", dates},
                 {"loss", eg_loss_name(loss)},
                 {"last", o.last ? "true" : NULL}};
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"ahead", o.ahead}, {"window", o.window}};
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < sizeof lists / sizeof *lists; i++)
        status = eg_model_note_set(model, lists[i].key, lists[i].count, lists[i].texts, error);
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = put(model, texts[i].key, texts[i].text, error);
    for (size_t i = 0; !status && i < sizeof counts / sizeof *counts; i++)
        status = put_count(model, counts[i].key, counts[i].count, error);
    return status;
}

/* ---- reading */
/* Whether a list would take it for something else. */
static bool needs_quotes(const char *text) {
    const size_t length = strlen(text);
    return strpbrk(text, ",\"") || !length || strchr(" \t", text[0]) ||
           strchr(" \t", text[length - 1]);
}

static char *write_item(char *to, const char *text) {
    const bool is_quoted = needs_quotes(text);
    if (is_quoted) *to++ = '"';
    for (; *text; text++) {
        if (*text == '"') *to++ = '"';
        *to++ = *text;
    }
    if (is_quoted) *to++ = '"';
    return to;
}

/* "a,b"; NULL = there is no such note. */
static char *take_joined(const eg_model *model, const char *key, eg_status *status,
                         eg_error *error) {
    size_t size = 0;
    const char *text;
    for (size_t i = 0; (text = eg_model_note(model, key, i)); i++) size += 2 * strlen(text) + 3;
    char *const list = size ? eg__data_take(model->memory, size, 1, status, error) : NULL;
    char *to = list;
    for (size_t i = 0; list && (text = eg_model_note(model, key, i)); i++) {
        if (i) *to++ = ',';
        to = write_item(to, text);
    }
    if (list) *to = 0;
    return list;
}

static const char **take_labels(const eg_model *model, size_t *count, eg_status *status,
                                eg_error *error) {
    for (*count = 0; eg_model_note(model, "labels", *count);) ++*count;
    if (!*count) return NULL;
    const char **labels = eg__data_take(model->memory, *count, sizeof *labels, status, error);
    for (size_t i = 0; labels && i < *count; i++) labels[i] = eg_model_note(model, "labels", i);
    return labels;
}

static uint64_t count_of(const eg_model *model, const char *key) {
    const char *text = eg_model_note(model, key, 0);
    int64_t value = 0;
    if (!text || eg_integer_parse(text, strlen(text), 1, INT64_MAX, &value, NULL)) return 0;
    return (uint64_t)value;
}

static const char *missing_at(int index) { return eg_missing_name((eg_missing)index); }
static const char *loss_at(int index) { return eg_loss_name((eg_loss)index); }

/* A note that is one of some names. */
static eg_status choice_of(const eg_model *model, const char *key, const char *(*name_at)(int),
                           int *out, eg_error *error) {
    const char *text = eg_model_note(model, key, 0);
    *out = 0;
    for (int i = 0; text && name_at(i); i++)
        if (strcmp(text, name_at(i)) == 0) {
            *out = i;
            return EG_OK;
        }
    return text ? eg__fail(error, EG_ERR_FORMAT, "the model has an unknown %s '%.60s' in its notes",
                           key, text)
                : EG_OK;
}

eg_status eg_fit_recall(const eg_model *model, eg_data_options *out, eg_loss *loss,
                        eg_error *error) {
    if (!model || !out) return eg__fail(error, EG_ERR_ARGUMENT, "recall: no model or no options");
    eg_data_options o = {0};
    int missing, learned;
    eg_status status = choice_of(model, "missing", missing_at, &missing, error);
    if (!status) status = choice_of(model, "loss", loss_at, &learned, error);
    if (!status) {
        o.inputs = take_joined(model, "inputs", &status, error);
        o.targets = take_joined(model, "targets", &status, error);
        o.labels = take_labels(model, &o.label_count, &status, error);
        o.time = eg_model_note(model, "time", 0);
        o.timespans = eg_model_note(model, "spans", 0);
        o.group = eg_model_note(model, "group", 0);
        o.first_timespan = (double)eg_model_timespan(model);
        o.missing = (eg_missing)missing;
        o.ahead = count_of(model, "ahead");
        o.window = count_of(model, "window");
        o.last = eg_model_note(model, "last", 0) != NULL;
        o.classes = learned == EG_LOSS_CLASSES;
    }
    if (status) {
        eg_fit_recall_release(model, &o);
        o = (eg_data_options){0};
    }
    if (loss) *loss = status ? EG_LOSS_MSE : (eg_loss)learned;
    EG__INFO(eg_data_options, out, &o);
    return status;
}

void eg_fit_recall_release(const eg_model *model, eg_data_options *options) {
    eg__memory_give(model->memory, (void *)options->inputs);
    eg__memory_give(model->memory, (void *)options->targets);
    eg__memory_give(model->memory, (void *)options->labels);
    options->inputs = options->targets = NULL;
    options->labels = NULL;
    options->label_count = 0;
}
