/* Processes on macOS: libproc. */
#include "publish/page.h"

#include <libproc.h>
#include <math.h>
#include <sys/proc_info.h>
#include <sys/resource.h>

bool eg__process_look(uint64_t pid, eg__process *out) {
    struct proc_bsdinfo info;
    struct rusage_info_v0 usage;
    *out = (eg__process){.resident = (double)NAN};
    if (proc_pidinfo((int)pid, PROC_PIDTBSDINFO, 0, &info, sizeof info) != (int)sizeof info)
        return false;
    out->start = info.pbi_start_tvsec * 1000000 + info.pbi_start_tvusec;
    if (proc_pid_rusage((int)pid, RUSAGE_INFO_V0, (rusage_info_t *)&usage) == 0)
        out->resident = (double)usage.ri_resident_size;
    return true;
}

uint64_t eg__process_space(void) { return 0; } /* there is one */
