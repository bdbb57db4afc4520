/* A vector function of another library over an array: how a loop over it looks at its best. */
#ifndef BENCH_MATH_LOOPS_H
#define BENCH_MATH_LOOPS_H

#include "peers.h"

/* A function of one vector, as found by its name; math_loops_<isa>.c knows its real type. */
typedef void (*vector_address)(void);

typedef struct vector_map {
    vector_address function;
    size_t n; /* a multiple of 16 */
    const float *x;
    float *y;
} vector_map;

/* y = f(x), and y = 1/(1 + f(-x)), which is the sigmoid when f is exp. `state` is a vector_map. */
void map_avx2(void *state);
void map_sigmoid_avx2(void *state);
void map_avx512(void *state);
void map_sigmoid_avx512(void *state);
void map_neon(void *state);
void map_sigmoid_neon(void *state);

#endif
