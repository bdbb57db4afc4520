/* Publisher: counters of this program in a page that `elegans monitor` reads. Models tell it of their calls. */
#include "publish.h"
#include "model.h"

#include <math.h>
#include <string.h>

struct core_publisher {
    PyObject_HEAD core_context *context;
    eg_publisher *publisher; /* NULL = closed, or not wanted (ELEGANS_PUBLISH=0) */
    PyObject *model;         /* whose steps it takes; NULL = all */
    core_publisher *next;    /* opened before it */
    int is_listed;
    int is_borrowed;  /* a call without the GIL publishes */
    int is_closing;   /* once that is over */
    PyObject *reason; /* why it is not open; NULL = it is, or was */
};

static PyTypeObject *publisher_type;
static core_publisher *publishers; /* that are open, the last one first; under the GIL */

static core_publisher *self_of(PyObject *object) { return (core_publisher *)object; }

static void unlist(core_publisher *self) {
    core_publisher **at = &publishers;
    while (*at && *at != self) at = &(*at)->next;
    if (*at) *at = self->next;
    self->is_listed = 0;
}

static void end(core_publisher *self) {
    if (self->is_listed) unlist(self);
    self->is_closing = self->is_borrowed;
    if (self->is_borrowed) return;
    eg_publisher_close(self->publisher);
    self->publisher = NULL;
    Py_CLEAR(self->model);
}

/* ---- those who compute */
static core_publisher *find(PyObject *model) {
    core_publisher *p = publishers;
    while (p && (p->is_borrowed || !p->publisher || (p->model && p->model != model))) p = p->next;
    return p;
}

uint64_t core_publish_begin(void) { return publishers ? eg_clock_ns() : 0; }

void core_publish_step(PyObject *model, uint64_t began, double flops, double bytes) {
    core_publisher *p = began ? find(model) : NULL;
    if (!p) return;
    eg_publisher_cost(p->publisher, flops, bytes);
    eg_publisher_add(p->publisher, 1, 1e-9 * (double)(eg_clock_ns() - began));
}

void core_publish_tokens(PyObject *model, uint64_t began, uint64_t count) {
    core_publisher *p = began ? find(model) : NULL;
    if (!p) return;
    eg_publisher_add(p->publisher, 1, 1e-9 * (double)(eg_clock_ns() - began));
    eg_publisher_tokens(p->publisher, count);
}

core_publisher *core_publish_borrow(PyObject *model, eg_publisher **out) {
    core_publisher *p = find(model);
    *out = p ? p->publisher : NULL;
    if (!p) return NULL;
    p->is_borrowed = 1;
    Py_INCREF((PyObject *)p);
    return p;
}

void core_publish_return(core_publisher *p) {
    if (!p) return;
    p->is_borrowed = 0;
    if (p->is_closing) end(p);
    Py_DECREF((PyObject *)p);
}

/* ---- opening */
enum { PROGRAM, ACTIVITY, LABEL, FOLDER, TEXTS };

static int take_texts(PyObject *const *given, eg_publisher_options *o, PyObject **bytes) {
    static const char *const names[TEXTS] = {"program", "activity", "label", "folder"};
    const char **const out[TEXTS] = {&o->program, &o->activity, &o->model, &o->folder};
    for (int i = 0; i < TEXTS; i++) {
        if (!given[i] || given[i] == Py_None) continue;
        bytes[i] = (i == FOLDER ? core_path : core_text)(given[i], names[i], out[i]);
        if (!bytes[i]) return -1;
    }
    return 0;
}

static int open_page(core_publisher *self, PyObject *const *given, PyObject *model) {
    PyObject *bytes[TEXTS] = {NULL};
    eg_publisher_options o = {.size = sizeof o};
    eg_error error;
    int failed = take_texts(given, &o, bytes);
    if (!failed) {
        const unsigned threads = eg_context_threads(self->context->context);
        eg_publisher_ceilings(self->context->context, threads == 1, &o, NULL);
        /* what computes must not fail because nobody can watch it */
        const char *why = eg_publisher_open(self->context->context, &o, &self->publisher, &error)
                              ? error.message
                          : !self->publisher ? "ELEGANS_PUBLISH=0 is in the environment"
                                             : NULL;
        if (why) self->reason = PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
        failed = why && !self->reason;
    }
    for (int i = 0; i < TEXTS; i++) Py_XDECREF(bytes[i]);
    if (failed) return -1;
    if (!self->publisher) return 0;
    Py_XINCREF(model);
    self->model = model;
    self->next = publishers;
    self->is_listed = 1;
    publishers = self;
    return 0;
}

static PyObject *publisher_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"program", "activity", "label", "folder", "model", NULL};
    PyObject *given[5] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOOO", names, &given[0], &given[1],
                                     &given[2], &given[3], &given[4]))
        return NULL;
    PyObject *model = given[4] == Py_None ? NULL : given[4];
    if (model && !core_model_of(model, "model")) return NULL;
    core_publisher *self =
        (core_publisher *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->context = model ? core_context_share(core_model_context(model)) : core_context_take();
    if (self->context && !open_page(self, given, model)) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void finish(PyObject *object) {
    end(self_of(object));
    Py_XDECREF(self_of(object)->reason);
    core_context_give(self_of(object)->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *close_it(PyObject *object, PyObject *nothing) {
    (void)nothing;
    end(self_of(object));
    Py_RETURN_NONE;
}

/* ---- what a program says of itself; nothing after it was closed, because publishing never makes work fail */
static eg_publisher *own(PyObject *object) {
    return self_of(object)->is_borrowed ? NULL : self_of(object)->publisher;
}

static PyObject *add(PyObject *object, PyObject *const *args, Py_ssize_t count,
                     PyObject *keywords) {
    static const char *const names[] = {"steps", "seconds", "flops", "bytes", NULL};
    PyObject *given[4];
    uint64_t steps = 1;
    double seconds = NAN, flops = 0, bytes = 0;
    if (core_arguments("add", names, 0, given, args, count, keywords) ||
        (given[0] && core_count(given[0], "steps", &steps)) ||
        (given[1] && core_number(given[1], "seconds", &seconds)) ||
        (given[2] && core_number(given[2], "flops", &flops)) ||
        (given[3] && core_number(given[3], "bytes", &bytes)))
        return NULL;
    if (given[2] || given[3]) eg_publisher_cost(own(object), flops, bytes);
    eg_publisher_add(own(object), steps, seconds);
    Py_RETURN_NONE;
}

static PyObject *tokens(PyObject *object, PyObject *argument) {
    uint64_t count;
    if (core_count(argument, "tokens", &count)) return NULL;
    eg_publisher_tokens(own(object), count);
    Py_RETURN_NONE;
}

static PyObject *train(PyObject *object, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    static const char *const names[] = {"epoch",         "epochs",       "step",
                                        "loss",          "validation",   "learning_rate",
                                        "gradient_norm", "seconds_left", NULL};
    PyObject *given[8];
    eg_training_report r = {.size = sizeof r};
    uint64_t *const counts[] = {&r.epoch, &r.epochs, &r.step};
    double *const numbers[] = {&r.loss, &r.validation, &r.learning_rate, &r.gradient_norm,
                               &r.seconds_left};
    eg_error error;
    if (core_arguments("train", names, 0, given, args, count, keywords)) return NULL;
    for (int i = 0; i < 3; i++)
        if (given[i] && core_count(given[i], names[i], counts[i])) return NULL;
    for (int i = 0; i < 5; i++) {
        *numbers[i] = NAN;
        if (given[i + 3] && core_number(given[i + 3], names[i + 3], numbers[i])) return NULL;
    }
    if (eg_publisher_train(own(object), &r, &error)) return core_raise(&error);
    Py_RETURN_NONE;
}

static int take_share(PyObject *item, eg_operation_share *out) {
    PyObject *pair = PySequence_Tuple(item);
    const char *name;
    PyObject *text = NULL;
    int failed = !pair;
    if (pair && PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_ValueError, "shares: expected pairs of a name and a share");
        failed = 1;
    }
    if (!failed) failed = !(text = core_text(PyTuple_GetItem(pair, 0), "shares", &name));
    if (!failed) failed = core_number(PyTuple_GetItem(pair, 1), "shares", &out->share);
    if (!failed) strncpy(out->name, name, sizeof out->name - 1);
    Py_XDECREF(text);
    Py_XDECREF(pair);
    return failed;
}

static PyObject *operations(PyObject *object, PyObject *argument) {
    eg_operation_share shares[EG_OPERATION_SHARES] = {{{0}, 0}};
    PyObject *list = PySequence_List(argument);
    Py_ssize_t count = list ? PyList_Size(list) : 0;
    int failed = !list;
    if (count > EG_OPERATION_SHARES) count = EG_OPERATION_SHARES;
    for (Py_ssize_t i = 0; !failed && i < count; i++)
        failed = take_share(PyList_GetItem(list, i), &shares[i]);
    Py_XDECREF(list);
    if (failed) return NULL;
    eg_publisher_operations(own(object), (size_t)count, shares);
    Py_RETURN_NONE;
}

static PyObject *is_open(PyObject *object, void *nothing) {
    (void)nothing;
    return PyBool_FromLong(self_of(object)->publisher && !self_of(object)->is_closing);
}

static PyObject *get_reason(PyObject *object, void *nothing) {
    (void)nothing;
    PyObject *reason = self_of(object)->reason ? self_of(object)->reason : Py_None;
    Py_INCREF(reason);
    return reason;
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
    {"add", CORE_FASTCALL(add), KEYWORDS,
     "add(steps=1, seconds=None, flops=None, bytes=None)\n--\n\n"
     "Counts steps that were done, of so many seconds each; with their costs, a monitor says what bounds them."},
    {"tokens", tokens, METH_O, "tokens(count)\n--\n\nCounts tokens that were done."},
    {"train", CORE_FASTCALL(train), KEYWORDS,
     "train(epoch=0, epochs=0, step=0, loss=None, validation=None, learning_rate=None, gradient_norm=None,\n"
     "      seconds_left=None)\n--\n\n"
     "How far a training is; every loss becomes a point of its curve. fit() does this by itself."},
    {"operations", operations, METH_O,
     "operations(shares)\n--\n\nWhich operations the time goes to: (name, share) each, at most 16."},
    {"close", close_it, METH_NOARGS,
     "close()\n--\n\nRemoves the page; calls after this do nothing."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"is_open", is_open, NULL,
     "Whether a monitor sees it: not after close(), and not where `reason` says why.", NULL},
    {"reason", get_reason, NULL,
     "Why it could not be opened (a folder that is open to others, ELEGANS_PUBLISH=0); None when it could.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_dealloc, finish},
    {Py_tp_new, publisher_new},
    {Py_tp_doc, (void *)"What this program does, for monitors; publish() opens one."},
    {0, NULL}};
static PyType_Spec spec = {"elegans._core.Publisher", sizeof(core_publisher), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int core_publish_add(PyObject *module) {
    publisher_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!publisher_type) return -1;
    Py_INCREF(publisher_type);
    return PyModule_AddObject(module, "Publisher", (PyObject *)publisher_type);
}
