/* Which kind a core of Linux is of, where there are several: big and little, performance and efficiency. */
#ifndef EG__SENSORS_KINDS_H
#define EG__SENSORS_KINDS_H

#include "sensors/sensing.h"

enum { EG__CPU_KINDS = EG_CORE_KINDS_MAX, EG__CPUS = 1024 };
typedef struct eg__cpu_kinds {
    unsigned count;               /* 1 = all are alike */
    unsigned char kind[EG__CPUS]; /* 0 is the fastest */
} eg__cpu_kinds;
void eg__cpu_kinds_read(eg_sensors *s, eg__cpu_kinds *out);
unsigned eg__cpu_kind_of(const eg__cpu_kinds *kinds, const char *cpu); /* "cpu12" */
const char *eg__cpu_kind_name(const eg_sensors *s, unsigned kind);     /* "Performance" */

#endif
