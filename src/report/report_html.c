/* A report as one page of HTML that needs nothing else: verdict first, raw data last. */
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_text(FILE *file, const char *text) {
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc(*text, file);
        }
}

const char *report_value(char out[64], const json *metric) {
    const double value = json_number(metric, "value");
    const char *unit = json_text(metric, "unit");
    char text[32];
    if (!isfinite(value)) snprintf(out, 64, "unavailable");
    else if (strcmp(unit, "ratio") == 0) snprintf(out, 64, "%.1f %%", 100 * value);
    else if (strcmp(unit, "s") == 0) snprintf(out, 64, "%s", format_seconds(text, value));
    else if (strcmp(unit, "B") == 0)
        snprintf(out, 64, "%s", format_bytes(text, value > 0 ? (uint64_t)value : 0));
    else if (fabs(value) >= 1e4 && fabs(value) < 1e9) snprintf(out, 64, "%.0f %s", value, unit);
    else snprintf(out, 64, "%.4g %s", value, unit);
    return out;
}

static const char style[] =
    ":root{--back:#fff;--text:#1a1a1a;--dim:#5f6368;--line:#ddd;--card:#f6f7f9;--track:#eceef1;"
    "--blue:#2166ac;--red:#b2182b;--green:#1b7837;--grey:#7d8590;--faint:#c3c9d1;--c0:#2166ac;"
    "--c1:#d98c00;--c2:#1b7837;--c3:#8e4ec6;--c4:#00838f;--c5:#c2185b;--c6:#6d4c41;--c7:#9e9d24;"
    "--c8:#5c6bc0;--c9:#757575}"
    "@media(prefers-color-scheme:dark){:root{--back:#141414;--text:#e6e6e6;--dim:#9aa0a6;"
    "--line:#333;--card:#1e1e1e;--track:#262626;--blue:#6baed6;--red:#f4a582;--green:#7fbf7b;"
    "--grey:#8b949e;--faint:#4a4f57;--c0:#6baed6;--c1:#e8b04a;--c2:#7fbf7b;--c3:#b794e6;"
    "--c4:#4db6ac;--c5:#f06292;--c6:#bcaaa4;--c7:#d4d15c;--c8:#9fa8da;--c9:#9e9e9e}}"
    "*{box-sizing:border-box}body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,"
    "sans-serif;margin:0 auto;max-width:960px;padding:24px 16px 60px;overflow-wrap:anywhere}"
    "h1{font-size:22px;margin:0}h2{font-size:17px;margin:36px 0 8px;border-bottom:1px solid "
    "var(--line);padding-bottom:4px}h3{font-size:14px;font-weight:600;margin:22px 0 4px}"
    ".small,.dim{color:var(--dim);font-size:13px}.verdict{background:var(--card);border-left:4px "
    "solid var(--blue);padding:14px 18px;margin:18px 0;font-size:17px;border-radius:4px}"
    ".grid-of{display:grid;grid-template-columns:repeat(auto-fill,minmax(165px,1fr));gap:10px}"
    ".figure{background:var(--card);padding:10px 12px;border-radius:4px}.figure b{display:block;"
    "font-size:16px;font-weight:600}.figure .none{font-size:13px;font-weight:400;color:var(--dim)}"
    ".mark{font-size:11px;border:1px solid var(--line);border-radius:8px;padding:0 6px;color:"
    "var(--dim)}.mark.measured{color:var(--blue)}.mark.counted{color:var(--green)}"
    ".mark.unavailable{color:var(--red)}.wide{overflow-x:auto;margin:8px 0}table{border-collapse:collapse;"
    "width:100%;font-size:13px;overflow-wrap:normal}th,td{text-align:right;padding:3px 8px;"
    "border-bottom:1px solid var(--line);white-space:nowrap}th:first-child,td:first-child,"
    "th:nth-child(2),td:nth-child(2),td:last-child,th:last-child{text-align:left}th{color:var(--dim);"
    "font-weight:500}svg{display:block;width:100%;font:12px system-ui,sans-serif}svg text{fill:"
    "var(--text)}svg .small{fill:var(--dim);font-size:12px}.grid{stroke:var(--line)}.roof{stroke:"
    "var(--red);stroke-width:1.5}.range{stroke:var(--text)}svg .name{paint-order:stroke;stroke:"
    "var(--back);stroke-width:4px}.dot{fill:var(--blue);fill-opacity:.6;"
    "stroke:var(--back)}.track{fill:var(--track)}.bar{fill:var(--blue)}.bar.second{fill:var(--green)}"
    ".bar.third{fill:var(--grey)}.faint{fill:var(--faint)}.key{display:inline-block;margin-right:14px}"
    ".key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}"
    "i.faint{background:var(--faint)}li{margin:6px 0}";

/* One colour each, in pictures and in what explains them. */
static void write_style(FILE *file) {
    fprintf(file, "<style>%s", style);
    for (int i = 0; i < 10; i++)
        fprintf(file, ".tag%d{fill:var(--c%d)}i.tag%d{background:var(--c%d)}", i, i, i, i);
    fprintf(file, "</style>");
}

/* ---- figures */
static void write_figure(FILE *file, const char *name, const json *metric) {
    char value[64];
    const char *provenance = json_text(metric, "provenance");
    const bool known = strcmp(provenance, "unavailable") != 0;
    fprintf(file, "<div class=\"figure\"><span class=\"dim\">");
    for (const char *c = name; *c; c++) fputc(*c == '_' ? ' ' : *c, file);
    if (known) {
        fprintf(file, "</span><b>");
        report_text(file, report_value(value, metric));
        fprintf(file, "</b>");
    } else {
        fprintf(file, "</span><b class=\"none\">");
        report_text(file, json_text(metric, "reason"));
        fprintf(file, "</b>");
    }
    fprintf(file, "<span class=\"mark ");
    report_text(file, provenance);
    fprintf(file, "\" title=\"");
    report_text(file, json_text(metric, known ? "source" : "reason"));
    fprintf(file, "\">");
    report_text(file, provenance);
    fprintf(file, "</span></div>\n");
}

static void write_figures(const report *r, const char *key, const char *const *names) {
    const json *metrics = json_get(r->run, key);
    fprintf(r->file, "<div class=\"grid-of\">\n");
    for (; *names; names++) {
        const json *metric = json_get(metrics, *names);
        if (metric) write_figure(r->file, *names, metric);
    }
    fprintf(r->file, "</div>\n");
}

/* ---- time */
static void write_times(const report *r) {
    static const char *const names[] = {"p50", "mean", "p90", "p99"};
    const json *time = json_get(r->run, "time");
    fprintf(r->file, "<div class=\"wide\"><table><tr><th>run</th><th></th><th>value</th><th>95 %% "
                     "from</th><th>to</th></tr>\n");
    for (int i = 0; i < 4; i++) {
        const json *interval = json_get(time, names[i]);
        const double all[] = {json_number(interval, "value"), json_number(interval, "low"),
                              json_number(interval, "high")};
        fprintf(r->file, "<tr><td>%s</td><td><span class=\"mark measured\">measured</span></td>",
                names[i]);
        for (int k = 0; k < 3; k++) {
            char text[32];
            fprintf(r->file, "<td>%s</td>", isfinite(all[k]) ? format_seconds(text, all[k]) : "-");
        }
        fprintf(r->file, "</tr>\n");
    }
    fprintf(r->file, "</table></div>\n");
}

static void write_cell(FILE *file, const char *format, double value) {
    fputs("<td>", file);
    if (isfinite(value)) fprintf(file, format, value);
    else fputc('-', file);
    fputs("</td>", file);
}

static void write_text_cell(FILE *file, const char *text) {
    fputs("<td>", file);
    report_text(file, text);
    fputs("</td>", file);
}

static void write_operations(const report *r) {
    const json *operations = json_get(r->run, "operations");
    FILE *f = r->file;
    double sum = 0;
    fprintf(
        f,
        "<div class=\"wide\"><table><tr><th>operation</th><th>shape</th><th>calls</th><th>time"
        "</th><th>share</th><th>sum</th><th>FLOP</th><th>bytes</th><th>FLOP/B</th><th>GFLOP/s</th>"
        "<th>operand GB/s</th><th>of roof</th><th>bound</th></tr>\n");
    for (size_t i = 0; i < json_length(operations); i++) {
        const json *row = json_item(operations, i);
        char time[32];
        sum += json_number(row, "share");
        fprintf(f, "<tr title=\"");
        report_text(f, json_text(row, "does"));
        char name[160];
        snprintf(name, sizeof name, "%s%s %s", json_flag(row, "in_scan") ? ". " : "",
                 json_text(row, "operation"), json_text(row, "kernel"));
        fprintf(f, "\">");
        write_text_cell(f, name);
        write_text_cell(f, json_text(row, "shape"));
        write_cell(f, "%.0f", json_number(row, "calls"));
        fprintf(f, "<td>%s</td>", format_seconds(time, json_number(row, "seconds")));
        write_cell(f, "%.1f %%", 100 * json_number(row, "share"));
        write_cell(f, "%.1f %%", 100 * sum);
        write_cell(f, "%.3g", json_number(row, "flops"));
        write_cell(f, "%.3g", json_number(row, "bytes"));
        write_cell(f, "%.2f", json_number(row, "intensity"));
        write_cell(f, "%.1f", json_number(row, "gflops"));
        write_cell(f, "%.1f", json_number(row, "gbps"));
        write_cell(f, "%.0f %%", 100 * json_number(row, "roof_share"));
        write_text_cell(f, json_text(row, "bound"));
        fprintf(f, "</tr>\n");
    }
    fprintf(f, "</table></div>\n");
}

/* ---- findings */
static void write_findings(const report *r, const char *key, const char *title) {
    const json *list = json_get(r->run, key);
    if (!json_length(list)) return;
    fprintf(r->file, "<h2>%s</h2><ul>\n", title);
    const double seconds = json_number(json_get(json_get(r->run, "time"), "p50"), "value");
    for (size_t i = 0; i < json_length(list); i++) {
        const json *finding = json_item(list, i);
        const double gain = json_number(finding, "gain_seconds");
        fprintf(r->file, "<li>");
        report_text(r->file, json_text(finding, "text"));
        if (json_text(finding, "action")[0]) {
            fprintf(r->file, " &rarr; <b>");
            report_text(r->file, json_text(finding, "action"));
            fprintf(r->file, "</b>");
        }
        if (gain > 0 && seconds > 0) fprintf(r->file, " (up to %.0f %%)", 100 * gain / seconds);
        fprintf(r->file, " <span class=\"dim\">");
        report_text(r->file, json_text(finding, "reason"));
        fprintf(r->file, "</span></li>\n");
    }
    fprintf(r->file, "</ul>\n");
}

/* ---- the rest */
static bool write_pair(void *user, const char *key, json *value) {
    const report *r = user;
    const json *machine = json_get(r->run, "machine");
    (void)value;
    fprintf(r->file, "<tr>");
    write_text_cell(r->file, key);
    fprintf(r->file, "<td>");
    if (json_text(machine, key)[0]) report_text(r->file, json_text(machine, key));
    else fprintf(r->file, "%.0f", json_number(machine, key));
    fprintf(r->file, "</td></tr>\n");
    return true;
}

/* Nothing in it may end the script that it stands in. */
static int write_raw(const report *r) {
    char *text = json_dump_text(r->run);
    if (!text) return EXIT_FAILED;
    fprintf(r->file,
            "<details><summary>raw data</summary><p class=\"small\">The whole profile is in this "
            "page, in the element #profile, as JSON.</p></details>\n"
            "<script type=\"application/json\" id=\"profile\">");
    for (const char *c = text; *c; c++) {
        if (*c == '<') fputs("\\u003c", r->file);
        else fputc(*c, r->file);
    }
    fprintf(r->file, "</script>\n");
    free(text);
    return -1;
}

int report_html(const report *r) {
    static const char *const main_figures[] = {"samples_per_second",
                                               "steps_per_second",
                                               "tflops",
                                               "compute_efficiency",
                                               "bandwidth",
                                               "bandwidth_utilization",
                                               "operand_rate",
                                               "peak_memory",
                                               "compile_time",
                                               NULL};
    static const char *const memory[] = {"peak_memory",
                                         "current_memory",
                                         "library_peak",
                                         "library_held",
                                         "total_allocated",
                                         "total_freed",
                                         "leaked",
                                         "unified_peak",
                                         "bytes_moved",
                                         "operand_rate",
                                         "operand_utilization",
                                         "dram_bytes",
                                         NULL};
    static const char *const hardware[] = {"cycles",
                                           "instructions",
                                           "ipc",
                                           "cache_references",
                                           "cache_misses",
                                           "context_switches",
                                           "page_faults",
                                           "cpu_time",
                                           "energy",
                                           "power",
                                           NULL};
    static const char *const more[] = {
        "cache_hit_rate", "memory_bandwidth", "mc_utilization", "power_usage",   "energy_per_run",
        "ne_tflops",      "ne_utilization",   "ne_cycles",      "transfer_rate", NULL};
    FILE *f = r->file;
    fprintf(
        f,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>");
    report_text(f, json_text(r->run, "model"));
    fprintf(f, "</title>");
    write_style(f);
    fprintf(f, "</head><body>\n<h1>");
    report_text(f, json_text(r->run, "model"));
    fprintf(f, "</h1><p class=\"dim\">batch %.0f, %.0f step%s, %s; ", json_number(r->run, "batch"),
            json_number(r->run, "seq"), json_number(r->run, "seq") > 1 ? "s" : "",
            json_flag(r->run, "compiled") ? "compiled" : "not compiled");
    report_text(f, json_text(json_get(r->run, "machine"), "chip"));
    fprintf(f, "</p>\n<p class=\"verdict\">");
    report_text(f, json_text(r->run, "verdict"));
    fprintf(f, "</p>\n");
    write_figures(r, "metrics", main_figures);
    fprintf(f, "<h2>Roofline</h2>\n");
    report_roofline(r);
    fprintf(f, "<h2>Where the time goes</h2>\n");
    report_breakdown(r);
    write_operations(r);
    fprintf(f, "<h2>Times of runs</h2>\n");
    write_times(r);
    report_histogram(r);
    fprintf(f, "<h2>Memory</h2>\n");
    write_figures(r, "metrics", memory);
    if (json_get(r->run, "memory_over_time")) {
        fprintf(f, "<h3>Over the profile</h3>\n");
        report_phases(r);
    }
    if (json_get(r->run, "arena")) {
        fprintf(f, "<h3>The arena in a run</h3>\n");
        report_arena(r);
    }
    fprintf(f, "<h2>Hardware</h2>\n");
    write_figures(r, "hardware", hardware);
    fprintf(f, "<p></p>\n");
    write_figures(r, "metrics", more);
    if (!r->basic) {
        report_ratios_html(r);
        write_findings(r, "bottlenecks", "Bottlenecks");
        write_findings(r, "opportunities", "Optimization opportunities");
        write_findings(r, "recommendations", "Recommendations");
    }
    if (json_length(json_get(r->run, "devices"))) {
        fprintf(f, "<h2>On other chips</h2>\n");
        report_devices(r);
    }
    fprintf(f, "<h2>Environment</h2>\n<div class=\"wide\"><table>\n");
    json_each(json_get(r->run, "machine"), write_pair, (void *)(uintptr_t)r);
    fprintf(f, "</table></div>\n");
    const int code = write_raw(r);
    fprintf(f, "</body></html>\n");
    return code;
}
