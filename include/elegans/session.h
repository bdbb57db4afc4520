/* Sessions: a cache of compiled programs, one per shape of a model's inputs.
 * Stable. */
#ifndef ELEGANS_SESSION_H
#define ELEGANS_SESSION_H

#include "elegans/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_session eg_session;

enum { EG_SESSION_DIMENSIONS = 8 };

/* Builds the graph of a model for given dimensions (batch, time: their meaning is up to
 * the builder) and names its outputs: `outputs` has `room` elements, *count are used. Every call must create the
 * same parameters in the same order. */
typedef eg_status (*eg_session_build)(void *user, eg_graph *graph, const uint64_t *dimensions,
                                      size_t dimension_count, eg_output *outputs, size_t room,
                                      size_t *count, eg_error *error);

typedef struct eg_session_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_session_options); 0 = the fields of version 0.1 */
    size_t programs; /* kept at most, 0 = 8; the least recently used one is evicted */
    const eg_compile_options *compile; /* NULL = defaults; `passes` is copied */
} eg_session_options;

EG_API eg_status eg_session_create(eg_context *context, eg_session_build build, void *user,
                                   const eg_session_options *options, eg_session **out,
                                   eg_error *error);
EG_API void eg_session_destroy(eg_session *session); /* NULL is fine */

/* The program for these dimensions, from the cache or compiled now. You own it (eg_program_release). Any
 * thread; one compiles at a time. */
EG_API eg_status eg_session_program(eg_session *session, const uint64_t *dimensions, size_t count,
                                    eg_program **out, eg_error *error);
/* An instance of that program that the session keeps as long as the program: for one thread. */
EG_API eg_status eg_session_instance(eg_session *session, const uint64_t *dimensions, size_t count,
                                     eg_instance **out, eg_error *error);
/* The weights of all its programs; there are none before the first program. The session owns them. */
EG_API eg_status eg_session_weights(eg_session *session, eg_weights **out, eg_error *error);

typedef struct eg_session_figures { /* counted, but for the time */
    uint64_t hits, misses, evicted;
    uint64_t programs;      /* in the cache now */
    double compile_seconds; /* measured: of all misses */
} eg_session_figures;
EG_API void eg_session_figures_get(eg_session *session, eg_session_figures *out);

#ifdef __cplusplus
}
#endif
#endif
