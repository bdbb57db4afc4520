/* The roofline: what intensity allows on this machine, and where each operation lies. */
#include "cli/report/report.h"

#include <math.h>

/* Across in hundredths of the width, down in pixels: letters stay as large as they are. */
enum { LEFT = 9, RIGHT = 98, HEIGHT = 400, TOP = 28, BOTTOM = 46 };

typedef struct axes {
    FILE *file;
    double x0, x1, y0, y1; /* decades */
} axes;

static double x_of(const axes *a, double intensity) {
    return LEFT + (log10(intensity) - a->x0) / (a->x1 - a->x0) * (RIGHT - LEFT);
}
static double y_of(const axes *a, double gflops) {
    return HEIGHT - BOTTOM - (log10(gflops) - a->y0) / (a->y1 - a->y0) * (HEIGHT - TOP - BOTTOM);
}

static double ceiling(const report *r, const char *stem) {
    const json *machine = json_get(r->run, "machine");
    char name[32];
    snprintf(name, sizeof name, "%s_%s", stem, json_number(machine, "threads") > 1 ? "all" : "one");
    return json_number(json_get(json_get(r->run, "ceilings"), name), "value");
}

static void draw_grid(const axes *a) {
    for (double d = ceil(a->x0); d <= a->x1; d++) {
        const double x = x_of(a, pow(10, d));
        fprintf(a->file,
                "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/><text "
                "class=\"small\" x=\"%.2f%%\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                x, x, TOP, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18, pow(10, d));
    }
    for (double d = ceil(a->y0); d <= a->y1; d++) {
        const double y = y_of(a, pow(10, d));
        fprintf(a->file,
                "<line class=\"grid\" x1=\"%d%%\" x2=\"%d%%\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                "class=\"small\" x=\"%d%%\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, RIGHT, y, y, LEFT - 1, y + 4, pow(10, d));
    }
    fprintf(a->file,
            "<text x=\"%d%%\" y=\"%d\" text-anchor=\"middle\">FLOP per byte moved</text><text "
            "x=\"0\" y=\"14\">GFLOP/s</text>\n",
            (LEFT + RIGHT) / 2, HEIGHT - 8);
}

/* A slope up to the peak, and its name where it begins: above it or, where another slope is near, below;
 * in any case below the name before it. */
static void draw_roof(const axes *a, const char *name, double gbps, double peak, bool below,
                      double *label) {
    if (!(gbps > 0)) return;
    double from = pow(10, a->x0), start = from * gbps;
    if (start < pow(10, a->y0)) {
        start = pow(10, a->y0);
        from = start / gbps;
    }
    *label = fmax(*label + 15, y_of(a, start) + (below ? 16 : -12));
    fprintf(a->file,
            "<line class=\"roof\" x1=\"%.2f%%\" y1=\"%.1f\" x2=\"%.2f%%\" y2=\"%.1f\"/><text "
            "class=\"small name\" x=\"%.2f%%\" y=\"%.1f\">%s</text>\n",
            x_of(a, from), y_of(a, start), x_of(a, peak / gbps), y_of(a, peak), x_of(a, from) + 0.5,
            *label, name);
}

static void draw_dots(const report *r, const axes *a) {
    const json *operations = json_get(r->run, "operations");
    for (size_t i = json_length(operations); i-- > 0;) { /* the longest on top */
        const json *row = json_item(operations, i);
        const double x = json_number(row, "intensity"), y = json_number(row, "gflops");
        const double share = json_number(row, "share");
        if (!(x > 0) || !(y > 0)) continue;
        fprintf(a->file, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%.1f\"><title>",
                x_of(a, x), y_of(a, y), 3 + 22 * sqrt(share > 0 ? share : 0));
        const char *const parts[] = {json_text(row, "operation"), json_text(row, "kernel"),
                                     json_text(row, "shape")};
        for (int k = 0; k < 3; k++) {
            report_text(r->file, parts[k]);
            fputc(k < 2 ? ' ' : ':', r->file);
        }
        fprintf(a->file, " %.1f %% of the time, %.1f GFLOP/s, %.2f FLOP/byte</title></circle>\n",
                100 * share, y, x);
    }
}

void report_roofline(const report *r) {
    const double peak = ceiling(r, "fma");
    const json *operations = json_get(r->run, "operations");
    double x0 = 0.05, x1 = 20, low = INFINITY;
    if (!(peak > 0)) {
        fprintf(r->file, "<p>unavailable: no ceilings were measured.</p>\n");
        return;
    }
    for (size_t i = 0; i < json_length(operations); i++) {
        const json *row = json_item(operations, i);
        const double x = json_number(row, "intensity"), y = json_number(row, "gflops");
        if (x > 0) x0 = fmin(x0, x / 2), x1 = fmax(x1, x * 2);
        if (y > 0) low = fmin(low, y / 2);
    }
    const axes a = {r->file, log10(x0), log10(x1), log10(fmin(low, peak / 100)), log10(peak * 1.6)};
    report_picture(r, HEIGHT, "roofline");
    draw_grid(&a);
    fprintf(
        r->file,
        "<line class=\"roof\" x1=\"%d%%\" x2=\"%d%%\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d%%\" "
        "y=\"%.1f\" class=\"small\" text-anchor=\"end\">FMA</text>\n",
        LEFT, RIGHT, y_of(&a, peak), y_of(&a, peak), RIGHT, y_of(&a, peak) - 6);
    static const char *const levels[] = {"l1", "l2", "l3", "dram"}, *const names[] = {"L1", "L2",
                                                                                      "L3", "DRAM"};
    double label = y_of(&a, peak);
    for (int i = 0; i < 4; i++)
        draw_roof(&a, names[i], ceiling(r, levels[i]), peak, i == 2, &label);
    draw_dots(r, &a);
    fprintf(r->file,
            "</svg>\n<p class=\"small\">One dot per operation, as large as its share of the "
            "time. Measured on this machine: FMA %.4g GFLOP/s",
            peak);
    for (int i = 0; i < 4; i++)
        if (ceiling(r, levels[i]) > 0)
            fprintf(r->file, ", %s %.3g GB/s", names[i], ceiling(r, levels[i]));
    fprintf(r->file, ". A function such as tanh counts as one FLOP.</p>\n");
}
