/* Times of one model over dates as an SVG that is legible in light and dark: a marker for each run, baselines named. */
#include "report/history.h"

#include <math.h>
#include <string.h>

static double y_of(const eg__history_plot *p, double seconds) {
    return EG__PLOT_BOTTOM -
           (seconds - p->low) / (p->high - p->low) * (EG__PLOT_BOTTOM - EG__PLOT_TOP);
}

static double x_of(const eg__history_plot *p, size_t index) {
    return eg__history_x(p, p->dated ? p->runs[index].time : (int64_t)index + 1);
}

/* ---- axes */
static bool is_drawn(const eg_report_run *run) { return isfinite(run->seconds); }

/* From 0, except where all times are close to one another and nothing could be told apart. */
static void find_values(eg__history_plot *p) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        if (!is_drawn(&p->runs[i])) continue;
        low = fmin(low, fmin(p->runs[i].seconds, p->runs[i].low));
        high = fmax(high, fmax(p->runs[i].seconds, p->runs[i].high));
    }
    if (!(low <= high) || !isfinite(high - low)) low = 0, high = 1;
    if (!(low > high / 2)) low = fmin(low, 0);
    const double room = high > low ? 0.08 * (high - low) : high > 0 ? 0.1 * high : 1;
    p->high = high + room;
    p->low = low > 0 ? low - room : low;
}

static void draw_values(const eg__history_plot *p) {
    const double most = fmax(fabs(p->low), fabs(p->high));
    const double scale = most < 1e-6 ? 1e9 : most < 1e-3 ? 1e6 : most < 1 ? 1e3 : 1;
    const char *unit = scale == 1e9 ? "ns" : scale == 1e6 ? "us" : scale == 1e3 ? "ms" : "s";
    const double step = eg__report_step((p->high - p->low) * scale, 6);
    for (double at = ceil(p->low * scale / step); at * step <= p->high * scale; at++) {
        const double y = y_of(p, at * step / scale);
        eg__page_put(p->page,
                     "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                     "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                     EG__PLOT_LEFT, EG__PLOT_RIGHT, y, y, EG__PLOT_LEFT - 8, y + 4,
                     at == 0 ? 0 : at * step);
    }
    eg__page_put(p->page, "<text x=\"%d\" y=\"46\" text-anchor=\"end\">%s</text>\n",
                 EG__PLOT_LEFT - 8, unit);
    if (p->low > 0)
        eg__page_put(p->page,
                     "<text class=\"note\" x=\"%d\" y=\"46\">the axis does not begin at 0</text>\n",
                     EG__PLOT_LEFT);
}

/* ---- runs */
static void write_about(const eg__history_plot *p, size_t index) {
    const eg_report_run *r = &p->runs[index];
    char date[32], a[32], b[32];
    eg__page_add(p->page, "<title>");
    if (r->name) {
        eg__page_escape(p->page, r->name);
        eg__page_add(p->page, ": ");
    }
    eg__page_put(p->page, "%s", eg__report_seconds(a, r->seconds));
    if (isfinite(r->low) && isfinite(r->high))
        eg__page_put(p->page, " (95 %%: %s to %s)", eg__report_seconds(a, r->low),
                     eg__report_seconds(b, r->high));
    if (p->dated) eg__page_put(p->page, ", %s", eg__report_date(date, (double)r->time));
    eg__page_add(p->page, "</title>");
}

static void draw_run(const eg__history_plot *p, size_t index) {
    const eg_report_run *r = &p->runs[index];
    const double x = x_of(p, index), y = y_of(p, r->seconds);
    if (isfinite(r->low) && isfinite(r->high))
        eg__page_put(p->page,
                     "<line class=\"range\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x,
                     x, y_of(p, r->low), y_of(p, r->high));
    if (r->name)
        eg__page_put(p->page, "<path class=\"baseline\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\">", x,
                     y - 6);
    else eg__page_put(p->page, "<circle class=\"run\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\">", x, y);
    write_about(p, index);
    eg__page_add(p->page, r->name ? "</path>\n" : "</circle>\n");
}

/* Each name above its marker, in the first of some rows in which none is in its way. */
static void draw_names(const eg__history_plot *p) {
    enum { ROWS = 3, LETTERS = 22 };
    double until[ROWS] = {-1, -1, -1};
    for (size_t i = 0; i < p->count; i++) {
        char name[LETTERS + 1];
        if (!p->runs[i].name || !is_drawn(&p->runs[i])) continue;
        eg__report_print(name, sizeof name, "%s", p->runs[i].name);
        eg__report_clip(name);
        const double wide = 7.0 * (double)strlen(name);
        const double x =
            fmin(fmax(x_of(p, i), EG__PLOT_LEFT + wide / 2), EG__PLOT_RIGHT - wide / 2);
        int row = 0;
        while (row < ROWS && until[row] > x - wide / 2) row++;
        if (row == ROWS) continue; /* the marker still tells it */
        until[row] = x + wide / 2 + 6;
        const double y = EG__PLOT_TOP + 12 + 15 * row;
        eg__page_put(p->page,
                     "<line class=\"lead\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                     "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                     x_of(p, i), x_of(p, i), y + 3, y_of(p, p->runs[i].seconds), x, y);
        eg__page_escape(p->page, name);
        eg__page_add(p->page, "</text>\n");
    }
}

static void draw_line(const eg__history_plot *p) {
    eg__page_add(p->page, "<polyline points=\"");
    for (size_t i = 0; i < p->count; i++)
        if (is_drawn(&p->runs[i]))
            eg__page_put(p->page, "%.1f,%.1f ", x_of(p, i), y_of(p, p->runs[i].seconds));
    eg__page_add(p->page, "\"/>\n");
    for (size_t i = p->count; i-- > 0;) /* the newest baseline, across */
        if (p->runs[i].name && is_drawn(&p->runs[i])) {
            const double y = y_of(p, p->runs[i].seconds);
            eg__page_put(p->page,
                         "<line class=\"level\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                         EG__PLOT_LEFT, EG__PLOT_RIGHT, y, y);
            break;
        }
}

static void draw_frame(const eg__history_plot *p, const char *title) {
    eg__page_put(p->page,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
                 "font-family=\"system-ui, sans-serif\" font-size=\"12\"><title>median time: ",
                 EG__PLOT_WIDTH, EG__PLOT_HEIGHT);
    eg__page_escape(p->page, title);
    eg__page_put(
        p->page,
        "</title>\n<style>svg{background:#fff}text{fill:#333}.title{font-size:15px;font-weight:600}"
        ".note,.key{fill:#5f6368}.grid{stroke:#ddd}.axis{stroke:#888}.range{stroke:#888}"
        ".lead{stroke:#bbb}polyline{fill:none;stroke:#2166ac;stroke-width:1.5;stroke-linejoin:round;"
        "stroke-opacity:.5}.run{fill:#2166ac}.baseline{fill:#b2182b}.level{stroke:#b2182b;"
        "stroke-dasharray:5 4}.name{paint-order:stroke;stroke:#fff;stroke-width:4px}"
        "@media(prefers-color-scheme:dark){svg{background:#161616}text{fill:#ccc}.note,.key{fill:"
        "#9aa0a6}.grid{stroke:#333}.lead{stroke:#555}polyline{stroke:#6baed6}.run{fill:#6baed6}"
        ".baseline{fill:#f4a582}.level{stroke:#f4a582}.name{stroke:#161616}}</style>\n"
        "<text class=\"title\" x=\"%d\" y=\"24\">median time: ",
        EG__PLOT_LEFT);
    eg__page_escape(p->page, title);
    eg__page_add(p->page, "</text>\n");
}

static void draw_key(const eg__history_plot *p) {
    const double y = EG__PLOT_HEIGHT - 14;
    bool named = false;
    for (size_t i = 0; i < p->count; i++) named = named || p->runs[i].name;
    eg__page_put(p->page,
                 "<circle class=\"run\" cx=\"%d\" cy=\"%.1f\" r=\"3.5\"/><text class=\"key\" "
                 "x=\"%d\" y=\"%.1f\">run, with its 95 %% interval</text>\n",
                 EG__PLOT_LEFT + 6, y - 4, EG__PLOT_LEFT + 16, y);
    if (named)
        eg__page_put(p->page,
                     "<path class=\"baseline\" d=\"M%d %.1fl6 6l-6 6l-6 -6z\"/><text class=\"key\" "
                     "x=\"%d\" y=\"%.1f\">baseline; the line is the newest</text>\n",
                     EG__PLOT_LEFT + 226, y - 10, EG__PLOT_LEFT + 238, y);
    eg__page_put(p->page, "<text class=\"key\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                 EG__PLOT_RIGHT, y, p->dated ? "time, UTC" : "from the oldest to the newest");
}

void eg__report_history(eg__page *page, const char *title, const eg_report_run *runs, size_t count,
                        bool dated) {
    eg__history_plot p = {.page = page, .runs = runs, .count = count, .dated = dated};
    find_values(&p);
    eg__history_span(&p);
    draw_frame(&p, title);
    draw_values(&p);
    eg__history_axis(&p);
    eg__page_put(page, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
                 EG__PLOT_LEFT, EG__PLOT_RIGHT, EG__PLOT_BOTTOM, EG__PLOT_BOTTOM);
    draw_line(&p);
    for (size_t i = 0; i < count; i++)
        if (is_drawn(&runs[i])) draw_run(&p, i);
    draw_names(&p);
    draw_key(&p);
    eg__page_add(page, "</svg>\n");
}
