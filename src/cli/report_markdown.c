/* A report as Markdown, for issues and reviews. */
#include "report.h"

#include <math.h>
#include <string.h>

typedef struct listing {
    const report *report;
    const char *of;
} listing;

static bool write_metric(void *user, const char *key, json *metric) {
    const listing *l = user;
    char value[64];
    const char *provenance = json_text(metric, "provenance");
    const bool known = strcmp(provenance, "unavailable") != 0;
    fprintf(l->report->file, "| %s | %s | %s | %s |\n", key,
            known ? report_value(value, metric) : "", provenance,
            json_text(metric, known ? "source" : "reason"));
    return true;
}

static void write_metrics(const report *r, const char *key, const char *title) {
    listing l = {r, key};
    fprintf(r->file, "\n## %s\n\n| figure | value | provenance | source |\n|---|---|---|---|\n",
            title);
    json_each(json_get(r->run, key), write_metric, &l);
}

static void write_findings(const report *r, const char *key, const char *title) {
    const json *list = json_get(r->run, key);
    if (json_length(list)) fprintf(r->file, "\n## %s\n\n", title);
    for (size_t i = 0; i < json_length(list); i++) {
        const json *f = json_item(list, i);
        const char *action = json_text(f, "action");
        fprintf(r->file, "- %s%s%s\n", json_text(f, "text"), action[0] ? ": " : "", action);
    }
}

static void write_memory(const report *r) {
    const json *moments = json_get(json_get(r->run, "memory_over_time"), "moments");
    if (!json_length(moments)) return;
    fprintf(r->file,
            "\n## Memory over time\n\nBytes are counted, times are measured.\n\n| end of | at "
            "| held | most in it |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < json_length(moments); i++) {
        const json *m = json_item(moments, i);
        const double held = json_number(m, "held"), peak = json_number(m, "peak");
        char at[32], a[32], b[32];
        fprintf(r->file, "| %s | %s | %s | %s |\n", json_text(m, "phase"),
                format_seconds(at, json_number(m, "seconds")),
                format_bytes(a, held > 0 ? (uint64_t)held : 0),
                format_bytes(b, peak > 0 ? (uint64_t)peak : 0));
    }
}

static void write_devices(const report *r) {
    const json *devices = json_get(r->run, "devices");
    if (!json_length(devices)) return;
    fprintf(r->file,
            "\n## On other chips\n\n| chip | unit | time | likely | TFLOP/s | GB/s | of peak | "
            "provenance |\n|---|---|---:|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < json_length(devices); i++) {
        const json *d = json_item(devices, i);
        char time[32], low[32], high[32];
        fprintf(r->file, "| %s | %s | %s | %s to %s | %.3g | %.3g | %.2g %% | %s |\n",
                json_text(d, "name"), json_text(d, "best_unit"),
                format_seconds(time, json_number(d, "seconds")),
                format_seconds(low, json_number(d, "low")),
                format_seconds(high, json_number(d, "high")), json_number(d, "tflops"),
                json_number(d, "gbps"), 100 * json_number(d, "utilization"),
                json_text(d, "provenance"));
    }
}

void report_markdown(const report *r) {
    const json *operations = json_get(r->run, "operations"), *time = json_get(r->run, "time");
    static const char *const names[] = {"mean", "p50", "p90", "p99"};
    char text[32];
    fprintf(r->file,
            "# %s\n\nbatch %.0f, %.0f steps, %s, %s\n\n**%s**\n\n| run | time |\n|---|---|\n",
            json_text(r->run, "model"), json_number(r->run, "batch"), json_number(r->run, "seq"),
            json_flag(r->run, "compiled") ? "compiled" : "not compiled",
            json_text(json_get(r->run, "machine"), "chip"), json_text(r->run, "verdict"));
    for (int i = 0; i < 4; i++)
        fprintf(r->file, "| %s | %s |\n", names[i],
                format_seconds(text, json_number(json_get(time, names[i]), "value")));
    fprintf(
        r->file,
        "\n## Operations\n\n| operation | shape | calls | time | share | GFLOP/s | GB/s | of roof | "
        "bound |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < json_length(operations); i++) {
        const json *row = json_item(operations, i);
        const double roof = json_number(row, "roof_share");
        char share[16] = "-";
        if (isfinite(roof)) snprintf(share, sizeof share, "%.0f %%", 100 * roof);
        fprintf(r->file, "| %s %s | %s | %.0f | %s | %.1f %% | %.1f | %.1f | %s | %s |\n",
                json_text(row, "operation"), json_text(row, "kernel"), json_text(row, "shape"),
                json_number(row, "calls"), format_seconds(text, json_number(row, "seconds")),
                100 * json_number(row, "share"), json_number(row, "gflops"),
                json_number(row, "gbps"), share, json_text(row, "bound"));
    }
    write_metrics(r, "metrics", "Figures");
    write_memory(r);
    write_metrics(r, "hardware", "Hardware");
    write_devices(r);
    if (r->basic) return;
    report_ratios_markdown(r);
    write_findings(r, "bottlenecks", "Bottlenecks");
    write_findings(r, "opportunities", "Optimization opportunities");
    write_findings(r, "recommendations", "Recommendations");
}
