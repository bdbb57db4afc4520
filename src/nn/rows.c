/* The embedding of a text: its tokens' rows pooled, then dense layers and L2 normalization, as the model has them. */
#include "nn/transformer.h"

#include <math.h>
#include <string.h>

const char *eg_pooling_name(eg_pooling pooling) {
    static const char *const names[] = {"mean", "first", "last", "max", "mean_sqrt", "weighted"};
    return (unsigned)pooling < sizeof names / sizeof *names ? names[pooling] : NULL;
}

const char *eg__row_activation_name(unsigned activation) {
    static const char *const names[] = {"none", "tanh", "relu", "gelu", "sigmoid", "silu"};
    return activation < EG__ROW_ACTIVATIONS ? names[activation] : NULL;
}

uint32_t eg__row_width(const eg__transformer *t) {
    uint32_t width = t->width;
    for (uint32_t i = 0; i < t->row_steps; i++)
        if (t->row_step[i].outputs) width = t->row_step[i].outputs;
    return width;
}

size_t eg__row_widest(const eg__transformer *t) {
    size_t widest = t->width;
    for (uint32_t i = 0; i < t->row_steps; i++) widest = eg__max(widest, t->row_step[i].outputs);
    return widest;
}

bool eg__parameter_is_of_rows(const eg__parameter *p) { return strncmp(p->name, "dense.", 6) == 0; }

eg_status eg__rows_take(const eg_model *model, float **out, eg_error *error) {
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < model->parameter_count; i++)
        if (eg__parameter_is_of_rows(&model->parameters[i]))
            count += eg__parameter_size(&model->parameters[i]);
    if (!count) return EG_OK;
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *all = eg__memory_take_array(model->memory, EG_TAG_WEIGHTS, count, sizeof *all, &reason);
    if (!all) return eg__fail(error, reason.status, "%s", reason.message);
    *out = all;
    for (size_t i = 0; i < model->parameter_count; i++) { /* they are listed in this order */
        const eg__parameter *p = &model->parameters[i];
        if (!eg__parameter_is_of_rows(p)) continue;
        eg__parameter_floats(model, p, all);
        all += eg__parameter_size(p);
    }
    return EG_OK;
}

/* ---- pooling */
static double largest(const float *y, size_t width, size_t count, size_t k) {
    float most = y[k];
    for (size_t i = 1; i < count; i++) most = y[i * width + k] > most ? y[i * width + k] : most;
    return (double)most;
}

static double pooled(eg_pooling how, const float *y, size_t width, size_t count, size_t k) {
    double sum = 0, weights = 0;
    if (how == EG_POOLING_FIRST) return (double)y[k];
    if (how == EG_POOLING_LAST) return (double)y[(count - 1) * width + k];
    if (how == EG_POOLING_MAX) return largest(y, width, count, k);
    for (size_t i = 0; i < count; i++) {
        const double weight = how == EG_POOLING_WEIGHTED ? (double)i + 1 : 1;
        sum += weight * (double)y[i * width + k];
        weights += weight;
    }
    return sum / (how == EG_POOLING_MEAN_SQRT ? sqrt(weights) : weights);
}

/* ---- after it */
static double activate(eg__row_activation how, double x) {
    switch (how) {
    case EG__ROW_TANH: return tanh(x);
    case EG__ROW_RELU: return x > 0 ? x : 0;
    case EG__ROW_GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case EG__ROW_SIGMOID: return 1 / (1 + exp(-x));
    case EG__ROW_SILU: return x / (1 + exp(-x));
    default: return x;
    }
}

/* Returns what lies behind this layer's values. */
static const float *apply(const eg__row_step *step, const float *w, const double *x, size_t inputs,
                          double *y) {
    const float *bias = w + (size_t)step->outputs * inputs;
    for (size_t o = 0; o < step->outputs; o++) {
        double sum = step->bias ? (double)bias[o] : 0;
        for (size_t i = 0; i < inputs; i++) sum += (double)w[o * inputs + i] * x[i];
        y[o] = activate(step->activation, sum);
    }
    return bias + (step->bias ? step->outputs : 0);
}

static void normalize(double *x, size_t width) {
    double square = 0;
    for (size_t k = 0; k < width; k++) square += x[k] * x[k];
    for (size_t k = 0; k < width && square > 0; k++) x[k] /= sqrt(square);
}

void eg__row_pool(const eg__transformer *t, eg_pooling pooling, int scaled, const float *dense,
                  const float *y, size_t count, double *room, float *row) {
    double *x = room, *next = room + eg__row_widest(t);
    size_t width = t->width;
    for (size_t k = 0; k < width; k++) x[k] = pooled(pooling, y, width, count, k);
    for (uint32_t i = 0; i < t->row_steps; i++) {
        const eg__row_step *step = &t->row_step[i];
        if (!step->outputs) {
            if (scaled >= 0) normalize(x, width);
            continue;
        }
        dense = apply(step, dense, x, width, next);
        double *other = x;
        x = next;
        next = other;
        width = step->outputs;
    }
    if (scaled > 0 || (!scaled && !t->rows_told)) normalize(x, width);
    for (size_t k = 0; k < width; k++) row[k] = (float)x[k];
}
