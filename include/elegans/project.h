/* Projections: what a program would take on a chip, from the FLOPs and bytes of its steps, the ceilings of
 * the chip and what our kernels make of ceilings. */
#ifndef ELEGANS_PROJECT_H
#define ELEGANS_PROJECT_H

#include "elegans/chip.h"
#include "elegans/measure.h"
#include "elegans/program.h"
#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- costs: what a step does, as counts */
#define EG_KIND_MAP(X)                                                  \
    X(EG_KIND_GEMM, "gemm") /* products of more than one row */         \
    X(EG_KIND_GEMV, "gemv") /* of one row */                            \
    X(EG_KIND_FUSED, "fused")                                           \
    X(EG_KIND_SYNAPSES, "synapses")      /* of more than one sample */  \
    X(EG_KIND_SYNAPSES_ONE, "synapses1") /* of one: another loop */     \
    X(EG_KIND_SUMS, "sums")              /* and other reductions */     \
    X(EG_KIND_NORMS, "norms")            /* and softmax */              \
    X(EG_KIND_MOVE, "move")              /* copies, gathers, packing */ \
    X(EG_KIND_SCAN, "scan")              /* the loop itself; rows = its length */
typedef enum eg_kind {
#define EG_KIND_ENUM(name, text) name,
    EG_KIND_MAP(EG_KIND_ENUM)
#undef EG_KIND_ENUM
        EG_KIND_COUNT
} eg_kind;
EG_API const char *eg_kind_name(eg_kind kind); /* "gemm"; static, NULL past the last */

typedef struct eg_step_cost {
    eg_kind kind;
    const char *kernel; /* as eg_step_info has it; static, may be NULL */
    double calls;       /* in one run; the rest is of one call */
    double flops;       /* as counted: what TFLOP/s are computed from */
    double bytes;
    /* What the time is computed from. All three 0 = flops, as a product where it is one. */
    double product;   /* FLOPs of products, the columns filled up to whole panels */
    double simple;    /* elementwise operations of few instructions: add, fma, max; rows of
                       * several are filled up to whole vectors, as functions are */
    double functions; /* elementwise functions, each counted as the FLOPs it takes: tanh 18 */
    double rows;      /* of what it writes, each of which begins anew */
    double footprint; /* bytes touched until it is called again; 0 = bytes */
    int in_scan;      /* 1: threads share the scan, not the step */
} eg_step_cost;
/* Of every step of a run, without the prologue. `out` has room for eg_program_info.steps. */
EG_API eg_status eg_program_costs(const eg_program *program, eg_step_cost *out, size_t *count,
                                  eg_error *error);

/* ---- efficiencies: what a kind of kernel takes, in times of what the ceiling would allow. A step takes
 *     call + rows * row + (product/peak) * product + (simple/peak) * simple +
 *     (functions/peak) * functions + (bytes/bandwidth) * bytes
 * where bandwidth is that of the level of the memory that its footprint fits into. */
typedef struct eg_kind_efficiency {
    double call, row;                         /* ns */
    double product, simple, functions, bytes; /* >= 0; 0 = not noticed */
    double error;   /* standard deviation of (predicted - measured) / measured */
    unsigned cases; /* that it was fitted on */
} eg_kind_efficiency;
typedef struct eg_efficiency {
    eg_kind_efficiency kind[EG_KIND_COUNT];
    double run;      /* ns that a run takes beside its steps */
    double error;    /* its root mean square over all cases */
    double clock;    /* GHz of the machine it was fitted on: ns scale with the clock */
    double level[3]; /* bytes of L1, L2, L3 that are read in the time of one FLOP at the peak */
    eg_provenance provenance;
    const char *source; /* static */
} eg_efficiency;
/* Those of one machine, kept in the source for when nobody wants to measure. */
EG_API void eg_efficiency_default(eg_efficiency *out);
/* Fitted to single kernels (products, chains, synapses, rows, copies of a few shapes each), measured here
 * in about `seconds` (0 = 1.5). No model is among them. The context has one thread, else EG_ERR_ARGUMENT. */
EG_API eg_status eg_efficiency_fit(eg_context *context, const eg_ceilings *ceilings, double seconds,
                                   eg_efficiency *out, eg_error *error);

/* ---- projections */
#define EG_UNIT_MAP(X)        \
    X(EG_UNIT_CORES, "cores") \
    X(EG_UNIT_GPU, "GPU")     \
    X(EG_UNIT_NEURAL_ENGINE, "Neural Engine")
typedef enum eg_unit {
#define EG_UNIT_ENUM(name, text) name,
    EG_UNIT_MAP(EG_UNIT_ENUM)
#undef EG_UNIT_ENUM
        EG_UNIT_COUNT
} eg_unit;
EG_API const char *eg_unit_name(eg_unit unit); /* "cores"; static, NULL past the last */

typedef struct eg_unit_projection {
    eg_metric seconds;                /* of one run; unavailable: it cannot run there, and why */
    double low, high;                 /* seconds: about 95 % of the time it is between */
    eg_metric tflops, bandwidth;      /* TFLOP/s, GB/s */
    double compute, memory, overhead; /* shares of the time; together 1 */
    const char *condition;            /* what must hold for it; static */
    eg_metric utilization; /* ratio: tflops over the peak of these cores, or of the unit */
} eg_unit_projection;
typedef struct eg_projection {
    char chip[96];
    unsigned threads;    /* of the cores */
    double flops, bytes; /* counted, one run */
    eg_unit_projection unit[EG_UNIT_COUNT];
    eg_unit best; /* the quickest */
} eg_projection;

typedef struct eg_project_options {  /* all zero = defaults */
    size_t size;                     /* sizeof(eg_project_options), or 0 = version 0.1 */
    const eg_efficiency *efficiency; /* NULL = eg_efficiency_default */
    unsigned threads;                /* 0 = one per fast core; here: 1 */
    /* Both: the cores are those of this machine, by what was measured instead of by the row. */
    const eg_chip *chip;
    const eg_ceilings *ceilings;
    /* What would be stored, and so read and written, in another type than EG_F32, of a program that was
     * compiled in f32. EG_F16, EG_BF16: all weights and values. EG_I8, EG_I4: the right sides of products, in
     * blocks of 32 with a scale in f16; the rest stays f32. */
    eg_type type;
} eg_project_options;
/* Cores: our kernels at their efficiency, in times of the peak of one fast core; where the chip is another
 * than that of the fit this assumes that its kernels are as good, and the band is wider. GPU and Neural
 * Engine: what it would take if the program ran there, which it does not yet; constants of others (in the
 * source), a launch per step and a start per run, the band a factor of two. All of it is EG_MODELLED.
 * Types: the cores of a chip of the table compute twice as many f16 as f32 at once; everything else is widened
 * to f32 as it is read, at no cost, so that only the bytes are fewer. GPUs are assumed to be as quick in f16 as
 * in f32. The Neural Engine has f16 values and no bf16; of i8 it computes what the table says where that counts i8.
 * Another type is EG_ERR_UNSUPPORTED.
 * `row` may be NULL where options have chip and ceilings; `options` may be NULL. */
EG_API eg_status eg_project(size_t count, const eg_step_cost *costs, const eg_chip_row *row,
                            const eg_project_options *options, eg_projection *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
