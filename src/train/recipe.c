/* What lies between data and a training: a spec that they complete, and the units of a fresh model. */
#include "elegans/fit.h"
#include "nn/model.h"
#include "train/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a spec for some data */
/* "cfc:8,in=3" has "in" */
static bool has_key(const char *spec, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = spec; (at = strstr(at, key)); at += length)
        if (at > spec && at[-1] == ',' && at[length] == '=') return true;
    return false;
}

typedef struct completion {
    const char *spec;
    uint64_t inputs, outputs, seed;
    uint64_t projection; /* 0 = none */
} completion;

/* Keys of the first layer are before the first slash, those of the last at the end. */
static eg_status write_spec(const completion *c, char *text, size_t room, eg_error *error) {
    const char *slash = strchr(c->spec, '/');
    const int head = slash ? (int)(slash - c->spec) : (int)strlen(c->spec);
    char in[40] = "", seed[40] = "", projection[40] = "";
    if (!has_key(c->spec, "in")) snprintf(in, sizeof in, ",in=%llu", (unsigned long long)c->inputs);
    if (!has_key(c->spec, "seed") && c->seed)
        snprintf(seed, sizeof seed, ",seed=%llu", (unsigned long long)c->seed);
    if (c->projection)
        snprintf(projection, sizeof projection, ",proj=%llu", (unsigned long long)c->projection);
    const int length = snprintf(text, room, "%.*s%s%s%s%s", head, c->spec, in, seed,
                                slash ? slash : "", projection);
    if (length < 0 || (size_t)length >= room)
        return eg__fail(error, EG_ERR_ARGUMENT, "the spec '%.40s...' is too long", c->spec);
    return EG_OK;
}

/* Whether a linear map behind the last layer would give the outputs that are wanted. */
static bool takes_projection(const completion *c, const eg_model *model,
                             const eg_model_info *info) {
    eg_layer_info last = {.size = sizeof last};
    return info->outputs != c->outputs && !has_key(c->spec, "proj") &&
           !eg_model_layer(model, (size_t)info->layers - 1, &last, NULL) &&
           strcmp(last.cell, "cfc") == 0 && !last.merge;
}

static eg_status outline(eg_context *context, const completion *c, char *text, size_t room,
                         eg_model **out, eg_model_info *info, eg_error *error) {
    eg_error reason = {0};
    eg_status status = write_spec(c, text, room, error);
    if (status) return status;
    status = eg_model_outline(context, text, out, &reason);
    if (status) return eg__fail(error, status, "%s: %s", text, reason.message);
    eg_model_info_get(*out, info);
    if (info->kind != EG_MODEL_LIQUID)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "%s is a transformer, and tables train liquid networks", text);
    return EG_OK;
}

eg_status eg_fit_spec(eg_context *context, const char *spec, const eg_data *data, uint64_t seed,
                      char *text, size_t room, eg_model **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !spec || !data || !text)
        return eg__fail(error, EG_ERR_ARGUMENT, "fit: no context, spec, data or text");
    eg_data_info d = {.size = sizeof d};
    eg_model_info info = {.size = sizeof info};
    eg_model *model = NULL;
    eg_data_info_get(data, &d);
    completion c = {spec, d.inputs, d.classes ? d.classes : d.targets, seed, 0};
    eg_status status = outline(context, &c, text, room, &model, &info, error);
    if (!status && takes_projection(&c, model, &info)) {
        c.projection = c.outputs;
        eg_model_destroy(model);
        model = NULL;
        status = outline(context, &c, text, room, &model, &info, error);
    }
    if (!status && (info.inputs != d.inputs || info.outputs != c.outputs))
        status = eg__fail(error, EG_ERR_ARGUMENT,
                          "%s has %llu inputs and %llu outputs, the data have %llu and %llu", text,
                          (unsigned long long)info.inputs, (unsigned long long)info.outputs,
                          (unsigned long long)d.inputs, (unsigned long long)c.outputs);
    if (!status && out) *out = model;
    else eg_model_destroy(model);
    return status;
}

/* ---- units */
const char *eg_standardize_name(eg_standardize which) {
    static const char *const names[] = {"both", "inputs", "targets", "none"};
    return (unsigned)which < 4 ? names[which] : NULL;
}

eg_status eg_fit_units(eg_model *model, const eg_data *data, eg_loss loss, eg_standardize which,
                       double time_unit, eg_error *error) {
    if (!model || !data) return eg__fail(error, EG_ERR_ARGUMENT, "units: no model or no data");
    if (!eg_standardize_name(which) || !eg_loss_name(loss))
        return eg__fail(error, EG_ERR_ARGUMENT, "units: unknown choice %d or loss %d", (int)which,
                        (int)loss);
    if (!(time_unit >= 0) || !isfinite((float)time_unit))
        return eg__fail(error, EG_ERR_ARGUMENT, "a unit of time of %g", time_unit);
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    const bool inputs = which == EG_STANDARDIZE_BOTH || which == EG_STANDARDIZE_INPUTS;
    const bool targets = (which == EG_STANDARDIZE_BOTH || which == EG_STANDARDIZE_TARGETS) &&
                         loss != EG_LOSS_CLASSES && loss != EG_LOSS_BINARY;
    eg_status status = EG_OK;
    float unit = 1, *const m = eg__data_take(model->memory, 2 * (size_t)(d.inputs + d.targets),
                                             sizeof *m, &status, error);
    if (status) return status;
    float *const in[] = {m, m + d.inputs};
    float *const out[] = {m + 2 * d.inputs, m + 2 * d.inputs + d.targets};
    status = eg_data_scaling(data, targets, in[0], in[1], out[0], out[1], &unit, error);
    if (time_unit > 0) unit = (float)time_unit;
    const eg_scaling units = {.input_mean = inputs ? in[0] : NULL,
                              .input_scale = inputs ? in[1] : NULL,
                              .output_mean = targets ? out[0] : NULL,
                              .output_scale = targets ? out[1] : NULL,
                              .time = d.timespans ? unit : 0};
    if (!status) status = eg_model_scaling_set(model, &units, error);
    eg__memory_give(model->memory, m);
    return status;
}
