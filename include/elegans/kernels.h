/* Which kernels there are, and which of them a context uses.
 * Experimental. */
#ifndef ELEGANS_KERNELS_H
#define ELEGANS_KERNELS_H

#include "elegans/base.h"
#include "elegans/chip.h"

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

/* Why this machine cannot run kernel `index`; "" = it can, or there is no such kernel. It belongs to the context. */
EG_API const char *eg_kernel_refusal(const eg_context *context, size_t index);

/* ---- other chips: what would be used there. Nothing of it has run; the provenance is EG_MODELLED. */
typedef struct eg_kernel_choice {
    size_t size;           /* sizeof(eg_kernel_choice); 0 = the fields of version 0.1 */
    const char *operation; /* "gemm_f32"; static, as the other texts */
    const char *text;      /* "matrix product, right side packed" */
    const char *isa;       /* of the row: "neon", "i8mm", ... */
    eg_provenance provenance;
} eg_kernel_choice;
/* Operations that kernels compute. */
EG_API size_t eg_operation_count(void);
/* eg_cpu_feature bits of a chip of the table. */
EG_API unsigned eg_chip_row_features(const eg_chip_row *chip);
/* The row that large enough shapes of an operation would get. */
EG_API eg_status eg_kernel_choice_get(const eg_chip_row *chip, size_t operation,
                                      eg_kernel_choice *out, eg_error *error);

/* Blocks of f32 products with NEON. */
typedef struct eg_blocks {
    size_t size;                      /* sizeof(eg_blocks); 0 = the fields of version 0.1 */
    unsigned tile_rows, tile_columns; /* of the result, in registers */
    unsigned sums;                    /* vectors of a tile */
    unsigned sums_needed; /* to keep all pipes busy: pipes x latency; 0 = not in the table */
    unsigned rows, depth; /* of a block of the left side: L2, L1 */
    unsigned band;        /* rows at a time of a tall product, 128 deep */
    eg_provenance provenance;
} eg_blocks;
/* `slow` 1 = of the slow cores. EG_ERR_NOT_FOUND: the table lacks their caches. */
EG_API eg_status eg_blocks_of(const eg_chip_row *chip, int slow, eg_blocks *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
