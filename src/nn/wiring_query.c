/* Wirings as the public interface shows them. */
#include "base/abi.h"
#include "nn/wiring.h"

void eg_wiring_destroy(eg_wiring *wiring) { eg__wiring_destroy(wiring); }

void eg_wiring_info_get(const eg_wiring *wiring, eg_wiring_info *out) {
    eg_wiring_info info = {.kind = eg__wiring_kind_name(wiring->options.kind),
                           .seed =
                               wiring->options.kind == EG__WIRING_EDGES ? 0 : wiring->options.seed,
                           .units = wiring->units,
                           .inputs = wiring->inputs,
                           .outputs = wiring->outputs,
                           .layers = wiring->layer_count};
    for (uint32_t l = 0; l < wiring->layer_count; l++)
        info.layer_sizes[l] = wiring->layer_first[l + 1] - wiring->layer_first[l];
    EG__INFO(eg_wiring_info, out, &info);
}

const char *eg_wiring_layer_name(const eg_wiring_info *info, uint32_t layer) {
    static const char *const names[][EG_WIRING_LAYERS_MAX] = {
        {"units"}, {"hidden", "motor"}, {"inter", "command", "motor"}};
    if (!info->layers || info->layers > EG_WIRING_LAYERS_MAX || layer >= info->layers) return NULL;
    return names[info->layers - 1][layer];
}

uint32_t eg_wiring_layer_unit(const eg_wiring *wiring, uint32_t layer, uint32_t place) {
    if (layer >= wiring->layer_count) return UINT32_MAX;
    const uint32_t first = wiring->layer_first[layer], next = wiring->layer_first[layer + 1];
    return place < next - first ? wiring->layer_ids[first + place] : UINT32_MAX;
}

int eg_wiring_synapse(const eg_wiring *wiring, uint32_t source, uint32_t destination) {
    if (source >= wiring->units || destination >= wiring->units) return 0;
    return wiring->adjacency[(size_t)source * wiring->units + destination];
}

int eg_wiring_sensory(const eg_wiring *wiring, uint32_t input, uint32_t destination) {
    if (input >= wiring->inputs || destination >= wiring->units) return 0;
    return wiring->sensory[(size_t)input * wiring->units + destination];
}
