/* Parts of programs that run on devices: their instances, weights and states. */
#ifndef EG__PARTS_H
#define EG__PARTS_H

#include "engine/program.h"

/* Allocates whole pages if a device may import them or the size is large; small sizes share pages,
 * so that thousands of small streams do not take two pages each. Size 0 gives NULL. */
eg_status eg__pages_take(const eg_program *program, eg_tag tag, size_t bytes, eg__space *out,
                         eg_error *error);

/* ---- weights on devices, one per part; NULL = the program has no parts */
eg_status eg__part_weights_create(const eg_program *program, eg__device_weights ***out,
                                  eg_error *error);
/* Copies parameter `index` of the program from `data`. */
eg_status eg__part_weights_write(const eg_program *program, eg__device_weights *const *weights,
                                 size_t index, const void *data, eg_error *error);
eg_status eg__part_weights_end(const eg_program *program, eg__device_weights *const *weights,
                               eg_error *error);
void eg__part_weights_release(const eg_program *program, eg__device_weights **weights);
bool eg__part_weights_reads(const eg_program *program, size_t index); /* whether a part reads it */

/* ---- instances; `weights` are what was made for the same program. *out is NULL if it has no parts. */
eg_status eg__parts_create(const eg_program *program, eg__device_weights *const *weights,
                           eg__part_instance **out, eg_error *error);
void eg__parts_release(const eg_program *program, eg__part_instance *parts);
/* Releases imported host memory; devices import it again when they need it. */
eg_status eg__parts_forget(const eg_program *program, eg__part_instance *parts, eg_error *error);
/* After a run that failed: waits for what was submitted. */
void eg__parts_settle(const eg_program *program, eg__part_instance *parts);
bool eg__parts_have_states(const eg_program *program);
/* The states that parts hold, from or to the host's memory. */
eg_status eg__parts_sync(const eg_program *program, eg__part_instance *parts, char *plain,
                         char *caches, eg__device_way way, eg_error *error);

#endif
