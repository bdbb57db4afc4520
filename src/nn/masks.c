/* Masks: which synapses a wiring has, beside the values of a model. A file may contain masks: they
 * define the wiring if the architecture has none, and must agree with it otherwise. */
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

/* The layer of the wiring that a parameter of a wired CfC belongs to; NULL = none. */
static const eg__wired *wired_of(const eg_model *model, const eg__parameter *p) {
    const eg__layer *layer = &model->layers[p->layer];
    const char *cell = strstr(p->name, "rnn_cell.layer_");
    unsigned index;
    if (!cell || layer->cell != EG__CFC || sscanf(cell, "rnn_cell.layer_%u", &index) != 1)
        return NULL;
    return index < layer->wired_count ? &layer->wired[index] : NULL;
}

eg__mask eg__parameter_mask(const eg_model *model, const eg__parameter *p) {
    const eg__wired *wired = wired_of(model, p);
    const eg__mask none = {NULL, 0};
    if (!wired) return none;
    const size_t sources = (size_t)wired->inputs + wired->units;
    if (model->layers[p->layer].backbone_count)
        return strstr(p->name, ".backbone.0.weight") && wired->seen
                   ? (eg__mask){wired->seen, sources}
                   : none;
    const bool masked = strstr(p->name, ".ff1.weight") || strstr(p->name, ".ff2.weight");
    return masked ? (eg__mask){wired->mask, wired->units * sources} : none;
}

/* ---- masks as values: saved where tools expect them */
static bool is_sensory(const eg__parameter *p) { return strstr(p->name, "sensory_") != NULL; }

/* Of an LTC: where the synapses of a mask are. */
static int8_t *synapses_of(const eg__layer *layer, const eg__parameter *p) {
    return is_sensory(p) ? layer->wiring->sensory : layer->wiring->adjacency;
}

/* A mask as the wiring has it: as bits, or as synapses. Found once, because a mask has millions of
 * elements and the name of a parameter says which one it is. */
typedef struct source {
    eg__mask bits;
    const int8_t *synapses; /* of an LTC; else NULL */
} source;

static source source_of(const eg_model *model, const eg__parameter *p) {
    const eg__layer *layer = &model->layers[p->layer];
    if (layer->cell != EG__CFC) return (source){.synapses = synapses_of(layer, p)};
    return (source){.bits = {wired_of(model, p)->mask, eg__parameter_size(p)}};
}

static float expected(const source *from, size_t i) {
    return from->synapses ? from->synapses[i] != 0 : eg__mask_has(&from->bits, i);
}

void eg__mask_floats(const eg_model *model, const eg__parameter *p, float *out) {
    const source from = source_of(model, p);
    for (size_t k = 0; k < eg__parameter_size(p); k++) out[k] = expected(&from, k);
}

/* ---- masks of a file */

/* The synapses of an LTC are those of the file's mask, their polarity is that of the reversal potential. */
static void adopt(eg_model *model, const eg__parameter *p) {
    eg__layer *layer = &model->layers[p->layer];
    char name[EG__NAME_MAX];
    const size_t before = strlen(p->name) - strlen("sparsity_mask");
    snprintf(name, sizeof name, "%.*serev", (int)before, p->name);
    const eg__parameter *erev = eg__model_parameter(model, name);
    const float *mask = eg__parameter_values(model, p);
    const float *reversal = erev ? eg__parameter_values(model, erev) : NULL;
    int8_t *synapses = synapses_of(layer, p);
    for (size_t i = 0; i < eg__parameter_size(p); i++) {
        const int8_t polarity = reversal && reversal[i] < 0 ? -1 : 1;
        synapses[i] = mask[i] != 0 ? polarity : 0;
    }
    layer->wiring->options.kind = EG__WIRING_EDGES; /* it cannot be drawn again */
}

static eg_status settle(eg_model *model, const eg__parameter *p, eg_error *error) {
    const float *mask = eg__parameter_values(model, p);
    if (!mask) return EG_OK; /* no file has it */
    const size_t count = eg__parameter_size(p), columns = (size_t)p->shape[1];
    size_t differ = 0, first = 0;
    const source from = source_of(model, p);
    for (size_t i = 0; i < count; i++) {
        if (mask[i] != 0 && mask[i] != 1)
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is %g at [%zu,%zu]: a mask is 0 or 1",
                            p->name, (double)mask[i], i / columns, i % columns);
        if (mask[i] == expected(&from, i)) continue;
        if (!differ++) first = i;
    }
    if (!differ) return EG_OK;
    if (model->layers[p->layer].implied) {
        adopt(model, p);
        return EG_OK;
    }
    return eg__fail(
        error, EG_ERR_FORMAT,
        "the wiring '%s' of the architecture, its sizes or its seed, contradicts %zu of "
        "%zu entries (first [%zu,%zu]: %g) of '%s'",
        eg__wiring_kind_name(model->layers[p->layer].wiring->options.kind), differ, count,
        first / columns, first % columns, (double)mask[first], p->name);
}

eg_status eg__model_masks_settle(eg_model *model, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        if (p->is_mask) status = settle(model, p, error);
    }
    return status;
}
