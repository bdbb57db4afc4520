/* What a transformer is, as JSON: {"family": "llama", "layers": 6, "width": 384, ...}. */
#include "formats/model_extras.h"
#include "nn/transformer.h"

#include <stddef.h>
#include <string.h>

#define COUNT(field) \
    { #field, offsetof(eg__transformer, field) }
static const struct {
    const char *key;
    size_t offset;
} counts[] = {COUNT(layers), COUNT(width),  COUNT(heads),      COUNT(kv_heads),
              COUNT(head),   COUNT(hidden), COUNT(vocabulary), COUNT(context),
              COUNT(types),  COUNT(window), COUNT(positions)},
  numbers[] = {COUNT(epsilon), COUNT(rope_base), COUNT(dropout)},
  flags[] = {COUNT(pre_norm), COUNT(interleaved), COUNT(tied), COUNT(exact_gelu)};
#undef COUNT

static const char *const poolings[] = {"mean", "first", "last"};

eg_status eg__model_transformer_read(eg_context *context, const json_t *object, uint64_t most,
                                     eg_model **out, eg_error *error) {
    eg__transformer t = {0};
    const char *family = json_string_value(json_object_get(object, "family"));
    const char *pooling = json_string_value(json_object_get(object, "pooling"));
    unsigned index = 0;
    while (family && eg__family_name(index) && strcmp(eg__family_name(index), family) != 0) index++;
    if (!family || !eg__family_name(index))
        return eg__fail(error, EG_ERR_FORMAT, "a transformer of family '%.60s'",
                        family ? family : "");
    t.family = (eg__family)index;
    for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++)
        if (pooling && strcmp(pooling, poolings[i]) == 0) t.pooling = (eg_pooling)i;
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
        if (!json_is_number(value))
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is not a number", numbers[i].key);
        *(double *)((char *)&t + numbers[i].offset) = json_number_value(value);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *(bool *)((char *)&t + flags[i].offset) =
            json_is_true(json_object_get(object, flags[i].key));
    eg_status status = eg__transformer_new(context, &t, out, error);
    if (!status && (*out)->value_count > most)
        status = eg__fail(error, EG_ERR_FORMAT,
                          "an architecture of %zu numbers, and a file of %llu at most",
                          (*out)->value_count, (unsigned long long)most);
    if (!status) status = eg__transformer_fill(*out, error);
    return status;
}

json_t *eg__model_transformer_json(const eg_model *model) {
    const eg__transformer *t = model->transformer;
    json_t *object = json_pack("{s:s, s:s}", "family", eg__family_name(t->family), "pooling",
                               poolings[t->pooling]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(object, counts[i].key,
                            json_integer(*(const uint32_t *)((const char *)t + counts[i].offset)));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].key,
                            json_real(*(const double *)((const char *)t + numbers[i].offset)));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        json_object_set_new(object, flags[i].key,
                            json_boolean(*(const bool *)((const char *)t + flags[i].offset)));
    return object;
}
