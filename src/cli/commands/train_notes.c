/* What a model remembers of the data it was trained on. */
#include "cli/commands/train.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing */
/* Without a text, what an earlier training left there goes. */
static bool put(eg_model *model, const char *key, const char *text, eg_error *error) {
    return eg_model_note_set(model, key, text && *text ? 1 : 0, &text, error) == EG_OK;
}

static bool put_count(eg_model *model, const char *key, uint64_t count, eg_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    return put(model, key, count ? text : NULL, error);
}

static bool put_list(eg_model *model, const char *key, const eg_data *data,
                     const char *(*name_of)(const eg_data *, size_t), eg_error *error) {
    size_t count = 0;
    while (name_of(data, count)) count++;
    const char **names = take_memory(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++) names[i] = name_of(data, i);
    const bool fine = eg_model_note_set(model, key, count, names, error) == EG_OK;
    free((void *)names);
    return fine;
}

int notes_write(eg_model *model, const data_settings *w, const eg_data *data, eg_loss loss) {
    eg_error e = {EG_ERR_MEMORY, "no memory"};
    char span[EG_NUMBER_SIZE];
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    eg_number_format_f32(span, d.span);
    const uint64_t window = w->whole ? 0 : w->window ? w->window : 64;
    const bool fine =
        put_list(model, "inputs", data, eg_data_input, &e) &&
        put_list(model, "targets", data, eg_data_target, &e) &&
        put_list(model, "labels", data, eg_data_class, &e) && put(model, "time", w->time, &e) &&
        put(model, "spans", w->timespans, &e) &&
        put(model, "median_span", d.timespans ? span : NULL, &e) &&
        put(model, "group", w->group, &e) && put(model, "missing", w->missing, &e) &&
        put(model, "dates", w->table.dates, &e) && put(model, "loss", eg_loss_name(loss), &e) &&
        put_count(model, "ahead", w->ahead, &e) && put_count(model, "window", window, &e) &&
        put(model, "last", w->last ? "true" : NULL, &e);
    return fine ? CLI_OK : fail(EXIT_FAILED, "%s", e.message);
}

/* ---- reading */

/* "a,b"; NULL = there is no such note. */
static char *joined(const eg_model *model, const char *key) {
    size_t size = 0;
    const char *text;
    char *list = NULL;
    for (size_t i = 0; (text = eg_model_note(model, key, i)); i++) {
        char *item = list_item(text);
        const size_t length = strlen(item);
        list = take_more(list, size + length + 2);
        if (i) list[size++] = ',';
        memcpy(list + size, item, length + 1);
        size += length;
        free(item);
    }
    return list;
}

static void fill(const eg_model *model, const char *key, const char **text) {
    if (!*text) *text = eg_model_note(model, key, 0);
}

static void fill_count(const eg_model *model, const char *key, uint64_t *count) {
    const char *text = eg_model_note(model, key, 0);
    int64_t value;
    if (!*count && text &&
        eg_integer_parse(text, strlen(text), 1, INT64_MAX, &value, NULL) == EG_OK)
        *count = (uint64_t)value;
}

/* ISO dates are read in any order, so that a table of them needs no option either. */
void notes_dates(const eg_model *model, table_settings *w) {
    const char *learned = eg_model_note(model, "dates", 0);
    if (!w->dates) w->dates = learned;
    else if (learned && strcmp(w->dates, learned) != 0 && strcmp(w->dates, "iso") != 0)
        warn("--dates %s: the model learned from dates in the order %s, as it reads them without "
             "--dates",
             w->dates, learned);
}

int notes_read(const eg_model *model, data_settings *w, notes *out) {
    *out = (notes){.inputs = joined(model, "inputs"), .targets = joined(model, "targets")};
    const char *loss = eg_model_note(model, "loss", 0);
    if (!w->inputs) w->inputs = out->inputs;
    if (!w->target) w->target = out->targets;
    if (!w->timespans) fill(model, "time", &w->time);
    if (!w->time) fill(model, "spans", &w->timespans);
    w->noted_group = !w->group;
    w->first_timespan = (double)eg_model_timespan(model);
    fill(model, "group", &w->group);
    fill(model, "missing", &w->missing);
    notes_dates(model, &w->table);
    fill_count(model, "ahead", &w->ahead);
    fill_count(model, "window", &w->window);
    if (!w->window && out->inputs) w->whole = true; /* it was trained on whole recordings */
    if (eg_model_note(model, "last", 0)) w->last = true;
    while (eg_model_note(model, "labels", out->label_count)) out->label_count++;
    out->labels = out->label_count ? take_memory(out->label_count, sizeof *out->labels) : NULL;
    for (size_t i = 0; i < out->label_count; i++)
        out->labels[i] = eg_model_note(model, "labels", i);
    out->has_loss = loss != NULL;
    return loss ? loss_parse(loss, &out->loss) : CLI_OK;
}

void notes_free(notes *n) {
    free(n->inputs);
    free(n->targets);
    free((void *)n->labels);
    *n = (notes){0};
}
