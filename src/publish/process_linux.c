/* Processes on Linux: /proc. */
#include "publish/page.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_file(const char *path, char *out, size_t size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, out, size - 1);
    close(file);
    out[length > 0 ? length : 0] = 0;
    return length > 0;
}

bool eg__process_look(uint64_t pid, eg__process *out) {
    enum { RESIDENT_FROM_START = 2 }; /* fields behind that of the start: vsize, rss */
    char path[64], text[1024];
    *out = (eg__process){.resident = (double)NAN};
    /* that of its first thread: emulators make up /proc/PID/stat for themselves, and tell another start */
    snprintf(path, sizeof path, "/proc/%llu/task/%llu/stat", (unsigned long long)pid,
             (unsigned long long)pid);
    if (!read_file(path, text, sizeof text)) return false;
    /* the name is in parentheses and may have any bytes: what follows the last one is fields 3, 4, ... */
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return false;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at) return true;
    char *end;
    out->start = strtoull(at, &end, 10);
    for (int i = 0; i < RESIDENT_FROM_START; i++) {
        const unsigned long long value = strtoull(end, &end, 10);
        if (i == RESIDENT_FROM_START - 1)
            out->resident = (double)value * (double)sysconf(_SC_PAGESIZE);
    }
    return true;
}

uint64_t eg__process_space(void) {
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}
