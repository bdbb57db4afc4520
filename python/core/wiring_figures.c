/* What a wiring has, for its profile: synapses, statistics, a picture. */
#include "profile.h"

static PyObject *degree(const eg_wiring_degree *d) {
    return Py_BuildValue("(IId)", d->least, d->most, d->mean);
}

static PyObject *matrix(const eg_wiring *wiring, uint64_t sources, uint64_t units,
                        int (*synapse)(const eg_wiring *, uint32_t, uint32_t)) {
    core_view view;
    PyObject *out = core_array(&view, EG_I32, 2, (const uint64_t[]){sources, units});
    if (!out) return NULL;
    int32_t *at = view.tensor.data;
    for (uint64_t s = 0; s < sources; s++)
        for (uint64_t d = 0; d < units; d++) *at++ = synapse(wiring, (uint32_t)s, (uint32_t)d);
    core_view_give(&view);
    return out;
}

static PyObject *figures(const eg_wiring *wiring, const eg_wiring_statistics *s,
                         const eg_report *picture) {
    eg_wiring_info i = {.size = sizeof i};
    eg_wiring_info_get(wiring, &i);
    PyObject *out = Py_BuildValue(
        "{s:s,s:I,s:I,s:I,s:K,s:K,s:K,s:K,s:d,s:d,s:N,s:N,s:I,s:I,s:I,s:K,s:d,s:I,s:s}", "kind",
        i.kind, "units", i.units, "inputs", i.inputs, "outputs", i.outputs, "synapses", s->synapses,
        "excitatory", s->excitatory, "inhibitory", s->inhibitory, "sensory_synapses",
        s->sensory_synapses, "density", s->density, "sensory_density", s->sensory_density, "in",
        degree(&s->in), "out", degree(&s->out), "components", s->components, "largest_component",
        s->largest_component, "unreached", s->unreached, "pairs", s->pairs, "path_mean",
        s->path_mean, "path_longest", s->path_longest, "svg", eg_report_text(picture, NULL));
    if (out &&
        (core_add(out, "adjacency", matrix(wiring, i.units, i.units, eg_wiring_synapse)) ||
         core_add(out, "sensory_adjacency", matrix(wiring, i.inputs, i.units, eg_wiring_sensory))))
        Py_CLEAR(out);
    return out;
}

static PyObject *wiring_figures(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"spec", "title", NULL};
    (void)module;
    PyObject *given[2], *out = NULL, *title = NULL;
    const char *what, *name = "";
    if (core_arguments("wiring_figures", names, 1, given, args, count, keywords)) return NULL;
    PyObject *spec = core_path(given[0], "spec", &what);
    if (!spec) return NULL;
    core_context *context = NULL;
    if (!given[1] || (title = core_text(given[1], "title", &name))) context = core_context_take();
    eg_wiring *wiring = NULL;
    eg_report *picture = NULL;
    eg_wiring_statistics statistics;
    eg_error error;
    if (context) {
        if (eg_wiring_create(context->context, what, &wiring, &error) ||
            eg_wiring_statistics_get(wiring, &statistics, &error) ||
            eg_report_of_wiring(wiring, name, &picture, &error))
            core_raise_path(&error, what);
        else out = figures(wiring, &statistics, picture);
    }
    eg_report_destroy(picture);
    eg_wiring_destroy(wiring);
    core_context_give(context);
    Py_XDECREF(title);
    Py_DECREF(spec);
    return out;
}

PyMethodDef core_wiring_functions[] = {
    {"wiring_figures", CORE_FASTCALL(wiring_figures), METH_FASTCALL | METH_KEYWORDS,
     "wiring_figures(spec, title='')\n--\n\nSynapses, statistics and a picture of a wiring."},
    {NULL, NULL, 0, NULL}};
