/* elegans report: a profile, as elegans profile --output wrote it, as one page. */
#ifndef EG__CLI_REPORT_H
#define EG__CLI_REPORT_H

#include "cli/cli.h"

typedef struct report {
    FILE *file;
    json *run;  /* the document of the profile */
    bool basic; /* no findings */
} report;

/* ---- report_html.c, report_markdown.c: the page */
int report_html(const report *r); /* -1 to go on, or the exit code after a message */
void report_markdown(const report *r);
/* A row of a table of Markdown. Every cell is escaped, whatever it was made of: any text of a profile may come from
 * anywhere, units of figures too. */
void report_row(const report *r, size_t count, const char *const cells[]);
/* Text with what HTML would take for marks turned into names. */
void report_text(FILE *file, const char *text);

/* ---- report_bars.c: what pictures are made of, SVG inside of the page. Places and lengths of bars are
 * shares of the width, 0 to 1; what goes beyond is cut off. */
void report_picture(const report *r, double height, const char *what); /* end it with </svg> */
void report_bars(const report *r, size_t rows, const char *what);      /* the same */
void report_bar_text(const report *r, size_t row, const char *name, const char *value);
void report_bar_part(const report *r, size_t row, double from, double to, const char *class,
                     const char *title);
void report_bar_range(const report *r, size_t row, double from, double to); /* a thin line */
void report_legend(const report *r, const char *class, const char *name);

/* ---- report_roofline.c, report_charts.c, report_memory.c, report_devices.c */
void report_roofline(const report *r);
void report_breakdown(const report *r); /* time by operation */
void report_histogram(const report *r); /* times of runs */
void report_phases(const report *r);    /* what the library held over time */
void report_arena(const report *r);     /* what a run needs over time */
void report_devices(const report *r);   /* projections to other chips, where there are any */

/* ---- report_ratios.c: figures beside what is asked of the chip; nothing where a profile has none */
void report_ratios_html(const report *r);
void report_ratios_markdown(const report *r);

/* ---- numbers */
const char *report_value(char out[64], const json *metric); /* "1.20 ms", "49.0 %", "unavailable" */

#endif
