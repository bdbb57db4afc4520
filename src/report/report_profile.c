/* The document of a profile: every figure with unit, provenance and source. What is not known is null. */
#include "profile/profile.h"
#include "report/report.h"

#include <math.h>

void eg__report_put_text(eg__json *json, const char *key, const char *text) {
    if (text && text[0]) eg__json_put_shown(json, key, text);
    else eg__json_put_null(json, key);
}

void eg__report_put_number(eg__json *json, const char *key, double value) {
    if (isfinite(value)) eg__json_put_number(json, key, value);
    else eg__json_put_null(json, key);
}

static void put_metric(eg__json *json, const char *key, const eg_metric *metric) {
    const bool known = metric->provenance != EG_UNAVAILABLE;
    const bool whole = metric->provenance == EG_COUNTED && fabs(metric->value) < 9e15 &&
                       metric->value == floor(metric->value);
    eg__json_open_object(json, key);
    if (!known) eg__json_put_null(json, "value");
    else if (whole) eg__json_put_integer(json, "value", (int64_t)metric->value);
    else eg__report_put_number(json, "value", metric->value);
    eg__report_put_text(json, "unit", metric->unit);
    eg__report_put_text(json, "provenance", eg_provenance_name(metric->provenance));
    eg__report_put_text(json, known ? "source" : "reason", metric->source);
    eg__json_close(json);
}

/* ---- what the analysis says */
static void put_findings(eg__json *json, const char *key, const eg_analysis *analysis,
                         eg_finding_kind kind) {
    const eg_finding *f;
    eg__json_open_list(json, key);
    for (size_t i = 0; (f = eg_analysis_finding(analysis, kind, i)); i++) {
        eg__json_open_object(json, NULL);
        eg__report_put_text(json, "rule", f->rule);
        eg__report_put_text(json, "text", f->text);
        eg__report_put_text(json, "action", f->action);
        eg__report_put_text(json, "reason", f->reason);
        eg__report_put_number(json, "gain_seconds", f->gain);
        if (kind >= EG_RECOMMENDATION) {
            eg__report_put_number(json, "measured_seconds", f->measured);
            eg__report_put_text(json, "untried", f->untried);
        }
        eg__json_close(json);
    }
    eg__json_close(json);
}

static void put_ratios(eg__json *json, const eg_analysis *analysis) {
    const eg_ratio *r;
    eg__json_open_list(json, "ratios");
    for (size_t i = 0; (r = eg_analysis_ratio(analysis, i)); i++) {
        eg__json_open_object(json, NULL);
        eg__report_put_text(json, "name", r->name);
        eg__report_put_text(json, "text", r->text);
        put_metric(json, "value", &r->value);
        put_metric(json, "limit", &r->limit);
        put_metric(json, "ratio", &r->ratio);
        eg__report_put_text(json, "fires_when", r->above ? "above" : "below");
        eg__report_put_number(json, "threshold", r->threshold);
        eg__json_put_flag(json, "fires", r->fires);
        eg__report_put_text(json, "verdict", r->verdict);
        eg__report_put_text(json, "reason", r->reason);
        eg__json_close(json);
    }
    eg__json_close(json);
}

/* ---- the machine, and what it can do */
static void put_machine(eg__json *json, const eg_profile *profile) {
    const eg_context *context = profile->context;
    const eg_chip *chip = eg_context_chip(context);
    eg__json_open_object(json, "machine");
    eg__report_put_text(json, "chip", chip->name);
    eg__report_put_text(json, "system", chip->system);
    eg__report_put_text(json, "arch", chip->arch);
    eg__json_put_count(json, "cores", chip->cores);
    eg__json_put_count(json, "threads", eg_context_threads(context));
    eg__report_put_text(json, "isa", eg_context_isa(context));
    eg__report_put_text(json, "elegans", eg_version());
    eg__report_put_text(json, "fingerprint", chip->fingerprint);
    eg__report_put_text(json, "power", profile->power.text);
    eg__report_put_text(json, "governor", profile->governor.text);
    eg__report_put_text(json, "build", profile->build.text);
    eg__json_close(json);
}

static void put_hardware(eg__json *json, const eg_profile *profile) {
    eg_hardware h;
    eg_profile_hardware(profile, &h);
    eg__json_open_object(json, "hardware");
#define PUT(name, unit, text) put_metric(json, #name, &h.name);
    EG_HARDWARE_MAP(PUT)
#undef PUT
    eg__json_close(json);
}

static void put_ceilings(eg__json *json, const eg_ceilings *c) {
    eg__json_open_object(json, "ceilings");
#define PUT(name, unit, text) put_metric(json, #name, &c->name);
    EG_CEILING_MAP(PUT)
#undef PUT
    eg__json_close(json);
}

/* ---- figures and times */
static void put_metrics(eg__json *json, const eg_profile *profile) {
    eg__json_open_object(json, "metrics");
    for (int i = 0; i < EG_PROFILE_METRICS; i++) {
        const eg_metric metric = eg_profile_metric(profile, (eg_profile_metric_id)i);
        put_metric(json, eg_profile_metric_name((eg_profile_metric_id)i), &metric);
    }
    eg__json_close(json);
    if (eg_profile_operand_level(profile))
        eg__report_put_text(json, "operand_level", eg_profile_operand_level(profile));
}

static void put_interval(eg__json *json, const char *key, const eg_interval *interval) {
    eg__json_open_object(json, key);
    eg__report_put_number(json, "value", interval->value);
    eg__report_put_number(json, "low", interval->low);
    eg__report_put_number(json, "high", interval->high);
    eg__json_close(json);
}

static void put_time(eg__json *json, const eg_profile *profile) {
    eg_statistics s;
    char noise[EG_NOISE_TEXT];
    const double *samples;
    const size_t count = eg_profile_samples(profile, &samples);
    eg_profile_time(profile, &s);
    eg__json_open_object(json, "time");
    eg__report_put_text(json, "unit", "s");
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_MEASURED));
    eg__json_put_count(json, "runs", s.count);
    put_interval(json, "mean", &s.mean);
    put_interval(json, "p50", &s.p50);
    put_interval(json, "p90", &s.p90);
    put_interval(json, "p99", &s.p99);
    eg__report_put_number(json, "min", s.least);
    eg__report_put_number(json, "max", s.most);
    eg__report_put_number(json, "std", s.deviation);
    eg__json_put_flag(json, "noisy", eg_statistics_noise(&s, noise) != EG_NOISE_NONE);
    eg__report_put_text(json, "noise", noise);
    eg__report_put_text(json, "rates_are_over", "p50");
    eg__json_open_list(json, "samples");
    for (size_t i = 0; i < count; i++) eg__report_put_number(json, NULL, samples[i]);
    eg__json_close(json);
    eg__json_close(json);
}

/* ---- compute: rows of operations and of steps */
static void put_row(eg__json *json, const eg_profile_row *row) {
    eg__json_open_object(json, NULL);
    eg__report_put_text(json, "operation", row->operation);
    eg__report_put_text(json, "kernel", row->kernel);
    eg__report_put_text(json, "shape", row->shape);
    eg__report_put_text(json, "does", row->text);
    eg__json_put_count(json, "step", row->step);
    eg__json_put_flag(json, "in_scan", row->inside);
    eg__json_put_count(json, "calls", row->calls);
    eg__report_put_number(json, "seconds", row->seconds);
    eg__report_put_number(json, "share", row->share);
    eg__report_put_number(json, "flops", row->flops);
    eg__report_put_number(json, "bytes", row->bytes);
    eg__report_put_number(json, "intensity", row->intensity);
    eg__report_put_number(json, "gflops", row->gflops);
    eg__report_put_number(json, "gbps", row->gbps);
    eg__report_put_number(json, "l2_bytes", row->level_bytes[1]);
    eg__report_put_number(json, "l3_bytes", row->level_bytes[2]);
    eg__report_put_number(json, "dram_bytes", row->level_bytes[3]);
    eg__report_put_number(json, "roof", row->roof);
    eg__report_put_number(json, "roof_share", row->roof_share);
    eg__report_put_text(json, "bound", row->bound);
    eg__json_put_count(json, "live", row->live);
    eg__report_put_number(json, "joules", row->joules);
    eg__json_close(json);
}

static void put_rows(eg__json *json, const char *key, const eg_profile *profile,
                     const eg_profile_row *(*at)(const eg_profile *, size_t)) {
    const eg_profile_row *row;
    eg__json_open_list(json, key);
    for (size_t i = 0; (row = at(profile, i)); i++) put_row(json, row);
    eg__json_close(json);
}

/* ---- memory: while it runs, phase by phase, step by step */
static void put_memory(eg__json *json, const eg_profile *profile) {
    eg__json_open_object(json, "memory_in_runs");
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        if (eg_profile_run_tag(profile, (eg_tag)tag))
            eg__json_put_count(json, eg_tag_name((eg_tag)tag),
                               eg_profile_run_tag(profile, (eg_tag)tag));
    eg__json_close(json);
}

static void put_phases(eg__json *json, const eg_profile *profile) {
    const eg_profile_moment *m;
    eg__json_open_object(json, "memory_over_time");
    eg__report_put_text(json, "unit", "B");
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_COUNTED));
    eg__report_put_text(json, "seconds_provenance", eg_provenance_name(EG_MEASURED));
    eg__json_open_list(json, "moments");
    for (size_t i = 0; (m = eg_profile_memory(profile, i)); i++) {
        eg__json_open_object(json, NULL);
        eg__report_put_text(json, "phase", eg_profile_phase_name(m->phase));
        eg__report_put_text(json, "does", eg_profile_phase_text(m->phase));
        eg__report_put_number(json, "seconds", m->seconds);
        eg__json_put_count(json, "held", m->held);
        eg__json_put_count(json, "peak", m->peak);
        eg__json_put_count(json, "resident", m->resident);
        eg__json_open_object(json, "by_tag");
        for (int tag = 0; tag < EG_TAG_COUNT; tag++)
            eg__json_put_count(json, eg_tag_name((eg_tag)tag), m->by_tag[tag]);
        eg__json_close(json);
        eg__json_close(json);
    }
    eg__json_close(json);
    eg__json_close(json);
}

static void put_arena(eg__json *json, const eg_profile *profile) {
    const eg_profile_row *row;
    eg_program_info info = {.size = sizeof info};
    if (!eg_profile_program(profile)) return; /* a callback */
    eg_program_info_get(eg_profile_program(profile), &info);
    eg__json_open_object(json, "arena");
    eg__report_put_text(json, "unit", "B");
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_COUNTED));
    eg__report_put_text(json, "source", "lifetimes of values in the plan");
    eg__json_put_count(json, "planned", info.arena_bytes);
    eg__json_put_count(json, "most", info.arena_bound_bytes);
    eg__json_open_list(json, "steps");
    for (size_t i = 0; (row = eg_profile_in_run(profile, i)); i++) {
        eg__json_open_object(json, NULL);
        eg__json_put_count(json, "step", row->step);
        eg__report_put_text(json, "operation", row->operation);
        eg__report_put_text(json, "kernel", row->kernel);
        eg__report_put_text(json, "shape", row->shape);
        eg__json_put_flag(json, "in_scan", row->inside);
        eg__json_put_count(json, "calls", row->calls);
        eg__json_put_count(json, "live", row->live);
        eg__json_close(json);
    }
    eg__json_close(json);
    eg__json_close(json);
}

/* ---- other chips */
static void put_device(eg__json *json, const eg_report_device *d) {
    const eg_unit_projection *u = &d->projection.unit[d->projection.best];
    eg__json_open_object(json, NULL);
    eg__report_put_text(json, "name", d->name);
    eg__report_put_text(json, "best_unit", eg_unit_name(d->projection.best));
    eg__report_put_number(json, "seconds", u->seconds.value);
    eg__report_put_number(json, "low", u->low);
    eg__report_put_number(json, "high", u->high);
    eg__report_put_number(json, "tflops", u->tflops.value);
    eg__report_put_number(json, "gbps", u->bandwidth.value);
    eg__report_put_number(json, "memory_gbps", u->memory_bandwidth.value);
    eg__report_put_number(json, "utilization", u->utilization.value);
    eg__report_put_number(json, "compute_share", u->compute);
    eg__report_put_number(json, "memory_share", u->memory);
    eg__report_put_number(json, "overhead_share", u->overhead);
    eg__report_put_text(json, "condition", u->condition);
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_MODELLED));
    eg__report_put_text(json, "compute_check", eg_check_name(d->compute.check));
    eg__report_put_text(json, "compute_text", d->compute.text);
    eg__report_put_text(json, "bandwidth_check", eg_check_name(d->bandwidth.check));
    eg__report_put_text(json, "bandwidth_text", d->bandwidth.text);
    eg__json_close(json);
}

void eg__report_document(eg__json *json, const eg_profile *profile, const eg_analysis *analysis,
                         const eg_report_options *options) {
    const eg_profile_options *o = eg_profile_options_of(profile);
    const unsigned parts =
        options->parts ? options->parts : EG_REPORT_COMPUTE | EG_REPORT_MEMORY | EG_REPORT_HARDWARE;
    eg__json_open_object(json, NULL);
    eg__json_put_count(json, "elegans_profile", 1);
    eg__report_put_text(json, "model", eg_profile_name(profile));
    eg__json_put_count(json, "batch", o->batch ? o->batch : 1);
    eg__json_put_count(json, "seq", o->seq ? o->seq : 1);
    eg__json_put_flag(json, "compiled", !o->no_compile);
    if (o->activations) eg__report_put_text(json, "activations", eg_type_name(o->activations));
    eg__report_put_text(json, "verdict", eg_analysis_verdict(analysis));
    put_ratios(json, analysis);
    put_findings(json, "bottlenecks", analysis, EG_BOTTLENECK);
    put_findings(json, "opportunities", analysis, EG_OPPORTUNITY);
    put_findings(json, "recommendations", analysis, EG_RECOMMENDATION);
    put_findings(json, "tried", analysis, EG_TRIED);
    eg__json_put_integer(json, "measured_at", profile->measured_at);
    put_machine(json, profile);
    put_metrics(json, profile);
    put_time(json, profile);
    if (parts & EG_REPORT_COMPUTE) {
        put_rows(json, "operations", profile, eg_profile_operation);
        put_rows(json, "steps", profile, eg_profile_step);
    }
    if (parts & EG_REPORT_MEMORY) {
        put_memory(json, profile);
        put_phases(json, profile);
        put_arena(json, profile);
    }
    if (parts & EG_REPORT_HARDWARE) put_hardware(json, profile);
    if (eg_profile_ceilings(profile)) put_ceilings(json, eg_profile_ceilings(profile));
    if (options->device_count) eg__json_open_list(json, "devices");
    for (size_t i = 0; i < options->device_count; i++) put_device(json, &options->devices[i]);
    if (options->device_count) eg__json_close(json);
    eg__json_close(json);
}
