/* A report as one page of HTML that needs nothing else: verdict first, raw data last. */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* ---- time */
static void write_times(const eg__sheet *s) {
    static const char *const names[] = {"p50", "mean", "p90", "p99"};
    static const char *const heads[] = {"<run", "<provenance", "value", "95 % from", "to"};
    const eg__json_value *time = eg__json_get(s->run, "time");
    eg__report_table(s->page, "times of runs", 5, heads);
    for (int i = 0; i < 4; i++) {
        const eg__json_value *interval = eg__json_get(time, names[i]);
        const double all[] = {eg__json_number(interval, "value"), eg__json_number(interval, "low"),
                              eg__json_number(interval, "high")};
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, names[i]);
        eg__page_add(s->page, "<td class=\"t\">");
        eg__report_mark(s->page, "measured", "");
        eg__page_add(s->page, "</td>");
        for (int k = 0; k < 3; k++) {
            char text[32];
            eg__report_cell(s->page, isfinite(all[k]) ? eg__report_seconds(text, all[k]) : "-");
        }
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
}

/* Ordered by time, so that the numbers are those of the dots and bars above. */
static void write_operations(const eg__sheet *s) {
    static const char *const heads[] = {"<operation",   "<shape",  "calls", "time",   "share",
                                        "sum",          "FLOP",    "bytes", "FLOP/B", "GFLOP/s",
                                        "operand GB/s", "of roof", "<bound"};
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    eg__page *f = s->page;
    double sum = 0;
    eg__report_table(f, "operations", 13, heads);
    for (size_t i = 0; i < eg__json_length(operations); i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        char time[32], name[160];
        sum += eg__json_number(row, "share");
        eg__page_add(f, "<tr title=\"");
        eg__page_escape(f, eg__json_text(row, "does"));
        eg__report_print(name, sizeof name, "%zu %s%s %s", i + 1,
                         eg__json_flag(row, "in_scan") ? ". " : "", eg__json_text(row, "operation"),
                         eg__json_text(row, "kernel"));
        eg__page_add(f, "\">");
        eg__report_cell_name(f, eg__report_clip(name));
        eg__report_cell_text(f, eg__json_text(row, "shape"));
        eg__report_cell_count(f, eg__json_number(row, "calls"));
        eg__report_cell(f, eg__report_seconds(time, eg__json_number(row, "seconds")));
        eg__report_cell_number(f, "%.1f %%", 100 * eg__json_number(row, "share"));
        eg__report_cell_number(f, "%.1f %%", 100 * sum);
        eg__report_cell_count(f, eg__json_number(row, "flops"));
        eg__report_cell_count(f, eg__json_number(row, "bytes"));
        eg__report_cell_number(f, "%.2f", eg__json_number(row, "intensity"));
        eg__report_cell_number(f, "%.1f", eg__json_number(row, "gflops"));
        eg__report_cell_number(f, "%.1f", eg__json_number(row, "gbps"));
        eg__report_cell_number(f, "%.0f %%", 100 * eg__json_number(row, "roof_share"));
        eg__report_cell_text(f, eg__json_text(row, "bound"));
        eg__page_add(f, "</tr>\n");
    }
    eg__report_table_end(f);
}

/* ---- findings */
static void write_finding(const eg__sheet *s, const eg__json_value *finding, double seconds) {
    const double gain = eg__json_number(finding, "gain_seconds"),
                 measured = eg__json_number(finding, "measured_seconds");
    char now[32], then[32];
    eg__page_add(s->page, "<li>");
    eg__page_escape(s->page, eg__json_text(finding, "text"));
    if (eg__json_text(finding, "action")[0]) {
        eg__page_add(s->page, " &rarr; <b>");
        eg__page_escape(s->page, eg__json_text(finding, "action"));
        eg__page_add(s->page, "</b>");
    }
    if (measured > 0 && seconds > 0)
        eg__page_put(s->page, " (tried: %s instead of %s, measured)",
                     eg__report_seconds(then, measured), eg__report_seconds(now, seconds));
    else if (gain > 0 && seconds > 0)
        eg__page_put(s->page, " (up to %.0f %%)", 100 * gain / seconds);
    eg__page_add(s->page, " <span class=\"dim\">");
    eg__page_escape(s->page, eg__json_text(finding, "reason"));
    eg__page_add(s->page, "</span></li>\n");
}

static void write_findings(const eg__sheet *s, const char *key, const char *title,
                           const char *list_tag) {
    const eg__json_value *list = eg__json_get(s->run, key);
    if (!eg__json_length(list)) return;
    eg__page_put(s->page, "<h2>%s</h2><%s>\n", title, list_tag);
    const double seconds =
        eg__json_number(eg__json_get(eg__json_get(s->run, "time"), "p50"), "value");
    for (size_t i = 0; i < eg__json_length(list); i++)
        write_finding(s, eg__json_item(list, i), seconds);
    eg__page_put(s->page, "</%s>\n", list_tag);
}

/* What to do stands beside what is wrong. */
static void write_top(const eg__sheet *s) {
    const bool advice =
        !s->options->basic && eg__json_length(eg__json_get(s->run, "recommendations"));
    eg__page_put(s->page, "<section class=\"top%s\"><p class=\"verdict\">", advice ? " two" : "");
    eg__page_escape(s->page, eg__json_text(s->run, "verdict"));
    eg__page_add(s->page, "</p>\n");
    if (advice) {
        eg__page_add(s->page, "<div class=\"next\">");
        write_findings(s, "recommendations", "Recommendations", "ol");
        eg__page_add(s->page, "</div>");
    }
    eg__page_add(s->page, "</section>\n");
}

/* ---- the rest */
static bool write_pair(void *user, const char *key, const eg__json_value *value) {
    const eg__sheet *s = user;
    const eg__json_value *machine = eg__json_get(s->run, "machine");
    const char *text = eg__json_text(machine, key);
    char number[48];
    (void)value;
    eg__page_add(s->page, "<tr>");
    eg__report_cell_name(s->page, key);
    eg__report_cell_text(s->page,
                         text[0] ? text : eg__report_count(number, eg__json_number(machine, key)));
    eg__page_add(s->page, "</tr>\n");
    return true;
}

static void write_begin(const eg__sheet *s) {
    char batch[48], seq[48];
    const double steps = eg__json_number(s->run, "seq");
    eg__report_head(s->page, eg__json_text(s->run, "model"));
    eg__page_add(s->page, "<main>\n<h1>");
    eg__page_escape(s->page, eg__json_text(s->run, "model"));
    eg__page_put(s->page, "</h1><p class=\"dim\">batch %s, %s step%s, %s; ",
                 eg__report_count(batch, eg__json_number(s->run, "batch")),
                 eg__report_count(seq, steps), steps > 1 ? "s" : "",
                 eg__json_flag(s->run, "compiled") ? "compiled" : "not compiled");
    eg__page_escape(s->page, eg__json_text(eg__json_get(s->run, "machine"), "chip"));
    eg__page_add(s->page, "</p>\n");
}

static void write_memory(const eg__sheet *s) {
    static const char *const names[] = {"peak_memory",
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
    eg__page_add(s->page, "<h2>Memory</h2>\n");
    eg__report_figures(s, 1, &(eg__figures){"metrics", names});
    if (eg__json_get(s->run, "memory_over_time")) {
        eg__page_add(s->page, "<h3>Over the profile</h3>\n");
        eg__report_phases(s);
    }
    if (eg__json_get(s->run, "arena")) {
        eg__page_add(s->page, "<h3>The arena in a run</h3>\n");
        eg__report_arena(s);
    }
}

static void write_hardware(const eg__sheet *s) {
    static const char *const counters[] = {"cycles",           "instructions", "ipc",
                                           "cache_references", "cache_misses", "context_switches",
                                           "page_faults",      "cpu_time",     NULL};
    static const char *const more[] = {
        "cache_hit_rate", "memory_bandwidth", "mc_utilization", "ne_tflops",
        "ne_utilization", "ne_cycles",        "transfer_rate",  NULL};
    const eg__figures both[] = {{"hardware", counters}, {"metrics", more}};
    eg__page_add(s->page, "<h2>Hardware</h2>\n");
    eg__report_figures(s, 2, both);
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
    eg__page *f = s->page;
    write_begin(s);
    write_top(s);
    eg__report_figures(s, 1, &(eg__figures){"metrics", main_figures});
    eg__page_add(f, "<h2>Roofline</h2>\n");
    eg__report_roofline(s);
    eg__page_add(f, "<h2>Where the time goes</h2>\n");
    eg__report_breakdown(s);
    write_operations(s);
    eg__page_add(f, "<h2>Times of runs</h2>\n");
    write_times(s);
    eg__report_histogram(s);
    write_memory(s);
    eg__report_energy_html(s);
    write_hardware(s);
    if (!s->options->basic) {
        eg__report_ratios_html(s);
        write_findings(s, "bottlenecks", "Bottlenecks", "ul");
        write_findings(s, "opportunities", "Optimization opportunities", "ul");
    }
    if (eg__json_length(eg__json_get(s->run, "devices"))) {
        eg__page_add(f, "<h2>On other chips</h2>\n");
        eg__report_devices(s);
    }
    eg__page_add(f, "<h2>Environment</h2>\n");
    eg__report_table(f, "environment", 0, NULL);
    eg__json_each(eg__json_get(s->run, "machine"), write_pair, (void *)(uintptr_t)s);
    eg__report_table_end(f);
    eg__report_raw(f, "profile", "The whole profile", s->run, s->options->digits);
    eg__page_add(f, "</main></body></html>\n");
}
