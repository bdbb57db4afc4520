/* The table of chips: what they have, how to run on them, what a run should reach there, and what a model would take. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows: NaN, 0 and "" stand for blanks of the table, which are None here */
static PyObject *number_or_none(double value) {
    if (value > 0 || value < 0) return PyFloat_FromDouble(value);
    Py_RETURN_NONE;
}

static PyObject *text_or_none(const char *text) {
    if (text[0]) return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    Py_RETURN_NONE;
}

static PyObject *row_dictionary(const eg_chip_row *r) {
    PyObject *out = PyDict_New();
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"year", r->year},
                   {"fast_cores", r->fast_cores},
                   {"slow_cores", r->slow_cores},
                   {"fast_mhz", r->fast_mhz},
                   {"slow_mhz", r->slow_mhz},
                   {"slc_mb", r->slc_mb},
                   {"gpu_cores", r->gpu_cores},
                   {"gpu_tflops", r->gpu_tflops},
                   {"ane_cores", r->ane_cores},
                   {"ane_tops", r->ane_tops},
                   {"ane_fp16_tflops", r->ane_fp16_tflops},
                   {"memory_gbs", r->memory_gbs},
                   {"memory_max_gb", r->memory_max_gb},
                   {"fast_core_gflops", r->fast_core_gflops},
                   {"package_watts", r->package_watts}};
    const struct {
        const char *name, *value;
    } texts[] = {{"name", r->name},
                 {"soc", r->soc},
                 {"process", r->process},
                 {"fast_name", r->fast_name},
                 {"slow_name", r->slow_name},
                 {"memory_type", r->memory_type},
                 {"matrix_unit", r->matrix_unit},
                 {"power_source", r->power_source},
                 {"notes", r->notes},
                 {"confidence", r->confidence},
                 {"sources", r->sources}};
    for (size_t i = 0; out && i < sizeof texts / sizeof *texts; i++)
        if (core_add(out, texts[i].name, text_or_none(texts[i].value))) Py_CLEAR(out);
    for (size_t i = 0; out && i < sizeof numbers / sizeof *numbers; i++)
        if (core_add(out, numbers[i].name, number_or_none(numbers[i].value))) Py_CLEAR(out);
    return out;
}

static PyObject *chips(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    PyObject *out = PyList_New(0);
    eg_chip_row row;
    eg_error error;
    for (size_t i = 0; out && i < eg_chip_table_size(); i++) {
        PyObject *item = NULL;
        if (eg_chip_table_get(i, &row, &error)) core_raise(&error);
        else item = row_dictionary(&row);
        if (!item || PyList_Append(out, item)) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

static int find_row(PyObject *object, eg_chip_row *out) {
    const char *name;
    PyObject *text = core_text(object, "chip", &name);
    eg_error error;
    if (!text) return -1;
    const eg_status status = eg_chip_table_find(name, out, &error);
    Py_DECREF(text);
    if (!status) return 0;
    if (status == EG_ERR_NOT_FOUND) PyErr_SetString(PyExc_KeyError, error.message);
    else core_raise(&error);
    return -1;
}

static PyObject *chip(PyObject *module, PyObject *argument) {
    (void)module;
    eg_chip_row row;
    return find_row(argument, &row) ? NULL : row_dictionary(&row);
}

/* ---- presets: of a chip of the table, or of this machine */
typedef struct place {
    core_context *context;
    eg_chip_row row;
    eg_ceilings ceilings;
    eg_preset preset;
    int is_host, has_ceilings;
} place;

static int find_place(PyObject *chip_name, place *p) {
    eg_error error;
    eg_status status;
    *p = (place){.is_host = !chip_name, .context = core_context_take()};
    if (!p->context || (chip_name && find_row(chip_name, &p->row))) return -1;
    if (p->is_host) {
        const eg_ceilings_options how = {.size = sizeof how, .cached = 1};
        Py_BEGIN_ALLOW_THREADS;
        p->has_ceilings = !eg_ceilings_measure(p->context->context, &how, &p->ceilings, &error);
        Py_END_ALLOW_THREADS;
        status = eg_preset_host(eg_context_chip(p->context->context),
                                p->has_ceilings ? &p->ceilings : NULL, &p->preset, &error);
    } else status = eg_preset_of(&p->row, &p->preset, &error);
    if (status) core_raise(&error);
    return status ? -1 : 0;
}

static eg_status requirement(const place *p, eg_requirement_kind need, eg_requirement *out,
                             eg_metric *ceiling, eg_error *error) {
    if (p->is_host)
        return eg_requirement_host(eg_context_chip(p->context->context),
                                   p->has_ceilings ? &p->ceilings : NULL, need, out, ceiling,
                                   error);
    *ceiling = eg_chip_ceiling(&p->row, need);
    return eg_requirement_of(p->preset.tier, need, out, error);
}

static PyObject *requirements(const place *p) {
    PyObject *out = PyList_New(0);
    for (int need = 0; out && need <= EG_REQUIREMENT_MEMORY; need++) {
        eg_requirement r;
        eg_metric ceiling;
        eg_error error;
        PyObject *row =
            requirement(p, (eg_requirement_kind)need, &r, &ceiling, &error)
                ? Py_BuildValue("{s:O,s:s}", "name", Py_None, "reason", error.message)
                : Py_BuildValue("{s:s,s:s,s:d,s:d,s:N}", "name", r.name, "unit", r.unit, "minimum",
                                r.minimum, "target", r.target, "ceiling", core_metric(&ceiling));
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static PyObject *preset(PyObject *module, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords) {
    static const char *const names[] = {"chip", NULL};
    (void)module;
    PyObject *given[1], *out = NULL;
    place p;
    if (core_arguments("preset", names, 0, given, args, count, keywords)) return NULL;
    if (!find_place(given[0], &p)) {
        const eg_preset *s = &p.preset;
        out = Py_BuildValue(
            "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:K,s:I,s:I,s:d,s:O,s:O,s:N,s:s,s:N}", "chip", s->chip,
            "tier", eg_chip_tier_name(s->tier), "provenance", eg_provenance_name(s->provenance),
            "rule", s->rule ? s->rule : "", "batch", s->batch, "batch_low", s->batch_low,
            "batch_high", s->batch_high, "memory_budget", s->memory_budget, "backbone_units",
            s->backbone_units, "backbone_layers", s->backbone_layers, "dropout", s->dropout,
            "neural_engine", s->neural_engine ? Py_True : Py_False, "compiled",
            s->compiled ? Py_True : Py_False, "power", core_metric(&s->power), "power_note",
            s->power_note, "requirements", requirements(&p));
    }
    core_context_give(p.context);
    return out;
}

/* A figure of a run beside what is required of it: the name of the result, and its figures. */
static PyObject *check(PyObject *module, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    static const char *const names[] = {"need",   "value",    "unit", "chip",
                                        "amount", "overhead", NULL};
    static const char *const needs[] = {"compute", "bandwidth", "memory"};
    static const char *const units[] = {"TFLOP/s", "GB/s", "MB", "GFLOP/s", "bytes"};
    (void)module;
    PyObject *given[6], *out = NULL;
    int need = -1, unit = -1;
    double amount = 0, overhead = 0;
    eg_metric value = {.provenance = EG_MEASURED};
    if (core_arguments("check", names, 3, given, args, count, keywords) ||
        core_number(given[1], "value", &value.value) ||
        (given[4] && core_number(given[4], "amount", &amount)) ||
        (given[5] && core_number(given[5], "overhead", &overhead)))
        return NULL;
    for (int i = 0; PyUnicode_Check(given[0]) && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(given[0], needs[i]) == 0) need = i;
    for (int i = 0; PyUnicode_Check(given[2]) && i < 5; i++)
        if (PyUnicode_CompareWithASCIIString(given[2], units[i]) == 0) unit = i;
    if (need < 0 || unit < 0)
        return PyErr_Format(PyExc_ValueError, "need: 'compute', 'bandwidth' or 'memory'; unit: "
                                              "'TFLOP/s', 'GFLOP/s', 'GB/s', 'MB' or 'bytes'");
    value.unit = units[unit];
    if (isnan(value.value)) value.provenance = EG_UNAVAILABLE;
    place p;
    eg_requirement r;
    eg_metric ceiling;
    eg_requirement_result result;
    eg_error error;
    if (!find_place(given[3], &p)) {
        eg_status status = requirement(&p, (eg_requirement_kind)need, &r, &ceiling, &error);
        if (!status && given[4] && need != EG_REQUIREMENT_MEMORY)
            status =
                eg_requirement_check_run(&value, &r, &ceiling, amount, overhead, &result, &error);
        else if (!status) status = eg_requirement_check(&value, &r, &ceiling, &result, &error);
        if (status) core_raise(&error);
        else out = Py_BuildValue("(ss)", eg_check_name(result.check), result.text);
    }
    core_context_give(p.context);
    return out;
}

/* ---- projections */
static void check_run(const eg_metric *value, const eg_chip_row *row, eg_chip_tier tier,
                      eg_requirement_kind need, double amount, double overhead,
                      eg_requirement_result *out) {
    eg_requirement r;
    const eg_metric ceiling = eg_chip_ceiling(row, need);
    if (eg_requirement_of(tier, need, &r, NULL) ||
        eg_requirement_check_run(value, &r, &ceiling, amount, overhead, out, NULL))
        *out = (eg_requirement_result){0};
}

static eg_status project_one(const eg_projector *projector, uint64_t batch, const eg_chip_row *row,
                             eg_report_device *out, eg_error *error) {
    eg_preset chosen;
    eg_projection *p = &out->projection;
    memcpy(out->name, row->name, sizeof row->name);
    eg_status status = eg_projector_project(projector, batch, row, NULL, p, error);
    if (!status) status = eg_preset_of(row, &chosen, error);
    if (status) return status;
    const eg_unit_projection *best = &p->unit[p->best];
    check_run(&best->tflops, row, chosen.tier, EG_REQUIREMENT_COMPUTE, p->flops, p->start,
              &out->compute);
    check_run(&best->memory_bandwidth, row, chosen.tier, EG_REQUIREMENT_BANDWIDTH,
              best->memory_bandwidth.value * 1e9 * best->seconds.value, p->start, &out->bandwidth);
    return EG_OK;
}

/* The rows that were asked for, in new memory. */
static eg_chip_row *take_rows(PyObject *asked, size_t *count) {
    const int is_text = PyUnicode_Check(asked);
    const int is_all = is_text && PyUnicode_CompareWithASCIIString(asked, "all") == 0;
    PyObject *list = is_text ? Py_BuildValue("[O]", asked) : PySequence_List(asked);
    if (!list) return NULL;
    *count = is_all ? eg_chip_table_size() : (size_t)PyList_Size(list);
    eg_chip_row *rows = calloc(*count + 1, sizeof *rows);
    int failed = !rows;
    if (failed) PyErr_NoMemory();
    for (size_t i = 0; i < *count && !failed; i++)
        failed = is_all ? eg_chip_table_get(i, &rows[i], NULL) != EG_OK
                        : find_row(PyList_GetItem(list, (Py_ssize_t)i), &rows[i]);
    Py_DECREF(list);
    if (!failed) return rows;
    free(rows);
    return NULL;
}

eg_report_device *core_devices(eg_model *model, const eg_profile_options *options, PyObject *asked,
                               size_t *count) {
    eg_chip_row *rows = take_rows(asked, count);
    if (!rows) return NULL;
    eg_report_device *devices = calloc(*count + 1, sizeof *devices);
    eg_projector *projector = NULL;
    eg_error error = {EG_ERR_MEMORY, "out of memory"};
    eg_status status = devices ? EG_OK : EG_ERR_MEMORY;
    Py_BEGIN_ALLOW_THREADS;
    if (!status) status = eg_projector_create(model, options, &projector, &error);
    for (size_t i = 0; i < *count && !status; i++)
        status = project_one(projector, options->batch ? options->batch : 1, &rows[i], &devices[i],
                             &error);
    eg_projector_destroy(projector);
    Py_END_ALLOW_THREADS;
    free(rows);
    if (!status) return devices;
    free(devices);
    return (eg_report_device *)core_raise(&error);
}

static PyObject *unit_dictionary(const eg_unit_projection *u) {
    return Py_BuildValue("{s:N,s:d,s:d,s:N,s:N,s:N,s:N,s:d,s:d,s:d,s:z}", "seconds",
                         core_metric(&u->seconds), "low", u->low, "high", u->high, "tflops",
                         core_metric(&u->tflops), "operand_rate", core_metric(&u->bandwidth),
                         "bandwidth", core_metric(&u->memory_bandwidth), "utilization",
                         core_metric(&u->utilization), "compute", u->compute, "memory", u->memory,
                         "overhead", u->overhead, "condition", u->condition);
}

static PyObject *device_dictionary(const eg_report_device *d) {
    PyObject *units = PyDict_New();
    const eg_projection *p = &d->projection;
    for (int i = 0; units && i < EG_UNIT_COUNT; i++)
        if (core_add(units, eg_unit_name((eg_unit)i), unit_dictionary(&p->unit[i])))
            Py_CLEAR(units);
    return units ? Py_BuildValue("{s:s,s:I,s:d,s:d,s:d,s:s,s:N,s:(ss),s:(ss)}", "chip", d->name,
                                 "threads", p->threads, "flops", p->flops, "bytes", p->bytes,
                                 "start", p->start, "best", eg_unit_name(p->best), "units", units,
                                 "compute", eg_check_name(d->compute.check), d->compute.text,
                                 "bandwidth", eg_check_name(d->bandwidth.check), d->bandwidth.text)
                 : NULL;
}

static PyObject *project(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    static const char *const names[] = {"model", "chips", "batch", "seq", NULL};
    (void)module;
    PyObject *given[4];
    eg_profile_options o = {.size = sizeof o};
    size_t devices = 0;
    if (core_arguments("project", names, 2, given, args, count, keywords)) return NULL;
    eg_model *model = core_model_of(given[0], "model");
    if (!model || (given[2] && core_count(given[2], "batch", &o.batch)) ||
        (given[3] && core_count(given[3], "seq", &o.seq)))
        return NULL;
    core_model_begin(given[0]);
    eg_report_device *list = core_devices(model, &o, given[1], &devices);
    core_model_end(given[0]);
    PyObject *out = list ? PyList_New(0) : NULL;
    for (size_t i = 0; out && i < devices; i++) {
        PyObject *item = device_dictionary(&list[i]);
        if (!item || PyList_Append(out, item)) Py_CLEAR(out);
        Py_XDECREF(item);
    }
    free(list);
    return out;
}

PyMethodDef core_chip_functions[] = {
    {"chips", chips, METH_NOARGS, "chips()\n--\n\nThe table of known chips; blanks are None."},
    {"chip", chip, METH_O, "chip(name)\n--\n\nA row of that table, by any name that it has."},
    {"preset", CORE_FASTCALL(preset), METH_FASTCALL | METH_KEYWORDS,
     "preset(chip=None)\n--\n\nHow to run on a chip, or here, and what a run should reach."},
    {"check", CORE_FASTCALL(check), METH_FASTCALL | METH_KEYWORDS,
     "check(need, value, unit, chip=None, amount=None, overhead=0)\n--\n\n"
     "(result, figures) of a run beside the requirement of a chip, or of this machine."},
    {"project", CORE_FASTCALL(project), METH_FASTCALL | METH_KEYWORDS,
     "project(model, chips, batch=1, seq=1)\n--\n\nWhat a model would take on other chips; modelled."},
    {NULL, NULL, 0, NULL}};
