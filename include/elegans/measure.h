/* What this machine can really do: measured ceilings, and the speed of our kernels against them.
 * Experimental. */
#ifndef ELEGANS_MEASURE_H
#define ELEGANS_MEASURE_H

#include "elegans/base.h"
#include "elegans/model.h"
#include "elegans/publish.h"
#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ceilings -------------------------------------------------------------------------------
 * Each is the best of many short bursts: on a shared machine the best shows what the hardware can do
 * and the median what other load left. For the DRAM it is the upper quartile: a large cache keeps part of any
 * buffer, so the best bursts would show the cache. "one" is one core, "all" every thread of the context at
 * once. A level of the memory that the machine lacks, or whose size it does not report, is
 * unavailable, with the reason in `source`. */
#define EG_CEILING_MAP(X)                                              \
    X(clock, "GHz", "core clock while computing")                      \
    X(fma_one, "GFLOP/s", "f32 FMA peak, one core")                    \
    X(fma_all, "GFLOP/s", "f32 FMA peak, all cores")                   \
    X(fma_per_cycle, "FLOP/cycle", "f32 FMA peak per cycle, one core") \
    X(l1_one, "GB/s", "read L1, one core")                             \
    X(l1_all, "GB/s", "read L1, all cores")                            \
    X(l2_one, "GB/s", "read L2, one core")                             \
    X(l2_all, "GB/s", "read L2, all cores")                            \
    X(l3_one, "GB/s", "read L3, one core")                             \
    X(l3_all, "GB/s", "read L3, all cores")                            \
    X(dram_one, "GB/s", "read DRAM, one core")                         \
    X(dram_all, "GB/s", "read DRAM, all cores")                        \
    X(copy_one, "GB/s", "copy DRAM, one core (read + write)")          \
    X(copy_all, "GB/s", "copy DRAM, all cores (read + write)")         \
    X(last_cache, "MiB", "read faster than the DRAM, one core")        \
    X(launch, "ns", "start and join of all threads")                   \
    X(clock_overhead, "ns", "one reading of the clock")

typedef struct eg_ceilings {
#define EG_CEILING_FIELD(name, unit, text) eg_metric name;
    EG_CEILING_MAP(EG_CEILING_FIELD)
#undef EG_CEILING_FIELD
    int from_cache;       /* 1: measured earlier on this machine */
    int64_t measured_at;  /* seconds since 1970 */
    double seconds;       /* duration of the measurement */
    char fingerprint[24]; /* of the chip it was measured on */
} eg_ceilings;

typedef struct eg_ceilings_options { /* all zero = defaults */
    size_t size;              /* sizeof(eg_ceilings_options); 0 = the fields of version 0.1 */
    int cached;               /* 1: use a stored result of this machine if there is one */
    const char *cache_folder; /* NULL = $XDG_CACHE_HOME/elegans or ~/.cache/elegans */
    double seconds;           /* approximate duration of the measurement; 0 = 1.5 */
    int stored;               /* 1: only a stored result; EG_ERR_NOT_FOUND where there is none */
} eg_ceilings_options;

/* Measures and stores the result for this machine and number of threads; a result that cannot be
 * stored is still returned, with a warning in the log. Keep the machine idle meanwhile. */
EG_API eg_status eg_ceilings_measure(eg_context *context, const eg_ceilings_options *options,
                                     eg_ceilings *out, eg_error *error);

/* Sets peak_flops and levels of a publisher (publish.h) to the stored ceilings of this machine, so that a monitor can say
 * what bounds its steps; `alone` = one thread computes. EG_ERR_NOT_FOUND: none are stored (`elegans info --measure` does),
 * and the options are as before. */
EG_API eg_status eg_publisher_ceilings(eg_context *context, int alone,
                                       eg_publisher_options *options, eg_error *error);

/* ---- bandwidth and matrix products */
typedef struct eg_bench_result {
    eg_metric best;      /* GB/s or GFLOP/s of the fastest repetition */
    eg_metric median;    /* of the median repetition */
    double best_seconds; /* time of one repetition */
    uint64_t repetitions;
    double flops, bytes; /* counted, per repetition */
    unsigned threads;
} eg_bench_result;

/* Memory bandwidth: copies `bytes` bytes `iterations` times (0, 0 = 256 MiB, 20) with every thread of
 * the context; counts what is read and what is written. */
EG_API eg_status eg_bench_copy(eg_context *context, uint64_t bytes, uint64_t iterations,
                               eg_bench_result *out, eg_error *error);
/* Compute throughput: a product of m x k and k x n, weights packed beforehand, `iterations` times
 * (0 = as many as fit into a second). Only EG_F32; another type is EG_ERR_UNSUPPORTED. */
EG_API eg_status eg_bench_gemm(eg_context *context, eg_type type, uint64_t m, uint64_t n,
                               uint64_t k, uint64_t iterations, eg_bench_result *out,
                               eg_error *error);

/* The same with a quantized right side, on one thread. */
EG_API eg_status eg_bench_quantized(eg_context *context, const eg_quantization *quantization,
                                    uint64_t m, uint64_t n, uint64_t k, uint64_t iterations,
                                    eg_bench_result *out, eg_error *error);

/* ---- every kernel of the table, on one typical size each, one thread */
typedef struct eg_bench_kernel {
    const char *operation, *isa; /* static, as `shape` */
    const char *shape;           /* "128x256x256", "4096 tanh" */
    int selected;                /* the context uses it */
    eg_metric speed;             /* GFLOP/s where it computes, else GB/s; or unavailable and why */
    double nanoseconds;          /* one call, best */
    double flops, bytes;         /* counted, one call */
} eg_bench_kernel;
/* Return 0 to continue, anything else to stop. */
typedef int (*eg_bench_kernel_function)(void *user, const eg_bench_kernel *result);
/* `filter` NULL = all; else only operations whose name contains it. */
EG_API eg_status eg_bench_kernels(eg_context *context, const char *filter,
                                  eg_bench_kernel_function function, void *user, eg_error *error);

/* ---- liquid cells: a few typical models, each in three modes. "hot": one step of a stream after the
 * other, best of many bursts. "cold": single steps, the caches emptied before each, the median. "batch":
 * 32 samples over 64 steps at once, best of many runs. */
typedef struct eg_bench_cell {
    const char *name;        /* "cfc-ncp-hot"; static, as `model` and `mode` */
    const char *model;       /* the spec, as eg_model_open takes it */
    const char *mode;        /* "hot", "cold", "batch" */
    eg_metric step;          /* us of one step of one sample, in this mode */
    eg_metric best, median;  /* the same, both of them for every mode */
    eg_metric speed;         /* GFLOP/s at `step` */
    eg_metric peak;          /* GFLOP/s of FMAs on one core, measured just after */
    eg_metric fraction;      /* speed / peak */
    double flops, bytes;     /* counted, one step of one sample */
    uint64_t samples, steps; /* samples at once; steps of one sample that were timed */
} eg_bench_cell;
/* Return 0 to continue, anything else to stop. */
typedef int (*eg_bench_cell_function)(void *user, const eg_bench_cell *result);
/* `filter` NULL = all; else only those whose name contains it. `steps` 0 = as many as fit into 0.3 s,
 * and 100 cold ones; else so many, and at most so many cold ones. The context has one thread, else
 * EG_ERR_ARGUMENT. */
EG_API eg_status eg_bench_cells(eg_context *context, const char *filter, uint64_t steps,
                                eg_bench_cell_function function, void *user, eg_error *error);

/* ---- steps of training: a few typical models and shapes; forward, backward and Adam, the mean square
 * of all outputs as the loss, no elapsed times. */
typedef struct eg_bench_training {
    const char *name;     /* "cfc-ncp-32x16"; static, as `model` */
    const char *model;    /* the spec, as eg_model_open takes it */
    uint64_t batch, time; /* samples, and steps of each */
    unsigned threads;     /* of the context it ran in */
    eg_metric step;       /* ms of one step of training, the best of all rounds */
    eg_metric median;     /* the same, the median of the rounds' medians */
    eg_metric rate;       /* steps/s at `step` */
    eg_metric speed;      /* GFLOP/s at `step`; those of the optimizer are not counted */
    eg_metric peak;       /* GFLOP/s of FMAs on one core, measured just after */
    eg_metric fraction;   /* speed / (threads * peak) */
    eg_metric times_one;  /* speed-up over one thread; unavailable for one thread */
    double flops, bytes;  /* counted, forward and backward */
    uint64_t steps;       /* that were timed */
    eg_metric update;     /* ms of the update within a step, the best: the norm of the gradient, the
                             optimizer, and what depends on the weights */
    double update_flops, update_bytes; /* counted, norm and optimizer */
} eg_bench_training;
/* Return 0 to continue, anything else to stop. */
typedef int (*eg_bench_training_function)(void *user, const eg_bench_training *result);
typedef struct eg_bench_train_options { /* all zero = defaults */
    size_t size;        /* sizeof(eg_bench_train_options); 0 = the fields of version 0.1 */
    const char *filter; /* NULL = all; else only those whose name contains it */
    uint64_t rounds;    /* 0 = 5; at most 99 */
    uint64_t steps;     /* of each round; 0 = as many as fit into 0.1 s */
} eg_bench_train_options;
/* `one` has one thread, else EG_ERR_ARGUMENT. With `several` (NULL = none), the cases with a large batch
 * are measured there, too, alternating rounds: two results of the same name. */
EG_API eg_status eg_bench_train(eg_context *one, eg_context *several,
                                const eg_bench_train_options *options,
                                eg_bench_training_function function, void *user, eg_error *error);

/* ---- latency: every step of a stream timed separately, including those that the system interrupts */
enum { EG_LATENCY_BUCKETS = 256 };
typedef struct eg_latency_bucket {
    uint64_t from, to; /* ns: from <= latency < to; four buckets per doubling from 128 ns on */
    uint64_t count;
} eg_latency_bucket;
typedef struct eg_bench_latency_result {
    uint64_t steps;
    /* us. Percentiles are accurate to 1 %, `least`, `most` and `mean` exact. Each latency includes one reading of
     * the clock. */
    eg_metric p50, p90, p99, p99_9, least, most, mean;
    eg_metric clock_overhead; /* ns of one reading */
    size_t buckets;           /* from the first that is not empty to the last */
    eg_latency_bucket bucket[EG_LATENCY_BUCKETS];
} eg_bench_latency_result;
/* `steps` 0 = 1000000. */
EG_API eg_status eg_bench_latency(eg_model *model, uint64_t steps, eg_bench_latency_result *out,
                                  eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
