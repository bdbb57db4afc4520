/* The loop that runs a program. */
#ifndef EG__LOOP_H
#define EG__LOOP_H

#include "graph/steps/program.h"

/* Runs a list of steps, each over all its items, on the threads of the run. The first step that
 * fails ends the run; if several of its parts fail, the error is that of the lowest part. */
eg_status eg__steps_run(const eg__run *run, const eg__step *steps, size_t count, eg_error *error);

#endif
