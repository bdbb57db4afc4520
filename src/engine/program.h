/* Programs, weights and instances, as the engine's own files see them. */
#ifndef EG__ENGINE_PROGRAM_H
#define EG__ENGINE_PROGRAM_H

#include "elegans/session.h"
#include "engine/context.h"
#include "graph/steps/program.h"

void eg__program_keep(eg_program *program);
const eg__leaf *eg__leaf_find(const eg__leaves *leaves, const char *name, size_t *index);
eg_tensor eg__leaf_tensor(const eg__leaf *leaf, void *data);
/* Type and shape are those of the leaf; with `shorter`, the first extent may be smaller. */
eg_status eg__leaf_check(const eg__leaf *leaf, const eg_tensor *tensor, bool shorter,
                         eg_error *error);

/* The derived values of a program: results of its prologue. */
typedef struct eg__derived {
    eg_program *program;
    char *data; /* the memory of `kept` */
    eg__space kept, work;
    eg__device_weights **parts; /* weights on devices; NULL = the program has no parts */
    struct eg__derived *next;
    int state; /* eg__derived_state; atomic */
} eg__derived;

/* When parameters change, only what a run has used since the last change is derived at once: a training need not prepare
 * the weights of its evaluation in every step. The rest is derived when a run needs it. */
typedef enum eg__derived_state {
    EG__DERIVED_USED,
    EG__DERIVED_UNUSED,
    EG__DERIVED_STALE
} eg__derived_state;
/* Called by every run that finds them not used, while it holds the weights. */
eg_status eg__weights_derive(eg_weights *weights, eg__derived *derived, eg_error *error);

/* A lender of parameters, for weights that keep no copy: writes `count` elements of a parameter
 * from `first` on to `to`. Quantized values are requested in whole bytes; the request for the first
 * ones also writes scales and zero points, at their offsets in the layout that begins at `to`. */
typedef struct eg__lender {
    eg_status (*fill)(void *user, const eg__leaf *leaf, size_t first, size_t count, void *to,
                      eg_error *error);
    void *user;
} eg__lender;

/* A lent parameter is not in memory, in memory for steps of a prologue, or in memory for
 * programs. */
typedef enum eg__holding { EG__ABSENT, EG__PASSING, EG__STAYING } eg__holding;

struct eg_weights {
    eg_context *context;
    eg_program *program; /* the program that lists the parameters */
    eg__space space;
    char *data;        /* the memory of `space` */
    bool is_lent;      /* parameters are in memory only while they are needed; read-only */
    eg__lender lender; /* lent weights: fill NULL = no other program can be prepared */
    uint8_t *holds;    /* lent, per parameter: eg__holding */
    int64_t users;     /* number of active runs, negative = being changed; atomic */
    eg__derived *derived;
    bool listing; /* lock of the list of derived values; atomic */
    /* A prologue failed: `users` stays negative, so that nothing can run, until a change of the
     * parameters succeeds. */
    bool failed; /* atomic: whoever clears it may change the weights */
    eg_error reason;
};

/* Weights without a copy of the parameters that only prologues read: prologues request them from
 * the lender, piece by piece. The lender must live as long as programs are prepared (attached). */
eg_status eg__weights_lend(eg_program *program, const eg__lender *lender, eg_weights **out,
                           eg_error *error);
/* The weights of the session's programs are lent; before the first of them. */
void eg__session_lend(eg_session *session, const eg__lender *lender);
/* Prepares the program; after this the lender is not needed any more, and no other program can be
 * prepared. */
eg_status eg__weights_settle(eg_weights *weights, eg_program *program, eg_error *error);

/* Why no program can run with them at the moment. */
eg_status eg__weights_unready(eg_weights *weights, eg_error *error);

/* Finds or makes the derived values of `program`. Any thread. */
eg_status eg__weights_attach(eg_weights *weights, eg_program *program, eg__derived **out,
                             eg_error *error);

/* ---- weights_lent.c: loads the parameters that a program itself reads, and runs its prologue */
eg_status eg__weights_fetch(eg_weights *weights, const eg_program *program, eg_error *error);
eg_status eg__weights_prepare(eg_weights *weights, eg__derived *derived, eg_error *error);
/* Copies all parameters that parts of the program read to their devices. */
eg_status eg__weights_upload(eg_weights *weights, const eg__derived *derived, eg_error *error);
/* Steps of a prologue. */
eg_status eg__weights_run(const eg_weights *weights, const eg__derived *derived,
                          const eg__step *steps, size_t count, eg_error *error);

/* Checks that the parameter is quantized as `quantized` is. Then the values, whose layout is the same, are at the
 * beginning of its memory, and scales and zero points where its layout has them. */
eg_status eg__leaf_check_quantized(const eg__leaf *leaf, const eg_quantized *quantized,
                                   eg_error *error);

/* Sizes of a quantized tensor without memory, and the number of scales (as many zero points, unless
 * symmetric). */
eg_status eg__quantized_like(unsigned rank, const uint64_t *shape,
                             const eg_quantization *quantization, eg_quantized *out,
                             eg_error *error);

const eg_program *eg__instance_program(const eg_instance *instance);
/* A run; `length` and `seed` as in eg_run_options, `stop` may be NULL. */
struct eg__stop;
eg_status eg__instance_run(eg_instance *instance, uint64_t length, uint64_t seed,
                           struct eg__stop *stop, eg_error *error);
/* Starts recording its runs; NULL = stops. The record has a ring for each thread. */
void eg__instance_record(eg_instance *instance, eg__record *record);

#endif
