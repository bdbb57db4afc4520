/* Projections to other chips beside this machine: speed, bytes, utilisation, and what the time goes into. */
#include "report/report.h"

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

/* The uncertainty of the time, as an uncertainty of the speed. */
static double at_most(const eg__json_value *device, const char *key) {
    return eg__json_number(device, key) * eg__json_number(device, "seconds") /
           eg__json_number(device, "low");
}
static double at_least(const eg__json_value *device, const char *key) {
    return eg__json_number(device, key) * eg__json_number(device, "seconds") /
           eg__json_number(device, "high");
}

static double most_of(const eg__sheet *s, const figure *f) {
    const eg__json_value *devices = eg__json_get(s->run, "devices");
    double most =
        eg__json_number(eg__json_get(eg__json_get(s->run, "metrics"), f->metric), "value");
    if (f->whole) return 1;
    if (!(most > 0)) most = 0;
    for (size_t i = 0; i < eg__json_length(devices); i++)
        most = fmax(most, at_most(eg__json_item(devices, i), f->key));
    return most > 0 ? most : 1;
}

/* "0.131 TFLOP/s, modelled"; "-" where it is not known. */
static const char *text_of(char out[96], const figure *f, double value, const char *provenance) {
    const size_t at = isfinite(value) ? eg__report_print(out, 64, f->format, f->scale * value)
                                      : eg__report_print(out, 64, "-");
    eg__report_print(out + at, 96 - at, ", %.20s", provenance);
    return out;
}

static void draw_figure(const eg__sheet *s, const figure *f) {
    const eg__json_value *devices = eg__json_get(s->run, "devices");
    const eg__json_value *here = eg__json_get(eg__json_get(s->run, "metrics"), f->metric);
    const double most = most_of(s, f), value = eg__json_number(here, "value");
    char name[128], text[96], whole[64];
    eg__page_put(s->page, "<h3>%s</h3>\n", f->title);
    eg__report_print(whole, sizeof whole, f->format, f->scale * most);
    eg__report_bars(s, eg__json_length(devices) + 1, f->title, "0", f->whole ? "100 %" : whole);
    eg__report_bar_text(s, 0, "this machine",
                        text_of(text, f, value, eg__json_text(here, "provenance")));
    eg__report_bar_part(s, 0, 0, value / most, "bar", eg__json_text(here, "source"));
    for (size_t i = 0; i < eg__json_length(devices); i++) {
        const eg__json_value *d = eg__json_item(devices, i);
        const double there = eg__json_number(d, f->key);
        eg__report_print(name, sizeof name, "%.60s, %.40s", eg__json_text(d, "name"),
                         eg__json_text(d, "best_unit"));
        eg__report_bar_text(s, i + 1, name,
                            text_of(text, f, there, eg__json_text(d, "provenance")));
        eg__report_bar_part(s, i + 1, 0, there / most, "bar third", eg__json_text(d, "condition"));
        eg__report_bar_range(s, i + 1, at_least(d, f->key) / most, at_most(d, f->key) / most);
    }
    eg__page_put(s->page, "</svg>\n");
}

static void draw_shares(const eg__sheet *s) {
    static const char *const keys[] = {"compute_share", "memory_share", "overhead_share"},
                             *const names[] = {"computes", "moves bytes", "begins and waits"};
    const eg__json_value *devices = eg__json_get(s->run, "devices");
    eg__page_put(s->page, "<h3>What the time would go into</h3>\n");
    eg__report_bars(s, eg__json_length(devices), "what the time would go into", "0",
                    "100 % of a run");
    for (size_t i = 0; i < eg__json_length(devices); i++) {
        const eg__json_value *d = eg__json_item(devices, i);
        char text[96], low[32], high[32];
        eg__report_print(text, sizeof text, "%s to %s, %.20s",
                         eg__report_seconds(low, eg__json_number(d, "low")),
                         eg__report_seconds(high, eg__json_number(d, "high")),
                         eg__json_text(d, "provenance"));
        eg__report_bar_text(s, i, eg__json_text(d, "name"), text);
        double at = 0;
        for (int k = 0; k < 3; k++) {
            char class[16], title[64];
            const double share = eg__json_number(d, keys[k]);
            eg__report_print(class, sizeof class, "tag%d", k);
            eg__report_print(title, sizeof title, "%s %.0f %%", names[k], 100 * share);
            eg__report_bar_part(s, i, at, at + share, class, title);
            at += share > 0 ? share : 0;
        }
    }
    eg__page_put(s->page, "</svg>\n<p class=\"small\">");
    for (int k = 0; k < 3; k++) {
        char class[16];
        eg__report_print(class, sizeof class, "tag%d", k);
        eg__report_legend(s, class, names[k]);
    }
    eg__page_put(s->page, "</p>\n");
}

static void write_checks(const eg__sheet *s) {
    static const char *const needs[] = {"compute", "bandwidth"};
    const eg__json_value *devices = eg__json_get(s->run, "devices");
    static const char *const heads[] = {"<chip", "<what its tier asks for", "<the run"};
    eg__report_table(s->page, "what tiers ask for", 3, heads);
    for (size_t i = 0; i < eg__json_length(devices) * 2; i++) {
        const eg__json_value *d = eg__json_item(devices, i / 2);
        char key[32], check[96];
        eg__report_print(key, sizeof key, "%s_check", needs[i % 2]);
        eg__report_print(check, sizeof check, "%s: %.60s", needs[i % 2], eg__json_text(d, key));
        eg__report_print(key, sizeof key, "%s_text", needs[i % 2]);
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, i % 2 ? "" : eg__json_text(d, "name"));
        eg__report_cell_text(s->page, eg__report_clip(check));
        eg__report_cell_text(s->page, eg__json_text(d, key));
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
}

void eg__report_devices(const eg__sheet *s) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) draw_figure(s, &figures[i]);
    eg__page_put(
        s->page,
        "<p class=\"small\">Of each chip, the fastest unit; the thin line is "
        "what is likely. A GPU and a Neural Engine are what-ifs: programs run on the cores.</p>"
        "\n");
    draw_shares(s);
    write_checks(s);
}
