/* The energy of a rail around a piece of work, from the sensors of the machine. */
#ifndef EG__ENERGY_H
#define EG__ENERGY_H

#include "elegans/profile.h"
#include "elegans/sensors.h"

enum { EG__ENERGY_SOURCE = 192 };
typedef struct eg__energy {
    eg_sensors *sensors; /* while something is measured */
    const char *rails;   /* how the names of those that are added up begin; NULL = there are none */
    size_t count;        /* rails */
    double joules;       /* of all of them when the work began */
    uint64_t start_ns;
    char source[EG__ENERGY_SOURCE]; /* which rails, or why there is none */
} eg__energy;

/* `root`: a folder with the files of another machine; NULL = this one. Takes memory, and keeps it where there is a rail to
 * measure. */
eg_status eg__energy_begin(eg__energy *energy, eg_context *context, const char *root,
                           eg_error *error);
/* What was used since, and the mean power; sources live as long as `energy`. Gives the memory back. */
eg_status eg__energy_end(eg__energy *energy, eg_metric *joules, eg_metric *watts, eg_error *error);
void eg__energy_close(eg__energy *energy); /* all zero is fine */

#endif
