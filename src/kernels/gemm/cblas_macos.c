/* Where macOS has its CBLAS. */
#include "kernels/gemm/cblas.h"

const char *const eg__cblas_names[] = {"/System/Library/Frameworks/Accelerate.framework/Accelerate",
                                       NULL};
