/* A model of Python and the programs that were compiled for the shapes it was called with. */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "core.h"

/* What a call asks of a program; calls with equal keys share one. */
typedef struct call_key {
    uint64_t batch, time;
    uint8_t batch_first, unbatched, last, timespans, lengths, state, hidden, training;
} call_key;

enum { CALL_STATES = EG_MODEL_STATES };
typedef struct call_program {
    struct call_program *next; /* the most recently used first */
    call_key key;
    eg_program *program;
    eg_instance *instance; /* of one call at a time */
    double flops, bytes;   /* counted */
    size_t states;
    int is_busy; /* a thread computes with it, without the GIL */
} call_program;

/* A compiled stream, shared by the model and its streams: a model that changes gets another. */
typedef struct core_stream_program {
    eg_stream_program *program;
    uint64_t references;
} core_stream_program;
void core_stream_program_give(core_stream_program *program); /* NULL is fine */

struct core_model {
    PyObject_HEAD core_context *context;
    eg_model *model;
    eg_model_info info;
    PyObject *name; /* the file or spec it came from, or None */
    core_stream_program *stream;
    eg_weights *weights; /* lent by the model to all its programs */
    call_program *programs;
    size_t running;  /* calls that compute without the GIL */
    uint64_t seed;   /* of dropout, in the next call that gives none */
    int is_training; /* its parameters change when that ends */
};

PyObject *core_model_call(PyObject *self, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords);
void core_model_forget_programs(core_model *self);
int core_model_resting(const core_model *self); /* 0 with an exception: it is being trained */

/* Around a call, while somebody records calls; and before a program goes. */
void core_record_begin(core_model *model, call_program *p);
void core_record_end(call_program *p);
void core_record_forget(const eg_program *program);

/* Below this many FLOPs a run is over before another thread could use the GIL. */
#define CORE_UNLOCK_FLOPS 1e6

#endif
