/* Wirings: the sparse circuits of liquid networks, drawn exactly as the Python package ncps draws
 * them, or given by the user as a list of synapses.
 * Stable. */
#ifndef ELEGANS_WIRING_H
#define ELEGANS_WIRING_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg__wiring eg_wiring; /* opaque; immutable, so any thread may read it */

/* `spec` is one of
 *   "autoncp:UNITS:OUTPUTS,in=N[,sparsity=0.5]"
 *   "ncp:INTER:COMMAND:MOTOR,in=N,sensory_fanout=N,inter_fanout=N,motor_fanin=N[,recurrent=N]"
 *   "full:UNITS[:OUTPUTS],in=N[,self=0]"             self=0: no unit has a synapse to itself
 *   "random:UNITS[:OUTPUTS],in=N[,sparsity=0]"
 * each with [,wiring_seed=N] (without it, the seed that ncps uses: 22222 for the circuits, 1111 for
 * full and random); or a path that ends in ".json", to a wiring as a list of synapses:
 *   {"units": 3, "inputs": 2, "outputs": 1,
 *    "synapses": [[source, destination, polarity], ...],    polarity is 1 or -1
 *    "sensory": [[input, destination, polarity], ...],
 *    "layers": [[2], [1], [0]]}                             optional: up to 3, each unit once
 * On failure *out is NULL. You own *out, and it must go before the context. */
EG_API eg_status eg_wiring_create(eg_context *context, const char *spec, eg_wiring **out,
                                  eg_error *error);
/* A wiring as a list of synapses in memory: the text that such a file has. As above, and EG_ERR_FORMAT names what is
 * wrong in it; EG_ERR_UNSUPPORTED in a build without jansson. */
EG_API eg_status eg_wiring_create_json(eg_context *context, const char *json, size_t length,
                                       eg_wiring **out, eg_error *error);
EG_API void eg_wiring_destroy(eg_wiring *wiring); /* NULL is fine */
/* Writes it as a list of synapses, which eg_wiring_create reads back (as kind "edges"). */
EG_API eg_status eg_wiring_save(const eg_wiring *wiring, const char *path, eg_error *error);

/* ---- queries */

enum { EG_WIRING_LAYERS_MAX = 3 };

typedef struct eg_wiring_info {
    size_t size;      /* sizeof(eg_wiring_info); 0 = the fields of version 0.1 */
    const char *kind; /* "autoncp", "ncp", "full", "random", "edges"; static */
    uint64_t seed;    /* 0 for "edges", which draws nothing */
    uint32_t units, inputs;
    uint32_t outputs; /* the first units: ids 0 to outputs-1 */
    uint32_t layers;  /* circuits: inter, command, motor; others: one of all units */
    uint32_t layer_sizes[EG_WIRING_LAYERS_MAX];
} eg_wiring_info;
EG_API void eg_wiring_info_get(const eg_wiring *wiring, eg_wiring_info *out);

/* What a layer is called: "inter", "command", "motor" of three, "hidden", "motor" of two, "units" of one; static. NULL
 * past the last. */
EG_API const char *eg_wiring_layer_name(const eg_wiring_info *info, uint32_t layer);
/* The id of a unit by its index in a layer; UINT32_MAX past the last. */
EG_API uint32_t eg_wiring_layer_unit(const eg_wiring *wiring, uint32_t layer, uint32_t index);

/* The synapse from one unit (or, for sensory, from one input) to a unit: 1 excites, -1 inhibits, 0
 * is none, also beyond the last unit. */
EG_API int eg_wiring_synapse(const eg_wiring *wiring, uint32_t source, uint32_t destination);
EG_API int eg_wiring_sensory(const eg_wiring *wiring, uint32_t input, uint32_t destination);

/* ---- statistics: all counted */

typedef struct eg_wiring_degree { /* synapses of one unit (or input), over all of them */
    uint32_t least, most;
    double mean;
} eg_wiring_degree;

typedef struct eg_wiring_statistics {
    uint64_t synapses, excitatory, inhibitory; /* between units */
    uint64_t self;                             /* of these, from a unit to itself */
    uint64_t sensory_synapses, sensory_excitatory, sensory_inhibitory; /* from inputs */
    double density, sensory_density; /* synapses as a fraction of a full wiring */
    eg_wiring_degree in, out;        /* of units, from and to units */
    eg_wiring_degree sensory_in;     /* of units, from inputs */
    eg_wiring_degree sensory_out;    /* of inputs */
    uint32_t components;             /* strongly connected components */
    uint32_t largest_component;      /* units in the largest of them */
    uint32_t unreached;              /* units that no input reaches */
    uint64_t
        pairs; /* ordered pairs of different units of which the second is reachable from the first */
    double path_mean;      /* mean length of the shortest paths of these pairs */
    uint32_t path_longest; /* the longest of these */
} eg_wiring_statistics;
/* Takes temporary memory, and time that grows with the cube of the units (1000: milliseconds). */
EG_API eg_status eg_wiring_statistics_get(const eg_wiring *wiring, eg_wiring_statistics *out,
                                          eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
