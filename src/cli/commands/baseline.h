/* elegans baseline: samples of a model, now and then. */
#ifndef EG__CLI_BASELINE_H
#define EG__CLI_BASELINE_H

#include "cli/cli.h"

typedef struct baseline_settings {
    const char *name, *model, *history, *isa, *note;
    const char *program; /* compare: another build, named by who asks, never by the history */
    uint64_t batch, seq, runs, warmup, rounds, threads;
    double effect, alpha;
    bool replace, json, no_compile;
} baseline_settings;

typedef struct samples {
    double *seconds;
    size_t count, room;
} samples;
void samples_add(samples *s, const double *seconds, size_t count);

/* ---- baseline_measure.c */
/* A profile of the model in this program; `profile` may be NULL. */
int baseline_profile(eg_context *context, const baseline_settings *w, const char *model,
                     samples *out, eg_profile **profile);
/* Samples of the model in another build, run as a process of its own. */
int baseline_foreign(const char *program, const baseline_settings *w, samples *out);
/* "batch=1 isa=avx2 seq=16 threads=1" */
enum { OPTIONS_SIZE = 128 };
void options_text(eg_context *context, const baseline_settings *w, char out[OPTIONS_SIZE]);

/* ---- history_keep.c */
/* "cfc default autoncp 16-64-16, 900 synapses, f32, 7000 parameters": equal for the same model with
 * other weights. */
enum { CONFIGURATION_SIZE = 512 };
int model_configuration(eg_context *context, const char *name, char out[CONFIGURATION_SIZE]);
/* `w` has the name (NULL = none), the model, the note and the options of the profile. */
int history_keep(eg_context *context, eg_history *history, const baseline_settings *w,
                 const eg_environment *environment, const eg_profile *profile,
                 const eg_analysis *analysis);

/* ---- baseline_compare.c */
int baseline_compare(eg_context *context, eg_history *history, const baseline_settings *w);

#endif
