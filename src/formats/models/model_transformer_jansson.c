/* What a transformer is, as JSON: {"family": "llama", "layers": 6, "width": 384, ...}. */
#include "formats/models/model_extras.h"
#include "formats/files/json_keys.h"
#include "nn/transformer.h"

#include <stddef.h>
#include <string.h>

#define COUNT(field) \
    { #field, offsetof(eg__transformer, field), false }
#define MORE(field) \
    { #field, offsetof(eg__transformer, field), true }
static const struct {
    const char *key;
    size_t offset;
    bool optional; /* 0 where older files do not say it */
} counts[] = {COUNT(layers), COUNT(width),  COUNT(heads),      COUNT(kv_heads),
              COUNT(head),   COUNT(hidden), COUNT(vocabulary), COUNT(context),
              COUNT(types),  COUNT(window), COUNT(positions)},
  numbers[] = {COUNT(epsilon), COUNT(rope_base), COUNT(dropout), MORE(attention_scale)},
  flags[] = {COUNT(pre_norm), COUNT(interleaved), COUNT(tied), COUNT(exact_gelu),
             COUNT(scale_by_layer)};
#undef COUNT
#undef MORE

/* Dense layers of rows, {"dense": 24, "bias": true, "activation": "tanh"}; {"dense": 0} is L2 normalization. */
static eg_status read_rows(const json_t *list, eg__transformer *t, eg_error *error) {
    if (!list) return EG_OK;
    if (!json_is_array(list) || json_array_size(list) > EG__ROW_STEPS_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'rows' is no list of at most %d", EG__ROW_STEPS_MAX);
    t->rows_told = true;
    for (size_t i = 0; i < json_array_size(list); i++) {
        static const eg__json_key keys[] = {{"dense", 1, 1}, {"bias", 1, 0}, {"activation", 1, 0}};
        const json_t *one = json_array_get(list, i), *dense = json_object_get(one, "dense");
        eg_status status = eg__json_keys_check(one, 3, keys, 1, "a step of 'rows'", error);
        if (status) return status;
        const json_t *bias = json_object_get(one, "bias");
        const json_t *activation = json_object_get(one, "activation");
        const char *name = json_string_value(activation), *known;
        unsigned index = 0;
        while (name && (known = eg__row_activation_name(index)) && strcmp(known, name) != 0)
            index++;
        if (!json_is_integer(dense) || json_integer_value(dense) < 0 ||
            json_integer_value(dense) > EG__TRANSFORMER_WIDTH_MAX ||
            (bias && !json_is_boolean(bias)) || (activation && !name) ||
            index == EG__ROW_ACTIVATIONS)
            return eg__fail(error, EG_ERR_FORMAT, "step %zu of 'rows' is no dense layer", i);
        t->row_step[t->row_steps++] = (eg__row_step){(uint32_t)json_integer_value(dense),
                                                     json_is_true(bias), (eg__row_activation)index};
    }
    return EG_OK;
}

static void put_rows(eg__json *json, const eg__transformer *t) {
    eg__json_open_list(json, "rows");
    for (uint32_t i = 0; i < t->row_steps; i++) {
        const eg__row_step *step = &t->row_step[i];
        eg__json_open_object(json, NULL);
        eg__json_put_count(json, "dense", step->outputs);
        eg__json_put_flag(json, "bias", step->bias);
        eg__json_put_text(json, "activation", eg__row_activation_name(step->activation));
        eg__json_close(json);
    }
    eg__json_close(json);
}

/* The keys of the tables above, two that are names, and the steps of rows. */
static eg_status check_keys(const json_t *object, eg_error *error) {
    enum {
        COUNTS = sizeof counts / sizeof *counts,
        NUMBERS = sizeof numbers / sizeof *numbers,
        FLAGS = sizeof flags / sizeof *flags
    };
    eg__json_key keys[3 + COUNTS + NUMBERS + FLAGS] = {
        {"family", 1, 1}, {"pooling", 1, 0}, {"rows", 1, 0}};
    size_t used = 3;
    for (size_t i = 0; i < COUNTS; i++) keys[used++] = (eg__json_key){counts[i].key, 1, 0};
    for (size_t i = 0; i < NUMBERS; i++)
        keys[used++] = (eg__json_key){numbers[i].key, 1, !numbers[i].optional};
    for (size_t i = 0; i < FLAGS; i++) keys[used++] = (eg__json_key){flags[i].key, 1, 0};
    return eg__json_keys_check(object, used, keys, 1, "a transformer", error);
}

eg_status eg__model_transformer_read(eg_context *context, const json_t *object, uint64_t most,
                                     eg_model **out, eg_error *error) {
    eg__transformer t = {0};
    const char *family = json_string_value(json_object_get(object, "family"));
    const char *pooling = json_string_value(json_object_get(object, "pooling"));
    eg_status status = check_keys(object, error);
    if (status) return status;
    if (!family || !eg__family_find(family, &t.family))
        return eg__fail(error, EG_ERR_FORMAT, "unknown family '%.60s' of transformers",
                        family ? family : "");
    bool known = !json_object_get(object, "pooling");
    const char *name;
    for (unsigned i = 0; pooling && (name = eg_pooling_name((eg_pooling)i)); i++)
        if (strcmp(pooling, name) == 0) {
            t.pooling = (eg_pooling)i;
            known = true;
        }
    if (!known)
        return eg__fail(error, EG_ERR_FORMAT, "unknown pooling '%.60s'", pooling ? pooling : "");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *value = json_object_get(object, counts[i].key);
        if (!value) continue; /* 0, which is refused where it cannot be */
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > UINT32_MAX)
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is not a count", counts[i].key);
        *(uint32_t *)((char *)&t + counts[i].offset) = (uint32_t)json_integer_value(value);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(object, numbers[i].key);
        if (!value && numbers[i].optional) continue;
        if (!json_is_number(value))
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is not a number", numbers[i].key);
        *(double *)((char *)&t + numbers[i].offset) = json_number_value(value);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const json_t *value = json_object_get(object, flags[i].key);
        if (value && !json_is_boolean(value))
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is not true or false", flags[i].key);
        *(bool *)((char *)&t + flags[i].offset) = json_is_true(value);
    }
    status = read_rows(json_object_get(object, "rows"), &t, error);
    if (!status) status = eg__transformer_new(context, &t, out, error);
    if (!status) status = eg__model_check_most(*out, most, error);
    return status;
}

void eg__model_transformer_put(eg__json *json, const char *key, const eg_model *model) {
    const char *t = (const char *)model->transformer;
    eg__json_open_object(json, key);
    eg__json_put_text(json, "family", eg__family_name(model->transformer->family));
    eg__json_put_text(json, "pooling", eg_pooling_name(model->transformer->pooling));
    if (model->transformer->rows_told) put_rows(json, model->transformer);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        eg__json_put_count(json, counts[i].key, *(const uint32_t *)(t + counts[i].offset));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        eg__json_put_number(json, numbers[i].key, *(const double *)(t + numbers[i].offset));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        eg__json_put_flag(json, flags[i].key, *(const bool *)(t + flags[i].offset));
    eg__json_close(json);
}
