/* A profile as its parts see it. */
#ifndef EG__PROFILE_H
#define EG__PROFILE_H

#include "engine/context.h"
#include "nn/model.h"
#include "profile/measure/energy.h"
#include "profile/measure/hardware.h"
#include "profile/measure/resident.h"
#include "profile/subject.h"
#include "profile/cache/traffic.h"

struct eg_profile {
    eg_context *context;
    eg__memory *memory;
    char name[256];
    eg_profile_options options;
    eg__subject subject; /* all zero = a callback */
    eg_recorder *recorder;
    eg_recorder_options recorder_options; /* that the options point to */
    double *samples;                      /* seconds of runs */
    size_t sample_count;
    double steps_sum, recorded_time; /* of the recorded runs; seconds of one */
    eg_statistics time;
    eg_metric metrics[EG_PROFILE_METRICS];
    eg_profile_row *steps, *operations;
    size_t step_count, operation_count;
    uint32_t *order; /* indices of steps, as a run does them */
    size_t order_count;
    bool has_ceilings;
    eg_ceilings ceilings;
    eg__traffic traffic;
    const char *operand_level; /* static; NULL = unknown */
    char refusal[160];         /* why DRAM figures are unavailable */
    eg__hardware_watch watch;
    eg__energy energy; /* the text of its source lives here */
    eg_hardware hardware;
    eg_fact power, governor, build; /* when the timed runs began */
    int64_t measured_at;            /* seconds since 1970 */
    uint64_t began;                 /* eg_clock_ns at the start; times are relative to it */
    eg_profile_moment moments[EG_PROFILE_PHASES];
    size_t moment_count;
    eg_memory_figures memory_figures; /* after the timed runs */
    eg__resident resident;            /* until the timed runs end */
    eg_metric peak_resident, now_resident;
    eg__numbers weights;      /* of the model, without masks; all zero = a callback */
    uint64_t run_allocations; /* allocations during the timed runs */
};

/* ---- profile_memory.c: what the library holds now, as the end of a phase */
void eg__profile_moment(eg_profile *profile, eg_profile_phase phase);
/* ---- recorder.c: eg_clock_ns at the begin of the first recorded run; 0 = none */
uint64_t eg__recorder_began(const eg_recorder *recorder);

/* ---- activations.c: how far the outputs are from those with activations of f32; after the figures */
eg_status eg__profile_activations(eg_profile *profile, eg_model *model, eg_error *error);
/* ---- profile_rows.c: the tables of steps and operations, from what was recorded */
eg_status eg__profile_rows(eg_profile *profile, eg_error *error);
/* ---- profile_energy.c: joules of every row, by its share of the time */
void eg__profile_joules(eg_profile *profile);
/* ---- profile_publish.c: a publisher is told of the program, of every run, and of where the time goes */
void eg__profile_publish_program(const eg_profile *profile);
/* Tells of the runs from `told` to `done`, if they are many, long, or the `last`; returns up to which it has told. */
uint64_t eg__profile_publish_runs(const eg_profile *profile, uint64_t told, uint64_t done,
                                  bool last);
void eg__profile_publish_rows(const eg_profile *profile);
/* ---- profile_metrics.c: everything that follows from time, counts and ceilings */
void eg__profile_figures(eg_profile *profile, const eg_memory_figures *before);

#endif
