/* Whole trainings: eg_fit without the GIL, with a hook that takes it to report and to look for signals. */
#include "train.h"
#include "publish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *core_loss_at(int index) { return eg_loss_name((eg_loss)index); }
static const char *optimizer_at(int index) { return eg_optimizer_name((eg_optimizer_kind)index); }
static const char *schedule_at(int index) { return eg_schedule_name((eg_schedule_kind)index); }
static const char *units_at(int index) { return eg_standardize_name((eg_standardize)index); }
static const eg_type types[] = {EG_F32, EG_BF16, EG_F16};
static const char *type_at(int index) { return index < 3 ? eg_type_name(types[index]) : NULL; }

/* ---- progress */
typedef struct watcher {
    PyObject *callback; /* NULL = none */
    double interval;    /* seconds between two reports of steps; 0 = each step, below 0 = none */
    uint64_t last;      /* ns */
    int is_stopping;
    PyObject *type, *value, *traceback; /* an exception that waits for the end of eg_fit */
} watcher;

static PyObject *progress_of(const eg_fit_progress *p) {
    static const char *const events[] = {"step", "epoch", "checkpoint"};
    return Py_BuildValue(
        "{s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:N,s:N,s:K,s:d,s:N,s:N,s:d,s:N,s:O,s:d,s:K}", "event",
        events[p->event], "epoch", p->epoch, "epochs", p->epochs, "batch", p->batch, "batches",
        p->batches, "steps", p->steps, "batch_size", p->batch_size, "loss", p->loss, "validation",
        core_number_or_none(p->validation), "best", core_number_or_none(p->best), "best_epoch",
        p->best_epoch, "rate", p->rate, "gradient_norm", core_number_or_none(p->gradient_norm),
        "samples_per_second", core_number_or_none(p->samples_per_second), "seconds", p->seconds,
        "seconds_left", core_number_or_none(p->seconds_left), "resumed",
        p->resumed ? Py_True : Py_False, "scale", p->scale, "skipped", p->skipped);
}

static int is_due(watcher *w, const eg_fit_progress *now) {
    if (!w->callback) return 0;
    if (now->event != EG_FIT_STEP) return 1;
    const uint64_t time = eg_clock_ns();
    if (w->interval < 0 || (double)(time - w->last) * 1e-9 < w->interval) return 0;
    w->last = time;
    return 1;
}

static int tell(const watcher *w, const eg_fit_progress *now) {
    PyObject *progress = progress_of(now);
    PyObject *said = progress ? PyObject_CallFunctionObjArgs(w->callback, progress, NULL) : NULL;
    const int stop = said ? PyObject_IsTrue(said) : 1;
    Py_XDECREF(progress);
    Py_XDECREF(said);
    return stop != 0;
}

static int watch(void *user, const eg_fit_progress *now) {
    watcher *w = user;
    if (w->is_stopping) return 1; /* a checkpoint after the stop is nobody's news */
    const PyGILState_STATE state = PyGILState_Ensure();
    w->is_stopping = PyErr_CheckSignals() || (is_due(w, now) && tell(w, now));
    if (PyErr_Occurred()) PyErr_Fetch(&w->type, &w->value, &w->traceback);
    PyGILState_Release(state);
    return w->is_stopping;
}

/* ---- options */
enum {
    MODEL,
    DATA,
    VALIDATION,
    LOSS,
    STANDARDIZE,
    TIME_UNIT,
    DATES,
    OPTIMIZER,
    RATE,
    MOMENTUM,
    BETA2,
    EPSILON,
    WEIGHT_DECAY,
    CLIP,
    SCHEDULE,
    DECAY,
    FLOOR,
    WARMUP,
    EPOCHS,
    PATIENCE,
    BATCH,
    BATCH_LEAST,
    BATCH_MOST,
    ACCUMULATE,
    MEMORY,
    DTYPE,
    SEED,
    AVERAGE,
    CHECKPOINT,
    CHECKPOINT_SECONDS,
    CHECKPOINT_STEPS,
    RESUME,
    KEEP_LAST,
    PROGRESS,
    INTERVAL,
    OPTIONS
};
static const char *const option_names[] = {"model",
                                           "data",
                                           "validation",
                                           "loss",
                                           "standardize",
                                           "time_unit",
                                           "dates",
                                           "optimizer",
                                           "rate",
                                           "momentum",
                                           "beta2",
                                           "epsilon",
                                           "weight_decay",
                                           "clip",
                                           "schedule",
                                           "decay",
                                           "floor",
                                           "warmup",
                                           "epochs",
                                           "patience",
                                           "batch",
                                           "batch_least",
                                           "batch_most",
                                           "accumulate",
                                           "memory",
                                           "dtype",
                                           "seed",
                                           "average",
                                           "checkpoint",
                                           "checkpoint_seconds",
                                           "checkpoint_steps",
                                           "resume",
                                           "keep_last",
                                           "progress",
                                           "interval",
                                           NULL};

typedef struct fitting {
    PyObject *given[OPTIONS];
    eg_model *model;
    const core_data *data, *validation;
    eg_fit_options options;
    eg_fit_result result;
    watcher watcher;
    int units; /* of eg_standardize; -1 = the model keeps its own */
    double time_unit;
    const char *dates;
    PyObject *texts[2];
    eg_scaling before; /* units to return to when it fails, in `kept` */
    float *kept;
} fitting;

static int take_choices(fitting *f) {
    int loss = 0, optimizer = EG_ADAM, schedule = EG_SCHEDULE_COSINE, type = 0;
    PyObject *const *given = f->given;
    if ((given[LOSS] && core_choice(given[LOSS], "loss", core_loss_at, &loss)) ||
        (given[OPTIMIZER] &&
         core_choice(given[OPTIMIZER], "optimizer", optimizer_at, &optimizer)) ||
        (given[SCHEDULE] && core_choice(given[SCHEDULE], "schedule", schedule_at, &schedule)) ||
        (given[DTYPE] && core_choice(given[DTYPE], "dtype", type_at, &type)) ||
        (given[STANDARDIZE] && core_choice(given[STANDARDIZE], "standardize", units_at, &f->units)))
        return -1;
    f->options.loss = (eg_loss)loss;
    f->options.optimizer.kind = (eg_optimizer_kind)optimizer;
    f->options.schedule.kind = (eg_schedule_kind)schedule;
    f->options.dtype = types[type];
    return 0;
}

static int refuse(const char *name, double value, const char *range) {
    PyObject *number = PyFloat_FromDouble(value);
    if (number) PyErr_Format(PyExc_ValueError, "%s: %R is not %s", name, number, range);
    Py_XDECREF(number);
    return -1;
}

/* With the ranges that the program has for them. */
static int take_numbers(fitting *f) {
    eg_optimizer *optimizer = &f->options.optimizer;
    eg_schedule *schedule = &f->options.schedule;
    double momentum = NAN;
    const struct {
        int which;
        double *out;
        double above, below; /* both excluded */
        const char *range;
    } numbers[] = {{RATE, &optimizer->learning_rate, 0, INFINITY, "above 0"},
                   {MOMENTUM, &momentum, -1e-300, 1, "within 0..1, below 1"},
                   {BETA2, &optimizer->beta2, 0, 1, "between 0 and 1"},
                   {EPSILON, &optimizer->epsilon, 0, INFINITY, "above 0"},
                   {WEIGHT_DECAY, &optimizer->weight_decay, -1e-300, INFINITY, "0 or more"},
                   {CLIP, &optimizer->clip_norm, 0, INFINITY, "above 0"},
                   {DECAY, &schedule->decay, 0, 1 + 1e-15, "above 0, at most 1"},
                   {FLOOR, &schedule->floor, -1e-300, 1 + 1e-15, "within 0..1"},
                   {WARMUP, &schedule->warmup, -1e-300, INFINITY, "0 or more"},
                   {AVERAGE, &f->options.average, -1e-300, 1, "within 0..1, below 1"},
                   {TIME_UNIT, &f->time_unit, 0, INFINITY, "above 0"},
                   {CHECKPOINT_SECONDS, &f->options.checkpoint_seconds, 0, INFINITY, "above 0"},
                   {INTERVAL, &f->watcher.interval, -INFINITY, INFINITY, "finite"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        PyObject *given = f->given[numbers[i].which];
        const char *name = option_names[numbers[i].which];
        if (!given) continue;
        if (core_number(given, name, numbers[i].out)) return -1;
        if (!(*numbers[i].out > numbers[i].above && *numbers[i].out < numbers[i].below))
            return refuse(name, *numbers[i].out, numbers[i].range);
    }
    /* 0 would be its default, less is none */
    if (!isnan(momentum)) optimizer->beta1 = momentum == 0 ? -1 : momentum;
    return 0;
}

static int take_counts(fitting *f) {
    eg_fit_options *o = &f->options;
    const struct {
        int which;
        uint64_t *out;
    } counts[] = {{EPOCHS, &o->epochs},
                  {PATIENCE, &o->patience},
                  {BATCH, &o->batch},
                  {BATCH_LEAST, &o->batch_least},
                  {BATCH_MOST, &o->batch_most},
                  {ACCUMULATE, &o->accumulate},
                  {MEMORY, &o->memory},
                  {SEED, &o->seed},
                  {CHECKPOINT_STEPS, &o->checkpoint_steps}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (f->given[counts[i].which] &&
            core_count(f->given[counts[i].which], option_names[counts[i].which], counts[i].out))
            return -1;
    if (f->given[EPOCHS] && !o->epochs) return refuse("epochs", 0, "above 0");
    return core_flag(f->given[RESUME], &o->resume) || core_flag(f->given[KEEP_LAST], &o->keep_last);
}

static int take_options(fitting *f) {
    PyObject *const *given = f->given;
    f->options =
        (eg_fit_options){.size = sizeof f->options, .progress = watch, .user = &f->watcher};
    f->units = -1;
    if (take_choices(f) || take_numbers(f) || take_counts(f)) return -1;
    if (given[CHECKPOINT] &&
        !(f->texts[0] = core_path(given[CHECKPOINT], "checkpoint", &f->options.checkpoint)))
        return -1;
    if (given[DATES] && !(f->texts[1] = core_text(given[DATES], "dates", &f->dates))) return -1;
    if (given[PROGRESS] && !PyCallable_Check(given[PROGRESS])) {
        PyErr_Format(PyExc_TypeError, "progress: expected a function, given %R",
                     (PyObject *)Py_TYPE(given[PROGRESS]));
        return -1;
    }
    f->watcher.callback = given[PROGRESS];
    if (!(f->model = core_model_of(given[MODEL], "model")) ||
        !(f->data = core_data_of(given[DATA], "data")))
        return -1;
    return given[VALIDATION] && !(f->validation = core_data_of(given[VALIDATION], "validation"))
               ? -1
               : 0;
}

/* ---- units: those before it come back when it fails */
static int keep_units(fitting *f) {
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(f->model, &info);
    eg_model_scaling_get(f->model, &f->before);
    float *at = f->kept = malloc((size_t)(2 * (info.inputs + info.outputs) + 1) * sizeof *at);
    if (!at) {
        PyErr_NoMemory();
        return -1;
    }
    const struct {
        const float **values;
        uint64_t count;
    } parts[] = {{&f->before.input_mean, info.inputs},
                 {&f->before.input_scale, info.inputs},
                 {&f->before.output_mean, info.outputs},
                 {&f->before.output_scale, info.outputs}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!*parts[i].values) continue;
        *parts[i].values = memcpy(at, *parts[i].values, (size_t)parts[i].count * sizeof *at);
        at += parts[i].count;
    }
    return 0;
}

static eg_status run(fitting *f, eg_error *error) {
    eg_status status = EG_OK;
    if (f->units >= 0)
        status = eg_fit_units(f->model, f->data->data, f->options.loss, (eg_standardize)f->units,
                              f->time_unit, error);
    if (!status)
        status = eg_fit(f->model, f->data->data, f->validation ? f->validation->data : NULL,
                        &f->options, &f->result, error);
    if (status) eg_model_scaling_set(f->model, &f->before, NULL);
    else
        status = eg_fit_remember(f->model, f->data->data, &f->data->options, f->dates,
                                 f->options.loss, error);
    return status;
}

/* ---- results */
static PyObject *history_of(const eg_fit_result *r) {
    PyObject *out = PyList_New(0);
    for (uint64_t i = 0; out && i < r->history_count; i++) {
        const eg_fit_epoch *e = &r->history[i];
        PyObject *line = Py_BuildValue(
            "{s:K,s:d,s:N,s:d,s:N,s:d}", "epoch", (unsigned long long)i + 1, "loss", e->loss,
            "validation", core_number_or_none(e->validation), "rate", e->rate, "gradient_norm",
            core_number_or_none(e->gradient_norm), "seconds", e->seconds);
        if (!line || PyList_Append(out, line)) Py_CLEAR(out);
        Py_XDECREF(line);
    }
    return out;
}

/* The picture of the losses; None where there is not one epoch to draw. */
static PyObject *picture_of(const fitting *f) {
    eg_report *report;
    eg_error error;
    if (!f->result.history_count) Py_RETURN_NONE;
    core_context *context = core_model_context(f->given[MODEL]);
    if (eg_report_of_fit(context->context, &f->result, &report, &error)) return core_raise(&error);
    size_t length;
    const char *text = eg_report_text(report, &length);
    PyObject *out = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
    eg_report_destroy(report);
    return out;
}

static PyObject *result_of(const fitting *f) {
    const eg_fit_result *r = &f->result;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:d,s:K,s:K,s:N,s:N,s:N,s:O,s:O,s:d,s:K,s:K,s:s,s:N,s:N}", "epochs",
        r->epochs, "steps", r->steps, "skipped", r->skipped, "scale", r->scale, "batch_size",
        r->batch_size, "best_epoch", r->best_epoch, "best", core_number_or_none(r->best), "initial",
        core_number_or_none(r->initial), "constant", core_number_or_none(r->constant), "stopped",
        r->stopped ? Py_True : Py_False, "early", r->early ? Py_True : Py_False, "seconds",
        r->seconds, "memory", r->memory, "checkpoints_failed", r->checkpoints_failed, "loss",
        eg_loss_name(f->options.loss), "history", history_of(r), "svg", picture_of(f));
}

static PyObject *fit_model(fitting *f) {
    eg_error error;
    eg_status status;
    if (keep_units(f) || core_model_train(f->given[MODEL])) return NULL;
    core_publisher *publisher = core_publish_borrow(f->given[MODEL], &f->options.publisher);
    Py_BEGIN_ALLOW_THREADS;
    status = run(f, &error);
    Py_END_ALLOW_THREADS;
    core_publish_return(publisher);
    core_model_rest(f->given[MODEL], 1);
    PyObject *out = NULL;
    if (f->watcher.type) PyErr_Restore(f->watcher.type, f->watcher.value, f->watcher.traceback);
    else if (status) core_raise(&error);
    else out = result_of(f);
    eg_fit_release(f->model, &f->result);
    return out;
}

static PyObject *fit(PyObject *module, PyObject *const *args, Py_ssize_t count,
                     PyObject *keywords) {
    (void)module;
    fitting f = {.time_unit = 0};
    PyObject *out = NULL;
    if (core_arguments("fit", option_names, 2, f.given, args, count, keywords)) return NULL;
    if (!take_options(&f)) out = fit_model(&f);
    free(f.kept);
    Py_XDECREF(f.texts[0]);
    Py_XDECREF(f.texts[1]);
    return out;
}

/* ---- what belongs to it */
static PyObject *fit_spec(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"spec", "data", "seed", NULL};
    PyObject *given[3];
    uint64_t seed = 0;
    const core_data *data;
    const char *spec;
    char text[1024];
    eg_error error;
    if (core_arguments("fit_spec", names, 2, given, args, count, keywords) ||
        !(data = core_data_of(given[1], "data")) ||
        (given[2] && core_count(given[2], "seed", &seed)))
        return NULL;
    PyObject *bytes = core_text(given[0], "spec", &spec);
    if (!bytes) return NULL;
    const eg_status status = eg_fit_spec(data->context->context, spec, data->data, seed, text,
                                         sizeof text, NULL, &error);
    Py_DECREF(bytes);
    return status ? core_raise(&error) : PyUnicode_FromString(text);
}

static PyObject *text_or_none(const char *text) { return Py_BuildValue("z", text); }

static PyObject *labels_of(const eg_data_options *o) {
    if (!o->labels) Py_RETURN_NONE;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < o->label_count; i++) {
        PyObject *text = PyUnicode_FromString(o->labels[i]);
        if (!text || PyList_Append(out, text)) Py_CLEAR(out);
        Py_XDECREF(text);
    }
    return out;
}

static PyObject *fit_recall(PyObject *module, PyObject *argument) {
    (void)module;
    eg_data_options o = {.size = sizeof o};
    eg_loss loss;
    eg_error error;
    const eg_model *model = core_model_of(argument, "model");
    if (!model) return NULL;
    if (eg_fit_recall(model, &o, &loss, &error)) return core_raise(&error);
    const int is_trained = eg_model_note(model, "loss", 0) != NULL;
    PyObject *out = Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:d,s:N,s:s,s:K,s:K,s:N,s:N,s:N}", "inputs", text_or_none(o.inputs),
        "targets", text_or_none(o.targets), "time", text_or_none(o.time), "timespans",
        text_or_none(o.timespans), "group", text_or_none(o.group), "first_timespan",
        o.first_timespan, "labels", labels_of(&o), "missing", eg_missing_name(o.missing), "ahead",
        o.ahead, "window", o.window, "last", PyBool_FromLong(o.last), "loss",
        text_or_none(is_trained ? eg_loss_name(loss) : NULL), "dates",
        text_or_none(eg_model_note(model, "dates", 0)));
    eg_fit_recall_release(model, &o);
    return out;
}

static PyMethodDef functions[] = {
    {"fit", CORE_FASTCALL(fit), METH_FASTCALL | METH_KEYWORDS,
     "fit(model, data, validation=None, loss='mse', standardize=None, ...)\n--\n\n"
     "Trains a model. `standardize` None: it keeps its units. `progress` is called with a dict, and stops when it returns\n"
     "true; steps are reported at most every `interval` seconds (0: each, below 0: none)."},
    {"fit_spec", CORE_FASTCALL(fit_spec), METH_FASTCALL | METH_KEYWORDS,
     "fit_spec(spec, data, seed=0)\n--\n\nA spec completed by inputs and outputs of data."},
    {"fit_recall", fit_recall, METH_O,
     "fit_recall(model)\n--\n\nWhat a model remembers of the data it was trained on."},
    {NULL, NULL, 0, NULL}};

int core_fit_add(PyObject *module) { return PyModule_AddFunctions(module, functions); }
