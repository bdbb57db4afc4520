/* A stream with a function behind it, as BSD makes one. */
#include "cli/terminal.h"

static int write_clean(void *user, const char *bytes, int size) {
    return terminal_write(user, bytes, (size_t)size) ? size : -1;
}

FILE *terminal_open(terminal *t) { return funopen(t, NULL, write_clean, NULL, NULL); }
