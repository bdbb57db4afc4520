/* The hand-written gates on x86-64. */
#include "gate_loops.h"

const gate_name gate_names[] = {
    {"avx2", "two vectors", gate2_avx2},
    {"avx2", "four vectors", gate4_avx2},
    {"avx512", "two vectors", gate2_avx512},
    {"avx512", "four vectors", gate4_avx512},
    {.isa = NULL},
};
