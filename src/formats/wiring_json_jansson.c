/* Wirings as JSON, through jansson: {"units": 3, ..., "synapses": [[source, destination, 1]]}. */
#include "formats/wiring_json.h"

#include <jansson.h>
#include <string.h>

/* ---- writing */

static json_t *synapses_to_json(const int8_t *matrix, uint32_t rows, uint32_t columns) {
    json_t *list = json_array();
    for (uint32_t s = 0; s < rows; s++)
        for (uint32_t d = 0; d < columns; d++) {
            int polarity = matrix[(size_t)s * columns + d];
            if (!polarity) continue;
            json_t *synapse = json_array();
            json_array_append_new(synapse, json_integer(s));
            json_array_append_new(synapse, json_integer(d));
            json_array_append_new(synapse, json_integer(polarity));
            json_array_append_new(list, synapse);
        }
    return list;
}

static json_t *layers_to_json(const eg__wiring *w) {
    json_t *list = json_array();
    for (uint32_t l = 0; l < w->layer_count; l++) {
        json_t *layer = json_array();
        for (uint32_t i = w->layer_first[l]; i < w->layer_first[l + 1]; i++)
            json_array_append_new(layer, json_integer(w->layer_ids[i]));
        json_array_append_new(list, layer);
    }
    return list;
}

eg_status eg__wiring_to_json(const eg__wiring *w, char **text, size_t *length, eg_error *error) {
    json_t *document = json_object();
    json_object_set_new(document, "units", json_integer(w->units));
    json_object_set_new(document, "inputs", json_integer(w->inputs));
    json_object_set_new(document, "outputs", json_integer(w->outputs));
    json_object_set_new(document, "layers", layers_to_json(w));
    json_object_set_new(document, "synapses", synapses_to_json(w->adjacency, w->units, w->units));
    json_object_set_new(document, "sensory", synapses_to_json(w->sensory, w->inputs, w->units));
    *length = document ? json_dumpb(document, NULL, 0, JSON_COMPACT) : 0;
    eg_error reason = {EG_ERR_MEMORY, "no memory for JSON"};
    *text = *length ? eg__memory_take(w->memory, EG_TAG_FILE, *length, &reason) : NULL;
    if (*text) json_dumpb(document, *text, *length, JSON_COMPACT);
    json_decref(document);
    return *text ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

/* ---- reading */

static bool read_count(const json_t *value, uint32_t low, uint32_t high, uint32_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)low ||
        json_integer_value(value) > (json_int_t)high)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

static eg_status check_keys(json_t *document, eg_error *error) {
    static const char *const known[] = {"units",  "inputs",   "outputs",
                                        "layers", "synapses", "sensory"};
    const char *key;
    json_t *value;
    if (!json_is_object(document))
        return eg__fail(error, EG_ERR_FORMAT, "a wiring is an object with units and synapses");
    json_object_foreach(document, key, value) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0) i++;
        if (i == sizeof known / sizeof *known)
            return eg__fail(error, EG_ERR_FORMAT, "unknown key '%.60s' of a wiring", key);
    }
    return EG_OK;
}

static eg_status read_size(const json_t *document, const char *key, uint32_t high, uint32_t *out,
                           eg_error *error) {
    if (read_count(json_object_get(document, key), 1, high, out)) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "'%s' of a wiring is no count within 1..%u", key, high);
}

/* A list of [source, destination, polarity] into a matrix [rows][columns]. */
static eg_status read_synapses(const json_t *document, const char *key, int8_t *matrix,
                               uint32_t rows, uint32_t columns, eg_error *error) {
    const json_t *list = json_object_get(document, key), *row;
    size_t i;
    if (!json_is_array(list))
        return eg__fail(error, EG_ERR_FORMAT, "'%s' of a wiring is no list of synapses", key);
    json_array_foreach(list, i, row) {
        uint32_t source, destination;
        const json_t *polarity = json_array_get(row, 2);
        if (json_array_size(row) != 3 ||
            !read_count(json_array_get(row, 0), 0, rows - 1, &source) ||
            !read_count(json_array_get(row, 1), 0, columns - 1, &destination) ||
            !json_is_integer(polarity) ||
            (json_integer_value(polarity) != 1 && json_integer_value(polarity) != -1))
            return eg__fail(error, EG_ERR_FORMAT,
                            "'%s' %zu is no [source 0..%u, destination 0..%u, 1 or -1]", key, i,
                            rows - 1, columns - 1);
        int8_t *place = &matrix[(size_t)source * columns + destination];
        if (*place)
            return eg__fail(error, EG_ERR_FORMAT, "'%s' %zu repeats the one from '%u' to '%u'", key,
                            i, source, destination);
        *place = (int8_t)json_integer_value(polarity);
    }
    return EG_OK;
}

/* The ids of one layer after those of the layers before; every id may come once. */
static eg_status read_layer(const json_t *list, eg__wiring *w, uint32_t *used, eg_error *error) {
    const json_t *id;
    size_t i;
    if (!json_is_array(list) || !json_array_size(list))
        return eg__fail(error, EG_ERR_FORMAT, "a layer of a wiring is no list of units");
    json_array_foreach(list, i, id) {
        uint32_t unit;
        if (!read_count(id, 0, w->units - 1, &unit))
            return eg__fail(error, EG_ERR_FORMAT, "a layer holds what is no unit within 0..%u",
                            w->units - 1);
        for (uint32_t k = 0; k < *used; k++)
            if (w->layer_ids[k] == unit)
                return eg__fail(error, EG_ERR_FORMAT, "unit '%u' is in the layers twice", unit);
        w->layer_ids[(*used)++] = unit;
    }
    return EG_OK;
}

static eg_status read_layers(const json_t *document, eg__wiring *w, eg_error *error) {
    const json_t *layers = json_object_get(document, "layers");
    if (!layers) return EG_OK;
    const size_t count = json_array_size(layers);
    if (!count || count > EG__WIRING_LAYERS_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'layers' of a wiring is no list of 1 to %d layers",
                        EG__WIRING_LAYERS_MAX);
    uint32_t used = 0;
    eg_status status = EG_OK;
    for (size_t l = 0; !status && l < count; l++) {
        status = read_layer(json_array_get(layers, l), w, &used, error);
        w->layer_first[l + 1] = used;
    }
    w->layer_count = (uint32_t)count;
    if (!status && used != w->units)
        status =
            eg__fail(error, EG_ERR_FORMAT, "'%u' of '%u' units are in the layers", used, w->units);
    const uint32_t last = used - w->layer_first[count - 1];
    if (!status && count > 1 && last != w->outputs)
        status = eg__fail(error, EG_ERR_FORMAT,
                          "the last layer has '%u' units, not the '%u' outputs", last, w->outputs);
    return status;
}

eg_status eg__wiring_from_json(eg__memory *memory, const char *text, size_t length,
                               eg__wiring **out, eg_error *error) {
    *out = NULL;
    json_error_t where;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (!document) return eg__fail(error, EG_ERR_FORMAT, "line %d: %s", where.line, where.text);
    eg__wiring_options options = {.kind = EG__WIRING_EDGES};
    eg__wiring *w = NULL;
    uint32_t inputs;
    eg_status status = check_keys(document, error);
    if (!status) status = read_size(document, "units", EG__WIRING_UNITS_MAX, &options.units, error);
    if (!status) status = read_size(document, "inputs", EG__WIRING_UNITS_MAX, &inputs, error);
    if (!status) status = read_size(document, "outputs", options.units, &options.outputs, error);
    if (!status) status = eg__wiring_build(memory, &options, inputs, &w, error);
    if (!status)
        status = read_synapses(document, "synapses", w->adjacency, w->units, w->units, error);
    if (!status)
        status = read_synapses(document, "sensory", w->sensory, w->inputs, w->units, error);
    if (!status) status = read_layers(document, w, error);
    json_decref(document);
    if (status) eg__wiring_destroy(w);
    else *out = w;
    return status;
}
