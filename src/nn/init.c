/* Initial values, as ncps draws them after torch.manual_seed: the same draws in the same order. */
#include "base/random.h"
#include "nn/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct drawing {
    const eg_model *model;
    const eg__layer *layer;
    const char *prefix;
    eg__mt mt;
} drawing;

static const eg__parameter *find(const drawing *d, const char *cell, const char *name,
                                 const char *part) {
    char full[4 * EG__NAME_MAX];
    snprintf(full, sizeof full, "%s%s%s%s%s%s", d->prefix, cell, cell[0] ? "." : "", name,
             part[0] ? "." : "", part);
    return eg__model_parameter(d->model, full);
}

static void uniform(drawing *d, const eg__parameter *p, double low, double high) {
    if (p)
        eg__torch_uniform(&d->mt, eg__parameter_size(p), eg__parameter_values(d->model, p), low,
                          high);
}

/* The constructor of torch's Linear: kaiming's rule with a = sqrt(5), then the bias. A weight that is
 * drawn again later only takes its draws. */
typedef enum later { STAYS, DRAWN_AGAIN } later;
static void linear(drawing *d, const char *cell, const char *name, later weights) {
    const eg__parameter *weight = find(d, cell, name, "weight"),
                        *bias = find(d, cell, name, "bias");
    if (!weight) return;
    const double inputs = (double)weight->shape[1];
    const double bound = sqrt(3.0) * (sqrt(2.0 / (1 + sqrt(5.0) * sqrt(5.0))) / sqrt(inputs));
    if (weights == DRAWN_AGAIN) eg__mt_skip(&d->mt, eg__parameter_size(weight));
    else uniform(d, weight, -bound, bound);
    uniform(d, bias, -1 / sqrt(inputs), 1 / sqrt(inputs));
}

static void xavier(drawing *d, const eg__parameter *p) {
    if (!p) return;
    const double bound = sqrt(3.0) * sqrt(2.0 / (double)(p->shape[0] + p->shape[1]));
    uniform(d, p, -bound, bound);
}

static void cfc_cell(drawing *d, const char *cell) {
    static const char *const heads[] = {"ff1", "ff2", "time_a", "time_b"};
    const unsigned head_count = d->layer->mode == EG__CFC_PURE ? 1 : 4;
    char names[EG__BACKBONE_MAX][24];
    const unsigned depth = d->layer->backbone_count;
    for (unsigned i = 0; i < depth; i++)
        snprintf(names[i], sizeof names[i], "backbone.%u", eg__backbone_index(d->layer, i));
    for (unsigned i = 0; i < depth; i++) linear(d, cell, names[i], DRAWN_AGAIN);
    for (unsigned i = 0; i < head_count; i++) linear(d, cell, heads[i], DRAWN_AGAIN);
    xavier(d, find(d, cell, "w_tau", ""));
    xavier(d, find(d, cell, "A", ""));
    for (unsigned i = 0; i < depth; i++) xavier(d, find(d, cell, names[i], "weight"));
    for (unsigned i = 0; i < head_count; i++) xavier(d, find(d, cell, heads[i], "weight"));
}

/* r (high - low) + low, rounded after each operation. */
static void ranged(drawing *d, const char *name, double low, double high) {
    const eg__parameter *p = find(d, "rnn_cell", name, "");
    float *values = eg__parameter_values(d->model, p);
    eg__torch_uniform(&d->mt, eg__parameter_size(p), values, 0, 1);
    for (size_t i = 0; i < eg__parameter_size(p); i++) {
        const float scaled = values[i] * (float)(high - low);
        values[i] = scaled + (float)low;
    }
}

static void constant(const drawing *d, const char *name, float value) {
    const eg__parameter *p = find(d, "rnn_cell", name, "");
    for (size_t i = 0; p && i < eg__parameter_size(p); i++)
        eg__parameter_values(d->model, p)[i] = value;
}

static void polarity(const drawing *d, const char *name, const int8_t *synapses) {
    const eg__parameter *p = find(d, "rnn_cell", name, "");
    for (size_t i = 0; i < eg__parameter_size(p); i++)
        eg__parameter_values(d->model, p)[i] = synapses[i];
}

static void ltc_cell(drawing *d) {
    ranged(d, "gleak", 0.001, 1.0);
    ranged(d, "vleak", -0.2, 0.2);
    ranged(d, "cm", 0.4, 0.6);
    ranged(d, "sigma", 3, 8);
    ranged(d, "mu", 0.3, 0.8);
    ranged(d, "w", 0.001, 1.0);
    ranged(d, "sensory_sigma", 3, 8);
    ranged(d, "sensory_mu", 0.3, 0.8);
    ranged(d, "sensory_w", 0.001, 1.0);
    polarity(d, "erev", d->layer->wiring->adjacency);
    polarity(d, "sensory_erev", d->layer->wiring->sensory);
    constant(d, "input_w", 1);
    constant(d, "output_w", 1);
}

/* Subtracts from the columns `first` to `end` what they have in common with column c; all of a row at once, which lies in
 * one piece. */
static void subtract_column(float *q, size_t rows, size_t columns, size_t c, size_t first,
                            size_t end) {
    enum { MANY = 256 };
    double dots[MANY];
    for (size_t from = first; from < end; from += MANY) {
        const size_t count = eg__min(MANY, end - from);
        memset(dots, 0, sizeof dots);
        for (size_t r = 0; r < rows; r++) {
            const double x = q[r * columns + c];
            const float *row = q + r * columns + from;
            for (size_t k = 0; k < count; k++) dots[k] += x * (double)row[k];
        }
        for (size_t r = 0; r < rows; r++) {
            const double x = q[r * columns + c];
            float *row = q + r * columns + from;
            for (size_t k = 0; k < count; k++) row[k] = (float)((double)row[k] - dots[k] * x);
        }
    }
}

/* Orthonormal columns from normal draws (Gram-Schmidt). torch uses LAPACK's QR, so only the number
 * of draws is the same. */
static void orthogonal(drawing *d, const eg__parameter *p) {
    const size_t rows = (size_t)p->shape[0], columns = (size_t)p->shape[1];
    float *q = eg__parameter_values(d->model, p);
    eg__mt own = d->mt;
    eg__mt_skip(&d->mt, eg__torch_normal_draws(rows * columns));
    for (size_t i = 0; i < rows * columns; i++)
        q[i] = (float)(sqrt(-2 * log(1 - eg__mt_sample(&own))) *
                       cos(6.28318530717958647692 * eg__mt_sample(&own)));
    for (size_t c = 0; c < columns; c++) {
        double square = 0;
        for (size_t r = 0; r < rows; r++) {
            const double x = q[r * columns + c];
            square += x * x;
        }
        const double length = sqrt(square);
        for (size_t r = 0; r < rows; r++) q[r * columns + c] = (float)(q[r * columns + c] / length);
        subtract_column(q, rows, columns, c, c + 1, columns);
    }
}

static void memory_cell(drawing *d) {
    const eg__parameter *recurrent = find(d, "lstm", "recurrent_map", "weight");
    linear(d, "lstm", "input_map", DRAWN_AGAIN);
    linear(d, "lstm", "recurrent_map", DRAWN_AGAIN);
    xavier(d, find(d, "lstm", "input_map", "weight"));
    uniform(d, find(d, "lstm", "input_map", "bias"), -0.1, 0.1);
    orthogonal(d, recurrent);
}

static void layer_draw(drawing *d) {
    if (d->layer->cell == EG__LTC) ltc_cell(d);
    else if (!d->layer->wired_count) cfc_cell(d, "rnn_cell");
    for (unsigned i = 0; d->layer->cell == EG__CFC && i < d->layer->wired_count; i++) {
        char cell[32];
        snprintf(cell, sizeof cell, "rnn_cell.layer_%u", i);
        cfc_cell(d, cell);
    }
    if (d->layer->mixed) memory_cell(d);
    if (d->layer->projection) linear(d, "", "fc", STAYS);
}

eg_status eg__model_initialise(eg_model *model, uint64_t seed, eg_error *error) {
    model->values_exposed = true;
    if (seed > UINT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "seed %llu is above 4294967295",
                        (unsigned long long)seed);
    drawing d = {.model = model};
    eg__mt_seed(&d.mt, (uint32_t)seed);
    for (size_t i = 0; i < model->layer_count; i++) {
        d.layer = &model->layers[i];
        const int ways = d.layer->merge == EG__ONE_WAY ? 1 : 2;
        for (int way = 0; way < ways; way++) {
            char prefix[32];
            eg__layer_prefix(model, i, way, prefix);
            d.prefix = prefix;
            layer_draw(&d);
        }
    }
    return EG_OK;
}
