/* How the parameters of a model are quantized, as JSON: [{"type": "i8", "per": "channel", "tensors": [names]}]. */
#include "formats/model_extras.h"

#include <string.h>

static eg_status read_how(const json_t *object, eg_quantization *how, eg_error *error) {
    const char *type = json_string_value(json_object_get(object, "type"));
    const char *per = json_string_value(json_object_get(object, "per"));
    const json_t *block = json_object_get(object, "block");
    *how = (eg_quantization){0};
    if (!type || eg_type_find(type, &how->type, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "quantization to '%.60s' is not understood",
                        type ? type : "");
    bool known = !per;
    for (unsigned i = 0; per && eg_granularity_name((eg_granularity)i); i++)
        if (strcmp(per, eg_granularity_name((eg_granularity)i)) == 0) {
            how->per = (eg_granularity)i;
            known = true;
        }
    if (!known)
        return eg__fail(error, EG_ERR_FORMAT, "quantization per '%.60s' is not understood", per);
    const json_int_t value = json_integer_value(block);
    if (block && (value < 1 || value > UINT32_MAX))
        return eg__fail(error, EG_ERR_FORMAT, "quantization in blocks of '%lld'", (long long)value);
    how->block = (uint32_t)value;
    how->symmetric = json_is_true(json_object_get(object, "symmetric"));
    how->integers = json_is_true(json_object_get(object, "integers"));
    return eg_quantization_check(how, error);
}

static eg_status shrink(eg_model *model, const char *name, const eg_quantization *how,
                        eg_error *error) {
    for (size_t i = 0; name && i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0)
            return eg__parameter_shrink(model, &model->parameters[i], how, error);
    return eg__fail(error, EG_ERR_FORMAT, "quantization of '%.100s', which the model has not",
                    name ? name : "");
}

eg_status eg__model_small_read(eg_model *model, const json_t *list, eg_error *error) {
    eg_status status = EG_OK;
    if (list && !json_is_array(list))
        return eg__fail(error, EG_ERR_FORMAT, "'quantization' is not a list");
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i), *names = json_object_get(entry, "tensors");
        eg_quantization how;
        status = read_how(entry, &how, error);
        for (size_t k = 0; !status && k < json_array_size(names); k++)
            status = shrink(model, json_string_value(json_array_get(names, k)), &how, error);
    }
    return status;
}

/* ---- writing */
static bool same(const eg_quantized *a, const eg_quantized *b) {
    return memcmp(&a->how, &b->how, sizeof a->how) == 0;
}

static json_t *entry_json(const eg_model *model, size_t first) {
    const eg_quantized *q = &model->parameters[first].small;
    json_t *entry = json_pack("{s:s}", "type", eg_type_name(q->how.type)), *names = json_array();
    if (q->scales) {
        json_object_set_new(entry, "per", json_string(eg_granularity_name(q->how.per)));
        if (q->how.per == EG_PER_BLOCK)
            json_object_set_new(entry, "block", json_integer((json_int_t)q->how.block));
        if (q->how.symmetric) json_object_set_new(entry, "symmetric", json_true());
        if (q->how.integers) json_object_set_new(entry, "integers", json_true());
    }
    for (size_t i = first; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        if (eg__parameter_is_small(p) && same(&p->small, q))
            json_array_append_new(names, json_string(p->name));
    }
    json_object_set_new(entry, "tensors", names);
    return entry;
}

json_t *eg__model_small_json(const eg_model *model) {
    json_t *list = NULL;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        bool told = !eg__parameter_is_small(p);
        for (size_t k = 0; !told && k < i; k++)
            told = eg__parameter_is_small(&model->parameters[k]) &&
                   same(&model->parameters[k].small, &p->small);
        if (told) continue;
        if (!list) list = json_array();
        json_array_append_new(list, entry_json(model, i));
    }
    return list;
}
