/* A thread that samples at an interval until it is told to stop. */
#include "base/base.h"
#include "monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* True = stop. A pipe rather than a condition: poll waits by a clock that nobody sets, on every system. */
static bool rest(const eg_monitor *m, double seconds) {
    struct pollfd wake = {.fd = m->wake[0], .events = POLLIN};
    const uint64_t start = eg_clock_ns();
    for (;;) {
        const double left = seconds - (double)(eg_clock_ns() - start) * 1e-9;
        const int found = poll(&wake, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
        if (found > 0 || (found < 0 && errno != EINTR)) return true;
        if (found == 0 && seconds - (double)(eg_clock_ns() - start) * 1e-9 <= 0) return false;
    }
}

static void *work(void *user) {
    eg_monitor *m = user;
    eg_error error;
    while (!rest(m, m->interval)) {
        const eg_status status = eg__monitor_sample(m, &error);
        m->function(m->user, status ? NULL : &m->sample, status ? &error : NULL);
        if (status == EG_ERR_STOPPED) break;
    }
    return NULL;
}

static void close_pipe(eg_monitor *m) {
    for (int i = 0; i < 2; i++) {
        if (m->wake[i] >= 0) close(m->wake[i]);
        m->wake[i] = -1;
    }
}

eg_status eg_monitor_start(eg_monitor *m, double interval, eg_monitor_function function, void *user,
                           eg_error *error) {
    if (!m || !function) return eg__fail(error, EG_ERR_ARGUMENT, "no monitor, or no function");
    if (!(interval >= 0.01 && interval <= 86400))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "an interval of %g s is not between 0.01 and 86400 s", interval);
    if (m->started) return eg__fail(error, EG_ERR_BUSY, "the monitor was started already");
    m->interval = interval;
    m->function = function;
    m->user = user;
    if (pipe(m->wake) != 0)
        return eg__fail(error, EG_ERR_SYSTEM, "cannot start the monitor: %s", strerror(errno));
    for (int i = 0; i < 2; i++) fcntl(m->wake[i], F_SETFD, FD_CLOEXEC);
    m->started = true; /* before the thread asks */
    const int refused = pthread_create(&m->thread, NULL, work, m);
    if (!refused) return EG_OK;
    m->started = false;
    close_pipe(m);
    return eg__fail(error, EG_ERR_SYSTEM, "cannot start the monitor: %s", strerror(refused));
}

void eg_monitor_stop(eg_monitor *m) {
    if (!m || !m->started) return;
    ssize_t told;
    do {
        told = write(m->wake[1], "", 1);
    } while (told < 0 && errno == EINTR);
    pthread_join(m->thread, NULL);
    m->started = false;
    close_pipe(m);
}
