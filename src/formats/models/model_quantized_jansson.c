/* How the parameters of a model are quantized, as JSON: [{"type": "i8", "per": "channel", "tensors": [names]}]. */
#include "formats/models/model_extras.h"
#include "formats/files/json_keys.h"

#include <string.h>

/* What belongs to which numbers: halves have no scales. */
enum { HALVES = 1, INTEGERS = 2, BLOCKS = 4 };
static const eg__json_key keys[] = {
    {"type", HALVES | INTEGERS | BLOCKS, HALVES | INTEGERS | BLOCKS},
    {"tensors", HALVES | INTEGERS | BLOCKS, HALVES | INTEGERS | BLOCKS},
    {"per", INTEGERS | BLOCKS, 0},
    {"block", BLOCKS, 0},
    {"symmetric", INTEGERS | BLOCKS, 0},
    {"integers", INTEGERS | BLOCKS, 0},
};

static eg_status read_flag(const json_t *object, const char *key, int *out, eg_error *error) {
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        return eg__fail(error, EG_ERR_FORMAT, "'%s' of a quantization is not true or false", key);
    *out = json_is_true(value);
    return EG_OK;
}

static eg_status read_how(const json_t *object, eg_quantization *quantization, eg_error *error) {
    const char *type = json_string_value(json_object_get(object, "type"));
    const char *per = json_string_value(json_object_get(object, "per"));
    const json_t *block = json_object_get(object, "block");
    *quantization = (eg_quantization){0};
    if (!type || eg_type_find(type, &quantization->type, NULL))
        return eg__fail(error, EG_ERR_FORMAT, "quantization to '%.60s' is not understood",
                        type ? type : "");
    bool known = !per;
    for (unsigned i = 0; per && eg_granularity_name((eg_granularity)i); i++)
        if (strcmp(per, eg_granularity_name((eg_granularity)i)) == 0) {
            quantization->per = (eg_granularity)i;
            known = true;
        }
    if (!known)
        return eg__fail(error, EG_ERR_FORMAT, "quantization per '%.60s' is not understood", per);
    const json_int_t value = json_integer_value(block);
    if (block && (value < 1 || value > UINT32_MAX))
        return eg__fail(error, EG_ERR_FORMAT, "quantization in blocks of '%lld' is not supported",
                        (long long)value);
    quantization->block = (uint32_t)value;
    const unsigned where = quantization->type == EG_F16 || quantization->type == EG_BF16 ? HALVES
                           : quantization->per == EG_PER_BLOCK                           ? BLOCKS
                                                                                         : INTEGERS;
    eg_status status = eg__json_keys_check(object, sizeof keys / sizeof *keys, keys, where,
                                           "a quantization", error);
    if (!status) status = read_flag(object, "symmetric", &quantization->symmetric, error);
    if (!status) status = read_flag(object, "integers", &quantization->integers, error);
    return status ? status : eg_quantization_check(quantization, error);
}

static eg_status shrink(eg_model *model, const char *name, const eg_quantization *quantization,
                        eg_error *error) {
    for (size_t i = 0; name && i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0)
            return eg__parameter_shrink(model, &model->parameters[i], quantization, error);
    return eg__fail(error, EG_ERR_FORMAT, "quantization of '%.100s', which the model does not have",
                    name ? name : "");
}

eg_status eg__model_quantized_read(eg_model *model, const json_t *list, eg_error *error) {
    eg_status status = EG_OK;
    if (list && !json_is_array(list))
        return eg__fail(error, EG_ERR_FORMAT, "'quantization' is not a list");
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i), *names = json_object_get(entry, "tensors");
        eg_quantization quantization;
        status = read_how(entry, &quantization, error);
        if (!status && !json_is_array(names))
            status = eg__fail(error, EG_ERR_FORMAT, "'tensors' of a quantization is no list");
        for (size_t k = 0; !status && k < json_array_size(names); k++)
            status =
                shrink(model, json_string_value(json_array_get(names, k)), &quantization, error);
    }
    return status;
}

/* ---- writing */
static bool same(const eg_quantized *a, const eg_quantized *b) {
    return memcmp(&a->quantization, &b->quantization, sizeof a->quantization) == 0;
}

static void put_entry(eg__json *json, const eg_model *model, size_t first) {
    const eg_quantized *q = &model->parameters[first].quantized;
    eg__json_open_object(json, NULL);
    eg__json_put_text(json, "type", eg_type_name(q->quantization.type));
    if (q->scales) {
        eg__json_put_text(json, "per", eg_granularity_name(q->quantization.per));
        if (q->quantization.per == EG_PER_BLOCK)
            eg__json_put_count(json, "block", q->quantization.block);
        if (q->quantization.symmetric) eg__json_put_flag(json, "symmetric", true);
        if (q->quantization.integers) eg__json_put_flag(json, "integers", true);
    }
    eg__json_open_list(json, "tensors");
    for (size_t i = first; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        if (eg__parameter_is_quantized(p) && same(&p->quantized, q))
            eg__json_put_text(json, NULL, p->name);
    }
    eg__json_close(json);
    eg__json_close(json);
}

void eg__model_quantized_put(eg__json *json, const eg_model *model) {
    bool any = false;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        bool told = !eg__parameter_is_quantized(p);
        for (size_t k = 0; !told && k < i; k++)
            told = eg__parameter_is_quantized(&model->parameters[k]) &&
                   same(&model->parameters[k].quantized, &p->quantized);
        if (told) continue;
        if (!any) eg__json_open_list(json, "quantization");
        any = true;
        put_entry(json, model, i);
    }
    if (any) eg__json_close(json);
}
