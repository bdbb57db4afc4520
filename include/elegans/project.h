/* Projections: the time of a program on another chip, from the FLOPs and bytes of its steps, the ceilings of
 * the chip and the efficiency of our kernels.
 * Experimental. */
#ifndef ELEGANS_PROJECT_H
#define ELEGANS_PROJECT_H

#include "elegans/chip.h"
#include "elegans/measure.h"
#include "elegans/model.h"
#include "elegans/profile.h"
#include "elegans/program.h"
#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- efficiencies: the time of each kind of work, as a multiple of the time at the ceiling. A step takes
 *     call + rows * row + (product/peak) * product + (simple/peak) * simple +
 *     (functions/peak) * functions + (bytes/bandwidth) * bytes
 * where bandwidth is that of the level of the memory that its footprint fits into. */
typedef struct eg_work_efficiency {
    double call, row;                         /* ns */
    double product, simple, functions, bytes; /* >= 0; 0 = no effect */
    double error;   /* standard deviation of (predicted - measured) / measured */
    unsigned cases; /* used for the fit */
} eg_work_efficiency;
typedef struct eg_efficiency {
    eg_work_efficiency work[EG_WORK_COUNT];
    double run;      /* ns of a run in addition to its steps */
    double error;    /* root mean square over all cases */
    double clock;    /* GHz of the machine it was fitted on: ns scale with the clock */
    double level[3]; /* bytes of L1, L2, L3 that are read in the time of one FLOP at the peak */
    eg_provenance provenance;
    const char *source; /* static */
} eg_efficiency;
/* Built-in efficiencies, fitted on one machine. */
EG_API void eg_efficiency_default(eg_efficiency *out);
/* Fitted to single kernels (products, chains, synapses, rows, copies of a few shapes each), measured here
 * in about `seconds` (0 = 1.5). No model is among them. The context has one thread, else EG_ERR_ARGUMENT. */
EG_API eg_status eg_efficiency_fit(eg_context *context, const eg_ceilings *ceilings, double seconds,
                                   eg_efficiency *out, eg_error *error);

/* ---- projections */
#define EG_UNIT_MAP(X)                        \
    X(EG_UNIT_CORES, "cores")                 \
    X(EG_UNIT_GPU, "GPU")                     \
    X(EG_UNIT_NEURAL_ENGINE, "Neural Engine") \
    X(EG_UNIT_MATRIX, "matrix unit") /* AMX or SME for the products that are worth it */
typedef enum eg_unit {
#define EG_UNIT_ENUM(name, text) name,
    EG_UNIT_MAP(EG_UNIT_ENUM)
#undef EG_UNIT_ENUM
        EG_UNIT_COUNT
} eg_unit;
EG_API const char *eg_unit_name(eg_unit unit); /* "cores"; static, NULL past the last */

typedef struct eg_unit_projection {
    eg_metric seconds;           /* of one run; unavailable, with the reason, where it cannot run */
    double low, high;            /* seconds: 95 % interval, about */
    eg_metric tflops, bandwidth; /* TFLOP/s; GB/s of operands, from any level */
    double compute, memory, overhead; /* shares of the time; together 1 */
    const char *condition;            /* under which the figures hold; static */
    eg_metric utilization; /* ratio: tflops over the peak of these cores, or of the unit */
    /* GB/s to and from DRAM: for the cores without cache hits, for the other units all of `bandwidth`. Compare this
     * with a bandwidth requirement. */
    eg_metric memory_bandwidth;
} eg_unit_projection;
typedef struct eg_projection {
    char chip[96];
    unsigned threads;    /* available; each step uses the number that is fastest */
    double flops, bytes; /* counted, one run */
    eg_unit_projection unit[EG_UNIT_COUNT];
    eg_unit best; /* the fastest */
    /* seconds that one core takes to start the steps; of a projector, for one sample, whatever the batch. Use it as
     * `overhead` of eg_requirement_check_run. */
    double start;
} eg_projection;

typedef struct eg_project_options {  /* all zero = defaults */
    size_t size;                     /* sizeof(eg_project_options); 0 = the fields of version 0.1 */
    const eg_efficiency *efficiency; /* NULL = eg_efficiency_default */
    unsigned threads; /* at most; 0 = one per core, fast or slow; of this machine: 1 */
    /* Set both to project to the cores of this machine, by measured ceilings instead of by the row. */
    const eg_chip *chip;
    const eg_ceilings *ceilings;
    /* Data type to assume instead of f32, of a program that was compiled in f32. EG_F16, EG_BF16: of all weights and
     * values. EG_I8, EG_I4: of the right sides of products, in blocks of 32 with an f16 scale; the rest stays f32. */
    eg_type type;
} eg_project_options;
/* Cores: our kernels at their efficiency, relative to the peak of one fast core; every step uses the number of
 * threads that is fastest, fast cores first (a slow one called Efficiency has half of the pipes, any other as
 * many), so that more or faster cores, larger caches and more bandwidth never make it slower. The interval widens with
 * everything that the fit has not covered: kernels of another machine (0.25 of a standard deviation), a chip of the
 * table alone (0.25), another clock (0.25 per factor of two), threads (0.05 per factor of two), slow cores (0.2). A
 * system-level cache that the table leaves blank is assumed as on chips with an equally wide memory bus. Matrix unit: the
 * same cores with large products on the units of the fast clusters, one thread each, where that is faster (the rows amx and
 * sme of the kernel list); its peak is that of the table, else that of the first chip with such a unit by the clock; a share
 * of it is reached, as published. GPU and Neural
 * Engine: the time if the program ran there, which it does not yet; with published constants (in the
 * source), a launch per step and a start per run, and an interval of a factor of two. All of it is EG_MODELLED.
 * Types: the cores of a chip of the table compute twice as many f16 as f32 at once; everything else is widened
 * to f32 as it is read, at no cost, so that only the bytes are fewer. GPUs are assumed to be as fast in f16 as
 * in f32. The Neural Engine has f16 and no bf16; its i8 rate is the table's, where the table gives it in i8.
 * Another type is EG_ERR_UNSUPPORTED.
 * `row` may be NULL where options have chip and ceilings; `options` may be NULL. */
EG_API eg_status eg_project(size_t count, const eg_step_cost *costs, const eg_chip_row *row,
                            const eg_project_options *options, eg_projection *out, eg_error *error);

/* ---- a model at any batch, on any chip. It is compiled at 1, 2, 4, ... samples up to the batch; twice as many
 * samples take at least as long as half of them and at most twice as long (as two runs), and batches in between are
 * interpolated linearly. So on every unit, and on the fastest one, a larger batch takes neither less time in total nor
 * more time per sample. */
typedef struct eg_projector eg_projector; /* opaque; independent of the model once created */
/* `options` has the largest batch (up to 2^20), the length and whether passes run; NULL = one sample of one step.
 * You own *out. */
EG_API eg_status eg_projector_create(eg_model *model, const eg_profile_options *options,
                                     eg_projector **out, eg_error *error);
EG_API void eg_projector_destroy(eg_projector *projector); /* NULL is fine */
/* As eg_project. EG_ERR_ARGUMENT: a batch of 0, or above the largest batch rounded up to a power of two. */
EG_API eg_status eg_projector_project(const eg_projector *projector, uint64_t batch,
                                      const eg_chip_row *row, const eg_project_options *options,
                                      eg_projection *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
