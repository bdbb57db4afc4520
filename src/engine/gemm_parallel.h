/* One large product over all threads of a context. */
#ifndef EG__GEMM_PARALLEL_H
#define EG__GEMM_PARALLEL_H

#include "base/threads.h"
#include "kernels/kernels.h"

/* Floats of scratch that a product needs with `threads` threads; 0 = none. */
size_t eg__gemm_parallel_scratch(size_t m, size_t n, size_t k, const eg__gemm_blocks *blocks,
                                 unsigned threads);
/* As args->m x n x k by `kernel`, its rows cut into bands whose size depends on the shape alone:
 * the same bits for any number of threads. args->scratch holds what the function above says. */
void eg__gemm_parallel(eg__threads *threads, eg__gemm_f32_function *kernel,
                       const eg__gemm_f32_args *args);

#endif
