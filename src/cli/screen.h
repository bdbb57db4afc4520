/* The terminal as a whole screen: shows a grid, waits for keys and the mouse, and is as before on every way out. */
#ifndef EG__CLI_SCREEN_H
#define EG__CLI_SCREEN_H

#include "cli/view/grid.h"
#include "cli/view/view.h"

typedef enum screen_event_kind {
    SCREEN_NOTHING, /* the time is over */
    SCREEN_KEY,
    SCREEN_RESIZED, /* or brought back: draw again */
    SCREEN_END      /* a signal, or the terminal is gone */
} screen_event_kind;
typedef struct screen_event {
    screen_event_kind kind;
    view_key key;
    int row, column; /* of the mouse */
} screen_event;

/* ---- screen_ncurses.c; without ncurses, screen_noncurses.c */
/* Whether there is a terminal that can show a screen, for a program that was built for it. */
bool screen_usable(void);
/* Until screen_close, what is written to stderr is kept, and then printed. False: the terminal could not be set up. */
bool screen_open(void);
void screen_close(void); /* also by itself when the program ends; when it is not open, nothing */
bool screen_utf8(void);  /* what is not in ASCII can be shown */
void screen_size(int *rows, int *columns);
void screen_show(const grid *g); /* only cells that changed are sent */
screen_event screen_wait(double seconds);

/* ---- screen_described_ncurses.c */
bool screen_described(void); /* the terminal has a description, and its cursor can be moved */

#endif
