/* Tunings as contexts read them. */
#ifndef EG__TUNING_H
#define EG__TUNING_H

#include "elegans/tune.h"
#include "engine/context.h"

enum { EG__TUNING_TEXT = 2048, EG__TUNING_PATH = 4096 };
/* As text, with a hash at its end; the length. */
size_t eg__tuning_write(const eg_tuning *tuning, char out[EG__TUNING_TEXT]);
/* EG_ERR_FORMAT says what is damaged. */
eg_status eg__tuning_parse(const char *text, size_t length, eg_tuning *out, eg_error *error);

/* The file of this context's machine, instruction set and number of threads; false if there is no folder. */
bool eg__tuning_path(const eg_context *context, const char *folder, bool make,
                     char out[EG__TUNING_PATH]);
/* Blocks and rows of the context as a stored result says. A file that is damaged or belongs to another machine is left out, with a
 * warning; none is none. Called once, before the first program. Fails only for want of memory. */
eg_status eg__context_tune(eg_context *context, const char *folder, eg_error *error);
/* The same for a result in memory. */
eg_status eg__context_tune_with(eg_context *context, const eg_tuning *tuning, eg_error *error);

#endif
