/* Resident memory of this process: now, and the peak since a moment. */
#ifndef EG__RESIDENT_H
#define EG__RESIDENT_H

#include "base/base.h"

/* ---- resident_linux.c, resident_macos.c: bytes; 0 = the system does not tell */
double eg__resident_now(void);
double eg__resident_highest(void); /* since the process began, or since the last reset */
/* Resets the peak to the present value. False: not possible on this system. */
bool eg__resident_forget(void);

/* ---- resident.c: a watch. Memory released before it began does not count. */
typedef struct eg__resident {
    double most;    /* of all looks */
    double highest; /* as the system had it when the watch began */
} eg__resident;
void eg__resident_begin(eg__resident *watch);
void eg__resident_look(eg__resident *watch); /* now and then, where most is held */
eg_metric eg__resident_most(const eg__resident *watch);

#endif
