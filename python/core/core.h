/* The extension module: what its files share. Each wraps a part of the library as Python types and functions; Python
 * names what the library does, nothing is computed here. */
#ifndef CORE_H
#define CORE_H

#include "python.h"

#include <elegans/elegans.h>

/* ---- errors: an exception for what the library says, and NULL for a return */
PyObject *core_raise(const eg_error *error);
PyObject *core_raise_path(const eg_error *error, const char *path);
int core_errors_add(PyObject *module);

/* ---- the context. Objects hold it, so that it goes after the last of them. */
typedef struct core_context {
    eg_context *context;
    uint64_t references; /* under the GIL */
    int is_foreign;      /* made before a fork() that left its threads behind */
} core_context;
core_context *
core_context_take(void); /* the present one, made when needed; NULL with an exception */
core_context *core_context_share(core_context *context);
void core_context_give(core_context *context); /* NULL is fine */
/* Threads that objects made from now on share; NULL = none. 0 with an exception. */
int core_context_team(eg_team_function team);
int core_context_usable(const core_context *context); /* 0 with an exception: see is_foreign */

/* ---- arguments of a call by position or keyword: out[i] is borrowed, NULL where there is none */
int core_arguments(const char *function, const char *const *names, size_t required, PyObject **out,
                   PyObject *const *args, Py_ssize_t count, PyObject *keywords);
int core_number(PyObject *object, const char *name, double *out);
int core_flag(PyObject *object, int *out); /* true or false; NULL leaves *out as it is */
int core_count(PyObject *object, const char *name, uint64_t *out);
/* A str, and a str, bytes or os.PathLike, as a new reference to bytes; *out is its text. */
PyObject *core_text(PyObject *object, const char *name, const char **out);
PyObject *core_path(PyObject *object, const char *name, const char **out);
int core_add(PyObject *dictionary, const char *key,
             PyObject *value); /* steals value, which may be NULL */
PyObject *core_metric(
    const eg_metric *metric); /* (value or None, provenance, unit or None, source or None) */

/* ---- arrays: memory of numpy and of anything else with a buffer or DLPack, as a tensor */
typedef struct core_view {
    eg_tensor tensor;
    PyObject *owner; /* keeps the memory: an array or a capsule */
    Py_buffer buffer;
    int is_buffer;
} core_view;
enum { CORE_READ = 0, CORE_WRITE = 1 };
/* Memory of `object` as contiguous elements of `type`. What has another layout is copied by numpy when it is read, and
 * refused when it is to be written. `name` is for messages. */
int core_view_take(core_view *view, PyObject *object, eg_type type, int access, const char *name);
void core_view_give(core_view *view); /* an all-zero one is fine */
int core_view_expect(const core_view *view, const char *name, unsigned rank, const uint64_t *shape);
/* A new array of numpy, and its memory. */
PyObject *core_array(core_view *view, eg_type type, unsigned rank, const uint64_t *shape);
int core_shape_text(char out[96], unsigned rank, const uint64_t *shape);
int core_arrays_ready(void);
const char *core_type_text(eg_type type); /* "float32"; static */
int core_type_take(PyObject *object, const char *name, eg_type *out);
int core_dlpack_take(core_view *view, PyObject *object, eg_type type, int access, const char *name);

/* ---- interrupts: long calls ask whether somebody pressed Ctrl-C */
int core_interrupted(void *user);

/* ---- parts of the module: each adds its types or functions */
int core_model_add(PyObject *module);
int core_stream_add(PyObject *module);
int core_wiring_add(PyObject *module);
int core_safetensors_add(PyObject *module);
int core_graph_add(PyObject *module);
int core_node_add(PyObject *module);
int core_program_add(PyObject *module);
int core_scope_add(PyObject *module);
int core_tools_add(PyObject *module);
int core_generate_add(PyObject *module);
extern PyMethodDef core_quantize_functions[];
int core_table_add(PyObject *module);
int core_data_add(PyObject *module);
int core_fit_add(PyObject *module);
int core_evaluate_add(PyObject *module);
int core_profile_add(PyObject *module);
int core_differentiable_add(PyObject *module);
int core_publish_add(PyObject *module);
int core_monitor_add(PyObject *module);
extern PyMethodDef core_context_functions[];
extern PyMethodDef core_team_functions[];

/* A model, as other files of the extension see it. */
typedef struct core_model core_model;
eg_model *core_model_of(PyObject *object, const char *name); /* borrowed; NULL with an exception */
core_context *core_model_context(PyObject *object);
PyObject *core_model_stream(PyObject *model, PyObject *nothing);
void core_model_changed(PyObject *object); /* its programs hold old values */
int core_model_busy(PyObject *object); /* 1 with an exception: another thread computes with it */

#define CORE_FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

#endif
