/* The axis of a history: dates at whole minutes, hours, days, months or years, as many as can be read. */
#include "report/history.h"

#include <math.h>
#include <string.h>

enum { TICKS_MOST = 7 };

static const int64_t MINUTE = 60, DAY = 86400;

typedef struct tick_step {
    int64_t seconds; /* 0 = whole months: */
    int months;
} tick_step;

static const tick_step steps[] = {
    {1, 0},         {5, 0},          {15, 0},       {60, 0},        {5 * 60, 0}, {15 * 60, 0},
    {3600, 0},      {3 * 3600, 0},   {6 * 3600, 0}, {12 * 3600, 0}, {86400, 0},  {2 * 86400, 0},
    {7 * 86400, 0}, {14 * 86400, 0}, {0, 1},        {0, 3},         {0, 6},      {0, 12},
    {0, 24},        {0, 60},         {0, 120},      {0, 600},       {0, 1200},   {0, 12000}};
enum { STEPS = sizeof steps / sizeof *steps };

void eg__history_span(eg__history_plot *p) {
    if (!p->dated) {
        p->from = 1;
        p->to = p->count > 1 ? (int64_t)p->count : 2;
        return;
    }
    p->from = p->count ? p->runs[0].time : 0;
    p->to = p->count ? p->runs[p->count - 1].time : 0;
    const int64_t room = p->to > p->from ? (p->to - p->from) / 25 + 1 : MINUTE;
    p->from -= room;
    p->to += room;
}

double eg__history_x(const eg__history_plot *p, int64_t at) {
    return EG__PLOT_LEFT +
           (double)(at - p->from) / (double)(p->to - p->from) * (EG__PLOT_RIGHT - EG__PLOT_LEFT);
}

/* The first tick after `at`: a multiple of the step since 1970, or the first of a month. */
static int64_t tick_after(const tick_step *step, int64_t at) {
    if (step->seconds) {
        const int64_t count = at / step->seconds - (at % step->seconds < 0);
        return (count + 1) * step->seconds;
    }
    const eg__date d = eg__report_date_of(at);
    const int month = ((d.year * 12 + d.month - 1) / step->months + 1) * step->months;
    return eg__report_seconds_of(month / 12, month % 12 + 1);
}

static const tick_step *step_for(const eg__history_plot *p) {
    const double least = (double)(p->to - p->from) / TICKS_MOST;
    int i = 0;
    while (i + 1 < STEPS &&
           (double)(steps[i].seconds ? steps[i].seconds : steps[i].months * 30 * DAY) < least)
        i++;
    return &steps[i];
}

/* "14:05:10", "14:05", "2026-03-01", "2026-03" or "2026"; below hours the day, where it begins. */
static void label_of(const tick_step *step, int64_t at, char text[32], char below[32]) {
    const eg__date d = eg__report_date_of(at);
    below[0] = 0;
    if (!step->seconds) {
        eg__report_print(text, 32, step->months < 12 ? "%04d-%02d" : "%04d", d.year, d.month);
        return;
    }
    if (step->seconds >= DAY) {
        eg__report_print(text, 32, "%04d-%02d-%02d", d.year, d.month, d.day);
        return;
    }
    if (step->seconds < MINUTE)
        eg__report_print(text, 32, "%02d:%02d:%02d", d.hour, d.minute, d.second);
    else eg__report_print(text, 32, "%02d:%02d", d.hour, d.minute);
    eg__report_print(below, 32, "%04d-%02d-%02d", d.year, d.month, d.day);
}

static void draw_tick(const eg__history_plot *p, double x, const char *text, const char *below) {
    const double middle = fmin(x, EG__PLOT_WIDTH - 38); /* a date has 70 pixels */
    eg__page_put(p->page,
                 "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text "
                 "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                 x, x, EG__PLOT_BOTTOM, EG__PLOT_BOTTOM + 5, middle, EG__PLOT_BOTTOM + 20, text);
    if (below[0])
        eg__page_put(p->page,
                     "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                     middle, EG__PLOT_BOTTOM + 35, below);
}

static void draw_dates(const eg__history_plot *p) {
    const tick_step *step = step_for(p);
    char said[32] = "";
    for (int64_t at = tick_after(step, p->from - 1); at <= p->to; at = tick_after(step, at)) {
        char text[32], below[32];
        const double x = eg__history_x(p, at);
        label_of(step, at, text, below);
        draw_tick(p, x, text, strcmp(said, below) == 0 ? "" : below);
        eg__report_print(said, sizeof said, "%s", below);
    }
}

static void draw_numbers(const eg__history_plot *p) {
    const int64_t step = (int64_t)fmax(1, eg__report_step((double)(p->to - p->from), 10));
    for (int64_t at = 1; at <= (int64_t)p->count; at = at == 1 && step > 1 ? step : at + step) {
        char text[48];
        draw_tick(p, eg__history_x(p, at), eg__report_count(text, (double)at), "");
    }
}

void eg__history_axis(const eg__history_plot *p) {
    if (p->dated) draw_dates(p);
    else draw_numbers(p);
}
