/* Profiles: which step of a program took how long, and what that says. */
#ifndef ELEGANS_PROFILE_H
#define ELEGANS_PROFILE_H

#include "elegans/chip.h"
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

/* ---- statistics of samples (times, mostly). NaN where there are too few to say. */
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
EG_API eg_status eg_compare(eg_context *context, size_t old_count, const double *old_samples,
                            size_t new_count, const double *new_samples,
                            const eg_compare_options *options, eg_comparison *out, eg_error *error);

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

#ifdef __cplusplus
}
#endif
#endif
