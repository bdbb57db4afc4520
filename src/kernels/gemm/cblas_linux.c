/* Where Linux has a CBLAS. */
#include "kernels/gemm/cblas.h"

const char *const eg__cblas_names[] = {"libopenblas.so.0", "libblis.so.4", "libcblas.so.3",
                                       "libblas.so.3", NULL};
