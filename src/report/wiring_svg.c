/* A wiring as SVG: columns from the senses to the muscles, arrows that excite, bars that inhibit. Light or dark as the
 * viewer prefers; in a browser, the synapses of the unit under the pointer stand out. */
#include "report/report.h"

#include <math.h>

enum { TOP = 92, BOTTOM = 64, SIDE = 70, LEAST_HEIGHT = 220 };

/* c0 to c3: units that sense, are between, command, move; e and i: synapses that excite and inhibit */
static const char STYLE[] =
    "<style>\n"
    "svg{background:#fff}text{fill:#222}.dim{fill:#666}path{fill:none}\n"
    ".e{stroke:#2166ac;marker-end:url(#excites)}#excites path{fill:#2166ac}\n"
    ".i{stroke:#b2182b;marker-end:url(#inhibits)}#inhibits path{stroke:#b2182b}\n"
    ".c0{fill:#eef0e4;stroke:#6d7350}.c1{fill:#e1eaf4;stroke:#466a94}\n"
    ".c2{fill:#ebe1f1;stroke:#73518c}.c3{fill:#f8e4d8;stroke:#a4562f}\n"
    "g.from:hover path{stroke-opacity:1;stroke-width:2}\n"
    "@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#e8e8e8}.dim{fill:#a5a5a5}\n"
    ".e{stroke:#74b3f2}#excites path{fill:#74b3f2}.i{stroke:#ff8a8a}#inhibits path{stroke:#ff8a8a}\n"
    ".c0{fill:#33372a;stroke:#a9b183}.c1{fill:#22324a;stroke:#7fa6d6}\n"
    ".c2{fill:#382b45;stroke:#b48fd0}.c3{fill:#4a2f22;stroke:#dd9468}}\n"
    "</style>\n";

typedef struct point {
    double x, y;
} point;

typedef struct picture {
    eg__page *page;
    const eg_wiring *wiring;
    eg_wiring_info info;
    double step;   /* between units of the fullest column */
    double column; /* between columns: further apart where more lines cross */
    double radius; /* of a unit */
    double ring;   /* of the ring of units, 0 when there are columns */
    double width, height;
    uint64_t synapses[2]; /* that excite, that inhibit */
} picture;

/* Unit-sized things shrink as a column fills, and lose their numbers before they touch. */
static double step_for(uint32_t count) { return count <= 80 ? 28 : count <= 200 ? 15 : 7; }
static bool numbered(const picture *p) { return p->step > 10; }

/* ---- where things are. Column 0 holds the inputs, column 1 the first layer. */

static uint32_t column_size(const picture *p, uint32_t column) {
    return column ? p->info.layer_sizes[column - 1] : p->info.inputs;
}

static double middle(const picture *p) { return TOP + (p->height - TOP - BOTTOM) / 2; }

static point place_of(const picture *p, uint32_t column, uint32_t place) {
    const uint32_t count = column_size(p, column);
    if (column && p->ring > 0) {
        const double angle = 2 * M_PI * (place + 0.5) / count - M_PI / 2;
        return (point){p->width - SIDE - p->ring + p->ring * cos(angle),
                       middle(p) + p->ring * sin(angle)};
    }
    /* short columns spread out, up to a point */
    const double space = (p->height - TOP - BOTTOM) / count;
    const double step = space > 1.8 * p->step ? 1.8 * p->step : space;
    return (point){SIDE + p->column * column, middle(p) + (place - (count - 1) / 2.0) * step};
}

static void measure(picture *p) {
    uint32_t most = p->info.inputs;
    for (uint32_t l = 0; l < p->info.layers; l++)
        if (p->info.layer_sizes[l] > most) most = p->info.layer_sizes[l];
    p->step = step_for(most);
    p->radius = 0.4 * p->step;
    double inner = p->step * most;
    p->column = fmin(420, fmax(210, 0.45 * inner));
    p->width = 2 * SIDE + p->column * p->info.layers;
    if (p->info.layers == 1) {
        p->ring = 1.25 * p->step * p->info.units / (2 * M_PI);
        if (p->ring < 90) p->ring = 90;
        inner = fmax(p->step * p->info.inputs, 2 * p->ring + 2 * p->step);
        p->width = 2 * SIDE + p->column * 0.75 + 2 * p->ring;
    }
    p->height = TOP + BOTTOM + fmax(inner, LEAST_HEIGHT);
}

/* ---- synapses */

static void curve(const picture *p, point from, point a, point b, point to) {
    eg__page_put(p->page, " d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", from.x, from.y,
                 a.x, a.y, b.x, b.y, to.x, to.y);
}

/* The point at a distance from `from` on the way to `to`. */
static point towards(point from, point to, double distance) {
    const double x = to.x - from.x, y = to.y - from.y, length = hypot(x, y);
    if (length < 1e-9) return from;
    return (point){from.x + x * distance / length, from.y + y * distance / length};
}

/* A loop that leaves and meets a unit on the side away from `centre`. */
static void loop(const picture *p, point unit, point centre) {
    const point out = towards(unit, centre, -1);
    const double x = out.x - unit.x, y = out.y - unit.y, r = p->radius;
    const point a = {unit.x + r * (0.8 * x - 0.6 * y), unit.y + r * (0.8 * y + 0.6 * x)};
    const point b = {unit.x + r * (0.8 * x + 0.6 * y), unit.y + r * (0.8 * y - 0.6 * x)};
    const point far_a = {a.x + r * (3.2 * x - 1.6 * y), a.y + r * (3.2 * y + 1.6 * x)};
    const point far_b = {b.x + r * (3.2 * x + 1.6 * y), b.y + r * (3.2 * y - 1.6 * x)};
    curve(p, a, far_a, far_b, b);
}

/* Across the ring, bent towards its middle so that neighbours can be told apart. */
static void chord(const picture *p, point from, point to) {
    const point centre = {p->width - SIDE - p->ring, middle(p)};
    const point a = {from.x + 0.45 * (centre.x - from.x), from.y + 0.45 * (centre.y - from.y)};
    const point b = {to.x + 0.45 * (centre.x - to.x), to.y + 0.45 * (centre.y - to.y)};
    /* two directions between the same units leave a little apart, a little off the centre line */
    const point side_a = {a.x + 0.08 * (to.y - from.y), a.y - 0.08 * (to.x - from.x)};
    const point side_b = {b.x + 0.08 * (to.y - from.y), b.y - 0.08 * (to.x - from.x)};
    curve(p, towards(from, side_a, p->radius), side_a, side_b, towards(to, side_b, p->radius + 1));
}

static void within(const picture *p, point from, point to) {
    const double bend = fmin(0.3 * p->column, 26 + 0.35 * fabs(to.y - from.y));
    const double lean = 0.12 * (to.y - from.y);
    const point a = {from.x + bend, from.y + lean}, b = {to.x + bend, to.y - lean};
    curve(p, towards(from, a, p->radius), a, b, towards(to, b, p->radius + 1));
}

static void synapse(const picture *p, uint32_t column, uint32_t i, uint32_t to, uint32_t k) {
    const point start = place_of(p, column, i), end = place_of(p, to, k);
    if (column == to && i == k) {
        const point centre = {p->ring > 0 ? p->width - SIDE - p->ring : start.x - 1,
                              p->ring > 0 ? middle(p) : start.y};
        loop(p, start, centre);
    } else if (column && p->ring > 0) chord(p, start, end);
    else if (column == to) within(p, start, end);
    else {
        /* nearly straight, so that lines can be followed where many cross; bent a little at both ends, so that
         * arrowheads spread around a unit */
        const double run = 0.35 * (end.x - start.x), lean = 0.25 * (end.y - start.y);
        const point a = {start.x + run, start.y + lean}, b = {end.x - run, end.y - lean};
        curve(p, towards(start, a, p->radius), a, b, towards(end, b, p->radius + 1));
    }
}

static int polarity(const picture *p, uint32_t column, uint32_t i, uint32_t to, uint32_t k) {
    const uint32_t destination = eg_wiring_layer_unit(p->wiring, to - 1, k);
    if (!column) return eg_wiring_sensory(p->wiring, i, destination);
    return eg_wiring_synapse(p->wiring, eg_wiring_layer_unit(p->wiring, column - 1, i),
                             destination);
}

/* Counts the synapses of a unit of both polarities and, when asked, draws them. */
static void walk(const picture *p, uint32_t column, uint32_t i, uint64_t count[2], bool draw) {
    for (uint32_t to = 1; to <= p->info.layers; to++)
        for (uint32_t k = 0; k < column_size(p, to); k++) {
            const int sign = polarity(p, column, i, to, k);
            if (!sign) continue;
            count[sign < 0]++;
            if (!draw) continue;
            eg__page_put(p->page, "<path class=\"%c\"", sign < 0 ? 'i' : 'e');
            synapse(p, column, i, to, k);
        }
}

static void count_synapses(picture *p) {
    for (uint32_t column = 0; column <= p->info.layers; column++)
        for (uint32_t i = 0; i < column_size(p, column); i++)
            walk(p, column, i, p->synapses, false);
}

static void draw_synapses(const picture *p) {
    const uint64_t all = p->synapses[0] + p->synapses[1];
    const double opacity = all < 120 ? 0.85 : all < 500 ? 0.7 : all < 2000 ? 0.5 : 0.25;
    eg__page_put(p->page, "<g stroke-width=\"%s\" stroke-opacity=\"%g\">\n",
                 all < 120   ? "1.3"
                 : all < 500 ? "1.1"
                             : "0.9",
                 opacity);
    for (uint32_t column = 0; column <= p->info.layers; column++)
        for (uint32_t i = 0; i < column_size(p, column); i++) {
            uint64_t count[2] = {0};
            const uint32_t id = column ? eg_wiring_layer_unit(p->wiring, column - 1, i) : i;
            eg__page_put(p->page, "<g class=\"from\"><title>from %s %u</title>\n",
                         column ? eg_wiring_layer_name(&p->info, column - 1) : "sensory", id);
            walk(p, column, i, count, true);
            eg__page_add(p->page, "</g>\n");
        }
    eg__page_add(p->page, "</g>\n");
}

/* ---- units and words */

static void write_text(eg__page *page, const char *text) {
    for (; *text; text++)
        if (*text == '<') eg__page_add(page, "&lt;");
        else if (*text == '&') eg__page_add(page, "&amp;");
        else eg__page_put(page, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
}

static void draw_column(const picture *p, uint32_t column) {
    for (uint32_t i = 0; i < column_size(p, column); i++) {
        const point at = place_of(p, column, i);
        const uint32_t id = column ? eg_wiring_layer_unit(p->wiring, column - 1, i) : i;
        const bool output =
            column && (p->info.layers == 1 ? id < p->info.outputs : column == p->info.layers);
        const int style = output ? 3 : (int)column;
        eg__page_put(p->page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"c%d\"/>\n", at.x,
                     at.y, p->radius, style);
        if (numbered(p))
            eg__page_put(p->page, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\">%u</text>\n",
                         at.x, at.y + 0.36 * p->radius, p->radius, id);
    }
}

static void draw_head(const picture *p, uint32_t column) {
    const double x = column && p->ring > 0 ? p->width - SIDE - p->ring : SIDE + p->column * column;
    eg__page_put(p->page,
                 "<text x=\"%.1f\" y=\"58\" font-size=\"13\" font-weight=\"bold\">%s</text>\n", x,
                 column ? eg_wiring_layer_name(&p->info, column - 1) : "sensory");
    eg__page_put(p->page, "<text x=\"%.1f\" y=\"74\" font-size=\"11\" class=\"dim\">%u</text>\n", x,
                 column_size(p, column));
}

static void draw_legend(const picture *p) {
    static const char *const names[] = {"excitatory", "inhibitory"};
    for (int i = 0; i < 2; i++) {
        const double x = p->width / 2 - 150 + 170 * i, y = p->height - 26;
        eg__page_put(p->page, "<path class=\"%c\" d=\"M%.1f %.1fH%.1f\" stroke-width=\"1.6\"/>\n",
                     "ei"[i], x, y, x + 32);
        eg__page_put(p->page,
                     "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" "
                     "text-anchor=\"start\">%s (%llu)</text>\n",
                     x + 42, y + 4, names[i], (unsigned long long)p->synapses[i]);
    }
}

static void draw(const picture *p, const char *title) {
    eg__page_put(p->page,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                 "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
                 "text-anchor=\"middle\">\n<title>",
                 p->width, p->height, p->width, p->height);
    write_text(p->page, title);
    /* sizes in user units: a marker must not grow with the width of its line */
    eg__page_add(
        p->page,
        "</title>\n<defs>\n"
        "<marker id=\"excites\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"6\" "
        "markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
        "<path d=\"M0 0.4L6 3L0 5.6z\"/></marker>\n"
        "<marker id=\"inhibits\" viewBox=\"0 0 6 6\" refX=\"3\" refY=\"3\" markerWidth=\"6\" "
        "markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
        "<path d=\"M3 0V6\" stroke-width=\"1.6\"/></marker>\n"
        "</defs>\n");
    eg__page_add(p->page, STYLE);
    eg__page_put(p->page, "<text x=\"%.1f\" y=\"28\" font-size=\"14\">", p->width / 2);
    write_text(p->page, title);
    eg__page_add(p->page, "</text>\n");
    draw_synapses(p);
    for (uint32_t column = 0; column <= p->info.layers; column++) draw_column(p, column);
    for (uint32_t column = 0; column <= p->info.layers; column++) draw_head(p, column);
    draw_legend(p);
    eg__page_add(p->page, "</svg>\n");
}

void eg__report_wiring(eg__page *page, const eg_wiring *wiring, const char *title) {
    picture p = {.page = page, .wiring = wiring};
    eg_wiring_info_get(wiring, &p.info);
    measure(&p);
    count_synapses(&p);
    draw(&p, title);
}
