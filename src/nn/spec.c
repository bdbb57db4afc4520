/* Models by a line of text: "cfc:autoncp:64:16,in=16,seed=1", layers one after the other with a slash
 * between them: "cfc:64,in=16/cfc:32,backbone=0". */
#include "nn/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char wiring[256]; /* what is left for the wiring */
    uint64_t seed;
    bool backbone; /* the layer says something about it */
} text;

static eg_status count_of(const char *value, const char *key, uint32_t *out, eg_error *error) {
    int64_t number;
    if (eg_integer_parse(value, strlen(value), 1, 1 << 20, &number, NULL))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is no count within 1..1048576", key,
                        value);
    *out = (uint32_t)number;
    return EG_OK;
}

/* "64", "64x2" (twice), "128+64" */
static eg_status read_backbone(eg__layer *layer, const char *value, eg_error *error) {
    layer->backbone_count = 0;
    char copy[128];
    snprintf(copy, sizeof copy, "%s", value);
    if (strcmp(copy, "0") == 0) return EG_OK;
    for (char *rest = copy, *part; (part = strsep(&rest, "+"));) {
        char *cross = strchr(part, 'x');
        uint32_t width, times = 1;
        if (cross) *cross++ = 0;
        eg_status status = count_of(part, "backbone", &width, error);
        if (!status && cross) status = count_of(cross, "backbone", &times, error);
        if (status) return status;
        for (uint32_t i = 0; i < times; i++) {
            if (layer->backbone_count == EG__BACKBONE_MAX)
                return eg__fail(error, EG_ERR_ARGUMENT, "backbone=%.60s has more than %d layers",
                                value, EG__BACKBONE_MAX);
            layer->backbone[layer->backbone_count++] = width;
        }
    }
    return EG_OK;
}

/* The index of a name; `names` returns NULL past the last. */
static eg_status find_name(const char *key, const char *value, const char *(*name_of)(unsigned),
                           unsigned *out, eg_error *error) {
    const char *name;
    for (*out = 0; (name = name_of(*out)); (*out)++)
        if (strcmp(name, value) == 0) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is not known", key, value);
}

static eg_status read_number(const char *key, const char *value, double *out, eg_error *error) {
    if (eg_number_parse(value, strlen(value), out, NULL) == EG_OK) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is no number", key, value);
}

/* One key=value of the layer; what it does not know is the wiring's. */
static eg_status option(eg__layer *layer, text *t, const char *key, const char *value,
                        eg_error *error) {
    unsigned index;
    double number;
    eg_status status;
    if (strcmp(key, "in") == 0) return count_of(value, key, &layer->inputs, error);
    if (strcmp(key, "seed") == 0) {
        int64_t seed;
        if (eg_integer_parse(value, strlen(value), 0, UINT32_MAX, &seed, NULL))
            return eg__fail(error, EG_ERR_ARGUMENT, "seed=%.60s is not within 0..4294967295",
                            value);
        t->seed = (uint64_t)seed;
        return EG_OK;
    }
    if (strcmp(key, "backbone") == 0) {
        t->backbone = true;
        return read_backbone(layer, value, error);
    }
    if (strcmp(key, "proj") == 0) return count_of(value, key, &layer->projection, error);
    if (strcmp(key, "unfolds") == 0) return count_of(value, key, &layer->unfolds, error);
    if (strcmp(key, "mode") == 0) {
        status = find_name(key, value, eg__mode_name, &index, error);
        layer->mode = (eg__cfc_mode)index;
    } else if (strcmp(key, "activation") == 0) {
        status = find_name(key, value, eg__activation_name, &index, error);
        layer->activation = (eg__activation)index;
    } else if (strcmp(key, "input_map") == 0) {
        status = find_name(key, value, eg__map_name, &index, error);
        layer->input_map = (eg__map)index;
    } else if (strcmp(key, "output_map") == 0) {
        status = find_name(key, value, eg__map_name, &index, error);
        layer->output_map = (eg__map)index;
    } else if (strcmp(key, "bidirectional") == 0) {
        status = find_name(key, value, eg__merge_name, &index, error);
        layer->merge = (eg__merge)index;
    } else if (strcmp(key, "dropout") == 0) {
        status = read_number(key, value, &layer->dropout, error);
    } else if (strcmp(key, "epsilon") == 0) {
        status = read_number(key, value, &layer->epsilon, error);
    } else if (strcmp(key, "mixed") == 0 || strcmp(key, "explicit") == 0 ||
               strcmp(key, "keras") == 0) {
        status = read_number(key, value, &number, error);
        *(key[0] == 'm'   ? &layer->mixed
          : key[0] == 'e' ? &layer->explicit_constraints
                          : &layer->keras) = number != 0;
    } else {
        const size_t used = strlen(t->wiring);
        const int n = snprintf(t->wiring + used, sizeof t->wiring - used, ",%s=%s", key, value);
        status = (size_t)n < sizeof t->wiring - used
                     ? EG_OK
                     : eg__fail(error, EG_ERR_ARGUMENT, "the spec is too long");
    }
    return status;
}

static eg_status parse_layer(eg_model *model, char *spec, text *t, eg_error *error) {
    eg__layer *layer = &model->layers[model->layer_count++];
    t->wiring[0] = 0;
    t->backbone = false;
    *layer = (eg__layer){.unfolds = 6,
                         .epsilon = 1e-8,
                         .input_map = EG__MAP_AFFINE,
                         .output_map = EG__MAP_AFFINE,
                         .backbone_count = 1,
                         .backbone = {128}};
    char *rest = spec, *head = strsep(&rest, ",");
    if (strncmp(head, "ltc:", 4) == 0) layer->cell = EG__LTC;
    else if (strncmp(head, "cfc:", 4) != 0)
        return eg__fail(
            error, EG_ERR_ARGUMENT,
            "'%.60s' is no file, and no spec: those begin with 'cfc:', 'ltc:', 'llama:', 'gpt2:' or 'bert:'",
            head);
    head += 4;
    const bool plain = head[0] >= '0' && head[0] <= '9';
    if (plain) {
        eg_status status = count_of(head, "units", &layer->units, error);
        if (status) return status;
        snprintf(t->wiring, sizeof t->wiring, "full:%s", head);
    } else snprintf(t->wiring, sizeof t->wiring, "%s", head);
    for (char *part; (part = strsep(&rest, ","));) {
        char *value = strchr(part, '=');
        if (!value) return eg__fail(error, EG_ERR_ARGUMENT, "'%.60s' is not key=value", part);
        *value++ = 0;
        eg_status status = option(layer, t, part, value, error);
        if (status) return status;
    }
    if (!layer->inputs && layer > model->layers) { /* what the layer before gives */
        eg_status status = eg__layer_complete(model, layer - 1, error);
        if (status) return status;
        layer->inputs = eg__layer_width(layer - 1);
    }
    if (!layer->inputs) return eg__fail(error, EG_ERR_ARGUMENT, "the spec needs in=N, the inputs");
    if (plain && layer->cell == EG__CFC) {
        if (strchr(t->wiring, ','))
            return eg__fail(error, EG_ERR_ARGUMENT, "'%.60s' is not known to a cell without wiring",
                            strchr(t->wiring, ',') + 1);
        return EG_OK; /* fully connected: no wiring */
    }
    if (!t->backbone)
        layer->backbone_count = 0; /* wired cells have none, but may be asked for one */
    eg__wiring_options wiring;
    uint32_t inputs;
    eg_status status = eg__wiring_parse(t->wiring, &wiring, &inputs, error);
    if (status) return status;
    return eg__wiring_build(model->memory, &wiring, layer->inputs, &layer->wiring, error);
}

eg_status eg__model_from_spec(eg_context *context, const char *spec, eg_model **out,
                              eg_error *error) {
    *out = NULL;
    eg_model *model;
    text t = {.seed = 0};
    char copy[512];
    if (strlen(spec) >= sizeof copy)
        return eg__fail(error, EG_ERR_ARGUMENT, "the spec is too long");
    snprintf(copy, sizeof copy, "%s", spec);
    eg_status status = eg__model_new(context, &model, error);
    if (status) return status;
    for (char *rest = copy, *part; !status && (part = strsep(&rest, "/"));)
        status = model->layer_count < EG__LAYERS_MAX
                     ? parse_layer(model, part, &t, error)
                     : eg__fail(error, EG_ERR_ARGUMENT, "more than %d layers", EG__LAYERS_MAX);
    if (!status) status = eg__model_complete(model, error);
    if (!status) status = eg__model_initialise(model, t.seed, error);
    if (!status) status = eg__model_keep_spec(model, spec, error);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}
