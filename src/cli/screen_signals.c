/* Handlers that only take notes, a pipe that wakes who waits, and a way back for a terminal whose program dies. */
#include "cli/screen_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const int noted[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGTRAP, SIGSYS};
enum { NOTED = sizeof noted / sizeof *noted, DEADLY = sizeof deadly / sizeof *deadly };
enum { ENDING = 3 }; /* the first of `noted` */

static struct {
    volatile sig_atomic_t came[NOTED];
    struct sigaction before[NOTED], deadly_before[DEADLY];
    int wake[2], terminal;
    struct termios modes;
    bool active;
    const char *bytes;
    size_t size;
} s = {.wake = {-1, -1}};

/* Calls that are allowed in a handler, and nothing else. */
static void put_back(void) {
    for (size_t at = 0; at < s.size;) {
        const ssize_t moved = write(s.terminal, s.bytes + at, s.size - at);
        if (moved <= 0) break;
        at += (size_t)moved;
    }
    tcsetattr(s.terminal, TCSANOW, &s.modes);
}

static void die(int number) {
    put_back();
    signal(number, SIG_DFL);
    raise(number); /* when the handler returns, it is not blocked any more */
}

static void on_noted(int number) {
    for (int i = 0; i < NOTED; i++) {
        if (noted[i] != number) continue;
        /* a second one means that nobody looks any more */
        if (i < ENDING && s.came[i]) die(number);
        s.came[i] = 1;
    }
    const char byte = 0;
    if (s.wake[1] >= 0 && write(s.wake[1], &byte, 1) < 0) return; /* full: it wakes anyway */
}

static void open_pipe(void) {
    if (pipe(s.wake) != 0) {
        s.wake[0] = s.wake[1] = -1;
        return;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(s.wake[i], F_SETFL, O_NONBLOCK);
        fcntl(s.wake[i], F_SETFD, FD_CLOEXEC);
    }
}

static void handle(int number) {
    struct sigaction action = {.sa_handler = on_noted, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
}

int screen_signals_begin(int terminal, const struct termios *modes, const char *bytes,
                         size_t size) {
    struct sigaction dying = {.sa_handler = die};
    s.terminal = terminal;
    s.bytes = bytes;
    s.size = size;
    s.modes = *modes;
    memset((void *)(uintptr_t)s.came, 0, sizeof s.came);
    open_pipe();
    for (int i = 0; i < NOTED; i++) {
        sigaction(noted[i], NULL, &s.before[i]);
        /* what nohup ignores stays ignored */
        if (noted[i] != SIGHUP || s.before[i].sa_handler != SIG_IGN) handle(noted[i]);
    }
    for (int i = 0; i < DEADLY; i++) {
        sigaction(deadly[i], NULL, &s.deadly_before[i]);
        /* a sanitizer that has handlers reports more than we do */
        if (s.deadly_before[i].sa_handler == SIG_DFL) sigaction(deadly[i], &dying, NULL);
    }
    s.active = true;
    return s.wake[0];
}

void screen_signals_end(void) {
    if (!s.active) return;
    for (int i = 0; i < NOTED; i++) sigaction(noted[i], &s.before[i], NULL);
    for (int i = 0; i < DEADLY; i++) sigaction(deadly[i], &s.deadly_before[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (s.wake[i] >= 0) close(s.wake[i]);
        s.wake[i] = -1;
    }
    s.active = false;
}

screen_signs screen_signals_look(void) {
    char bytes[64];
    while (s.wake[0] >= 0 && read(s.wake[0], bytes, sizeof bytes) > 0) {
    }
    const screen_signs signs = {.end = s.came[0] || s.came[1] || s.came[2],
                                .resized = s.came[3],
                                .stop = s.came[4],
                                .continued = s.came[5]};
    for (int i = ENDING; i < NOTED; i++) s.came[i] = 0;
    return signs;
}

void screen_signals_stop(void) {
    signal(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP); /* the whole job, as the terminal would */
    handle(SIGTSTP);
    s.came[4] = 0;
}
