/* Ctrl-C: asked for between two steps of long work, so that nothing is lost. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t happened;
static void on_interrupt(int signal_number) {
    (void)signal_number;
    happened = 1;
}

void interrupt_begin(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void interrupt_end(void) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

bool interrupted(void) { return happened != 0; }
