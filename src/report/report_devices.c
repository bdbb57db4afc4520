/* Projections to other chips beside this machine: speed, bytes, utilisation, and what the time goes into. */
#include "cli/report/report.h"

#include <math.h>
#include <string.h>

typedef struct figure {
    const char *title, *metric, *key, *format; /* of this machine, of a device */
    double scale;
    bool whole; /* a bar is the share of all there is */
} figure;

static const figure figures[] = {
    {"TFLOP/s", "tflops", "tflops", "%.3g TFLOP/s", 1, false},
    {"GB/s, wherever the bytes lie", "operand_rate", "gbps", "%.3g GB/s", 1, false},
    {"Utilisation: TFLOP/s over the peak of the unit", "compute_efficiency", "utilization",
     "%.2g %%", 100, true}};

/* Quicker or slower by its band, the speed is more or less by as much. */
static double at_most(const json *device, const char *key) {
    return json_number(device, key) * json_number(device, "seconds") / json_number(device, "low");
}
static double at_least(const json *device, const char *key) {
    return json_number(device, key) * json_number(device, "seconds") / json_number(device, "high");
}

static double most_of(const report *r, const figure *f) {
    const json *devices = json_get(r->run, "devices");
    double most = json_number(json_get(json_get(r->run, "metrics"), f->metric), "value");
    if (f->whole) return 1;
    if (!(most > 0)) most = 0;
    for (size_t i = 0; i < json_length(devices); i++)
        most = fmax(most, at_most(json_item(devices, i), f->key));
    return most > 0 ? most : 1;
}

/* "0.131 TFLOP/s, modelled"; "-" where it is not known. */
static const char *text_of(char out[96], const figure *f, double value, const char *provenance) {
    const int at =
        isfinite(value) ? snprintf(out, 64, f->format, f->scale * value) : snprintf(out, 64, "-");
    snprintf(out + at, 96 - (size_t)at, ", %.20s", provenance);
    return out;
}

static void draw_figure(const report *r, const figure *f) {
    const json *devices = json_get(r->run, "devices");
    const json *here = json_get(json_get(r->run, "metrics"), f->metric);
    const double most = most_of(r, f), value = json_number(here, "value");
    char name[128], text[96];
    fprintf(r->file, "<h3>%s</h3>\n", f->title);
    report_bars(r, json_length(devices) + 1, f->title);
    report_bar_text(r, 0, "this machine", text_of(text, f, value, json_text(here, "provenance")));
    report_bar_part(r, 0, 0, value / most, "bar", json_text(here, "source"));
    for (size_t i = 0; i < json_length(devices); i++) {
        const json *d = json_item(devices, i);
        const double there = json_number(d, f->key);
        snprintf(name, sizeof name, "%.60s, %.40s", json_text(d, "name"),
                 json_text(d, "best_unit"));
        report_bar_text(r, i + 1, name, text_of(text, f, there, json_text(d, "provenance")));
        report_bar_part(r, i + 1, 0, there / most, "bar third", json_text(d, "condition"));
        report_bar_range(r, i + 1, at_least(d, f->key) / most, at_most(d, f->key) / most);
    }
    fprintf(r->file, "</svg>\n");
}

static void draw_shares(const report *r) {
    static const char *const keys[] = {"compute_share", "memory_share", "overhead_share"},
                             *const names[] = {"computes", "moves bytes", "begins and waits"};
    const json *devices = json_get(r->run, "devices");
    fprintf(r->file, "<h3>What the time would go into</h3>\n");
    report_bars(r, json_length(devices), "what the time would go into");
    for (size_t i = 0; i < json_length(devices); i++) {
        const json *d = json_item(devices, i);
        char text[96], low[32], high[32];
        snprintf(text, sizeof text, "%s to %s, %.20s", format_seconds(low, json_number(d, "low")),
                 format_seconds(high, json_number(d, "high")), json_text(d, "provenance"));
        report_bar_text(r, i, json_text(d, "name"), text);
        double at = 0;
        for (int k = 0; k < 3; k++) {
            char class[16], title[64];
            const double share = json_number(d, keys[k]);
            snprintf(class, sizeof class, "tag%d", k);
            snprintf(title, sizeof title, "%s %.0f %%", names[k], 100 * share);
            report_bar_part(r, i, at, at + share, class, title);
            at += share > 0 ? share : 0;
        }
    }
    fprintf(r->file, "</svg>\n<p class=\"small\">");
    for (int k = 0; k < 3; k++) {
        char class[16];
        snprintf(class, sizeof class, "tag%d", k);
        report_legend(r, class, names[k]);
    }
    fprintf(r->file, "</p>\n");
}

static void write_checks(const report *r) {
    static const char *const needs[] = {"compute", "bandwidth"};
    const json *devices = json_get(r->run, "devices");
    fprintf(r->file, "<div class=\"wide\"><table><tr><th>chip</th><th>what its tier asks for</th>"
                     "<th></th></tr>\n");
    for (size_t i = 0; i < json_length(devices) * 2; i++) {
        const json *d = json_item(devices, i / 2);
        char key[32], check[96];
        snprintf(key, sizeof key, "%s_check", needs[i % 2]);
        snprintf(check, sizeof check, "%s: %.60s", needs[i % 2], json_text(d, key));
        snprintf(key, sizeof key, "%s_text", needs[i % 2]);
        const char *const cells[] = {i % 2 ? "" : json_text(d, "name"), check, json_text(d, key)};
        fprintf(r->file, "<tr>");
        for (int k = 0; k < 3; k++) {
            fprintf(r->file, "<td>");
            report_text(r->file, cells[k]);
            fprintf(r->file, "</td>");
        }
        fprintf(r->file, "</tr>\n");
    }
    fprintf(r->file, "</table></div>\n");
}

void report_devices(const report *r) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) draw_figure(r, &figures[i]);
    fprintf(
        r->file,
        "<p class=\"small\">Of each chip, the unit that would be the quickest; the thin line is "
        "what is likely. A GPU and a Neural Engine are what-ifs: programs run on the cores.</p>"
        "\n");
    draw_shares(r);
    write_checks(r);
}
