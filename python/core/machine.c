/* This machine: its ceilings, its environment, what is wrong with it; and comparisons of times measured on it. */
#include "profile.h"
#include "model.h"

#include <stdlib.h>

double *core_doubles(PyObject *sequence, const char *name, size_t *count) {
    PyObject *list = PySequence_List(sequence);
    if (!list) return NULL;
    *count = (size_t)PyList_Size(list);
    double *out = malloc((*count + 1) * sizeof *out);
    int failed = !out;
    if (failed) PyErr_NoMemory();
    for (size_t i = 0; i < *count && !failed; i++)
        failed = core_number(PyList_GetItem(list, (Py_ssize_t)i), name, &out[i]);
    Py_DECREF(list);
    if (!failed) return out;
    free(out);
    return NULL;
}

static PyObject *interval(const eg_interval *i) {
    return Py_BuildValue("(ddd)", i->value, i->low, i->high);
}

PyObject *core_statistics(const eg_statistics *s) {
    char noise[EG_NOISE_TEXT];
    eg_statistics_noise(s, noise);
    return Py_BuildValue("{s:K,s:d,s:d,s:d,s:N,s:N,s:N,s:N,s:s}", "count", s->count, "min",
                         s->least, "max", s->most, "std", s->deviation, "mean", interval(&s->mean),
                         "p50", interval(&s->p50), "p90", interval(&s->p90), "p99",
                         interval(&s->p99), "noise", noise);
}

static PyObject *statistics(PyObject *module, PyObject *argument) {
    (void)module;
    size_t count;
    double *samples = core_doubles(argument, "samples", &count);
    core_context *context = samples ? core_context_take() : NULL;
    PyObject *out = NULL;
    eg_statistics s;
    eg_error error;
    if (context) {
        if (eg_statistics_of(context->context, count, samples, &s, &error)) core_raise(&error);
        else out = core_statistics(&s);
    }
    core_context_give(context);
    free(samples);
    return out;
}

static PyObject *compare(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    static const char *const names[] = {"old", "new", "alpha", "effect", "resamples", "seed", NULL};
    static const char *const verdicts[] = {"the same", "faster", "slower"};
    (void)module;
    PyObject *given[6], *out = NULL;
    eg_compare_options o = {.size = sizeof o};
    size_t old_count, new_count;
    if (core_arguments("compare", names, 2, given, args, count, keywords) ||
        (given[2] && core_number(given[2], "alpha", &o.alpha)) ||
        (given[3] && core_number(given[3], "effect", &o.effect)) ||
        (given[4] && core_count(given[4], "resamples", &o.resamples)) ||
        (given[5] && core_count(given[5], "seed", &o.seed)))
        return NULL;
    double *before = core_doubles(given[0], "old", &old_count), *after = NULL;
    if (before) after = core_doubles(given[1], "new", &new_count);
    core_context *context = after ? core_context_take() : NULL;
    if (context) {
        eg_comparison c;
        eg_error error;
        eg_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_compare(context->context, old_count, before, new_count, after, &o, &c, &error);
        Py_END_ALLOW_THREADS;
        if (status) core_raise(&error);
        else
            out = Py_BuildValue("{s:N,s:d,s:s}", "ratio", interval(&c.ratio), "p", c.p, "verdict",
                                verdicts[c.verdict]);
    }
    core_context_give(context);
    free(before);
    free(after);
    return out;
}

/* ---- ceilings and benchmarks */
static PyObject *ceilings(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"again", "seconds", NULL};
    (void)module;
    PyObject *given[2], *out = NULL;
    eg_ceilings_options o = {.size = sizeof o, .cached = 1};
    if (core_arguments("ceilings", names, 0, given, args, count, keywords) ||
        (given[1] && core_number(given[1], "seconds", &o.seconds)))
        return NULL;
    const int again = given[0] ? PyObject_IsTrue(given[0]) : 0;
    core_context *context = again < 0 ? NULL : core_context_take();
    if (!context) return NULL;
    o.cached = !again;
    eg_ceilings c;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_ceilings_measure(context->context, &o, &c, &error);
    Py_END_ALLOW_THREADS;
    core_context_give(context);
    if (status) return core_raise(&error);
    out = PyDict_New();
#define ADD(name, unit, text) \
    if (out && core_add(out, #name, core_metric(&c.name))) Py_CLEAR(out);
    EG_CEILING_MAP(ADD)
#undef ADD
    return out;
}

static PyObject *bench_dictionary(const eg_bench_result *r) {
    return Py_BuildValue("{s:N,s:N,s:d,s:K,s:d,s:d,s:I}", "best", core_metric(&r->best), "median",
                         core_metric(&r->median), "best_seconds", r->best_seconds, "repetitions",
                         r->repetitions, "flops", r->flops, "bytes", r->bytes, "threads",
                         r->threads);
}

static PyObject *bench_copy(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    static const char *const names[] = {"bytes", "iterations", NULL};
    (void)module;
    PyObject *given[2];
    uint64_t bytes = 0, iterations = 0;
    if (core_arguments("bench_copy", names, 0, given, args, count, keywords) ||
        (given[0] && core_count(given[0], "bytes", &bytes)) ||
        (given[1] && core_count(given[1], "iterations", &iterations)))
        return NULL;
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_bench_result r;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_bench_copy(context->context, bytes, iterations, &r, &error);
    Py_END_ALLOW_THREADS;
    core_context_give(context);
    return status ? core_raise(&error) : bench_dictionary(&r);
}

static PyObject *bench_gemm(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    static const char *const names[] = {"m", "n", "k", "iterations", NULL};
    (void)module;
    PyObject *given[4];
    uint64_t size[3], iterations = 0;
    if (core_arguments("bench_gemm", names, 3, given, args, count, keywords) ||
        core_count(given[0], "m", &size[0]) || core_count(given[1], "n", &size[1]) ||
        core_count(given[2], "k", &size[2]) ||
        (given[3] && core_count(given[3], "iterations", &iterations)))
        return NULL;
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_bench_result r;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status =
        eg_bench_gemm(context->context, EG_F32, size[0], size[1], size[2], iterations, &r, &error);
    Py_END_ALLOW_THREADS;
    core_context_give(context);
    return status ? core_raise(&error) : bench_dictionary(&r);
}

/* Every step of a stream timed by itself. */
static PyObject *latency(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    static const char *const names[] = {"model", "steps", NULL};
    (void)module;
    PyObject *given[2];
    uint64_t steps = 0;
    if (core_arguments("latency", names, 1, given, args, count, keywords)) return NULL;
    eg_model *model = core_model_of(given[0], "model");
    if (!model || (given[1] && core_count(given[1], "steps", &steps))) return NULL;
    eg_bench_latency_result r;
    eg_error error;
    eg_status status;
    core_model_begin(given[0]);
    Py_BEGIN_ALLOW_THREADS;
    status = eg_bench_latency(model, steps, &r, &error);
    Py_END_ALLOW_THREADS;
    core_model_end(given[0]);
    if (status) return core_raise(&error);
    PyObject *out = Py_BuildValue("{s:K}", "steps", r.steps);
    const struct {
        const char *name;
        const eg_metric *metric;
    } figures[] = {{"p50", &r.p50},   {"p90", &r.p90},
                   {"p99", &r.p99},   {"p99_9", &r.p99_9},
                   {"min", &r.least}, {"max", &r.most},
                   {"mean", &r.mean}, {"clock_overhead", &r.clock_overhead}};
    for (size_t i = 0; out && i < sizeof figures / sizeof *figures; i++)
        if (core_add(out, figures[i].name, core_metric(figures[i].metric))) Py_CLEAR(out);
    return out;
}

/* ---- environment and diagnosis */
static PyObject *fact(const eg_fact *f) {
    return Py_BuildValue("(zszz)", f->provenance == EG_UNAVAILABLE ? NULL : f->text,
                         eg_provenance_name(f->provenance), NULL, f->source);
}

static PyObject *environment(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_environment e;
    eg_error error;
    const eg_status status = eg_environment_read(context->context, NULL, &e, &error);
    core_context_give(context);
    if (status) return core_raise(&error);
    PyObject *out = Py_BuildValue("{s:s}", "fingerprint", e.fingerprint);
#define FACT(name, text) \
    if (out && core_add(out, #name, fact(&e.name))) Py_CLEAR(out);
#define METRIC(name, text) \
    if (out && core_add(out, #name, core_metric(&e.name))) Py_CLEAR(out);
    EG_ENVIRONMENT_FACT_MAP(FACT)
    EG_ENVIRONMENT_METRIC_MAP(METRIC)
#undef FACT
#undef METRIC
    return out;
}

static PyObject *items(const eg_diagnosis *d, size_t from, size_t to) {
    PyObject *out = PyList_New(0);
    for (size_t i = from; out && i < to; i++) {
        const eg_diagnosis_item *item = &d->item[i];
        PyObject *row =
            Py_BuildValue("{s:s,s:s,s:s,s:s,s:s}", "name", item->name, "health",
                          eg_health_name(item->health), "text", item->text, "advice", item->advice,
                          "provenance", eg_provenance_name(item->provenance));
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static PyObject *diagnose(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"profile", NULL};
    (void)module;
    PyObject *given[1];
    const eg_profile *profile = NULL;
    if (core_arguments("diagnose", names, 0, given, args, count, keywords) ||
        (given[0] && !(profile = core_profile_of(given[0], "profile"))))
        return NULL;
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_environment e;
    eg_diagnosis d;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_environment_read(context->context, NULL, &e, &error);
    if (!status) eg_diagnose(&e, eg_context_chip(context->context), profile, &d);
    Py_END_ALLOW_THREADS;
    core_context_give(context);
    if (status) return core_raise(&error);
    return Py_BuildValue("{s:N,s:N}", "findings", items(&d, 0, d.findings), "checklist",
                         items(&d, d.findings, d.count));
}

static PyObject *times_svg(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    static const char *const names[] = {"title", "seconds", NULL};
    (void)module;
    PyObject *given[2], *out = NULL;
    const char *title;
    size_t times;
    if (core_arguments("times_svg", names, 2, given, args, count, keywords)) return NULL;
    PyObject *text = core_text(given[0], "title", &title);
    double *seconds = text ? core_doubles(given[1], "seconds", &times) : NULL;
    core_context *context = seconds ? core_context_take() : NULL;
    eg_report *report;
    eg_error error;
    if (context) {
        if (eg_report_of_times(context->context, title, seconds, times, &report, &error))
            core_raise(&error);
        else {
            out = PyUnicode_FromString(eg_report_text(report, NULL));
            eg_report_destroy(report);
        }
    }
    core_context_give(context);
    free(seconds);
    Py_XDECREF(text);
    return out;
}

PyMethodDef core_machine_functions[] = {
    {"statistics", statistics, METH_O,
     "statistics(samples)\n--\n\nStatistics of times, with 95 % intervals as (value, low, high)."},
    {"compare", CORE_FASTCALL(compare), METH_FASTCALL | METH_KEYWORDS,
     "compare(old, new, alpha=0.01, effect=0.03, resamples=2000, seed=0)\n--\n\n"
     "Whether new times are faster, slower or the same as old ones."},
    {"ceilings", CORE_FASTCALL(ceilings), METH_FASTCALL | METH_KEYWORDS,
     "ceilings(again=False, seconds=1.5)\n--\n\nWhat this machine can do; measured once, then stored."},
    {"bench_copy", CORE_FASTCALL(bench_copy), METH_FASTCALL | METH_KEYWORDS,
     "bench_copy(bytes=0, iterations=0)\n--\n\nMemory bandwidth: copies, reading and writing counted."},
    {"bench_gemm", CORE_FASTCALL(bench_gemm), METH_FASTCALL | METH_KEYWORDS,
     "bench_gemm(m, n, k, iterations=0)\n--\n\nCompute throughput: products of float32."},
    {"latency", CORE_FASTCALL(latency), METH_FASTCALL | METH_KEYWORDS,
     "latency(model, steps=1000000)\n--\n\nEvery step of a stream timed by itself."},
    {"environment", environment, METH_NOARGS,
     "environment()\n--\n\nWhat affects times besides the program."},
    {"diagnose", CORE_FASTCALL(diagnose), METH_FASTCALL | METH_KEYWORDS,
     "diagnose(profile=None)\n--\n\nWhat slows programs down on this machine, and a checklist."},
    {"times_svg", CORE_FASTCALL(times_svg), METH_FASTCALL | METH_KEYWORDS,
     "times_svg(title, seconds)\n--\n\nA picture of times, the newest first."},
    {NULL, NULL, 0, NULL}};
