/* The curve of a training: its losses, and those of the validation below or above them. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>

typedef struct range {
    double least, most;
} range;

static range range_of(const eg_published *p) {
    range r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < p->loss_count; i++) {
        r.least = fmin(r.least, fmin(p->losses[i].loss, p->losses[i].validation));
        r.most = fmax(r.most, fmax(p->losses[i].loss, p->losses[i].validation));
    }
    return r;
}

/* Between the epochs that have one, on the line from one to the next. */
static double validation_at(const eg_published *p, size_t index) {
    size_t before = index, after = index;
    while (before > 0 && isnan(p->losses[before].validation)) before--;
    while (after + 1 < p->loss_count && isnan(p->losses[after].validation)) after++;
    const double a = p->losses[before].validation, b = p->losses[after].validation;
    if (before == after || isnan(b)) return a;
    return isnan(a) ? NAN : a + (b - a) * (double)(index - before) / (double)(after - before);
}

void view_loss(const eg_published *p, grid *g, grid_area a) {
    enum { LABEL = 9 };
    double loss[EG_LOSS_POINTS], validation[EG_LOSS_POINTS];
    const range r = range_of(p);
    /* from 1000 down to 1, all that happens below 100 would be one row */
    const bool logarithmic = r.least > 0 && r.most > 20 * r.least;
    const double least = logarithmic ? log(r.least) : r.least,
                 most = logarithmic ? log(r.most) : r.most;
    int count = 0;
    bool validated = false;
    for (size_t i = 0; i < p->loss_count && count < EG_LOSS_POINTS; i++, count++) {
        const double at = validation_at(p, i);
        validated |= !isnan(at);
        loss[count] = logarithmic ? log(p->losses[i].loss) : p->losses[i].loss;
        validation[count] = logarithmic ? log(at) : at;
    }
    if (a.rows < 2 || a.columns < LABEL + 4 || count < 2) return;
    grid_print(g, a.top, a.left, LABEL - 1, GRID_DIM, "%.3g", r.most);
    grid_print(g, a.top + a.rows - 1, a.left, LABEL - 1, GRID_DIM, "%.3g", r.least);
    if (logarithmic && a.rows > 2) grid_text(g, a.top + 1, a.left, LABEL - 1, GRID_DIM, "log");
    const grid_area graph = {a.top, a.left + LABEL, a.rows, a.columns - LABEL};
    if (validated) grid_curve(g, graph, validation, count, least, most, GRID_MIDDLE);
    grid_curve(g, graph, loss, count, least, most, GRID_CURVE);
}
