/* What the files about the environment share. */
#ifndef EG__ENVIRONMENT_H
#define EG__ENVIRONMENT_H

#include "elegans/profile.h"

static inline eg_fact eg__fact_unavailable(const char *why) {
    eg_fact fact = {"", EG_UNAVAILABLE, why};
    return fact;
}
/* Printable ASCII of `text`, cut to fit; unavailable for that reason when nothing remains of it. */
eg_fact eg__fact(const char *text, const char *source, const char *why_not);

/* ---- environment_power.c: what feeds the machine */
eg_status eg__power_read(eg_context *context, const char *root, eg_fact *power, eg_metric *battery,
                         eg_error *error);

/* ---- accelerators.c */
eg_fact eg__accelerators_read(const char *root, const eg_chip *chip);

#endif
