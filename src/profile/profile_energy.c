/* Joules of steps and operations: a rail is measured around whole runs, and each takes its share of the time. */
#include "profile/profile.h"

#include <math.h>

void eg__profile_joules(eg_profile *p) {
    const eg_metric *run = &p->metrics[EG_PROFILE_energy_per_run];
    const double joules = run->provenance == EG_UNAVAILABLE ? (double)NAN : run->value;
    for (size_t i = 0; i < p->step_count; i++) p->steps[i].joules = joules * p->steps[i].share;
    for (size_t i = 0; i < p->operation_count; i++)
        p->operations[i].joules = joules * p->operations[i].share;
}
