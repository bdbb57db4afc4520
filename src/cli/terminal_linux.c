/* A stream with a function behind it, as glibc makes one. */
#include "cli/terminal.h"

static ssize_t write_clean(void *user, const char *bytes, size_t size) {
    return terminal_write(user, bytes, size) ? (ssize_t)size : 0;
}

FILE *terminal_open(terminal *t) {
    return fopencookie(t, "w", (cookie_io_functions_t){.write = write_clean});
}
