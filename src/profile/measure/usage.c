/* What every system counts of a process. */
#include "profile/measure/hardware.h"

#include <sys/resource.h>

void eg__usage_read(double *cpu, uint64_t *switches, uint64_t *faults) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec);
    *switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
    *faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}
