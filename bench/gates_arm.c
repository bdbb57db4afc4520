/* The hand-written gates on ARM. */
#include "gate_loops.h"

const gate_name gate_names[] = {
    {"neon", "two vectors", gate2_neon},
    {"neon", "four vectors", gate4_neon},
    {.isa = NULL},
};
