/* Profiles of models, functions and steps of training: what is measured, without the GIL. */
#include "profile.h"
#include "model.h"

/* ---- functions of Python that are timed */
typedef struct timed {
    PyObject *function;
    int has_failed; /* its exception is pending in this thread */
} timed;

static void call_timed(void *user) {
    timed *t = user;
    if (t->has_failed) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = PyObject_CallObject(t->function, NULL);
    t->has_failed = !result;
    Py_XDECREF(result);
    PyGILState_Release(state);
}

static int stop_timed(void *user) {
    const timed *t = user;
    return t->has_failed || core_interrupted(NULL);
}

static int take_function(PyObject *object, timed *t) {
    if (PyCallable_Check(object)) {
        t->function = object;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "function: expected a callable, given %R",
                 (PyObject *)Py_TYPE(object));
    return -1;
}

/* ---- making one */
typedef struct asked { /* what the calls that profile have in common */
    eg_profile_options options;
    eg_recorder_options recorder;
    PyObject *name; /* bytes */
    const char *text;
} asked;

static int take_schedule(PyObject *object, eg_recorder_options *out) {
    PyObject *list = PySequence_List(object);
    if (!list) return -1;
    uint32_t *const fields[] = {&out->skip, &out->wait, &out->warmup, &out->active, &out->repeat};
    int failed = PyList_Size(list) != 5;
    if (failed)
        PyErr_SetString(PyExc_ValueError,
                        "schedule: expected 5 numbers: skip, wait, warmup, active, repeat");
    for (Py_ssize_t i = 0; i < 5 && !failed; i++) {
        uint64_t value;
        failed = core_count(PyList_GetItem(list, i), "schedule", &value);
        if (!failed && value > UINT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "schedule: a number above 2^32 - 1");
            failed = 1;
        }
        if (!failed) *fields[i] = (uint32_t)value;
    }
    Py_DECREF(list);
    return failed;
}

static int take_name(asked *a, PyObject *object) {
    if (!object) return 0;
    a->name = core_text(object, "name", &a->text);
    return a->name ? 0 : -1;
}

static PyObject *profile_model(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords) {
    static const char *const names[] = {"model",    "name",   "batch",    "seq",
                                        "runs",     "warmup", "compiled", "schedule",
                                        "ceilings", "steps",  "cache",    NULL};
    (void)module;
    PyObject *given[11], *out = NULL;
    asked a = {.options = {.size = sizeof a.options, .stop = core_interrupted}, .text = ""};
    a.recorder.size = sizeof a.recorder;
    a.options.recorder = &a.recorder;
    int compiled = 1, ceilings = 1, steps = 1, cache = 1;
    if (core_arguments("profile_model", names, 1, given, args, count, keywords)) return NULL;
    eg_model *model = core_model_of(given[0], "model");
    if (!model || (given[2] && core_count(given[2], "batch", &a.options.batch)) ||
        (given[3] && core_count(given[3], "seq", &a.options.seq)) ||
        (given[4] && core_count(given[4], "runs", &a.options.runs)) ||
        (given[5] && core_count(given[5], "warmup", &a.options.warmup)) ||
        core_flag(given[6], &compiled) || (given[7] && take_schedule(given[7], &a.recorder)) ||
        core_flag(given[8], &ceilings) || core_flag(given[9], &steps) ||
        core_flag(given[10], &cache) || take_name(&a, given[1]))
        return NULL;
    a.options.no_compile = !compiled;
    a.options.no_ceilings = !ceilings;
    a.options.no_steps = !steps;
    a.options.no_cache = !cache;
    eg_profile *profile;
    eg_error error;
    eg_status status;
    core_model_begin(given[0]);
    Py_BEGIN_ALLOW_THREADS;
    status = eg_profile_model(model, a.text, &a.options, &profile, &error);
    Py_END_ALLOW_THREADS;
    core_model_end(given[0]);
    if (status) core_raise(&error);
    else out = core_profile_wrap(core_model_context(given[0]), given[0], profile);
    Py_XDECREF(a.name);
    return out;
}

/* A function, with or without ceilings to compare with. */
static PyObject *profile_function(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    static const char *const names[] = {"function", "name", "runs", "warmup", NULL};
    (void)module;
    PyObject *given[4], *out = NULL;
    timed t = {0};
    asked a = {.options = {.size = sizeof a.options,
                           .no_ceilings = 1,
                           .stop = stop_timed,
                           .stop_user = &t},
               .text = ""};
    if (core_arguments("profile_function", names, 1, given, args, count, keywords) ||
        take_function(given[0], &t) ||
        (given[2] && core_count(given[2], "runs", &a.options.runs)) ||
        (given[3] && core_count(given[3], "warmup", &a.options.warmup)) || take_name(&a, given[1]))
        return NULL;
    core_context *context = core_context_take();
    eg_profile *profile;
    eg_error error;
    eg_status status = EG_OK;
    if (context) {
        Py_BEGIN_ALLOW_THREADS;
        status = eg_profile_callback(context->context, a.text, call_timed, &t, &a.options, &profile,
                                     &error);
        Py_END_ALLOW_THREADS;
        if (status) core_raise(&error);
        else if (t.has_failed) eg_profile_destroy(profile);
        else out = core_profile_wrap(context, NULL, profile);
    }
    core_context_give(context);
    Py_XDECREF(a.name);
    return out;
}

/* ---- one step of training: forward, backward and the update */
typedef struct training {
    eg_trainer *trainer;
    eg_error error;
    eg_status status;
} training;

static void train_once(void *user) {
    training *t = user;
    eg_train_result result;
    if (!t->status) t->status = eg_trainer_step(t->trainer, 1e-6, &result, &t->error);
}

static void fill_batch(const training *t, const eg_model_info *info, uint64_t batch,
                       uint64_t time) {
    const eg_train_batch b = eg_trainer_batch(t->trainer);
    for (uint64_t i = 0; i < batch * time * info->inputs; i++) b.x[i] = (float)(i % 31) / 16 - 1;
    for (uint64_t i = 0; i < batch * time * b.target_size; i++) b.target[i] = 0;
}

static eg_status profile_steps(eg_model *model, const eg_profile_options *o, eg_context *context,
                               eg_profile **out, eg_error *error) {
    const eg_train_options options = {
        .size = sizeof options, .batch = o->batch ? o->batch : 1, .time = o->seq ? o->seq : 1};
    eg_model_info info = {.size = sizeof info};
    training t = {0};
    eg_model_info_get(model, &info);
    eg_status status = eg_trainer_create(model, &options, &t.trainer, error);
    if (status) return status;
    fill_batch(&t, &info, options.batch, options.time);
    status = eg_profile_callback(context, "training", train_once, &t, o, out, error);
    eg_trainer_destroy(t.trainer);
    if (!status && t.status) {
        eg_profile_destroy(*out);
        *error = t.error;
    }
    return status ? status : t.status;
}

static PyObject *profile_training(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    static const char *const names[] = {"model", "batch", "seq", "runs", "warmup", NULL};
    (void)module;
    PyObject *given[5];
    eg_profile_options o = {.size = sizeof o, .no_ceilings = 1, .stop = core_interrupted};
    if (core_arguments("profile_training", names, 1, given, args, count, keywords)) return NULL;
    eg_model *model = core_model_of(given[0], "model");
    if (!model || (given[1] && core_count(given[1], "batch", &o.batch)) ||
        (given[2] && core_count(given[2], "seq", &o.seq)) ||
        (given[3] && core_count(given[3], "runs", &o.runs)) ||
        (given[4] && core_count(given[4], "warmup", &o.warmup)))
        return NULL;
    if (((core_model *)given[0])->info.kind != EG_MODEL_LIQUID)
        return PyErr_Format(PyExc_ValueError, "model: expected a liquid network");
    core_context *context = core_model_context(given[0]);
    eg_profile *profile;
    eg_error error;
    eg_status status;
    core_model_begin(given[0]);
    Py_BEGIN_ALLOW_THREADS;
    status = profile_steps(model, &o, context->context, &profile, &error);
    Py_END_ALLOW_THREADS;
    core_model_end(given[0]);
    return status ? core_raise(&error) : core_profile_wrap(context, NULL, profile);
}

/* ---- quickly */
static PyObject *quick_result(const eg_quick_result *r) {
    PyObject *out = PyDict_New();
    const struct {
        const char *name;
        const eg_metric *metric;
    } figures[] = {{"seconds", &r->seconds},
                   {"rate", &r->rate},
                   {"samples", &r->samples},
                   {"flops", &r->flops},
                   {"tflops", &r->tflops},
                   {"bytes_moved", &r->bytes_moved},
                   {"operand_rate", &r->operand_rate},
                   {"memory", &r->memory},
                   {"library", &r->library},
                   {"leaked", &r->leaked},
                   {"cpu_time", &r->cpu_time}};
    for (size_t i = 0; out && i < sizeof figures / sizeof *figures; i++)
        if (core_add(out, figures[i].name, core_metric(figures[i].metric))) Py_CLEAR(out);
    if (out && (core_add(out, "time", core_statistics(&r->time)) ||
                core_add(out, "noise", PyUnicode_FromString(r->noise_text))))
        Py_CLEAR(out);
    return out;
}

static PyObject *quick_profile(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords) {
    static const char *const names[] = {"model", "function", "batch", "seq",
                                        "runs",  "warmup",   NULL};
    (void)module;
    PyObject *given[6];
    timed t = {0};
    eg_quick_options o = {.size = sizeof o, .stop = stop_timed, .stop_user = &t};
    eg_quick_subject subject = {0};
    if (core_arguments("quick_profile", names, 0, given, args, count, keywords) ||
        (given[1] && take_function(given[1], &t)) ||
        (given[2] && core_count(given[2], "batch", &o.batch)) ||
        (given[3] && core_count(given[3], "seq", &o.seq)) ||
        (given[4] && core_count(given[4], "runs", &o.runs)) ||
        (given[5] && core_count(given[5], "warmup", &o.warmup)))
        return NULL;
    if (given[0] && !(subject.model = core_model_of(given[0], "model"))) return NULL;
    core_context *context =
        given[0] ? core_context_share(core_model_context(given[0])) : core_context_take();
    if (!context) return NULL;
    subject.context = context->context;
    if (t.function) {
        subject.function = call_timed;
        subject.user = &t;
    }
    eg_quick_result result;
    eg_error error;
    eg_status status;
    core_model_begin(given[0]);
    Py_BEGIN_ALLOW_THREADS;
    status = eg_quick_profile(&subject, &o, &result, &error);
    Py_END_ALLOW_THREADS;
    core_model_end(given[0]);
    core_context_give(context);
    if (status) return core_raise(&error);
    return t.has_failed ? NULL : quick_result(&result);
}

PyMethodDef core_profile_functions[] = {
    {"profile_model", CORE_FASTCALL(profile_model), METH_FASTCALL | METH_KEYWORDS,
     "profile_model(model, name='', batch=1, seq=1, runs=None, warmup=3, compiled=True, schedule=None, ceilings=True, "
     "steps=True, cache=True)\n--\n\nCompiles the model for this batch and length, runs it, records it."},
    {"profile_function", CORE_FASTCALL(profile_function), METH_FASTCALL | METH_KEYWORDS,
     "profile_function(function, name='', runs=None, warmup=3)\n--\n\nThe same for any function; its FLOPs are unknown."},
    {"profile_training", CORE_FASTCALL(profile_training), METH_FASTCALL | METH_KEYWORDS,
     "profile_training(model, batch=1, seq=1, runs=None, warmup=3)\n--\n\n"
     "Steps of training a copy of the model: forward, backward, Adam."},
    {"quick_profile", CORE_FASTCALL(quick_profile), METH_FASTCALL | METH_KEYWORDS,
     "quick_profile(model=None, function=None, batch=1, seq=1, runs=None, warmup=3)\n--\n\n"
     "Times, rates and memory in about a second; with both, the function is timed and FLOPs are the model's."},
    {NULL, NULL, 0, NULL}};
