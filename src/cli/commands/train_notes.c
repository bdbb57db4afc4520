/* What a model remembers of the data it was trained on. */
#include "cli/commands/train.h"

#include <string.h>

int notes_write(eg_model *model, const data_settings *w, const eg_data *data, eg_loss loss) {
    eg_error error;
    eg_data_options o = {.time = w->time,
                         .timespans = w->timespans,
                         .group = w->group,
                         .ahead = w->ahead,
                         .window = data_window(w),
                         .last = w->last};
    const int code = missing_parse(w->missing, &o.missing);
    if (code) return code;
    if (eg_fit_remember(model, data, &o, w->table.dates, loss, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    return CLI_OK;
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
    eg_error error;
    *out = (notes){.model = model, .data.size = sizeof out->data};
    if (eg_fit_recall(model, &out->data, &out->loss, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    const eg_data_options *o = &out->data;
    if (!w->inputs) w->inputs = o->inputs;
    if (!w->target) w->target = o->targets;
    if (!w->time && !w->timespans) {
        w->time = o->time;
        w->timespans = o->timespans;
    }
    w->noted_group = !w->group;
    if (!w->group) w->group = o->group;
    if (!w->missing && o->missing) w->missing = eg_missing_name(o->missing);
    notes_dates(model, &w->table);
    w->first_timespan = o->first_timespan;
    if (!w->ahead) w->ahead = o->ahead;
    if (!w->window) w->window = o->window;
    if (!w->window && o->inputs) w->whole = true; /* it was trained on whole recordings */
    if (o->last) w->last = true;
    out->has_loss = eg_model_note(model, "loss", 0) != NULL;
    return CLI_OK;
}

void notes_free(notes *n) {
    if (n->model) eg_fit_recall_release(n->model, &n->data);
    *n = (notes){0};
}
