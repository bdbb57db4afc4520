/* The results as JSON, for machines. */
#include "peers.h"
#include "formats/files/file.h"
#include "formats/files/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_machine(eg__json *to, const bench *b) {
    peer_versions versions = {.count = 0};
    eg__json_open_object(to, "machine");
    eg__json_put_text(to, "name", b->chip.name);
    eg__json_put_text(to, "system", b->chip.system);
    eg__json_put_text(to, "arch", b->chip.arch);
    eg__json_put_text(to, "hypervisor", b->chip.hypervisor);
    eg__json_put_count(to, "cores", b->chip.cores);
    eg__json_put_text(to, "fingerprint", b->chip.fingerprint);
    eg__json_put_text(to, "isa", b->kernels.isa);
    eg__json_put_number(to, "load", b->load);
    eg__json_put_text(to, "version", eg_version());
    eg__json_open_object(to, "peers");
    if (!b->options.no_peers) peers_versions(&versions);
    for (size_t i = 0; i < versions.count; i++)
        eg__json_put_text(to, versions.list[i].name, versions.list[i].text);
    eg__json_close(to);
    eg__json_close(to);
}

/* Absent rather than 0 where there is no such figure. */
static void put_known(eg__json *to, const char *name, double value) {
    if (value > 0) eg__json_put_number(to, name, value);
}

static void put_errors(eg__json *to, const result *r) {
    if (!(r->ours.ulp > 0)) return;
    eg__json_open_object(to, "ulp");
    eg__json_put_number(to, "ours", r->ours.ulp);
    for (unsigned i = 0; i < r->peer_count; i++)
        eg__json_put_number(to, r->peers[i].name, r->peers[i].ulp);
    eg__json_close(to);
}

static void put_others(eg__json *to, const result *r) {
    if (!r->other_count) return;
    eg__json_open_object(to, "ours_otherwise");
    for (unsigned i = 0; i < r->other_count; i++) {
        eg__json_open_object(to, r->others[i].name);
        eg__json_put_number(to, "value", r->others[i].value);
        eg__json_put_number(to, "speedup", r->speedup[i]);
        eg__json_close(to);
    }
    eg__json_close(to);
}

static void put_result(eg__json *to, const group *g, const result *r) {
    eg__json_open_object(to, NULL);
    eg__json_put_text(to, "case", r->title);
    eg__json_put_text(to, "group", g->name);
    eg__json_put_text(to, "unit", g->unit);
    eg__json_put_number(to, "ours", r->ours.value);
    eg__json_open_object(to, "peers");
    for (unsigned i = 0; i < r->peer_count; i++)
        eg__json_put_number(to, r->peers[i].name, r->peers[i].value);
    eg__json_close(to);
    if (r->peer_count) {
        const entry *best = &r->peers[r->best];
        eg__json_put_text(to, "best_peer", best->name);
        eg__json_put_text(to, "best_variant", best->variant);
    }
    put_known(to, "ratio", r->ratio);
    put_known(to, "ratio_low", r->low);
    put_known(to, "ratio_high", r->high);
    put_known(to, "limit", r->limit);
    put_known(to, "share_of_peak", r->share);
    put_known(to, "peak", r->peak);
    put_others(to, r);
    put_errors(to, r);
    eg__json_close(to);
}

static double geomean_of(const group_figures *f) { return f->geomean; }
static double minimum_of(const group_figures *f) { return f->minimum; }
static double limit_of(const group_figures *f) { return f->limit; }

static void put_groups(eg__json *to, const bench *b, const char *key,
                       double (*figure)(const group_figures *)) {
    eg__json_open_object(to, key);
    for (size_t i = 0; i < bench_group_count; i++) {
        size_t count;
        const result *first = bench_results_of(b, &bench_groups[i], &count);
        group_figures f;
        group_figures_make(&f, first, count);
        put_known(to, bench_groups[i].name, figure(&f));
    }
    eg__json_close(to);
}

static void put_report(eg__json *to, const bench *b) {
    eg__json_open_object(to, NULL);
    put_machine(to, b);
    eg__json_put_count(to, "rounds", b->pace.rounds);
    eg__json_open_list(to, "results");
    for (size_t i = 0; i < b->count; i++) put_result(to, b->result_group[i], &b->results[i]);
    eg__json_close(to);
    put_groups(to, b, "geomean", geomean_of);
    put_groups(to, b, "minimum", minimum_of);
    put_groups(to, b, "limit", limit_of);
    put_known(to, "peak_gflops", bench_peak(b));
    eg__json_close(to);
}

void report_json(const bench *b, const char *path) {
    eg__json json;
    char *text;
    size_t length;
    eg_error error = {0};
    eg__writer *writer = eg__memory_take(b->memory, EG_TAG_FILE, sizeof *writer, &error);
    eg__json_begin(&json, b->memory);
    put_report(&json, b);
    eg_status status = eg__json_end(&json, &text, &length, &error);
    if (!status && !writer) status = EG_ERR_MEMORY;
    if (!status) status = eg__writer_begin(writer, path, &error);
    if (!status) {
        status = eg__writer_append(writer, text, length, &error);
        if (!status) status = eg__writer_append(writer, "\n", 1, &error);
        status = eg__writer_end(writer, status, &error);
    }
    if (status) bench_fail("%s", error.message);
    eg__memory_give(b->memory, text);
    eg__memory_give(b->memory, writer);
}
