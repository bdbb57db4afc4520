/* A profile as JSON: every figure with unit, provenance and source. */
#include "cli/commands/profile.h"

static void put_interval(json *object, const char *key, const eg_interval *interval) {
    json *value = json_new_object();
    json_put_number(value, "value", interval->value);
    json_put_number(value, "low", interval->low);
    json_put_number(value, "high", interval->high);
    json_put(object, key, value);
}

json *times_json(const eg_statistics *s) {
    char noise[EG_NOISE_TEXT];
    json *object = json_new_object();
    json_put_text(object, "unit", "s");
    json_put_text(object, "provenance", eg_provenance_name(EG_MEASURED));
    json_put_count(object, "runs", s->count);
    put_interval(object, "mean", &s->mean);
    put_interval(object, "p50", &s->p50);
    put_interval(object, "p90", &s->p90);
    put_interval(object, "p99", &s->p99);
    json_put_number(object, "min", s->least);
    json_put_number(object, "max", s->most);
    json_put_number(object, "std", s->deviation);
    json_put_flag(object, "noisy", eg_statistics_noise(s, noise) != EG_NOISE_NONE);
    json_put_text(object, "noise", noise);
    json_put_text(object, "rates_are_over", "p50");
    return object;
}

static json *time_json(const eg_profile *profile) {
    eg_statistics s;
    const double *samples;
    const size_t count = eg_profile_samples(profile, &samples);
    eg_profile_time(profile, &s);
    json *object = times_json(&s), *list = json_new_list();
    for (size_t i = 0; i < count; i++) json_append_number(list, samples[i]);
    json_put(object, "samples", list);
    return object;
}

static json *row_json(const eg_profile_row *row) {
    json *object = json_new_object();
    json_put_text(object, "operation", row->operation);
    json_put_text(object, "kernel", row->kernel);
    json_put_text(object, "shape", row->shape);
    json_put_text(object, "does", row->text);
    json_put_count(object, "step", row->step);
    json_put_flag(object, "in_scan", row->inside);
    json_put_count(object, "calls", row->calls);
    json_put_number(object, "seconds", row->seconds);
    json_put_number(object, "share", row->share);
    json_put_number(object, "flops", row->flops);
    json_put_number(object, "bytes", row->bytes);
    json_put_number(object, "intensity", row->intensity);
    json_put_number(object, "gflops", row->gflops);
    json_put_number(object, "gbps", row->gbps);
    json_put_number(object, "l2_bytes", row->level_bytes[1]);
    json_put_number(object, "l3_bytes", row->level_bytes[2]);
    json_put_number(object, "dram_bytes", row->level_bytes[3]);
    json_put_number(object, "roof", row->roof);
    json_put_number(object, "roof_share", row->roof_share);
    json_put_text(object, "bound", row->bound);
    json_put_count(object, "live", row->live);
    return object;
}

static json *rows_json(const eg_profile *profile,
                       const eg_profile_row *(*at)(const eg_profile *, size_t)) {
    json *list = json_new_list();
    const eg_profile_row *row;
    for (size_t i = 0; (row = at(profile, i)); i++) json_append(list, row_json(row));
    return list;
}

static json *hardware_json(const eg_profile *profile) {
    eg_hardware h;
    json *object = json_new_object();
    eg_profile_hardware(profile, &h);
#define PUT(name, unit, text) json_put_metric(object, #name, &h.name);
    EG_HARDWARE_MAP(PUT)
#undef PUT
    return object;
}

static json *ceilings_json(const eg_ceilings *c) {
    json *object = json_new_object();
#define PUT(name, unit, text) json_put_metric(object, #name, &c->name);
    EG_CEILING_MAP(PUT)
#undef PUT
    return object;
}

static json *memory_json(const eg_profile *profile) {
    json *object = json_new_object();
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        if (eg_profile_run_tag(profile, (eg_tag)tag))
            json_put_count(object, eg_tag_name((eg_tag)tag),
                           eg_profile_run_tag(profile, (eg_tag)tag));
    return object;
}

static json *machine_json(eg_context *context) {
    json *object = json_new_object();
    const eg_chip *chip = eg_context_chip(context);
    json_put_text(object, "chip", chip->name);
    json_put_text(object, "system", chip->system);
    json_put_text(object, "arch", chip->arch);
    json_put_count(object, "cores", chip->cores);
    json_put_count(object, "threads", eg_context_threads(context));
    json_put_text(object, "isa", eg_context_isa(context));
    json_put_text(object, "elegans", eg_version());
    json_put_text(object, "fingerprint", chip->fingerprint);
    return object;
}

static json *findings_json(const eg_analysis *analysis, eg_finding_kind kind) {
    json *list = json_new_list();
    const eg_finding *f;
    for (size_t i = 0; (f = eg_analysis_finding(analysis, kind, i)); i++) {
        json *object = json_new_object();
        json_put_text(object, "rule", f->rule);
        json_put_text(object, "text", f->text);
        json_put_text(object, "action", f->action);
        json_put_text(object, "reason", f->reason);
        json_put_number(object, "gain_seconds", f->gain);
        if (kind >= EG_RECOMMENDATION) {
            json_put_number(object, "measured_seconds", f->measured);
            json_put_text(object, "untried", f->untried);
        }
        json_append(list, object);
    }
    return list;
}

static json *ratios_json(const eg_analysis *analysis) {
    json *list = json_new_list();
    const eg_ratio *r;
    for (size_t i = 0; (r = eg_analysis_ratio(analysis, i)); i++) {
        json *object = json_new_object();
        json_put_text(object, "name", r->name);
        json_put_text(object, "text", r->text);
        json_put_metric(object, "value", &r->value);
        json_put_metric(object, "limit", &r->limit);
        json_put_metric(object, "ratio", &r->ratio);
        json_put_text(object, "fires_when", r->above ? "above" : "below");
        json_put_number(object, "threshold", r->threshold);
        json_put_flag(object, "fires", r->fires);
        json_put_text(object, "verdict", r->verdict);
        json_put_text(object, "reason", r->reason);
        json_append(list, object);
    }
    return list;
}

json *profile_json(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                   unsigned parts) {
    json *document = json_new_object(), *metrics = json_new_object();
    const eg_profile_options *o = eg_profile_options_of(profile);
    json_put_count(document, "elegans_profile", 1);
    json_put_text(document, "model", eg_profile_name(profile));
    json_put_count(document, "batch", o->batch ? o->batch : 1);
    json_put_count(document, "seq", o->seq ? o->seq : 1);
    json_put_flag(document, "compiled", !o->no_compile);
    json_put_text(document, "verdict", eg_analysis_verdict(analysis));
    json_put(document, "ratios", ratios_json(analysis));
    json_put(document, "bottlenecks", findings_json(analysis, EG_BOTTLENECK));
    json_put(document, "opportunities", findings_json(analysis, EG_OPPORTUNITY));
    json_put(document, "recommendations", findings_json(analysis, EG_RECOMMENDATION));
    json_put(document, "tried", findings_json(analysis, EG_TRIED));
    json_put(document, "machine", machine_json(context));
    for (int i = 0; i < EG_PROFILE_METRICS; i++) {
        const eg_metric metric = eg_profile_metric(profile, (eg_profile_metric_id)i);
        json_put_metric(metrics, eg_profile_metric_name((eg_profile_metric_id)i), &metric);
    }
    json_put(document, "metrics", metrics);
    if (eg_profile_operand_level(profile))
        json_put_text(document, "operand_level", eg_profile_operand_level(profile));
    json_put(document, "time", time_json(profile));
    if (parts & PART_COMPUTE) {
        json_put(document, "operations", rows_json(profile, eg_profile_operation));
        json_put(document, "steps", rows_json(profile, eg_profile_step));
    }
    if (parts & PART_MEMORY) {
        json_put(document, "memory_in_runs", memory_json(profile));
        json_put(document, "memory_over_time", memory_phases_json(profile));
        json_put(document, "arena", memory_arena_json(profile));
    }
    if (parts & PART_HARDWARE) json_put(document, "hardware", hardware_json(profile));
    if (eg_profile_ceilings(profile))
        json_put(document, "ceilings", ceilings_json(eg_profile_ceilings(profile)));
    return document;
}
