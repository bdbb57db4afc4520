/* Statistics of a wiring: counts and degrees, and who reaches whom on how short a path. */
#include "nn/wiring.h"

#include <string.h>

/* ---- counts and degrees of a matrix of synapses, [rows][columns] */

typedef struct counts {
    uint64_t excitatory, inhibitory;
    eg_wiring_degree of_rows, of_columns;
} counts;

static void add_degree(eg_wiring_degree *degree, uint32_t synapses) {
    if (synapses < degree->least) degree->least = synapses;
    if (synapses > degree->most) degree->most = synapses;
}

static counts count(const int8_t *matrix, uint32_t rows, uint32_t columns) {
    counts c = {.of_rows.least = UINT32_MAX, .of_columns.least = UINT32_MAX};
    for (size_t r = 0; r < rows; r++) {
        uint32_t synapses = 0;
        for (size_t k = 0; k < columns; k++) {
            c.excitatory += matrix[r * columns + k] > 0;
            c.inhibitory += matrix[r * columns + k] < 0;
            synapses += matrix[r * columns + k] != 0;
        }
        add_degree(&c.of_rows, synapses);
    }
    for (size_t k = 0; k < columns; k++) {
        uint32_t synapses = 0;
        for (size_t r = 0; r < rows; r++) synapses += matrix[r * columns + k] != 0;
        add_degree(&c.of_columns, synapses);
    }
    c.of_rows.mean = (double)(c.excitatory + c.inhibitory) / rows;
    c.of_columns.mean = (double)(c.excitatory + c.inhibitory) / columns;
    return c;
}

/* ---- reach: sets of units are rows of bits, 64 units at a time */

typedef struct reach {
    uint32_t units;
    size_t words;    /* of one set */
    uint64_t *edges; /* [units][words]: where a unit has synapses to */
    uint64_t *known; /* [units][words]: whom a unit reaches, itself included */
    uint64_t *level, *next;
} reach;

static bool has(const uint64_t *set, uint32_t unit) { return set[unit / 64] >> unit % 64 & 1; }
static void put(uint64_t *set, uint32_t unit) { set[unit / 64] |= (uint64_t)1 << unit % 64; }

static void fill_edges(reach *r, const int8_t *adjacency) {
    for (uint32_t s = 0; s < r->units; s++)
        for (uint32_t d = 0; d < r->units; d++)
            if (adjacency[(size_t)s * r->units + d]) put(r->edges + s * r->words, d);
}

/* From the units in `known`, breadth first; adds to the figures of paths when `out` is there. */
static void spread(reach *r, uint64_t *known, eg_wiring_statistics *out) {
    memcpy(r->level, known, r->words * sizeof *known);
    for (uint32_t steps = 1;; steps++) {
        uint64_t found = 0;
        memset(r->next, 0, r->words * sizeof *r->next);
        for (size_t w = 0; w < r->words; w++)
            for (uint64_t left = r->level[w]; left; left &= left - 1) {
                const uint64_t *to = r->edges + (w * 64 + __builtin_ctzll(left)) * r->words;
                for (size_t k = 0; k < r->words; k++) r->next[k] |= to[k];
            }
        for (size_t k = 0; k < r->words; k++) {
            r->next[k] &= ~known[k];
            known[k] |= r->next[k];
            found += (uint64_t)__builtin_popcountll(r->next[k]);
        }
        if (!found) return;
        if (out) {
            out->pairs += found;
            out->path_mean += (double)found * steps;
            if (steps > out->path_longest) out->path_longest = steps;
        }
        uint64_t *kept = r->level;
        r->level = r->next;
        r->next = kept;
    }
}

/* Two units are in one component when each reaches the other. */
static void count_components(const reach *r, eg_wiring_statistics *out) {
    for (uint32_t s = 0; s < r->units; s++) {
        uint32_t size = 0;
        bool first = true;
        for (uint32_t d = 0; d < r->units; d++) {
            if (!has(r->known + s * r->words, d) || !has(r->known + d * r->words, s)) continue;
            size++;
            if (d < s) first = false;
        }
        out->components += first;
        if (size > out->largest_component) out->largest_component = size;
    }
}

static void find_paths(reach *r, const eg_wiring *w, eg_wiring_statistics *out) {
    fill_edges(r, w->adjacency);
    uint64_t *sensed = r->known; /* its place is used again below */
    for (uint32_t i = 0; i < w->inputs; i++)
        for (uint32_t d = 0; d < w->units; d++)
            if (w->sensory[(size_t)i * w->units + d]) put(sensed, d);
    spread(r, sensed, NULL);
    for (uint32_t u = 0; u < w->units; u++) out->unreached += !has(sensed, u);
    memset(sensed, 0, r->words * sizeof *sensed);
    for (uint32_t s = 0; s < w->units; s++) {
        put(r->known + s * r->words, s);
        spread(r, r->known + s * r->words, out);
    }
    if (out->pairs) out->path_mean /= (double)out->pairs;
    count_components(r, out);
}

eg_status eg_wiring_statistics_get(const eg_wiring *wiring, eg_wiring_statistics *out,
                                   eg_error *error) {
    if (!wiring || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no wiring or no output pointer");
    const double units = wiring->units;
    counts inner = count(wiring->adjacency, wiring->units, wiring->units);
    counts outer = count(wiring->sensory, wiring->inputs, wiring->units);
    reach r = {.units = wiring->units, .words = eg__ceil_div(wiring->units, 64)};
    const size_t rows = 2 * (size_t)wiring->units + 2;
    eg_error reason = {EG_ERR_MEMORY, ""};
    uint64_t *bits =
        eg__memory_take_array(wiring->memory, EG_TAG_OTHER, rows, r.words * sizeof *bits, &reason);
    if (!bits) return eg__fail(error, reason.status, "%s", reason.message);
    r.edges = bits;
    r.known = r.edges + wiring->units * r.words;
    r.level = r.known + wiring->units * r.words;
    r.next = r.level + r.words;
    *out = (eg_wiring_statistics){.synapses = inner.excitatory + inner.inhibitory,
                                  .excitatory = inner.excitatory,
                                  .inhibitory = inner.inhibitory,
                                  .sensory_synapses = outer.excitatory + outer.inhibitory,
                                  .sensory_excitatory = outer.excitatory,
                                  .sensory_inhibitory = outer.inhibitory,
                                  .in = inner.of_columns,
                                  .out = inner.of_rows,
                                  .sensory_in = outer.of_columns,
                                  .sensory_out = outer.of_rows};
    out->density = (double)out->synapses / (units * units);
    out->sensory_density = (double)out->sensory_synapses / (units * wiring->inputs);
    for (size_t u = 0; u < wiring->units; u++)
        out->self += wiring->adjacency[u * wiring->units + u] != 0;
    find_paths(&r, wiring, out);
    eg__memory_give(wiring->memory, bits);
    return EG_OK;
}
