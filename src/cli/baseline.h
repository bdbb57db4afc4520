/* elegans baseline: samples of a model, now and then. Functions return -1 to go on, or the exit code after a
 * message. */
#ifndef EG__CLI_BASELINE_H
#define EG__CLI_BASELINE_H

#include "cli.h"

typedef struct baseline_wish {
    const char *name, *model, *history, *isa;
    uint64_t batch, seq, runs, warmup, rounds, threads;
    double effect, alpha;
    bool replace, json;
} baseline_wish;

typedef struct samples {
    double *seconds;
    size_t count, room;
} samples;
void samples_add(samples *s, const double *seconds, size_t count, bool *no_memory);

/* ---- baseline_measure.c */
/* A profile of the model in this program; `profile` may be NULL. */
int baseline_profile(eg_context *context, const baseline_wish *w, samples *out,
                     eg_profile **profile);
/* Samples of the model in a program of another version, run as a process of its own. */
int baseline_foreign(const char *program, const baseline_wish *w, samples *out);
/* "batch=1 isa=avx2 seq=16 threads=1" */
void options_text(eg_context *context, const baseline_wish *w, char out[128]);

/* ---- baseline_compare.c */
int baseline_compare(eg_context *context, eg_history *history, const baseline_wish *w);

#endif
