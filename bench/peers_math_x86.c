/* Vector functions of libmvec and SLEEF on x86-64. SLEEF has no expf of lesser accuracy. */
#include "peers_math.h"

#define AVX2   EG_CPU_AVX2 | EG_CPU_FMA, map_avx2, map_sigmoid_avx2
#define AVX512 EG_CPU_AVX512, map_avx512, map_sigmoid_avx512

const vector_name vector_names[] = {
    {MATH_MVEC, "libmvec", "avx2", MATH_EXP, "_ZGVdN8v_expf", AVX2},
    {MATH_MVEC, "libmvec", "avx2", MATH_TANH, "_ZGVdN8v_tanhf", AVX2},
    {MATH_MVEC, "libmvec", "avx512", MATH_EXP, "_ZGVeN16v_expf", AVX512},
    {MATH_MVEC, "libmvec", "avx512", MATH_TANH, "_ZGVeN16v_tanhf", AVX512},
    {MATH_SLEEF, "sleef u10", "avx2", MATH_EXP, "Sleef_expf8_u10avx2", AVX2},
    {MATH_SLEEF, "sleef u10", "avx2", MATH_TANH, "Sleef_tanhf8_u10avx2", AVX2},
    {MATH_SLEEF, "sleef u35", "avx2", MATH_TANH, "Sleef_tanhf8_u35avx2", AVX2},
    {MATH_SLEEF, "sleef u10", "avx512", MATH_EXP, "Sleef_expf16_u10avx512f", AVX512},
    {MATH_SLEEF, "sleef u10", "avx512", MATH_TANH, "Sleef_tanhf16_u10avx512f", AVX512},
    {MATH_SLEEF, "sleef u35", "avx512", MATH_TANH, "Sleef_tanhf16_u35avx512f", AVX512},
    {.name = NULL},
};
