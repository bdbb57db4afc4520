/* A report as Markdown, for issues and reviews. */
#include "report/report.h"

#include <math.h>
#include <string.h>

enum { CELL = EG__REPORT_CELL };

const char *eg__report_plain(char out[CELL], const char *text) {
    size_t used = 0;
    for (; *text && used + 8 < CELL; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte == 0x7f)
            used += eg__report_print(out + used, CELL - used, "\\\\x%02x", (unsigned)byte);
        else {
            if (strchr("\\`*<|[", *text)) out[used++] = '\\';
            out[used++] = *text;
        }
    }
    out[used] = 0;
    return out;
}

void eg__report_row(const eg__sheet *s, size_t count, const char *const cells[]) {
    char text[CELL];
    eg__page_add(s->page, "|");
    for (size_t i = 0; i < count; i++)
        eg__page_put(s->page, " %s |", eg__report_plain(text, cells[i]));
    eg__page_add(s->page, "\n");
}

static bool write_metric(void *user, const char *key, const eg__json_value *metric) {
    char value[64];
    const char *provenance = eg__json_text(metric, "provenance");
    const bool known = strcmp(provenance, "unavailable") != 0;
    const char *const cells[] = {key, known ? eg__report_value(value, metric) : "", provenance,
                                 eg__json_text(metric, known ? "source" : "reason")};
    eg__report_row(user, 4, cells);
    return true;
}

static void write_metrics(const eg__sheet *s, const char *key, const char *title) {
    eg__page_put(s->page,
                 "\n## %s\n\n| figure | value | provenance | source |\n|---|---|---|---|\n", title);
    eg__json_each(eg__json_get(s->run, key), write_metric, (void *)(uintptr_t)s);
}

static void write_findings(const eg__sheet *s, const char *key, const char *title) {
    const eg__json_value *list = eg__json_get(s->run, key);
    if (eg__json_length(list)) eg__page_put(s->page, "\n## %s\n\n", title);
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *f = eg__json_item(list, i);
        const char *action = eg__json_text(f, "action");
        char what[CELL], how[CELL];
        eg__page_put(s->page, "- %s%s%s\n", eg__report_plain(what, eg__json_text(f, "text")),
                     action[0] ? ": " : "", eg__report_plain(how, action));
    }
}

static void write_memory(const eg__sheet *s) {
    const eg__json_value *moments =
        eg__json_get(eg__json_get(s->run, "memory_over_time"), "moments");
    if (!eg__json_length(moments)) return;
    eg__page_put(s->page,
                 "\n## Memory over time\n\nBytes are counted, times are measured.\n\n| end of | at "
                 "| held | most in it |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < eg__json_length(moments); i++) {
        const eg__json_value *m = eg__json_item(moments, i);
        const double held = eg__json_number(m, "held"), peak = eg__json_number(m, "peak");
        char at[32], a[32], b[32];
        const char *const cells[] = {eg__json_text(m, "phase"),
                                     eg__report_seconds(at, eg__json_number(m, "seconds")),
                                     eg__report_bytes(a, held), eg__report_bytes(b, peak)};
        eg__report_row(s, 4, cells);
    }
}

static void write_devices(const eg__sheet *s) {
    const eg__json_value *devices = eg__json_get(s->run, "devices");
    if (!eg__json_length(devices)) return;
    eg__page_put(
        s->page,
        "\n## On other chips\n\n| chip | unit | time | likely | TFLOP/s | operand GB/s | of peak | "
        "provenance |\n|---|---|---:|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < eg__json_length(devices); i++) {
        const eg__json_value *d = eg__json_item(devices, i);
        char time[32], low[32], high[32], range[80], rates[3][32];
        eg__report_print(range, sizeof range, "%s to %s",
                         eg__report_seconds(low, eg__json_number(d, "low")),
                         eg__report_seconds(high, eg__json_number(d, "high")));
        eg__report_print(rates[0], sizeof rates[0], "%.3g", eg__json_number(d, "tflops"));
        eg__report_print(rates[1], sizeof rates[1], "%.3g", eg__json_number(d, "gbps"));
        eg__report_print(rates[2], sizeof rates[2], "%.2g %%",
                         100 * eg__json_number(d, "utilization"));
        const char *const cells[] = {eg__json_text(d, "name"),
                                     eg__json_text(d, "best_unit"),
                                     eg__report_seconds(time, eg__json_number(d, "seconds")),
                                     range,
                                     rates[0],
                                     rates[1],
                                     rates[2],
                                     eg__json_text(d, "provenance")};
        eg__report_row(s, 8, cells);
    }
}

static void write_operations(const eg__sheet *s) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    char text[32];
    eg__page_put(
        s->page,
        "\n## Operations\n\n| operation | shape | calls | time | share | GFLOP/s | operand GB/s | of roof | "
        "bound |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < eg__json_length(operations); i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        const double roof = eg__json_number(row, "roof_share");
        char name[CELL], calls[48], share[32], rates[2][32], roofs[32] = "-";
        eg__report_print(name, sizeof name, "%s %s", eg__json_text(row, "operation"),
                         eg__json_text(row, "kernel"));
        eg__report_count(calls, eg__json_number(row, "calls"));
        eg__report_print(share, sizeof share, "%.1f %%", 100 * eg__json_number(row, "share"));
        eg__report_print(rates[0], sizeof rates[0], "%.1f", eg__json_number(row, "gflops"));
        eg__report_print(rates[1], sizeof rates[1], "%.1f", eg__json_number(row, "gbps"));
        if (isfinite(roof)) eg__report_print(roofs, sizeof roofs, "%.0f %%", 100 * roof);
        const char *const cells[] = {name,
                                     eg__json_text(row, "shape"),
                                     calls,
                                     eg__report_seconds(text, eg__json_number(row, "seconds")),
                                     share,
                                     rates[0],
                                     rates[1],
                                     roofs,
                                     eg__json_text(row, "bound")};
        eg__report_row(s, 9, cells);
    }
}

void eg__report_markdown(const eg__sheet *s) {
    const eg__json_value *time = eg__json_get(s->run, "time");
    static const char *const names[] = {"p50", "mean", "p90", "p99"};
    char text[32], model[CELL], chip[CELL], verdict[CELL], batch[48], seq[48];
    eg__page_put(s->page, "# %s\n\nbatch %s, %s step%s, %s, %s\n\n**%s**\n",
                 eg__report_plain(model, eg__json_text(s->run, "model")),
                 eg__report_count(batch, eg__json_number(s->run, "batch")),
                 eg__report_count(seq, eg__json_number(s->run, "seq")),
                 eg__json_number(s->run, "seq") > 1 ? "s" : "",
                 eg__json_flag(s->run, "compiled") ? "compiled" : "not compiled",
                 eg__report_plain(chip, eg__json_text(eg__json_get(s->run, "machine"), "chip")),
                 eg__report_plain(verdict, eg__json_text(s->run, "verdict")));
    if (!s->options->basic) write_findings(s, "recommendations", "Recommendations");
    eg__page_add(s->page, "\n## Times\n\n| run | time |\n|---|---:|\n");
    for (int i = 0; i < 4; i++)
        eg__page_put(
            s->page, "| %s | %s |\n", names[i],
            eg__report_seconds(text, eg__json_number(eg__json_get(time, names[i]), "value")));
    write_operations(s);
    write_metrics(s, "metrics", "Figures");
    write_memory(s);
    eg__report_energy_markdown(s);
    write_metrics(s, "hardware", "Hardware");
    write_devices(s);
    if (s->options->basic) return;
    eg__report_ratios_markdown(s);
    write_findings(s, "bottlenecks", "Bottlenecks");
    write_findings(s, "opportunities", "Optimization opportunities");
}
