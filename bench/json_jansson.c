/* The results as JSON, for machines. */
#include "peers.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *machine_json(const bench *b) {
    peer_versions versions = {.count = 0};
    json_t *peers = json_object();
    if (!b->options.no_peers) peers_versions(&versions);
    for (size_t i = 0; i < versions.count; i++)
        json_object_set_new(peers, versions.list[i].name, json_string(versions.list[i].text));
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:f, s:s, s:o}", "name", b->chip.name,
                     "system", b->chip.system, "arch", b->chip.arch, "hypervisor",
                     b->chip.hypervisor, "cores", (int)b->chip.cores, "fingerprint",
                     b->chip.fingerprint, "isa", b->kernels.isa, "load", b->load, "version",
                     eg_version(), "peers", peers);
}

/* Absent rather than 0 where there is no such figure. */
static void set_known(json_t *to, const char *name, double value) {
    if (value > 0) json_object_set_new(to, name, json_real(value));
}

static void set_errors(json_t *to, const result *r) {
    if (!(r->ours.ulp > 0)) return;
    json_t *errors = json_pack("{s:f}", "ours", r->ours.ulp);
    for (unsigned i = 0; i < r->peer_count; i++)
        json_object_set_new(errors, r->peers[i].name, json_real(r->peers[i].ulp));
    json_object_set_new(to, "ulp", errors);
}

static void set_others(json_t *to, const result *r) {
    json_t *others = json_object();
    for (unsigned i = 0; i < r->other_count; i++)
        json_object_set_new(
            others, r->others[i].name,
            json_pack("{s:f, s:f}", "value", r->others[i].value, "speedup", r->speedup[i]));
    if (r->other_count) json_object_set(to, "ours_otherwise", others);
    json_decref(others);
}

static json_t *result_json(const group *g, const result *r) {
    json_t *peers = json_object();
    for (unsigned i = 0; i < r->peer_count; i++)
        json_object_set_new(peers, r->peers[i].name, json_real(r->peers[i].value));
    json_t *out = json_pack("{s:s, s:s, s:s, s:f, s:o}", "case", r->title, "group", g->name, "unit",
                            g->unit, "ours", r->ours.value, "peers", peers);
    if (r->peer_count) {
        const entry *best = &r->peers[r->best];
        json_object_set_new(out, "best_peer", json_string(best->name));
        json_object_set_new(out, "best_variant", json_string(best->variant));
    }
    set_known(out, "ratio", r->ratio);
    set_known(out, "ratio_low", r->low);
    set_known(out, "ratio_high", r->high);
    set_known(out, "limit", r->limit);
    set_known(out, "share_of_peak", r->share);
    set_known(out, "peak", r->peak);
    set_others(out, r);
    set_errors(out, r);
    return out;
}

static json_t *report_make(const bench *b) {
    json_t *results = json_array(), *geomean = json_object(), *minimum = json_object(),
           *limit = json_object();
    const double peak = bench_peak(b);
    for (size_t i = 0; i < b->count; i++)
        json_array_append_new(results, result_json(b->result_group[i], &b->results[i]));
    for (size_t i = 0; i < bench_group_count; i++) {
        size_t count;
        const result *first = bench_results_of(b, &bench_groups[i], &count);
        group_figures f;
        group_figures_make(&f, first, count);
        set_known(geomean, bench_groups[i].name, f.geomean);
        set_known(minimum, bench_groups[i].name, f.minimum);
        set_known(limit, bench_groups[i].name, f.limit);
    }
    json_t *out = json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "machine", machine_json(b), "rounds",
                            (int)b->pace.rounds, "results", results, "geomean", geomean, "minimum",
                            minimum, "limit", limit);
    if (peak > 0) json_object_set_new(out, "peak_gflops", json_real(peak));
    return out;
}

/* Beside, then renamed: nobody reads half a file. */
void report_json(const bench *b, const char *path) {
    char beside[4096];
    json_t *report = report_make(b);
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        bench_fail("path too long '%s'", path);
    if (!report || json_dump_file(report, beside, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0 ||
        rename(beside, path) != 0) {
        remove(beside);
        bench_fail("cannot write '%s'", path);
    }
    json_decref(report);
}
