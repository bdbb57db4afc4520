/* The ratios of a report: figures beside what is asked of the chip. */
#include "cli/report/report.h"

#include <math.h>

typedef struct row {
    const char *name, *provenance, *verdict; /* the verdict, or why there is none */
    char value[64], limit[64], ratio[64];
} row;

static row row_of(const json *item) {
    const json *ratio = json_get(item, "ratio");
    const bool known = isfinite(json_number(ratio, "value"));
    row out = {.name = json_text(item, "name"),
               .provenance = json_text(ratio, "provenance"),
               .verdict = known ? json_text(item, "verdict") : json_text(ratio, "reason")};
    report_value(out.value, json_get(item, "value"));
    report_value(out.limit, json_get(item, "limit"));
    report_value(out.ratio, ratio);
    return out;
}

void report_ratios_html(const report *r) {
    const json *list = json_get(r->run, "ratios");
    if (!json_length(list)) return;
    fprintf(r->file, "<h2>Ratios</h2><div class=\"wide\"><table><tr><th>ratio</th><th></th><th>run"
                     "</th><th>asked</th><th>ratio</th><th>verdict</th></tr>\n");
    for (size_t i = 0; i < json_length(list); i++) {
        const json *item = json_item(list, i);
        const row w = row_of(item);
        fprintf(r->file, "<tr title=\"");
        report_text(r->file, json_text(item, "text"));
        fprintf(r->file, "\"><td>");
        report_text(r->file, w.name);
        fprintf(r->file, "</td><td><span class=\"mark ");
        report_text(r->file, w.provenance);
        fprintf(r->file, "\">");
        report_text(r->file, w.provenance);
        fprintf(r->file, "</span></td>");
        const char *const cells[] = {w.value, w.limit, w.ratio, w.verdict};
        for (int k = 0; k < 4; k++) {
            fprintf(r->file, "<td>");
            report_text(r->file, cells[k]);
            fprintf(r->file, "</td>");
        }
        fprintf(r->file, "</tr>\n");
    }
    fprintf(r->file, "</table></div>\n");
}

void report_ratios_markdown(const report *r) {
    const json *list = json_get(r->run, "ratios");
    if (!json_length(list)) return;
    fprintf(r->file, "\n## Ratios\n\n| ratio | run | asked | ratio | provenance | verdict |\n"
                     "|---|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < json_length(list); i++) {
        const row w = row_of(json_item(list, i));
        const char *const cells[] = {w.name, w.value, w.limit, w.ratio, w.provenance, w.verdict};
        report_row(r, 6, cells);
    }
}
