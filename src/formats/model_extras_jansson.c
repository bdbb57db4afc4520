/* Units and notes of a model as JSON. */
#include "formats/model_extras.h"

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
    if (!json_is_object(object)) return eg__fail(error, EG_ERR_FORMAT, "'units' is not an object");
    eg_model_info info;
    eg_model_info_get(model, &info);
    const size_t wide = (size_t)(info.inputs > info.outputs ? info.inputs : info.outputs);
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *values = eg__memory_take_array(model->memory, EG_TAG_FILE, wide,
                                          UNIT_LISTS * sizeof *values, &reason);
    if (!values) return eg__fail(error, reason.status, "%s", reason.message);
    const float *lists[UNIT_LISTS];
    const json_t *time = json_object_get(object, "time");
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < UNIT_LISTS; i++)
        status = read_floats(object, unit_lists[i], (size_t)(i < 2 ? info.inputs : info.outputs),
                             values + i * wide, &lists[i], error);
    if (!status && time && !json_is_number(time))
        status = eg__fail(error, EG_ERR_FORMAT, "'time' is not a number");
    if (!status) {
        const eg_units units = {lists[0], lists[1], lists[2], lists[3],
                                (float)json_number_value(time)};
        status = eg_model_units_set(model, &units, error);
    }
    eg__memory_give(model->memory, values);
    return status;
}

static eg_status read_note(eg_model *model, const char *key, const json_t *list, eg_error *error) {
    enum { MANY = 4096 };
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

eg_status eg__model_notes_read(eg_model *model, const json_t *object, eg_error *error) {
    const char *key;
    json_t *value;
    eg_status status = EG_OK;
    if (object && !json_is_object(object))
        return eg__fail(error, EG_ERR_FORMAT, "'notes' is not an object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!status) status = read_note(model, key, value, error);
    }
    return status;
}

json_t *eg__model_units_json(const eg_model *model) {
    eg_model_info info;
    eg_model_info_get(model, &info);
    const eg_units *u = &model->units;
    const float *const lists[] = {u->input_mean, u->input_scale, u->output_mean, u->output_scale};
    json_t *object = json_object();
    for (size_t i = 0; i < UNIT_LISTS; i++) {
        json_t *list = lists[i] ? json_array() : NULL;
        for (size_t k = 0; list && k < (i < 2 ? info.inputs : info.outputs); k++)
            json_array_append_new(list, json_real((double)lists[i][k]));
        if (list) json_object_set_new(object, unit_lists[i], list);
    }
    if (u->time > 0) json_object_set_new(object, "time", json_real((double)u->time));
    return object;
}

json_t *eg__model_notes_json(const eg_model *model) {
    json_t *object = json_object();
    for (size_t i = 0; i < model->note_count; i++) {
        const eg__note *note = model->notes[i];
        json_t *list = json_array();
        for (size_t k = 0; k < note->count; k++)
            json_array_append_new(list, json_string(note->texts[k]));
        json_object_set_new(object, note->key, list);
    }
    return object;
}
