/* A quantized model. */
#include "nn/model.h"

#include <string.h>

const eg_quantized *eg_model_quantized(const eg_model *model, size_t index) {
    if (index >= model->parameter_count) return NULL;
    const eg__parameter *p = &model->parameters[index];
    return eg__parameter_is_quantized(p) ? &p->quantized : NULL;
}

eg_status eg__parameter_widen(const eg_model *model, const eg__parameter *p, float *out,
                              eg_error *error) {
    eg_tensor to = {EG_F32, p->rank, {p->shape[0], p->shape[1]}, out};
    return eg_dequantize(model->context, &p->quantized, &to, error);
}

void eg__parameter_quantized_drop(eg_model *model, eg__parameter *p) {
    if (p->borrowed) memset(&p->quantized, 0, sizeof p->quantized);
    else eg_quantized_release(model->context, &p->quantized);
    p->borrowed = false;
}

eg_status eg__parameter_shrink(eg_model *model, eg__parameter *p,
                               const eg_quantization *quantization, eg_error *error) {
    if (p->is_mask)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is a mask, which cannot be quantized",
                        p->name);
    eg__parameter_quantized_drop(model, p);
    p->borrowed = true;
    return eg__quantized_like(p->rank, p->shape, quantization, &p->quantized, error);
}

/* ---- which parameters */
static eg_status check_keep(const eg_model *model, const eg_model_quantization *quantization,
                            eg_error *error) {
    for (size_t k = 0; k < quantization->keep_count; k++) {
        bool found = false;
        for (size_t i = 0; i < model->parameter_count; i++)
            found = found || strstr(model->parameters[i].name, quantization->keep[k]);
        if (!found)
            return eg__fail(error, EG_ERR_NOT_FOUND, "no tensor has '%.100s' in its name",
                            quantization->keep[k]);
    }
    return EG_OK;
}

static bool is_wanted(const eg__parameter *p, const eg_model_quantization *quantization) {
    const bool half =
        quantization->quantization.type == EG_F16 || quantization->quantization.type == EG_BF16;
    if (p->is_mask || (!half && p->rank < 2)) return false;
    for (size_t k = 0; k < quantization->keep_count; k++)
        if (strstr(p->name, quantization->keep[k])) return false;
    return true;
}

/* ---- one tensor, into `out` */
static eg_status quantize_one(eg_model *model, const eg__parameter *p,
                              const eg_quantization *quantization, eg_quantized *out,
                              eg_error *error) {
    eg_tensor wide;
    eg_status status = eg_tensor_create(model->context, EG_F32, p->rank, p->shape, &wide, error);
    if (status) return status;
    const eg__mask mask = eg__parameter_mask(model, p);
    float *values = wide.data;
    eg__parameter_floats(model, p, values);
    for (size_t i = 0; mask.bits && i < eg__parameter_size(p); i++)
        if (!eg__mask_has(&mask, i)) values[i] = 0;
    status = eg_quantize(model->context, &wide, quantization, out, error);
    if (!status && out->odd)
        status = eg__fail(error, EG_ERR_ARGUMENT, "'%s' has %llu values that are not finite",
                          p->name, (unsigned long long)out->odd);
    eg_tensor_release(model->context, &wide);
    return status;
}

static void adopt(eg_model *model, eg_quantized *all) {
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg__parameter *p = &model->parameters[i];
        eg__parameter_quantized_drop(model, p);
        if (!all[i].values.data) continue;
        p->quantized = all[i];
        memset(&all[i], 0, sizeof all[i]);
        p->view = NULL; /* the file still has the old values */
        float *values = eg__parameter_values(model, p);
        if (values) eg__parameter_widen(model, p, values, NULL);
    }
}

eg_status eg_model_quantize(eg_model *model, const eg_model_quantization *quantization,
                            eg_error *error) {
    if (!model || !quantization)
        return eg__fail(error, EG_ERR_ARGUMENT, "no model or no quantization");
    eg_status status = eg_quantization_check(&quantization->quantization, error);
    if (!status) status = check_keep(model, quantization, error);
    if (!status) status = eg_model_widen(model, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_quantized *all = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS,
                                              model->parameter_count + 1, sizeof *all, &reason);
    if (!all) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; !status && i < model->parameter_count; i++)
        if (is_wanted(&model->parameters[i], quantization))
            status = quantize_one(model, &model->parameters[i], &quantization->quantization,
                                  &all[i], error);
    for (size_t i = 0; !status && i < model->parameter_count; i++) /* become f32 again */
        if (eg__parameter_is_quantized(&model->parameters[i]) && !all[i].values.data)
            status = eg__parameter_own(model, &model->parameters[i], error);
    if (!status) adopt(model, all);
    for (size_t i = 0; i < model->parameter_count; i++)
        eg_quantized_release(model->context, &all[i]);
    eg__memory_give(model->memory, all);
    return status;
}
