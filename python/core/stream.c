/* Stream: a model step by step, with a state of its own. */
#include "model.h"
#include "publish.h"

#include <stdlib.h>

typedef struct core_stream {
    PyObject_HEAD PyObject *model; /* keeps the context, and the weights where they are */
    core_stream_program *program;
    eg_stream *stream;
    uint64_t inputs, outputs, state;
    float timespan;
    double flops, bytes;  /* of a step, counted */
    int is_long, is_busy; /* long steps run without the GIL */
} core_stream;

static PyTypeObject *stream_type;

static core_stream *self_of(PyObject *object) { return (core_stream *)object; }

void core_stream_program_give(core_stream_program *program) {
    if (!program || --program->references) return;
    eg_stream_program_destroy(program->program);
    free(program);
}

static core_stream_program *compile(core_model *model) {
    core_stream_program *made = calloc(1, sizeof *made);
    if (!made) return (core_stream_program *)PyErr_NoMemory();
    eg_error error;
    if (eg_stream_compile(model->model, &made->program, &error)) {
        free(made);
        return (core_stream_program *)core_raise(&error);
    }
    made->references = 1;
    return made;
}

PyObject *core_model_stream(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_model *model = (core_model *)object;
    if (!core_model_of(object, "stream") || !core_model_resting(model)) return NULL;
    if (!model->stream && !(model->stream = compile(model))) return NULL;
    eg_stream *made;
    eg_error error;
    if (eg_stream_create(model->stream->program, &made, &error)) return core_raise(&error);
    core_stream *self =
        (core_stream *)((allocfunc)PyType_GetSlot(stream_type, Py_tp_alloc))(stream_type, 0);
    if (!self) {
        eg_stream_destroy(made);
        return NULL;
    }
    eg_program_info info = {.size = sizeof info};
    eg_stream_program_info_get(model->stream->program, &info);
    Py_INCREF(object);
    self->model = object;
    self->program = model->stream;
    self->program->references++;
    self->stream = made;
    self->inputs = model->info.inputs;
    self->outputs = model->info.outputs;
    self->state = model->info.state;
    self->timespan = eg_model_timespan(model->model);
    self->flops = info.flops;
    self->bytes = info.bytes;
    self->is_long = info.flops >= CORE_UNLOCK_FLOPS;
    return (PyObject *)self;
}

static void finish(PyObject *object) {
    core_stream *self = self_of(object);
    eg_stream_destroy(self->stream);
    core_stream_program_give(self->program);
    Py_XDECREF(self->model);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static int is_usable(const core_stream *self) {
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread computes a step of this stream");
        return 0;
    }
    return core_context_usable(core_model_context(self->model));
}

/* Memory of x: one row, with or without axes of one element before it. */
static int take_row(core_view *view, PyObject *object, uint64_t count, int access,
                    const char *name) {
    if (core_view_take(view, object, EG_F32, access, name)) return -1;
    uint64_t elements = 1;
    const eg_tensor *t = &view->tensor;
    for (unsigned i = 0; i < t->rank; i++) elements *= t->shape[i];
    if (t->rank && elements == count && t->shape[t->rank - 1] == count) return 0;
    core_view_expect(view, name, 1, &count);
    core_view_give(view);
    return -1;
}

static eg_status step_unlocked(core_stream *self, const float *x, float elapsed, float *y,
                               eg_error *error) {
    eg_status status;
    self->is_busy = 1;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_stream_step(self->stream, x, elapsed, y, error);
    Py_END_ALLOW_THREADS;
    self->is_busy = 0;
    return status;
}

static PyObject *step(PyObject *object, PyObject *const *args, Py_ssize_t count,
                      PyObject *keywords) {
    static const char *const names[] = {"x", "timespan", "out", NULL};
    core_stream *self = self_of(object);
    PyObject *given[3], *out;
    core_view x, y;
    double elapsed = self->timespan;
    if (!is_usable(self) || core_arguments("step", names, 1, given, args, count, keywords) ||
        (given[1] && core_number(given[1], "timespan", &elapsed)) ||
        take_row(&x, given[0], self->inputs, CORE_READ, "x"))
        return NULL;
    if (given[2]) {
        out = take_row(&y, given[2], self->outputs, CORE_WRITE, "out") ? NULL : given[2];
        Py_XINCREF(out);
    } else out = core_array(&y, EG_F32, 1, &self->outputs);
    if (!out) {
        core_view_give(&x);
        return NULL;
    }
    eg_error error;
    const uint64_t began = core_publish_begin();
    const eg_status status =
        self->is_long
            ? step_unlocked(self, x.tensor.data, (float)elapsed, y.tensor.data, &error)
            : eg_stream_step(self->stream, x.tensor.data, (float)elapsed, y.tensor.data, &error);
    if (!status) core_publish_step(self->model, began, self->flops, self->bytes);
    core_view_give(&x);
    core_view_give(&y);
    if (!status) return out;
    Py_DECREF(out);
    return core_raise(&error);
}

static PyObject *check(PyObject *object, PyObject *argument) {
    core_stream *self = self_of(object);
    core_view x = {0};
    if (!is_usable(self) ||
        (argument != Py_None && take_row(&x, argument, self->inputs, CORE_READ, "x")))
        return NULL;
    eg_error error;
    const eg_status status = eg_stream_check(self->stream, x.tensor.data, &error);
    core_view_give(&x);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *reset(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (!is_usable(self_of(object))) return NULL;
    eg_stream_reset(self_of(object)->stream);
    Py_RETURN_NONE;
}

static PyObject *get_state(PyObject *object, void *nothing) {
    (void)nothing;
    core_stream *self = self_of(object);
    core_view view;
    if (!is_usable(self)) return NULL;
    PyObject *out = core_array(&view, EG_F32, 1, &self->state);
    if (!out) return NULL;
    eg_stream_state_get(self->stream, view.tensor.data);
    core_view_give(&view);
    return out;
}

static int set_state(PyObject *object, PyObject *value, void *nothing) {
    (void)nothing;
    core_stream *self = self_of(object);
    core_view view;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "state: cannot be deleted; use reset()");
        return -1;
    }
    if (!is_usable(self) || core_view_take(&view, value, EG_F32, CORE_READ, "state")) return -1;
    const int failed = core_view_expect(&view, "state", 1, &self->state);
    if (!failed) eg_stream_state_set(self->stream, view.tensor.data);
    core_view_give(&view);
    return failed;
}

static PyObject *get_model(PyObject *object, void *nothing) {
    (void)nothing;
    PyObject *model = self_of(object)->model;
    Py_INCREF(model);
    return model;
}

static PyMethodDef methods[] = {
    {"step", CORE_FASTCALL(step), METH_FASTCALL | METH_KEYWORDS,
     "step(x, timespan=None, out=None)\n--\n\n"
     "One step: x has the inputs, float32 [inputs]; timespan is the time elapsed since the step before (None: that of the\n"
     "model, 1 unless it was trained with another). Returns the outputs: a new array, or `out`, which is not allocated.\n"
     "\n"
     "TypeError for another type, ValueError for another size; RuntimeError while another thread is in a step of this stream.\n"
     "\n"
     ">>> import elegans, numpy\n"
     ">>> stream = elegans.open(\"cfc:autoncp:12:3,in=4\").stream()\n"
     ">>> y = numpy.empty(3, \"float32\")\n"
     ">>> stream.step(numpy.zeros(4, \"float32\"), 0.05, out=y) is y\n"
     "True"},
    {"check", check, METH_O,
     "check(x)\n--\n\nRaises where x (or None) or the state has a NaN or an infinity, which would stay for ever."},
    {"reset", reset, METH_NOARGS, "reset()\n--\n\nThe state to zero, as before the first step."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"state", get_state, set_state,
     "The whole state: a copy, one array of float32. Assigning one sets it.", NULL},
    {"model", get_model, NULL, "The model it was made from.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Stream comes from model.stream()");
    return NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_dealloc, finish},
    {Py_tp_new, refuse_new},
    {Py_tp_doc,
     (void
          *)"A model step by step, for one thread at a time; from Model.stream(). Steps allocate nothing\n"
            "but their result."},
    {0, NULL}};
static PyType_Spec spec = {"elegans._core.Stream", sizeof(core_stream), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int core_stream_add(PyObject *module) {
    stream_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!stream_type) return -1;
    Py_INCREF(stream_type);
    return PyModule_AddObject(module, "Stream", (PyObject *)stream_type);
}
