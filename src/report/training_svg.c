/* Losses over epochs as an SVG that is legible in light and dark. */
#include "report/report.h"

#include <math.h>

enum { WIDTH = 720, HEIGHT = 380, LEFT = 70, RIGHT = 24, TOP = 54, BOTTOM = 46 };

typedef struct plot {
    eg__page *page;
    const eg_fit_result *result;
    double low, high; /* of the losses; logarithms when `log` */
    bool log;
} plot;

static double y_of(const plot *p, double loss) {
    const double v = p->log ? log10(loss) : loss;
    return HEIGHT - BOTTOM - (v - p->low) / (p->high - p->low) * (HEIGHT - TOP - BOTTOM);
}

static double x_of(const plot *p, double epoch) {
    const double most = p->result->history_count > 1 ? (double)p->result->history_count : 2;
    return LEFT + (epoch - 1) / (most - 1) * (WIDTH - LEFT - RIGHT);
}

static void measure(plot *p) {
    double low = INFINITY, high = -INFINITY;
    for (uint64_t i = 0; i < p->result->history_count; i++) {
        const double both[] = {p->result->history[i].loss, p->result->history[i].validation};
        for (int k = 0; k < 2; k++) {
            if (!isfinite(both[k])) continue;
            low = fmin(low, both[k]);
            high = fmax(high, both[k]);
        }
    }
    if (!(low <= high)) low = 0, high = 1;
    p->log = low > 0 && high / low > 8;
    p->low = p->log ? log10(low) : low;
    p->high = p->log ? log10(high) : high;
    const double room = (p->high - p->low) * 0.05 + 1e-12 + 1e-6 * fabs(p->high);
    p->low -= room;
    p->high += room;
}

static void grid_line(const plot *p, double value) {
    const double y = y_of(p, value);
    eg__page_put(p->page,
                 "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                 "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                 LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, value);
}

static void draw_grid(const plot *p) {
    if (p->log) {
        for (double power = floor(p->low); power <= p->high; power++)
            for (int k = 0; k < 3; k++) {
                const double value = (k == 0 ? 1 : k == 1 ? 2 : 5) * pow(10, power);
                if (log10(value) >= p->low && log10(value) <= p->high) grid_line(p, value);
            }
    } else {
        const double step = eg__report_step(p->high - p->low, 6);
        for (double at = ceil(p->low / step); at * step <= p->high; at++) grid_line(p, at * step);
    }
    const double count = (double)p->result->history_count,
                 step = fmax(1, eg__report_step(count, 10));
    for (double epoch = 1; epoch <= count; epoch = epoch == 1 && step > 1 ? step : epoch + step)
        eg__page_put(p->page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                     x_of(p, epoch), HEIGHT - BOTTOM + 18, epoch);
    eg__page_put(p->page, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">epoch</text>\n",
                 (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
}

static void draw_line(const plot *p, bool validation, const char *class) {
    eg__page_put(p->page, "<polyline class=\"%s\" points=\"", class);
    for (uint64_t i = 0; i < p->result->history_count; i++) {
        const eg_fit_epoch *e = &p->result->history[i];
        const double loss = validation ? e->validation : e->loss;
        if (isfinite(loss))
            eg__page_put(p->page, "%.1f,%.1f ", x_of(p, (double)i + 1), y_of(p, loss));
    }
    eg__page_put(p->page, "\"/>\n");
}

static void draw(const plot *p) {
    const eg_fit_result *r = p->result;
    bool validated = false;
    for (uint64_t i = 0; i < r->history_count; i++)
        validated = validated || isfinite(r->history[i].validation);
    eg__page_put(
        p->page,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\""
        "system-ui, sans-serif\" font-size=\"12\">\n<style>svg{background:#fff}text{fill:#333}"
        ".title{font-size:15px;font-weight:600}.grid{stroke:#ddd}.training{stroke:#888}"
        ".validation{stroke:#2166ac}polyline{fill:none;stroke-width:2;stroke-linejoin:round}"
        ".best{fill:#2166ac}@media(prefers-color-scheme:dark){svg{background:#161616}"
        "text{fill:#ccc}.grid{stroke:#333}.validation{stroke:#6baed6}.best{fill:#6baed6}}"
        "</style>\n<text class=\"title\" x=\"%d\" y=\"24\">loss%s</text>\n",
        WIDTH, HEIGHT, LEFT, p->log ? " (logarithmic)" : "");
    draw_grid(p);
    draw_line(p, false, "training");
    eg__page_put(
        p->page,
        "<line class=\"training\" stroke-width=\"2\" x1=\"%d\" x2=\"%d\" y1=\"40\" y2=\"40\"/>"
        "<text x=\"%d\" y=\"44\">training</text>\n",
        LEFT, LEFT + 20, LEFT + 26);
    if (validated) {
        draw_line(p, true, "validation");
        eg__page_put(p->page,
                     "<line class=\"validation\" stroke-width=\"2\" x1=\"%d\" x2=\"%d\" y1=\"40\" "
                     "y2=\"40\"/><text x=\"%d\" y=\"44\">validation</text>\n",
                     LEFT + 100, LEFT + 120, LEFT + 126);
    }
    if (r->best_epoch && isfinite(r->best))
        eg__page_put(
            p->page,
            "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/><text x=\"%d\" y=\"44\" "
            "text-anchor=\"end\">best %.4g at epoch %llu</text>\n",
            x_of(p, (double)r->best_epoch), y_of(p, r->best), WIDTH - RIGHT, r->best,
            (unsigned long long)r->best_epoch);
    eg__page_put(p->page, "</svg>\n");
}

void eg__report_fit(eg__page *page, const eg_fit_result *result) {
    plot p = {.page = page, .result = result};
    measure(&p);
    draw(&p);
}
