/* The roofline: what intensity allows on this machine, and where each operation lies. */
#include "report/roofline.h"

#include <math.h>

static double x_of(const eg__roofline *a, double intensity) {
    return EG__ROOF_LEFT +
           (log10(intensity) - a->x0) / (a->x1 - a->x0) * (EG__ROOF_RIGHT - EG__ROOF_LEFT);
}
static double y_of(const eg__roofline *a, double gflops) {
    return EG__ROOF_BOTTOM -
           (log10(gflops) - a->y0) / (a->y1 - a->y0) * (EG__ROOF_BOTTOM - EG__ROOF_TOP);
}

static double ceiling(const eg__sheet *s, const char *stem) {
    const eg__json_value *machine = eg__json_get(s->run, "machine");
    char name[32];
    eg__report_print(name, sizeof name, "%s_%s", stem,
                     eg__json_number(machine, "threads") > 1 ? "all" : "one");
    return eg__json_number(eg__json_get(eg__json_get(s->run, "ceilings"), name), "value");
}

static void draw_grid(const eg__roofline *a) {
    for (double d = ceil(a->x0); d <= a->x1; d++) {
        const double x = x_of(a, pow(10, d));
        eg__page_put(a->page,
                     "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/><text "
                     "class=\"small\" x=\"%.2f%%\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                     x, x, EG__ROOF_TOP, EG__ROOF_BOTTOM, x, EG__ROOF_BOTTOM + 18, pow(10, d));
    }
    for (double d = ceil(a->y0); d <= a->y1; d++) {
        const double y = y_of(a, pow(10, d));
        eg__page_put(a->page,
                     "<line class=\"grid\" x1=\"%d%%\" x2=\"%d%%\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                     "class=\"small\" x=\"%d%%\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                     EG__ROOF_LEFT, EG__ROOF_RIGHT, y, y, EG__ROOF_LEFT - 1, y + 4, pow(10, d));
    }
    eg__page_put(a->page,
                 "<text x=\"%d%%\" y=\"%d\" text-anchor=\"middle\">FLOP per byte moved</text><text "
                 "x=\"0\" y=\"14\">GFLOP/s</text>\n",
                 (EG__ROOF_LEFT + EG__ROOF_RIGHT) / 2, EG__ROOF_HEIGHT - 8);
}

/* A slope up to the peak, and its name where it begins: above it or, where another slope is near, below;
 * in any case below the name before it. */
static void draw_roof(eg__roofline *a, const char *name, double gbps, double peak, bool below,
                      double *label) {
    if (!(gbps > 0)) return;
    double from = pow(10, a->x0), start = from * gbps;
    if (start < pow(10, a->y0)) {
        start = pow(10, a->y0);
        from = start / gbps;
    }
    *label = fmax(*label + 15, y_of(a, start) + (below ? 16 : -12));
    const double x = x_of(a, from) + 0.5;
    eg__page_put(a->page,
                 "<line class=\"roof\" x1=\"%.2f%%\" y1=\"%.1f\" x2=\"%.2f%%\" y2=\"%.1f\"/><text "
                 "class=\"small name\" x=\"%.2f%%\" y=\"%.1f\">%s</text>\n",
                 x_of(a, from), y_of(a, start), x_of(a, peak / gbps), y_of(a, peak), x, *label,
                 name);
    eg__roofline_block(a, x, *label, name);
}

static void draw_dots(const eg__sheet *s, eg__roofline *a) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    for (size_t i = eg__json_length(operations); i-- > 0;) { /* the longest on top */
        const eg__json_value *row = eg__json_item(operations, i);
        const double x = eg__json_number(row, "intensity"), y = eg__json_number(row, "gflops");
        const double share = eg__json_number(row, "share");
        if (!(x > 0) || !(y > 0)) continue;
        const eg__dot dot = {x_of(a, x), y_of(a, y), 3 + 22 * sqrt(share > 0 ? fmin(share, 1) : 0)};
        eg__page_put(a->page,
                     "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%.1f\"><title>%zu ",
                     dot.x, dot.y, dot.r, i + 1);
        const char *const parts[] = {eg__json_text(row, "operation"), eg__json_text(row, "kernel"),
                                     eg__json_text(row, "shape")};
        for (int k = 0; k < 3; k++) {
            eg__page_escape(s->page, parts[k]);
            eg__page_add(s->page, k < 2 ? " " : ":");
        }
        eg__page_put(a->page,
                     " %.1f %% of the time, %.1f GFLOP/s, %.2f FLOP/byte</title></circle>\n",
                     100 * share, y, x);
        if (i < EG__DOTS) a->dots[i] = dot;
    }
}

/* Names beside the dots of what takes longest; the rest is too small to be looked at first. */
static void draw_names(const eg__sheet *s, eg__roofline *a) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    eg__dot_name names[EG__DOTS];
    size_t count = 0;
    for (size_t i = 0; i < eg__json_length(operations) && i < EG__DOTS; i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        eg__dot_name *n = &names[count];
        if (!(a->dots[i].r > 0) || !(eg__json_number(row, "share") >= 0.01)) continue;
        n->dot = a->dots[i];
        eg__report_print(n->brief, sizeof n->brief, "%zu %.12s", i + 1,
                         eg__json_text(row, "operation"));
        eg__report_print(n->more, sizeof n->more, " %.20s", eg__json_text(row, "shape"));
        eg__report_clip(n->brief);
        eg__report_clip(n->more);
        count++;
    }
    eg__roofline_names(a, count, names);
}

static bool find_axes(const eg__sheet *s, double peak, eg__roofline *a) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    double x0 = 0.05, x1 = 20, low = INFINITY;
    if (!(peak > 0)) return false;
    for (size_t i = 0; i < eg__json_length(operations); i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        const double x = eg__json_number(row, "intensity"), y = eg__json_number(row, "gflops");
        if (x > 0) x0 = fmin(x0, x / 2), x1 = fmax(x1, x * 2);
        if (y > 0) low = fmin(low, y / 2);
    }
    *a = (eg__roofline){.page = s->page,
                        .x0 = log10(x0),
                        .x1 = log10(x1),
                        .y0 = log10(fmin(low, peak / 100)),
                        .y1 = log10(peak * 1.6)};
    return true;
}

void eg__report_roofline(const eg__sheet *s) {
    static const char *const levels[] = {"l1", "l2", "l3", "dram"}, *const names[] = {"L1", "L2",
                                                                                      "L3", "DRAM"};
    const double peak = ceiling(s, "fma");
    eg__roofline a;
    if (!find_axes(s, peak, &a)) {
        eg__page_put(s->page, "<p>unavailable: no ceilings were measured.</p>\n");
        return;
    }
    eg__report_picture(s, EG__ROOF_HEIGHT, "roofline");
    draw_grid(&a);
    eg__page_put(
        s->page,
        "<line class=\"roof\" x1=\"%d%%\" x2=\"%d%%\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d%%\" "
        "y=\"%.1f\" class=\"small\" text-anchor=\"end\">FMA</text>\n",
        EG__ROOF_LEFT, EG__ROOF_RIGHT, y_of(&a, peak), y_of(&a, peak), EG__ROOF_RIGHT,
        y_of(&a, peak) - 6);
    eg__roofline_block(&a, EG__ROOF_RIGHT - 10, y_of(&a, peak) - 6, "FMA     ");
    double label = y_of(&a, peak);
    for (int i = 0; i < 4; i++)
        draw_roof(&a, names[i], ceiling(s, levels[i]), peak, i == 2, &label);
    draw_dots(s, &a);
    draw_names(s, &a);
    eg__page_put(s->page,
                 "</svg>\n<p class=\"small\">One dot per operation, as large as its share of the "
                 "time; the numbers are those of the table below. Measured on this machine: FMA "
                 "%.4g GFLOP/s",
                 peak);
    for (int i = 0; i < 4; i++)
        if (ceiling(s, levels[i]) > 0)
            eg__page_put(s->page, ", %s %.3g GB/s", names[i], ceiling(s, levels[i]));
    eg__page_put(s->page, ". A function such as tanh counts as one FLOP.</p>\n");
}
