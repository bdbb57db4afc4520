/* Outer products of SME, in streaming mode: the one product behind all kernels of this folder. */
#ifndef EG__SME_H
#define EG__SME_H

#include "kernels/gemm/gemm.h"

/* What a word of 32 bits holds, along k: a float, two halves or four bytes. Sums are floats or, of bytes,
 * integers. */
typedef enum eg__sme_word { EG__SME_F32, EG__SME_F16, EG__SME_BF16, EG__SME_I8 } eg__sme_word;

/* C = A*B + add, all of words; k and strides count words. B is in panels of 16 columns. */
typedef struct eg__sme_args {
    eg__sme_word word;
    size_t m, n, k;
    const uint32_t *a;
    size_t a_stride;
    const uint32_t *b;
    uint32_t *c; /* floats, or integers */
    size_t c_stride;
    const uint32_t *add; /* of the same type; may be C itself; NULL = nothing */
    size_t add_stride;
} eg__sme_args;

/* Needs EG_CPU_SME. Enters streaming mode once and leaves it; keeps the ZA of whoever called, as the procedure call standard asks
 * (a function with ZA of its own). Any vector length, of which at most 512 bits are used. A sum has the same
 * bits however k is cut, and whatever rows and columns are beside it. */
void eg__sme_product(const eg__sme_args *args);

#endif
