/* New transformers by a line of text: "llama:6:384,heads=6,vocab=256,seed=1" is 6 layers of width
 * 384. Default widths are multiples of 64, which all kernels handle best. */
#include "base/random.h"
#include "nn/transformer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDE = 64 };

bool eg__transformer_is_spec(const char *text) {
    const char *name;
    for (unsigned i = 0; (name = eg__family_name(i)); i++)
        if (strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ':') return true;
    return false;
}

/* ---- reading */
static eg_status read_count(const char *key, const char *value, uint32_t *out, eg_error *error) {
    int64_t number;
    if (eg_integer_parse(value, strlen(value), 1, EG__TRANSFORMER_TOKENS_MAX, &number, NULL))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is not a whole number within 1..%d", key,
                        value, EG__TRANSFORMER_TOKENS_MAX);
    *out = (uint32_t)number;
    return EG_OK;
}

static eg_status option(eg__transformer *t, uint64_t *seed, const char *key, const char *value,
                        eg_error *error) {
    const struct {
        const char *key;
        uint32_t *to;
    } counts[] = {{"heads", &t->heads},      {"kv", &t->kv_heads},     {"hidden", &t->hidden},
                  {"vocab", &t->vocabulary}, {"context", &t->context}, {"types", &t->types},
                  {"window", &t->window}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(key, counts[i].key) == 0) return read_count(key, value, counts[i].to, error);
    const char *name;
    for (uint32_t i = 0; strcmp(key, "positions") == 0 && (name = eg__positions_name(i)); i++)
        if (strcmp(value, name) == 0) {
            t->positions = i;
            return EG_OK;
        }
    if (strcmp(key, "norm") == 0 && eg__transformer_traits(t)->norm_last &&
        (strcmp(value, "pre") == 0 || strcmp(value, "post") == 0)) {
        t->pre_norm = strcmp(value, "pre") == 0;
        return EG_OK;
    }
    if (strcmp(key, "positions") == 0 || strcmp(key, "norm") == 0)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%.40s=%.60s' is not known", key, value);
    double number;
    if (eg_number_parse(value, strlen(value), &number, NULL))
        return eg__fail(error, EG_ERR_ARGUMENT, "%.40s=%.60s is not a number", key, value);
    if (strcmp(key, "tied") == 0) t->tied = number != 0;
    else if (strcmp(key, "dropout") == 0) t->dropout = number;
    else if (strcmp(key, "epsilon") == 0) t->epsilon = number;
    else if (strcmp(key, "base") == 0) t->rope_base = number;
    else if (strcmp(key, "seed") == 0 && number >= 0 && number <= UINT32_MAX)
        *seed = (uint64_t)number;
    else return eg__fail(error, EG_ERR_ARGUMENT, "'%.40s=%.60s' is not known", key, value);
    return EG_OK;
}

/* Defaults: heads of 64 columns, as many key heads, and a feed-forward part four times as wide; if
 * it is gated (three matrices), narrower, so that it has the same number of parameters. */
static void complete(eg__transformer *t) {
    t->width = (uint32_t)eg__round_up(t->width, WIDE);
    if (!t->heads) t->heads = t->width / WIDE;
    if (!t->kv_heads) t->kv_heads = t->heads;
    if (!t->hidden) t->hidden = eg__transformer_traits(t)->gated ? t->width * 8 / 3 : 4 * t->width;
    t->hidden = (uint32_t)eg__round_up(t->hidden, WIDE);
    t->head = t->width / t->heads;
}

static eg_status parse(char *copy, eg__transformer *t, uint64_t *seed, eg_error *error) {
    char *rest = copy, *head = strsep(&rest, ",");
    const char *name = strsep(&head, ":");
    eg__family family;
    if (!eg__family_find(name, &family))
        return eg__fail(error, EG_ERR_ARGUMENT, "no family of transformers '%.60s'", name);
    const eg__traits *traits = eg__family_traits(family);
    *t = eg__transformer_begin(family);
    t->vocabulary = 256;
    t->context = 1024;
    t->types = 2;
    t->epsilon = traits->epsilon;
    t->rope_base = 10000;
    t->tied = traits->tied;
    const char *layers = strsep(&head, ":"), *width = strsep(&head, ":");
    if (!layers || !width || head)
        return eg__fail(error, EG_ERR_ARGUMENT, "a spec is '%s:LAYERS:WIDTH,vocab=N'", name);
    eg_status status = read_count("layers", layers, &t->layers, error);
    if (!status) status = read_count("width", width, &t->width, error);
    for (char *part; !status && (part = strsep(&rest, ","));) {
        char *value = strchr(part, '=');
        if (!value) return eg__fail(error, EG_ERR_ARGUMENT, "'%.60s' is not key=value", part);
        *value++ = 0;
        status = option(t, seed, part, value, error);
    }
    if (status) return status;
    if (t->width > EG__TRANSFORMER_WIDTH_MAX || t->hidden > 4 * EG__TRANSFORMER_WIDTH_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "the width %u is out of range", t->width);
    complete(t);
    if (!t->head || t->width % t->heads)
        return eg__fail(error, EG_ERR_ARGUMENT, "the width %u is not a multiple of %u heads",
                        t->width, t->heads);
    return EG_OK;
}

/* ---- initial values: as in GPT-2 but uniform: a standard deviation of 0.02, less for residual
 * projections */
eg_status eg__transformer_initialise(eg_model *model, uint64_t seed, eg_error *error) {
    const eg__transformer *t = model->transformer;
    eg_status status = eg__model_fill(model, error);
    if (status) return status;
    eg__mt mt;
    eg__mt_seed(&mt, (uint32_t)seed);
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        float *values = eg__parameter_values(model, p);
        const size_t count = eg__parameter_size(p);
        const bool adds = strstr(p->name, "attn_output.") || strstr(p->name, "ffn_down.");
        const double deviation = 0.02 / (adds ? sqrt(2.0 * t->layers) : 1), end = sqrt(3.0);
        if (p->rank == 2) eg__torch_uniform(&mt, count, values, -end * deviation, end * deviation);
        else if (strstr(p->name, "norm.weight"))
            for (size_t k = 0; k < count; k++) values[k] = 1;
    }
    return EG_OK;
}

eg_status eg__transformer_from_spec(eg_context *context, const char *spec, bool outline,
                                    eg_model **out, eg_error *error) {
    *out = NULL;
    char copy[512];
    eg__transformer t;
    uint64_t seed = 0;
    if (strlen(spec) >= sizeof copy)
        return eg__fail(error, EG_ERR_ARGUMENT, "the spec is too long");
    snprintf(copy, sizeof copy, "%s", spec);
    eg_model *model = NULL;
    eg_status status = parse(copy, &t, &seed, error);
    if (!status) status = eg__transformer_new(context, &t, &model, error);
    if (!status) model->outline = outline;
    if (!status) status = eg__model_check_memory(model, true, error);
    if (!status && !outline) status = eg__transformer_initialise(model, seed, error);
    if (!status) status = eg__model_keep_spec(model, spec, error);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}
