/* The one list of kernels: every row of kernels.def is declared, found and tested through here. */
#ifndef EG__KERNELS_H
#define EG__KERNELS_H

#include "base/base.h"
#include "chip/chip.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_cached.h"
#include "kernels/conv/conv.h"
#include "kernels/fused/fused.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_halves.h"
#include "kernels/operation.h"
#include "kernels/rows/rows.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/infile.h"
#include "kernels/liquid/synapses.h"

/* ---- what a kernel of each operation looks like */
typedef void eg__gemm_f32_function(const eg__gemm_f32_args *args);
typedef void eg__gemm_tn_f32_function(const eg__gemm_tn_f32_args *args);
typedef void eg__gemv_f32_function(const eg__gemv_f32_args *args);
typedef void eg__fused_f32_function(const eg__fused_f32_args *args);
typedef void eg__cfc_gate_f32_function(const eg__fused_f32_args *args); /* see eg__fused_pick */
typedef void eg__cfc_gate_back_f32_function(const eg__fused_f32_args *args);
typedef void eg__ltc_update_f32_function(const eg__fused_f32_args *args);
typedef void eg__reduce_f32_function(const eg__reduce_f32_args *args);
typedef void eg__column_sum_f32_function(const eg__column_sum_f32_args *args);
typedef void eg__squares_f32_function(const eg__squares_f32_args *args);
typedef void eg__softmax_f32_function(const eg__softmax_f32_args *args);
typedef void eg__layernorm_f32_function(const eg__norm_f32_args *args);
typedef void eg__rmsnorm_f32_function(const eg__norm_f32_args *args);
typedef void eg__copy_f32_function(const eg__move_f32_args *args);
typedef void eg__transpose_f32_function(const eg__move_f32_args *args);
typedef void eg__gather_f32_function(const eg__gather_f32_args *args);
typedef void eg__synapses_f32_function(const eg__synapses_f32_args *args);
typedef void eg__synapses_dv_f32_function(const eg__synapses_back_f32_args *args);
typedef void eg__synapses_dp_f32_function(const eg__synapses_back_f32_args *args);
typedef void eg__attention_f32_function(const eg__attention_f32_args *args);
typedef void eg__attention_dq_f32_function(const eg__attention_f32_args *args);
typedef void eg__attention_dkv_f32_function(const eg__attention_f32_args *args);
typedef void eg__attention_cached_f32_function(const eg__attention_cached_f32_args *args);
typedef void eg__rotary_f32_function(const eg__rotary_f32_args *args);
typedef void eg__unfold_f32_function(const eg__unfold_f32_args *args);
typedef void eg__depthwise_f32_function(const eg__depthwise_f32_args *args);
typedef void eg__depthwise_dw_f32_function(const eg__depthwise_dw_f32_args *args);
typedef void eg__gemm_quantized_function(const eg__gemm_quantized_args *args);
typedef eg__gemm_quantized_function eg__gemm_f16_function, eg__gemm_bf16_function,
    eg__gemm_i8_function, eg__gemm_i4_function, eg__gemm_i8i8_function, eg__gemm_i4i8_function;
typedef void eg__gemm_halves_function(const eg__gemm_halves_args *args);
typedef eg__gemm_halves_function eg__gemm_f16f16_function, eg__gemm_bf16bf16_function;
typedef void eg__infile_function(const eg__infile_args *args);
typedef eg__infile_function eg__infile_f32_function, eg__infile_f16_function,
    eg__infile_bf16_function, eg__infile_q8_function, eg__infile_q4_function,
    eg__infile_q8i8_function, eg__infile_q4i8_function;
/* n elements; rounding to nearest, ties to even; a NaN stays a (quiet) NaN */
typedef void eg__f16_to_f32_function(size_t n, const uint16_t *x, float *y);
typedef void eg__f32_to_f16_function(size_t n, const float *x, uint16_t *y);
typedef void eg__bf16_to_f32_function(size_t n, const uint16_t *x, float *y);
typedef void eg__f32_to_bf16_function(size_t n, const float *x, uint16_t *y);
/* Kernels that measure ceilings: burn computes x = x*0.75 + 0.25 `turns` times on EG__BURN_LANES
 * values, with all FMA pipes busy; read sums n floats (n a multiple of 256, aligned to 64). */
enum { EG__BURN_LANES = 384 };
typedef void eg__burn_f32_function(size_t turns, float numbers[EG__BURN_LANES]);
typedef float eg__read_f32_function(size_t n, const float *x);

/* ---- the table */
#define KERNEL(op, isa, ...) eg__##op##_function eg__##op##_##isa;
#include "kernels/kernels.def"

/* The function of a row (a union), or one function per operation (a struct with the same names). */
typedef union eg__kernel_function {
#define OPERATION(name, ...) eg__##name##_function *name;
#include "kernels/kernels.def"
} eg__kernel_function;
typedef struct eg__kernels {
#define OPERATION(name, ...) eg__##name##_function *name;
#include "kernels/kernels.def"
    const struct eg__kernel *row[EG__OP_COUNT]; /* the row that each came from */
    const char *isa;                            /* the isa of gemm_f32, for reports */
    const struct eg__kernel *table;             /* the candidates, best first */
    size_t rows;
    unsigned features;      /* that rows may need */
    eg__gemm_blocks blocks; /* cache blocking; set by whoever knows the caches */
    unsigned clusters; /* of the cores that threads run on, for rows with units; 0 = unknown: one */
} eg__kernels;

/* The shape of a call: rows, columns and depth of a product or of the result. Synapses: n targets,
 * k sources; attention: n and k columns of a value and of a key; rotary: k columns of a head. */
typedef struct eg__kernel_shape {
    size_t m, n, k;
    eg_type type;                  /* of a quantized right side */
    size_t groups;                 /* of its scales */
    eg__infile_format format;      /* of a right side in file layout */
    const eg__conv_shape *conv;    /* of a convolution, else NULL */
    const eg__gemm_blocks *blocks; /* of a product; NULL = EG__GEMM_BLOCKS */
    bool cut; /* a call has some of the rows: no row of kernels that wants all of them */
} eg__kernel_shape;
typedef size_t eg__kernel_scratch_function(const eg__kernel_shape *shape);

typedef struct eg__kernel {
    eg__operation operation;
    const char *isa, *name; /* "avx2", "gemm_f32_avx2" */
    eg__kernel_function function;
    unsigned lanes;    /* floats of a vector */
    unsigned features; /* features that it needs, all of them */
    struct eg__kernel_least {
        size_t m, n, k;
    } least; /* minimum sizes, below which the next row is better; 0 = any */
    eg__kernel_scratch_function *scratch; /* NULL = that of the operation */
    eg__gemm_blocks blocks;               /* of products; 0 = from the cache sizes */
    const struct eg__cblas *cblas;        /* in rows of a context: the library it opened */
    bool whole;                           /* one thread makes all rows: their bits depend on m */
    bool widens;                          /* halves become f32: no faster than products of f32 */
    unsigned units; /* matrix units shared by a cluster of cores; 0 = one per core */
    /* Called by every thread before and after its calls for a step, for units that are switched on
     * and off; NULL = nothing to do. Whoever calls the function of a row directly calls them. */
    void (*enter)(void), (*leave)(void);
} eg__kernel;
static inline void eg__kernel_enter(const eg__kernel *kernel) {
    if (kernel->enter) kernel->enter();
}
static inline void eg__kernel_leave(const eg__kernel *kernel) {
    if (kernel->leave) kernel->leave();
}
/* A feature of no processor: contexts that opened a CBLAS have it. */
#define EG__NEEDS_CBLAS (1u << 31)
eg__kernel_scratch_function eg__scratch_cblas;
/* Bytes of scratch memory, aligned to 64, that a call needs. */
size_t eg__kernel_scratch(const eg__kernel *kernel, const eg__kernel_shape *shape);
#define OPERATION(name, text, scratch) eg__kernel_scratch_function eg__scratch_##scratch;
#include "kernels/kernels.def" /* `none` is never defined */
/* of rows that have one of their own */
eg__kernel_scratch_function eg__scratch_gemm_amx, eg__scratch_halves_amx, eg__scratch_integers_amx;
void eg__amx_enter(void);
void eg__amx_leave(void);
/* Whether a process may use AMX: a child attempts it (eg__amx_try), and a signal there is a refusal. */
enum { EG__AMX_REASON = 96 };
void eg__amx_try(void);
bool eg__amx_allowed(void (*attempt)(void), char reason[EG__AMX_REASON]);

/* Intel's AMX. Whether a process may use it: `ask` returns 0 or the errno of the system (eg__tile_ask). */
eg__kernel_scratch_function eg__scratch_halves_tile, eg__scratch_integers_tile;
void eg__tile_enter(void);
void eg__tile_leave(void);
int eg__tile_ask(void);
bool eg__tile_allowed(int (*ask)(void), char reason[EG__AMX_REASON]);

/* An instruction set: a name for the features that kernels may need. */
typedef struct eg__isa {
    const char *name;
    unsigned lanes;    /* floats of a vector */
    unsigned bytes;    /* byte products per float product */
    unsigned features; /* it and what it implies */
} eg__isa;
const eg__isa *eg__isa_row(size_t index);       /* the widest first; NULL past the last */
const eg__isa *eg__isa_named(const char *name); /* NULL = none of this build */

size_t eg__kernel_count(void);
const eg__kernel *eg__kernel_row(size_t index);
const char *eg__operation_name(eg__operation operation); /* "gemm_f32"; static */
const char *eg__operation_text(eg__operation operation); /* "matrix product ..."; static */

/* ---- which operation computes what */
/* The operation of a fused program: a compiled kernel if there is one, else the interpreter. All
 * are called like fused_f32. */
eg__operation eg__fused_operation(const eg__fused_program *program);
/* A product with a packed right side of this type; with `integers`, the rows of the left side become int8. All of them are
 * called as gemm_f16 is. */
eg__operation eg__quantized_operation(eg_type type, bool integers);
/* A product of two sides of this type, f16 or bf16; both are called alike. */
static inline eg__operation eg__halves_operation(eg_type type) {
    return type == EG_BF16 ? EG__OP_gemm_bf16bf16 : EG__OP_gemm_f16f16;
}
/* f16 or bf16 to f32, and back; the functions are of the same type. */
static inline eg__operation eg__widen_operation(eg_type type) {
    return type == EG_BF16 ? EG__OP_bf16_to_f32 : EG__OP_f16_to_f32;
}
static inline eg__operation eg__narrow_operation(eg_type type) {
    return type == EG_BF16 ? EG__OP_f32_to_bf16 : EG__OP_f32_to_f16;
}
/* Widens n values (whole blocks) in file layout to f32; `halves` is a kernel of
 * eg__infile_widen_operation. */
void eg__infile_widen(eg__f16_to_f32_function *halves, eg__infile_format format, size_t n,
                      const void *from, float *to);
static inline eg__operation eg__infile_widen_operation(eg__infile_format format) {
    return eg__widen_operation(eg__infile_traits_of(format)->type);
}

/* The kernels that a convolution needs. */
typedef struct eg__conv_kernels {
    eg__unfold_f32_function *unfold;
    eg__gemm_f32_function *gemm;
    eg__depthwise_f32_function *depthwise;
    eg__depthwise_dw_f32_function *depthwise_dw; /* the gradient by the filters alone */
    eg__transpose_f32_function *transpose;       /* the same */
    const eg__gemm_blocks *blocks;
} eg__conv_kernels;
static inline eg__conv_kernels eg__conv_kernels_of(const eg__kernels *kernels) {
    return (eg__conv_kernels){kernels->unfold_f32,    kernels->gemm_f32,
                              kernels->depthwise_f32, kernels->depthwise_dw_f32,
                              kernels->transpose_f32, &kernels->blocks};
}

/* Picks the best row per operation whose features the machine has. With `isa`, only rows that need
 * no more than that instruction set and what it implies; an unknown name, or one that the machine
 * cannot run, is an error. */
eg_status eg__kernels_select(unsigned features, const char *isa, eg__kernels *out, eg_error *error);
/* The row for one shape: the first candidate whose minimum sizes the shape reaches. */
const eg__kernel *eg__kernels_pick(const eg__kernels *kernels, eg__operation operation,
                                   const eg__kernel_shape *shape);

#endif
