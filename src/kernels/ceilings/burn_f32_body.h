/* burn_f32 for any vector width: included by burn_f32_<isa>.c after its simd header and CHAINS, the
 * number of vectors in flight. The numbers come from memory and all differ, so that no compiler can
 * merge or foresee the chains. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

void SIMD(eg__burn_f32)(size_t turns, float numbers[EG__BURN_LANES]) {
    const vf factor = vf_set(0.75f), term = vf_set(0.25f);
    for (int group = 0; group < EG__BURN_LANES; group += CHAINS * VF_N) {
        vf x[CHAINS];
        UNROLL
        for (int i = 0; i < CHAINS; i++) x[i] = vf_load(numbers + group + i * VF_N);
        for (size_t turn = 0; turn < turns; turn++) {
            UNROLL
            for (int i = 0; i < CHAINS; i++) x[i] = vf_fma(x[i], factor, term);
        }
        UNROLL
        for (int i = 0; i < CHAINS; i++) vf_store(numbers + group + i * VF_N, x[i]);
    }
}
