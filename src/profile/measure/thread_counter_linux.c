/* A perf event on every thread of this process, existing or started later. The kernel lets only new
 * threads inherit a counter, and the threads of a context are older than any profile. */
#include "profile/measure/hardware.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_on(int thread, uint32_t type, uint64_t config) {
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = type,
                                   .config = config,
                                   .disabled = 1,
                                   .inherit = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_all(eg__thread_counter *c) {
    for (unsigned i = 0; i < c->count; i++) close(c->files[i]);
    c->count = 0;
}

/* All or nothing: a sum without some threads would not be that of this process. */
static bool add_thread(eg__thread_counter *c, int thread, uint32_t type, uint64_t config) {
    if (c->count == EG__COUNTED_THREADS) {
        c->reason = EMFILE;
        return false;
    }
    const int file = open_on(thread, type, config);
    if (file >= 0) c->files[c->count++] = file;
    else if (errno != ESRCH) { /* that thread has ended meanwhile */ c->reason = errno;
        return false;
    }
    return true;
}

bool eg__thread_counter_open(eg__thread_counter *c, uint32_t type, uint64_t config) {
    *c = (eg__thread_counter){0};
    DIR *dir = opendir("/proc/self/task");
    if (!dir) { /* no list of threads, so it is unknown whether this is the only one */
        c->reason = errno;
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        int64_t thread;
        if (eg_integer_parse(entry->d_name, strlen(entry->d_name), 1, INT32_MAX, &thread, NULL))
            continue; /* "." and ".." */
        good = add_thread(c, (int)thread, type, config);
    }
    closedir(dir);
    if (good && c->count) return true;
    close_all(c);
    return false;
}

void eg__thread_counter_start(eg__thread_counter *c) {
    for (unsigned i = 0; i < c->count; i++) ioctl(c->files[i], PERF_EVENT_IOC_ENABLE, 0);
}

bool eg__thread_counter_stop(eg__thread_counter *c, double *value, bool *whole) {
    bool good = c->count > 0;
    *value = 0;
    *whole = true;
    for (unsigned i = 0; i < c->count; i++) ioctl(c->files[i], PERF_EVENT_IOC_DISABLE, 0);
    for (unsigned i = 0; good && i < c->count; i++) {
        uint64_t told[3]; /* count, time that it was on, time that it counted */
        good = read(c->files[i], told, sizeof told) == (ssize_t)sizeof told;
        if (!good || !told[1]) continue; /* the thread slept all the time */
        if (told[2] < told[1]) *whole = false;
        if (told[2]) *value += (double)told[0] * ((double)told[1] / (double)told[2]);
        else good = false; /* the event was never scheduled */
    }
    close_all(c);
    return good;
}
