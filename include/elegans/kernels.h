/* Which kernels there are, and which of them a context uses.
 * Experimental. */
#ifndef ELEGANS_KERNELS_H
#define ELEGANS_KERNELS_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_kernel_info {
    size_t size;           /* sizeof(eg_kernel_info); 0 = the fields of version 0.1 */
    const char *operation; /* "gemm_f32"; static, as the other texts */
    const char *text;      /* one line of help: "matrix product, right side packed" */
    const char *isa;       /* "avx2", "neon", ..., "ref" */
    unsigned features;     /* eg_cpu_feature bits it needs */
    int usable;            /* 1: this machine can run it */
    int selected;          /* 1: the context uses it for that operation */
} eg_kernel_info;

typedef struct eg_isa_info {
    size_t size;       /* sizeof(eg_isa_info); 0 = the fields of version 0.1 */
    const char *name;  /* "avx512"; static */
    unsigned lanes;    /* floats of a vector */
    unsigned features; /* eg_cpu_feature bits: those of the set, and what it implies */
    int usable;        /* 1: this build has kernels of it that this machine can run */
} eg_isa_info;
/* Instruction sets of this build, the widest first, portable C ("ref") last; past that EG_ERR_ARGUMENT. */
EG_API eg_status eg_isa_list(const eg_context *context, size_t index, eg_isa_info *out,
                             eg_error *error);

/* Kernels in this build, best first within an operation. */
EG_API size_t eg_kernel_count(void);
EG_API eg_status eg_kernel_list(const eg_context *context, size_t index, eg_kernel_info *out,
                                eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
