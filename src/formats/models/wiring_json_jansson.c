/* Wirings as JSON, through jansson: {"units": 3, ..., "synapses": [[source, destination, 1]]}. */
#include "formats/models/wiring_json.h"
#include "formats/files/json_keys.h"
#include "formats/models/model_extras.h"

#include <string.h>

/* ---- writing */

static void put_synapses(eg__json *json, const char *key, const int8_t *matrix, uint32_t rows,
                         uint32_t columns) {
    eg__json_open_list(json, key);
    for (uint32_t s = 0; s < rows; s++)
        for (uint32_t d = 0; d < columns; d++) {
            int polarity = matrix[(size_t)s * columns + d];
            if (!polarity) continue;
            eg__json_open_list(json, NULL);
            eg__json_put_count(json, NULL, s);
            eg__json_put_count(json, NULL, d);
            eg__json_put_integer(json, NULL, polarity);
            eg__json_close(json);
        }
    eg__json_close(json);
}

static void put_layers(eg__json *json, const eg__wiring *w) {
    eg__json_open_list(json, "layers");
    for (uint32_t l = 0; l < w->layer_count; l++) {
        eg__json_open_list(json, NULL);
        for (uint32_t i = w->layer_first[l]; i < w->layer_first[l + 1]; i++)
            eg__json_put_count(json, NULL, w->layer_ids[i]);
        eg__json_close(json);
    }
    eg__json_close(json);
}

void eg__wiring_put(eg__json *json, const char *key, const eg__wiring *w) {
    eg__json_open_object(json, key);
    eg__json_put_count(json, "units", w->units);
    eg__json_put_count(json, "inputs", w->inputs);
    eg__json_put_count(json, "outputs", w->outputs);
    put_layers(json, w);
    put_synapses(json, "synapses", w->adjacency, w->units, w->units);
    put_synapses(json, "sensory", w->sensory, w->inputs, w->units);
    eg__json_close(json);
}

eg_status eg__wiring_to_json(const eg__wiring *w, char **text, size_t *length, eg_error *error) {
    eg__json json;
    eg__json_begin(&json, w->memory);
    eg__wiring_put(&json, NULL, w);
    return eg__json_end(&json, text, length, error);
}

/* ---- reading */

static bool read_count(const json_t *value, uint32_t low, uint32_t high, uint32_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)low ||
        json_integer_value(value) > (json_int_t)high)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

static eg_status check_keys(const json_t *document, eg_error *error) {
    static const eg__json_key known[] = {{"units", 1, 0},  {"inputs", 1, 0},   {"outputs", 1, 0},
                                         {"layers", 1, 0}, {"synapses", 1, 0}, {"sensory", 1, 0}};
    if (!json_is_object(document))
        return eg__fail(error, EG_ERR_FORMAT, "a wiring is an object with units and synapses");
    return eg__json_keys_check(document, sizeof known / sizeof *known, known, 1, "a wiring", error);
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

eg_status eg__wiring_read(eg__memory *memory, const json_t *document, eg__wiring **out,
                          eg_error *error) {
    *out = NULL;
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
    if (status) eg__wiring_destroy(w);
    else *out = w;
    return status;
}

eg_status eg__wiring_from_json(eg__memory *memory, const char *text, size_t length,
                               eg__wiring **out, eg_error *error) {
    *out = NULL;
    json_t *document;
    eg_status status = eg__json_read(memory, text, length, &document, error);
    if (status) return status;
    status = eg__wiring_read(memory, document, out, error);
    json_decref(document);
    return status;
}
