/* elegans report: a profile, as elegans profile --output wrote it, as one page. */
#ifndef EG__CLI_REPORT_H
#define EG__CLI_REPORT_H

#include "cli.h"

typedef struct report {
    FILE *file;
    json *run;  /* the document of the profile */
    bool basic; /* no findings */
} report;

/* ---- report_html.c, report_markdown.c: the page */
void report_html(const report *r);
void report_markdown(const report *r);
/* Text with what HTML would take for marks turned into names. */
void report_text(FILE *file, const char *text);

/* ---- report_roofline.c, report_charts.c: pictures, as SVG inside of the page */
void report_roofline(const report *r);
void report_breakdown(const report *r); /* time by operation */
void report_histogram(const report *r); /* times of runs */
void report_memory(const report *r);    /* what was live at the peak */
void report_devices(const report *r);   /* projections to other chips, where there are any */

/* ---- report_ratios.c: figures beside what is asked of the chip; nothing where a profile has none */
void report_ratios_html(const report *r);
void report_ratios_markdown(const report *r);

/* ---- numbers */
const char *report_value(char out[64], const json *metric); /* "1.20 ms", "49.0 %", "unavailable" */

#endif
