/* Programs that report themselves: counters in a small shared page of memory that `elegans monitor` reads.
 * Experimental. */
#ifndef ELEGANS_PUBLISH_H
#define ELEGANS_PUBLISH_H

#include "elegans/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A publisher is a file of fixed size that is mapped into memory, in $XDG_RUNTIME_DIR/elegans or, where there is none, in
 * a folder of this user below $TMPDIR; only this user can read it. A reader never blocks the writer and never sees a
 * record half written. Publishing never makes work fail: every call takes NULL, and does nothing then.
 *
 *     eg_publisher_open(context, &options, &publisher, NULL); // NULL after a failure: fine
 *     for (...) {
 *         eg_publisher_begin(publisher);
 *         eg_stream_step(...);
 *         eg_publisher_end(publisher);
 *     }
 *     eg_publisher_close(publisher);
 *
 * Every step is counted, with one store; the clock is read around some of them only (about one in 100 us), so that a
 * step of 0.6 us becomes less than 1 % slower. One thread at a time uses a publisher; a program may have several. After
 * a fork, the publishers of the parent do nothing in the child. */
typedef struct eg_publisher eg_publisher; /* opaque */

/* A cache or the DRAM: what holds so many bytes is read at this rate. */
typedef struct eg_memory_level {
    double bytes, bandwidth; /* B/s, measured; 0 = unknown */
} eg_memory_level;
enum { EG_PUBLISHER_LEVELS = 4 };

typedef struct eg_publisher_options { /* all zero = a program without a name, costs unknown */
    size_t size;                      /* sizeof(eg_publisher_options); 0 = those of version 0.1 */
    const char *folder;               /* NULL = that of this user; must be this user's alone */
    const char *program;              /* "elegans"; longer texts than 63 bytes are cut */
    const char *activity;             /* what it does: "run", "stream", "train"; up to 31 bytes */
    const char *model;                /* a file or a spec; up to 127 bytes */
    double step_flops, step_bytes;    /* of one step, counted; 0 = unknown */
    double peak_flops;                /* FLOP/s that it could reach, measured; 0 = unknown */
    double peak_bandwidth;            /* B/s, likewise */
    /* The smallest first. A step is held against the first one that is known and holds its bytes, because the next step
     * finds them there; where there is none, against peak_bandwidth. */
    eg_memory_level levels[EG_PUBLISHER_LEVELS];
} eg_publisher_options;

/* You own *out, which is NULL after a failure and when the environment has ELEGANS_PUBLISH=0 (EG_OK). The context must
 * outlive it: its memory is published, too. `options` may be NULL. EG_ERR_FILE: the folder is not this user's alone, or
 * nothing can be written there. Takes about 0.1 ms. */
EG_API eg_status eg_publisher_open(eg_context *context, const eg_publisher_options *options,
                                   eg_publisher **out, eg_error *error);
/* Removes the file. NULL is fine, as in all calls below. */
EG_API void eg_publisher_close(eg_publisher *publisher);

/* Around a step. What happens between an end and the next begin (waiting for a sensor) is not part of a step's time. */
EG_API void eg_publisher_begin(eg_publisher *publisher);
EG_API void eg_publisher_end(eg_publisher *publisher);
/* The same for steps that were done already: `seconds` each; NaN = they were not timed. */
EG_API void eg_publisher_add(eg_publisher *publisher, uint64_t steps, double seconds);
/* Costs of a step from now on; 0 = unknown. */
EG_API void eg_publisher_cost(eg_publisher *publisher, double step_flops, double step_bytes);
EG_API void eg_publisher_tokens(eg_publisher *publisher, uint64_t count); /* so many more */

/* How far a training is. What is unknown is NaN. */
typedef struct eg_training_report {
    size_t size; /* sizeof(eg_training_report); 0 = the fields of version 0.1 */
    uint64_t epoch, epochs;
    uint64_t step;     /* updates so far */
    double loss;       /* becomes a point of the curve */
    double validation; /* of the last epoch that has one */
    double learning_rate, gradient_norm;
    double seconds_left;
} eg_training_report;
/* The curve has at most EG_LOSS_POINTS points: when it is full, neighbours are averaged. EG_ERR_ARGUMENT: no report. */
enum { EG_LOSS_POINTS = 256 };
EG_API eg_status eg_publisher_train(eg_publisher *publisher, const eg_training_report *report,
                                    eg_error *error);

/* Which operations the time goes to, where that was recorded. */
enum { EG_OPERATION_SHARES = 16, EG_OPERATION_NAME = 32 };
typedef struct eg_operation_share {
    char name[EG_OPERATION_NAME]; /* "gemm_f32" */
    double share;                 /* of the time, 0..1 */
} eg_operation_share;
/* The first EG_OPERATION_SHARES of them replace those from before. */
EG_API void eg_publisher_operations(eg_publisher *publisher, size_t count,
                                    const eg_operation_share *shares);

#ifdef __cplusplus
}
#endif
#endif
