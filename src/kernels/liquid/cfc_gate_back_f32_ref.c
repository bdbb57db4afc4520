/* cfc_gate_back_f32 is defined by the program it runs. */
#include "kernels/kernels.h"

void eg__cfc_gate_back_f32_ref(const eg__fused_f32_args *args) { eg__fused_f32_ref(args); }
