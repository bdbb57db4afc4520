/* Models: their layers, completed and checked, and their values. */
#include "base/abi.h"
#include "engine/context.h"
#include "nn/transformer.h"

#include <math.h>
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
        for (unsigned k = 0; k < layer->wired_count; k++) {
            eg__memory_give(model->memory, layer->wired[k].mask);
            eg__memory_give(model->memory, layer->wired[k].seen);
        }
    }
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg__parameter_quantized_drop(model, &model->parameters[i]);
        eg__memory_give(model->memory, model->parameters[i].own);
    }
    eg__memory_give(model->memory, model->parameters);
    eg__memory_give(model->memory, model->values);
    eg__memory_give(model->memory, model->spec);
    eg__memory_give(model->memory, model->unit_values);
    for (size_t i = 0; i < model->note_count; i++) eg__memory_give(model->memory, model->notes[i]);
    eg__memory_give(model->memory, model->transformer);
    if (model->close) model->close(model->file);
    if (model->backing_close) model->backing_close(model->backing);
    eg__memory_give(model->memory, model);
}

static void *take(eg_model *model, size_t count, size_t size, eg_status *status, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, count, size, &reason);
    if (!memory) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

/* ---- checks */
static eg_status check_layer(const eg__layer *layer, size_t index, eg_error *error) {
    if (!layer->inputs || !layer->units || !layer->outputs)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "layer %zu: %u inputs, %u units or %u outputs is out of range", index,
                        layer->inputs, layer->units, layer->outputs);
    if (layer->cell == EG__LTC && (!layer->unfolds || layer->projection || layer->backbone_count))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "layer %zu: an LTC needs unfolds >= 1, and has no projection or "
                        "backbone",
                        index);
    if (!(layer->dropout >= 0 && layer->dropout < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "layer %zu: dropout %g is not within [0, 1)", index,
                        layer->dropout);
    if (layer->mode == EG__CFC_PURE && layer->keras)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "layer %zu: mode 'pure' is not available in the keras flavour", index);
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

eg_status eg__layer_complete(eg_model *model, eg__layer *layer, eg_error *error) {
    eg__layer_measure(layer);
    return check_layer(layer, (size_t)(layer - model->layers), error);
}

/* ---- memory */
static uint64_t count_values(const eg_model *model) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->parameter_count; i++)
        if (!model->parameters[i].is_mask) count += eg__parameter_size(&model->parameters[i]);
    return count;
}

eg_status eg__model_check_most(const eg_model *model, uint64_t most, eg_error *error) {
    const uint64_t count = count_values(model);
    if (count <= most) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT,
                    "the architecture has %llu values, but the file can hold at "
                    "most %llu",
                    (unsigned long long)count, (unsigned long long)most);
}

eg_status eg__model_check_memory(const eg_model *model, bool runs, eg_error *error) {
    const double gib = 1 << 30;
    const uint64_t count = count_values(model);
    uint64_t bytes = (model->value_count + (runs ? count : 0)) * sizeof(float);
    for (size_t i = 0; i < model->layer_count; i++)
        bytes += eg__layer_bytes(&model->layers[i], runs);
    eg_memory_pool_figures pool;
    eg__memory_pool_figures_get(model->memory, &pool);
    const uint64_t left = eg__memory_left(model->memory);
    if (bytes > left)
        return eg__fail(
            error, EG_ERR_BUDGET,
            "a model of %llu parameters needs at least %.1f GiB of memory, and %.1f of the "
            "%.1f GiB that may be used are left: ask for a smaller one",
            (unsigned long long)count, (double)bytes / gib, (double)left / gib,
            (double)pool.budget / gib);
    if (runs && !model->outline && (double)bytes > 2 * gib)
        eg__log_write(&model->context->log, EG_LOG_WARNING,
                      "a model of %llu parameters needs at least %.1f GiB of memory, and some time",
                      (unsigned long long)count, (double)bytes / gib);
    return EG_OK;
}

/* ---- completion */
static eg_status list_layers(eg_model *model, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < model->layer_count; i++) {
        eg__layer *layer = &model->layers[i];
        status = eg__layer_complete(model, layer, error);
        if (!status && i && layer->inputs != eg__layer_width(layer - 1))
            status = eg__fail(error, EG_ERR_ARGUMENT,
                              "layer %zu takes %u inputs, but layer %zu gives %u", i, layer->inputs,
                              i - 1, eg__layer_width(layer - 1));
        for (int way = 0; !status && way <= (layer->merge != EG__ONE_WAY); way++) {
            char prefix[32];
            eg__layer_prefix(model, i, way, prefix);
            eg__layer_list(model, i, prefix, &status, error);
        }
    }
    return status;
}

/* All sizes are computed before anything is drawn or allocated. */
eg_status eg__model_complete(eg_model *model, uint64_t most, bool runs, eg_error *error) {
    if (!model->layer_count) return eg__fail(error, EG_ERR_ARGUMENT, "the model has no layers");
    eg_status status = list_layers(model, error);
    if (!status) status = eg__model_check_most(model, most, error);
    if (!status) status = eg__model_check_memory(model, runs, error);
    for (size_t i = 0; !status && i < model->layer_count; i++)
        status = eg__layer_wire(model, &model->layers[i], error);
    return status;
}

eg_status eg__model_fill(eg_model *model, eg_error *error) {
    eg_status status = EG_OK;
    model->values = take(model, model->value_count + 1, sizeof *model->values, &status, error);
    return status;
}

eg_status eg__model_keep_spec(eg_model *model, const char *spec, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    model->spec = eg__memory_take_text(model->memory, EG_TAG_WEIGHTS, spec, strlen(spec), &reason);
    return model->spec ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

eg_status eg__model_check_values(const eg_model *model, eg_error *error) {
    if (!model->outline) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT,
                    "'%.100s' is an outline without values: open it with eg_model_open",
                    model->spec ? model->spec : "the model");
}

/* ---- questions */
const eg__parameter *eg__model_parameter(const eg_model *model, const char *name) {
    for (size_t i = 0; i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0) return &model->parameters[i];
    return NULL;
}

static void transformer_info(const eg_model *model, eg_model_info *out) {
    const eg__transformer *t = model->transformer;
    const bool encodes = !eg__transformer_traits(t)->logits;
    *out = (eg_model_info){.kind = encodes ? EG_MODEL_ENCODER : EG_MODEL_DECODER,
                           .inputs = 1,
                           .outputs = encodes ? t->width : t->vocabulary,
                           .layers = t->layers};
    out->parameters = count_values(model);
}

static void network_info(const eg_model *model, eg_model_info *out) {
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
    out->parameters = count_values(model);
}

void eg_model_info_get(const eg_model *model, eg_model_info *out) {
    eg_model_info info;
    if (model->transformer) transformer_info(model, &info);
    else network_info(model, &info);
    EG__INFO(eg_model_info, out, &info);
}

size_t eg_model_count(const eg_model *model) { return model->parameter_count; }

const char *eg_model_shape(const eg_model *model, size_t index, eg_tensor *out, int *is_trainable) {
    if (index >= model->parameter_count) return NULL;
    const eg__parameter *p = &model->parameters[index];
    if (out) *out = (eg_tensor){EG_F32, p->rank, {p->shape[0], p->shape[1]}, NULL};
    if (is_trainable) *is_trainable = !p->is_mask;
    return p->name;
}

double eg_model_least(const eg_model *model, size_t index) {
    return index < model->parameter_count ? (double)model->parameters[index].least : -INFINITY;
}

const char *eg_model_tensor(const eg_model *model, size_t index, eg_tensor *out,
                            int *is_trainable) {
    const char *name = eg_model_shape(model, index, out, is_trainable);
    if (!name || !out) return name;
    const eg__parameter *p = &model->parameters[index];
    if (p->file.data || eg__parameter_own(model, p, NULL)) return name;
    /* values that were written must not be reloaded from the file */
    __atomic_store_n(&((eg_model *)(uintptr_t)model)->values_exposed, true, __ATOMIC_RELAXED);
    out->data = eg__parameter_values(model, p);
    return name;
}

/* What is copied from the model's file need not stay in memory as well, unless somebody has changed it there. */
static void copy_numbers(const eg_model *model, const void *from, size_t bytes, void *to) {
    if (model->backing_copy && !__atomic_load_n(&model->values_exposed, __ATOMIC_RELAXED))
        model->backing_copy(model->backing, from, bytes, to);
    else if (bytes) memcpy(to, from, bytes);
}

static eg_status copy_scales(const eg_model *model, const eg__parameter *p, const eg__leaf *leaf,
                             char *to, eg_error *error) {
    const eg__quantized_parameter *into = &leaf->quantized;
    const eg_status status = eg__leaf_check_quantized(leaf, &p->quantized, error);
    if (status) return status;
    copy_numbers(model, p->quantized.scale, into->scales * sizeof *p->quantized.scale,
                 to + into->layout.scale);
    if (into->has_zeros)
        copy_numbers(model, p->quantized.zero, into->scales, to + into->layout.zero);
    return EG_OK;
}

/* Whole bytes, and the scales with the first of them. */
static eg_status copy_small(const eg_model *model, const eg__parameter *p, const eg__leaf *leaf,
                            size_t first, size_t count, void *to, eg_error *error) {
    const size_t bits = eg_type_bits(p->quantized.values.type);
    const size_t bytes = eg__ceil_div(count * bits, 8);
    const char *from = (const char *)p->quantized.values.data + first * bits / 8;
    const eg_status status = first ? EG_OK : copy_scales(model, p, leaf, to, error);
    if (status) return status;
    copy_numbers(model, from, bytes, to);
    return EG_OK;
}

/* Copies part of the values of one parameter, in the form that a program needs. */
static void copy_values(const eg_model *model, const eg__parameter *p, bool masked, size_t first,
                        size_t count, float *to) {
    const eg__mask mask = eg__parameter_mask(model, p);
    const float *values = eg__parameter_values(model, p);
    copy_numbers(model, values + first, count * sizeof *to, to);
    for (size_t i = 0; masked && mask.bits && i < count; i++)
        if (!eg__mask_has(&mask, first + i)) to[i] = 0;
}

static eg_status fill(void *user, const eg__leaf *leaf, size_t first, size_t count, void *to,
                      eg_error *error) {
    const eg_model *model = user;
    const eg__parameter *p = eg__model_parameter(model, leaf->name);
    const eg_status status = eg__model_check_values(model, error);
    if (status) return status;
    if (!p) return EG_OK; /* parameters that the model lacks are zero */
    if (eg__parameter_is_quantized(p)) return copy_small(model, p, leaf, first, count, to, error);
    if (p->file.data) /* pieces are whole rows, hence whole blocks */
        eg__infile_widen(model->context->kernels.row[eg__infile_widen_operation(p->file.format)]
                             ->function.f16_to_f32,
                         p->file.format, count,
                         (const char *)p->file.data + eg__infile_bytes(p->file.format, first), to);
    else copy_values(model, p, leaf->masked, first, count, to);
    return EG_OK;
}

eg_status eg_model_weights(const eg_model *model, eg_weights *weights, eg_error *error) {
    eg_status status = eg__model_check_values(model, error);
    if (!status) status = eg_weights_begin(weights, 1, error);
    if (status) return status;
    const eg__leaves *leaves = &weights->program->parameters;
    for (size_t i = 0; i < leaves->count && !status; i++)
        if (eg__model_parameter(model, leaves->list[i].name))
            status = fill((void *)(uintptr_t)model, &leaves->list[i], 0, leaves->list[i].elements,
                          weights->data + leaves->list[i].offset, error);
    eg_weights_end(weights);
    return status;
}

eg__lender eg__model_lender(const eg_model *model) {
    return (eg__lender){fill, (void *)(uintptr_t)model};
}

eg_status eg_model_lend(const eg_model *model, eg_program *program, eg_weights **out,
                        eg_error *error) {
    if (!model || !program || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no model, program or output pointer");
    const eg__lender lender = eg__model_lender(model);
    *out = NULL;
    const eg_status status = eg__model_check_values(model, error);
    if (status) return status;
    return eg__weights_lend(program, &lender, out, error);
}
