/* Alerts: what an expression says, and how it is read. */
#ifndef EG__ALERT_H
#define EG__ALERT_H

#include "elegans/monitor.h"

#include <stdbool.h>

enum { EG__ALERT_LABEL = 64 };
typedef struct eg__alert_rule {
    const char *name, *unit; /* static */
    bool is_sensor;
    int id;                      /* an eg_sensor or an eg_figure */
    char label[EG__ALERT_LABEL]; /* "" = any */
    bool above, or_equal;
    double limit, clear; /* in the unit of the figure */
    double hold;         /* seconds */
} eg__alert_rule;

eg_status eg__alert_parse(const char *text, eg__alert_rule *out, eg_error *error);

/* A unit of the same kind as `base` by its name, and what it is in terms of it; 0 = there is none. */
double eg__unit_factor(const char *base, const char *name, size_t length);
/* In the unit that gives the shortest number: "5 us". */
enum { EG__UNIT_TEXT = 32 };
const char *eg__unit_show(char out[EG__UNIT_TEXT], const char *base, double value);
/* The names for `base`, with commas. */
const char *eg__unit_names(const char *base, char *out, size_t size);

#endif
