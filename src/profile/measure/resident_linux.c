/* Resident memory on Linux: /proc/self. */
#include "profile/measure/resident.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kibibytes behind `name` in a file of /proc, in bytes. */
static double field(const char *path, const char *name) {
    char text[4096];
    size_t length = 0;
    ssize_t size;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    while (length < sizeof text - 1 &&
           (size = read(file, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)size;
    close(file);
    text[length] = 0;
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) * 1024 : 0;
}

/* The sum over all mappings is exact; the short form lags by some pages per thread. */
double eg__resident_now(void) {
    const double exact = field("/proc/self/smaps_rollup", "\nRss:");
    return exact > 0 ? exact : field("/proc/self/status", "\nVmRSS:");
}

double eg__resident_highest(void) { return field("/proc/self/status", "\nVmHWM:"); }

bool eg__resident_forget(void) {
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool done = write(file, "5", 1) == 1;
    close(file);
    return done;
}
