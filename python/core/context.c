/* The context of all objects: made at the first need, replaced by configure(), and left behind by fork(). */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static core_context *present;
static struct {
    unsigned threads;
    char isa[32];
    uint64_t memory_budget;
    eg_team_function team;
} settings;

core_context *core_context_take(void) {
    if (present) return core_context_share(present);
    core_context *made = calloc(1, sizeof *made);
    if (!made) return (core_context *)PyErr_NoMemory();
    const eg_context_options options = {.size = sizeof options,
                                        .threads = settings.threads,
                                        .isa = settings.isa[0] ? settings.isa : NULL,
                                        .memory_budget = settings.memory_budget,
                                        .team = settings.team};
    eg_error error;
    if (eg_context_create(&options, &made->context, &error)) {
        free(made);
        return (core_context *)core_raise(&error);
    }
    made->references = 1;
    present = made;
    return core_context_share(made);
}

core_context *core_context_share(core_context *context) {
    context->references++;
    return context;
}

void core_context_give(core_context *context) {
    if (!context || --context->references) return;
    eg_context_destroy(context->context);
    free(context);
}

int core_context_usable(const core_context *context) {
    if (!context->is_foreign) return 1;
    PyErr_SetString(
        PyExc_RuntimeError,
        "made before fork(), whose child has none of its threads; make it anew here, or "
        "use elegans.configure(threads=1) before");
    return 0;
}

int core_interrupted(void *user) {
    (void)user;
    const PyGILState_STATE state = PyGILState_Ensure();
    const int is_pending = PyErr_CheckSignals();
    PyGILState_Release(state);
    return is_pending;
}

/* A context with the present settings in place of the one before; if there can be none, all is as it was. */
static int context_renewed(void) {
    core_context *old = present;
    present = NULL;
    core_context *made = core_context_take();
    if (!made) {
        present = old;
        return 0;
    }
    core_context_give(made);
    core_context_give(old);
    return 1;
}

static PyObject *configure(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"threads", "isa", "memory_budget", NULL};
    PyObject *given[3];
    uint64_t threads = settings.threads, budget = settings.memory_budget;
    if (core_arguments("configure", names, 0, given, args, count, keywords) ||
        (given[0] && core_count(given[0], "threads", &threads)) ||
        (given[2] && core_count(given[2], "memory_budget", &budget)))
        return NULL;
    if (threads > 256)
        return PyErr_Format(PyExc_ValueError, "threads: at most 256, given %llu",
                            (unsigned long long)threads);
    const char *isa = "";
    PyObject *text = given[1] ? core_text(given[1], "isa", &isa) : NULL;
    if (given[1] && !text) return NULL;
    if (strlen(isa) >= sizeof settings.isa) {
        Py_DECREF(text);
        return PyErr_Format(PyExc_ValueError, "isa: unknown instruction set");
    }
    const unsigned old_threads = settings.threads;
    const uint64_t old_budget = settings.memory_budget;
    char old_isa[sizeof settings.isa];
    memcpy(old_isa, settings.isa, sizeof old_isa);
    settings.threads = (unsigned)threads;
    settings.memory_budget = budget;
    if (given[1]) strcpy(settings.isa, isa);
    Py_XDECREF(text);
    if (!context_renewed()) { /* as it was */
        settings.threads = old_threads;
        settings.memory_budget = old_budget;
        memcpy(settings.isa, old_isa, sizeof old_isa);
        return NULL;
    }
    Py_RETURN_NONE;
}

int core_context_team(eg_team_function team) {
    const eg_team_function old = settings.team;
    settings.team = team;
    if (!present || context_renewed()) return 1;
    settings.team = old;
    return 0;
}

static PyObject *configuration(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    if (!context) return NULL;
    PyObject *out = Py_BuildValue("{s:I,s:s}", "threads", eg_context_threads(context->context),
                                  "isa", eg_context_isa(context->context));
    core_context_give(context);
    return out;
}

/* In the child of a fork: what was made before has no threads any more. */
static PyObject *forked(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    settings.team = NULL; /* its threads are the parent's, too */
    if (present && eg_context_threads(present->context) > 1) {
        core_context *old = present;
        old->is_foreign = 1;
        present = NULL;
        core_context_give(old);
    }
    Py_RETURN_NONE;
}

static PyObject *memory(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    PyObject *out = context ? PyDict_New() : NULL;
    eg_error error;
    for (int tag = 0; out && tag <= EG_TAG_COUNT; tag++) {
        eg_memory_figures figures;
        if (eg_memory_query(context->context, (eg_tag)tag, &figures, &error)) {
            core_raise(&error);
            Py_CLEAR(out);
        } else if (core_add(out, eg_tag_name((eg_tag)tag),
                            Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "current", figures.current,
                                          "peak", figures.peak, "total_allocated",
                                          figures.total_allocated, "total_freed",
                                          figures.total_freed, "allocations", figures.allocations)))
            Py_CLEAR(out);
    }
    core_context_give(context);
    return out;
}

static PyObject *memory_reset_peak(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_memory_reset_peak(context->context);
    core_context_give(context);
    Py_RETURN_NONE;
}

static PyObject *memory_empty_cache(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    if (!context) return NULL;
    const uint64_t bytes = eg_memory_empty_cache(context->context);
    core_context_give(context);
    return PyLong_FromUnsignedLongLong(bytes);
}

PyMethodDef core_context_functions[] = {
    {"configure", CORE_FASTCALL(configure), METH_FASTCALL | METH_KEYWORDS,
     "configure(threads=None, isa=None, memory_budget=None)\n--\n\n"
     "Sets what objects made from now on use: threads (0 = one per fast core), an instruction set and what it implies, and\n"
     "the most memory in bytes (0 = most of what is available). What is not given stays as it is.\n"
     "\n"
     "Results are the same bits for any number of threads. Error for an instruction set that this machine lacks.\n"
     "\n"
     ">>> import elegans\n"
     ">>> before = elegans.configuration()\n"
     ">>> elegans.configure(threads=1, isa=\"ref\")\n"
     ">>> elegans.configuration() == {\"threads\": 1, \"isa\": \"ref\"}\n"
     "True\n"
     ">>> elegans.configure(**before)"},
    {"configuration", configuration, METH_NOARGS,
     "configuration()\n--\n\nThe threads and the instruction set in use: a dict that configure() takes."},
    {"memory", memory, METH_NOARGS,
     "memory()\n--\n\n"
     "Bytes that the library holds, by what they are used for; \"all\" is the sum. Each is a dict of current, peak,\n"
     "total_allocated, total_freed and allocations. Counted.\n"
     "\n"
     ">>> import elegans\n"
     ">>> elegans.memory()[\"all\"][\"current\"] <= elegans.memory()[\"all\"][\"peak\"]\n"
     "True"},
    {"memory_reset_peak", memory_reset_peak, METH_NOARGS,
     "memory_reset_peak()\n--\n\nSets every peak to what is held now."},
    {"memory_empty_cache", memory_empty_cache, METH_NOARGS,
     "memory_empty_cache()\n--\n\nGives memory kept for reuse back to the system; returns its bytes."},
    {"_forked", forked, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
