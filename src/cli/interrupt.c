/* Ctrl-C, SIGTERM, a terminal that is closed: asked for between two steps of long work, so that nothing is lost. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

static volatile sig_atomic_t happened;
static void on_interrupt(int signal_number) {
    (void)signal_number;
    happened = 1;
}

void interrupt_begin(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction old;
        /* what nohup ignores stays ignored; a shell ignores SIGINT of what it starts with &, and kill -INT asks */
        if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        sigaction(signals[i], &action, NULL);
    }
}

void interrupt_end(void) {
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == on_interrupt)
            signal(signals[i], SIG_DFL);
    }
}

bool interrupted(void) { return happened != 0; }
