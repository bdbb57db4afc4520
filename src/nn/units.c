/* Units (normalization) of a model's inputs and outputs. */
#include "nn/model.h"

#include <math.h>
#include <string.h>

typedef struct part { /* means and scales of one side */
    const float *mean, *scale;
    size_t count;
    const char *name;
} part;

static eg_status check(const part *p, eg_error *error) {
    if (!p->mean != !p->scale)
        return eg__fail(error, EG_ERR_ARGUMENT, "units of %ss: both mean and scale are needed",
                        p->name);
    for (size_t i = 0; p->mean && i < p->count; i++)
        if (!isfinite(p->mean[i]) || !isfinite(p->scale[i]) || p->scale[i] <= 0)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "units of %s %zu: mean %g or scale %g is not a finite number, "
                            "or the scale is not above 0",
                            p->name, i, (double)p->mean[i], (double)p->scale[i]);
    return EG_OK;
}

static const float *copy(float **to, const float *from, size_t count) {
    if (!from) return NULL;
    const float *kept = memcpy(*to, from, count * sizeof *from);
    *to += count;
    return kept;
}

eg_status eg_model_scaling_set(eg_model *model, const eg_scaling *units, eg_error *error) {
    if (!model || !units) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no units");
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const size_t inputs = (size_t)info.inputs, outputs = (size_t)info.outputs;
    const part in = {units->input_mean, units->input_scale, inputs, "input"};
    const part out = {units->output_mean, units->output_scale, outputs, "output"};
    eg_status status = check(&in, error);
    if (!status) status = check(&out, error);
    if (!status && !(units->time >= 0 && isfinite(units->time)))
        status = eg__fail(error, EG_ERR_ARGUMENT, "the unit of time %g is not a finite number > 0",
                          (double)units->time);
    if (!status && out.mean && model->link != EG_LINK_IDENTITY)
        status = eg__fail(error, EG_ERR_ARGUMENT,
                          "outputs that are probabilities (link '%s') cannot have units",
                          eg_link_name(model->link));
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *values = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, 2 * (inputs + outputs),
                                          sizeof *values, &reason);
    if (!values) return eg__fail(error, reason.status, "%s", reason.message);
    float *to = values;
    model->units = (eg_scaling){.input_mean = copy(&to, in.mean, inputs),
                                .input_scale = copy(&to, in.scale, inputs),
                                .output_mean = copy(&to, out.mean, outputs),
                                .output_scale = copy(&to, out.scale, outputs),
                                .time = units->time};
    eg__memory_give(model->memory, model->unit_values); /* last: they may be the ones given */
    model->unit_values = values;
    return EG_OK;
}

/* For a model without training notes, only the unit of time is known. */
float eg_model_timespan(const eg_model *model) {
    const char *text = eg_model_note(model, EG__NOTE_SPAN, 0);
    double span;
    if (text && eg_number_parse(text, strlen(text), &span, NULL) == EG_OK && (float)span > 0 &&
        isfinite((float)span))
        return (float)span;
    return model->units.time > 0 ? model->units.time : 1;
}

void eg_model_scaling_get(const eg_model *model, eg_scaling *out) { *out = model->units; }

/* ---- in graphs */
static eg_node row(eg_graph *g, const float *values, size_t count) {
    return eg_constant(g, &(eg_tensor){EG_F32, 1, {count}, (void *)(uintptr_t)values});
}

eg_node eg__units_input(const eg_model *model, eg_graph *g, eg_node x) {
    const size_t count = model->layers[0].inputs;
    if (!model->units.input_mean) return x;
    return eg_div(g, eg_sub(g, x, row(g, model->units.input_mean, count)),
                  row(g, model->units.input_scale, count));
}

eg_node eg__units_span(const eg_model *model, eg_graph *g, eg_node span) {
    if (!span.id || !(model->units.time > 0)) return span;
    return eg_div(g, span, eg_scalar(g, (double)model->units.time));
}

double eg__units_step(const eg_model *model) {
    return model->units.time > 0 ? (double)eg_model_timespan(model) / (double)model->units.time
                                 : (double)eg_model_timespan(model);
}

eg_node eg__units_output(const eg_model *model, eg_graph *g, eg_node y) {
    const size_t count = eg__layer_width(&model->layers[model->layer_count - 1]);
    if (!model->units.output_mean) return y;
    return eg_add(g, eg_mul(g, y, row(g, model->units.output_scale, count)),
                  row(g, model->units.output_mean, count));
}
