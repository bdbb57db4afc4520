/* How much memory of this process is resident, now and at most since a moment. */
#ifndef EG__RESIDENT_H
#define EG__RESIDENT_H

#include "base/base.h"

/* ---- resident_linux.c, resident_macos.c: bytes; 0 = the system does not tell */
double eg__resident_now(void);
double eg__resident_highest(void); /* since the process began, or since it was forgotten */
/* The highest is what is resident now. False: it cannot be forgotten here. */
bool eg__resident_forget(void);

/* ---- resident.c: a watch. What was released before it began does not count. */
typedef struct eg__resident {
    double most;    /* of all looks */
    double highest; /* as the system had it when the watch began */
} eg__resident;
void eg__resident_begin(eg__resident *watch);
void eg__resident_look(eg__resident *watch); /* now and then, where most is held */
eg_metric eg__resident_most(const eg__resident *watch);

#endif
