/* The architecture of a model as JSON. */
#include "formats/model_config.h"
#include "formats/model_extras.h"
#include "formats/wiring_json.h"

#include <string.h>

/* Text in tracked memory; NULL when there is none. */
static char *dump(eg__memory *memory, const json_t *value) {
    const size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT);
    char *text = size ? eg__memory_take_zeroed(memory, EG_TAG_FILE, size + 1, NULL) : NULL;
    if (text) json_dumpb(value, text, size, JSON_COMPACT);
    return text;
}

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
static void read_wiring_args(reader *r, eg__wiring_options *o) {
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
    const char *const seeds[] = {"seed", "random_seed", "erev_init_seed"};
    for (unsigned i = 0; i < 3; i++) {
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
    if (!json_is_object(value) || !json_is_object(args)) {
        fail(r, "wiring", "an object with kind and args");
        return;
    }
    reader inner = {.model = r->model, .object = value, .error = r->error};
    eg__wiring_options o = {.kind = (eg__wiring_kind)read_name(&inner, "kind", 9, kind_at)};
    if (!inner.status && (unsigned)o.kind > 4) fail(&inner, "kind", "there");
    if (!inner.status && o.kind == EG__WIRING_EDGES) {
        char *text = dump(r->model->memory, args);
        if (!text) inner.status = eg__fail(r->error, EG_ERR_MEMORY, "no memory for a wiring");
        else
            inner.status = eg__wiring_from_json(r->model->memory, text, strlen(text),
                                                &layer->wiring, r->error);
        eg__memory_give(r->model->memory, text);
    } else if (!inner.status) {
        inner.object = args;
        read_wiring_args(&inner, &o);
        if (!inner.status)
            inner.status =
                eg__wiring_build(r->model->memory, &o, layer->inputs, &layer->wiring, r->error);
    }
    r->status = inner.status;
}

/* backbone_units and backbone_layers as ncps has them, or a list of widths. */
static void read_backbone(reader *r, eg__layer *layer) {
    const json_t *list = get(r, "backbone");
    if (layer->wiring || layer->cell == EG__LTC) return;
    if (!list) {
        const uint32_t width = read_count(r, "backbone_units", 128);
        layer->backbone_count = read_count(r, "backbone_layers", 1);
        if (layer->backbone_count > EG__BACKBONE_MAX) {
            fail(r, "backbone_layers", "within 0..8");
            layer->backbone_count = 0;
        }
        for (unsigned i = 0; i < layer->backbone_count; i++) layer->backbone[i] = width;
        return;
    }
    if (!json_is_array(list) || json_array_size(list) > EG__BACKBONE_MAX)
        fail(r, "backbone", "a list of at most 8 widths");
    for (size_t i = 0; !r->status && i < json_array_size(list); i++) {
        const json_t *width = json_array_get(list, i);
        if (!json_is_integer(width) || json_integer_value(width) < 1 ||
            json_integer_value(width) > 1 << 20)
            fail(r, "backbone", "a list of widths");
        layer->backbone[layer->backbone_count++] = (uint32_t)json_integer_value(width);
    }
}

/* Keys that say how a model is run, not what it is, are other people's affair. */
static void check_keys(reader *r) {
    static const char *const known[] = {"model",
                                        "input_size",
                                        "units",
                                        "wiring",
                                        "mode",
                                        "activation",
                                        "backbone",
                                        "backbone_units",
                                        "backbone_layers",
                                        "backbone_dropout",
                                        "proj_size",
                                        "mixed_memory",
                                        "flavour",
                                        "bidirectional",
                                        "ode_unfolds",
                                        "epsilon",
                                        "input_mapping",
                                        "output_mapping",
                                        "implicit_param_constraints",
                                        "output_dim",
                                        "batch",
                                        "seq",
                                        "batched",
                                        "return_sequences",
                                        "batch_first",
                                        "timespans",
                                        "hx",
                                        "perturb",
                                        "ts_kind"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)r->object, key, value) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found = found || strcmp(known[i], key) == 0;
        if (!found && !r->status)
            r->status = eg__fail(r->error, EG_ERR_FORMAT, "unknown key '%.80s'", key);
    }
}

static void read_layer(reader *r) {
    eg__layer *layer = &r->model->layers[r->model->layer_count++];
    if (!json_is_object(r->object)) {
        fail(r, "a layer", "an object");
        return;
    }
    check_keys(r);
    if (!get(r, "model") || !get(r, "input_size"))
        fail(r, get(r, "model") ? "input_size" : "model", "given");
    layer->cell = (eg__cell)read_name(r, "model", 0, cell_at);
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
    read_backbone(r, layer);
    if (!r->status && layer->cell == EG__LTC && !layer->wiring) { /* units alone: all to all */
        const eg__wiring_options full = {.kind = EG__WIRING_FULL,
                                         .units = layer->units,
                                         .outputs = read_count(r, "output_dim", 0)};
        r->status =
            eg__wiring_build(r->model->memory, &full, layer->inputs, &layer->wiring, r->error);
    }
}

static eg_status read_layers(eg_context *context, const json_t *document, bool listed,
                             eg_model **out, eg_error *error) {
    const json_t *layers = json_object_get(document, "layers");
    const size_t count = listed ? json_array_size(layers) : 1;
    if (listed && !json_is_array(layers))
        return eg__fail(error, EG_ERR_FORMAT, "'layers' is not a list");
    if (count > EG__LAYERS_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "a model of %zu layers", count);
    eg_status status = eg__model_new(context, out, error);
    for (size_t i = 0; !status && i < count; i++) {
        reader r = {
            .model = *out, .object = listed ? json_array_get(layers, i) : document, .error = error};
        read_layer(&r);
        status = r.status;
    }
    return status ? status : eg__model_complete(*out, error);
}

eg_status eg__model_config_read(eg_context *context, const char *text, size_t length, uint64_t most,
                                eg_model **out, eg_error *error) {
    *out = NULL;
    json_error_t problem;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!document)
        return eg__fail(error, EG_ERR_FORMAT, "model: %s (line %d)", problem.text, problem.line);
    eg_model *model = NULL;
    const json_t *version = json_object_get(document, "elegans_model");
    const json_t *transformer = json_object_get(document, "transformer");
    eg_status status = EG_OK;
    if (version && json_integer_value(version) != 1)
        status = eg__fail(error, EG_ERR_UNSUPPORTED, "a model of version %lld",
                          (long long)json_integer_value(version));
    else if (version && transformer)
        status = eg__model_transformer_read(context, transformer, most, &model, error);
    else status = read_layers(context, document, version != NULL, &model, error);
    if (!status && version)
        status = eg__model_units_read(model, json_object_get(document, "units"), error);
    if (!status && version)
        status = eg__model_notes_read(model, json_object_get(document, "notes"), error);
    if (!status && version)
        status = eg__model_small_read(model, json_object_get(document, "quantization"), error);
    json_decref(document);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}

/* ---- writing */
static json_t *wiring_json(const eg__wiring *w) {
    const eg__wiring_options *o = &w->options;
    if (o->kind == EG__WIRING_EDGES) {
        char *text;
        size_t length;
        if (eg__wiring_to_json(w, &text, &length, NULL)) return NULL;
        json_t *args = json_loadb(text, length, 0, NULL);
        eg__memory_give(w->memory, text);
        return json_pack("{s:s, s:o}", "kind", kinds[o->kind], "args", args);
    }
    json_t *args = json_object();
    if (o->kind == EG__WIRING_NCP) {
        json_object_set_new(args, "inter_neurons", json_integer(o->inter));
        json_object_set_new(args, "command_neurons", json_integer(o->command));
        json_object_set_new(args, "motor_neurons", json_integer(o->motor));
        json_object_set_new(args, "sensory_fanout", json_integer(o->sensory_fanout));
        json_object_set_new(args, "inter_fanout", json_integer(o->inter_fanout));
        json_object_set_new(args, "recurrent_command_synapses", json_integer(o->recurrent));
        json_object_set_new(args, "motor_fanin", json_integer(o->motor_fanin));
        json_object_set_new(args, "seed", json_integer((json_int_t)o->seed));
    } else if (o->kind == EG__WIRING_AUTONCP) {
        json_object_set_new(args, "units", json_integer(w->units));
        json_object_set_new(args, "output_size", json_integer(w->outputs));
        json_object_set_new(args, "sparsity_level", json_real(o->sparsity));
        json_object_set_new(args, "seed", json_integer((json_int_t)o->seed));
    } else {
        const bool full = o->kind == EG__WIRING_FULL;
        json_object_set_new(args, "units", json_integer(w->units));
        json_object_set_new(args, "output_dim", json_integer(w->outputs));
        if (full) json_object_set_new(args, "self_connections", json_boolean(!o->no_self));
        else json_object_set_new(args, "sparsity_level", json_real(o->sparsity));
        json_object_set_new(args, full ? "erev_init_seed" : "random_seed",
                            json_integer((json_int_t)o->seed));
    }
    return json_pack("{s:s, s:o}", "kind", kinds[o->kind], "args", args);
}

static json_t *layer_json(const eg__layer *layer) {
    json_t *o = json_object();
    json_object_set_new(o, "model", json_string(cells[layer->cell]));
    json_object_set_new(o, "input_size", json_integer(layer->inputs));
    if (layer->wiring) json_object_set_new(o, "wiring", wiring_json(layer->wiring));
    else json_object_set_new(o, "units", json_integer(layer->units));
    if (layer->cell == EG__CFC) {
        json_object_set_new(o, "mode", json_string(eg__mode_name(layer->mode)));
        json_object_set_new(o, "flavour", json_string(flavours[layer->keras]));
        if (!layer->wiring) {
            json_t *list = json_array();
            for (unsigned i = 0; i < layer->backbone_count; i++)
                json_array_append_new(list, json_integer(layer->backbone[i]));
            json_object_set_new(o, "backbone", list);
            json_object_set_new(o, "activation",
                                json_string(eg__activation_name(layer->activation)));
            json_object_set_new(o, "backbone_dropout", json_real(layer->dropout));
        }
        if (layer->projection) json_object_set_new(o, "proj_size", json_integer(layer->projection));
    } else {
        json_object_set_new(o, "ode_unfolds", json_integer(layer->unfolds));
        json_object_set_new(o, "epsilon", json_real(layer->epsilon));
        json_object_set_new(o, "implicit_param_constraints",
                            json_boolean(!layer->explicit_constraints));
        json_object_set_new(o, "input_mapping", json_string(eg__map_name(layer->input_map)));
        json_object_set_new(o, "output_mapping", json_string(eg__map_name(layer->output_map)));
    }
    if (layer->mixed) json_object_set_new(o, "mixed_memory", json_true());
    if (layer->merge)
        json_object_set_new(o, "bidirectional", json_string(eg__merge_name(layer->merge)));
    return o;
}

eg_status eg__model_config_write(const eg_model *model, char **text, eg_error *error) {
    *text = NULL;
    json_t *layers = model->transformer ? eg__model_transformer_json(model) : json_array();
    for (size_t i = 0; i < model->layer_count; i++)
        json_array_append_new(layers, layer_json(&model->layers[i]));
    json_t *document = json_pack("{s:i, s:o}", "elegans_model", 1,
                                 model->transformer ? "transformer" : "layers", layers);
    if (document && model->unit_values)
        json_object_set_new(document, "units", eg__model_units_json(model));
    if (document && model->note_count)
        json_object_set_new(document, "notes", eg__model_notes_json(model));
    json_t *small = eg__model_small_json(model);
    if (document && small) json_object_set_new(document, "quantization", small);
    else json_decref(small);
    *text = document ? dump(model->memory, document) : NULL;
    json_decref(document);
    return *text ? EG_OK : eg__fail(error, EG_ERR_MEMORY, "no memory to describe a model");
}
