/* Profiles: which step of a program took how long, and what that says.
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

/* ---- recording: events in memory that is taken beforehand. Programs that nobody records pay nothing. */
typedef struct eg_recorder eg_recorder; /* opaque; of one instance at a time */
typedef struct eg_recorder_options {    /* all zero = every run, 65536 events per thread */
    size_t size;     /* sizeof(eg_recorder_options); 0 = the fields of version 0.1 */
    uint64_t events; /* per thread, made a power of two; when there are more, the oldest are lost */
    /* Nothing of the first `skip` runs is kept. Then in turns: `wait` and `warmup` runs that are not kept,
     * `active` ones that are (0 = all). After `repeat` turns nothing more; 0 = for ever. */
    uint32_t skip, wait, warmup, active, repeat;
} eg_recorder_options;
EG_API eg_status eg_recorder_create(eg_context *context, const eg_recorder_options *options,
                                    eg_recorder **out, eg_error *error);
EG_API void eg_recorder_destroy(eg_recorder *recorder); /* NULL is fine; not while it records */
/* From now on the runs of this instance are recorded; NULL = no more. EG_ERR_ARGUMENT: the recorder is of
 * another context. */
EG_API eg_status eg_instance_record(eg_instance *instance, eg_recorder *recorder, eg_error *error);
EG_API void eg_recorder_clear(eg_recorder *recorder); /* forgets events; the turns begin anew */

typedef struct eg_record_event {
    uint64_t begin, end; /* ns since the first run that was kept */
    uint32_t step;       /* of the program: eg_program_step */
    uint32_t time;       /* of a step inside of a scan; UINT32_MAX = it is not */
    uint32_t parts;      /* threads that share it */
    uint32_t thread;     /* where it ran; thread 0 has the steps of the run as a whole */
    uint64_t run;        /* from 1 */
} eg_record_event;
EG_API uint64_t eg_recorder_count(const eg_recorder *recorder); /* events that are there */
EG_API uint64_t eg_recorder_lost(const eg_recorder *recorder);  /* and that are no more */
EG_API uint64_t eg_recorder_runs(const eg_recorder *recorder);  /* that were kept, of those there */
/* Thread by thread, in the order they ended. EG_ERR_ARGUMENT past the last. */
EG_API eg_status eg_recorder_event(const eg_recorder *recorder, uint64_t index,
                                   eg_record_event *out, eg_error *error);

/* ---- sums: what each step took, per run */
typedef struct eg_step_time {
    uint64_t calls;     /* of one run */
    double seconds;     /* of one run, with what runs inside of it; threads at once count once */
    double self;        /* without that */
    double share;       /* of the run: self / the time of all */
    double least, most; /* one call */
} eg_step_time;
/* One run of which every event is there. Its steps add up to `seconds`; what a clock around eg_run shows beyond
 * that are the preparations of the run and that clock itself. */
typedef struct eg_record_run {
    uint64_t run;   /* from 1 */
    double seconds; /* of its steps, end to end */
    int counted;    /* it is one of the quicker half, which eg_recorder_steps counts */
} eg_record_run;
/* `out` has room for eg_recorder_runs of them, in the order they ran. EG_ERR_ARGUMENT: there are none. */
EG_API eg_status eg_recorder_run_list(const eg_recorder *recorder, eg_record_run *out,
                                      eg_error *error);
/* One entry per step of the program (eg_program_info.steps); steps that never ran are all zero. `run` gets
 * the mean time of a run. Only runs of which every event is there are counted, and of these the quicker half:
 * in the others somebody else had the core. EG_ERR_ARGUMENT: there are none. */
EG_API eg_status eg_recorder_steps(const eg_recorder *recorder, const eg_program *program,
                                   eg_step_time *steps, double *run, eg_error *error);

/* ---- statistics of samples (times, mostly). NaN where there are too few to say: each end of an
 * interval for itself, so that p99 of 100 samples has a lower one alone. EG_ERR_ARGUMENT: a sample is
 * not finite. */
typedef struct eg_interval {
    double value, low, high; /* 95 % of the time the true value lies between */
} eg_interval;
typedef struct eg_statistics {
    uint64_t count;
    double least, most, deviation;
    eg_interval mean, p50, p90,
        p99; /* of percentiles the intervals are those of order statistics */
} eg_statistics;
EG_API eg_status eg_statistics_of(eg_context *context, size_t count, const double *samples,
                                  eg_statistics *out, eg_error *error);

/* Noise: something else had the cores, or the clock changed, and what is said of such times is said of both.
 * Noisy is when the mean is more than 1.25 times the median, p90 more than 1.5 times, or the interval of the
 * median wider than a tenth of it. The worst of them, or EG_NOISE_NONE. `text` (NULL = nobody asks) gets one
 * sentence with the figures, "" for none. Fewer than 5 samples are never called noisy: nobody can tell. */
typedef enum eg_noise { EG_NOISE_NONE, EG_NOISE_MEAN, EG_NOISE_TAIL, EG_NOISE_MEDIAN } eg_noise;
enum { EG_NOISE_TEXT = 128 };
EG_API eg_noise eg_statistics_noise(const eg_statistics *statistics, char text[EG_NOISE_TEXT]);

typedef struct eg_compare_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_compare_options); 0 = the fields of version 0.1 */
    double alpha;                   /* 0 = 0.01: how likely a difference may be by chance */
    double effect;                  /* 0 = 0.03: a smaller change of the median is none */
    uint64_t resamples;             /* 0 = 2000, of the bootstrap */
    uint64_t seed;
} eg_compare_options;
typedef enum eg_verdict { EG_SAME, EG_FASTER, EG_SLOWER } eg_verdict;
typedef struct eg_comparison {
    eg_interval ratio; /* median of the new times over that of the old ones, by bootstrap */
    double p;          /* Mann-Whitney, two-sided; exact up to 20 samples each without ties */
    eg_verdict
        verdict; /* p below alpha, the median changed by `effect` or more, and 1 is not in the
                           interval */
} eg_comparison;
/* Take the samples in turns, old, new, old, new: one after the other, whatever else the machine does
 * looks like a difference. 2000 resamples of 100 + 100 samples take 2 ms, more in proportion; the same
 * seed gives the same interval. EG_ERR_ARGUMENT: no samples, or one that is not above 0 and finite. */
EG_API eg_status eg_compare(eg_context *context, size_t old_count, const double *old_samples,
                            size_t new_count, const double *new_samples,
                            const eg_compare_options *options, eg_comparison *out, eg_error *error);

/* ---- what the system counts while something runs, each by the best source there is; unavailable, with the
 * reason, where there is none */
#define EG_HARDWARE_MAP(X)                                      \
    X(cycles, "cycles", "of the processor")                     \
    X(instructions, "instructions", "retired")                  \
    X(ipc, "instructions/cycle", "instructions per cycle")      \
    X(cache_references, "accesses", "of the last cache")        \
    X(cache_misses, "accesses", "last-level cache misses")      \
    X(context_switches, "switches", "of this process")          \
    X(page_faults, "faults", "without and with reading a disk") \
    X(cpu_time, "s", "of all threads of this process")          \
    X(energy, "J", "of the package, or of the process")         \
    X(power, "W", "energy per time")
typedef struct eg_hardware {
#define EG_HARDWARE_FIELD(name, unit, text) eg_metric name;
    EG_HARDWARE_MAP(EG_HARDWARE_FIELD)
#undef EG_HARDWARE_FIELD
} eg_hardware;

/* The largest resident set of this process so far, in bytes, as the system counts it. */
EG_API eg_metric eg_resident_peak(void);

/* ---- profiles */
#define EG_PROFILE_MAP(X)                                                              \
    X(time_median, "s", "median time of a run: what every rate is made of")            \
    X(time_mean, "s", "mean time of a run, interruptions included")                    \
    X(samples_per_second, "samples/s", "samples of the batch over the median time")    \
    X(steps_per_second, "steps/s", "time steps of all samples over the median time")   \
    X(flops, "FLOP", "of a run")                                                       \
    X(tflops, "TFLOP/s", "FLOPs of a run per second")                                  \
    X(compute_efficiency, "ratio", "tflops over the FMA peak of these threads")        \
    X(steps_sum, "s", "own times of all steps of a recorded run, added up")            \
    X(recorded_time, "s", "the clock around the same runs")                            \
    X(compile_time, "s", "from the graph to the program")                              \
    X(cache_hits, "programs", "that its session found compiled")                       \
    X(bytes_moved, "B", "operands that the steps of a run read and write")             \
    X(operand_rate, "GB/s", "bytes moved per second, from whatever level has them")    \
    X(operand_utilization, "ratio", "operand rate over what that level can give")      \
    X(dram_bytes, "B", "to and from the DRAM in a run")                                \
    X(bandwidth, "GB/s", "to and from the DRAM: dram_bytes per second")                \
    X(bandwidth_utilization, "ratio", "bandwidth over what the DRAM can do")           \
    X(peak_memory, "B", "most that was resident of the process, model and all")        \
    X(current_memory, "B", "resident after the timed runs")                            \
    X(library_peak, "B", "most that the library held, what was there before included") \
    X(library_held, "B", "that it holds after the timed runs")                         \
    X(total_allocated, "B", "taken by the library since the profile began")            \
    X(total_freed, "B", "given back by it")                                            \
    X(peak_usage, "B", "peak_memory: the process has no other")                        \
    X(unified_peak, "B", "most memory that all units share")                           \
    X(leaked, "B", "held after many runs, and not before")                             \
    X(memory_bandwidth, "GB/s", "bandwidth, as the memory controller sees it")         \
    X(mc_utilization, "ratio", "bandwidth utilization, as the controller sees it")     \
    X(cache_hit_rate, "ratio", "accesses that the L1 serves")                          \
    X(ne_tflops, "TFLOP/s", "on the Neural Engine")                                    \
    X(ne_utilization, "ratio", "of the Neural Engine")                                 \
    X(ne_cycles, "cycles", "of the Neural Engine")                                     \
    X(power_usage, "W", "while it ran")                                                \
    X(energy_per_run, "J", "of one run")                                               \
    X(transfer_rate, "GB/s", "between memories of different units")
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
                                     * at most EG_PROFILE_RUNS, as `warmup` and all turns together */
    uint64_t warmup;                /* runs before; 0 = 3 */
    int no_compile;                 /* without passes: every node is a step */
    const eg_recorder_options
        *recorder;           /* of the runs that are recorded: its turns; NULL = defaults */
    int no_ceilings;         /* nothing is measured but the runs */
    double ceilings_seconds; /* 0 = 1.5, when there are none stored */
    int no_cache;            /* caches are not simulated where nothing counts their hits */
    int no_steps;            /* no run is recorded: no rows, no traffic, nothing simulated */
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
    double flops, bytes;   /* of all calls of a run; bytes: of its operands, each once */
    double intensity;      /* FLOP per byte of operands; NaN = no bytes */
    double gflops, gbps;   /* gbps: operands over time, from whatever level they come */
    /* Bytes of all calls that pass each level: operands by L1, lines to and from the others. Where they
     * are from is the provenance of EG_PROFILE_dram_bytes. */
    double level_bytes[EG_MEMORY_LEVELS];
    /* GFLOP/s, or GB/s of operands when it computes nothing, at the ceiling of what it waits for: of the FMA
     * peak and the levels, each with its own bytes, what takes longest. NaN = no ceilings. */
    double roof;
    double
        roof_share; /* of it; a level that would have taken longer than the step did is left out */
    const char *bound; /* "compute", "L1", "L2", "L3", "DRAM", "overhead" or "unknown": static */
    uint64_t
        live; /* bytes of the arena that are needed at it or later: eg_step_info.live_bytes; of a
                      group, the most */
} eg_profile_row;

/* Phases of a profile, in order; each ends with a moment. A callback has neither compile, prepare nor
 * recorded. */
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
/* What the library holds when a phase ends: bytes are EG_COUNTED, the time is EG_MEASURED. */
typedef struct eg_profile_moment {
    eg_profile_phase phase;
    double seconds;    /* since the profile began */
    uint64_t held;     /* bytes of the context, all tags: also what was there before */
    uint64_t peak;     /* most that was held during the phase */
    uint64_t resident; /* bytes of the process, measured; 0 = the system does not tell */
    uint64_t by_tag[EG_TAG_COUNT]; /* of what is held */
} eg_profile_moment;

typedef struct eg_profile eg_profile; /* opaque */
/* peak_memory is what the system says is resident of this process, at its highest between the beginning of the
 * profile and the end of the timed runs: the program, the model that was opened before, mapped files as far as
 * they were read, what the run needs. The profiler's own memory is not in it: ceilings are measured before
 * (where that raised the process's high-water mark, which Linux can forget, it is set to what is resident
 * then), recordings are made and caches simulated afterwards. */

/* Compiles the model for this batch and length, runs it, records it. You own *out. */
EG_API eg_status eg_profile_model(eg_model *model, const char *name,
                                  const eg_profile_options *options, eg_profile **out,
                                  eg_error *error);
/* The same for anything that can be called: what it computes and moves is not known then. */
typedef void (*eg_profile_function)(void *user);
EG_API eg_status eg_profile_callback(eg_context *context, const char *name,
                                     eg_profile_function function, void *user,
                                     const eg_profile_options *options, eg_profile **out,
                                     eg_error *error);
EG_API void eg_profile_destroy(eg_profile *profile); /* NULL is fine */

/* ---- the quick way: a model, a function, or both; one call, one struct, nothing to destroy. No ceilings are
 * measured, nothing is recorded or simulated: it takes about a second. */
typedef struct eg_quick_subject {
    eg_context *context; /* NULL = that of the model */
    eg_model *model;     /* NULL = a function alone: what it computes is not known */
    /* What is timed; NULL = a run of the model, compiled for batch and seq. With both, the function is timed
     * and FLOPs and bytes are those of one run of the model: your own loop around it, a stream, what comes
     * before and after. */
    eg_profile_function function;
    void *user; /* handed to it */
} eg_quick_subject;
typedef struct eg_quick_options { /* all zero = defaults */
    size_t size;                  /* sizeof(eg_quick_options); 0 = the fields of version 0.1 */
    uint64_t batch, seq;          /* of the model; 0 = 1 */
    uint64_t runs, warmup;        /* as in eg_profile_options */
} eg_quick_options;
typedef struct eg_quick_result {
    eg_statistics time; /* of all timed calls, s */
    eg_metric seconds;  /* of one, the median: every rate is over it */
    eg_metric rate;     /* calls/s */
    eg_metric samples;  /* samples/s */
    eg_metric flops;    /* of one run of the model, as the rest of this line and the next */
    eg_metric tflops;
    eg_metric bytes_moved, operand_rate; /* operands, from whatever level has them */
    eg_metric memory;                    /* B: as EG_PROFILE_peak_memory */
    eg_metric library;                   /* B: as EG_PROFILE_library_peak */
    eg_metric leaked;   /* B that the library holds after the timed calls, and not before */
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
/* Where most operands come from: "L1", "L2", "L3" or "DRAM"; static; NULL = no ceilings, or a callback. */
EG_API const char *eg_profile_operand_level(const eg_profile *profile);
EG_API void eg_profile_time(const eg_profile *profile, eg_statistics *out);
EG_API size_t eg_profile_samples(const eg_profile *profile, const double **seconds);
/* Rows: by step in the order of the program, and by operation and shape, the longest first. NULL past the
 * end. */
EG_API const eg_profile_row *eg_profile_step(const eg_profile *profile, size_t index);
EG_API const eg_profile_row *eg_profile_operation(const eg_profile *profile, size_t index);
/* Steps in the order in which a run does them, those of a scan once, in its place: row->live is how the
 * memory of a run comes and goes. NULL past the end. */
EG_API const eg_profile_row *eg_profile_in_run(const eg_profile *profile, size_t index);
/* What the library held over time: runs take nothing, so that it changes between phases alone. NULL past
 * the end. */
EG_API const eg_profile_moment *eg_profile_memory(const eg_profile *profile, size_t index);
EG_API const eg_ceilings *eg_profile_ceilings(const eg_profile *profile); /* NULL = not measured */
EG_API void eg_profile_hardware(const eg_profile *profile, eg_hardware *out);
EG_API const eg_program *eg_profile_program(const eg_profile *profile);   /* NULL = a callback */
EG_API const eg_recorder *eg_profile_recorder(const eg_profile *profile); /* NULL = a callback */
/* Bytes that are held while it runs, by what they are for. Temporary memory of compilation is not among them. */
EG_API uint64_t eg_profile_run_tag(const eg_profile *profile, eg_tag tag);

/* What was recorded, for others to open: Chrome's trace format (chrome://tracing, ui.perfetto.dev), with the
 * phases and memory over time beside it, and folded stacks for flame graphs. Written beside and renamed. A
 * callback has neither. */
EG_API eg_status eg_profile_trace(const eg_profile *profile, const char *path, eg_error *error);
EG_API eg_status eg_profile_stacks(const eg_profile *profile, const char *path, eg_error *error);

/* ---- analysis: what a profile says, and what could be done. A figure that is unavailable gives no advice. */
typedef struct eg_finding {
    const char *rule;    /* "batch"; static, as `reason` */
    const char *reason;  /* why one would do it */
    char text[200];      /* what was found, with its figures */
    char action[200];    /* what to do; of a recommendation never "" */
    double gain;         /* seconds of a run that it may save, at most; NaN = cannot be told */
    double measured;     /* seconds that it did save when it was tried; NaN = not tried */
    const char *untried; /* why not; static, NULL = it was */
} eg_finding;
typedef enum eg_finding_kind {
    EG_BOTTLENECK,     /* operations, by the time that they lose against their roofs */
    EG_OPPORTUNITY,    /* what the figures fall short of */
    EG_RECOMMENDATION, /* what to try, or what was tried and kept at least half of its promise */
    EG_TRIED           /* what was tried and does not help here: eg_analysis_try */
} eg_finding_kind;

typedef struct eg_analysis eg_analysis; /* opaque */
EG_API eg_status eg_analyse(const eg_profile *profile, eg_analysis **out, eg_error *error);
EG_API void eg_analysis_destroy(eg_analysis *analysis); /* NULL is fine */
/* One sentence: what bounds it, how near it is to that, and what would help most; before it, whether the
 * times are noisy (eg_statistics_noise). */
EG_API const char *eg_analysis_verdict(const eg_analysis *analysis);
/* Recommendations promise; this tries them, in turns with the present way of running, and writes down what
 * they saved per sample. Those that keep less than half of their promise become EG_TRIED; some are found only by
 * trying (f16, a smaller batch). The verdict is written anew. `model` and `profile` are what was analysed; where
 * it takes another context or other weights, the model is opened again by `name`. */
typedef struct eg_try_options { /* all zero = defaults */
    size_t size;                /* sizeof(eg_try_options); 0 = the fields of version 0.1 */
    double seconds;             /* 0 = 1.5: all of them together; what takes longer is not tried */
    uint64_t bytes;             /* 0 = 64 MiB: larger models are not opened again */
    const char *name;           /* a file or a spec; NULL = that of the profile */
} eg_try_options;
EG_API eg_status eg_analysis_try(eg_analysis *analysis, eg_model *model, const eg_profile *profile,
                                 const eg_try_options *options, eg_error *error);
/* The most useful first; NULL past the end. */
EG_API const eg_finding *eg_analysis_finding(const eg_analysis *analysis, eg_finding_kind kind,
                                             size_t index);

/* ---- ratios: figures beside what is asked of a run on this chip (eg_requirement_host, eg_preset_host) */
#define EG_RATIO_MAP(X)                                                \
    X(compute, "tflops over the least that is asked of the chip")      \
    X(bandwidth, "bandwidth over the least that is asked of the chip") \
    X(memory, "peak_memory over the memory budget")                    \
    X(cache, "accesses that the first cache (L1d) serves")             \
    X(engine, "of the Neural Engine that is used")                     \
    X(controller, "of what the DRAM can do that is used")              \
    X(power, "power_usage over the power budget")
typedef enum eg_ratio_id {
#define EG_RATIO_ENUM(name, text) EG_RATIO_##name,
    EG_RATIO_MAP(EG_RATIO_ENUM)
#undef EG_RATIO_ENUM
        EG_RATIO_COUNT
} eg_ratio_id;
typedef struct eg_ratio {
    const char *name, *text; /* "compute"; static */
    eg_metric value;         /* what the run had */
    eg_metric limit;         /* the least, or the most, that it is held against */
    eg_metric ratio;         /* value / limit; unavailable where one of them is, and why */
    double threshold;        /* it fires below it or, with `above`, above */
    int above;
    int fires; /* and is an EG_OPPORTUNITY then */
    /* "met", "below 0.80", "above the physical ceiling: ...", "does not apply: ...", or "" = unknown */
    char verdict[120];
    const char *reason; /* why it matters; static */
} eg_ratio;
/* compute, bandwidth and engine fire below 0.8, cache too; controller above 0.8, memory and power above 1. A
 * limit above the silicon's ceiling, or that does not apply (eg_requirement_check_run), never fires: no run could
 * reach it. NULL past the last. */
EG_API const eg_ratio *eg_analysis_ratio(const eg_analysis *analysis, size_t index);

/* ---- the environment: what else decides how long something takes. What the system does not tell is
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
    X(flags, "its flags, those of single files aside")         \
    X(build, "optimized or not, with sanitizers or not")       \
    X(isa, "instruction set of the kernels")                   \
    X(governor, "governor of the clock frequency, first core") \
    X(power, "mains or battery")                               \
    X(accelerators, "GPUs, matrix units and drivers found")    \
    X(clock, "clock that is read")
#define EG_ENVIRONMENT_METRIC_MAP(X)                                          \
    X(cores, "cores that may be used")                                        \
    X(threads, "threads of the context")                                      \
    X(pinned, "of these, threads that may run on one core alone")             \
    X(load, "processes that run or want to, mean of a minute")                \
    X(pressure_cpu, "time in which somebody waited for a core, last 10 s")    \
    X(pressure_memory, "time in which somebody waited for memory, last 10 s") \
    X(memory_available, "memory available")                                   \
    X(swap_used, "memory of all programs that lies on a disk")                \
    X(battery, "charge of the battery")                                       \
    X(clock_overhead, "one reading of the clock")                             \
    X(clock_resolution, "smallest step of the clock")
typedef struct eg_environment {
#define EG_ENVIRONMENT_FACT(name, text)   eg_fact name;
#define EG_ENVIRONMENT_METRIC(name, text) eg_metric name;
    EG_ENVIRONMENT_FACT_MAP(EG_ENVIRONMENT_FACT)
    EG_ENVIRONMENT_METRIC_MAP(EG_ENVIRONMENT_METRIC)
#undef EG_ENVIRONMENT_FACT
#undef EG_ENVIRONMENT_METRIC
    /* what must be equal before times may be compared: chip, isa, threads, system, build of the library;
     * not how many of its cores may be used (affinity, control groups), while the fastest are among them.
     * "chip=... ; isa=avx2; threads=2; system=Linux 6.1; build=optimized" */
    char fingerprint[384];
} eg_environment;
/* As it is now; takes about a millisecond. `system_root` NULL = this machine; else a folder with a recorded
 * one, as for eg_chip_detect, which can fail. */
EG_API eg_status eg_environment_read(eg_context *context, const char *system_root,
                                     eg_environment *out, eg_error *error);
/* EG_ERR_ARGUMENT when two fingerprints differ: the message says in what. */
EG_API eg_status eg_environment_match(const char *old_fingerprint, const char *new_fingerprint,
                                      eg_error *error);

/* ---- cache: how often the accesses of a program are found in which cache, where no hardware counts it.
 *
 * The access pattern of every step is that of the kernel the program was compiled with: its blocks,
 * panels, buffers and vectors. One load or store is one access however wide it is, and one hit or
 * miss even where it touches two lines, as cachegrind counts data references. Accesses are those to
 * data; constants and spilled registers, which depend on the compiler and are always hits, are not
 * among them, so that a counter of all loads shows a higher rate and the same misses. Caches are
 * looked up one after the other, keep what was used last, and fetch what is written. Not simulated:
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
 * tells the ways: a first cache has as many as its index fits into a page (4 KiB; Apple's chips 16
 * KiB), the second at least 8 and the last at least 16, the fewest that make the number of sets a
 * power of two. EG_ERR_UNSUPPORTED: the size of the first cache is not known. */
EG_API eg_status eg_cache_geometry_of_chip(const eg_chip *chip, eg_cache_geometry *out,
                                           eg_error *error);
EG_API eg_status eg_cache_geometry_of_row(const eg_chip_row *row, eg_cache_geometry *out,
                                          eg_error *error);

typedef struct eg_cache_options { /* all zero = defaults */
    size_t size;                  /* sizeof(eg_cache_options); 0 = the fields of version 0.1 */
    uint32_t
        sampling; /* one of so many sets is simulated, a power of two; 0 = all, or 8 where that takes long */
    uint32_t warm;   /* runs before the one that is counted; 0 = 1 */
    int cold;        /* 1: none, the caches are empty */
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
    double bytes;                    /* that all accesses together read and wrote: exact */
    eg_metric dram_read, dram_write; /* bytes of lines that the last level fetched and gave back */
} eg_cache_result;
/* `steps` NULL, or one result per step of the program (eg_program_info.steps); a scan's is the sum of
 * its body's, steps that a run does not do are all zero. `options` may be NULL. EG_ERR_ARGUMENT:
 * a geometry that is none, a length that the program cannot run. */
EG_API eg_status eg_cache_simulate(const eg_program *program, const eg_cache_geometry *geometry,
                                   const eg_cache_options *options, eg_cache_result *out,
                                   eg_cache_result *steps, eg_error *error);

/* ---- diagnosis: what stands in the way on this machine, and a checklist */
typedef enum eg_health { EG_HEALTH_GOOD, EG_HEALTH_BAD, EG_HEALTH_UNKNOWN } eg_health;
EG_API const char *eg_health_name(eg_health health); /* "good"; static; NULL past the last */
typedef struct eg_diagnosis_item {
    const char *name; /* "other load"; static */
    eg_health health;
    char text[200];           /* what was found, or why it cannot be known */
    char advice[200];         /* "" = none */
    eg_provenance provenance; /* where what was found is from; EG_UNAVAILABLE: unknown */
} eg_diagnosis_item;
typedef struct eg_diagnosis {
    size_t findings; /* of the machine; then the checklist */
    size_t count;
    eg_diagnosis_item item[32];
} eg_diagnosis;
/* `profile` NULL = of the machine alone: what needs a model is unknown then. */
EG_API void eg_diagnose(const eg_environment *environment, const eg_chip *chip,
                        const eg_profile *profile, eg_diagnosis *out);

#ifdef __cplusplus
}
#endif
#endif
