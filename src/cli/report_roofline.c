/* The roofline: what intensity allows on this machine, and where each operation lies. */
#include "report.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 64, RIGHT = 150, TOP = 16, BOTTOM = 46 };

typedef struct axes {
    FILE *file;
    double x0, x1, y0, y1; /* decades */
} axes;

static double x_of(const axes *a, double intensity) {
    return LEFT + (log10(intensity) - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
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
    for (double d = ceil(a->x0); d <= a->x1; d++)
        fprintf(
            a->file,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" "
            "y=\"%d\" text-anchor=\"middle\">%g</text>\n",
            x_of(a, pow(10, d)), x_of(a, pow(10, d)), TOP, HEIGHT - BOTTOM, x_of(a, pow(10, d)),
            HEIGHT - BOTTOM + 18, pow(10, d));
    for (double d = ceil(a->y0); d <= a->y1; d++)
        fprintf(a->file,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
                "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, WIDTH - RIGHT, y_of(a, pow(10, d)), y_of(a, pow(10, d)), LEFT - 8,
                y_of(a, pow(10, d)) + 4, pow(10, d));
    fprintf(a->file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOP per byte moved</text><text "
            "transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, (TOP + HEIGHT - BOTTOM) / 2);
}

/* A slope up to the peak, and its name where it meets it. */
static void draw_roof(const axes *a, const char *name, double gbps, double peak, double label_y) {
    if (!(gbps > 0)) return;
    double from = pow(10, a->x0), start = from * gbps;
    if (start < pow(10, a->y0)) {
        start = pow(10, a->y0);
        from = start / gbps;
    }
    const double knee = peak / gbps;
    fprintf(a->file,
            "<line class=\"roof\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
            "y=\"%.1f\" class=\"small\">%s: %.3g GB/s</text>\n",
            x_of(a, from), y_of(a, start), x_of(a, knee), y_of(a, peak), WIDTH - RIGHT + 10,
            label_y, name, gbps);
}

static void draw_dots(const report *r, const axes *a) {
    const json *operations = json_get(r->run, "operations");
    for (size_t i = json_length(operations); i-- > 0;) { /* the longest on top */
        const json *row = json_item(operations, i);
        const double x = json_number(row, "intensity"), y = json_number(row, "gflops");
        const double share = json_number(row, "share");
        if (!(x > 0) || !(y > 0)) continue;
        fprintf(a->file, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
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
    fprintf(r->file, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"roofline\">\n", WIDTH,
            HEIGHT);
    draw_grid(&a);
    fprintf(r->file,
            "<line class=\"roof\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
            "y=\"%.1f\" class=\"small\">FMA: %.4g GFLOP/s</text>\n",
            LEFT, WIDTH - RIGHT, y_of(&a, peak), y_of(&a, peak), WIDTH - RIGHT + 10,
            y_of(&a, peak) + 4, peak);
    static const char *const levels[] = {"l1", "l2", "l3", "dram"}, *const names[] = {"L1", "L2",
                                                                                      "L3", "DRAM"};
    double label = y_of(&a, peak) + 28;
    for (int i = 0; i < 4; i++) {
        draw_roof(&a, names[i], ceiling(r, levels[i]), peak, label);
        if (ceiling(r, levels[i]) > 0) label += 18;
    }
    draw_dots(r, &a);
    fprintf(r->file,
            "</svg>\n<p class=\"small\">One dot per operation, as large as its share of the time; "
            "ceilings measured on this machine. A function such as tanh counts as one FLOP.</p>\n");
}
