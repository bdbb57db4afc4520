/* The picture of a history as its parts see it. */
#ifndef EG__REPORT_HISTORY_H
#define EG__REPORT_HISTORY_H

#include "report/report.h"

enum {
    EG__PLOT_WIDTH = 720,
    EG__PLOT_HEIGHT = 360,
    EG__PLOT_LEFT = 64,
    EG__PLOT_RIGHT = 700,
    EG__PLOT_TOP = 56,
    EG__PLOT_BOTTOM = 286
};

typedef struct eg__history_plot {
    eg__page *page;
    const eg_report_run *runs; /* the oldest first */
    size_t count;
    bool dated;       /* across are dates; else numbers, from 1 */
    int64_t from, to; /* across; from < to */
    double low, high; /* up, in seconds; low < high */
} eg__history_plot;

/* ---- history_axis.c */
void eg__history_span(eg__history_plot *p); /* fills from and to */
double eg__history_x(const eg__history_plot *p, int64_t at);
void eg__history_axis(const eg__history_plot *p);

#endif
