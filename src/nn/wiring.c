/* Wirings: building one of any kind, and giving it back. */
#include "nn/wiring.h"

#include "nn/wiring_draw.h"

const char *eg__wiring_kind_name(eg__wiring_kind kind) {
    static const char *const names[] = {"full", "random", "ncp", "autoncp", "edges"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static eg_status complete(eg__wiring_options *options, eg_error *error) {
    eg_status status = EG_OK;
    switch (options->kind) {
    case EG__WIRING_FULL:
    case EG__WIRING_EDGES: break;
    case EG__WIRING_RANDOM: status = eg__wiring_complete_random(options, error); break;
    case EG__WIRING_NCP: status = eg__wiring_complete_ncp(options, error); break;
    case EG__WIRING_AUTONCP: status = eg__wiring_complete_autoncp(options, error); break;
    default:
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown kind of wiring '%d'", (int)options->kind);
    }
    if (status) return status;
    const bool circuit = options->kind == EG__WIRING_NCP || options->kind == EG__WIRING_AUTONCP;
    if (!options->has_seed) options->seed = circuit ? 22222 : 1111;
    options->has_seed = true;
    if (circuit && options->seed > UINT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "seed '%llu' of an %s wiring is over 2^32-1",
                        (unsigned long long)options->seed, eg__wiring_kind_name(options->kind));
    if (!options->outputs) options->outputs = options->units;
    if (!options->units || options->units > EG__WIRING_UNITS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%u' units: a wiring has 1 to %d", options->units,
                        EG__WIRING_UNITS_MAX);
    if (options->outputs > options->units)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%u' outputs are more than the '%u' units",
                        options->outputs, options->units);
    return EG_OK;
}

static bool is_circuit(const eg__wiring *w) {
    return w->options.kind == EG__WIRING_NCP || w->options.kind == EG__WIRING_AUTONCP;
}

static void measure_layers(eg__wiring *w) {
    const eg__wiring_options *o = &w->options;
    const uint32_t count[] = {is_circuit(w) ? o->inter : w->units, o->command, o->motor};
    w->layer_count = is_circuit(w) ? 3 : 1;
    for (uint32_t l = 0; l < w->layer_count; l++)
        w->layer_first[l + 1] = w->layer_first[l] + count[l];
}

/* The layers of a circuit in the order a signal takes; their ids run the other way. */
static void fill_layers(eg__wiring *w) {
    const eg__wiring_options *o = &w->options;
    const uint32_t first[] = {o->motor + o->command, o->motor, 0}; /* 0 where there is no circuit */
    for (uint32_t l = 0; l < w->layer_count; l++)
        for (uint32_t i = w->layer_first[l]; i < w->layer_first[l + 1]; i++)
            w->layer_ids[i] = first[l] + i - w->layer_first[l];
}

static eg_status take(eg__wiring *w, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    w->adjacency =
        eg__memory_take_array(w->memory, EG_TAG_GRAPH, (size_t)w->units * w->units, 1, &reason);
    if (w->adjacency)
        w->sensory = eg__memory_take_array(w->memory, EG_TAG_GRAPH, (size_t)w->inputs * w->units, 1,
                                           &reason);
    if (w->sensory)
        w->layer_ids =
            eg__memory_take_array(w->memory, EG_TAG_GRAPH, w->units, sizeof *w->layer_ids, &reason);
    return w->layer_ids ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

static eg_status draw(eg__wiring *w, eg_error *error) {
    union {
        eg__mt mt;
        eg__pcg pcg;
    } random;
    switch (w->options.kind) {
    case EG__WIRING_FULL:
        eg__pcg_seed(&random.pcg, w->options.seed);
        eg__wiring_draw_full(w, &random.pcg);
        eg__wiring_draw_full_sensory(w, &random.pcg);
        return EG_OK;
    case EG__WIRING_RANDOM:
        eg__pcg_seed(&random.pcg, w->options.seed);
        return eg__wiring_draw_random(w, &random.pcg, error);
    case EG__WIRING_NCP:
    case EG__WIRING_AUTONCP:
        eg__mt_seed(&random.mt, (uint32_t)w->options.seed);
        return eg__wiring_draw_ncp(w, &random.mt, error);
    default: return EG_OK;
    }
}

eg_status eg__wiring_plan(eg__memory *memory, const eg__wiring_options *options, uint32_t inputs,
                          eg__wiring **out, eg_error *error) {
    *out = NULL;
    eg__wiring_options full = *options;
    eg_status status = complete(&full, error);
    if (status) return status;
    if (!inputs || inputs > EG__WIRING_UNITS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%u' inputs: a wiring has 1 to %d", inputs,
                        EG__WIRING_UNITS_MAX);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__wiring *w = eg__memory_take_zeroed(memory, EG_TAG_GRAPH, sizeof *w, &reason);
    if (!w) return eg__fail(error, reason.status, "%s", reason.message);
    w->memory = memory;
    w->options = full;
    w->units = full.units;
    w->outputs = full.outputs;
    w->inputs = inputs;
    measure_layers(w);
    *out = w;
    return EG_OK;
}

eg_status eg__wiring_draw(eg__wiring *w, eg_error *error) {
    if (w->layer_ids) return EG_OK;
    eg_status status = take(w, error);
    if (status) return status;
    fill_layers(w);
    return draw(w, error);
}

void eg__wiring_forget(eg__wiring *w) {
    if (w->options.kind == EG__WIRING_EDGES) return;
    eg__memory_give(w->memory, w->adjacency);
    eg__memory_give(w->memory, w->sensory);
    w->adjacency = w->sensory = NULL;
}

eg_status eg__wiring_build(eg__memory *memory, const eg__wiring_options *options, uint32_t inputs,
                           eg__wiring **out, eg_error *error) {
    eg__wiring *w;
    *out = NULL;
    eg_status status = eg__wiring_plan(memory, options, inputs, &w, error);
    if (status) return status;
    status = eg__wiring_draw(w, error);
    if (status) eg__wiring_destroy(w);
    else *out = w;
    return status;
}

void eg__wiring_destroy(eg__wiring *wiring) {
    if (!wiring) return;
    eg__memory *memory = wiring->memory;
    eg__memory_give(memory, wiring->adjacency);
    eg__memory_give(memory, wiring->sensory);
    eg__memory_give(memory, wiring->layer_ids);
    eg__memory_give(memory, wiring);
}
