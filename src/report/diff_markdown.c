/* Two runs compared, as Markdown for a review. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

static const char *seconds_of(char out[32], const eg__json_value *row, const char *key) {
    const double seconds = eg__json_number(row, key);
    if (isfinite(seconds)) return eg__report_seconds(out, seconds);
    eg__report_print(out, 32, "-");
    return out;
}

static void write_times(const eg__sheet *s) {
    const eg__json_value *rows = eg__json_get(eg__json_get(s->run, "time"), "rows");
    eg__page_add(s->page, "\n## Times of runs\n\n| run | first | second | change | judgement |\n"
                          "|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < eg__json_length(rows); i++) {
        const eg__json_value *row = eg__json_item(rows, i);
        char was[32], is[32], change[32];
        const char *const cells[] = {eg__json_text(row, "name"),
                                     seconds_of(was, eg__json_get(row, "old"), "value"),
                                     seconds_of(is, eg__json_get(row, "new"), "value"),
                                     eg__diff_percent(change, eg__json_number(row, "change")),
                                     eg__json_text(row, "judgement")};
        eg__report_row(s, 5, cells);
    }
}

static void write_operations(const eg__sheet *s) {
    const eg__json_value *list = eg__json_get(s->run, "operations");
    if (!eg__json_length(list)) return;
    eg__page_add(s->page, "\n## Operation by operation\n\n| operation | shape | first | second | "
                          "change | judgement |\n|---|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        const char *before = eg__json_text(row, "old_kernel");
        char name[160], was[32], is[32], change[32];
        eg__report_print(name, sizeof name, "%.40s %.30s%s%.30s", eg__json_text(row, "operation"),
                         before, before[0] ? " to " : "", eg__json_text(row, "kernel"));
        const char *const cells[] = {eg__report_clip(name),
                                     eg__json_text(row, "shape"),
                                     seconds_of(was, row, "old"),
                                     seconds_of(is, row, "new"),
                                     eg__diff_percent(change, eg__json_number(row, "change")),
                                     eg__json_text(row, "judgement")};
        eg__report_row(s, 6, cells);
    }
}

static void write_figures(const eg__sheet *s) {
    const eg__json_value *list = eg__json_get(s->run, "figures");
    if (!eg__json_length(list)) return;
    eg__page_add(s->page,
                 "\n## Figure by figure\n\n| figure | first | second | change | judgement | "
                 "provenance |\n|---|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        const char *from = eg__json_text(eg__json_get(row, "old"), "provenance"),
                   *to = eg__json_text(eg__json_get(row, "new"), "provenance");
        char was[64], is[64], change[32], provenance[64];
        eg__report_print(provenance, sizeof provenance, "%.30s", from);
        if (strcmp(from, to) != 0)
            eg__report_print(provenance, sizeof provenance, "%.30s, %.30s", from, to);
        const char *const cells[] = {eg__json_text(row, "name"),
                                     eg__diff_value(was, row, "old"),
                                     eg__diff_value(is, row, "new"),
                                     eg__diff_percent(change, eg__json_number(row, "change")),
                                     eg__json_text(row, "judgement"),
                                     eg__report_clip(provenance)};
        eg__report_row(s, 6, cells);
    }
}

static void write_environment(const eg__sheet *s) {
    const eg__json_value *list = eg__json_get(s->run, "environment");
    eg__page_add(s->page, "\n## Environment\n\n| environment | first | second |\n|---|---|---|\n");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        char was[64], is[64];
        const char *const cells[] = {eg__json_text(row, "name"), eg__diff_fact(was, row, "old"),
                                     eg__diff_fact(is, row, "new")};
        eg__report_row(s, 3, cells);
    }
}

void eg__diff_markdown(const eg__sheet *s) {
    const double steps = eg__json_number(s->run, "seq");
    char text[EG__REPORT_CELL], around[400], batch[48], seq[48];
    eg__page_put(s->page, "# %s\n\n", eg__report_plain(text, eg__json_text(s->run, "model")));
    eg__page_put(s->page, "batch %s, %s step%s",
                 eg__report_count(batch, eg__json_number(s->run, "batch")),
                 eg__report_count(seq, steps), steps > 1 ? "s" : "");
    eg__page_put(s->page, "; first: %s",
                 eg__report_plain(text, eg__json_text(eg__json_get(s->run, "old"), "name")));
    eg__page_put(s->page, ", second: %s\n\n",
                 eg__report_plain(text, eg__json_text(eg__json_get(s->run, "new"), "name")));
    eg__page_put(s->page, "**%s**\n", eg__report_plain(text, eg__json_text(s->run, "verdict")));
    if (eg__diff_around(around, s->run)[0])
        eg__page_put(s->page, "\nNot the same environment, so the change may come from there: %s\n",
                     eg__report_plain(text, around));
    write_times(s);
    write_operations(s);
    write_figures(s);
    write_environment(s);
}
