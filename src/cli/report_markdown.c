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
    write_metrics(r, "hardware", "Hardware");
    if (r->basic) return;
    report_ratios_markdown(r);
    write_findings(r, "bottlenecks", "Bottlenecks");
    write_findings(r, "opportunities", "Optimization opportunities");
    write_findings(r, "recommendations", "Recommendations");
}
