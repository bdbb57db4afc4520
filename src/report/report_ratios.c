/* The ratios of a report: figures compared with the requirements of the chip. */
#include "report/report.h"

#include <math.h>

typedef struct row {
    const char *name, *provenance, *verdict; /* the verdict, or why there is none */
    char value[64], limit[64], ratio[64];
} row;

static row row_of(const eg__json_value *item) {
    const eg__json_value *ratio = eg__json_get(item, "ratio");
    const bool known = isfinite(eg__json_number(ratio, "value"));
    row out = {.name = eg__json_text(item, "name"),
               .provenance = eg__json_text(ratio, "provenance"),
               .verdict = known ? eg__json_text(item, "verdict") : eg__json_text(ratio, "reason")};
    eg__report_value(out.value, eg__json_get(item, "value"));
    eg__report_value(out.limit, eg__json_get(item, "limit"));
    eg__report_value(out.ratio, ratio);
    return out;
}

void eg__report_ratios_html(const eg__sheet *s) {
    const eg__json_value *list = eg__json_get(s->run, "ratios");
    if (!eg__json_length(list)) return;
    static const char *const heads[] = {"<ratio", "<provenance", "run",
                                        "asked",  "ratio",       "<verdict"};
    eg__page_add(s->page, "<h2>Ratios</h2>\n");
    eg__report_table(s->page, "ratios", 6, heads);
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *item = eg__json_item(list, i);
        const row w = row_of(item);
        eg__page_add(s->page, "<tr title=\"");
        eg__page_escape(s->page, eg__json_text(item, "text"));
        eg__page_add(s->page, "\">");
        eg__report_cell_name(s->page, w.name);
        eg__page_add(s->page, "<td class=\"t\">");
        eg__report_mark(s->page, w.provenance, "");
        eg__page_add(s->page, "</td>");
        eg__report_cell(s->page, w.value);
        eg__report_cell(s->page, w.limit);
        eg__report_cell(s->page, w.ratio);
        eg__report_cell_text(s->page, w.verdict);
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
}

void eg__report_ratios_markdown(const eg__sheet *s) {
    const eg__json_value *list = eg__json_get(s->run, "ratios");
    if (!eg__json_length(list)) return;
    eg__page_put(s->page, "\n## Ratios\n\n| ratio | run | asked | ratio | provenance | verdict |\n"
                          "|---|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const row w = row_of(eg__json_item(list, i));
        const char *const cells[] = {w.name, w.value, w.limit, w.ratio, w.provenance, w.verdict};
        eg__report_row(s, 6, cells);
    }
}
