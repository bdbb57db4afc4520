/* The context: allocator, threads, kernels and chip of one user of the library.
 * Stable. */
#ifndef ELEGANS_CONTEXT_H
#define ELEGANS_CONTEXT_H

#include "elegans/base.h"
#include "elegans/chip.h"
#include "elegans/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_context_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_context_options); 0 = the fields of version 0.1 */
    eg_allocator allocator;         /* all zero = the system's */
    unsigned threads;               /* 0 = one per performance core, at most 256 */
    const char *
        isa; /* NULL = best; a name of eg_isa_list allows that set and what it implies; "ref" = portable C */
    uint64_t memory_budget;  /* bytes; 0 = memory_fraction of what is available now */
    double memory_fraction;  /* 0 = 0.8; within (0, 1] */
    int memory_cache_off;    /* 1 = freed memory goes back to the allocator at once */
    int pin_threads;         /* 1 = bind each thread to a core of its own, fastest kind first */
    eg_log_function log;     /* NULL = silent */
    void *log_user;          /* handed to `log` */
    eg_log_level log_level;  /* the most verbose level that is logged; EG_LOG_ERROR is 0 */
    const char *system_root; /* NULL = this machine; else a folder with a recorded machine */
    int weights_read; /* 1 = weight files are read into memory of the context (huge pages where the
                              * system has them) instead of being mapped */
    int tuned; /* 1 = use what eg_tune stored for this machine, if anything (tune.h); not with `isa` or blocks given here. The
                * same machine, settings and file give the same bits */
    const char *tuning_folder; /* where; NULL = $XDG_CACHE_HOME/elegans or ~/.cache/elegans */
    unsigned blocks_rows;      /* of a block of a product, at most 2048; 0 = from the caches */
    unsigned blocks_depth; /* within 16..8192; it affects the bits of sums; 0 = from the caches */
    eg_team_function team; /* asked first, whenever work is divided; NULL = none */
    void *team_user;       /* handed to `team` */
} eg_context_options;

/* `options` and `error` may be NULL. On failure *out is NULL. You own *out. The context may be used
 * from several threads; parallel work of two threads at once runs one after the other.
 *
 * After fork(), the threads of a context exist in the parent only. The child may destroy the context (which frees its
 * memory and waits for no thread) and create its own; with more than one thread, nothing else of the context or of
 * objects made with it works in the child. Fork while no thread is inside the library. */
EG_API eg_status eg_context_create(const eg_context_options *options, eg_context **out,
                                   eg_error *error);
EG_API void eg_context_destroy(eg_context *context); /* NULL is fine */

EG_API const eg_chip *eg_context_chip(const eg_context *context); /* lives as long as the context */
EG_API unsigned eg_context_threads(const eg_context *context);
/* The instruction set the context's kernels were picked for: "avx2", "neon", "ref"; static. */
EG_API const char *eg_context_isa(const eg_context *context);

#ifdef __cplusplus
}
#endif
#endif
