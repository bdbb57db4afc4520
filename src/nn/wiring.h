/* Wirings: which unit of a liquid network has a synapse to which, as ncps draws them. */
#ifndef EG__WIRING_H
#define EG__WIRING_H

#include "elegans/wiring.h"
#include "memory/memory.h"

typedef enum eg__wiring_kind {
    EG__WIRING_FULL,
    EG__WIRING_RANDOM,
    EG__WIRING_NCP,
    EG__WIRING_AUTONCP,
    EG__WIRING_EDGES /* nothing is drawn: the caller sets every synapse */
} eg__wiring_kind;

typedef struct eg__wiring_options { /* all zero where not given = ncps' defaults */
    eg__wiring_kind kind;
    uint32_t units, outputs; /* outputs 0 = units (full, random, edges) */
    /* ncp; autoncp computes them */
    uint32_t inter, command, motor, sensory_fanout, inter_fanout, recurrent, motor_fanin;
    double sparsity; /* random: 0; autoncp: 0.5 */
    bool has_sparsity;
    uint64_t seed; /* full, random: 1111; ncp, autoncp: 22222 */
    bool has_seed;
    bool no_self; /* full: no unit has a synapse to itself */
} eg__wiring_options;

enum { EG__WIRING_UNITS_MAX = 1 << 14, EG__WIRING_LAYERS_MAX = EG_WIRING_LAYERS_MAX };

typedef struct eg__wiring {
    eg__memory *memory;
    eg__wiring_options options; /* as completed */
    uint32_t units, inputs, outputs;
    int8_t *
        adjacency; /* [units][units], source then destination: -1, 0, 1; NULL = not drawn, or forgotten */
    int8_t *sensory; /* [inputs][units] */
    /* layer l has ids layer_ids[layer_first[l] .. layer_first[l+1]) */
    uint32_t layer_count, layer_first[EG__WIRING_LAYERS_MAX + 1];
    uint32_t *layer_ids; /* ncp: inter, command, motor; others: one layer of all units */
} eg__wiring;

/* A wiring is drawn once, when it is built: the same options and inputs give the same wiring. */
eg_status eg__wiring_build(eg__memory *memory, const eg__wiring_options *options, uint32_t inputs,
                           eg__wiring **out, eg_error *error);
void eg__wiring_destroy(eg__wiring *wiring); /* NULL is fine */
/* The two halves of building: the sizes (layer_first included) without synapses, which takes almost
 * no memory; and drawing the synapses. Drawing twice is harmless. */
eg_status eg__wiring_plan(eg__memory *memory, const eg__wiring_options *options, uint32_t inputs,
                          eg__wiring **out, eg_error *error);
eg_status eg__wiring_draw(eg__wiring *wiring, eg_error *error);
/* Frees the synapses if the same can be drawn again, for callers that have copied what they
 * need. */
void eg__wiring_forget(eg__wiring *wiring);

/* "autoncp:UNITS:OUTPUTS[,sparsity=0.5]", "ncp:INTER:COMMAND:MOTOR,sensory_fanout=N,inter_fanout=N,
 * motor_fanin=N[,recurrent=N]", "full:UNITS[:OUTPUTS][,self=0]",
 * "random:UNITS[:OUTPUTS][,sparsity=0]", each with [,wiring_seed=N]. A key that the kind does not
 * have is an error that names it, except `in`, which goes to *inputs (0 if absent). */
eg_status eg__wiring_parse(const char *text, eg__wiring_options *options, uint32_t *inputs,
                           eg_error *error);

/* A synapse of polarity -1 or 1 (0 removes it). Setting one that exists replaces its polarity. */
static inline void eg__wiring_set(eg__wiring *wiring, uint32_t source, uint32_t destination,
                                  int polarity) {
    wiring->adjacency[(size_t)source * wiring->units + destination] = (int8_t)polarity;
}
static inline void eg__wiring_set_sensory(eg__wiring *wiring, uint32_t source, uint32_t destination,
                                          int polarity) {
    wiring->sensory[(size_t)source * wiring->units + destination] = (int8_t)polarity;
}

const char *eg__wiring_kind_name(eg__wiring_kind kind); /* "autoncp"; static */

#endif
