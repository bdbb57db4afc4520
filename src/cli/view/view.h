/* elegans monitor on a whole screen: what it shows of a sample and its history, and what keys change. No terminal. */
#ifndef EG__CLI_VIEW_H
#define EG__CLI_VIEW_H

#include "cli/view/grid.h"
#include "elegans/monitor.h"

typedef enum view_page { VIEW_OVERVIEW, VIEW_PROGRAM, VIEW_SENSORS, VIEW_PAGES } view_page;
/* Orders of the programs: key of the figure, largest first; the first is by pid. */
typedef enum view_sort {
    VIEW_BY_PID,
    VIEW_BY_RATE,
    VIEW_BY_P99,
    VIEW_BY_FLOPS,
    VIEW_BY_MEMORY,
    VIEW_SORTS
} view_sort;

enum { VIEW_PROGRAMS = 256, VIEW_LEAST_ROWS = 20, VIEW_LEAST_COLUMNS = 72 };
typedef struct view {
    const eg_monitor_sample *sample; /* NULL = none yet */
    eg_monitor *monitor;             /* its history; NULL = none */
    double interval;                 /* seconds */
    bool paused;
    bool ended; /* a recording, at its end */
    bool help;
    bool ascii;
    view_page page;
    view_sort sort;
    uint64_t pid; /* of the chosen program; 0 = the first */
    int64_t started_ns;
    int scroll;     /* lines of a page that are above its first row */
    char note[256]; /* the last alert or failure; "" = none */
    /* what the last drawing had */
    int page_rows; /* lines that a page shows at a time, and has beyond */
    int page_beyond;
    int program_at[GRID_ROWS];  /* index of the program in a row of the list, + 1; 0 = none */
    int tab_at[VIEW_PAGES + 1]; /* columns where names of pages begin and, last, end */
} view;

/* ---- view.c */
void view_draw(view *v, grid *g, int rows, int columns);

/* ---- view_keys.c */
typedef enum view_key {
    VIEW_KEY_NONE,
    VIEW_KEY_UP = 256, /* below: the character */
    VIEW_KEY_DOWN,
    VIEW_KEY_LEFT,
    VIEW_KEY_RIGHT,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_ENTER,
    VIEW_KEY_BACK,
    VIEW_KEY_TAB,
    VIEW_KEY_TAB_BACK,
    VIEW_KEY_CLICK,
    VIEW_KEY_WHEEL_UP,
    VIEW_KEY_WHEEL_DOWN
} view_key;
/* `row` and `column` are those of the mouse. False: the user wants to leave. */
bool view_press(view *v, view_key key, int row, int column);

/* ---- view_order.c */
/* Indices of the programs in the order of the list; how many. */
size_t view_order(const view *v, size_t order[VIEW_PROGRAMS]);
const eg_published *view_chosen(const view *v); /* NULL = there is no program */
void view_choose(view *v, size_t index);        /* of the sample */
const char *view_sort_name(view_sort sort);     /* static */

/* ---- view_format.c: figures in few columns */
enum { VIEW_TEXT = 32 };
typedef char view_text[VIEW_TEXT];
const char *view_value(view_text out, const char *unit, double value); /* "2.60 GHz" */
const char *view_metric(view_text out, const eg_metric *m);            /* "-" when it is unknown */
const char *view_short(view_text out, double value);                   /* "912k" */
const char *view_bytes(view_text out, double value);                   /* "1.6 GiB" */
const char *view_time(view_text out, double seconds);                  /* "1.1 us", "2 min 5 s" */
const char *view_spaced(view_text out, const char *name);              /* "cpu load" */

/* ---- view_series.c */
enum { VIEW_POINTS = EG_HISTORY_POINTS };
typedef struct view_series {
    int count;
    double seconds;             /* that the last value stands for */
    double most;                /* NaN = there is none */
    double begins[VIEW_POINTS]; /* seconds since 1970 */
    double values[VIEW_POINTS];
} view_series;
/* Means of the points, NaN for what was not known; false and nothing in it when there is no such series. */
bool view_series_find(const view *v, const char *name, const char *label, uint64_t pid,
                      view_series *out);
/* "5 min", that so many columns of a graph reach back. */
const char *view_span(view_text out, const view_series *s, int columns);

/* The reading of a sensor with this label; NULL as a label: the first there is. NULL when none is known. */
const eg_reading *view_reading(const view *v, eg_sensor sensor, const char *label);
const char *view_why(const view *v, eg_sensor sensor); /* a sensor is not known */

/* ---- view_lines.c: lines of a page that can be scrolled */
typedef struct view_lines {
    grid *g;
    grid_area area;
    int skip, row; /* lines to leave out yet; lines so far */
} view_lines;
/* The row of the grid for the next line, outside of the grid (-1) when it is not visible. */
int view_line(view_lines *l);
/* Text folded into lines, from this column of the area on; `name` stands before the first. */
void view_folded(view_lines *l, const char *name, int column, grid_style style, const char *text);
/* Which lines are shown, on the lower edge of the frame around them, where not all are. */
void view_lines_note(const view_lines *l, grid_area frame, int scroll);

/* ---- parts of the screen: view_cpu.c, view_memory.c, view_power.c, view_programs.c, view_program.c, view_sensors.c,
 * view_help.c, view_loss.c */
void view_cpu(const view *v, grid *g, grid_area a);
void view_memory(const view *v, grid *g, grid_area a);
void view_power(const view *v, grid *g, grid_area a, bool with_heat);
void view_heat(const view *v, grid *g, grid_area a);
void view_programs(view *v, grid *g, grid_area a);
void view_program_side(const view *v, grid *g, grid_area a); /* beside the list */
void view_program(view *v, grid *g, grid_area a);            /* the page */
void view_sensors(view *v, grid *g, grid_area a);
void view_help(grid *g, grid_area a);
/* The curve of a training, with its ends at the left. */
void view_loss(const eg_published *p, grid *g, grid_area a);

#endif
