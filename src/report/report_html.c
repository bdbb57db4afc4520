/* A report as one page of HTML that needs nothing else: verdict first, raw data last. */
#include "report/report.h"

#include <math.h>
#include <string.h>

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
static void write_style(eg__page *page) {
    eg__page_put(page, "<style>%s", style);
    for (int i = 0; i < 10; i++)
        eg__page_put(page, ".tag%d{fill:var(--c%d)}i.tag%d{background:var(--c%d)}", i, i, i, i);
    eg__page_put(page, "</style>");
}

/* ---- figures */
static void write_figure(eg__page *page, const char *name, const eg__json_value *metric) {
    char value[64];
    const char *provenance = eg__json_text(metric, "provenance");
    const bool known = strcmp(provenance, "unavailable") != 0;
    eg__page_put(page, "<div class=\"figure\"><span class=\"dim\">");
    for (const char *c = name; *c; c++) eg__page_put(page, "%c", *c == '_' ? ' ' : *c);
    if (known) {
        eg__page_put(page, "</span><b>");
        eg__page_escape(page, eg__report_value(value, metric));
        eg__page_put(page, "</b>");
    } else {
        eg__page_put(page, "</span><b class=\"none\">");
        eg__page_escape(page, eg__json_text(metric, "reason"));
        eg__page_put(page, "</b>");
    }
    eg__page_put(page, "<span class=\"mark ");
    eg__page_escape(page, provenance);
    eg__page_put(page, "\" title=\"");
    eg__page_escape(page, eg__json_text(metric, known ? "source" : "reason"));
    eg__page_put(page, "\">");
    eg__page_escape(page, provenance);
    eg__page_put(page, "</span></div>\n");
}

static void write_figures(const eg__sheet *s, const char *key, const char *const *names) {
    const eg__json_value *metrics = eg__json_get(s->run, key);
    eg__page_put(s->page, "<div class=\"grid-of\">\n");
    for (; *names; names++) {
        const eg__json_value *metric = eg__json_get(metrics, *names);
        if (metric) write_figure(s->page, *names, metric);
    }
    eg__page_put(s->page, "</div>\n");
}

/* ---- time */
static void write_times(const eg__sheet *s) {
    static const char *const names[] = {"p50", "mean", "p90", "p99"};
    const eg__json_value *time = eg__json_get(s->run, "time");
    eg__page_put(s->page,
                 "<div class=\"wide\"><table><tr><th>run</th><th></th><th>value</th><th>95 %% "
                 "from</th><th>to</th></tr>\n");
    for (int i = 0; i < 4; i++) {
        const eg__json_value *interval = eg__json_get(time, names[i]);
        const double all[] = {eg__json_number(interval, "value"), eg__json_number(interval, "low"),
                              eg__json_number(interval, "high")};
        eg__page_put(s->page,
                     "<tr><td>%s</td><td><span class=\"mark measured\">measured</span></td>",
                     names[i]);
        for (int k = 0; k < 3; k++) {
            char text[32];
            eg__page_put(s->page, "<td>%s</td>",
                         isfinite(all[k]) ? eg__report_seconds(text, all[k]) : "-");
        }
        eg__page_put(s->page, "</tr>\n");
    }
    eg__page_put(s->page, "</table></div>\n");
}

static void write_cell(eg__page *page, const char *format, double value) {
    eg__page_add(page, "<td>");
    if (isfinite(value)) eg__page_put(page, format, value);
    else eg__page_add(page, "-");
    eg__page_add(page, "</td>");
}

static void write_text_cell(eg__page *page, const char *text) {
    eg__page_add(page, "<td>");
    eg__page_escape(page, text);
    eg__page_add(page, "</td>");
}

static void write_operations(const eg__sheet *s) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    eg__page *f = s->page;
    double sum = 0;
    eg__page_put(
        f,
        "<div class=\"wide\"><table><tr><th>operation</th><th>shape</th><th>calls</th><th>time"
        "</th><th>share</th><th>sum</th><th>FLOP</th><th>bytes</th><th>FLOP/B</th><th>GFLOP/s</th>"
        "<th>operand GB/s</th><th>of roof</th><th>bound</th></tr>\n");
    for (size_t i = 0; i < eg__json_length(operations); i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        char time[32];
        sum += eg__json_number(row, "share");
        eg__page_put(f, "<tr title=\"");
        eg__page_escape(f, eg__json_text(row, "does"));
        char name[160];
        eg__report_print(name, sizeof name, "%s%s %s", eg__json_flag(row, "in_scan") ? ". " : "",
                         eg__json_text(row, "operation"), eg__json_text(row, "kernel"));
        eg__page_put(f, "\">");
        write_text_cell(f, name);
        write_text_cell(f, eg__json_text(row, "shape"));
        write_cell(f, "%.0f", eg__json_number(row, "calls"));
        eg__page_put(f, "<td>%s</td>", eg__report_seconds(time, eg__json_number(row, "seconds")));
        write_cell(f, "%.1f %%", 100 * eg__json_number(row, "share"));
        write_cell(f, "%.1f %%", 100 * sum);
        write_cell(f, "%.3g", eg__json_number(row, "flops"));
        write_cell(f, "%.3g", eg__json_number(row, "bytes"));
        write_cell(f, "%.2f", eg__json_number(row, "intensity"));
        write_cell(f, "%.1f", eg__json_number(row, "gflops"));
        write_cell(f, "%.1f", eg__json_number(row, "gbps"));
        write_cell(f, "%.0f %%", 100 * eg__json_number(row, "roof_share"));
        write_text_cell(f, eg__json_text(row, "bound"));
        eg__page_put(f, "</tr>\n");
    }
    eg__page_put(f, "</table></div>\n");
}

/* ---- findings */
static void write_findings(const eg__sheet *s, const char *key, const char *title) {
    const eg__json_value *list = eg__json_get(s->run, key);
    if (!eg__json_length(list)) return;
    eg__page_put(s->page, "<h2>%s</h2><ul>\n", title);
    const double seconds =
        eg__json_number(eg__json_get(eg__json_get(s->run, "time"), "p50"), "value");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *finding = eg__json_item(list, i);
        const double gain = eg__json_number(finding, "gain_seconds");
        eg__page_put(s->page, "<li>");
        eg__page_escape(s->page, eg__json_text(finding, "text"));
        if (eg__json_text(finding, "action")[0]) {
            eg__page_put(s->page, " &rarr; <b>");
            eg__page_escape(s->page, eg__json_text(finding, "action"));
            eg__page_put(s->page, "</b>");
        }
        if (gain > 0 && seconds > 0)
            eg__page_put(s->page, " (up to %.0f %%)", 100 * gain / seconds);
        eg__page_put(s->page, " <span class=\"dim\">");
        eg__page_escape(s->page, eg__json_text(finding, "reason"));
        eg__page_put(s->page, "</span></li>\n");
    }
    eg__page_put(s->page, "</ul>\n");
}

/* ---- the rest */
static bool write_pair(void *user, const char *key, const eg__json_value *value) {
    const eg__sheet *s = user;
    const eg__json_value *machine = eg__json_get(s->run, "machine");
    (void)value;
    eg__page_put(s->page, "<tr>");
    write_text_cell(s->page, key);
    eg__page_put(s->page, "<td>");
    if (eg__json_text(machine, key)[0]) eg__page_escape(s->page, eg__json_text(machine, key));
    else eg__page_put(s->page, "%.0f", eg__json_number(machine, key));
    eg__page_put(s->page, "</td></tr>\n");
    return true;
}

/* The document, as compact as it can be; nothing in it may end the script that it stands in. */
static void write_raw(const eg__sheet *s) {
    eg__json json;
    char *text;
    eg__json_begin(&json, s->page->memory);
    json.digits = s->options->digits;
    eg__json_put_value(&json, NULL, s->run);
    eg_error error = {EG_OK, ""};
    if (eg__json_end(&json, &text, NULL, &error) && !s->page->fault.status) s->page->fault = error;
    if (!text) return;
    eg__page_add(s->page,
                 "<details><summary>raw data</summary><p class=\"small\">The whole profile is in "
                 "this page, in the element #profile, as JSON.</p></details>\n"
                 "<script type=\"application/json\" id=\"profile\">");
    for (char *from = text; from;) {
        char *mark = strchr(from, '<');
        if (mark) *mark++ = 0;
        eg__page_add(s->page, from);
        if (mark) eg__page_add(s->page, "\\u003c");
        from = mark;
    }
    eg__page_add(s->page, "</script>\n");
    eg__memory_give(s->page->memory, text);
}

void eg__report_html(const eg__sheet *s) {
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
    eg__page *f = s->page;
    eg__page_put(
        f,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>");
    eg__page_escape(f, eg__json_text(s->run, "model"));
    eg__page_put(f, "</title>");
    write_style(f);
    eg__page_put(f, "</head><body>\n<h1>");
    eg__page_escape(f, eg__json_text(s->run, "model"));
    eg__page_put(f, "</h1><p class=\"dim\">batch %.0f, %.0f step%s, %s; ",
                 eg__json_number(s->run, "batch"), eg__json_number(s->run, "seq"),
                 eg__json_number(s->run, "seq") > 1 ? "s" : "",
                 eg__json_flag(s->run, "compiled") ? "compiled" : "not compiled");
    eg__page_escape(f, eg__json_text(eg__json_get(s->run, "machine"), "chip"));
    eg__page_put(f, "</p>\n<p class=\"verdict\">");
    eg__page_escape(f, eg__json_text(s->run, "verdict"));
    eg__page_put(f, "</p>\n");
    write_figures(s, "metrics", main_figures);
    eg__page_put(f, "<h2>Roofline</h2>\n");
    eg__report_roofline(s);
    eg__page_put(f, "<h2>Where the time goes</h2>\n");
    eg__report_breakdown(s);
    write_operations(s);
    eg__page_put(f, "<h2>Times of runs</h2>\n");
    write_times(s);
    eg__report_histogram(s);
    eg__page_put(f, "<h2>Memory</h2>\n");
    write_figures(s, "metrics", memory);
    if (eg__json_get(s->run, "memory_over_time")) {
        eg__page_put(f, "<h3>Over the profile</h3>\n");
        eg__report_phases(s);
    }
    if (eg__json_get(s->run, "arena")) {
        eg__page_put(f, "<h3>The arena in a run</h3>\n");
        eg__report_arena(s);
    }
    eg__page_put(f, "<h2>Hardware</h2>\n");
    write_figures(s, "hardware", hardware);
    eg__page_put(f, "<p></p>\n");
    write_figures(s, "metrics", more);
    if (!s->options->basic) {
        eg__report_ratios_html(s);
        write_findings(s, "bottlenecks", "Bottlenecks");
        write_findings(s, "opportunities", "Optimization opportunities");
        write_findings(s, "recommendations", "Recommendations");
    }
    if (eg__json_length(eg__json_get(s->run, "devices"))) {
        eg__page_put(f, "<h2>On other chips</h2>\n");
        eg__report_devices(s);
    }
    eg__page_put(f, "<h2>Environment</h2>\n<div class=\"wide\"><table>\n");
    eg__json_each(eg__json_get(s->run, "machine"), write_pair, (void *)(uintptr_t)s);
    eg__page_put(f, "</table></div>\n");
    write_raw(s);
    eg__page_put(f, "</body></html>\n");
}
