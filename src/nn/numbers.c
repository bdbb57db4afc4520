/* Where the parameters of a model are stored: in memory, or in a file that it keeps open. */
#include "base/abi.h"
#include "nn/transformer.h"

#include <string.h>

void eg__parameter_floats(const eg_model *model, const eg__parameter *p, float *out) {
    const size_t count = eg__parameter_size(p);
    const eg__kernels *kernels = &model->context->kernels;
    const float *values = eg__parameter_values(model, p);
    if (p->file.data)
        eg__infile_widen(
            kernels->row[eg__infile_widen_operation(p->file.format)]->function.f16_to_f32,
            p->file.format, count, p->file.data, out);
    else if (values) memcpy(out, values, count * sizeof *out);
    else if (p->is_mask) eg__mask_floats(model, p, out);
    else eg__parameter_widen(model, p, out, NULL);
}

eg_status eg__parameter_own(const eg_model *model, const eg__parameter *p, eg_error *error) {
    if (eg__parameter_values(model, p)) return EG_OK;
    const eg_status status = eg__model_check_values(model, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *own = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, eg__parameter_size(p),
                                       sizeof *own, &reason);
    if (!own) return eg__fail(error, reason.status, "%s", reason.message);
    if (eg__parameter_is_quantized(p)) eg__parameter_widen(model, p, own, NULL);
    else if (p->is_mask) eg__mask_floats(model, p, own);
    float *none = NULL; /* two threads may request it at once */
    if (!__atomic_compare_exchange_n(&((eg__parameter *)(uintptr_t)p)->own, &none, own, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        eg__memory_give(model->memory, own);
    return EG_OK;
}

const void *eg__parameter_in_file(const eg__parameter *p, eg__infile_format *out) {
    *out = p->file.format;
    if (p->file.data) return p->file.data;
    if (p->borrowed && eg__infile_format_of(&p->quantized.quantization, out))
        return p->quantized.values.data;
    *out = EG__INFILE_F32;
    return eg__parameter_is_quantized(p) || p->own ? NULL : p->view;
}

const char *eg_model_numbers(const eg_model *model, size_t index, uint64_t *bytes) {
    if (!model || index >= model->parameter_count) return NULL;
    const eg__parameter *p = &model->parameters[index];
    uint64_t size = eg__parameter_size(p) * sizeof(float);
    const char *name = eg_type_name(EG_F32);
    if (p->file.data) {
        size = eg__infile_bytes(p->file.format, eg__parameter_size(p));
        name = eg__infile_traits_of(p->file.format)->name;
    } else if (eg__parameter_is_quantized(p)) {
        size = eg_quantized_bytes(&p->quantized);
        name = eg_type_name(p->quantized.quantization.type);
    }
    if (bytes) *bytes = size;
    return name;
}

eg_status eg_model_read(const eg_model *model, size_t index, float *out, eg_error *error) {
    if (!model || !out || index >= model->parameter_count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no tensor %zu, or no output pointer for it",
                        index);
    const eg_status status = eg__model_check_values(model, error);
    if (!status) eg__parameter_floats(model, &model->parameters[index], out);
    return status;
}

eg_status eg_model_widen(eg_model *model, eg_error *error) {
    if (!model) return eg__fail(error, EG_ERR_ARGUMENT, "no model");
    if (!model->close) return eg__model_check_values(model, error);
    eg_status status = model->values ? EG_OK : eg__model_fill(model, error);
    if (status) return status;
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg__parameter *p = &model->parameters[i];
        if (p->file.data) eg__parameter_floats(model, p, eg__parameter_values(model, p));
        p->file.data = NULL;
    }
    model->close(model->file);
    model->close = NULL;
    model->file = NULL;
    return EG_OK;
}

eg_status eg_model_bind(const eg_model *model, eg_instance *instance, eg_error *error) {
    if (!model || !instance) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no instance");
    const eg_program *program = eg__instance_program(instance);
    const char *name;
    eg_tensor like;
    for (size_t i = 0; (name = eg_program_leaf(program, EG_LEAF_INPUT, i, &like)); i++) {
        const eg__parameter *p = eg__model_parameter(model, name);
        eg__infile_format format;
        const void *data = p ? eg__parameter_in_file(p, &format) : NULL;
        if (!data) continue;
        like.data = (void *)(uintptr_t)data; /* inputs are only read */
        eg_status status = eg_instance_bind(instance, name, &like, error);
        if (status) return status;
    }
    return EG_OK;
}

eg__numbers eg__model_numbers(const eg_model *model, bool masks) {
    eg__numbers sum = {0};
    enum { KINDS = 16 }; /* more than there are names */
    struct {
        const char *name;
        uint64_t bytes;
    } kinds[KINDS] = {{NULL, 0}};
    uint64_t most = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        uint64_t bytes = 0;
        const char *name = eg_model_numbers(model, i, &bytes);
        size_t k = 0;
        if (model->parameters[i].is_mask && !masks) continue;
        while (k + 1 < KINDS && kinds[k].name && kinds[k].name != name) k++;
        kinds[k].name = name;
        kinds[k].bytes += bytes;
        sum.bytes += bytes;
        sum.count += eg__parameter_size(&model->parameters[i]);
        if (kinds[k].bytes > most) {
            most = kinds[k].bytes;
            sum.most = name;
        }
    }
    return sum;
}

eg_status eg_model_transformer(const eg_model *model, eg_transformer_info *out, eg_error *error) {
    if (!model || !out || !model->transformer)
        return eg__fail(error, EG_ERR_ARGUMENT, "not a transformer, but a liquid network");
    const eg__transformer *t = model->transformer;
    const uint32_t positions = eg__transformer_positions(t);
    eg_transformer_info info = {.family = eg__family_name(t->family),
                                .layers = t->layers,
                                .width = t->width,
                                .heads = t->heads,
                                .kv_heads = t->kv_heads,
                                .head = t->head,
                                .hidden = t->hidden,
                                .vocabulary = t->vocabulary,
                                .context = t->context,
                                .epsilon = t->epsilon,
                                .positions = eg__positions_name(positions),
                                .rope_base = positions == EG__POSITIONS_ROTARY ? t->rope_base : 0,
                                .tied = t->tied,
                                .pooling = t->pooling,
                                .row_width = eg__row_width(t),
                                .row_scaled = !t->rows_told};
    for (uint32_t i = 0; i < t->row_steps; i++) {
        if (t->row_step[i].outputs) info.row_dense++;
        info.row_scaled = !t->row_step[i].outputs;
    }
    const eg__numbers numbers = eg__model_numbers(model, true);
    info.bytes = numbers.bytes;
    info.numbers = numbers.most;
    EG__INFO(eg_transformer_info, out, &info);
    return EG_OK;
}
