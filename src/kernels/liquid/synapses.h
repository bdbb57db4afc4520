/* Conductance sums over a list of synapses: what liquid time-constant networks compute. */
#ifndef EG__SYNAPSES_H
#define EG__SYNAPSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both ends of a synapse in one 32-bit number, so that the list is as long as a parameter: the
 * source in the lower half, the target in the upper one. EG__NO_SYNAPSE marks padding: read as a
 * float, its bits are NaN and those of a synapse are not, which is how a kernel tells them apart;
 * this limits the number of targets. */
enum { EG__SOURCES_MAX = 1 << 16, EG__TARGETS_MAX = 0x7f80, EG__NO_SYNAPSE = -(1 << 16) };
static inline int32_t eg__synapse_ends(uint32_t source, uint32_t target) {
    return (int32_t)(target << 16 | source);
}
static inline size_t eg__synapse_source(int32_t ends) { return (uint16_t)ends; }
/* Below 0 = padding. */
static inline int32_t eg__synapse_target(int32_t ends) { return ends >> 16; }

/* A list of synapses. `in_lanes`: the list is in rows of EG__LANES, and each lane keeps its target
 * over a group of rows, so that the sums of a group stay in registers. Lanes with fewer synapses
 * are padded; the first lane is the longest of its group, and the first lanes of consecutive groups
 * have different targets, which is how a kernel finds the end of a group. A target may have several
 * lanes. */
enum { EG__LANES = 16 };
typedef struct eg__synapse_list {
    size_t sources, targets, count;
    const int32_t *ends;
    bool in_lanes;
} eg__synapse_list;

/* out[b][t] = sum of a*reversal and out[b][targets + t] = sum of a over the synapses p of target t,
 * with a = weight[p] * sigmoid(slope[p] * (v[b][source[p]] - middle[p])). */
typedef struct eg__synapses_f32_args {
    eg__synapse_list list;
    size_t batch;
    const float *v;
    size_t v_stride;
    const float *weight, *middle, *slope, *reversal;
    float *out;
    size_t out_stride;
    float *scratch; /* eg__synapses_scratch floats, aligned to 64 */
} eg__synapses_f32_args;

/* Samples that are processed side by side, and the scratch that needs. */
enum { EG__SYNAPSES_BLOCK = 64 };
static inline size_t eg__synapses_scratch(size_t sources, size_t targets) {
    return (2 * sources + 2 * targets) * EG__SYNAPSES_BLOCK;
}

/* The gradients: d is the gradient of out, [batch][2 targets]. dv[b][s], or sums over the batch for
 * each synapse: parameters[0..3][p] of weight, middle, slope, reversal. */
typedef struct eg__synapses_back_f32_args {
    eg__synapses_f32_args forward; /* out is not used */
    const float *d;
    size_t d_stride;
    float *result;
    size_t result_stride; /* from sample to sample of dv; from parameter to parameter */
} eg__synapses_back_f32_args;

#endif
