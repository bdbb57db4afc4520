/* What is profiled: a model, compiled and ready to run. */
#ifndef EG__SUBJECT_H
#define EG__SUBJECT_H

#include "elegans/model.h"
#include "elegans/profile.h"
#include "elegans/session.h"

typedef struct eg__subject {
    eg_context *context;
    eg_session *session;    /* has the program, its weights and its instance */
    uint64_t dimensions[2]; /* batch, length */
    eg_program *program;
    eg_instance *instance;
    eg_tensor inputs[4]; /* x, timespans: arbitrary values */
    size_t input_count;
} eg__subject;

eg_status eg__subject_compile(eg__subject *out, eg_model *model, const eg_profile_options *options,
                              eg_error *error);
/* Weights, an instance, inputs and outputs. */
eg_status eg__subject_prepare(eg__subject *subject, eg_model *model, eg_error *error);
/* Requests the program from the session again, as a user does for each batch. */
eg_status eg__subject_instance(eg__subject *subject, eg_instance **out, eg_error *error);
/* Bytes of weights that are used in place in the model's file: inputs of its program. */
double eg__subject_stored(const eg__subject *subject, const eg_model *model);
void eg__subject_close(eg__subject *subject); /* all zero is fine; also after a failure */

#endif
