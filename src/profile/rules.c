/* Recommendations as a table: a name, a reason, and when it applies. */
#include "profile/analysis.h"

#include <math.h>
#include <stdio.h>

static bool batch(const eg__facts *f, eg_finding *out) {
    const double overhead = f->share[EG__BY_OVERHEAD];
    if (f->batch >= 256 || !(overhead > 0.25)) return false;
    snprintf(out->text, sizeof out->text,
             "%.0f %% of the time goes to steps of less than 60 ns, at a batch of %llu",
             100 * overhead, (unsigned long long)f->batch);
    snprintf(out->action, sizeof out->action, "try a batch of %llu, if answers may wait",
             (unsigned long long)(f->batch < 8 ? 32 : f->batch * 2));
    out->gain = overhead * f->seconds;
    return true;
}

static bool threads(const eg__facts *f, eg_finding *out) {
    if (f->threads >= f->cores || f->batch < 16 || f->seconds < 200e-6) return false;
    const double left = 1 - (double)f->threads / (double)f->cores;
    snprintf(out->text, sizeof out->text, "%u of %u cores are used, and a run takes %.0f us",
             f->threads, f->cores, f->seconds * 1e6);
    snprintf(out->action, sizeof out->action, "--threads %u: batches are cut among them", f->cores);
    out->gain = left * 0.9 * f->seconds;
    return true;
}

static bool data_type(const eg__facts *f, eg_finding *out) {
    const double memory = f->share[EG__BY_L3] + f->share[EG__BY_DRAM];
    if (!(memory > 0.25)) return false;
    snprintf(out->text, sizeof out->text, "%.0f %% of the time is bound by L3 or DRAM, in f32",
             100 * memory);
    snprintf(out->action, sizeof out->action, "weights in f16 would halve what is read");
    out->gain = memory / 2 * f->seconds;
    return true;
}

unsigned eg__size_suggested(unsigned columns) {
    unsigned power = 1;
    if (columns > 64) return (columns + 63) / 64 * 64;
    while (power < columns) power *= 2;
    return power < 16 ? 16 : power;
}

static bool sizes(const eg__facts *f, eg_finding *out) {
    if (!(f->odd_share > 0.1)) return false;
    snprintf(out->text, sizeof out->text,
             "%.0f %% of the time are products whose columns are no multiple of 16, such as %s",
             100 * f->odd_share, f->odd_shape);
    snprintf(out->action, sizeof out->action,
             "powers of two and multiples of 64 fill the vectors: %u instead of %u",
             eg__size_suggested(f->odd_columns), f->odd_columns);
    out->gain = NAN;
    return true;
}

static bool compile(const eg__facts *f, eg_finding *out) {
    if (f->compiled) return false;
    snprintf(out->text, sizeof out->text, "the graph was run node by node");
    snprintf(out->action, sizeof out->action, "leave --no-compile away");
    out->gain = NAN;
    return true;
}

static bool layout(const eg__facts *f, eg_finding *out) {
    if (!(f->copy_share > 0.1)) return false;
    snprintf(out->text, sizeof out->text, "%.0f %% of the time are copies and transpositions",
             100 * f->copy_share);
    snprintf(out->action, sizeof out->action,
             "give time-first inputs, and bind outputs by pointer");
    out->gain = f->copy_share * f->seconds;
    return true;
}

static bool cache(const eg__facts *f, eg_finding *out) {
    const bool misses = f->hit_rate < 0.8;
    if (!misses && !(f->last_cache > 0 && f->working_set > f->last_cache)) return false;
    if (misses)
        snprintf(out->text, sizeof out->text, "the cache serves %.0f %% of all accesses",
                 100 * f->hit_rate);
    else
        snprintf(out->text, sizeof out->text, "a run touches %.1f MB, the last cache has %.1f",
                 f->working_set * 1e-6, f->last_cache * 1e-6);
    snprintf(out->action, sizeof out->action, "a smaller batch keeps the values in the cache");
    out->gain = NAN;
    return true;
}

static bool memory(const eg__facts *f, eg_finding *out) {
    const bool budget = f->memory_budget > 0 && f->peak_memory > f->memory_budget;
    if (!budget && (!(f->memory_available > 0) || f->peak_memory < 0.9 * f->memory_available))
        return false;
    if (budget)
        snprintf(out->text, sizeof out->text, "%.1f GB are taken, the budget is %.1f",
                 f->peak_memory * 1e-9, f->memory_budget * 1e-9);
    else
        snprintf(out->text, sizeof out->text, "%.0f %% of the available memory is taken",
                 100 * f->peak_memory / f->memory_available);
    snprintf(out->action, sizeof out->action, "halve the batch, or give --memory when training");
    out->gain = NAN;
    return true;
}

const eg__rule eg__rules[] = {
    {"batch", "a step costs some ns before it computes; more samples share them", batch},
    {"threads", "samples of a batch do not depend on each other", threads},
    {"data_type", "what waits for memory takes half as long with half the bytes", data_type},
    {"sizes", "vectors that are not full compute nothing in their empty lanes", sizes},
    {"compile", "fused steps read and write memory once instead of once per operation", compile},
    {"layout", "a copy computes nothing", layout},
    {"cache", "the DRAM is several times slower than any cache", cache},
    {"memory", "a machine that swaps is a thousand times slower", memory},
    {NULL, NULL, NULL}};
