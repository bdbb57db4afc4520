/* The gate of a CfC cell written by hand: what a fused program would be as a kernel of its own. */
#ifndef BENCH_GATE_LOOPS_H
#define BENCH_GATE_LOOPS_H

#include "peers.h"

/* out = f + t*(g - f) with f = tanh(a), g = tanh(b), t = sigmoid(ta*ts + tb), all of rows x columns
 * but ts, which has a value per row; columns are a multiple of 64. */
typedef struct gate_problem {
    size_t rows, columns;
    float *a, *b, *ta, *tb, *ts, *out;
} gate_problem;

/* On two or on four vectors at once; `state` is a gate_problem. */
void gate2_avx2(void *state);
void gate4_avx2(void *state);
void gate2_avx512(void *state);
void gate4_avx512(void *state);
void gate2_neon(void *state);
void gate4_neon(void *state);

/* ---- gates_<family>.c: what there is; the one without a name ends it. */
typedef struct gate_name {
    const char *isa, *variant;
    void (*run)(void *state);
} gate_name;
extern const gate_name gate_names[];

#endif
