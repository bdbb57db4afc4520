/* The loop that runs a program. */
#ifndef EG__LOOP_H
#define EG__LOOP_H

#include "graph/steps/program.h"

/* Runs a list of steps, each over all its items, on the threads of the run. The first step that
 * fails ends the run; if several of its parts fail, the error is that of the lowest part. */
eg_status eg__steps_run(const eg__run *run, const eg__step *steps, size_t count, eg_error *error);

/* What runs on several threads may fail in any order; the error of the lowest index is kept, so that it is
 * deterministic. All zero but `error` = nothing failed. */
typedef struct eg__failure {
    eg_error *error; /* may be NULL */
    eg_status status;
    size_t index;
    bool locked; /* atomic */
} eg__failure;
void eg__failure_add(eg__failure *failure, size_t index, eg_status status, const eg_error *error);

#endif
