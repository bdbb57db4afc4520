/* Units, link and notes of a model as JSON. */
#include "formats/models/model_extras.h"
#include "formats/files/json_keys.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT_LISTS = 4 };
static const char *const unit_lists[UNIT_LISTS] = {"input_mean", "input_scale", "output_mean",
                                                   "output_scale"};

/* NULL where there is no list; a list of another size than `count` is a fault. */
static eg_status read_floats(const json_t *object, const char *key, size_t count, float *to,
                             const float **out, eg_error *error) {
    const json_t *list = json_object_get(object, key);
    *out = list ? to : NULL;
    if (!list) return EG_OK;
    if (!json_is_array(list) || json_array_size(list) != count)
        return eg__fail(error, EG_ERR_FORMAT, "'%s' is not a list of one number for each", key);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value))
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is not a list of numbers", key);
        to[i] = (float)json_number_value(value);
    }
    return EG_OK;
}

eg_status eg__model_units_read(eg_model *model, const json_t *object, eg_error *error) {
    if (!object) return EG_OK;
    static const eg__json_key keys[] = {{"input_mean", 1, 0},
                                        {"input_scale", 1, 0},
                                        {"output_mean", 1, 0},
                                        {"output_scale", 1, 0},
                                        {"time", 1, 0}};
    eg_status status =
        eg__json_keys_check(object, sizeof keys / sizeof *keys, keys, 1, "'units'", error);
    if (status) return status;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const size_t wide = (size_t)(info.inputs > info.outputs ? info.inputs : info.outputs);
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *values = eg__memory_take_array(model->memory, EG_TAG_FILE, wide,
                                          UNIT_LISTS * sizeof *values, &reason);
    if (!values) return eg__fail(error, reason.status, "%s", reason.message);
    const float *lists[UNIT_LISTS];
    const json_t *time = json_object_get(object, "time");
    for (size_t i = 0; !status && i < UNIT_LISTS; i++)
        status = read_floats(object, unit_lists[i], (size_t)(i < 2 ? info.inputs : info.outputs),
                             values + i * wide, &lists[i], error);
    if (!status && time && !json_is_number(time))
        status = eg__fail(error, EG_ERR_FORMAT, "'time' is not a number");
    if (!status) {
        const eg_scaling units = {lists[0], lists[1], lists[2], lists[3],
                                  (float)json_number_value(time)};
        status = eg_model_scaling_set(model, &units, error);
    }
    eg__memory_give(model->memory, values);
    return status;
}

static eg_status read_note(eg_model *model, const char *key, const json_t *list, eg_error *error) {
    enum { MANY = 1 << 24 }; /* as many classes as there may be */
    const size_t count = json_array_size(list);
    bool texts = json_is_array(list) && count <= MANY;
    for (size_t i = 0; texts && i < count; i++) texts = json_is_string(json_array_get(list, i));
    if (!texts)
        return eg__fail(error, EG_ERR_FORMAT, "note '%.60s' is not a list of at most %d texts", key,
                        MANY);
    eg_error reason = {EG_ERR_MEMORY, ""};
    const char **all =
        eg__memory_take_array(model->memory, EG_TAG_FILE, count + 1, sizeof *all, &reason);
    if (!all) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < count; i++) all[i] = json_string_value(json_array_get(list, i));
    eg_status status = eg_model_note_set(model, key, count, all, error);
    eg__memory_give(model->memory, (void *)all);
    return status;
}

static size_t note_count(const eg_model *model, const char *key) {
    size_t count = 0;
    while (eg_model_note(model, key, count)) count++;
    return count;
}

/* Names that are too few or too many would be those of something else. */
static eg_status check_counts(const eg_model *model, eg_error *error) {
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const char *loss = eg_model_note(model, "loss", 0);
    const bool classes = loss && strcmp(loss, "classes") == 0;
    const struct {
        const char *key, *what;
        uint64_t wanted;
    } rows[] = {{"inputs", "inputs", info.inputs},
                {"targets", classes ? "column of classes" : "outputs", classes ? 1 : info.outputs},
                {"labels", "outputs", info.outputs}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t count = note_count(model, rows[i].key);
        if (count && count != rows[i].wanted)
            return eg__fail(error, EG_ERR_FORMAT, "%zu name%s in note '%s' for %llu %s", count,
                            count == 1 ? "" : "s", rows[i].key, (unsigned long long)rows[i].wanted,
                            rows[i].what);
    }
    return EG_OK;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Two classes of one name could not be told apart in any prediction. */
static eg_status check_labels(const eg_model *model, eg_error *error) {
    const size_t count = note_count(model, "labels");
    if (count < 2) return EG_OK;
    eg_error reason = {EG_ERR_MEMORY, ""};
    const char **sorted =
        eg__memory_take_array(model->memory, EG_TAG_FILE, count, sizeof *sorted, &reason);
    if (!sorted) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < count; i++) sorted[i] = eg_model_note(model, "labels", i);
    qsort((void *)sorted, count, sizeof *sorted, compare_texts);
    eg_status status = EG_OK;
    for (size_t i = 1; !status && i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status =
                eg__fail(error, EG_ERR_FORMAT,
                         "label '%.60s' is there twice in note 'labels': each class needs its own",
                         sorted[i]);
    eg__memory_give(model->memory, (void *)sorted);
    return status;
}

eg_status eg__model_notes_read(eg_model *model, const json_t *object, eg_error *error) {
    const char *key;
    json_t *value;
    eg_status status = EG_OK;
    if (object && !json_is_object(object))
        return eg__fail(error, EG_ERR_FORMAT, "'notes' is not an object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!status) status = read_note(model, key, value, error);
    }
    if (!status && !model->transformer) status = check_counts(model, error);
    return status || model->transformer ? status : check_labels(model, error);
}

eg_status eg__model_link_read(eg_model *model, const json_t *name, eg_error *error) {
    const char *text = json_string_value(name), *known;
    const bool said = name && !json_is_null(name);
    if (!said) { /* a model that cannot have the link of its loss gives what it always gave */
        const eg_link link = eg__link_of_loss(eg_model_note(model, "loss", 0));
        if (eg__link_fits(model, link, NULL) == EG_OK) model->link = link;
        return EG_OK;
    }
    for (int i = 0; text && (known = eg_link_name((eg_link)i)); i++)
        if (strcmp(known, text) == 0) return eg_model_link_set(model, (eg_link)i, error);
    return eg__fail(error, EG_ERR_FORMAT, "link '%.60s' is none of identity, sigmoid, softmax",
                    text ? text : "");
}

void eg__model_units_put(eg__json *json, const eg_model *model) {
    if (!model->unit_values) return;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const eg_scaling *u = &model->units;
    const float *const lists[] = {u->input_mean, u->input_scale, u->output_mean, u->output_scale};
    eg__json_open_object(json, "units");
    for (size_t i = 0; i < UNIT_LISTS; i++) {
        if (!lists[i]) continue;
        eg__json_open_list(json, unit_lists[i]);
        for (size_t k = 0; k < (i < 2 ? info.inputs : info.outputs); k++)
            eg__json_put_number(json, NULL, (double)lists[i][k]);
        eg__json_close(json);
    }
    if (u->time > 0) eg__json_put_number(json, "time", (double)u->time);
    eg__json_close(json);
}

void eg__model_notes_put(eg__json *json, const eg_model *model) {
    if (!model->note_count) return;
    eg__json_open_object(json, "notes");
    for (size_t i = 0; i < model->note_count; i++) {
        const eg__note *note = model->notes[i];
        eg__json_open_list(json, note->key);
        for (size_t k = 0; k < note->count; k++) eg__json_put_text(json, NULL, note->texts[k]);
        eg__json_close(json);
    }
    eg__json_close(json);
}
