/* Resident memory on macOS: what the kernel charges this process with. */
#include "profile/measure/resident.h"

#include <libproc.h>
#include <sys/resource.h>
#include <unistd.h>

static bool read_process(struct rusage_info_v6 *info) {
    return proc_pid_rusage(getpid(), RUSAGE_INFO_V6, (rusage_info_t *)info) == 0;
}

double eg__resident_now(void) {
    struct rusage_info_v6 info;
    return read_process(&info) ? (double)info.ri_resident_size : 0;
}

double eg__resident_highest(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage); /* bytes here */
    return (double)usage.ru_maxrss;
}

bool eg__resident_forget(void) { return false; }
