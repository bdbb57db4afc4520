/* Models: their layers, completed and checked, and their values. */
#include "nn/transformer.h"

#include <stdio.h>
#include <string.h>

/* ---- names */
const char *eg__activation_name(unsigned activation) {
    static const char *const names[] = {"lecun_tanh", "silu", "relu", "tanh", "gelu"};
    return activation < EG__ACTIVATIONS ? names[activation] : NULL;
}
const char *eg__mode_name(unsigned mode) {
    static const char *const names[] = {"default", "pure", "no_gate"};
    return mode < 3 ? names[mode] : NULL;
}
const char *eg__map_name(unsigned map) {
    static const char *const names[] = {"none", "linear", "affine"};
    return map < 3 ? names[map] : NULL;
}
const char *eg__merge_name(unsigned merge) {
    static const char *const names[] = {"none", "concat", "sum", "mul", "average"};
    return merge < 5 ? names[merge] : NULL;
}

/* ---- lifetime */
eg_status eg__model_new(eg_context *context, eg_model **out, eg_error *error) {
    *out = NULL;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_model *model = eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, sizeof *model, &reason);
    if (!model) return eg__fail(error, reason.status, "%s", reason.message);
    model->context = context;
    model->memory = memory;
    *out = model;
    return EG_OK;
}

void eg_model_destroy(eg_model *model) {
    if (!model) return;
    for (size_t i = 0; i < model->layer_count; i++) {
        eg__layer *layer = &model->layers[i];
        eg__wiring_destroy(layer->wiring);
        for (unsigned k = 0; k < layer->wired_count; k++)
            eg__memory_give(model->memory, layer->wired[k].mask);
        eg__memory_give(model->memory, layer->recurrent);
        eg__memory_give(model->memory, layer->sensory);
    }
    for (size_t i = 0; i < model->parameter_count; i++)
        eg_quantized_release(model->context, &model->parameters[i].small);
    eg__memory_give(model->memory, model->parameters);
    eg__memory_give(model->memory, model->values);
    eg__memory_give(model->memory, model->spec);
    eg__memory_give(model->memory, model->unit_values);
    for (size_t i = 0; i < model->note_count; i++) eg__memory_give(model->memory, model->notes[i]);
    eg__memory_give(model->memory, model->transformer);
    if (model->close) model->close(model->file);
    eg__memory_give(model->memory, model);
}

/* ---- what follows from a wiring */
static void *take(eg_model *model, size_t count, size_t size, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, count, size, &reason);
    if (!memory) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

/* Synapses from the layer before exist or not; inside a layer every neuron sees every other. */
static eg_status wire_cfc(eg_model *model, eg__layer *layer, eg_error *error) {
    const eg__wiring *w = layer->wiring;
    eg_status status = EG_OK;
    for (unsigned i = 0; !status && i < w->layer_count && i < EG__WIRED_MAX; i++) {
        eg__wired *wired = &layer->wired[i];
        const uint32_t *ids = w->layer_ids + w->layer_first[i];
        const uint32_t *before = i ? w->layer_ids + w->layer_first[i - 1] : NULL;
        wired->units = w->layer_first[i + 1] - w->layer_first[i];
        wired->inputs = i ? layer->wired[i - 1].units : layer->inputs;
        const size_t width = (size_t)wired->inputs + wired->units;
        wired->mask = take(model, wired->units * width + 1, sizeof *wired->mask, &status, error);
        layer->wired_count = i + 1;
        for (uint32_t j = 0; !status && j < wired->units; j++) {
            for (uint32_t k = 0; k < wired->inputs; k++) {
                const int8_t synapse = before ? w->adjacency[before[k] * w->units + ids[j]]
                                              : w->sensory[k * w->units + ids[j]];
                wired->mask[j * width + k] = synapse != 0;
            }
            for (uint32_t k = 0; k < wired->units; k++)
                wired->mask[j * width + wired->inputs + k] = 1;
        }
    }
    layer->units = w->units;
    layer->outputs = layer->wired_count ? layer->wired[layer->wired_count - 1].units : 0;
    return status;
}

static eg_status wire_ltc(eg_model *model, eg__layer *layer, eg_error *error) {
    const eg__wiring *w = layer->wiring;
    eg_status status = EG_OK;
    const size_t n = w->units, inputs = w->inputs;
    layer->recurrent = take(model, n * n + 1, 1, &status, error);
    if (!status) layer->sensory = take(model, inputs * n + 1, 1, &status, error);
    if (status) return status;
    memcpy(layer->recurrent, w->adjacency, n * n);
    memcpy(layer->sensory, w->sensory, inputs * n);
    layer->units = w->units;
    layer->outputs = w->outputs;
    return EG_OK;
}

/* ---- checks */
static eg_status check_layer(const eg__layer *layer, size_t index, eg_error *error) {
    if (!layer->inputs || !layer->units || !layer->outputs)
        return eg__fail(error, EG_ERR_ARGUMENT, "layer %zu: %u inputs, %u units, %u outputs", index,
                        layer->inputs, layer->units, layer->outputs);
    if (layer->wired_count && layer->backbone_count)
        return eg__fail(error, EG_ERR_ARGUMENT, "layer %zu: a wired CfC has no backbone", index);
    if (layer->cell == EG__LTC && (!layer->unfolds || layer->projection || layer->backbone_count))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "layer %zu: an LTC has unfolds, no projection and no backbone", index);
    if (!(layer->dropout >= 0 && layer->dropout < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "layer %zu: dropout %g is not within [0, 1)", index,
                        layer->dropout);
    if (layer->mode == EG__CFC_PURE && layer->keras)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "layer %zu: mode 'pure' in the keras flavour",
                        index);
    return EG_OK;
}

uint32_t eg__layer_width(const eg__layer *layer) {
    const uint32_t one = layer->projection ? layer->projection : layer->outputs;
    return layer->merge == EG__MERGE_CONCAT ? 2 * one : one;
}

size_t eg__parameter_size(const eg__parameter *p) {
    return (size_t)(p->rank == 2 ? p->shape[0] * p->shape[1] : p->shape[0]);
}

void eg__layer_prefix(const eg_model *model, size_t layer, int way, char out[32]) {
    int at = 0;
    out[0] = 0;
    if (model->layer_count > 1) at = snprintf(out, 32, "layers.%zu.", layer);
    if (model->layers[layer].merge != EG__ONE_WAY)
        snprintf(out + at, (size_t)(32 - at), "%s.", way ? "backward" : "forward");
}

/* Masks are values like others, so that they are saved where tools expect them. */
static void set_masks(eg_model *model) {
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        const eg__layer *layer = &model->layers[p->layer];
        float *to = eg__parameter_values(model, p);
        if (!p->is_mask) continue;
        if (layer->cell == EG__CFC) {
            const char *digit = strstr(p->name, "layer_");
            memcpy(to, layer->wired[digit[6] - '0'].mask, eg__parameter_size(p) * sizeof *to);
        } else {
            const int8_t *exists = strstr(p->name, "sensory") ? layer->sensory : layer->recurrent;
            for (size_t k = 0; k < eg__parameter_size(p); k++) to[k] = exists[k] != 0;
        }
    }
}

eg_status eg__layer_complete(eg_model *model, eg__layer *layer, eg_error *error) {
    eg_status status = EG_OK;
    if (layer->wiring && layer->cell == EG__CFC && !layer->wired_count)
        status = wire_cfc(model, layer, error);
    if (layer->wiring && layer->cell == EG__LTC && !layer->recurrent)
        status = wire_ltc(model, layer, error);
    if (!layer->outputs) layer->outputs = layer->units;
    return status ? status : check_layer(layer, (size_t)(layer - model->layers), error);
}

eg_status eg__model_complete(eg_model *model, eg_error *error) {
    eg_status status = EG_OK;
    if (!model->layer_count) return eg__fail(error, EG_ERR_ARGUMENT, "a model without layers");
    for (size_t i = 0; !status && i < model->layer_count; i++) {
        eg__layer *layer = &model->layers[i];
        status = eg__layer_complete(model, layer, error);
        if (!status && i && layer->inputs != eg__layer_width(layer - 1))
            status =
                eg__fail(error, EG_ERR_ARGUMENT, "layer %zu takes %u inputs, layer %zu gives %u", i,
                         layer->inputs, i - 1, eg__layer_width(layer - 1));
        for (int way = 0; !status && way <= (layer->merge != EG__ONE_WAY); way++) {
            char prefix[32];
            eg__layer_prefix(model, i, way, prefix);
            eg__layer_list(model, i, prefix, &status, error);
        }
    }
    if (!status)
        model->values = take(model, model->value_count + 1, sizeof *model->values, &status, error);
    if (!status) set_masks(model);
    return status;
}

eg_status eg__model_keep_spec(eg_model *model, const char *spec, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    model->spec = eg__memory_take_text(model->memory, EG_TAG_WEIGHTS, spec, strlen(spec), &reason);
    return model->spec ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

/* ---- questions */
const eg__parameter *eg__model_parameter(const eg_model *model, const char *name) {
    for (size_t i = 0; i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0) return &model->parameters[i];
    return NULL;
}

static void count_parameters(const eg_model *model, eg_model_info *out) {
    for (size_t i = 0; i < model->parameter_count; i++)
        if (!model->parameters[i].is_mask)
            out->parameters += eg__parameter_size(&model->parameters[i]);
}

static void transformer_info(const eg_model *model, eg_model_info *out) {
    const eg__transformer *t = model->transformer;
    const bool encodes = t->family == EG__BERT;
    *out = (eg_model_info){.kind = encodes ? EG_MODEL_ENCODER : EG_MODEL_DECODER,
                           .inputs = 1,
                           .outputs = encodes ? t->width : t->vocabulary,
                           .layers = t->layers};
    count_parameters(model, out);
}

void eg_model_info_get(const eg_model *model, eg_model_info *out) {
    if (model->transformer) {
        transformer_info(model, out);
        return;
    }
    const eg__layer *last = &model->layers[model->layer_count - 1];
    *out = (eg_model_info){.inputs = model->layers[0].inputs,
                           .outputs = eg__layer_width(last),
                           .layers = model->layer_count,
                           .uses_time = 1};
    for (size_t i = 0; i < model->layer_count; i++) {
        const eg__layer *layer = &model->layers[i];
        out->state +=
            (uint64_t)layer->units * (layer->mixed ? 2 : 1) * (layer->merge == EG__ONE_WAY ? 1 : 2);
    }
    count_parameters(model, out);
}

size_t eg_model_count(const eg_model *model) { return model->parameter_count; }

const char *eg_model_tensor(const eg_model *model, size_t index, eg_tensor *out,
                            int *is_trainable) {
    if (index >= model->parameter_count) return NULL;
    const eg__parameter *p = &model->parameters[index];
    if (out)
        *out = (eg_tensor){EG_F32,
                           p->rank,
                           {p->shape[0], p->shape[1]},
                           p->file.data ? NULL : eg__parameter_values(model, p)};
    if (is_trainable) *is_trainable = !p->is_mask;
    return p->name;
}

eg_status eg_model_weights(const eg_model *model, eg_weights *weights, eg_error *error) {
    eg_status status = eg_weights_begin(weights, 1, error);
    if (status) return status;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        eg_tensor tensor;
        if (eg_weights_tensor(weights, p->name, &tensor, NULL)) continue; /* a mask, or not used */
        if (eg__parameter_is_small(p))
            status = eg__weights_fill_small(weights, p->name, &p->small, error);
        else eg__parameter_floats(model, p, tensor.data);
    }
    eg_weights_end(weights);
    return status;
}
