/* Profiles: time, traffic and memory of a program, step by step, and what follows from them.
 * Experimental. */
#ifndef ELEGANS_PROFILE_H
#define ELEGANS_PROFILE_H

#include "elegans/chip.h"
#include "elegans/measure.h"
#include "elegans/memory.h"
#include "elegans/model.h"
#include "elegans/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording: events in preallocated memory. Programs that are not recorded have no overhead. */
typedef struct eg_recorder eg_recorder; /* opaque; for one instance at a time */
typedef struct eg_recorder_options {    /* all zero = every run, 65536 events per thread */
    size_t size;     /* sizeof(eg_recorder_options); 0 = the fields of version 0.1 */
    uint64_t events; /* per thread, rounded up to a power of two; the oldest are overwritten */
    /* A schedule: the first `skip` runs are not recorded. Then cycles of `wait` and `warmup` runs that are not recorded
     * and `active` runs that are (0 = all). Recording ends after `repeat` cycles; 0 = never. */
    uint32_t skip, wait, warmup, active, repeat;
    /* Inside a scan one of so many time steps is recorded and stands for all of them. 0 = as many as cost about 1 % of the
     * time, which is all of them unless the steps are very short; 1 = all; at most EG_RECORD_EVERY. */
    uint32_t every;
} eg_recorder_options;
enum { EG_RECORD_EVERY = 4096 };
EG_API eg_status eg_recorder_create(eg_context *context, const eg_recorder_options *options,
                                    eg_recorder **out, eg_error *error);
EG_API void eg_recorder_destroy(eg_recorder *recorder); /* NULL is fine; not while it records */
/* Records the runs of this instance from now on; NULL = stops. EG_ERR_ARGUMENT: the recorder belongs to
 * another context. */
EG_API eg_status eg_instance_record(eg_instance *instance, eg_recorder *recorder, eg_error *error);
EG_API void eg_recorder_clear(eg_recorder *recorder); /* drops events and restarts the schedule */

typedef struct eg_record_event {
    uint64_t begin, end; /* ns since the first recorded run */
    uint32_t step;       /* of the program: eg_program_step */
    uint32_t time;       /* of a step inside a scan; UINT32_MAX = outside */
    uint32_t parts;      /* threads that share it; inside a scan, the time steps it stands for */
    uint32_t thread;     /* where it ran; steps of the run as a whole are on thread 0 */
    uint64_t run;        /* from 1 */
} eg_record_event;
EG_API uint64_t eg_recorder_count(const eg_recorder *recorder); /* events available */
EG_API uint64_t eg_recorder_lost(const eg_recorder *recorder);  /* events overwritten */
EG_API uint64_t
eg_recorder_runs(const eg_recorder *recorder); /* recorded runs with available events */
/* Thread by thread, in the order they ended. EG_ERR_ARGUMENT past the last. */
EG_API eg_status eg_recorder_event(const eg_recorder *recorder, uint64_t index,
                                   eg_record_event *out, eg_error *error);

/* ---- times of steps, per run */
typedef struct eg_step_time {
    uint64_t calls;     /* per run */
    double seconds;     /* per run, including steps inside it; wall-clock time, not per thread */
    double self;        /* without the steps inside it */
    double share;       /* self / time of the run */
    double least, most; /* one call */
} eg_step_time;
/* One run whose events are all available. Its steps add up to `seconds`; a clock around eg_run also measures the
 * preparation of the run and the clock itself. */
typedef struct eg_record_run {
    uint64_t run;   /* from 1 */
    double seconds; /* of its steps, end to end */
    int counted;    /* 1: in the faster half, which eg_recorder_steps uses */
} eg_record_run;
/* `out` gets eg_recorder_runs elements, in the order of the runs. EG_ERR_ARGUMENT: there are none. */
EG_API eg_status eg_recorder_run_list(const eg_recorder *recorder, eg_record_run *out,
                                      eg_error *error);
/* One entry per step of the program (eg_program_info.steps); steps that never ran are all zero. `run` gets
 * the mean time of a run. Uses the faster half of the runs whose events are all available: in the others, something
 * else had the core. EG_ERR_ARGUMENT: there are none. */
EG_API eg_status eg_recorder_steps(const eg_recorder *recorder, const eg_program *program,
                                   eg_step_time *steps, double *run, eg_error *error);

/* ---- statistics of samples (mostly times). NaN where there are too few samples, for each end of an
 * interval separately: p99 of 100 samples has a lower end only. EG_ERR_ARGUMENT: a sample is
 * not finite. */
typedef struct eg_interval {
    double value, low, high; /* 95 % confidence interval */
} eg_interval;
typedef struct eg_statistics {
    uint64_t count;
    double least, most, deviation;
    eg_interval mean, p50, p90, p99; /* intervals of percentiles: order statistics */
} eg_statistics;
EG_API eg_status eg_statistics_of(eg_context *context, size_t count, const double *samples,
                                  eg_statistics *out, eg_error *error);

/* Noise: other load or a changing clock frequency distorted the times. Times are noisy when the mean is more than 1.25
 * times the median, p90 more than 1.5 times the median, or the interval of the median wider than a tenth of it. Returns
 * the worst of these, or EG_NOISE_NONE. `text` (may be NULL) gets one sentence with the figures, "" for none. Fewer
 * than 5 samples are never called noisy. */
typedef enum eg_noise { EG_NOISE_NONE, EG_NOISE_MEAN, EG_NOISE_TAIL, EG_NOISE_MEDIAN } eg_noise;
enum { EG_NOISE_TEXT = 128 };
EG_API eg_noise eg_statistics_noise(const eg_statistics *statistics, char text[EG_NOISE_TEXT]);

typedef struct eg_compare_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_compare_options); 0 = the fields of version 0.1 */
    double alpha;                   /* significance level; 0 = 0.01 */
    double effect;      /* smallest relative change of the median that counts; 0 = 0.03 */
    uint64_t resamples; /* of the bootstrap; 0 = 2000 */
    uint64_t seed;
} eg_compare_options;
typedef enum eg_verdict { EG_VERDICT_SAME, EG_VERDICT_FASTER, EG_VERDICT_SLOWER } eg_verdict;
typedef struct eg_comparison {
    eg_interval ratio; /* median of the new times over that of the old ones, by bootstrap */
    double p;          /* Mann-Whitney, two-sided; exact up to 20 samples each without ties */
    eg_verdict
        verdict; /* not EG_VERDICT_SAME if p < alpha, the median changed by `effect` or more, and the interval
                           excludes 1 */
} eg_comparison;
/* Alternate the samples (old, new, old, new): otherwise a change in the load of the machine looks like a
 * difference. 2000 resamples of 100 + 100 samples take 2 ms, more in proportion; the same
 * seed gives the same interval. EG_ERR_ARGUMENT: no samples, or one that is not above 0 and finite. */
EG_API eg_status eg_compare(eg_context *context, size_t old_count, const double *old_samples,
                            size_t new_count, const double *new_samples,
                            const eg_compare_options *options, eg_comparison *out, eg_error *error);

/* ---- hardware and system counters during a run, each from the best source available; unavailable, with the
 * reason, where there is none */
#define EG_HARDWARE_MAP(X)                                     \
    X(cycles, "cycles", "of the processor")                    \
    X(instructions, "instructions", "retired")                 \
    X(ipc, "instructions/cycle", "instructions per cycle")     \
    X(cache_references, "accesses", "of the last-level cache") \
    X(cache_misses, "accesses", "last-level cache misses")     \
    X(context_switches, "switches", "of this process")         \
    X(page_faults, "faults", "minor and major")                \
    X(cpu_time, "s", "of all threads of this process")         \
    X(energy, "J", "of a rail, or of the process")             \
    X(power, "W", "energy per time")
typedef struct eg_hardware {
#define EG_HARDWARE_FIELD(name, unit, text) eg_metric name;
    EG_HARDWARE_MAP(EG_HARDWARE_FIELD)
#undef EG_HARDWARE_FIELD
} eg_hardware;

/* Peak resident set size of this process so far, in bytes, as the system reports it. */
EG_API eg_metric eg_resident_peak(void);

/* ---- profiles */
#define EG_PROFILE_MAP(X)                                                            \
    X(time_median, "s", "median time of a run, on which all rates are based")        \
    X(time_mean, "s", "mean time of a run, interruptions included")                  \
    X(samples_per_second, "samples/s", "samples of the batch over the median time")  \
    X(steps_per_second, "steps/s", "time steps of all samples over the median time") \
    X(flops, "FLOP", "of a run")                                                     \
    X(tflops, "TFLOP/s", "FLOPs of a run per second")                                \
    X(compute_efficiency, "ratio", "tflops over the FMA peak of these threads")      \
    X(steps_sum, "s", "self times of all steps of a recorded run, added up")         \
    X(recorded_time, "s", "wall-clock time of the same runs")                        \
    X(compile_time, "s", "from the graph to the program")                            \
    X(cache_hits, "programs", "found compiled in the cache of the session")          \
    X(bytes_moved, "B", "operands that the steps of a run read and write")           \
    X(operand_rate, "GB/s", "bytes moved per second, from any level of memory")      \
    X(operand_utilization, "ratio", "operand rate over the ceiling of that level")   \
    X(dram_bytes, "B", "to and from the DRAM in a run")                              \
    X(bandwidth, "GB/s", "to and from the DRAM: dram_bytes per second")              \
    X(bandwidth_utilization, "ratio", "bandwidth over the ceiling of the DRAM")      \
    X(peak_memory, "B", "peak resident set size of the process, model included")     \
    X(current_memory, "B", "resident set size after the timed runs")                 \
    X(library_peak, "B", "peak memory of the library, earlier allocations included") \
    X(library_held, "B", "memory of the library after the timed runs")               \
    X(total_allocated, "B", "allocated by the library since the profile began")      \
    X(total_freed, "B", "freed by the library since the profile began")              \
    X(peak_usage, "B", "the same as peak_memory")                                    \
    X(unified_peak, "B", "peak of memory shared by all compute units")               \
    X(leaked, "B", "growth of the library's memory over many runs")                  \
    X(memory_bandwidth, "GB/s", "bandwidth, as the memory controller sees it")       \
    X(mc_utilization, "ratio", "bandwidth utilization, as the controller sees it")   \
    X(cache_hit_rate, "ratio", "of accesses that hit the L1")                        \
    X(ne_tflops, "TFLOP/s", "on the Neural Engine")                                  \
    X(ne_utilization, "ratio", "of the Neural Engine")                               \
    X(ne_cycles, "cycles", "of the Neural Engine")                                   \
    X(power_usage, "W", "during the timed runs")                                     \
    X(energy_per_run, "J", "of one run")                                             \
    X(transfer_rate, "GB/s", "between memories of different units")                  \
    X(activations_rms, "x rms", "rms difference to f32 activations over the rms")    \
    X(activations_max, "x rms", "the largest difference, over the same")
typedef enum eg_profile_metric_id {
#define EG_PROFILE_ENUM(name, unit, text) EG_PROFILE_##name,
    EG_PROFILE_MAP(EG_PROFILE_ENUM)
#undef EG_PROFILE_ENUM
        EG_PROFILE_METRICS
} eg_profile_metric_id;
/* "time_mean"; static; NULL past the last. */
EG_API const char *eg_profile_metric_name(eg_profile_metric_id id);
EG_API const char *eg_profile_metric_text(eg_profile_metric_id id);

enum { EG_PROFILE_RUNS = 10000000 };
typedef struct eg_profile_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_profile_options); 0 = the fields of version 0.1 */
    uint64_t batch, seq;            /* 0 = 1; time steps of a sample; 0 = 1 */
    uint64_t runs;                  /* timed; 0 = as many as fit into a second, 30 to 1000;
                                     * at most EG_PROFILE_RUNS, as for `warmup` and all cycles of the recorder */
    uint64_t warmup;                /* runs before the timed ones; 0 = 3 */
    int no_compile;                 /* no passes: every node is a step */
    const eg_recorder_options *recorder; /* schedule of the recorded runs; NULL = defaults */
    int no_ceilings;                     /* do not measure ceilings */
    double ceilings_seconds;             /* 0 = 1.5; not used when ceilings are stored */
    int no_cache; /* do not simulate caches where there are no hardware counters */
    int no_steps; /* record no run: no rows, no traffic, no simulation */
    /* Asked between runs, every 20 ms or so, and never within one, so that it affects no time: anything but 0 ends the
     * profile, EG_ERR_STOPPED. NULL = never. */
    int (*stop)(void *user);
    void *stop_user;
    eg_type activations; /* EG_F16, EG_BF16: see eg_compile_options.products; 0 = EG_F32 */
    const char
        *root; /* of the sensors that energy comes from: a folder with the files of another machine;
                         NULL = this one */
    eg_publisher *publisher; /* told of every timed run, between runs; NULL = none */
} eg_profile_options;

enum { EG_MEMORY_LEVELS = 4 };      /* L1, L2, L3 (or the system-level cache), DRAM */
typedef struct eg_profile_row {     /* a step, or all calls of an operation on one shape */
    const char *operation, *kernel; /* static */
    eg_work work;
    uint32_t traits;       /* eg_step_trait */
    char shape[48];        /* "128x256x256" */
    char text[160];        /* what a fused step does */
    uint32_t step;         /* of the program; of a group, the first */
    int inside;            /* of a scan */
    uint64_t calls;        /* of one run */
    double seconds, share; /* self; share of the run */
    double flops, bytes;   /* all calls of a run; bytes: operands, each counted once */
    double intensity;      /* FLOP per byte of operands; NaN = no bytes */
    double gflops, gbps;   /* gbps: operand bytes over time, from any level */
    /* Traffic of all calls at each level: operand bytes at L1, cache lines to and from the others. Provenance:
     * that of EG_PROFILE_dram_bytes. */
    double level_bytes[EG_MEMORY_LEVELS];
    /* Roofline: GFLOP/s (GB/s of operands when it computes nothing) at the ceiling that bounds it: the slowest of the
     * FMA peak and the levels of memory, each with its own traffic. NaN = no ceilings. */
    double roof;
    double
        roof_share; /* achieved fraction of it; levels predicted to take longer than the step took are ignored */
    const char *bound; /* "compute", "L1", "L2", "L3", "DRAM", "overhead" or "unknown": static */
    uint64_t live; /* live bytes of the arena at this step: eg_step_info.live_bytes; of a group, the
                      maximum */
    /* Of all calls of a run: EG_PROFILE_energy_per_run times `share`; modelled. NaN = no rail was measured. */
    double joules;
} eg_profile_row;

/* Phases of a profile, in order; memory is read at the end of each (eg_profile_moment). A callback has neither compile,
 * prepare nor recorded. */
#define EG_PROFILE_PHASE_MAP(X)                                             \
    X(begin, "what was there before: the context, the model")               \
    X(compile, "the program was made")                                      \
    X(prepare, "weights, arena, states, inputs and outputs were made")      \
    X(warmup, "runs that are not timed")                                    \
    X(timed, "runs that are timed")                                         \
    X(recorded, "runs that are recorded; the recorder has memory for them") \
    X(end, "figures were computed, caches simulated")
typedef enum eg_profile_phase {
#define EG_PROFILE_PHASE_ENUM(name, text) EG_PHASE_##name,
    EG_PROFILE_PHASE_MAP(EG_PROFILE_PHASE_ENUM)
#undef EG_PROFILE_PHASE_ENUM
        EG_PROFILE_PHASES
} eg_profile_phase;
EG_API const char *eg_profile_phase_name(eg_profile_phase phase); /* "compile"; static; NULL past */
EG_API const char *eg_profile_phase_text(eg_profile_phase phase);
/* Memory at the end of a phase: bytes are EG_COUNTED, the time is EG_MEASURED. */
typedef struct eg_profile_moment {
    eg_profile_phase phase;
    double seconds;    /* since the profile began */
    uint64_t held;     /* bytes of the context, all tags, including earlier allocations */
    uint64_t peak;     /* peak during the phase */
    uint64_t resident; /* resident set size of the process, measured; 0 = unknown */
    uint64_t by_tag[EG_TAG_COUNT]; /* of `held` */
} eg_profile_moment;

typedef struct eg_profile eg_profile; /* opaque */
/* peak_memory is the peak resident set size of this process between the beginning of the profile and the end of the
 * timed runs: the executable, the model, pages of mapped files that were read, the memory of the run. The profiler's
 * own memory is not included: ceilings are measured before (if that raised the high-water mark of the process, it is
 * reset, which Linux allows), recording and cache simulation come afterwards. */

/* Compiles the model for this batch and length, runs it, records it. You own *out. */
EG_API eg_status eg_profile_model(eg_model *model, const char *name,
                                  const eg_profile_options *options, eg_profile **out,
                                  eg_error *error);
/* The same for any function; its FLOPs and bytes are unknown. */
typedef void (*eg_profile_function)(void *user);
EG_API eg_status eg_profile_callback(eg_context *context, const char *name,
                                     eg_profile_function function, void *user,
                                     const eg_profile_options *options, eg_profile **out,
                                     eg_error *error);
EG_API void eg_profile_destroy(eg_profile *profile); /* NULL is fine */

/* ---- quick profile of a model, a function, or both: one call, one struct, nothing to destroy. Without ceilings,
 * recording and simulation it takes about a second. */
typedef struct eg_quick_subject {
    eg_context *context; /* NULL = that of the model */
    eg_model *model;     /* NULL = only a function: its FLOPs and bytes are unknown */
    /* What is timed; NULL = a run of the model, compiled for batch and seq. With both, the function is timed (your own
     * loop around the model, a stream, pre- and postprocessing), and FLOPs and bytes are those of one run of the
     * model. */
    eg_profile_function function;
    void *user; /* handed to it */
} eg_quick_subject;
typedef struct eg_quick_options { /* all zero = defaults */
    size_t size;                  /* sizeof(eg_quick_options); 0 = the fields of version 0.1 */
    uint64_t batch, seq;          /* of the model; 0 = 1 */
    uint64_t runs, warmup;        /* as in eg_profile_options */
    int (*stop)(void *user);      /* as there */
    void *stop_user;
} eg_quick_options;
typedef struct eg_quick_result {
    eg_statistics time; /* of all timed calls, s */
    eg_metric seconds;  /* median of one call, on which all rates are based */
    eg_metric rate;     /* calls/s */
    eg_metric samples;  /* samples/s */
    eg_metric flops;    /* of one run of the model, as tflops and the bytes below */
    eg_metric tflops;
    eg_metric bytes_moved, operand_rate; /* operands, from any level of memory */
    eg_metric memory;                    /* B: as EG_PROFILE_peak_memory */
    eg_metric library;                   /* B: as EG_PROFILE_library_peak */
    eg_metric leaked;   /* B: growth of the library's memory over the timed calls */
    eg_metric cpu_time; /* s of all threads, mean of the timed calls */
    eg_noise noise;
    char noise_text[EG_NOISE_TEXT]; /* "" = none */
} eg_quick_result;
/* Sources of the figures are static. EG_ERR_ARGUMENT: neither a model nor a function with its context. */
EG_API eg_status eg_quick_profile(const eg_quick_subject *subject, const eg_quick_options *options,
                                  eg_quick_result *out, eg_error *error);

EG_API const char *eg_profile_name(const eg_profile *profile);
EG_API const eg_profile_options *eg_profile_options_of(const eg_profile *profile);
EG_API eg_metric eg_profile_metric(const eg_profile *profile, eg_profile_metric_id id);
/* The level that most operands come from: "L1", "L2", "L3" or "DRAM"; static; NULL = no ceilings, or a callback. */
EG_API const char *eg_profile_operand_level(const eg_profile *profile);
EG_API void eg_profile_time(const eg_profile *profile, eg_statistics *out);
EG_API size_t eg_profile_samples(const eg_profile *profile, const double **seconds);
/* Rows: by step in the order of the program, and by operation and shape, the longest first. NULL past the
 * end. */
EG_API const eg_profile_row *eg_profile_step(const eg_profile *profile, size_t index);
EG_API const eg_profile_row *eg_profile_operation(const eg_profile *profile, size_t index);
/* Steps in execution order, those of a scan once, where the scan is: row->live is the memory of a run over time.
 * NULL past the end. */
EG_API const eg_profile_row *eg_profile_in_run(const eg_profile *profile, size_t index);
/* Memory of the library over time. Runs allocate nothing, so it only changes between phases. NULL past the end. */
EG_API const eg_profile_moment *eg_profile_memory(const eg_profile *profile, size_t index);
EG_API const eg_ceilings *eg_profile_ceilings(const eg_profile *profile); /* NULL = not measured */
EG_API void eg_profile_hardware(const eg_profile *profile, eg_hardware *out);
EG_API const eg_program *eg_profile_program(const eg_profile *profile);   /* NULL = a callback */
EG_API const eg_recorder *eg_profile_recorder(const eg_profile *profile); /* NULL = a callback */
/* Bytes held during a run, by tag. Excludes temporary memory of compilation. */
EG_API uint64_t eg_profile_run_tag(const eg_profile *profile, eg_tag tag);

/* Export of a recording: Chrome's trace format (chrome://tracing, ui.perfetto.dev), including phases and memory over
 * time; and folded stacks for flame graphs. Written beside and renamed. A callback has neither. */
EG_API eg_status eg_profile_trace(const eg_profile *profile, const char *path, eg_error *error);
EG_API eg_status eg_profile_stacks(const eg_profile *profile, const char *path, eg_error *error);

/* ---- analysis: bottlenecks of a profile, and recommendations. Unavailable figures give no advice. */
typedef struct eg_finding {
    const char *rule;    /* "batch"; static, as `reason` */
    const char *reason;  /* why it matters */
    char text[200];      /* what was found, with its figures */
    char action[200];    /* what to do; never "" for a recommendation */
    double gain;         /* seconds of a run that it may save, at most; NaN = unknown */
    double measured;     /* seconds that it saved when tried; NaN = not tried */
    const char *untried; /* why it was not tried; static, NULL = it was */
} eg_finding;
typedef enum eg_finding_kind {
    EG_BOTTLENECK,     /* operations, by the time lost against their roofline */
    EG_OPPORTUNITY,    /* figures below (or above) their thresholds */
    EG_RECOMMENDATION, /* what to try, or what was tried and saved at least half of the estimate */
    EG_TRIED           /* tried without enough effect here: eg_analysis_try */
} eg_finding_kind;

typedef struct eg_analysis eg_analysis; /* opaque */
EG_API eg_status eg_analyse(const eg_profile *profile, eg_analysis **out, eg_error *error);
EG_API void eg_analysis_destroy(eg_analysis *analysis); /* NULL is fine */
/* One sentence: what bounds the program, how close it is to that bound, and what would help most; preceded by a warning
 * if the times are noisy (eg_statistics_noise). */
EG_API const char *eg_analysis_verdict(const eg_analysis *analysis);
/* Tries the recommendations, alternating with the present configuration, and stores what they saved per sample. Those
 * that save less than half of their estimate become EG_TRIED; some are found only by trying (f16, a smaller batch).
 * Updates the verdict. `model` and `profile` are those that were analysed; where another context or other weights are
 * needed, the model is opened again by `name`. */
typedef struct eg_try_options { /* all zero = defaults */
    size_t size;                /* sizeof(eg_try_options); 0 = the fields of version 0.1 */
    double seconds;             /* for all together; 0 = 1.5. What takes longer is not tried */
    uint64_t bytes;             /* larger models are not opened again; 0 = 64 MiB */
    const char *name;           /* a file or a spec; NULL = that of the profile */
} eg_try_options;
EG_API eg_status eg_analysis_try(eg_analysis *analysis, eg_model *model, const eg_profile *profile,
                                 const eg_try_options *options, eg_error *error);
/* The most useful first; NULL past the end. */
EG_API const eg_finding *eg_analysis_finding(const eg_analysis *analysis, eg_finding_kind kind,
                                             size_t index);

/* ---- ratios: figures against the requirements for runs on this chip (eg_requirement_host, eg_preset_host) */
#define EG_RATIO_MAP(X)                                             \
    X(compute, "tflops over the minimum required of the chip")      \
    X(bandwidth, "bandwidth over the minimum required of the chip") \
    X(memory, "peak_memory over the memory budget")                 \
    X(cache, "of accesses that hit the L1d cache")                  \
    X(engine, "utilization of the Neural Engine")                   \
    X(controller, "utilization of the DRAM bandwidth")              \
    X(power, "power_usage over the power budget")
typedef enum eg_ratio_id {
#define EG_RATIO_ENUM(name, text) EG_RATIO_##name,
    EG_RATIO_MAP(EG_RATIO_ENUM)
#undef EG_RATIO_ENUM
        EG_RATIO_COUNT
} eg_ratio_id;
typedef struct eg_ratio {
    const char *name, *text; /* "compute"; static */
    eg_metric value;         /* of the run */
    eg_metric limit;         /* the minimum or maximum it is compared with */
    eg_metric ratio;         /* value / limit; unavailable, with the reason, where one of them is */
    double threshold;        /* fires below it or, with `above`, above it */
    int above;
    int fires; /* then it is an EG_OPPORTUNITY */
    /* "met", "below 0.80", "above the physical ceiling: ...", "does not apply: ...", or "" = unknown */
    char verdict[120];
    const char *reason; /* why it matters; static */
} eg_ratio;
/* compute, bandwidth and engine fire below 0.8, cache too; controller above 0.8, memory and power above 1. A
 * limit above the physical ceiling, or one that does not apply (eg_requirement_check_run), never fires, since no run
 * could reach it. NULL past the last. */
EG_API const eg_ratio *eg_analysis_ratio(const eg_analysis *analysis, size_t index);

/* ---- the environment: what affects times besides the program. What the system does not report is
 * unavailable, with the reason in `source`. */
typedef struct eg_fact { /* as eg_metric, for a text */
    char text[128];      /* "" when it is unavailable */
    eg_provenance provenance;
    const char *source; /* static */
} eg_fact;
#define EG_ENVIRONMENT_FACT_MAP(X)                             \
    X(chip, "chip")                                            \
    X(system, "operating system")                              \
    X(hypervisor, "hypervisor")                                \
    X(version, "version of the library")                       \
    X(compiler, "compiler of the library")                     \
    X(flags, "its flags, except those of single files")        \
    X(build, "optimized or not, with sanitizers or not")       \
    X(isa, "instruction set of the kernels")                   \
    X(governor, "governor of the clock frequency, first core") \
    X(power, "mains or battery")                               \
    X(accelerators, "GPUs, matrix units and drivers found")    \
    X(clock, "clock that is read")
#define EG_ENVIRONMENT_METRIC_MAP(X)                                        \
    X(cores, "cores that may be used")                                      \
    X(threads, "threads of the context")                                    \
    X(pinned, "of these, threads bound to a single core")                   \
    X(load, "load average of the last minute")                              \
    X(pressure_cpu, "time in which a task waited for a core, last 10 s")    \
    X(pressure_memory, "time in which a task waited for memory, last 10 s") \
    X(memory_available, "memory available")                                 \
    X(swap_used, "swap space used by all programs")                         \
    X(battery, "charge of the battery")                                     \
    X(clock_overhead, "one reading of the clock")                           \
    X(clock_resolution, "smallest step of the clock")
typedef struct eg_environment {
#define EG_ENVIRONMENT_FACT(name, text)   eg_fact name;
#define EG_ENVIRONMENT_METRIC(name, text) eg_metric name;
    EG_ENVIRONMENT_FACT_MAP(EG_ENVIRONMENT_FACT)
    EG_ENVIRONMENT_METRIC_MAP(EG_ENVIRONMENT_METRIC)
#undef EG_ENVIRONMENT_FACT
#undef EG_ENVIRONMENT_METRIC
    /* what must be equal to compare times: chip, isa, threads, system, build of the library. The number of usable cores
     * (affinity, control groups) is not part of it, as long as the fastest are among them.
     * "chip=... ; isa=avx2; threads=2; system=Linux 6.1; build=optimized" */
    char fingerprint[384];
} eg_environment;
/* The present environment; takes about a millisecond. `system_root` NULL = this machine; else a folder with a recorded
 * one, as for eg_chip_detect. */
EG_API eg_status eg_environment_read(eg_context *context, const char *system_root,
                                     eg_environment *out, eg_error *error);
/* EG_ERR_ARGUMENT when two fingerprints differ; the message names the difference. */
EG_API eg_status eg_environment_match(const char *old_fingerprint, const char *new_fingerprint,
                                      eg_error *error);

/* ---- cache simulation: hit rates of a program's accesses, where there are no hardware counters.
 *
 * The access pattern of every step is that of the kernel the program was compiled with: its blocks,
 * panels, buffers and vectors. One load or store is one access however wide it is, and one hit or
 * miss even where it touches two lines, as cachegrind counts data references. Accesses are those to
 * data; constants and spilled registers, which depend on the compiler and always hit, are not
 * included, so that a counter of all loads shows a higher hit rate and the same misses. Caches are
 * looked up one after the other, LRU and write-allocate. Not simulated:
 * prefetching, instructions, other cores (one thread runs everything), and what the system does in
 * between. Where the data decide (a gather by an input), rows are drawn at random. */
enum { EG_CACHE_LEVELS = 4 };
typedef struct eg_cache_level {
    char name[8];   /* "L1d" */
    uint64_t bytes; /* a multiple of ways * line */
    uint32_t ways,
        line; /* line: bytes, a power of two; not smaller than that of the level before */
} eg_cache_level;
typedef struct eg_cache_geometry {
    uint32_t levels;
    eg_cache_level level[EG_CACHE_LEVELS];
} eg_cache_geometry;
/* The caches that one core of the fastest kind sees, shared ones whole. Neither the system nor the table
 * gives the associativity: the first level has as many ways as keep its index within a page (4 KiB; Apple's chips 16
 * KiB), the second at least 8 and the last at least 16, the fewest that make the number of sets a
 * power of two. EG_ERR_UNSUPPORTED: the size of the first level is unknown. */
EG_API eg_status eg_cache_geometry_of_chip(const eg_chip *chip, eg_cache_geometry *out,
                                           eg_error *error);
EG_API eg_status eg_cache_geometry_of_row(const eg_chip_row *row, eg_cache_geometry *out,
                                          eg_error *error);

typedef struct eg_cache_options { /* all zero = defaults */
    size_t size;                  /* sizeof(eg_cache_options); 0 = the fields of version 0.1 */
    uint32_t
        sampling; /* simulates one of this many sets, a power of two; 0 = all, or one of 8 where that takes long */
    uint32_t warm;   /* warm-up runs before the counted one; 0 = 1 */
    int cold;        /* 1: no warm-up, the caches are empty */
    uint64_t length; /* steps of the scans; 0 = as many as they were built with */
} eg_cache_options;

/* Of one run. Accesses of the first level are exact, the rest is scaled up from the sets that were
 * simulated. */
typedef struct eg_cache_figures {
    double accesses, misses; /* accesses of a later level: the misses of the one before */
    eg_metric hit_rate;      /* 1 - misses / accesses; unavailable where there were no accesses */
} eg_cache_figures;
typedef struct eg_cache_result {
    uint32_t levels;
    eg_cache_figures level[EG_CACHE_LEVELS];
    double bytes;                    /* read and written by all accesses: exact */
    eg_metric dram_read, dram_write; /* bytes of lines that the last level fetched and wrote back */
} eg_cache_result;
/* `steps` NULL, or one result per step of the program (eg_program_info.steps); a scan's is the sum of
 * its body's, steps outside a run are all zero. `options` may be NULL. EG_ERR_ARGUMENT:
 * an invalid geometry, or a length that the program cannot run. */
EG_API eg_status eg_cache_simulate(const eg_program *program, const eg_cache_geometry *geometry,
                                   const eg_cache_options *options, eg_cache_result *out,
                                   eg_cache_result *steps, eg_error *error);

/* ---- diagnosis: what slows programs down on this machine, and a checklist */
typedef enum eg_health { EG_HEALTH_GOOD, EG_HEALTH_BAD, EG_HEALTH_UNKNOWN } eg_health;
EG_API const char *eg_health_name(eg_health health); /* "good"; static; NULL past the last */
typedef struct eg_diagnosis_item {
    const char *name; /* "other load"; static */
    eg_health health;
    char text[200];           /* what was found, or why it is unknown */
    char advice[200];         /* "" = none */
    eg_provenance provenance; /* of what was found; EG_UNAVAILABLE: unknown */
} eg_diagnosis_item;
typedef struct eg_diagnosis {
    size_t findings; /* items of the machine; the checklist follows */
    size_t count;
    eg_diagnosis_item item[32];
} eg_diagnosis;
/* `profile` NULL = only the machine: items that need a model are unknown then. */
EG_API void eg_diagnose(const eg_environment *environment, const eg_chip *chip,
                        const eg_profile *profile, eg_diagnosis *out);

#ifdef __cplusplus
}
#endif
#endif
