/* A build without ncurses has no screen: lines are printed. */
#include "cli/screen.h"

bool screen_usable(void) { return false; }
bool screen_open(void) { return false; }
void screen_close(void) {}
bool screen_utf8(void) { return false; }
void screen_size(int *rows, int *columns) { *rows = *columns = 0; }
void screen_show(const grid *g) { (void)g; }
screen_event screen_wait(double seconds) {
    (void)seconds;
    return (screen_event){.kind = SCREEN_END};
}
