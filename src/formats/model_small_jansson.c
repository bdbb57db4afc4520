/* How the parameters of a model are quantized, as JSON. */
#include "formats/model_extras.h"

#include <string.h>

static eg_status read_one(eg_model *model, const char *name, const json_t *object,
                          eg_error *error) {
    eg_quantization how = {0};
    eg__parameter *found = NULL;
    for (size_t i = 0; i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0) found = &model->parameters[i];
    if (!found)
        return eg__fail(error, EG_ERR_FORMAT, "quantization of '%.100s', which the model has not",
                        name);
    const char *type = json_string_value(json_object_get(object, "type"));
    const char *per = json_string_value(json_object_get(object, "per"));
    const json_t *block = json_object_get(object, "block");
    bool fits = json_is_object(object) && type && !eg_type_find(type, &how.type, NULL);
    bool known = !per;
    for (unsigned i = 0; per && eg_granularity_name((eg_granularity)i); i++)
        if (strcmp(per, eg_granularity_name((eg_granularity)i)) == 0) {
            how.per = (eg_granularity)i;
            known = true;
        }
    if (block) {
        const json_int_t value = json_integer_value(block);
        fits = fits && value > 0 && value <= UINT32_MAX;
        how.block = fits ? (uint32_t)value : 0;
    }
    how.symmetric = json_is_true(json_object_get(object, "symmetric"));
    how.integers = json_is_true(json_object_get(object, "integers"));
    if (!fits || !known)
        return eg__fail(error, EG_ERR_FORMAT, "quantization of '%.100s' is not understood", name);
    eg_error reason;
    eg_status status = eg__parameter_shrink(model, found, &how, &reason);
    return status ? eg__fail(error, status, "'%.80s': %.150s", name, reason.message) : EG_OK;
}

eg_status eg__model_small_read(eg_model *model, const json_t *object, eg_error *error) {
    const char *name;
    json_t *value;
    eg_status status = EG_OK;
    if (object && !json_is_object(object))
        return eg__fail(error, EG_ERR_FORMAT, "'quantization' is not an object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        if (!status) status = read_one(model, name, value, error);
    }
    return status;
}

json_t *eg__model_small_json(const eg_model *model) {
    json_t *all = NULL;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        const eg_quantization *how = &p->small.how;
        if (!eg__parameter_is_small(p)) continue;
        if (!all) all = json_object();
        json_t *one = json_pack("{s:s}", "type", eg_type_name(how->type));
        if (p->small.scales) {
            json_object_set_new(one, "per", json_string(eg_granularity_name(how->per)));
            if (how->per == EG_PER_BLOCK)
                json_object_set_new(one, "block", json_integer((json_int_t)how->block));
            json_object_set_new(one, "symmetric", json_boolean(how->symmetric));
            json_object_set_new(one, "integers", json_boolean(how->integers));
        }
        json_object_set_new(all, p->name, one);
    }
    return all;
}
