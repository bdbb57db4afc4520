/* Entropy along an input, and the sizes of its patches below, as an SVG legible in light and dark. */
#include "cli/commands/entropy.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 860,
    LEFT = 56,
    RIGHT = 44,
    TOP = 62,
    TALL = 220,
    GAP = 46,
    SHORT = 120,
    BOTTOM = 48
};

/* One of the two panels. */
typedef struct panel {
    FILE *file;
    const entropy_curve *curve;
    double top, tall, high; /* values from 0 to `high` */
} panel;

static double x_of(const entropy_curve *c, double place) {
    return LEFT + place / (double)c->bytes * (WIDTH - LEFT - RIGHT);
}

/* The middle of a column; the last one may be shorter than the others. */
static double x_of_column(const entropy_curve *c, size_t i) {
    return x_of(c, (double)i * (double)c->per + (double)c->columns[i].count / 2);
}

static double y_of(const panel *p, double value) {
    return p->top + p->tall - value / p->high * p->tall;
}

static double step_for(double range, double most) {
    const double rough = range / most, power = pow(10, floor(log10(rough)));
    return (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1) * power;
}

static void draw_grid(const panel *p, const char *name, double step) {
    fprintf(p->file, "<text class=\"name\" x=\"%d\" y=\"%.0f\">%s</text>\n", LEFT, p->top - 8,
            name);
    for (double at = 0; at * step <= p->high * 1.0001; at++) {
        const double y = y_of(p, at * step);
        fprintf(p->file,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, at * step);
    }
}

static void draw_places(const panel *p) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"bytes", 1}};
    size_t unit = 0;
    while (units[unit].bytes > 1 && (double)p->curve->bytes < 4 * units[unit].bytes) unit++;
    const double most = (double)p->curve->bytes / units[unit].bytes;
    const double step = fmax(units[unit].bytes > 1 ? 0 : 1, step_for(most, 10));
    const double y = p->top + p->tall + 18;
    for (double at = 0; at * step <= most; at++)
        fprintf(p->file, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                x_of(p->curve, at * step * units[unit].bytes), y, at * step);
    fprintf(p->file, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"middle\">place, %s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, y + 20, units[unit].name);
}

static void draw_threshold(const panel *p, double value, const char *text) {
    const double y = y_of(p, value);
    fprintf(p->file,
            "<line class=\"threshold\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
            LEFT, WIDTH - RIGHT, y, y, WIDTH - RIGHT + 6, y + 4, text);
}

/* From the least to the most of each column, and the mean. */
static void draw_entropy(const panel *p) {
    const entropy_curve *c = p->curve;
    if (c->per > 1) {
        fprintf(p->file, "<polygon class=\"band\" points=\"");
        for (size_t i = 0; i < c->count; i++)
            fprintf(p->file, "%.1f,%.1f ", x_of_column(c, i), y_of(p, (double)c->columns[i].most));
        for (size_t i = c->count; i-- > 0;)
            fprintf(p->file, "%.1f,%.1f ", x_of_column(c, i), y_of(p, (double)c->columns[i].least));
        fprintf(p->file, "\"/>\n");
    }
    fprintf(p->file, "<polyline class=\"mean\" points=\"");
    for (size_t i = 0; i < c->count; i++)
        fprintf(p->file, "%.1f,%.1f ", x_of_column(c, i),
                y_of(p, c->columns[i].sum / (double)c->columns[i].count));
    fprintf(p->file, "\"/>\n");
}

/* Patches one by one while they can be told apart, else their mean sizes. */
static void draw_sizes(const panel *p) {
    const entropy_curve *c = p->curve;
    if (c->patches <= CURVE_CUTS)
        for (uint64_t i = 0, from = 0; i < c->patches; from = c->cuts[i++]) {
            const double y = y_of(p, (double)(c->cuts[i] - from));
            fprintf(
                p->file,
                "<rect class=\"patch\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                x_of(c, (double)from), y, x_of(c, (double)c->cuts[i]) - x_of(c, (double)from),
                p->top + p->tall - y);
        }
    else {
        fprintf(p->file, "<polyline class=\"sizes\" points=\"");
        for (size_t i = 0; i < c->count; i++)
            fprintf(p->file, "%.1f,%.1f ", x_of_column(c, i),
                    y_of(p, c->columns[i].sizes / (double)c->columns[i].count));
        fprintf(p->file, "\"/>\n");
    }
}

static double largest_size(const entropy_curve *c) {
    double most = 1;
    for (size_t i = 0; i < c->count; i++)
        most = fmax(most, c->columns[i].sizes / (double)c->columns[i].count);
    for (uint64_t i = 0, from = 0; i < c->patches && i < CURVE_CUTS; from = c->cuts[i++])
        most = fmax(most, (double)(c->cuts[i] - from));
    return most;
}

static void draw_head(FILE *file, int height, const char *title, uint64_t window,
                      const entropy_curve *c) {
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\""
            "system-ui, sans-serif\" font-size=\"12\">\n<style>svg{background:#fff}text{fill:#333}"
            ".title{font-size:15px;font-weight:600}.name{font-weight:600}.grid{stroke:#ddd}"
            ".band{fill:#2166ac;opacity:.22}polyline{fill:none;stroke-width:1.5;"
            "stroke-linejoin:round}.mean{stroke:#2166ac}.sizes{stroke:#b35806}"
            ".patch{fill:#b35806;fill-opacity:.3;stroke:#b35806;stroke-width:.7}"
            ".threshold{stroke:#777;stroke-dasharray:5 4}@media(prefers-color-scheme:dark){"
            "svg{background:#161616}text{fill:#ccc}.grid{stroke:#333}.band{fill:#6baed6}"
            ".mean{stroke:#6baed6}.sizes{stroke:#fdae61}.patch{fill:#fdae61;stroke:#fdae61}"
            ".threshold{stroke:#999}}</style>\n<text class=\"title\" x=\"%d\" y=\"24\">",
            WIDTH, height, LEFT);
    output_escaped(file, title);
    fprintf(
        file,
        "</text><text x=\"%d\" y=\"24\" text-anchor=\"end\">%llu bytes, window of %llu%s</text>\n",
        WIDTH - RIGHT, (unsigned long long)c->bytes, (unsigned long long)window,
        c->per > 1 ? "; shaded: least to most" : "");
}

static void draw(FILE *file, const char *title, uint64_t window, const entropy_curve *c,
                 bool thresholds) {
    const int height = TOP + TALL + BOTTOM + (c->patches ? GAP + SHORT : 0);
    panel above = {file, c, TOP, TALL, 1}, below = {file, c, TOP + TALL + GAP, SHORT, 1};
    draw_head(file, height, title, window, c);
    draw_grid(&above, "entropy, bits / 8", 0.2);
    if (c->bytes) draw_entropy(&above);
    if (thresholds) {
        draw_threshold(&above, c->low, "low");
        draw_threshold(&above, c->high, "high");
    }
    if (c->patches) {
        const double step = fmax(1, step_for(largest_size(c), 4));
        below.high = ceil(largest_size(c) / step) * step;
        draw_grid(&below, c->patches > CURVE_CUTS ? "size of patches, mean" : "size of patches",
                  step);
        draw_sizes(&below);
    }
    if (c->bytes) draw_places(c->patches ? &below : &above);
    fprintf(file, "</svg>\n");
}

int entropy_svg_write(const char *path, const char *title, uint64_t window,
                      const entropy_curve *curve, bool thresholds) {
    output_file file;
    const int code = output_begin(&file, path);
    if (code) return code;
    draw(file.file, title, window, curve, thresholds);
    return output_end(&file);
}
