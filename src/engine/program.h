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

/* What a program's prologue made of the parameters, and what it needs while it runs. */
typedef struct eg__derived {
    eg_program *program;
    char *data; /* the memory of `kept` */
    eg__space kept, work;
    eg__device_weights **parts; /* what devices have; NULL = the program has no parts */
    struct eg__derived *next;
} eg__derived;

/* Who has the parameters where the weights keep no copy of them: writes `count` elements of one, from `first` on, to `to`.
 * Quantized numbers are asked for in whole bytes; their scales and zero points come with the first of them, and lie
 * where the layout of the parameter has them, `to` being its beginning then. */
typedef struct eg__lender {
    eg_status (*fill)(void *user, const eg__leaf *leaf, size_t first, size_t count, void *to,
                      eg_error *error);
    void *user;
} eg__lender;

/* A parameter of weights that are lent is not there, there for steps of a prologue, or there for programs. */
typedef enum eg__holding { EG__ABSENT, EG__PASSING, EG__STAYING } eg__holding;

struct eg_weights {
    eg_context *context;
    eg_program *program; /* whose parameters they are */
    eg__space space;
    char *data;        /* the memory of `space` */
    bool is_lent;      /* parameters are there while they are needed; nobody may change them */
    eg__lender lender; /* lent: fill NULL = no other program can be prepared */
    uint8_t *holds;    /* lent, per parameter: eg__holding */
    int64_t users;     /* runs going on, or negative: somebody changes them; atomic */
    eg__derived *derived;
    bool listing; /* somebody reads or changes the list of derived values; atomic */
    /* A prologue failed: `users` stays negative, so that nothing runs, until a change of the parameters succeeds. */
    bool failed; /* atomic: who clears it may change them */
    eg_error reason;
};

/* Weights without a copy of what only the prologues of programs read: these ask the lender for it, piece by piece. The
 * lender must live as long as programs are prepared (attached). */
eg_status eg__weights_lend(eg_program *program, const eg__lender *lender, eg_weights **out,
                           eg_error *error);
/* The weights of the session's programs are lent; before the first of them. */
void eg__session_lend(eg_session *session, const eg__lender *lender);
/* Prepares the program; from now on the lender is needed no more, and nothing else can be prepared. */
eg_status eg__weights_settle(eg_weights *weights, eg_program *program, eg_error *error);

/* Why no program can run with them at the moment. */
eg_status eg__weights_unready(eg_weights *weights, eg_error *error);

/* Finds or makes the derived values of `program`. Any thread. */
eg_status eg__weights_attach(eg_weights *weights, eg_program *program, const eg__derived **out,
                             eg_error *error);

/* ---- weights_lent.c: what a program itself reads, to stay; and what its prologue makes */
eg_status eg__weights_fetch(eg_weights *weights, const eg_program *program, eg_error *error);
eg_status eg__weights_prepare(eg_weights *weights, eg__derived *derived, eg_error *error);
/* To the devices: all parameters that parts of the program read. */
eg_status eg__weights_upload(eg_weights *weights, const eg__derived *derived, eg_error *error);
/* Steps of a prologue. */
eg_status eg__weights_run(const eg_weights *weights, const eg__derived *derived,
                          const eg__step *steps, size_t count, eg_error *error);

/* Whether the parameter is quantized as these are: then the numbers, in whose layout nothing differs, lie at the
 * beginning of its memory, scales and zero points where its layout has them. */
eg_status eg__leaf_check_quantized(const eg__leaf *leaf, const eg_quantized *quantized,
                                   eg_error *error);

/* Quantized numbers without memory: sizes, and how many scales (zero points as many, unless symmetric). */
eg_status eg__quantized_like(unsigned rank, const uint64_t *shape,
                             const eg_quantization *quantization, eg_quantized *out,
                             eg_error *error);

const eg_program *eg__instance_program(const eg_instance *instance);
/* From now on its runs are recorded; NULL = no more. The record has a ring for each thread. */
void eg__instance_record(eg_instance *instance, eg__record *record);

#endif
