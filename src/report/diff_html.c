/* Two runs compared, as one page: the verdict and what it may come from first, then time, operations, figures. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

static void write_date(eg__page *page, double seconds) {
    char date[32];
    if (!(seconds > 0)) return;
    eg__page_put(page, ", %s", eg__report_date(date, seconds));
}

static void write_side(const eg__sheet *s, const char *key) {
    const eg__json_value *side = eg__json_get(s->run, key);
    char runs[48];
    eg__page_put(s->page, "%s: <b>", strcmp(key, "old") == 0 ? "first" : "second");
    eg__page_escape(s->page, eg__json_text(side, "name"));
    const double count = eg__json_number(side, "runs");
    eg__page_put(s->page, "</b> (%s run%s", eg__report_count(runs, count), count > 1 ? "s" : "");
    write_date(s->page, eg__json_number(side, "measured_at"));
    eg__page_add(s->page, ")");
}

static void write_begin(const eg__sheet *s) {
    char batch[48], seq[48], around[400];
    const double steps = eg__json_number(s->run, "seq");
    eg__report_head(s->page, eg__json_text(s->run, "model"));
    eg__page_add(s->page, "<main>\n<h1>");
    eg__page_escape(s->page, eg__json_text(s->run, "model"));
    eg__page_put(s->page, "</h1><p class=\"dim\">batch %s, %s step%s; ",
                 eg__report_count(batch, eg__json_number(s->run, "batch")),
                 eg__report_count(seq, steps), steps > 1 ? "s" : "");
    write_side(s, "old");
    eg__page_add(s->page, "; ");
    write_side(s, "new");
    eg__page_put(s->page, "</p>\n<section class=\"top\"><div class=\"verdict %s\">",
                 eg__diff_class(eg__json_text(s->run, "judgement")));
    eg__page_escape(s->page, eg__json_text(s->run, "verdict"));
    if (eg__diff_around(around, s->run)[0]) {
        eg__page_add(s->page, "<p><b>Not the same environment</b>, so the change may come from "
                              "there: ");
        eg__page_escape(s->page, around);
        eg__page_add(s->page, "</p>");
    }
    static const char *const keys[] = {"old", "new"};
    for (int i = 0; i < 2; i++) {
        const eg__json_value *side = eg__json_get(s->run, keys[i]);
        if (!eg__json_text(side, "noise")[0]) continue;
        eg__page_add(s->page, "<p>Noisy: in ");
        eg__page_escape(s->page, eg__json_text(side, "name"));
        eg__page_add(s->page, ", ");
        eg__page_escape(s->page, eg__json_text(side, "noise"));
        eg__page_add(s->page, "</p>");
    }
    eg__page_add(s->page, "</div></section>\n");
}

static void write_judgement(eg__page *page, const char *judgement) {
    const char *class = eg__diff_class(judgement);
    eg__page_put(page, "<td class=\"t %s\">%s", class, class[0] ? "<b>" : "");
    eg__page_escape(page, judgement);
    eg__page_put(page, "%s</td>", class[0] ? "</b>" : "");
}

static void write_change(eg__page *page, const eg__json_value *row) {
    char change[32];
    eg__report_cell(page, eg__diff_percent(change, eg__json_number(row, "change")));
    write_judgement(page, eg__json_text(row, "judgement"));
}

/* ---- time */
static const char *seconds_or(char out[32], double seconds) {
    if (isfinite(seconds)) return eg__report_seconds(out, seconds);
    eg__report_print(out, 32, "-");
    return out;
}

/* Both medians on one scale, with their intervals. */
static void draw_medians(const eg__sheet *s, const eg__json_value *row) {
    static const char *const keys[] = {"old", "new"};
    double most = 0;
    char whole[32];
    for (int i = 0; i < 2; i++) {
        const eg__json_value *t = eg__json_get(row, keys[i]);
        most = fmax(most, fmax(eg__json_number(t, "value"), eg__json_number(t, "high")));
    }
    eg__report_bars(s, 2, "median times of both", "0", eg__report_seconds(whole, most));
    for (size_t i = 0; i < 2; i++) {
        const eg__json_value *t = eg__json_get(row, keys[i]);
        char value[96], a[32], b[32], c[32];
        eg__report_print(
            value, sizeof value, "%s (95 %%: %s to %s)", seconds_or(a, eg__json_number(t, "value")),
            seconds_or(b, eg__json_number(t, "low")), seconds_or(c, eg__json_number(t, "high")));
        eg__report_bar_text(s, i, i ? "second" : "first", value);
        eg__report_bar_part(s, i, 0, eg__json_number(t, "value") / most, i ? "bar" : "bar third",
                            "median, measured");
        eg__report_bar_range(s, i, eg__json_number(t, "low") / most,
                             eg__json_number(t, "high") / most);
    }
    eg__page_add(s->page, "</svg>\n");
}

static void write_times(const eg__sheet *s) {
    static const char *const heads[] = {"<run",      "first", "95 % from", "to",        "second",
                                        "95 % from", "to",    "change",    "<judgement"};
    static const char *const keys[] = {"old", "new"}, *const parts[] = {"value", "low", "high"};
    const eg__json_value *time = eg__json_get(s->run, "time"), *rows = eg__json_get(time, "rows");
    eg__page_add(s->page, "<h2>Times of runs</h2>\n");
    draw_medians(s, eg__json_item(rows, 0));
    eg__report_table(s->page, "times of runs", 9, heads);
    for (size_t i = 0; i < eg__json_length(rows); i++) {
        const eg__json_value *row = eg__json_item(rows, i);
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, eg__json_text(row, "name"));
        for (int k = 0; k < 6; k++) {
            char text[32];
            const eg__json_value *t = eg__json_get(row, keys[k / 3]);
            eg__report_cell(s->page, seconds_or(text, eg__json_number(t, parts[k % 3])));
        }
        write_change(s->page, row);
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
    eg__page_put(
        s->page,
        "<p class=\"small\">Measured. The median is judged by a rank test (p below %.2g), a "
        "bootstrap of the ratio and a change of at least %.2g %%; other times by their 95 %% "
        "intervals.</p>\n",
        eg__json_number(time, "alpha"), 100 * eg__json_number(time, "effect"));
}

/* ---- operations */
enum { BARS = 12 };

static const char *operation_name(char out[160], const eg__json_value *row) {
    const char *before = eg__json_text(row, "old_kernel");
    eg__report_print(out, 160, "%s%.40s %.30s%s%.30s", eg__json_flag(row, "in_scan") ? ". " : "",
                     eg__json_text(row, "operation"),
                     before[0] ? before : eg__json_text(row, "kernel"), before[0] ? " \u2192 " : "",
                     before[0] ? eg__json_text(row, "kernel") : "");
    return eg__report_clip(out);
}

/* Faster to the left, slower to the right, all on one scale. */
static void draw_changes(const eg__sheet *s, const eg__json_value *list) {
    const size_t count = eg__json_length(list) < BARS ? eg__json_length(list) : BARS;
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        const double moved = fabs(eg__json_number(eg__json_item(list, i), "change_seconds"));
        if (moved > most) most = moved;
    }
    if (!(most > 0)) return;
    char number[32], from[48], to[48];
    eg__report_seconds(number, most);
    eg__report_print(from, sizeof from, "%s faster", number);
    eg__report_print(to, sizeof to, "%s slower", number);
    eg__report_bars(s, count, "what changed by operation", from, to);
    for (size_t i = 0; i < count; i++) {
        const eg__json_value *row = eg__json_item(list, i);
        const double moved = eg__json_number(row, "change_seconds") / most / 2;
        const char *class = eg__diff_class(eg__json_text(row, "judgement"));
        char name[160], text[220], change[32], value[96], kind[24];
        eg__report_print(text, sizeof text, "%s %.40s", operation_name(name, row),
                         eg__json_text(row, "shape"));
        eg__diff_percent(change, eg__json_number(row, "change"));
        const bool both = isfinite(eg__json_number(row, "change"));
        eg__report_print(value, sizeof value, "%s%s%.30s", both ? change : "", both ? ", " : "",
                         eg__json_text(row, "judgement"));
        eg__report_bar_text(s, i, eg__report_clip(text), value);
        eg__report_print(kind, sizeof kind, "bar %s", class[0] ? class : "third");
        eg__report_bar_part(s, i, moved > 0 ? 0.5 : 0.5 + moved, moved > 0 ? 0.5 + moved : 0.5,
                            kind, eg__json_text(row, "does"));
        eg__report_bar_middle(s, i);
    }
    eg__page_add(s->page, "</svg>\n");
}

static void write_operations(const eg__sheet *s) {
    static const char *const heads[] = {"<operation", "<shape", "first",     "second",
                                        "difference", "change", "<judgement"};
    const eg__json_value *list = eg__json_get(s->run, "operations");
    char noise[32];
    eg__page_add(s->page, "<h2>Operation by operation</h2>\n");
    if (!eg__json_length(list)) {
        eg__page_add(s->page, "<p>unavailable: neither run has operations.</p>\n");
        return;
    }
    draw_changes(s, list);
    eg__report_table(s->page, "operations", 7, heads);
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        char name[160], text[32];
        eg__page_add(s->page, "<tr title=\"");
        eg__page_escape(s->page, eg__json_text(row, "does"));
        eg__page_add(s->page, "\">");
        eg__report_cell_name(s->page, operation_name(name, row));
        eg__report_cell_text(s->page, eg__json_text(row, "shape"));
        eg__report_cell(s->page, seconds_or(text, eg__json_number(row, "old")));
        eg__report_cell(s->page, seconds_or(text, eg__json_number(row, "new")));
        eg__report_cell(s->page, seconds_or(text, eg__json_number(row, "change_seconds")));
        write_change(s->page, row);
        eg__page_add(s->page, "</tr>\n");
    }
    eg__report_table_end(s->page);
    const eg__json_value *time = eg__json_get(s->run, "time");
    eg__page_put(
        s->page,
        "<p class=\"small\">Measured, once in each run: an operation is slower or faster if "
        "it changed by %.2g %% or more, and by more than the median of the whole run may "
        "be off (%s).</p>\n",
        100 * eg__json_number(time, "effect"),
        seconds_or(noise, eg__json_number(time, "noise_seconds")));
}

/* ---- figures and environment */
static void write_figures(const eg__sheet *s) {
    static const char *const heads[] = {"<figure", "first",      "second",
                                        "change",  "<judgement", "<provenance"};
    const eg__json_value *list = eg__json_get(s->run, "figures");
    if (!eg__json_length(list)) return;
    eg__page_add(s->page, "<h2>Figure by figure</h2>\n");
    eg__report_table(s->page, "figures", 6, heads);
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i), *a = eg__json_get(row, "old"),
                             *b = eg__json_get(row, "new");
        const char *was = eg__json_text(a, "provenance"), *is = eg__json_text(b, "provenance");
        char value[64];
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, eg__json_text(row, "name"));
        eg__report_cell(s->page, eg__diff_value(value, row, "old"));
        eg__report_cell(s->page, eg__diff_value(value, row, "new"));
        write_change(s->page, row);
        eg__page_add(s->page, "<td class=\"t\">");
        eg__report_mark(s->page, was, eg__json_text(a, was[0] == 'u' ? "reason" : "source"));
        if (strcmp(was, is) != 0) {
            eg__page_add(s->page, " ");
            eg__report_mark(s->page, is, eg__json_text(b, is[0] == 'u' ? "reason" : "source"));
        }
        eg__page_add(s->page, "</td></tr>\n");
    }
    eg__report_table_end(s->page);
    eg__page_add(s->page, "<p class=\"small\">Rates over the median are judged with it. What was "
                          "measured once in each run has no spread, and is not judged.</p>\n");
}

static void write_environment(const eg__sheet *s) {
    static const char *const heads[] = {"<environment", "<first", "<second", "<"};
    const eg__json_value *list = eg__json_get(s->run, "environment");
    eg__page_add(s->page, "<h2>Environment</h2>\n");
    eg__report_table(s->page, "environment", 4, heads);
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        char was[64], is[64];
        eg__diff_fact(was, row, "old");
        eg__diff_fact(is, row, "new");
        const bool same = eg__json_flag(row, "same"),
                   told = strcmp(was, "not reported") != 0 && strcmp(is, "not reported") != 0;
        eg__page_add(s->page, "<tr>");
        eg__report_cell_name(s->page, eg__json_text(row, "name"));
        eg__report_cell_text(s->page, was);
        eg__report_cell_text(s->page, is);
        eg__page_put(s->page, "<td class=\"t%s</td></tr>\n",
                     same   ? "\">the same"
                     : told ? " worse\"><b>differs</b>"
                            : "\">not known");
    }
    eg__report_table_end(s->page);
}

void eg__diff_html(const eg__sheet *s) {
    write_begin(s);
    write_times(s);
    write_operations(s);
    write_figures(s);
    write_environment(s);
    eg__report_raw(s->page, "diff", "The whole comparison", s->run, s->options->digits);
    eg__page_add(s->page, "</main></body></html>\n");
}
