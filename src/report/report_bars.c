/* Bars of a report: a line of text, and the bar below it. Places are shares of the width and heights are
 * pixels, so that letters are as large on a phone as they are on a desk. */
#include "report/report.h"

enum { ROW = 36, TALL = 10 };

void eg__report_picture(const eg__sheet *s, double height, const char *what) {
    eg__page_put(s->page, "<svg height=\"%.0f\" role=\"img\" aria-label=\"%s\"><title>%s</title>\n",
                 height, what, what);
}

void eg__report_bars(const eg__sheet *s, size_t rows, const char *what, const char *from,
                     const char *to) {
    const double y = (double)(rows * ROW) + 16;
    eg__report_picture(s, y + 6, what);
    eg__page_put(s->page,
                 "<text class=\"small\" x=\"0\" y=\"%.0f\">%s</text><text class=\"small\" "
                 "x=\"100%%\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n",
                 y, from, y, to);
}

void eg__report_bar_text(const eg__sheet *s, size_t row, const char *name, const char *value) {
    const double y = (double)(row * ROW) + 16;
    eg__page_put(s->page, "<text x=\"0\" y=\"%.0f\">", y);
    eg__page_escape(s->page, name);
    eg__page_put(s->page,
                 "</text><text class=\"small\" x=\"100%%\" y=\"%.0f\" text-anchor=\"end\">", y);
    eg__page_escape(s->page, value);
    eg__page_put(
        s->page,
        "</text><rect class=\"track\" x=\"0\" y=\"%.0f\" width=\"100%%\" height=\"%d\"/>\n", y + 6,
        TALL);
}

void eg__report_bar_part(const eg__sheet *s, size_t row, double from, double to, const char *class,
                         const char *title) {
    if (!(to > from) || !(from < 1)) return; /* also what is not known */
    from = from > 0 ? from : 0;
    to = to < 1 ? to : 1;
    eg__page_put(
        s->page,
        "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.0f\" width=\"%.2f%%\" height=\"%d\"><title>", class,
        100 * from, (double)(row * ROW) + 22, 100 * (to - from), TALL);
    eg__page_escape(s->page, title);
    eg__page_put(s->page, "</title></rect>\n");
}

void eg__report_bar_range(const eg__sheet *s, size_t row, double from, double to) {
    const double y = (double)(row * ROW) + 22 + TALL / 2.0;
    if (!(to >= from)) return;
    eg__page_put(s->page,
                 "<line class=\"range\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                 100 * from, 100 * (to < 1 ? to : 1), y, y);
}

void eg__report_bar_middle(const eg__sheet *s, size_t row) {
    const double y = (double)(row * ROW) + 22;
    eg__page_put(s->page,
                 "<line class=\"range\" x1=\"50%%\" x2=\"50%%\" y1=\"%.0f\" y2=\"%.0f\"/>\n", y - 2,
                 y + TALL + 2);
}

void eg__report_legend(const eg__sheet *s, const char *class, const char *name) {
    eg__page_put(s->page, "<span class=\"key\"><i class=\"%s\"></i>", class);
    eg__page_escape(s->page, name);
    eg__page_put(s->page, "</span>\n");
}
