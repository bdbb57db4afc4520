/* The names of vector functions, a list per processor family. */
#ifndef BENCH_PEERS_MATH_H
#define BENCH_PEERS_MATH_H

#include "math_loops.h"

typedef enum math_library { MATH_MVEC, MATH_SLEEF, MATH_LIBRARIES } math_library;

typedef struct vector_name {
    math_library library;
    const char *name, *variant;
    math_function function; /* exp serves the sigmoid, too */
    const char *symbol;
    unsigned features; /* eg_cpu_feature bits that must be there */
    void (*map)(void *state);
    void (*map_sigmoid)(void *state);
} vector_name;

extern const vector_name vector_names[]; /* the one without a name ends it */

#endif
