/* AMX is on while a thread runs a step with one of its kernels, and off whenever somebody else's code runs. Whether a
 * process may switch it on at all, a child tries: nobody documents it, and a refusal is a signal. */
#include "kernels/amx/amx.h"
#include "kernels/kernels.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void eg__amx_enter(void) { eg__amx_set(); }
void eg__amx_leave(void) { eg__amx_clr(); }

void eg__amx_try(void) {
    eg__amx_set();
    eg__amx_clr();
}

bool eg__amx_allowed(void (*attempt)(void), char reason[EG__AMX_REASON]) {
    int status;
    reason[0] = 0;
    const pid_t child = fork();
    if (child == 0) { /* nothing but what a signal handler may call */
        signal(SIGILL, SIG_DFL);
        attempt();
        _exit(0);
    }
    if (child < 0) {
        snprintf(reason, EG__AMX_REASON, "no process to try it in: %s", strerror(errno));
        return false;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            snprintf(reason, EG__AMX_REASON, "the process that tries it is lost: %s",
                     strerror(errno));
            return false;
        }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFSIGNALED(status))
        snprintf(reason, EG__AMX_REASON, "signal %d when it is switched on", WTERMSIG(status));
    else snprintf(reason, EG__AMX_REASON, "exit %d when it is switched on", WEXITSTATUS(status));
    return false;
}
