/* Model: a liquid network or transformer, from a file, a spec or an architecture. */
#include "model.h"
#include "train.h"

#include <stdlib.h>
#include <string.h>

static PyTypeObject *model_type;

static core_model *self_of(PyObject *object) { return (core_model *)object; }

/* Layers of ncps' names may be made before their number of inputs is known: see _unopened(). */
static int is_open(PyObject *object) {
    if (self_of(object)->model) return 1;
    PyErr_SetString(PyExc_ValueError,
                    "this model does not know its number of inputs yet: call it with data, or "
                    "build(input_size)");
    return 0;
}

eg_model *core_model_of(PyObject *object, const char *name) {
    if (!PyObject_TypeCheck(object, model_type)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a Model, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    core_model *self = self_of(object);
    return is_open(object) && core_context_usable(self->context) ? self->model : NULL;
}

core_context *core_model_context(PyObject *object) { return self_of(object)->context; }

int core_model_busy(PyObject *object) {
    if (!self_of(object)->running) return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "another thread computes with this model: change it afterwards");
    return 1;
}

int core_model_resting(const core_model *self) {
    if (!self->is_training) return 1;
    PyErr_SetString(PyExc_RuntimeError,
                    "this model is being trained: it can be used when that has ended");
    return 0;
}

int core_model_train(PyObject *object) {
    core_model *self = self_of(object);
    if (!core_model_resting(self) || core_model_busy(object)) return -1;
    self->running++;
    self->is_training = 1;
    return 0;
}

void core_model_rest(PyObject *object, int is_changed) {
    core_model *self = self_of(object);
    self->running--;
    self->is_training = 0;
    if (is_changed) core_model_changed(object);
}

int core_model_read(PyObject *object) {
    core_model *self = self_of(object);
    if (!core_model_resting(self)) return -1;
    self->running++;
    return 0;
}

void core_model_read_end(PyObject *object) { self_of(object)->running--; }

void core_model_changed(PyObject *object) {
    core_model *self = self_of(object);
    core_model_forget_programs(self);
    core_stream_program_give(self->stream);
    self->stream = NULL;
    eg_model_info_get(self->model, &self->info);
}

/* ---- making one */
typedef struct opening {
    eg_context *context;
    const char *what, *config;
    uint64_t seed;
    enum { OPEN_ANY, OPEN_LOAD, OPEN_CREATE } how;
} opening;

static eg_status open_as(const opening *o, eg_model **out, eg_error *error) {
    switch (o->how) {
    case OPEN_LOAD: return eg_model_load(o->context, o->what, o->config, out, error);
    case OPEN_CREATE: return eg_model_create(o->context, o->config, o->seed, out, error);
    default: return eg_model_open(o->context, o->what, out, error);
    }
}

static core_model *unopened(PyTypeObject *type) {
    core_model *self = (core_model *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    Py_INCREF(Py_None);
    self->name = Py_None;
    return self;
}

static int fill(core_model *self, opening *o, PyObject *name) {
    core_context *context = core_context_take();
    if (!context) return -1;
    o->context = context->context;
    eg_model *model;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = open_as(o, &model, &error);
    Py_END_ALLOW_THREADS;
    if (!status && !self->model) {
        self->context = context;
        self->model = model;
        self->info.size = sizeof self->info;
        eg_model_info_get(model, &self->info);
        Py_INCREF(name);
        Py_DECREF(self->name);
        self->name = name;
        return 0;
    }
    if (status && o->what) core_raise_path(&error, o->what);
    else if (status) core_raise(&error);
    else { /* by another thread, meanwhile */ eg_model_destroy(model);
        PyErr_SetString(PyExc_ValueError, "this model is open already");
    }
    core_context_give(context);
    return -1;
}

static PyObject *make(PyTypeObject *type, opening *o, PyObject *name) {
    core_model *self = unopened(type);
    if (!self || !fill(self, o, name)) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *model_open(PyObject *type, PyObject *argument) {
    opening o = {.how = OPEN_ANY};
    PyObject *path = core_path(argument, "file_or_spec", &o.what);
    if (!path) return NULL;
    PyObject *name = PyUnicode_DecodeFSDefault(o.what);
    PyObject *out = name ? make((PyTypeObject *)type, &o, name) : NULL;
    Py_XDECREF(name);
    Py_DECREF(path);
    return out;
}

static PyObject *model_load(PyObject *type, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    static const char *const names[] = {"path", "config", "name", NULL};
    PyObject *given[3], *out = NULL;
    opening o = {.how = OPEN_LOAD};
    if (core_arguments("load", names, 1, given, args, count, keywords)) return NULL;
    PyObject *path = core_path(given[0], "path", &o.what);
    PyObject *config = path && given[1] ? core_text(given[1], "config", &o.config) : NULL;
    if (path && (config || !given[1]))
        out = make((PyTypeObject *)type, &o, given[2] ? given[2] : given[0]);
    Py_XDECREF(path);
    Py_XDECREF(config);
    return out;
}

static PyObject *take_config(opening *o, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"config", "seed", NULL};
    PyObject *given[2];
    o->how = OPEN_CREATE;
    if (core_arguments("create", names, 1, given, args, count, keywords) ||
        (given[1] && core_count(given[1], "seed", &o->seed)))
        return NULL;
    return core_text(given[0], "config", &o->config);
}

static PyObject *model_create(PyObject *type, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    opening o = {0};
    PyObject *config = take_config(&o, args, count, keywords);
    PyObject *out = config ? make((PyTypeObject *)type, &o, Py_None) : NULL;
    Py_XDECREF(config);
    return out;
}

static PyObject *model_unopened(PyObject *type, PyObject *nothing) {
    (void)nothing;
    return (PyObject *)unopened((PyTypeObject *)type);
}

static PyObject *model_fill(PyObject *object, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    opening o = {0};
    PyObject *config = take_config(&o, args, count, keywords);
    const int failed = !config || fill(self_of(object), &o, Py_None);
    Py_XDECREF(config);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_is_open(PyObject *object, void *nothing) {
    (void)nothing;
    return PyBool_FromLong(self_of(object)->model != NULL);
}

static void finish(PyObject *object) {
    core_model *self = self_of(object);
    core_model_forget_programs(self);
    core_stream_program_give(self->stream);
    eg_model_destroy(self->model);
    core_context_give(self->context);
    Py_XDECREF(self->name);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- what it is */
static const char *kind_name(eg_model_kind kind) {
    static const char *const names[] = {"liquid", "encoder", "decoder"};
    return names[kind];
}

static PyObject *info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (!is_open(object)) return NULL;
    const core_model *self = self_of(object);
    return Py_BuildValue(
        "{s:s,s:K,s:K,s:K,s:K,s:K,s:O,s:d,s:s,s:s}", "kind", kind_name(self->info.kind), "inputs",
        self->info.inputs, "outputs", self->info.outputs, "state", self->info.state, "layers",
        self->info.layers, "parameters", self->info.parameters, "uses_time",
        self->info.uses_time ? Py_True : Py_False, "timespan",
        (double)eg_model_timespan(self->model), "link", eg_link_name(eg_model_link(self->model)),
        "gives", eg_model_gives(self->model));
}

static PyObject *layers(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (!is_open(object)) return NULL;
    const core_model *self = self_of(object);
    PyObject *out = PyList_New(0);
    eg_error error;
    eg_layer_info layer = {.size = sizeof layer};
    for (size_t i = 0; out && i < self->info.layers && self->info.kind == EG_MODEL_LIQUID; i++) {
        if (eg_model_layer(self->model, i, &layer, &error)) {
            Py_CLEAR(out);
            return core_raise(&error);
        }
        PyObject *backbone = PyTuple_New((Py_ssize_t)layer.backbone_count);
        for (size_t k = 0; backbone && k < layer.backbone_count; k++) {
            PyObject *width = PyLong_FromUnsignedLongLong(layer.backbone[k]);
            if (!width || PyTuple_SetItem(backbone, (Py_ssize_t)k, width)) Py_CLEAR(backbone);
        }
        PyObject *row =
            backbone ? Py_BuildValue("{s:s,s:z,s:z,s:z,s:z,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:i,s:N}",
                                     "cell", layer.cell, "mode", layer.mode, "activation",
                                     layer.activation, "wiring", layer.wiring, "merge", layer.merge,
                                     "inputs", layer.inputs, "units", layer.units, "outputs",
                                     layer.outputs, "projection", layer.projection, "synapses",
                                     layer.synapses, "possible", layer.possible, "unfolds",
                                     layer.unfolds, "mixed", layer.mixed, "backbone", backbone)
                     : NULL;
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static PyObject *config(PyObject *object, PyObject *nothing) {
    (void)nothing;
    eg_error error;
    size_t length;
    if (!is_open(object)) return NULL;
    const eg_model *model = self_of(object)->model;
    if (eg_model_config(model, NULL, 0, &length, &error)) return core_raise(&error);
    char *text = malloc(length + 1);
    if (!text) return PyErr_NoMemory();
    PyObject *out = NULL;
    if (eg_model_config(model, text, length + 1, &length, &error)) core_raise(&error);
    else out = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
    free(text);
    return out;
}

static PyObject *note(PyObject *object, PyObject *argument) {
    const char *key;
    if (!is_open(object)) return NULL;
    PyObject *text = core_text(argument, "key", &key), *out = text ? PyList_New(0) : NULL;
    const char *value;
    for (size_t i = 0; out && (value = eg_model_note(self_of(object)->model, key, i)); i++) {
        PyObject *item = PyUnicode_FromString(value);
        if (!item || PyList_Append(out, item)) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    Py_XDECREF(text);
    return out;
}

/* ---- values */
static PyObject *shape_tuple(const eg_tensor *tensor) {
    PyObject *out = PyTuple_New((Py_ssize_t)tensor->rank);
    for (unsigned i = 0; out && i < tensor->rank; i++) {
        PyObject *extent = PyLong_FromUnsignedLongLong(tensor->shape[i]);
        if (!extent || PyTuple_SetItem(out, (Py_ssize_t)i, extent)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *tensors(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (!is_open(object)) return NULL;
    const eg_model *model = self_of(object)->model;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < eg_model_count(model); i++) {
        eg_tensor tensor;
        int is_trainable;
        uint64_t bytes;
        const char *name = eg_model_shape(model, i, &tensor, &is_trainable);
        const char *numbers = eg_model_numbers(model, i, &bytes);
        PyObject *shape = shape_tuple(&tensor);
        PyObject *row =
            shape ? Py_BuildValue("(sNOsKd)", name, shape, is_trainable ? Py_True : Py_False,
                                  numbers, bytes, eg_model_least(model, i))
                  : NULL;
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static int index_of(PyObject *argument, const eg_model *model, size_t *out) {
    uint64_t index;
    if (core_count(argument, "index", &index)) return -1;
    if (index >= eg_model_count(model)) {
        PyErr_Format(PyExc_IndexError, "no tensor %llu: the model has %zu",
                     (unsigned long long)index, eg_model_count(model));
        return -1;
    }
    *out = (size_t)index;
    return 0;
}

static PyObject *read_tensor(PyObject *object, PyObject *argument) {
    const eg_model *model = self_of(object)->model;
    size_t index;
    eg_tensor tensor;
    core_view view;
    eg_error error;
    if (!is_open(object) || !core_model_resting(self_of(object)) ||
        index_of(argument, model, &index))
        return NULL;
    eg_model_shape(model, index, &tensor, NULL);
    PyObject *out = core_array(&view, EG_F32, tensor.rank, tensor.shape);
    if (!out) return NULL;
    if (eg_model_read(model, index, view.tensor.data, &error)) {
        core_raise(&error);
        Py_CLEAR(out);
    }
    core_view_give(&view);
    return out;
}

static PyObject *write_tensor(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    core_model *self = self_of(object);
    size_t index;
    eg_tensor tensor;
    core_view view;
    eg_error error;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "write(index, values) takes two arguments, %zd given",
                            count);
    if (!is_open(object) || core_model_busy(object) || index_of(args[0], self->model, &index))
        return NULL;
    const char *name = eg_model_shape(self->model, index, &tensor, NULL);
    if (eg_model_quantized(self->model, index))
        return PyErr_Format(PyExc_ValueError, "%s: a quantized tensor is read-only", name);
    if (core_view_take(&view, args[1], EG_F32, CORE_READ, name)) return NULL;
    PyObject *out = NULL;
    if (core_view_expect(&view, name, tensor.rank, tensor.shape)) goto done;
    eg_model_tensor(self->model, index, &tensor, NULL);
    if (!tensor.data) {
        if (eg_model_widen(self->model, &error)) {
            core_raise(&error);
            goto done;
        }
        eg_model_tensor(self->model, index, &tensor, NULL);
    }
    uint64_t bytes;
    if (eg_tensor_measure(&tensor, NULL, &bytes, &error)) core_raise(&error);
    else if (!tensor.data) PyErr_Format(PyExc_MemoryError, "%s: no memory for its values", name);
    else {
        memcpy(tensor.data, view.tensor.data, bytes);
        core_model_changed(object);
        Py_INCREF(Py_None);
        out = Py_None;
    }
done:
    core_view_give(&view);
    return out;
}

/* ---- files */
static PyObject *save(PyObject *object, PyObject *argument) {
    core_model *self = self_of(object);
    const char *path;
    if (!is_open(object) || !core_model_resting(self)) return NULL;
    PyObject *bytes = core_path(argument, "path", &path);
    if (!bytes) return NULL;
    eg_error error;
    eg_status status;
    self->running++;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_model_save(self->model, path, &error);
    Py_END_ALLOW_THREADS;
    self->running--;
    Py_DECREF(bytes);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *export_c(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"directory", "name", NULL};
    core_model *self = self_of(object);
    PyObject *given[2], *out = NULL;
    const char *directory, *name = "policy";
    if (!is_open(object) || !core_model_resting(self) ||
        core_arguments("export_c", names, 1, given, args, count, keywords))
        return NULL;
    PyObject *path = core_path(given[0], "directory", &directory);
    PyObject *text = path && given[1] ? core_text(given[1], "name", &name) : NULL;
    eg_error error;
    eg_export_info figures = {.size = sizeof figures};
    if (path && (text || !given[1])) {
        if (eg_model_export_c(self->model, directory, name, &figures, &error)) core_raise(&error);
        else
            out = Py_BuildValue("{s:K,s:K,s:K,s:K}", "code_lines", figures.code_lines,
                                "weight_bytes", figures.weight_bytes, "state_bytes",
                                figures.state_bytes, "arena_bytes", figures.arena_bytes);
    }
    Py_XDECREF(path);
    Py_XDECREF(text);
    return out;
}

static int choice(PyObject *object, const char *name, const char *const *values, int *out) {
    const char *text;
    PyObject *bytes = core_text(object, name, &text);
    if (!bytes) return -1;
    for (int i = 0; values[i]; i++)
        if (!strcmp(values[i], text)) {
            *out = i;
            Py_DECREF(bytes);
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "%s: unknown value '%s'", name, text);
    Py_DECREF(bytes);
    return -1;
}

static PyObject *quantize(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"dtype",    "per",  "block", "symmetric",
                                        "integers", "keep", NULL};
    static const char *const per[] = {"channel", "tensor", "block", NULL};
    static const eg_granularity granularity[] = {EG_PER_CHANNEL, EG_PER_TENSOR, EG_PER_BLOCK};
    core_model *self = self_of(object);
    PyObject *given[6], *keep = NULL;
    const char *dtype, *kept[64];
    eg_model_quantization q = {.keep = kept};
    eg_error error;
    uint64_t block = 0;
    int which = 0;
    if (!is_open(object) || core_model_busy(object) ||
        core_arguments("quantize", names, 1, given, args, count, keywords))
        return NULL;
    PyObject *text = core_text(given[0], "dtype", &dtype);
    if (!text) return NULL;
    const eg_status found = eg_type_find(dtype, &q.quantization.type, &error);
    Py_DECREF(text);
    if (found) return core_raise(&error);
    if ((given[1] && choice(given[1], "per", per, &which)) ||
        (given[2] && core_count(given[2], "block", &block)))
        return NULL;
    q.quantization.per = granularity[which];
    if (given[2] && !given[1]) q.quantization.per = EG_PER_BLOCK;
    if (block > 1u << 30) return PyErr_Format(PyExc_ValueError, "block: too large");
    q.quantization.block = (uint32_t)block;
    const int symmetric = given[3] ? PyObject_IsTrue(given[3]) : 0,
              integers = given[4] ? PyObject_IsTrue(given[4]) : 0;
    if (symmetric < 0 || integers < 0) return NULL;
    q.quantization.symmetric = symmetric;
    q.quantization.integers = integers;
    if (given[5] && !(keep = PySequence_List(given[5]))) return NULL;
    PyObject *texts[64];
    int failed = keep && PyList_Size(keep) > 64;
    if (failed) PyErr_SetString(PyExc_ValueError, "keep: at most 64 names");
    for (Py_ssize_t i = 0; keep && !failed && i < PyList_Size(keep); i++) {
        texts[i] = core_text(PyList_GetItem(keep, i), "keep", &kept[i]);
        if (texts[i]) q.keep_count++;
        else failed = 1;
    }
    if (!failed && eg_model_quantize(self->model, &q, &error)) {
        core_raise(&error);
        failed = 1;
    }
    for (size_t i = 0; i < q.keep_count; i++) Py_DECREF(texts[i]);
    Py_XDECREF(keep);
    if (failed) return NULL;
    core_model_changed(object);
    Py_RETURN_NONE;
}

static PyObject *get_name(PyObject *object, void *nothing) {
    (void)nothing;
    PyObject *name = self_of(object)->name;
    Py_INCREF(name);
    return name;
}

static PyMethodDef methods[] = {
    {"open", model_open, METH_O | METH_CLASS,
     "open(file_or_spec)\n--\n\n"
     "A model from a file, or a freshly initialised one from a spec; see elegans.open()."},
    {"load", CORE_FASTCALL(model_load), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "load(path, config=None, name=None)\n--\n\n"
     "A model from a safetensors or .npz file whose architecture is given as JSON, where the file does not have it.\n"
     "\n"
     "It is called by its path, or `name`. Raises MissingFileError without the file, and ArgumentError or Error where\n"
     "the tensors are not those of the architecture; the message names the tensor."},
    {"create", CORE_FASTCALL(model_create), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "create(config, seed=0)\n--\n\n"
     "A freshly initialised model of an architecture as JSON; `seed` is what torch.manual_seed would be in ncps.\n"
     "\n"
     ">>> import elegans\n"
     ">>> model = elegans.open(\"cfc:8,in=2,seed=1\")\n"
     ">>> elegans.Model.create(model.config(), seed=2).info()[\"parameters\"] == model.info()[\"parameters\"]\n"
     "True"},
    {"_unopened", model_unopened, METH_NOARGS | METH_CLASS, NULL},
    {"_fill", CORE_FASTCALL(model_fill), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"run", CORE_FASTCALL(core_model_call), METH_FASTCALL | METH_KEYWORDS,
     "run(x, timespans=None, lengths=None, state=None, return_sequences=True, batch_first=True, hidden=False,\n"
     "    training=False, seed=None)\n--\n\n"
     "Computes outputs and final states of a batch: (y, state), arrays of numpy. What calling the model does, without\n"
     "turning the results into arrays of the library that x is of.\n"
     "\n"
     "x is float32 [batch, time, features] or [time, features] (batch_first=False: time first), tokens of int32 [batch,\n"
     "time] for a transformer. timespans is a number or [batch, time]; lengths has the steps of each sample; state is\n"
     "what an earlier call gave. With return_sequences=False y has only the last step. hidden=True gives what\n"
     "the last layer of a transformer gives, instead of logits. With training=True dropout is active.\n"
     "\n"
     "TypeError for another type and ValueError for another shape name expected and given; a Ctrl-C raises\n"
     "KeyboardInterrupt.\n"
     "\n"
     ">>> import elegans, numpy\n"
     ">>> y, state = elegans.open(\"cfc:8,in=2\").run(numpy.zeros((3, 5, 2), \"float32\"), return_sequences=False)\n"
     ">>> y.shape, state.shape\n"
     "((3, 8), (3, 8))"},
    {"stream", core_model_stream, METH_NOARGS,
     "stream()\n--\n\n"
     "A Stream: one step in, one step out, with a state of its own, zero at first.\n"
     "\n"
     "Error for a model that runs both ways through time. Streams share the weights of the model.\n"
     "\n"
     ">>> import elegans, numpy\n"
     ">>> elegans.open(\"cfc:8,in=2\").stream().step(numpy.zeros(2, \"float32\"), 0.1).shape\n"
     "(8,)"},
    {"info", info, METH_NOARGS,
     "info()\n--\n\n"
     "A dict: kind (\"liquid\", \"encoder\", \"decoder\"), inputs, outputs, state, layers, parameters, uses_time, timespan (of\n"
     "a step that is not told any), link (of the outputs: \"identity\", \"sigmoid\", \"softmax\") and gives.\n"
     "\n"
     ">>> import elegans\n"
     ">>> elegans.open(\"cfc:autoncp:12:3,in=4\").info()[\"outputs\"]\n"
     "3"},
    {"layers", layers, METH_NOARGS,
     "layers()\n--\n\n"
     "A dict for each layer of a liquid network: cell, mode, activation, wiring, merge, inputs, units, outputs,\n"
     "projection, synapses, possible, unfolds, mixed, backbone; None or 0 where it has no such thing.\n"
     "\n"
     ">>> import elegans\n"
     ">>> layer, = elegans.open(\"ltc:autoncp:12:3,in=4\").layers()\n"
     ">>> layer[\"cell\"], layer[\"synapses\"], layer[\"unfolds\"]\n"
     "('ltc', 26, 6)"},
    {"config", config, METH_NOARGS,
     "config()\n--\n\nIts architecture as JSON, which create() takes; `architecture` has the same as a dict."},
    {"note", note, METH_O,
     "note(key)\n--\n\n"
     "The texts that are saved with the model under a key, an empty list without any. A training writes \"inputs\",\n"
     "\"targets\", \"labels\" and others."},
    {"tensors", tensors, METH_NOARGS,
     "tensors()\n--\n\n"
     "(name, shape, trainable, data type, bytes, least value) of each tensor, as the model has it in memory.\n"
     "\n"
     ">>> import elegans\n"
     ">>> elegans.open(\"cfc:8,in=2,backbone=0\").tensors()[0][:3]\n"
     "('rnn_cell.ff1.weight', (8, 10), True)"},
    {"read", read_tensor, METH_O,
     "read(index)\n--\n\n"
     "The values of a tensor of tensors() as a new array of float32, widened if it is quantized. IndexError beyond the last."},
    {"write", CORE_FASTCALL(write_tensor), METH_FASTCALL,
     "write(index, values)\n--\n\n"
     "Replaces the values of a tensor of tensors(): float32 of its shape. ValueError for another shape or a\n"
     "quantized tensor, RuntimeError while another thread computes with the model."},
    {"save", save, METH_O,
     "save(path)\n--\n\n"
     "Writes one safetensors file with tensors, architecture, units and notes: what was at the path stays until all of it\n"
     "is written. Error where that fails.\n"
     "\n"
     ">>> import elegans, os, tempfile\n"
     ">>> with tempfile.TemporaryDirectory() as folder:\n"
     "...     path = os.path.join(folder, \"model.safetensors\")\n"
     "...     elegans.open(\"cfc:8,in=2\").save(path)\n"
     "...     elegans.open(path).info()[\"outputs\"]\n"
     "8"},
    {"export_c", CORE_FASTCALL(export_c), METH_FASTCALL | METH_KEYWORDS,
     "export_c(directory, name='policy')\n--\n\n"
     "Writes NAME.c and NAME.h: C99 that computes one step without this library (docs/export.md).\n"
     "\n"
     "Returns code_lines, weight_bytes, state_bytes and arena_bytes; counted. Error where a file cannot be written or a\n"
     "step has no C.\n"
     "\n"
     ">>> import elegans, tempfile\n"
     ">>> with tempfile.TemporaryDirectory() as folder:\n"
     "...     elegans.open(\"cfc:8,in=2\").export_c(folder, \"pilot\")[\"state_bytes\"]\n"
     "32"},
    {"quantize", CORE_FASTCALL(quantize), METH_FASTCALL | METH_KEYWORDS,
     "quantize(dtype, per='channel', block=None, symmetric=False, integers=False, keep=())\n--\n\n"
     "Quantizes matrices to 'i8' or 'i4', or every trainable tensor to 'f16' or 'bf16', in place (docs/quantization.md).\n"
     "\n"
     "`per` 'channel', 'tensor' or 'block' (of `block` elements) says what shares a scale; symmetric=True has no zero\n"
     "points; integers=True also rounds what is multiplied, for integer products; tensors whose names `keep` has stay as\n"
     "they are. Error or ValueError for anything else.\n"
     "\n"
     ">>> import elegans\n"
     ">>> model = elegans.open(\"cfc:64,in=16\")\n"
     ">>> before = sum(row[4] for row in model.tensors())\n"
     ">>> model.quantize(\"i8\")\n"
     ">>> sum(row[4] for row in model.tensors()) < before / 3\n"
     "True"},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "The file or spec it came from, or None.", NULL},
    {"is_open", get_is_open, NULL, "False while the number of inputs is not known.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use open(), load() or create()");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"A model of the library."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Model", sizeof(core_model), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int core_model_add(PyObject *module) {
    model_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!model_type) return -1;
    Py_INCREF(model_type);
    return PyModule_AddObject(module, "Model", (PyObject *)model_type);
}
