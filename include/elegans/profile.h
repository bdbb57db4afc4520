/* Profiles: which step of a program took how long, and what that says. */
#ifndef ELEGANS_PROFILE_H
#define ELEGANS_PROFILE_H

#include "elegans/measure.h"
#include "elegans/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording: events in memory that is taken beforehand. Programs that nobody records pay nothing. */
typedef struct eg_recorder eg_recorder; /* opaque; of one instance at a time */
typedef struct eg_recorder_options {    /* all zero = every run, 65536 events per thread */
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
    uint32_t run;        /* from 1 */
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
/* One entry per step of the program (eg_program_info.steps); steps that never ran are all zero. `run` gets
 * the mean time of a run. Only runs of which every event is there are counted. EG_ERR_ARGUMENT: there are
 * none. */
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

typedef struct eg_compare_options { /* all zero = defaults */
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
    X(clock, "clock that is read")
#define EG_ENVIRONMENT_METRIC_MAP(X)                                          \
    X(cores, "cores that may be used")                                        \
    X(threads, "threads of the context")                                      \
    X(load, "processes that run or want to, mean of a minute")                \
    X(pressure_cpu, "time in which somebody waited for a core, last 10 s")    \
    X(pressure_memory, "time in which somebody waited for memory, last 10 s") \
    X(memory_available, "memory available")                                   \
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
    /* what must be equal before times may be compared: chip, isa, threads, system, build of the library.
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

#ifdef __cplusplus
}
#endif
#endif
