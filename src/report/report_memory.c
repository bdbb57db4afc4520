/* Memory over time: what the library held phase by phase, and what a run needs step by step. */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* ---- phases */
enum { TAGS = 16 };
typedef struct tags {
    const eg__sheet *sheet;
    const eg__json_value *by_tag; /* of the moment that is drawn */
    const char *name[TAGS];
    bool ever[TAGS]; /* some moment has it */
    size_t count, row;
    double at, scale; /* bytes */
} tags;

static bool add_tag(void *user, const char *key, const eg__json_value *value) {
    tags *t = user;
    size_t i = 0;
    (void)value;
    while (i < t->count && strcmp(t->name[i], key) != 0) i++;
    if (i == TAGS) return false;
    t->name[i] = key;
    if (i == t->count) t->count++;
    if (eg__json_number(t->by_tag, key) > 0) t->ever[i] = true;
    return true;
}

/* The first, "other", comes last: the rings of the recorder are in it, and may go beyond the edge. */
static void draw_tags(tags *t) {
    char class[32], title[96], bytes[32];
    t->at = 0;
    for (size_t k = 1; k <= t->count; k++) {
        const size_t i = k % t->count;
        const double held = eg__json_number(t->by_tag, t->name[i]);
        if (!(held > 0)) continue;
        eg__report_print(class, sizeof class, "tag%zu", i % 10);
        eg__report_print(title, sizeof title, "%.40s %s", t->name[i],
                         eg__report_bytes(bytes, held));
        eg__report_bar_part(t->sheet, t->row, t->at / t->scale, (t->at + held) / t->scale, class,
                            title);
        t->at += held;
    }
}

static void draw_moment(tags *t, const eg__json_value *moment) {
    char value[160], at[32], held[32], most[32], name[96];
    const double now = eg__json_number(moment, "held"), peak = eg__json_number(moment, "peak");
    eg__report_print(name, sizeof name, t->row ? "%.40s, until %s" : "%.40s",
                     eg__json_text(moment, "phase"),
                     eg__report_seconds(at, eg__json_number(moment, "seconds")));
    eg__report_bytes(held, now);
    eg__report_bytes(most, peak);
    const char *beyond = now > t->scale ? " \u2192" : "";
    if (peak > now)
        eg__report_print(value, sizeof value, "%s, in between %s%s", held, most, beyond);
    else eg__report_print(value, sizeof value, "%s%s", held, beyond);
    eg__report_bar_text(t->sheet, t->row, name, value);
    eg__report_bar_part(t->sheet, t->row, now / t->scale, peak / t->scale, "faint", "in between");
    t->by_tag = eg__json_get(moment, "by_tag");
    draw_tags(t);
}

/* The profiler's own memory at the end would make all other bars small: those bars are cut at the
 * edge. */
static double scale_of(const eg__json_value *moments, bool *beyond) {
    double most = 1, all = 1;
    for (size_t i = 0; i < eg__json_length(moments); i++) {
        const eg__json_value *m = eg__json_item(moments, i);
        const char *phase = eg__json_text(m, "phase");
        const bool own = strcmp(phase, "recorded") == 0 || strcmp(phase, "end") == 0;
        all = fmax(all, eg__json_number(m, "peak"));
        if (!own) most = fmax(most, eg__json_number(m, "peak"));
    }
    *beyond = all > most;
    return most;
}

void eg__report_phases(const eg__sheet *s) {
    const eg__json_value *moments =
        eg__json_get(eg__json_get(s->run, "memory_over_time"), "moments");
    tags t = {.sheet = s};
    bool beyond;
    t.scale = scale_of(moments, &beyond);
    for (size_t i = 0; i < eg__json_length(moments); i++) {
        const eg__json_value *by_tag = eg__json_get(eg__json_item(moments, i), "by_tag");
        t.by_tag = by_tag;
        eg__json_each(by_tag, add_tag, &t);
    }
    char whole[32];
    eg__report_bars(s, eg__json_length(moments), "memory over the profile", "0",
                    eg__report_bytes(whole, t.scale));
    for (t.row = 0; t.row < eg__json_length(moments); t.row++)
        draw_moment(&t, eg__json_item(moments, t.row));
    eg__page_put(s->page, "</svg>\n<p class=\"small\">");
    for (size_t i = 0; i < t.count; i++) {
        char class[32];
        if (!t.ever[i]) continue;
        eg__report_print(class, sizeof class, "tag%zu", i % 10);
        eg__report_legend(s, class, t.name[i]);
    }
    eg__report_legend(s, "faint", "held in between, and given back");
    eg__page_put(
        s->page,
        "</p>\n<p class=\"small\">What the library held when each phase ended: bytes counted, "
        "times measured. Runs take nothing.%s</p>\n",
        beyond ? " Memory of the profile itself (rings of the recorder, simulated caches) goes "
                 "beyond the edge."
               : "");
}

/* ---- the arena in a run */
enum { TOP = 24, TALL = 120, BOTTOM = 22 };

/* Steps of a scan have a shaded background, labelled with the number of iterations where there is
 * room. */
static void draw_scans(const eg__sheet *s, const eg__json_value *steps) {
    const size_t count = eg__json_length(steps);
    const double share = 100.0 / (double)count;
    double last = -100;
    for (size_t i = 0, end; i < count; i = end) {
        const eg__json_value *first = eg__json_item(steps, i);
        const bool inside = eg__json_flag(first, "in_scan");
        for (end = i + 1;
             end < count && eg__json_flag(eg__json_item(steps, end), "in_scan") == inside;)
            end++;
        if (!inside) continue;
        eg__page_put(
            s->page,
            "<rect class=\"shade\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"/>\n",
            share * (double)i, TOP, share * (double)(end - i), TALL);
        const double middle = fmin(fmax(share * (double)(i + end) / 2, 15), 85);
        if (middle < last + 30) continue;
        char times[48];
        eg__page_put(s->page,
                     "<text class=\"small\" x=\"%.2f%%\" y=\"%d\" text-anchor=\"middle\">scan, %s "
                     "times</text>\n",
                     middle, TOP + TALL + 16,
                     eg__report_count(times, eg__json_number(first, "calls")));
        last = middle;
    }
}

void eg__report_arena(const eg__sheet *s) {
    const eg__json_value *arena = eg__json_get(s->run, "arena"),
                         *steps = eg__json_get(arena, "steps");
    const size_t count = eg__json_length(steps);
    const double planned = eg__json_number(arena, "planned"), most = eg__json_number(arena, "most");
    char a[32], b[32];
    if (!count || !(planned > 0)) {
        eg__page_put(s->page, "<p class=\"small\">This program needs no memory in between.</p>\n");
        return;
    }
    eg__report_picture(s, TOP + TALL + BOTTOM, "arena in a run");
    draw_scans(s, steps);
    for (size_t i = 0; i < count; i++) {
        const eg__json_value *step = eg__json_item(steps, i);
        const double live = eg__json_number(step, "live"), tall = fmax(live / planned * TALL, 1);
        eg__page_put(
            s->page,
            "<rect class=\"bar second\" x=\"%.3f%%\" y=\"%.1f\" width=\"%.3f%%\" height=\"%.1f\">"
            "<title>step %.0f: ",
            (double)i * 100 / (double)count, TOP + TALL - tall,
            (count > 100 ? 100 : 96) / (double)count, tall, eg__json_number(step, "step"));
        char name[200];
        eg__report_print(name, sizeof name, "%s %s %s, %s", eg__json_text(step, "operation"),
                         eg__json_text(step, "kernel"), eg__json_text(step, "shape"),
                         eg__report_bytes(a, live));
        eg__page_escape(s->page, name);
        eg__page_put(s->page, "</title></rect>\n");
    }
    eg__page_put(
        s->page,
        "<line class=\"roof\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/><text class=\"small\" "
        "x=\"0\" y=\"%d\">planned: %s</text>\n</svg>\n",
        TOP, TOP, TOP - 8, eg__report_bytes(a, planned));
    eg__page_put(
        s->page,
        "<p class=\"small\">One column per step of a run, as they follow one another: bytes of "
        "the arena that this step or a later one needs, counted from the plan. At most %s live "
        "at once.</p>\n",
        eg__report_bytes(b, most));
}
