/* Models over whole data sets: predictions row by row, and how good they are. */
#include "train.h"
#include "publish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- predictions: an array for each table, NaN in rows without one */
typedef struct predictions {
    const eg_data *data;
    uint64_t outputs;
    size_t count;
    core_view *views;
    PyObject *arrays;
} predictions;

static void keep(void *user, uint64_t window, uint64_t steps, const float *outputs) {
    const predictions *p = user;
    uint64_t first, length;
    eg_data_window(p->data, window, &first, &length);
    first += length - steps; /* one output: that of the last row */
    for (uint64_t i = 0; i < steps; i++) {
        size_t table;
        uint64_t row;
        eg_data_row(p->data, first + i, &table, &row);
        float *to = (float *)p->views[table].tensor.data + row * p->outputs;
        memcpy(to, outputs + i * p->outputs, (size_t)p->outputs * sizeof *to);
    }
}

static int begin(predictions *p, const core_data *data, uint64_t outputs) {
    *p = (predictions){.data = data->data, .outputs = outputs};
    const Py_ssize_t count = PyTuple_Size(data->rows);
    p->views = calloc((size_t)count + 1, sizeof *p->views);
    p->arrays = PyList_New(0);
    if (!p->views) PyErr_NoMemory();
    if (!p->views || !p->arrays) return -1;
    for (; p->count < (size_t)count; p->count++) {
        const uint64_t shape[2] = {
            PyLong_AsUnsignedLongLong(PyTuple_GetItem(data->rows, (Py_ssize_t)p->count)), outputs};
        core_view *view = &p->views[p->count];
        PyObject *array = core_array(view, EG_F32, 2, shape);
        const int failed = !array || PyList_Append(p->arrays, array);
        Py_XDECREF(array);
        if (failed) return -1;
        for (uint64_t i = 0; i < shape[0] * outputs; i++) ((float *)view->tensor.data)[i] = NAN;
    }
    return 0;
}

static void end(predictions *p) {
    for (size_t i = 0; i < p->count; i++) core_view_give(&p->views[i]);
    free(p->views);
    Py_XDECREF(p->arrays);
}

/* ---- metrics */
static int add_result(PyObject *out, const eg_metrics_result *r, int is_classification) {
    if (is_classification)
        return core_add(out, "accuracy", core_number_or_none(r->accuracy)) ||
               core_add(out, "f1", core_number_or_none(r->f1)) ||
               core_add(out, "macro_f1", core_number_or_none(r->macro_f1));
    return core_add(out, "mse", core_number_or_none(r->mse)) ||
           core_add(out, "rmse", core_number_or_none(r->rmse)) ||
           core_add(out, "mae", core_number_or_none(r->mae)) ||
           core_add(out, "r2", core_number_or_none(r->r2));
}

static PyObject *target_of(const eg_metrics *metrics, const eg_data *data, size_t index,
                           int is_classification) {
    eg_metrics_result r;
    eg_error error;
    if (eg_metrics_output(metrics, index, &r, &error)) return core_raise(&error);
    PyObject *out = PyDict_New();
    if (out && (core_add(out, "name", PyUnicode_FromString(eg_data_target(data, index))) ||
                core_add(out, "rows", PyLong_FromUnsignedLongLong(r.rows)) ||
                add_result(out, &r, is_classification)))
        Py_CLEAR(out);
    return out;
}

static PyObject *class_of(const eg_metrics *metrics, const eg_data *data, size_t index,
                          uint64_t count) {
    eg_metrics_class c;
    eg_error error;
    if (eg_metrics_class_get(metrics, 0, index, &c, &error)) return core_raise(&error);
    PyObject *predicted = PyList_New(0);
    for (uint64_t i = 0; predicted && i < count; i++) {
        PyObject *weight = PyFloat_FromDouble(eg_metrics_confusion(metrics, 0, index, i));
        if (!weight || PyList_Append(predicted, weight)) Py_CLEAR(predicted);
        Py_XDECREF(weight);
    }
    return predicted
               ? Py_BuildValue("{s:s,s:d,s:N,s:N,s:N,s:N}", "label", eg_data_class(data, index),
                               "support", c.support, "precision", core_number_or_none(c.precision),
                               "recall", core_number_or_none(c.recall), "f1",
                               core_number_or_none(c.f1), "predicted", predicted)
               : NULL;
}

static int append(PyObject *list, PyObject *item) {
    const int failed = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return failed;
}

static PyObject *metrics_of(const eg_metrics *metrics, const eg_data *data, eg_loss loss,
                            double value) {
    eg_metrics_result r;
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    eg_metrics_get(metrics, &r);
    const int is_classification = loss == EG_LOSS_CLASSES || loss == EG_LOSS_BINARY;
    PyObject *out = PyDict_New(), *parts = PyList_New(0);
    int failed = !out || !parts || core_add(out, "loss", core_number_or_none(value)) ||
                 core_add(out, "rows", PyLong_FromUnsignedLongLong(r.rows)) ||
                 add_result(out, &r, is_classification);
    for (size_t i = 0; !failed && i < (d.classes ? d.classes : d.targets); i++)
        failed = append(parts, d.classes ? class_of(metrics, data, i, d.classes)
                                         : target_of(metrics, data, i, is_classification));
    if (!failed) failed = PyDict_SetItemString(out, d.classes ? "classes" : "targets", parts);
    Py_XDECREF(parts);
    if (failed) Py_CLEAR(out);
    return out;
}

/* ---- a pass */
typedef struct pass {
    PyObject *object;
    eg_model *model;
    const core_data *data;
    eg_evaluate_options options;
    eg_metrics *metrics;
    predictions predictions;
} pass;

static PyObject *run(pass *p) {
    double loss = NAN;
    eg_error error;
    eg_status status;
    if (core_model_read(p->object)) return NULL;
    core_publisher *publisher = core_publish_borrow(p->object, &p->options.publisher);
    Py_BEGIN_ALLOW_THREADS;
    status = eg_evaluate(p->model, p->data->data, &p->options, p->metrics ? &loss : NULL,
                         p->metrics, &error);
    Py_END_ALLOW_THREADS;
    core_publish_return(publisher);
    core_model_read_end(p->object);
    if (status) return core_raise(&error);
    PyObject *metrics = p->metrics ? metrics_of(p->metrics, p->data->data, p->options.loss, loss)
                                   : Py_BuildValue("");
    PyObject *arrays = p->predictions.arrays ? p->predictions.arrays : Py_None;
    return metrics ? Py_BuildValue("(NO)", metrics, arrays) : NULL;
}

static PyObject *evaluate(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"model",   "data",    "loss", "batch",
                                        "metrics", "outputs", NULL};
    PyObject *given[6], *out = NULL;
    int loss = 0, wants_metrics = 1, wants_outputs = 0;
    pass p = {.options = {.size = sizeof p.options, .stop = core_interrupted}};
    if (core_arguments("evaluate", names, 2, given, args, count, keywords) ||
        !(p.model = core_model_of(given[0], "model")) ||
        !(p.data = core_data_of(given[1], "data")) ||
        (given[2] && core_choice(given[2], "loss", core_loss_at, &loss)) ||
        (given[3] && core_count(given[3], "batch", &p.options.batch)) ||
        core_flag(given[4], &wants_metrics) || core_flag(given[5], &wants_outputs))
        return NULL;
    p.object = given[0];
    p.options.loss = (eg_loss)loss;
    eg_model_info info = {.size = sizeof info};
    eg_error error;
    eg_model_info_get(p.model, &info);
    if (wants_metrics &&
        eg_metrics_create(core_model_context(given[0])->context, p.options.loss, info.outputs,
                          loss == EG_LOSS_CLASSES ? info.outputs : 0, &p.metrics, &error))
        return core_raise(&error);
    if (!wants_outputs) out = run(&p);
    else if (!begin(&p.predictions, p.data, info.outputs)) {
        p.options.outputs = keep;
        p.options.user = &p.predictions;
        out = run(&p);
    }
    end(&p.predictions);
    eg_metrics_destroy(p.metrics);
    return out;
}

static PyMethodDef functions[] = {
    {"evaluate", CORE_FASTCALL(evaluate), METH_FASTCALL | METH_KEYWORDS,
     "evaluate(model, data, loss='mse', batch=0, metrics=True, outputs=False)\n--\n\n"
     "(metrics or None, outputs or None): outputs are an array [rows, outputs] for each table, NaN where there is none."},
    {NULL, NULL, 0, NULL}};

int core_evaluate_add(PyObject *module) { return PyModule_AddFunctions(module, functions); }
