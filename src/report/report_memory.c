/* Memory over time: what the library held phase by phase, and what a run needs step by step. */
#include "cli/report/report.h"

#include <math.h>
#include <string.h>

/* ---- phases */
enum { TAGS = 16 };
typedef struct tags {
    const report *report;
    const json *by_tag; /* of the moment that is drawn */
    const char *name[TAGS];
    bool ever[TAGS]; /* some moment has it */
    size_t count, row;
    double at, scale; /* bytes */
} tags;

static bool add_tag(void *user, const char *key, json *value) {
    tags *t = user;
    size_t i = 0;
    (void)value;
    while (i < t->count && strcmp(t->name[i], key) != 0) i++;
    if (i == TAGS) return false;
    t->name[i] = key;
    if (i == t->count) t->count++;
    if (json_number(t->by_tag, key) > 0) t->ever[i] = true;
    return true;
}

/* The first, "other", comes last: the rings of the recorder are in it, and may go beyond the edge. */
static void draw_tags(tags *t) {
    char class[32], title[96], bytes[32];
    t->at = 0;
    for (size_t k = 1; k <= t->count; k++) {
        const size_t i = k % t->count;
        const double held = json_number(t->by_tag, t->name[i]);
        if (!(held > 0)) continue;
        snprintf(class, sizeof class, "tag%zu", i % 10);
        snprintf(title, sizeof title, "%.40s %s", t->name[i], format_bytes(bytes, (uint64_t)held));
        report_bar_part(t->report, t->row, t->at / t->scale, (t->at + held) / t->scale, class,
                        title);
        t->at += held;
    }
}

static void draw_moment(tags *t, const json *moment) {
    char value[160], at[32], held[32], most[32], name[96];
    const double now = json_number(moment, "held"), peak = json_number(moment, "peak");
    snprintf(name, sizeof name, t->row ? "%.40s, until %s" : "%.40s", json_text(moment, "phase"),
             format_seconds(at, json_number(moment, "seconds")));
    format_bytes(held, now > 0 ? (uint64_t)now : 0);
    format_bytes(most, peak > 0 ? (uint64_t)peak : 0);
    const char *beyond = now > t->scale ? " \u2192" : "";
    if (peak > now) snprintf(value, sizeof value, "%s, in between %s%s", held, most, beyond);
    else snprintf(value, sizeof value, "%s%s", held, beyond);
    report_bar_text(t->report, t->row, name, value);
    report_bar_part(t->report, t->row, now / t->scale, peak / t->scale, "faint", "in between");
    t->by_tag = json_get(moment, "by_tag");
    draw_tags(t);
}

/* What the profile itself takes at the end would make all else small: those bars end at the edge. */
static double scale_of(const json *moments, bool *beyond) {
    double most = 1, all = 1;
    for (size_t i = 0; i < json_length(moments); i++) {
        const json *m = json_item(moments, i);
        const char *phase = json_text(m, "phase");
        const bool own = strcmp(phase, "recorded") == 0 || strcmp(phase, "end") == 0;
        all = fmax(all, json_number(m, "peak"));
        if (!own) most = fmax(most, json_number(m, "peak"));
    }
    *beyond = all > most;
    return most;
}

void report_phases(const report *r) {
    const json *moments = json_get(json_get(r->run, "memory_over_time"), "moments");
    tags t = {.report = r};
    bool beyond;
    t.scale = scale_of(moments, &beyond);
    for (size_t i = 0; i < json_length(moments); i++) {
        json *by_tag = json_get(json_item(moments, i), "by_tag");
        t.by_tag = by_tag;
        json_each(by_tag, add_tag, &t);
    }
    report_bars(r, json_length(moments), "memory over the profile");
    for (t.row = 0; t.row < json_length(moments); t.row++)
        draw_moment(&t, json_item(moments, t.row));
    fprintf(r->file, "</svg>\n<p class=\"small\">");
    for (size_t i = 0; i < t.count; i++) {
        char class[32];
        if (!t.ever[i]) continue;
        snprintf(class, sizeof class, "tag%zu", i % 10);
        report_legend(r, class, t.name[i]);
    }
    report_legend(r, "faint", "held in between, and given back");
    fprintf(r->file,
            "</p>\n<p class=\"small\">What the library held when each phase ended: bytes counted, "
            "times measured. Runs take nothing.%s</p>\n",
            beyond ? " Memory of the profile itself (rings of the recorder, simulated caches) goes "
                     "beyond the edge."
                   : "");
}

/* ---- the arena in a run */
enum { TOP = 24, TALL = 120, BOTTOM = 22 };

/* Steps of a scan lie in front of a shade, which says how often they are done where there is room for it. */
static void draw_scans(const report *r, const json *steps) {
    const size_t count = json_length(steps);
    const double share = 100.0 / (double)count;
    double last = -100;
    for (size_t i = 0, end; i < count; i = end) {
        const json *first = json_item(steps, i);
        const bool inside = json_flag(first, "in_scan");
        for (end = i + 1; end < count && json_flag(json_item(steps, end), "in_scan") == inside;)
            end++;
        if (!inside) continue;
        fprintf(r->file,
                "<rect class=\"track\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"/>\n",
                share * (double)i, TOP, share * (double)(end - i), TALL);
        const double middle = fmin(fmax(share * (double)(i + end) / 2, 15), 85);
        if (middle < last + 30) continue;
        fprintf(r->file,
                "<text class=\"small\" x=\"%.2f%%\" y=\"%d\" text-anchor=\"middle\">scan, %.0f "
                "times</text>\n",
                middle, TOP + TALL + 16, json_number(first, "calls"));
        last = middle;
    }
}

void report_arena(const report *r) {
    const json *arena = json_get(r->run, "arena"), *steps = json_get(arena, "steps");
    const size_t count = json_length(steps);
    const double planned = json_number(arena, "planned"), most = json_number(arena, "most");
    char a[32], b[32];
    if (!count || !(planned > 0)) {
        fprintf(r->file, "<p class=\"small\">This program needs no memory in between.</p>\n");
        return;
    }
    report_picture(r, TOP + TALL + BOTTOM, "arena in a run");
    draw_scans(r, steps);
    for (size_t i = 0; i < count; i++) {
        const json *step = json_item(steps, i);
        const double live = json_number(step, "live"), tall = fmax(live / planned * TALL, 1);
        fprintf(
            r->file,
            "<rect class=\"bar second\" x=\"%.3f%%\" y=\"%.1f\" width=\"%.3f%%\" height=\"%.1f\">"
            "<title>step %.0f: ",
            (double)i * 100 / (double)count, TOP + TALL - tall,
            (count > 100 ? 100 : 96) / (double)count, tall, json_number(step, "step"));
        char name[200];
        snprintf(name, sizeof name, "%s %s %s, %s", json_text(step, "operation"),
                 json_text(step, "kernel"), json_text(step, "shape"),
                 format_bytes(a, live > 0 ? (uint64_t)live : 0));
        report_text(r->file, name);
        fprintf(r->file, "</title></rect>\n");
    }
    fprintf(r->file,
            "<line class=\"roof\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/><text class=\"small\" "
            "x=\"0\" y=\"%d\">planned: %s</text>\n</svg>\n",
            TOP, TOP, TOP - 8, format_bytes(a, (uint64_t)planned));
    fprintf(r->file,
            "<p class=\"small\">One column per step of a run, as they follow one another: bytes of "
            "the arena that this step or a later one needs, counted from the plan. At most %s live "
            "at once.</p>\n",
            format_bytes(b, most > 0 ? (uint64_t)most : 0));
}
