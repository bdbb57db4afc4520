/* Descriptions of a model's layers for the public interface. */
#include "base/abi.h"
#include "nn/model.h"

static uint64_t count_synapses(const int8_t *synapses, uint64_t count) {
    uint64_t found = 0;
    for (uint64_t i = 0; i < count; i++) found += synapses[i] != 0;
    return found;
}

static void look_at_cfc(const eg__layer *layer, eg_layer_info *out) {
    out->mode = eg__mode_name(layer->mode);
    out->activation = layer->backbone_count ? eg__activation_name(layer->activation) : NULL;
    out->backbone_count = layer->backbone_count;
    for (uint32_t i = 0; i < layer->backbone_count; i++) out->backbone[i] = layer->backbone[i];
    for (uint32_t k = 0; k < layer->wired_count; k++) {
        const eg__wired *wired = &layer->wired[k];
        const uint64_t possible = (uint64_t)wired->units * (wired->inputs + wired->units);
        out->possible += possible;
        const eg__mask mask = {wired->mask, (size_t)possible};
        for (size_t i = 0; i < possible; i++) out->synapses += eg__mask_has(&mask, i);
    }
}

static void look_at_ltc(const eg__layer *layer, eg_layer_info *out) {
    const uint64_t units = layer->units, sensory = layer->inputs * units;
    const eg__wiring *w = layer->wiring;
    out->unfolds = layer->unfolds;
    if (!w || !w->layer_ids) return; /* not drawn */
    out->possible = units * units + sensory;
    out->synapses =
        count_synapses(w->adjacency, units * units) + count_synapses(w->sensory, sensory);
}

_Static_assert((int)EG_LAYER_BACKBONE_MAX >= (int)EG__BACKBONE_MAX, "every backbone fits");

eg_status eg_model_layer(const eg_model *model, size_t index, eg_layer_info *out, eg_error *error) {
    if (!model || !out || index >= model->layer_count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no layer %zu", index);
    const eg__layer *layer = &model->layers[index];
    eg_layer_info info = {.cell = layer->cell == EG__CFC ? "cfc" : "ltc",
                          .inputs = layer->inputs,
                          .units = layer->units,
                          .outputs = eg__layer_width(layer),
                          .projection = layer->projection,
                          .mixed = layer->mixed,
                          .merge =
                              layer->merge == EG__ONE_WAY ? NULL : eg__merge_name(layer->merge)};
    if (layer->wiring) {
        eg_wiring_info wiring = {.size = sizeof wiring};
        eg_wiring_info_get(layer->wiring, &wiring);
        info.wiring = wiring.kind;
    }
    if (layer->cell == EG__CFC) look_at_cfc(layer, &info);
    else look_at_ltc(layer, &info);
    EG__INFO(eg_layer_info, out, &info);
    return EG_OK;
}
