/* What the files of profiling share: figures as Python has them. */
#ifndef CORE_PROFILE_H
#define CORE_PROFILE_H

#include "core.h"

/* Of times; intervals are (value, low, high). */
PyObject *core_statistics(const eg_statistics *statistics);
/* Numbers of a sequence in new memory (free it); NULL with an exception. */
double *core_doubles(PyObject *sequence, const char *name, size_t *count);

/* What a model would take on other chips: a chip's name, a list of names, or "all". You free it; NULL with an
 * exception. */
eg_report_device *core_devices(eg_model *model, const eg_profile_options *options, PyObject *chips,
                               size_t *count);

/* A profile, as other files see it: borrowed; NULL with an exception. */
const eg_profile *core_profile_of(PyObject *object, const char *name);
/* Computing with a model without the GIL: it must not be changed meanwhile. `object` may be NULL. */
void core_model_begin(PyObject *object);
void core_model_end(PyObject *object);

/* Takes the profile, and shares the rest; `model` may be NULL. */
PyObject *core_profile_wrap(core_context *context, PyObject *model, eg_profile *profile);

extern PyMethodDef core_profile_functions[], core_record_functions[], core_chip_functions[],
    core_machine_functions[], core_wiring_functions[];

#endif
