/* Tables of pages: headers that belong to rows and columns, and a frame that scrolls when a table is too wide. */
#include "report/report.h"

#include <math.h>

void eg__report_table(eg__page *page, const char *what, size_t count, const char *const heads[]) {
    eg__page_put(
        page, "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table>", what);
    if (count) eg__page_add(page, "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        const bool text = heads[i][0] == '<';
        eg__page_put(page, "<th scope=\"col\"%s>%s</th>", text ? " class=\"t\"" : "",
                     heads[i] + text);
    }
    eg__page_put(page, "%s<tbody>\n", count ? "</tr></thead>" : "");
}

void eg__report_table_end(eg__page *page) { eg__page_add(page, "</tbody></table></div>\n"); }

void eg__report_cell_name(eg__page *page, const char *text) {
    eg__page_add(page, "<th scope=\"row\">");
    eg__page_escape(page, text);
    eg__page_add(page, "</th>");
}

void eg__report_cell_text(eg__page *page, const char *text) {
    eg__page_add(page, "<td class=\"t\">");
    eg__page_escape(page, text);
    eg__page_add(page, "</td>");
}

void eg__report_cell(eg__page *page, const char *text) {
    eg__page_add(page, "<td>");
    eg__page_escape(page, text);
    eg__page_add(page, "</td>");
}

void eg__report_cell_number(eg__page *page, const char *format, double value) {
    char text[64] = "-";
    if (isfinite(value)) eg__report_print(text, sizeof text, format, value);
    eg__report_cell(page, text);
}

void eg__report_cell_count(eg__page *page, double value) {
    char text[48];
    eg__report_cell(page, eg__report_count(text, value));
}

void eg__report_mark(eg__page *page, const char *provenance, const char *source) {
    eg__page_add(page, "<span class=\"mark ");
    eg__page_escape(page, provenance);
    if (source[0]) {
        eg__page_add(page, "\" title=\"");
        eg__page_escape(page, source);
    }
    eg__page_add(page, "\">");
    eg__page_escape(page, provenance);
    eg__page_add(page, "</span>");
}
