/* The architecture of a model as JSON. */
#include "formats/models/model_config.h"
#include "formats/files/json_keys.h"
#include "formats/models/model_extras.h"
#include "engine/context.h"

#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- reading: a layer is an object; what it does not say has ncps' default */
typedef struct reader {
    eg_model *model;
    const json_t *object;
    eg_status status;
    eg_error *error;
} reader;

static void fail(reader *r, const char *key, const char *wanted) {
    if (!r->status) r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' is not %s", key, wanted);
}

/* NULL where it is absent or null. */
static const json_t *get(const reader *r, const char *key) {
    const json_t *value = json_object_get(r->object, key);
    return json_is_null(value) ? NULL : value;
}

static uint32_t read_count(reader *r, const char *key, uint32_t otherwise) {
    const json_t *value = get(r, key);
    if (!value) return otherwise;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > 1 << 24) {
        fail(r, key, "a count");
        return otherwise;
    }
    return (uint32_t)json_integer_value(value);
}
static double read_number(reader *r, const char *key, double otherwise) {
    const json_t *value = get(r, key);
    if (value && !json_is_number(value)) fail(r, key, "a number");
    return value ? json_number_value(value) : otherwise;
}
static bool read_flag(reader *r, const char *key, bool otherwise) {
    const json_t *value = get(r, key);
    if (value && !json_is_boolean(value)) fail(r, key, "true or false");
    return value ? json_is_true(value) : otherwise;
}
/* The index of a name among those that name_of gives. */
static unsigned read_name(reader *r, const char *key, unsigned otherwise,
                          const char *(*name_of)(unsigned)) {
    const json_t *value = get(r, key);
    if (!value) return otherwise;
    const char *name;
    for (unsigned i = 0; json_is_string(value) && (name = name_of(i)); i++)
        if (strcmp(json_string_value(value), name) == 0) return i;
    if (!r->status)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' cannot be '%.60s'", key,
                             json_is_string(value) ? json_string_value(value) : "of this type");
    return otherwise;
}

static const char *const flavours[] = {"torch", "keras"};
static const char *const cells[] = {"CfC", "LTC"};
static const char *const kinds[] = {"FullyConnected", "Random", "NCP", "AutoNCP", "Edges"};
static const char *flavour_at(unsigned i) { return i < 2 ? flavours[i] : NULL; }
static const char *cell_at(unsigned i) { return i < 2 ? cells[i] : NULL; }
static const char *kind_at(unsigned i) { return i < 5 ? kinds[i] : NULL; }

/* ---- wirings: {"kind": "AutoNCP", "args": {...}} with the names of ncps' arguments */
enum {
    FULL = 1 << EG__WIRING_FULL,
    RANDOM = 1 << EG__WIRING_RANDOM,
    NCP = 1 << EG__WIRING_NCP,
    AUTONCP = 1 << EG__WIRING_AUTONCP
};
static const eg__json_key wiring_keys[] = {{"kind", 1, 1}, {"args", 1, 1}};
static const eg__json_key argument_keys[] = {
    {"units", FULL | RANDOM | AUTONCP, FULL | RANDOM | AUTONCP},
    {"output_dim", FULL | RANDOM, 0},
    {"output_size", AUTONCP, AUTONCP},
    {"inter_neurons", NCP, NCP},
    {"command_neurons", NCP, NCP},
    {"motor_neurons", NCP, NCP},
    {"sensory_fanout", NCP, NCP},
    {"inter_fanout", NCP, NCP},
    {"recurrent_command_synapses", NCP, NCP},
    {"motor_fanin", NCP, NCP},
    {"sparsity_level", RANDOM | AUTONCP, 0},
    {"self_connections", FULL, 0},
    {"seed", NCP | AUTONCP, 0},
    {"random_seed", RANDOM, 0},
    {"erev_init_seed", FULL, 0},
};

static void read_wiring_args(reader *r, eg__wiring_options *o) {
    char what[40];
    snprintf(what, sizeof what, "wiring '%s'", kinds[o->kind]);
    r->status = eg__json_keys_check(r->object, COUNT(argument_keys), argument_keys, 1u << o->kind,
                                    what, r->error);
    o->units = read_count(r, "units", 0);
    o->outputs = read_count(r, o->kind == EG__WIRING_AUTONCP ? "output_size" : "output_dim", 0);
    o->inter = read_count(r, "inter_neurons", 0);
    o->command = read_count(r, "command_neurons", 0);
    o->motor = read_count(r, "motor_neurons", 0);
    o->sensory_fanout = read_count(r, "sensory_fanout", 0);
    o->inter_fanout = read_count(r, "inter_fanout", 0);
    o->recurrent = read_count(r, "recurrent_command_synapses", 0);
    o->motor_fanin = read_count(r, "motor_fanin", 0);
    o->has_sparsity = get(r, "sparsity_level") != NULL;
    o->sparsity = read_number(r, "sparsity_level", 0);
    o->no_self = !read_flag(r, "self_connections", true);
    static const char *const seeds[] = {"seed", "random_seed", "erev_init_seed"};
    for (unsigned i = 0; i < COUNT(seeds); i++) {
        const json_t *seed = get(r, seeds[i]);
        if (!seed) continue;
        if (!json_is_integer(seed) || json_integer_value(seed) < 0) fail(r, seeds[i], "a seed");
        o->has_seed = true;
        o->seed = (uint64_t)json_integer_value(seed);
    }
}

static void read_wiring(reader *r, eg__layer *layer) {
    const json_t *value = get(r, "wiring"), *args = json_object_get(value, "args");
    if (!value || r->status) return;
    reader inner = {.model = r->model, .object = value, .error = r->error};
    inner.status =
        eg__json_keys_check(value, COUNT(wiring_keys), wiring_keys, 1, "'wiring'", r->error);
    eg__wiring_options o = {.kind = (eg__wiring_kind)read_name(&inner, "kind", 0, kind_at)};
    if (!inner.status && o.kind == EG__WIRING_EDGES) {
        inner.status = eg__wiring_read(r->model->memory, args, &layer->wiring, r->error);
        if (!inner.status && layer->wiring->inputs != layer->inputs)
            inner.status = eg__fail(r->error, EG_ERR_FORMAT,
                                    "the wiring has %u inputs, but 'input_size' is %u",
                                    layer->wiring->inputs, layer->inputs);
    } else if (!inner.status) {
        inner.object = args;
        read_wiring_args(&inner, &o);
        if (!inner.status)
            inner.status =
                eg__wiring_plan(r->model->memory, &o, layer->inputs, &layer->wiring, r->error);
    }
    r->status = inner.status;
}

/* ---- layers */
static void add_width(reader *r, const char *key, json_int_t width, eg__layer *layer) {
    if (width < 1 || width > 1 << 20) fail(r, key, "a width within 1..1048576, or a list of them");
    else if (layer->backbone_count == EG__BACKBONE_MAX)
        fail(r, key, "a backbone of at most 8 layers");
    else layer->backbone[layer->backbone_count++] = (uint32_t)width;
}

/* `backbone`, a list of widths; or backbone_units and backbone_layers as ncps has them, where the former
 * may be a list as well: then the latter is its length, or repeats its only width. */
static void read_backbone(reader *r, eg__layer *layer) {
    const json_t *list = get(r, "backbone"), *units = get(r, "backbone_units"),
                 *layers = get(r, "backbone_layers"), *dropout = get(r, "backbone_dropout");
    const bool said = list || units || layers;
    if (list && (units || layers) && !r->status)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "'backbone' beside '%s': say it in one way",
                             units ? "backbone_units" : "backbone_layers");
    if (list && !json_is_array(list)) fail(r, "backbone", "a list of widths");
    const char *key = list ? "backbone" : "backbone_units";
    if (!list) list = units;
    const size_t length = json_array_size(list);
    const uint32_t times =
        read_count(r, "backbone_layers", length ? (uint32_t)eg__min(length, UINT32_MAX) : 1);
    if (json_is_array(list) && layers && length != 1 && times && length != times)
        fail(r, "backbone_layers", "the length of 'backbone_units'");
    const bool none = !times || (json_is_array(list) && !length) || (layer->wiring && !said);
    for (size_t i = 0; !none && !r->status && i < times; i++) {
        const json_t *width =
            json_is_array(list) ? json_array_get(list, length == 1 ? 0 : i) : list;
        add_width(r, key, list ? json_integer_value(width) : 128, layer); /* 0 = no integer */
    }
    const char *unused = get(r, "activation") ? "activation" : dropout ? "backbone_dropout" : NULL;
    if (layer->wiring && !said && unused && !r->status)
        r->status =
            eg__fail(r->error, EG_ERR_FORMAT,
                     "meaningless key '%s' of a wired CfC without a backbone: give backbone_units, "
                     "or backbone_layers 0",
                     unused);
}

/* What a layer may say. Keys of a run say how ncps was called, not what the model is: those of its
 * recorded examples may stand beside the arguments of a layer, not in a file of ours. */
enum { CFC = 1, WIRED_CFC = 2, LTC = 4, WIRED_LTC = 8, RUN = 16 };
enum { ALL_CFC = CFC | WIRED_CFC, ALL_LTC = LTC | WIRED_LTC, ALL = ALL_CFC | ALL_LTC };
static const eg__json_key layer_keys[] = {
    {"model", ALL, ALL},
    {"input_size", ALL, ALL},
    {"units", CFC | LTC, CFC | LTC},
    {"wiring", WIRED_CFC | WIRED_LTC, WIRED_CFC | WIRED_LTC},
    {"mixed_memory", ALL, 0},
    {"bidirectional", ALL, 0},
    {"mode", ALL_CFC, 0},
    {"flavour", ALL_CFC, 0},
    {"backbone", ALL_CFC, 0},
    {"backbone_units", ALL_CFC, 0},
    {"backbone_layers", ALL_CFC, 0},
    {"backbone_dropout", ALL_CFC, 0},
    {"activation", ALL_CFC, 0},
    {"proj_size", ALL_CFC, 0},
    {"output_dim", LTC, 0},
    {"ode_unfolds", ALL_LTC, 0},
    {"epsilon", ALL_LTC, 0},
    {"input_mapping", ALL_LTC, 0},
    {"output_mapping", ALL_LTC, 0},
    {"implicit_param_constraints", ALL_LTC, 0},
    {"batch", RUN, 0},
    {"seq", RUN, 0},
    {"batched", RUN, 0},
    {"batch_first", RUN, 0},
    {"return_sequences", RUN, 0},
    {"timespans", RUN, 0},
    {"ts_kind", RUN, 0},
    {"hx", RUN, 0},
    {"perturb", RUN, 0},
};

static void check_layer_keys(reader *r, const eg__layer *layer, bool listed) {
    static const char *const names[2][2] = {{"a CfC", "a wired CfC"}, {"an LTC", "a wired LTC"}};
    const bool ltc = layer->cell == EG__LTC, wired = get(r, "wiring") != NULL;
    const unsigned where = (wired ? WIRED_CFC : CFC) << (ltc ? 2 : 0) | (listed ? 0 : RUN);
    if (!r->status)
        r->status = eg__json_keys_check(r->object, COUNT(layer_keys), layer_keys, where,
                                        names[ltc][wired], r->error);
}

static void read_layer(reader *r, bool listed) {
    eg__layer *layer = &r->model->layers[r->model->layer_count++];
    if (!json_is_object(r->object)) {
        fail(r, "a layer", "an object");
        return;
    }
    if (!get(r, "model")) fail(r, "model", "given");
    layer->cell = (eg__cell)read_name(r, "model", 0, cell_at);
    check_layer_keys(r, layer, listed);
    layer->inputs = read_count(r, "input_size", 0);
    layer->units = read_count(r, "units", 0);
    layer->mixed = read_flag(r, "mixed_memory", false);
    layer->projection = read_count(r, "proj_size", 0);
    layer->merge = (eg__merge)read_name(r, "bidirectional", 0, eg__merge_name);
    layer->mode = (eg__cfc_mode)read_name(r, "mode", 0, eg__mode_name);
    layer->activation = (eg__activation)read_name(r, "activation", 0, eg__activation_name);
    layer->keras = read_name(r, "flavour", 0, flavour_at) == 1;
    layer->dropout = read_number(r, "backbone_dropout", 0);
    layer->unfolds = read_count(r, "ode_unfolds", 6);
    layer->epsilon = read_number(r, "epsilon", 1e-8);
    layer->explicit_constraints = !read_flag(r, "implicit_param_constraints", true);
    /* absent is ncps' default, null is none */
    const bool has_input = json_object_get(r->object, "input_mapping") != NULL;
    const bool has_output = json_object_get(r->object, "output_mapping") != NULL;
    layer->input_map = (eg__map)read_name(r, "input_mapping", has_input ? 0 : 2, eg__map_name);
    layer->output_map = (eg__map)read_name(r, "output_mapping", has_output ? 0 : 2, eg__map_name);
    read_wiring(r, layer);
    if (layer->cell == EG__CFC) read_backbone(r, layer);
    if (!r->status && layer->cell == EG__LTC && !layer->wiring) { /* units alone: all to all */
        const eg__wiring_options full = {.kind = EG__WIRING_FULL,
                                         .units = layer->units,
                                         .outputs = read_count(r, "output_dim", 0)};
        layer->implied = true;
        r->status =
            eg__wiring_plan(r->model->memory, &full, layer->inputs, &layer->wiring, r->error);
    }
}

static eg_status read_layers(eg_context *context, const json_t *document, bool listed,
                             uint64_t most, eg_model **out, eg_error *error) {
    const json_t *layers = json_object_get(document, "layers");
    const size_t count = listed ? json_array_size(layers) : 1;
    if (listed && !json_is_array(layers))
        return eg__fail(error, EG_ERR_FORMAT, "'layers' is not a list");
    if (count > EG__LAYERS_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "a model of %zu layers is not supported", count);
    eg_status status = eg__model_new(context, out, error);
    for (size_t i = 0; !status && i < count; i++) {
        reader r = {
            .model = *out, .object = listed ? json_array_get(layers, i) : document, .error = error};
        read_layer(&r, listed);
        status = r.status;
    }
    return status ? status : eg__model_complete(*out, most, false, error);
}

enum { LIQUID = 1, TRANSFORMER = 2 };
static const eg__json_key document_keys[] = {
    {"elegans_model", LIQUID | TRANSFORMER, LIQUID | TRANSFORMER},
    {"layers", LIQUID, LIQUID},
    {"transformer", TRANSFORMER, TRANSFORMER},
    {"units", LIQUID, 0},
    {"link", LIQUID, 0},
    {"notes", LIQUID | TRANSFORMER, 0},
    {"quantization", LIQUID | TRANSFORMER, 0},
};

eg_status eg__model_config_read(eg_context *context, const char *text, size_t length, uint64_t most,
                                eg_model **out, eg_error *error) {
    *out = NULL;
    json_t *document;
    eg_error reason;
    eg_status status = eg__json_read(eg__context_memory(context), text, length, &document, &reason);
    if (status) return eg__fail(error, status, "model: %s", reason.message);
    eg_model *model = NULL;
    const json_t *version = json_object_get(document, "elegans_model");
    const json_t *transformer = json_object_get(document, "transformer");
    if (version && json_integer_value(version) != 1)
        status = eg__fail(error, EG_ERR_UNSUPPORTED, "models of version %lld are not supported",
                          (long long)json_integer_value(version));
    else if (version)
        status = eg__json_keys_check(document, COUNT(document_keys), document_keys,
                                     transformer ? TRANSFORMER : LIQUID, "a model", error);
    if (!status && version && transformer)
        status = eg__model_transformer_read(context, transformer, most, &model, error);
    else if (!status) status = read_layers(context, document, version != NULL, most, &model, error);
    if (!status && version)
        status = eg__model_units_read(model, json_object_get(document, "units"), error);
    if (!status && version)
        status = eg__model_notes_read(model, json_object_get(document, "notes"), error);
    if (!status && version)
        status = eg__model_link_read(model, json_object_get(document, "link"), error);
    if (!status && version)
        status = eg__model_quantized_read(model, json_object_get(document, "quantization"), error);
    json_decref(document);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}

/* ---- writing */
static void put_wiring_args(eg__json *json, const eg__wiring *w) {
    const eg__wiring_options *o = &w->options;
    if (o->kind == EG__WIRING_NCP) {
        eg__json_put_count(json, "inter_neurons", o->inter);
        eg__json_put_count(json, "command_neurons", o->command);
        eg__json_put_count(json, "motor_neurons", o->motor);
        eg__json_put_count(json, "sensory_fanout", o->sensory_fanout);
        eg__json_put_count(json, "inter_fanout", o->inter_fanout);
        eg__json_put_count(json, "recurrent_command_synapses", o->recurrent);
        eg__json_put_count(json, "motor_fanin", o->motor_fanin);
        eg__json_put_count(json, "seed", o->seed);
    } else if (o->kind == EG__WIRING_AUTONCP) {
        eg__json_put_count(json, "units", w->units);
        eg__json_put_count(json, "output_size", w->outputs);
        eg__json_put_number(json, "sparsity_level", o->sparsity);
        eg__json_put_count(json, "seed", o->seed);
    } else {
        const bool full = o->kind == EG__WIRING_FULL;
        eg__json_put_count(json, "units", w->units);
        eg__json_put_count(json, "output_dim", w->outputs);
        if (full) eg__json_put_flag(json, "self_connections", !o->no_self);
        else eg__json_put_number(json, "sparsity_level", o->sparsity);
        eg__json_put_count(json, full ? "erev_init_seed" : "random_seed", o->seed);
    }
}

static void put_wiring(eg__json *json, const eg__wiring *w) {
    eg__json_open_object(json, "wiring");
    eg__json_put_text(json, "kind", kinds[w->options.kind]);
    if (w->options.kind == EG__WIRING_EDGES) eg__wiring_put(json, "args", w);
    else {
        eg__json_open_object(json, "args");
        put_wiring_args(json, w);
        eg__json_close(json);
    }
    eg__json_close(json);
}

static void put_layer(eg__json *json, const eg__layer *layer) {
    eg__json_open_object(json, NULL);
    eg__json_put_text(json, "model", cells[layer->cell]);
    eg__json_put_count(json, "input_size", layer->inputs);
    if (layer->wiring) put_wiring(json, layer->wiring);
    else eg__json_put_count(json, "units", layer->units);
    if (layer->cell == EG__CFC) {
        eg__json_put_text(json, "mode", eg__mode_name(layer->mode));
        eg__json_put_text(json, "flavour", flavours[layer->keras]);
        if (!layer->wiring || layer->backbone_count) {
            eg__json_open_list(json, "backbone");
            for (unsigned i = 0; i < layer->backbone_count; i++)
                eg__json_put_count(json, NULL, layer->backbone[i]);
            eg__json_close(json);
            eg__json_put_text(json, "activation", eg__activation_name(layer->activation));
            eg__json_put_number(json, "backbone_dropout", layer->dropout);
        }
        if (layer->projection) eg__json_put_count(json, "proj_size", layer->projection);
    } else {
        eg__json_put_count(json, "ode_unfolds", layer->unfolds);
        eg__json_put_number(json, "epsilon", layer->epsilon);
        eg__json_put_flag(json, "implicit_param_constraints", !layer->explicit_constraints);
        eg__json_put_text(json, "input_mapping", eg__map_name(layer->input_map));
        eg__json_put_text(json, "output_mapping", eg__map_name(layer->output_map));
    }
    if (layer->mixed) eg__json_put_flag(json, "mixed_memory", true);
    if (layer->merge) eg__json_put_text(json, "bidirectional", eg__merge_name(layer->merge));
    eg__json_close(json);
}

eg_status eg__model_config_write(const eg_model *model, char **text, eg_error *error) {
    eg__json json;
    eg__json_begin(&json, model->memory);
    eg__json_open_object(&json, NULL);
    eg__json_put_count(&json, "elegans_model", 1);
    if (model->transformer) eg__model_transformer_put(&json, "transformer", model);
    else {
        eg__json_open_list(&json, "layers");
        for (size_t i = 0; i < model->layer_count; i++) put_layer(&json, &model->layers[i]);
        eg__json_close(&json);
    }
    eg__model_units_put(&json, model);
    /* a file without one has that of its loss */
    if (!model->transformer && (model->link || eg__link_of_loss(eg_model_note(model, "loss", 0))))
        eg__json_put_text(&json, "link", eg_link_name(model->link));
    eg__model_notes_put(&json, model);
    eg__model_quantized_put(&json, model);
    eg__json_close(&json);
    return eg__json_end(&json, text, NULL, error);
}
