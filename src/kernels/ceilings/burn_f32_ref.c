/* burn_f32 in plain C. */
#include "kernels/kernels.h"

void eg__burn_f32_ref(size_t turns, float numbers[EG__BURN_LANES]) {
    for (int i = 0; i < EG__BURN_LANES; i++)
        for (size_t turn = 0; turn < turns; turn++)
            numbers[i] = (float)((double)numbers[i] * 0.75 + 0.25);
}
