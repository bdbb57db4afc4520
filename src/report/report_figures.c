/* Figures as tiles; those that are unavailable share one line, which opens to tell why. */
#include "report/report.h"

#include <math.h>
#include <string.h>

static bool is_known(const eg__json_value *metric) {
    return strcmp(eg__json_text(metric, "provenance"), "unavailable") != 0;
}

static void write_name(eg__page *page, const char *name) {
    for (; *name; name++) eg__page_put(page, "%c", *name == '_' ? ' ' : *name);
}

static void write_tile(eg__page *page, const char *name, const eg__json_value *metric) {
    char value[64];
    const double share = eg__json_number(metric, "value");
    eg__page_add(page, "<div class=\"figure\"><span class=\"dim\">");
    write_name(page, name);
    eg__page_add(page, "</span><b>");
    eg__page_escape(page, eg__report_value(value, metric));
    eg__page_add(page, "</b>");
    if (strcmp(eg__json_text(metric, "unit"), "ratio") == 0 && isfinite(share))
        eg__page_put(page, "<span class=\"meter\"><i style=\"width:%.1f%%\"></i></span>",
                     100 * fmin(fmax(share, 0), 1));
    eg__report_mark(page, eg__json_text(metric, "provenance"), eg__json_text(metric, "source"));
    eg__page_add(page, "</div>\n");
}

/* Calls `each` for those figures that are there, known or not; returns their number. */
static size_t visit(const eg__sheet *s, size_t count, const eg__figures sets[], bool known,
                    void (*each)(eg__page *page, const char *name, const eg__json_value *metric)) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (const char *const *name = sets[i].names; *name; name++) {
            const eg__json_value *metric = eg__json_get(eg__json_get(s->run, sets[i].key), *name);
            if (!metric || is_known(metric) != known) continue;
            if (each && found) eg__page_add(s->page, known ? "" : ", ");
            if (each) each(s->page, *name, metric);
            found++;
        }
    return found;
}

static void write_missing(eg__page *page, const char *name, const eg__json_value *metric) {
    (void)metric;
    write_name(page, name);
}

static void write_reasons(const eg__sheet *s, size_t count, const eg__figures sets[]) {
    eg__page_add(s->page, "<dl>\n");
    for (size_t i = 0; i < count; i++)
        for (const char *const *name = sets[i].names; *name; name++) {
            const eg__json_value *metric = eg__json_get(eg__json_get(s->run, sets[i].key), *name);
            if (!metric || is_known(metric)) continue;
            eg__page_add(s->page, "<dt>");
            write_name(s->page, *name);
            eg__page_add(s->page, "</dt><dd>");
            eg__page_escape(s->page, eg__json_text(metric, "reason"));
            eg__page_add(s->page, "</dd>\n");
        }
    eg__page_add(s->page, "</dl>");
}

void eg__report_figures(const eg__sheet *s, size_t count, const eg__figures sets[]) {
    if (visit(s, count, sets, true, NULL)) {
        eg__page_add(s->page, "<div class=\"grid-of\">\n");
        visit(s, count, sets, true, write_tile);
        eg__page_add(s->page, "</div>\n");
    }
    const size_t missing = visit(s, count, sets, false, NULL);
    if (!missing) return;
    eg__page_put(s->page, "<details class=\"missing\"><summary>%zu unavailable: ", missing);
    visit(s, count, sets, false, write_missing);
    eg__page_add(s->page, "</summary>");
    write_reasons(s, count, sets);
    eg__page_add(s->page, "</details>\n");
}
