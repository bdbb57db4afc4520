/* Whether the terminal has a description; in a file of its own, because <term.h> makes macros of `lines` and `columns`. */
#include "cli/screen.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool screen_described(void) {
    int fault;
    if (setupterm(NULL, STDOUT_FILENO, &fault) != OK) return false;
    const bool moves = cursor_address != NULL;
    del_curterm(cur_term);
    return moves;
}
