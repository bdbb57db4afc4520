/* A report as Markdown, for issues and reviews. */
#include "cli/report/report.h"

#include <math.h>
#include <string.h>

enum { CELL = 600 };
/* Text as text of Markdown: one line, in one cell of a table. */
static const char *plain(char out[CELL], const char *text) {
    size_t used = 0;
    for (; *text && used + 8 < CELL; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte == 0x7f)
            used += (size_t)snprintf(out + used, CELL - used, "\\\\x%02x", (unsigned)byte);
        else {
            if (strchr("\\`*<|[", *text)) out[used++] = '\\';
            out[used++] = *text;
        }
    }
    out[used] = 0;
    return out;
}

void report_row(const report *r, size_t count, const char *const cells[]) {
    char text[CELL];
    fputc('|', r->file);
    for (size_t i = 0; i < count; i++) fprintf(r->file, " %s |", plain(text, cells[i]));
    fputc('\n', r->file);
}

typedef struct listing {
    const report *report;
    const char *of;
} listing;

static bool write_metric(void *user, const char *key, json *metric) {
    const listing *l = user;
    char value[64];
    const char *provenance = json_text(metric, "provenance");
    const bool known = strcmp(provenance, "unavailable") != 0;
    const char *const cells[] = {key, known ? report_value(value, metric) : "", provenance,
                                 json_text(metric, known ? "source" : "reason")};
    report_row(l->report, 4, cells);
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
        char what[CELL], how[CELL];
        fprintf(r->file, "- %s%s%s\n", plain(what, json_text(f, "text")), action[0] ? ": " : "",
                plain(how, action));
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
        const char *const cells[] = {json_text(m, "phase"),
                                     format_seconds(at, json_number(m, "seconds")),
                                     format_bytes(a, held > 0 ? (uint64_t)held : 0),
                                     format_bytes(b, peak > 0 ? (uint64_t)peak : 0)};
        report_row(r, 4, cells);
    }
}

static void write_devices(const report *r) {
    const json *devices = json_get(r->run, "devices");
    if (!json_length(devices)) return;
    fprintf(
        r->file,
        "\n## On other chips\n\n| chip | unit | time | likely | TFLOP/s | operand GB/s | of peak | "
        "provenance |\n|---|---|---:|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < json_length(devices); i++) {
        const json *d = json_item(devices, i);
        char time[32], low[32], high[32], range[80], rates[3][32];
        snprintf(range, sizeof range, "%s to %s", format_seconds(low, json_number(d, "low")),
                 format_seconds(high, json_number(d, "high")));
        snprintf(rates[0], sizeof rates[0], "%.3g", json_number(d, "tflops"));
        snprintf(rates[1], sizeof rates[1], "%.3g", json_number(d, "gbps"));
        snprintf(rates[2], sizeof rates[2], "%.2g %%", 100 * json_number(d, "utilization"));
        const char *const cells[] = {json_text(d, "name"),
                                     json_text(d, "best_unit"),
                                     format_seconds(time, json_number(d, "seconds")),
                                     range,
                                     rates[0],
                                     rates[1],
                                     rates[2],
                                     json_text(d, "provenance")};
        report_row(r, 8, cells);
    }
}

static void write_operations(const report *r) {
    const json *operations = json_get(r->run, "operations");
    char text[32];
    fprintf(
        r->file,
        "\n## Operations\n\n| operation | shape | calls | time | share | GFLOP/s | operand GB/s | of roof | "
        "bound |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < json_length(operations); i++) {
        const json *row = json_item(operations, i);
        const double roof = json_number(row, "roof_share");
        char name[CELL], calls[32], share[32], rates[2][32], roofs[32] = "-";
        snprintf(name, sizeof name, "%s %s", json_text(row, "operation"), json_text(row, "kernel"));
        snprintf(calls, sizeof calls, "%.0f", json_number(row, "calls"));
        snprintf(share, sizeof share, "%.1f %%", 100 * json_number(row, "share"));
        snprintf(rates[0], sizeof rates[0], "%.1f", json_number(row, "gflops"));
        snprintf(rates[1], sizeof rates[1], "%.1f", json_number(row, "gbps"));
        if (isfinite(roof)) snprintf(roofs, sizeof roofs, "%.0f %%", 100 * roof);
        const char *const cells[] = {name,
                                     json_text(row, "shape"),
                                     calls,
                                     format_seconds(text, json_number(row, "seconds")),
                                     share,
                                     rates[0],
                                     rates[1],
                                     roofs,
                                     json_text(row, "bound")};
        report_row(r, 9, cells);
    }
}

void report_markdown(const report *r) {
    const json *time = json_get(r->run, "time");
    static const char *const names[] = {"p50", "mean", "p90", "p99"};
    char text[32], model[CELL], chip[CELL], verdict[CELL];
    fprintf(r->file,
            "# %s\n\nbatch %.0f, %.0f step%s, %s, %s\n\n**%s**\n\n| run | time |\n|---|---|\n",
            plain(model, json_text(r->run, "model")), json_number(r->run, "batch"),
            json_number(r->run, "seq"), json_number(r->run, "seq") > 1 ? "s" : "",
            json_flag(r->run, "compiled") ? "compiled" : "not compiled",
            plain(chip, json_text(json_get(r->run, "machine"), "chip")),
            plain(verdict, json_text(r->run, "verdict")));
    for (int i = 0; i < 4; i++)
        fprintf(r->file, "| %s | %s |\n", names[i],
                format_seconds(text, json_number(json_get(time, names[i]), "value")));
    write_operations(r);
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
