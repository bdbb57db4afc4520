/* Bars of a report: a line of text, and the bar below it. Places are shares of the width and heights are
 * pixels, so that letters are as large on a phone as they are on a desk. */
#include "cli/report/report.h"

enum { ROW = 36, TALL = 10 };

void report_picture(const report *r, double height, const char *what) {
    fprintf(r->file, "<svg height=\"%.0f\" role=\"img\" aria-label=\"%s\">\n", height, what);
}

void report_bars(const report *r, size_t rows, const char *what) {
    report_picture(r, (double)(rows * ROW + 4), what);
}

void report_bar_text(const report *r, size_t row, const char *name, const char *value) {
    const double y = (double)(row * ROW) + 16;
    fprintf(r->file, "<text x=\"0\" y=\"%.0f\">", y);
    report_text(r->file, name);
    fprintf(r->file, "</text><text class=\"small\" x=\"100%%\" y=\"%.0f\" text-anchor=\"end\">", y);
    report_text(r->file, value);
    fprintf(r->file,
            "</text><rect class=\"track\" x=\"0\" y=\"%.0f\" width=\"100%%\" height=\"%d\"/>\n",
            y + 6, TALL);
}

void report_bar_part(const report *r, size_t row, double from, double to, const char *class,
                     const char *title) {
    if (!(to > from) || !(from < 1)) return; /* also what is not known */
    from = from > 0 ? from : 0;
    to = to < 1 ? to : 1;
    fprintf(r->file,
            "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.0f\" width=\"%.2f%%\" height=\"%d\"><title>",
            class, 100 * from, (double)(row * ROW) + 22, 100 * (to - from), TALL);
    report_text(r->file, title);
    fprintf(r->file, "</title></rect>\n");
}

void report_bar_range(const report *r, size_t row, double from, double to) {
    const double y = (double)(row * ROW) + 22 + TALL / 2.0;
    if (!(to >= from)) return;
    fprintf(r->file,
            "<line class=\"range\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            100 * from, 100 * (to < 1 ? to : 1), y, y);
}

void report_legend(const report *r, const char *class, const char *name) {
    fprintf(r->file, "<span class=\"key\"><i class=\"%s\"></i>", class);
    report_text(r->file, name);
    fprintf(r->file, "</span>\n");
}
