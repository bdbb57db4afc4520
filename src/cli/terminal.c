/* Streams to terminals that are cleaned on their way. */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool terminal_write(terminal *t, const char *bytes, size_t size) {
    enum { PIECE = 1024 };
    char out[TERMINAL_ROOM(PIECE)];
    for (size_t at = 0; at < size; at += PIECE) {
        size_t length = terminal_clean(t, bytes + at, size - at < PIECE ? size - at : PIECE, out);
        for (const char *from = out; length;) {
            const ssize_t moved = write(t->descriptor, from, length);
            if (moved < 0 && errno == EINTR) continue;
            if (moved < 0) return false;
            from += moved;
            length -= (size_t)moved;
        }
    }
    return true;
}

static char marks[TERMINAL_STYLES][3 + TERMINAL_KEY + 1], key[TERMINAL_KEY];
static terminal standard[2] = {{.descriptor = STDOUT_FILENO, .key = key},
                               {.descriptor = STDERR_FILENO, .returns = true, .key = key}};
static bool guarded;

const char *terminal_mark(terminal_style style) { return marks[style]; }

/* The clock and where things lie are what is left where the system gives no random bytes. */
static void draw_key(void) {
    unsigned char random[TERMINAL_KEY] = {0};
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, random, sizeof random) != (ssize_t)sizeof random) {
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t words[] = {(uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15),
                                  (uint64_t)(uintptr_t)&now ^ (uint64_t)getpid() << 40};
        memcpy(random, words, sizeof random);
    }
    if (file >= 0) close(file);
    for (unsigned i = 0; i < TERMINAL_KEY; i++) key[i] = (char)('A' + random[i] % 26);
    for (unsigned i = 0; i < TERMINAL_STYLES; i++) {
        memcpy(marks[i], (const char[]){'\xef', '\xb7', (char)(0x90 + i)}, 3);
        memcpy(marks[i] + 3, key, TERMINAL_KEY);
    }
}

bool terminal_guarded(void) { return guarded; }

void terminal_guard(void) {
    draw_key();
    FILE *out = isatty(STDOUT_FILENO) ? terminal_open(&standard[0]) : NULL;
    FILE *messages = isatty(STDERR_FILENO) ? terminal_open(&standard[1]) : NULL;
    if (out) {
        setvbuf(out, NULL, _IOLBF, BUFSIZ);
        stdout = out;
        guarded = true;
    }
    if (!messages) return;
    setvbuf(messages, NULL, _IONBF, 0);
    stderr = messages;
}
