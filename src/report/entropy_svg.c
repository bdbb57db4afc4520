/* Entropy along an input, and the sizes of its patches below, as an SVG legible in light and dark. */
#include "report/report.h"

#include <math.h>

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
    eg__page *page;
    const eg_entropy_curve_info *curve;
    double top, tall, high; /* values from 0 to `high` */
} panel;

static double x_of(const eg_entropy_curve_info *c, double position) {
    return LEFT + position / (double)c->bytes * (WIDTH - LEFT - RIGHT);
}

/* The middle of a column; the last one may be shorter than the others. */
static double x_of_column(const eg_entropy_curve_info *c, size_t i) {
    return x_of(c, (double)i * (double)c->column_bytes + (double)c->columns[i].count / 2);
}

static double y_of(const panel *p, double value) {
    return p->top + p->tall - value / p->high * p->tall;
}

static void draw_grid(const panel *p, const char *name, double step) {
    eg__page_put(p->page, "<text class=\"name\" x=\"%d\" y=\"%.0f\">%s</text>\n", LEFT, p->top - 8,
                 name);
    for (double at = 0; at * step <= p->high * 1.0001; at++) {
        const double y = y_of(p, at * step);
        eg__page_put(p->page,
                     "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                     "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                     LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, at * step);
    }
}

static void draw_positions(const panel *p) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"bytes", 1}};
    size_t unit = 0;
    while (units[unit].bytes > 1 && (double)p->curve->bytes < 4 * units[unit].bytes) unit++;
    const double most = (double)p->curve->bytes / units[unit].bytes;
    const double step = fmax(units[unit].bytes > 1 ? 0 : 1, eg__report_step(most, 10));
    const double y = p->top + p->tall + 18;
    for (double at = 0; at * step <= most; at++)
        eg__page_put(p->page, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                     x_of(p->curve, at * step * units[unit].bytes), y, at * step);
    eg__page_put(p->page, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"middle\">position, %s</text>\n",
                 (LEFT + WIDTH - RIGHT) / 2, y + 20, units[unit].name);
}

static void draw_threshold(const panel *p, double value, const char *text) {
    const double y = y_of(p, value);
    eg__page_put(p->page,
                 "<line class=\"threshold\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                 "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
                 LEFT, WIDTH - RIGHT, y, y, WIDTH - RIGHT + 6, y + 4, text);
}

/* From the least to the most of each column, and the mean. */
static void draw_entropy(const panel *p) {
    const eg_entropy_curve_info *c = p->curve;
    if (c->column_bytes > 1) {
        eg__page_put(p->page, "<polygon class=\"band\" points=\"");
        for (size_t i = 0; i < c->column_count; i++)
            eg__page_put(p->page, "%.1f,%.1f ", x_of_column(c, i),
                         y_of(p, (double)c->columns[i].most));
        for (size_t i = c->column_count; i-- > 0;)
            eg__page_put(p->page, "%.1f,%.1f ", x_of_column(c, i),
                         y_of(p, (double)c->columns[i].least));
        eg__page_put(p->page, "\"/>\n");
    }
    eg__page_put(p->page, "<polyline class=\"mean\" points=\"");
    for (size_t i = 0; i < c->column_count; i++)
        eg__page_put(p->page, "%.1f,%.1f ", x_of_column(c, i),
                     y_of(p, c->columns[i].sum / (double)c->columns[i].count));
    eg__page_put(p->page, "\"/>\n");
}

/* Patches one by one while they can be told apart, else their mean sizes. */
static void draw_sizes(const panel *p) {
    const eg_entropy_curve_info *c = p->curve;
    if (c->patches <= EG_ENTROPY_PATCH_ENDS)
        for (uint64_t i = 0, from = 0; i < c->patches; from = c->patch_ends[i++]) {
            const double y = y_of(p, (double)(c->patch_ends[i] - from));
            eg__page_put(
                p->page,
                "<rect class=\"patch\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                x_of(c, (double)from), y, x_of(c, (double)c->patch_ends[i]) - x_of(c, (double)from),
                p->top + p->tall - y);
        }
    else {
        eg__page_put(p->page, "<polyline class=\"sizes\" points=\"");
        for (size_t i = 0; i < c->column_count; i++)
            eg__page_put(p->page, "%.1f,%.1f ", x_of_column(c, i),
                         y_of(p, c->columns[i].patch_sizes / (double)c->columns[i].count));
        eg__page_put(p->page, "\"/>\n");
    }
}

static double largest_size(const eg_entropy_curve_info *c) {
    double most = 1;
    for (size_t i = 0; i < c->column_count; i++)
        most = fmax(most, c->columns[i].patch_sizes / (double)c->columns[i].count);
    for (uint64_t i = 0, from = 0; i < c->patches && i < EG_ENTROPY_PATCH_ENDS;
         from = c->patch_ends[i++])
        most = fmax(most, (double)(c->patch_ends[i] - from));
    return most;
}

static void draw_head(eg__page *page, int height, const char *title, uint64_t window,
                      const eg_entropy_curve_info *c) {
    eg__page_put(
        page,
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
    eg__page_escape(page, title);
    eg__page_put(
        page,
        "</text><text x=\"%d\" y=\"24\" text-anchor=\"end\">%llu bytes, window of %llu%s</text>\n",
        WIDTH - RIGHT, (unsigned long long)c->bytes, (unsigned long long)window,
        c->column_bytes > 1 ? "; shaded: least to most" : "");
}

void eg__report_entropy(eg__page *page, const eg_entropy_curve_info *c, const char *title,
                        uint64_t window, bool thresholds) {
    const int height = TOP + TALL + BOTTOM + (c->patches ? GAP + SHORT : 0);
    panel above = {page, c, TOP, TALL, 1}, below = {page, c, TOP + TALL + GAP, SHORT, 1};
    draw_head(page, height, title, window, c);
    draw_grid(&above, "entropy, bits / 8", 0.2);
    if (c->bytes) draw_entropy(&above);
    if (thresholds) {
        draw_threshold(&above, c->low, "low");
        draw_threshold(&above, c->high, "high");
    }
    if (c->patches) {
        const double step = fmax(1, eg__report_step(largest_size(c), 4));
        below.high = ceil(largest_size(c) / step) * step;
        draw_grid(&below,
                  c->patches > EG_ENTROPY_PATCH_ENDS ? "size of patches, mean" : "size of patches",
                  step);
        draw_sizes(&below);
    }
    if (c->bytes) draw_positions(c->patches ? &below : &above);
    eg__page_put(page, "</svg>\n");
}
