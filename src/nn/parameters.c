/* The parameters of a layer: names, shapes and order as torch's state-dict has them. */
#include "nn/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

eg_status eg__parameter_add(eg_model *m, unsigned rank, uint64_t rows, uint64_t columns,
                            const char *name, bool is_mask, eg_error *error) {
    void *list = m->parameters;
    if (!eg__memory_grow(m->memory, EG_TAG_WEIGHTS, &list, m->parameter_count, &m->parameter_room,
                         1, sizeof *m->parameters))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for the list of parameters");
    m->parameters = list;
    eg__parameter *p = &m->parameters[m->parameter_count];
    *p = (eg__parameter){
        .rank = rank, .shape = {rows, columns}, .is_mask = is_mask, .least = -INFINITY};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->offset = m->value_count;
    if (!eg__size_add(m->value_count, is_mask ? 0 : eg__parameter_size(p), &m->value_count))
        return eg__fail(error, EG_ERR_OVERFLOW, "a model with too many parameters");
    m->parameter_count++;
    return EG_OK;
}

typedef struct listing {
    eg_model *model;
    size_t layer;
    const char *prefix;
    eg_status status;
    eg_error *error;
} listing;

static void add(listing *l, bool is_mask, unsigned rank, uint64_t rows, uint64_t columns,
                const char *format, ...) EG_PRINTF(6, 7);
static void add(listing *l, bool is_mask, unsigned rank, uint64_t rows, uint64_t columns,
                const char *format, ...) {
    char name[64], full[EG__NAME_MAX];
    if (l->status) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    snprintf(full, sizeof full, "%s%s", l->prefix, name);
    l->status = eg__parameter_add(l->model, rank, rows, columns, full, is_mask, l->error);
    if (!l->status) l->model->parameters[l->model->parameter_count - 1].layer = l->layer;
}

static void add_linear(listing *l, uint64_t outputs, uint64_t inputs, const char *name) {
    add(l, false, 2, outputs, inputs, "%s.weight", name);
    add(l, false, 1, outputs, 0, "%s.bias", name);
}

/* A cell of CfC with its backbone: `sources` are its inputs and its own units. */
static void add_cell(listing *l, const eg__layer *layer, const char *cell, uint64_t units,
                     uint64_t sources) {
    static const char *const heads[] = {"ff1", "ff2", "time_a", "time_b"};
    const bool pure = layer->mode == EG__CFC_PURE;
    uint64_t features = sources;
    char name[48];
    if (pure) {
        add(l, false, 2, 1, units, "%s.w_tau", cell);
        add(l, false, 2, 1, units, "%s.A", cell);
    }
    for (unsigned i = 0; i < layer->backbone_count; i++) {
        snprintf(name, sizeof name, "%s.backbone.%u", cell, eg__backbone_index(layer, i));
        add_linear(l, layer->backbone[i], features, name);
        features = layer->backbone[i];
    }
    for (unsigned i = 0; i < (pure ? 1u : 4u); i++) {
        snprintf(name, sizeof name, "%s.%s", cell, heads[i]);
        add_linear(l, units, features, name);
    }
}

static void add_cfc(listing *l, const eg__layer *layer) {
    if (!layer->wired_count)
        add_cell(l, layer, "rnn_cell", layer->units, (uint64_t)layer->inputs + layer->units);
    for (unsigned i = 0; i < layer->wired_count; i++) {
        const eg__wired *wired = &layer->wired[i];
        const uint64_t sources = (uint64_t)wired->inputs + wired->units;
        char cell[32];
        snprintf(cell, sizeof cell, "rnn_cell.layer_%u", i);
        add(l, true, 2, wired->units, sources, "%s.sparsity_mask", cell);
        add_cell(l, layer, cell, wired->units, sources);
    }
}

/* The last one is clamped to >= 0 after each optimizer step, as in ncps. */
static void keep_positive(listing *l) {
    if (!l->status) l->model->parameters[l->model->parameter_count - 1].least = 0;
}

/* Conductances and capacitances are positive: by softplus, unless constraints are explicit. */
static void add_ltc(listing *l, const eg__layer *layer) {
    static const struct {
        const char *name;
        bool is_positive;
    } vectors[] = {{"gleak", true}, {"vleak", false}, {"cm", true}},
      matrices[] = {{"sigma", false}, {"mu", false}, {"w", true}, {"erev", false}};
    const uint64_t n = layer->units, inputs = layer->inputs;
    const bool constrained = layer->explicit_constraints;
    for (unsigned i = 0; i < 3; i++) {
        add(l, false, 1, n, 0, "rnn_cell.%s", vectors[i].name);
        if (constrained && vectors[i].is_positive) keep_positive(l);
    }
    for (unsigned i = 0; i < 8; i++) {
        const bool sensory = i >= 4;
        add(l, false, 2, sensory ? inputs : n, n, "rnn_cell.%s%s", sensory ? "sensory_" : "",
            matrices[i % 4].name);
        if (constrained && matrices[i % 4].is_positive) keep_positive(l);
    }
    add(l, true, 2, n, n, "rnn_cell.sparsity_mask");
    add(l, true, 2, inputs, n, "rnn_cell.sensory_sparsity_mask");
    if (layer->input_map != EG__MAP_NONE) add(l, false, 1, inputs, 0, "rnn_cell.input_w");
    if (layer->input_map == EG__MAP_AFFINE) add(l, false, 1, inputs, 0, "rnn_cell.input_b");
    if (layer->output_map != EG__MAP_NONE) add(l, false, 1, layer->outputs, 0, "rnn_cell.output_w");
    if (layer->output_map == EG__MAP_AFFINE)
        add(l, false, 1, layer->outputs, 0, "rnn_cell.output_b");
}

void eg__layer_list(eg_model *model, size_t index, const char *prefix, eg_status *status,
                    eg_error *error) {
    const eg__layer *layer = &model->layers[index];
    listing l = {model, index, prefix, *status, error};
    if (layer->cell == EG__CFC) add_cfc(&l, layer);
    else add_ltc(&l, layer);
    if (layer->mixed) {
        add_linear(&l, 4 * (uint64_t)layer->units, layer->inputs, "lstm.input_map");
        add(&l, false, 2, 4 * (uint64_t)layer->units, layer->units, "lstm.recurrent_map.weight");
    }
    if (layer->projection) add_linear(&l, layer->projection, layer->outputs, "fc");
    *status = l.status;
}
