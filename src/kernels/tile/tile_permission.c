/* Linux gives the registers of Intel's AMX to a process that asks for them: 8 KiB more for each thread that uses them. */
#include "kernels/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

int eg__tile_ask(void) {
    enum {
        REQUEST_PERMISSION = 0x1023,
        TILE_DATA = 18
    }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) ? errno : 0;
}
#else
int eg__tile_ask(void) { return ENOSYS; } /* nobody has told how */
#endif

bool eg__tile_allowed(int (*ask)(void), char reason[EG__AMX_REASON]) {
    const int fault = ask();
    reason[0] = 0;
    if (fault)
        snprintf(reason, EG__AMX_REASON, "the system gives no permission for tiles: %s",
                 strerror(fault));
    return !fault;
}
