/* Names beside the dots of a roofline, none over another. The picture is as wide as the page, so every place is
 * tried at several widths. */
#include "report/roofline.h"

#include <math.h>
#include <string.h>

enum { PHONES = 4, WIDTHS = 7, PLACES = 100 /* half a line apart, both ways, both sides */ };
/* Up to 639 the style leaves the second half of names out. */
static const double widths[WIDTHS] = {300, 358, 480, 639, 640, 760, 928};
static const double LETTER = 6.9, TALL = 15; /* of 12 pixels, in the widest fonts */

typedef struct box {
    double left, right, top, bottom;
} box;

static box box_of(const eg__roof_name *n, int width) {
    const double at = n->x / 100 * widths[width] + n->shift,
                 size = LETTER * (double)(width < PHONES ? n->brief : n->all);
    const double left = n->shift < 0 ? at - size : at;
    return (box){left, left + size, n->y - 11, n->y + TALL - 11};
}

static bool is_over(const box *a, const box *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* The line from a name to its dot. */
static box line_of(const eg__roof_name *n, int width) {
    const double x = n->x / 100 * widths[width];
    return (box){x - 1, x + 1, fmin(n->y - 4, n->dot), fmax(n->y - 4, n->dot)};
}

static bool has_line(const eg__roof_name *n) { return fabs(n->y - 4 - n->dot) > 1; }

/* What a place costs; infinite where a name would cover another. Dots that it covers can still be seen. */
static double cost_of(const eg__roofline *a, const eg__roof_name *n) {
    double cost = fabs(n->y - 4 - n->dot) + (n->shift < 0 ? 1 : 0);
    if (n->y - 11 < EG__ROOF_TOP || n->y + 4 > EG__ROOF_BOTTOM) return INFINITY;
    for (int w = 0; w < WIDTHS; w++) {
        const box here = box_of(n, w), line = line_of(n, w);
        if (here.left < EG__ROOF_LEFT / 100.0 * widths[w] || here.right > widths[w] - 2)
            return INFINITY;
        for (size_t i = 0; i < a->name_count; i++) {
            const box there = box_of(&a->names[i], w), other = line_of(&a->names[i], w);
            if (is_over(&here, &there) || (has_line(n) && is_over(&line, &there)) ||
                (has_line(&a->names[i]) && is_over(&other, &here)))
                return INFINITY;
        }
        for (size_t i = 0; i < EG__DOTS; i++) {
            const eg__dot *d = &a->dots[i];
            const double x = d->x / 100 * widths[w];
            const box dot = {x - d->r, x + d->r, d->y - d->r, d->y + d->r};
            if (d->r > 0 && is_over(&here, &dot)) cost += 20;
        }
    }
    return cost;
}

void eg__roofline_block(eg__roofline *a, double x, double y, const char *text) {
    if (a->name_count == EG__ROOF_NAMES) return;
    const size_t length = strlen(text);
    a->names[a->name_count++] = (eg__roof_name){x, y, y - 4, 0, length, length};
}

/* The best place, if there is one; what it costs. */
static double place(const eg__roofline *a, const eg__dot_name *name, eg__roof_name *best) {
    const eg__dot *dot = &name->dot;
    const size_t letters = strlen(name->brief), all = letters + strlen(name->more);
    double least = INFINITY;
    for (int i = 0; i < PLACES; i++) {
        const int step = i / 2 % 2 ? -(i / 4) : i / 4; /* 0, 0, 0, 0, 1, 1, -1, -1 */
        const double side = i % 2 ? -1 : 1, beside = step ? 5 : dot->r + 4;
        const eg__roof_name n = {
            dot->x, dot->y + step * (TALL / 2) + 4, dot->y, side * beside, letters, all};
        /* within its own dot a name is not beside it */
        if (step && fabs(n.y - 4 - n.dot) < dot->r + TALL / 2) continue;
        const double cost = cost_of(a, &n);
        if (cost < least) least = cost, *best = n;
    }
    return least;
}

/* All names in an order; `at` tells which of them has been placed where, 0 = nowhere. Returns their number. */
static size_t place_all(eg__roofline *a, size_t count, const eg__dot_name names[],
                        const size_t order[], size_t at[]) {
    size_t placed = 0;
    for (size_t i = 0; i < count; i++) {
        eg__roof_name best = {0};
        at[order[i]] = 0;
        if (a->name_count == EG__ROOF_NAMES || place(a, &names[order[i]], &best) == INFINITY)
            continue;
        at[order[i]] = a->name_count;
        a->names[a->name_count++] = best;
        placed++;
    }
    return placed;
}

static void write_name(const eg__roofline *a, const eg__dot_name *name, const eg__roof_name *at) {
    if (has_line(at))
        eg__page_put(a->page,
                     "<line class=\"lead\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
                     at->x, at->x, name->dot.y, at->y - 4);
    eg__page_put(a->page,
                 "<text class=\"name\" x=\"%.2f%%\" dx=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                 at->x, at->shift, at->y, at->shift < 0 ? "end" : "start");
    eg__page_escape(a->page, name->brief);
    eg__page_add(a->page, "<tspan class=\"more\">");
    eg__page_escape(a->page, name->more);
    eg__page_add(a->page, "</tspan></text>\n");
}

/* The most important first; or from the left to the right, where lines of a crowd do not meet, if more find room so. */
void eg__roofline_names(eg__roofline *a, size_t count, const eg__dot_name names[]) {
    size_t order[EG__DOTS], at[EG__DOTS], other_at[EG__DOTS];
    if (!count) return;
    /* what stands there already has the first places, so none of these is 0 */
    if (!a->name_count) eg__roofline_block(a, 0, 0, "");
    eg__roofline other = *a;
    for (size_t i = 0; i < count; i++) order[i] = i;
    const size_t placed = place_all(a, count, names, order, at);
    for (size_t i = 1; i < count; i++) /* insertion: there are few */
        for (size_t k = i; k && names[order[k]].dot.x < names[order[k - 1]].dot.x; k--) {
            const size_t left = order[k];
            order[k] = order[k - 1];
            order[k - 1] = left;
        }
    if (place_all(&other, count, names, order, other_at) > placed) {
        *a = other;
        memcpy(at, other_at, sizeof at);
    }
    for (size_t i = 0; i < count; i++)
        if (at[i]) write_name(a, &names[i], &a->names[at[i]]);
}
