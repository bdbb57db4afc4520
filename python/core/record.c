/* Recording of the calls that a program makes of its models: their steps, with times, while somebody profiles. */
#include "profile.h"
#include "model.h"

#include <stdlib.h>

/* A compiled program that was called. Its steps are kept here, since it may go while we record. */
typedef struct recording {
    struct recording *next;
    const eg_program *program; /* NULL = it is gone, and `result` is what it did */
    core_context *context;
    eg_recorder *recorder;
    PyObject *name;
    uint64_t began; /* ns of the clock: when it was first called */
    PyObject *result;
    int is_running; /* a thread computes with it, maybe without the GIL */
    int is_dropped; /* taken meanwhile: it goes when that is over */
} recording;

static recording *recordings;
static int is_recording; /* 1: calls are recorded now; all of this is under the GIL */

static void end_recording(recording *r) {
    eg_recorder_destroy(r->recorder);
    core_context_give(r->context);
    Py_XDECREF(r->name);
    Py_XDECREF(r->result);
    free(r);
}

static recording *new_recording(core_model *model, const eg_program *program) {
    recording *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->context = core_context_share(model->context);
    r->name = model->name ? model->name : Py_None;
    Py_INCREF(r->name);
    r->program = program;
    if (eg_recorder_create(model->context->context, NULL, &r->recorder, NULL)) {
        end_recording(r);
        return NULL;
    }
    r->next = recordings;
    r->began = eg_clock_ns(); /* the run follows */
    return recordings = r;
}

/* What cannot be recorded for lack of memory is computed all the same. */
void core_record_begin(core_model *model, call_program *p) {
    if (!is_recording) return;
    recording *r = recordings;
    while (r && (r->program != p->program || r->is_dropped)) r = r->next;
    if (!r) r = new_recording(model, p->program);
    if (r) r->is_running = !eg_instance_record(p->instance, r->recorder, NULL);
}

void core_record_end(call_program *p) {
    recording **at = &recordings;
    while (*at && ((*at)->program != p->program || !(*at)->is_running)) at = &(*at)->next;
    recording *r = *at;
    if (!r) return;
    eg_instance_record(p->instance, NULL, NULL);
    r->is_running = 0;
    if (!r->is_dropped) return;
    *at = r->next;
    end_recording(r);
}

/* ---- what was recorded */
static PyObject *step_row(const eg_program *program, size_t index, const eg_step_time *t) {
    eg_step_info i = {.size = sizeof i};
    eg_error error;
    if (eg_program_step(program, index, &i, &error)) return core_raise(&error);
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:K,s:K,s:K,s:d,s:d,s:K,s:d,s:d,s:d,s:d}", "operation",
                         i.operation, "kernel", i.kernel, "part", i.part, "does", i.text, "rows",
                         i.rows, "columns", i.columns, "depth", i.depth, "flops", i.flops, "bytes",
                         i.bytes, "calls", t->calls, "seconds", t->seconds, "self", t->self, "min",
                         t->least, "max", t->most);
}

static PyObject *step_rows(const recording *r, double *run) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(r->program, &info);
    eg_step_time *times = calloc(info.steps + 1, sizeof *times);
    PyObject *out = times ? PyList_New(0) : PyErr_NoMemory();
    eg_error error;
    *run = 0;
    if (out && eg_recorder_runs(r->recorder) &&
        eg_recorder_steps(r->recorder, r->program, times, run, &error)) {
        core_raise(&error);
        Py_CLEAR(out);
    }
    for (size_t i = 0; out && i < info.steps; i++) {
        PyObject *row = step_row(r->program, i, &times[i]);
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    free(times);
    return out;
}

/* One row per event: begin and end in ns, step, time (-1 = outside a scan), thread, run. */
static PyObject *events(const recording *r) {
    const uint64_t shape[2] = {eg_recorder_count(r->recorder), 6};
    core_view view;
    PyObject *out = core_array(&view, EG_I64, 2, shape);
    if (!out) return NULL;
    int64_t *at = view.tensor.data;
    for (uint64_t i = 0; i < shape[0]; i++, at += 6) {
        eg_record_event e = {0};
        eg_recorder_event(r->recorder, i, &e, NULL);
        at[0] = (int64_t)e.begin;
        at[1] = (int64_t)e.end;
        at[2] = e.step;
        at[3] = e.time == UINT32_MAX ? -1 : (int64_t)e.time;
        at[4] = e.thread;
        at[5] = (int64_t)e.run;
    }
    core_view_give(&view);
    return out;
}

static PyObject *result_of(const recording *r) {
    double run;
    PyObject *rows = step_rows(r, &run), *list = rows ? events(r) : NULL;
    if (!list) {
        Py_XDECREF(rows);
        return NULL;
    }
    return Py_BuildValue("{s:O,s:K,s:K,s:K,s:d,s:N,s:N}", "model", r->name, "began_ns", r->began,
                         "runs", eg_recorder_runs(r->recorder), "lost",
                         eg_recorder_lost(r->recorder), "seconds", run, "steps", rows, "events",
                         list);
}

void core_record_forget(const eg_program *program) {
    for (recording *r = recordings; r; r = r->next) {
        if (r->program != program) continue;
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace); /* a model may end while an exception is under way */
        r->result = result_of(r);
        if (!r->result) PyErr_Clear();
        PyErr_Restore(type, value, trace);
        r->program = NULL;
    }
}

static PyObject *take(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    PyObject *out = PyList_New(0);
    is_recording = 0;
    for (recording **at = &recordings; *at;) {
        recording *r = *at;
        if (r->is_running) {
            r->is_dropped = 1;
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (out && r->program) r->result = result_of(r);
        if (out && (r->result ? PyList_Insert(out, 0, r->result) : PyErr_Occurred() != NULL))
            Py_CLEAR(out);
        end_recording(r);
    }
    return out;
}

static PyObject *record(PyObject *module, PyObject *argument) {
    (void)module;
    const int on = PyObject_IsTrue(argument);
    if (on < 0) return NULL;
    is_recording = on;
    Py_RETURN_NONE;
}

static PyObject *clock_ns(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    return PyLong_FromUnsignedLongLong(eg_clock_ns());
}

PyMethodDef core_record_functions[] = {
    {"record", record, METH_O,
     "record(on)\n--\n\nRecords the steps of all calls of models from now on, or stops."},
    {"record_take", take, METH_NOARGS,
     "record_take()\n--\n\nWhat was recorded, by compiled program; forgets it and stops."},
    {"clock_ns", clock_ns, METH_NOARGS, "clock_ns()\n--\n\nThe clock of recordings."},
    {NULL, NULL, 0, NULL}};
