/* Fills batches: copies a window to its sample, normalized to the model's units. */
#include "train/data.h"

#include <string.h>

enum { LANES = 8 }; /* a loop of constant length is vectorized at every optimization level */

/* (x - mean) / scale, or 0, the mean, where there is no value. */
static inline float standard(float value, float mean, float scale) {
    const float units = (value - mean) / scale;
    return units == units ? units : 0;
}

static void to_standard(float *restrict to, const float *restrict from, uint64_t count,
                        const float *restrict mean, const float *restrict scale) {
    uint64_t i = 0;
    for (; count - i >= LANES; i += LANES)
        for (uint64_t k = i; k < i + LANES; k++) to[k] = standard(from[k], mean[k], scale[k]);
    for (; i < count; i++) to[i] = standard(from[i], mean[i], scale[i]);
}

static void as_they_are(float *to, const float *from, uint64_t count, const float *mean) {
    for (uint64_t i = 0; i < count; i++) to[i] = from[i] == from[i] ? from[i] : mean[i];
}

static void fill_inputs(const eg__store *s, const eg_scaling *u, eg__window w, uint64_t batch,
                        uint64_t time, float *x) {
    const float *mean = u && u->input_mean && u->input_scale ? u->input_mean : NULL;
    const float *from = s->x + w.first * s->inputs;
    const uint64_t next = batch * s->inputs; /* time-major: samples are interleaved between steps */
    for (uint64_t t = 0; t < w.length; t++, from += s->inputs, x += next)
        if (mean) to_standard(x, from, s->inputs, mean, u->input_scale);
        else as_they_are(x, from, s->inputs, u && u->input_mean ? u->input_mean : s->mean);
    for (uint64_t t = w.length; t < time; t++, x += next)
        memset(x, 0, (size_t)s->inputs * sizeof *x);
}

static void fill_spans(const eg__store *s, const eg_scaling *u, eg__window w, uint64_t batch,
                       uint64_t time, float *timespans) {
    const float unit = u && u->time > 0 ? u->time : 1;
    for (uint64_t t = 0; t < w.length; t++)
        timespans[t * batch] = (s->timespans ? s->timespans[w.first + t] : 1) / unit;
    /* 1 after the end, not 0: some cells divide by it, and NaN times weight 0 is still NaN */
    for (uint64_t t = w.length; t < time; t++) timespans[t * batch] = 1;
}

/* The targets of a row, each with its weight: 0 for a missing target. */
static void fill_row(const eg__store *s, const eg_scaling *u, uint64_t row, uint64_t size,
                     float *to, float *weights) {
    const bool standard = u && u->output_mean && u->output_scale && !s->classes;
    const float *from = s->y + row * s->targets;
    for (uint64_t i = 0; i < size; i++) {
        const bool there = i < s->targets && from[i] == from[i];
        float value = there ? from[i] : 0;
        if (standard && there) value = (value - u->output_mean[i]) / u->output_scale[i];
        if (to) to[i] = value;
        if (weights) weights[i] = there ? 1 : 0;
    }
}

static void fill_targets(const eg__store *s, const eg_scaling *u, eg__window w, uint64_t batch,
                         uint64_t steps, uint64_t sample, const eg_train_batch *out) {
    const uint64_t size = out->target_size;
    for (uint64_t t = 0; t < steps; t++) {
        const uint64_t at = (t * batch + sample) * size;
        float *target = out->target ? out->target + at : NULL;
        float *weights = out->weight ? out->weight + at : NULL;
        if (t < w.length) {
            fill_row(s, u, w.first + t, size, target, weights);
            continue;
        }
        if (target) memset(target, 0, (size_t)size * sizeof *target);
        if (weights) memset(weights, 0, (size_t)size * sizeof *weights);
    }
}

void eg_data_fill(const eg_data *data, const eg_scaling *units, uint64_t window, uint64_t batch,
                  uint64_t time, uint64_t sample, const eg_train_batch *out) {
    if (!data || !out || sample >= batch) return;
    const eg__store *s = data->store;
    eg__window w = window < data->count ? data->windows[window] : (eg__window){0, 0};
    if (w.length > time) w.length = time;
    if (out->x) fill_inputs(s, units, w, batch, time, out->x + sample * s->inputs);
    if (out->timespans) fill_spans(s, units, w, batch, time, out->timespans + sample);
    if (out->lengths) out->lengths[sample] = (float)w.length;
    if (!s->last) {
        fill_targets(s, units, w, batch, time, sample, out);
        return;
    }
    const eg__window end = w.length ? (eg__window){w.first + w.length - 1, 1} : w;
    fill_targets(s, units, end, batch, 1, sample, out);
}
