/* The loops for any vector width: included by math_loops_<isa>.c after its simd header. Nothing is
 * gained by taking several vectors at once: the function is called, not inlined. */
#include "math_loops.h"

typedef vf vector_function(vf x);

void SIMD(map)(void *state) {
    const vector_map *map = state;
    vector_function *f = (vector_function *)map->function;
    for (size_t i = 0; i < map->n; i += VF_N) vf_store(map->y + i, f(vf_load(map->x + i)));
}

void SIMD(map_sigmoid)(void *state) {
    const vector_map *map = state;
    vector_function *f = (vector_function *)map->function;
    const vf one = vf_set(1.0f), sign = vf_set(-0.0f);
    for (size_t i = 0; i < map->n; i += VF_N) {
        vf e = f(vf_xor(vf_load(map->x + i), sign));
        vf_store(map->y + i, vf_div(one, vf_add(one, e)));
    }
}
