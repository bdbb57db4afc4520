/* What the makers of reports share: a page of text that grows, and the document it is made of. */
#ifndef EG__REPORT_H
#define EG__REPORT_H

#include "elegans/report.h"
#include "formats/files/json_value.h"

/* ---- page.c: text in tracked memory, with a failure that stays */
typedef struct eg__page {
    eg__memory *memory;
    char *text;
    size_t length, room;
    eg_error fault; /* EG_OK = none yet */
} eg__page;
/* As printf, with a point in numbers whatever the locale. Knows %s, %.Ns, %c, %d, %u, %zu, %llu, %x, %f, %g and %%. */
void eg__page_put(eg__page *page, const char *format, ...) EG_PRINTF(2, 3);
void eg__page_add(eg__page *page, const char *text);
/* Text escaped for HTML. */
void eg__page_escape(eg__page *page, const char *text);
/* The same as snprintf; returns the length of what it wrote. */
size_t eg__report_print(char *out, size_t size, const char *format, ...) EG_PRINTF(3, 4);

/* ---- report_values.c: figures as people read them */
const char *eg__report_count(char out[48],
                             double value); /* "1 234 567", its spaces narrow and unbroken */
const char *eg__report_clip(char *text);    /* cuts a character off that is not complete (UTF-8) */
const char *eg__report_bytes(char out[32], double bytes);     /* "64 KiB"; "0 B" when not known */
const char *eg__report_seconds(char out[32], double seconds); /* "12.3 us" */
/* Between lines of a grid: 1, 2 or 5 times a power of ten, so that `range` has at most `most` of them. */
double eg__report_step(double range, double most);
/* "1.20 ms", "49.0 %", "unavailable" */
const char *eg__report_value(char out[64], const eg__json_value *metric);

/* ---- report_date.c: UTC */
typedef struct eg__date {
    int year, month, day, hour, minute, second; /* month and day from 1 */
} eg__date;
#define EG__REPORT_LAST INT64_C(253402300800) /* the end of the year 9999 */
eg__date eg__report_date_of(int64_t seconds);
int64_t eg__report_seconds_of(int year, int month);        /* when that month began; year >= 1 */
const char *eg__report_date(char out[32], double seconds); /* "2026-03-01 14:05 UTC"; "" = none */

/* ---- what is made of a document */
typedef struct eg__sheet {
    eg__page *page;
    const eg__json_value *run; /* the document of the profile */
    const eg_report_options *options;
} eg__sheet;
/* ---- report.c: takes the text over, whatever comes of it */
eg_status eg__report_finish_json(eg__json *json, eg_report **out, eg_error *error);
eg_status eg__report_finish_page(eg__page *page, eg_report **out, eg_error *error);
/* A document that was read; EG_ERR_FORMAT: no profile. */
eg_status eg__report_check(const eg__json_value *run, eg_error *error);

/* ---- report_profile.c: the document itself; what is not known is null */
void eg__report_put_text(eg__json *json, const char *key, const char *text);
void eg__report_put_number(eg__json *json, const char *key, double value);
void eg__report_document(eg__json *json, const eg_profile *profile, const eg_analysis *analysis,
                         const eg_report_options *options);

/* ---- report_style.c: the begin of a page, up to <body>; and the document that it was made of, at its end */
void eg__report_head(eg__page *page, const char *title);
void eg__report_raw(eg__page *page, const char *id, const char *what, const eg__json_value *value,
                    unsigned digits);

/* ---- report_table.c. `what` and `heads` are our own texts; a head that begins with < is that of a column of text. */
void eg__report_table(eg__page *page, const char *what, size_t count, const char *const heads[]);
void eg__report_table_end(eg__page *page);
void eg__report_cell_name(eg__page *page, const char *text); /* the first of a row */
void eg__report_cell_text(eg__page *page, const char *text);
void eg__report_cell(eg__page *page, const char *text); /* a number with its unit */
void eg__report_cell_number(eg__page *page, const char *format, double value); /* "-" = not known */
void eg__report_cell_count(eg__page *page, double value);
void eg__report_mark(eg__page *page, const char *provenance, const char *source);

/* ---- report_figures.c: figures of objects of the document, by name */
typedef struct eg__figures {
    const char *key;          /* "metrics" */
    const char *const *names; /* NULL ends them */
} eg__figures;
void eg__report_figures(const eg__sheet *s, size_t count, const eg__figures sets[]);

/* ---- report_html.c, report_markdown.c: the page */
void eg__report_html(const eg__sheet *s);
void eg__report_markdown(const eg__sheet *s);
/* Text as text of Markdown: one line, in one cell of a table. */
enum { EG__REPORT_CELL = 600 };
const char *eg__report_plain(char out[EG__REPORT_CELL], const char *text);
/* A row of a table of Markdown. Every cell is escaped, whatever it was made of: any text of a profile may come from
 * anywhere, units of figures too. */
void eg__report_row(const eg__sheet *s, size_t count, const char *const cells[]);

/* ---- report_bars.c: what pictures are made of, SVG inside of the page. Places and lengths of bars are
 * shares of the width, 0 to 1; what goes beyond is cut off. Below the bars stands what their whole width is. */
void eg__report_picture(const eg__sheet *s, double height,
                        const char *what); /* end it with </svg> */
void eg__report_bars(const eg__sheet *s, size_t rows, const char *what, const char *from,
                     const char *to); /* the same; "0" and "100 %" */
void eg__report_bar_text(const eg__sheet *s, size_t row, const char *name, const char *value);
void eg__report_bar_part(const eg__sheet *s, size_t row, double from, double to, const char *class,
                         const char *title);
void eg__report_bar_range(const eg__sheet *s, size_t row, double from, double to); /* a thin line */
void eg__report_bar_middle(const eg__sheet *s, size_t row); /* 0 of what grows both ways */
void eg__report_legend(const eg__sheet *s, const char *class, const char *name);

/* ---- report_roofline.c, report_charts.c, report_memory.c, report_devices.c */
void eg__report_roofline(const eg__sheet *s);
void eg__report_breakdown(const eg__sheet *s); /* time by operation */
void eg__report_histogram(const eg__sheet *s); /* times of runs */
void eg__report_phases(const eg__sheet *s);    /* what the library held over time */
void eg__report_arena(const eg__sheet *s);     /* what a run needs over time */
void eg__report_devices(const eg__sheet *s);   /* projections to other chips, where there are any */

/* ---- report_ratios.c: figures compared with the requirements of the chip; nothing if a profile
 * has none */
void eg__report_ratios_html(const eg__sheet *s);
/* ---- report_energy.c */
void eg__report_energy_html(const eg__sheet *s);
void eg__report_energy_markdown(const eg__sheet *s);
void eg__report_ratios_markdown(const eg__sheet *s);

/* ---- pictures: wiring_svg.c, training_svg.c, history_svg.c, entropy_svg.c */
void eg__report_wiring(eg__page *page, const eg_wiring *wiring, const char *title);
void eg__report_fit(eg__page *page, const eg_fit_result *result);
/* The oldest first. Not dated: across are their numbers. */
void eg__report_history(eg__page *page, const char *title, const eg_report_run *runs, size_t count,
                        bool dated);
void eg__report_entropy(eg__page *page, const eg_entropy_curve_info *c, const char *title,
                        uint64_t window, bool thresholds);

#endif
