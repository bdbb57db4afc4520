/* The picture of a roofline as its parts see it: axes, dots, and the names that were placed beside them. */
#ifndef EG__ROOFLINE_H
#define EG__ROOFLINE_H

#include "report/report.h"

/* Across in hundredths of the width, down in pixels: letters stay as large as they are. */
enum {
    EG__ROOF_LEFT = 9,
    EG__ROOF_RIGHT = 98,
    EG__ROOF_TOP = 28,
    EG__ROOF_BOTTOM = 354,
    EG__ROOF_HEIGHT = 400
};
enum { EG__DOTS = 14, EG__ROOF_NAMES = EG__DOTS + 5 };

typedef struct eg__dot {
    double x, y, r; /* hundredths of the width, pixels, pixels; 0 = none */
} eg__dot;

typedef struct eg__roof_name {
    double x, y;       /* hundredths of the width; the base line, in pixels */
    double dot;        /* where the line to its dot ends, in pixels */
    double shift;      /* pixels to the right of x, or, below 0, from its end to x */
    size_t brief, all; /* letters on a phone, and on a desk */
} eg__roof_name;

typedef struct eg__roofline {
    eg__page *page;
    double x0, x1, y0, y1; /* decades */
    eg__dot dots[EG__DOTS];
    eg__roof_name names[EG__ROOF_NAMES];
    size_t name_count;
} eg__roofline;

/* ---- report_names.c */
/* Keeps names away from text that stands there. */
void eg__roofline_block(eg__roofline *a, double x, double y, const char *text);
typedef struct eg__dot_name {
    eg__dot dot;
    char brief[24], more[32]; /* the second is left out on a phone */
} eg__dot_name;
/* Writes names beside their dots, or above or below them at the end of a line, where none covers another, whatever the
 * width of the page; none where there is no room. At most EG__DOTS, the most important first. */
void eg__roofline_names(eg__roofline *a, size_t count, const eg__dot_name names[]);

#endif
