/* Signals while a screen is shown: those that end the program put the terminal back first. */
#ifndef EG__CLI_SCREEN_SIGNALS_H
#define EG__CLI_SCREEN_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

typedef struct screen_signs { /* what came since the last look */
    bool end;                 /* Ctrl-C, SIGTERM, SIGHUP; stays */
    bool resized, stop, continued;
} screen_signs;

/* `bytes`, which must stay, and the modes are given to the terminal when a crash or a second Ctrl-C ends the program.
 * The descriptor becomes readable with every signal; -1 = none. */
int screen_signals_begin(int terminal, const struct termios *modes, const char *bytes, size_t size);
void screen_signals_end(void);
screen_signs screen_signals_look(void);
/* Stops the program as Ctrl-Z does without handlers; returns when it goes on. */
void screen_signals_stop(void);

#endif
