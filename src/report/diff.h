/* Two runs compared, as the parts of a diff see them. */
#ifndef EG__DIFF_H
#define EG__DIFF_H

#include "report/report.h"

enum { EG__DIFF_OLD, EG__DIFF_NEW, EG__DIFF_SIDES };

typedef struct eg__diff_side {
    const char *name;
    eg__json_value *run;
    double *samples; /* seconds of runs */
    size_t sample_count;
    eg_statistics time;
} eg__diff_side;

typedef struct eg__diff {
    eg_context *context;
    eg__memory *memory;
    eg__diff_side side[EG__DIFF_SIDES];
    eg_compare_options compare; /* without zeros */
    eg_comparison result;
    double noise_seconds; /* how far a median of the run may be off; NaN = not known */
} eg__diff;

/* How a difference is judged: the words of the document. */
#define EG__JUDGEMENT_FASTER "faster"
#define EG__JUDGEMENT_SLOWER "slower"
#define EG__JUDGEMENT_NOISE  "within noise"

/* (new - old) / old; NaN = not known */
double eg__diff_change(double was, double is);
/* Of two times in seconds whose change counts from `least` seconds on; NaN = the spread is not known. */
const char *eg__diff_judge_time(const eg__diff *d, double was, double is, double least);

/* A count stays one: no ".0". */
void eg__diff_put_number(eg__json *json, const char *key, double value);

/* ---- diff_document.c, diff_figures.c, diff_operations.c: "elegans_diff": 1 */
void eg__diff_document(eg__json *json, const eg__diff *d);
void eg__diff_figures(eg__json *json, const eg__diff *d);
void eg__diff_operations(eg__json *json, const eg__diff *d);
/* ---- diff_environment.c: what differs around the program */
void eg__diff_environment(eg__json *json, const eg__diff *d);

/* ---- diff_html.c, diff_markdown.c: pages of that document, which is the sheet's `run` */
void eg__diff_html(const eg__sheet *s);
void eg__diff_markdown(const eg__sheet *s);
/* ---- diff_values.c: figures of it as people read them */
const char *eg__diff_percent(char out[32], double change); /* "+12.3 %"; "x 20" from ten on; "-" */
const char *eg__diff_value(char out[64], const eg__json_value *row, const char *key);
/* "A: x, B: y" of a row of the environment. */
const char *eg__diff_fact(char out[64], const eg__json_value *row, const char *key);
/* "worse", "better" or "" for a judgement. */
const char *eg__diff_class(const char *judgement);
/* The rows of the environment that differ: "threads 1 and 2, isa avx2 and avx512"; "" = none. */
const char *eg__diff_around(char out[400], const eg__json_value *document);

#endif
