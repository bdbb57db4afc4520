/* Publishers of Python, as files that compute see them: whoever runs a model tells them. */
#ifndef CORE_PUBLISH_H
#define CORE_PUBLISH_H

#include "core.h"

/* When a step begins: a time, or 0 where nobody publishes, which costs nothing more. With the GIL, as all of this. */
uint64_t core_publish_begin(void);
/* A step of `model` that began then: counted by the publisher that was opened last and takes steps of that model.
 * Costs are counted ones; 0 = unknown. */
void core_publish_step(PyObject *model, uint64_t began, double flops, double bytes);
void core_publish_tokens(PyObject *model, uint64_t began, uint64_t count);

/* For a call that publishes by itself, without the GIL: no other thread has it until core_publish_return. NULL = nobody
 * publishes this model. */
typedef struct core_publisher core_publisher;
core_publisher *core_publish_borrow(PyObject *model, eg_publisher **out);
void core_publish_return(core_publisher *publisher); /* NULL is fine */

#endif
