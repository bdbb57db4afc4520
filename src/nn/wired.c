/* What follows from the wiring of a layer: its sizes at once, its synapses when they are drawn. */
#include "nn/model.h"

void eg__layer_measure(eg__layer *layer) {
    const eg__wiring *w = layer->wiring;
    const uint32_t *first = w ? w->layer_first : NULL;
    if (w) layer->units = w->units;
    if (w && layer->cell == EG__LTC) layer->outputs = w->outputs;
    for (unsigned i = 0; w && layer->cell == EG__CFC && i < w->layer_count; i++) {
        eg__wired *wired = &layer->wired[i];
        wired->units = first[i + 1] - first[i];
        wired->inputs = i ? layer->wired[i - 1].units : layer->inputs;
        layer->outputs = wired->units;
        layer->wired_count = i + 1;
    }
    if (!layer->outputs) layer->outputs = layer->units;
}

/* Where all or a share of the synapses exist; those of a circuit are counted when they are drawn. */
static uint64_t known_synapses(const eg__wiring *w, uint64_t possible) {
    switch (w->options.kind) {
    case EG__WIRING_FULL: return possible - (w->options.no_self ? w->units : 0);
    case EG__WIRING_RANDOM: return (uint64_t)((1 - w->options.sparsity) * (double)possible);
    default: return 0;
    }
}

uint64_t eg__layer_bytes(const eg__layer *layer, bool runs) {
    const eg__wiring *w = layer->wiring;
    if (!w) return 0;
    const uint64_t inner = (uint64_t)w->units * w->units, outer = (uint64_t)w->inputs * w->units;
    uint64_t bytes = inner + outer;
    if (w->options.kind == EG__WIRING_RANDOM) bytes += 2 * sizeof(uint32_t) * eg__max(inner, outer);
    if (layer->cell == EG__LTC && runs) /* ends; weight, middle, slope, reversal */
        bytes += known_synapses(w, inner + outer) * (sizeof(int32_t) + 4 * sizeof(float));
    for (unsigned i = 0; i < layer->wired_count; i++) {
        const eg__wired *wired = &layer->wired[i];
        bytes += eg__ceil_div(wired->units * ((uint64_t)wired->inputs + wired->units), 8);
    }
    return bytes;
}

/* ---- synapses */
static void *take(eg_model *model, size_t count, size_t size, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, count, size, &reason);
    if (!memory) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

/* Which sources have a synapse into the layer: the columns of a backbone's first matrix. */
static eg_status find_seen(eg_model *model, eg__wired *wired, eg_error *error) {
    const size_t sources = (size_t)wired->inputs + wired->units;
    eg_status status = EG_OK;
    const eg__mask mask = {wired->mask, wired->units * sources};
    uint8_t *seen = take(model, sources / 8 + 1, sizeof *seen, &status, error);
    size_t count = 0;
    for (size_t k = 0; !status && k < sources; k++) {
        size_t j = 0;
        while (j < wired->units && !eg__mask_has(&mask, j * sources + k)) j++;
        if (j == wired->units) continue;
        eg__mask_set(seen, k);
        count++;
    }
    if (count < sources) wired->seen = seen;
    else eg__memory_give(model->memory, seen); /* all: it is a dense matrix */
    return status;
}

/* Synapses from the layer before exist or not; inside a layer every neuron sees every other. */
static eg_status wire_cfc(eg_model *model, eg__layer *layer, eg_error *error) {
    const eg__wiring *w = layer->wiring;
    eg_status status = EG_OK;
    for (unsigned i = 0; !status && i < layer->wired_count; i++) {
        eg__wired *wired = &layer->wired[i];
        const uint32_t *ids = w->layer_ids + w->layer_first[i];
        const uint32_t *before = i ? w->layer_ids + w->layer_first[i - 1] : NULL;
        const size_t width = (size_t)wired->inputs + wired->units;
        wired->mask =
            take(model, wired->units * width / 8 + 1, sizeof *wired->mask, &status, error);
        /* by source, in the order of the matrix: its rows are long */
        for (uint32_t k = 0; !status && k < wired->inputs; k++) {
            const int8_t *row = before ? w->adjacency + (size_t)before[k] * w->units
                                       : w->sensory + (size_t)k * w->units;
            for (uint32_t j = 0; j < wired->units; j++)
                if (row[ids[j]]) eg__mask_set(wired->mask, j * width + k);
        }
        for (uint32_t j = 0; !status && j < wired->units; j++)
            for (uint32_t k = 0; k < wired->units; k++)
                eg__mask_set(wired->mask, j * width + wired->inputs + k);
        if (!status && layer->backbone_count) status = find_seen(model, wired, error);
    }
    return status;
}

eg_status eg__layer_wire(eg_model *model, eg__layer *layer, eg_error *error) {
    if (!layer->wiring) return EG_OK;
    eg_status status = eg__wiring_draw(layer->wiring, error);
    if (status || layer->cell != EG__CFC) return status;
    status = wire_cfc(model, layer, error);
    eg__wiring_forget(layer->wiring);
    return status;
}
