/* Energy: of all runs, of one, and of each operation by its share of the time. */
#include "report/report.h"

#include <math.h>

static const char how[] = "Modelled: the energy of a run, times the share of its time.";

static bool has_joules(const eg__sheet *s) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    return eg__json_length(operations) &&
           isfinite(eg__json_number(eg__json_item(operations, 0), "joules"));
}

/* "1.25 mJ" */
static void put_joules(char out[32], double joules) {
    static const struct {
        double least, factor;
        const char *unit;
    } units[] = {{1, 1, "J"}, {1e-3, 1e3, "mJ"}, {1e-6, 1e6, "uJ"}, {0, 1e9, "nJ"}};
    size_t i = 0;
    while (i < 3 && joules < units[i].least) i++;
    if (joules >= 0) eg__report_print(out, 32, "%.4g %s", joules * units[i].factor, units[i].unit);
    else eg__report_print(out, 32, "-");
}

typedef struct row {
    const eg__json_value *of;
    char name[160], run[32], call[32], share[32], work[32];
} row;

static void fill(const eg__sheet *s, size_t index, row *r) {
    r->of = eg__json_item(eg__json_get(s->run, "operations"), index);
    const double joules = eg__json_number(r->of, "joules"), calls = eg__json_number(r->of, "calls"),
                 flops = eg__json_number(r->of, "flops");
    eg__report_print(r->name, sizeof r->name, "%s%s %s",
                     eg__json_flag(r->of, "in_scan") ? ". " : "", eg__json_text(r->of, "operation"),
                     eg__json_text(r->of, "kernel"));
    eg__report_clip(r->name);
    put_joules(r->run, joules);
    put_joules(r->call, joules / calls);
    eg__report_print(r->share, sizeof r->share, "%.1f %%", 100 * eg__json_number(r->of, "share"));
    if (joules > 0 && flops > 0)
        eg__report_print(r->work, sizeof r->work, "%.3g", flops / joules * 1e-9);
    else eg__report_print(r->work, sizeof r->work, "-");
}

void eg__report_energy_html(const eg__sheet *s) {
    static const char *const counters[] = {"energy", "power", NULL};
    static const char *const figures[] = {"power_usage", "energy_per_run", NULL};
    static const char *const heads[] = {"<operation",       "<shape", "energy of a run",
                                        "energy of a call", "share",  "GFLOP/J"};
    const eg__figures both[] = {{"hardware", counters}, {"metrics", figures}};
    eg__page_add(s->page, "<h2>Energy</h2>\n");
    eg__report_figures(s, 2, both);
    if (!has_joules(s)) return;
    eg__report_table(s->page, "energy of operations", 6, heads);
    for (size_t i = 0; i < eg__json_length(eg__json_get(s->run, "operations")); i++) {
        row r;
        fill(s, i, &r);
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, r.name);
        eg__report_cell_text(s->page, eg__json_text(r.of, "shape"));
        eg__report_cell(s->page, r.run);
        eg__report_cell(s->page, r.call);
        eg__report_cell(s->page, r.share);
        eg__report_cell(s->page, r.work);
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
    eg__page_put(s->page, "<p class=\"dim\">%s</p>\n", how);
}

/* Without a rail, the table of figures says why. */
void eg__report_energy_markdown(const eg__sheet *s) {
    if (!has_joules(s)) return;
    eg__page_put(
        s->page,
        "\n## Energy\n\n%s\n\n| operation | shape | energy of a run | energy of a call | share | "
        "GFLOP/J |\n|---|---|---:|---:|---:|---:|\n",
        how);
    for (size_t i = 0; i < eg__json_length(eg__json_get(s->run, "operations")); i++) {
        row r;
        fill(s, i, &r);
        const char *const cells[] = {r.name, eg__json_text(r.of, "shape"), r.run, r.call, r.share,
                                     r.work};
        eg__report_row(s, 6, cells);
    }
}
