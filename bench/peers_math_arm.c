/* Vector functions of libmvec (glibc 2.38 and later) and SLEEF on 64-bit ARM. */
#include "peers_math.h"

#define NEON EG_CPU_NEON, map_neon, map_sigmoid_neon

const vector_name vector_names[] = {
    {MATH_MVEC, "libmvec", "neon", MATH_EXP, "_ZGVnN4v_expf", NEON},
    {MATH_MVEC, "libmvec", "neon", MATH_TANH, "_ZGVnN4v_tanhf", NEON},
    {MATH_SLEEF, "sleef u10", "neon", MATH_EXP, "Sleef_expf4_u10advsimd", NEON},
    {MATH_SLEEF, "sleef u10", "neon", MATH_TANH, "Sleef_tanhf4_u10advsimd", NEON},
    {MATH_SLEEF, "sleef u35", "neon", MATH_TANH, "Sleef_tanhf4_u35advsimd", NEON},
    {.name = NULL},
};
