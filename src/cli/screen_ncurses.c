/* A screen by ncurses, which sends the cells that changed, and reads keys and the mouse. */
#define NCURSES_WIDECHAR 1
#include "cli/screen.h"
#include "cli/screen_signals.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef BUTTON5_PRESSED /* ncurses before 6 knows four buttons */
#define BUTTON5_PRESSED 0
#endif

static struct {
    SCREEN *screen;
    FILE *to; /* stdout shows escapes instead of sending them */
    int wake;
    FILE *messages;   /* what stderr got meanwhile */
    uint64_t printed; /* bytes of it */
    int stderr_before;
    char restore[256]; /* what a terminal needs to be as before */
    attr_t attributes[GRID_STYLES];
    short pairs[GRID_STYLES];
} c = {.wake = -1, .stderr_before = -1};

bool screen_usable(void) {
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && term[0] &&
           strcmp(term, "dumb") != 0 && screen_described();
}

/* The font of the Linux console has no braille. */
bool screen_utf8(void) {
    const char *term = getenv("TERM");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && !(term && strcmp(term, "linux") == 0);
}

/* ---- messages wait: in the middle of a screen nobody could read them */
static void keep_messages(void) {
    if (!c.messages) c.messages = tmpfile();
    c.stderr_before = c.messages ? dup(STDERR_FILENO) : -1;
    if (c.stderr_before >= 0) dup2(fileno(c.messages), STDERR_FILENO);
}

/* Also those of commands that went on after the screen was closed, when the program ends. */
static void print_messages(void) {
    char bytes[4096];
    ssize_t size;
    if (c.stderr_before >= 0) {
        fflush(stderr);
        dup2(c.stderr_before, STDERR_FILENO);
        close(c.stderr_before);
        c.stderr_before = -1;
    }
    /* the position of the file is that of the commands, too, which write at it */
    while (c.messages &&
           (size = pread(fileno(c.messages), bytes, sizeof bytes, (off_t)c.printed)) > 0) {
        c.printed += (uint64_t)size;
        if (write(STDERR_FILENO, bytes, (size_t)size) < 0) break;
    }
}

/* ---- colours: of 256, of 8, or none */
static const struct {
    attr_t attributes; /* always */
    attr_t plain;      /* where there are no colours */
    short many, few;   /* -1 = that of the terminal */
} looks[GRID_STYLES] = {
    [GRID_PLAIN] = {0, 0, -1, -1},
    [GRID_DIM] = {0, A_DIM, 245, -1},
    [GRID_BOLD] = {A_BOLD, 0, -1, -1},
    [GRID_FRAME] = {0, A_DIM, 240, COLOR_BLUE},
    [GRID_TITLE] = {A_BOLD, 0, -1, -1},
    [GRID_LOW] = {0, 0, 78, COLOR_GREEN},
    [GRID_MIDDLE] = {0, 0, 221, COLOR_YELLOW},
    [GRID_HIGH] = {0, A_BOLD, 203, COLOR_RED},
    [GRID_CURVE] = {0, 0, 75, COLOR_CYAN},
    [GRID_ALERT] = {A_BOLD, 0, 203, COLOR_RED},
    [GRID_CHOSEN] = {A_BOLD | A_REVERSE, 0, -1, -1},
};

static void choose_looks(void) {
    const char *off = getenv("NO_COLOR");
    const bool colours =
        !(off && off[0]) && has_colors() && start_color() == OK && use_default_colors() == OK;
    for (short i = 0; i < GRID_STYLES; i++) {
        const short colour = !colours ? -1 : COLORS >= 256 ? looks[i].many : looks[i].few;
        c.attributes[i] = looks[i].attributes | (colour < 0 ? looks[i].plain : 0);
        c.pairs[i] = 0;
        if (colour >= 0 && init_pair((short)(i + 1), colour, -1) == OK) c.pairs[i] = (short)(i + 1);
    }
}

/* ---- opening and closing */

/* NULL = the terminal has none. */
static const char *capability(const char *name) {
    const char *text = tigetstr(name);
    return text == (char *)-1 ? NULL : text;
}

/* Without the delays that the terminals of old needed, "$<5>". */
static void append(const char *text) {
    size_t used = strlen(c.restore);
    for (; text && *text && used + 1 < sizeof c.restore; text++) {
        const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;
        if (end) text = end;
        else c.restore[used++] = *text;
    }
    c.restore[used] = 0;
}

/* What endwin() sends, for a handler that cannot call it. */
static void remember_restore(void) {
    c.restore[0] = 0;
    if (capability("kmous")) append("\033[?1006l\033[?1002l\033[?1000l");
    append(capability("sgr0"));
    append(capability("cnorm"));
    append(capability("rmkx"));
    append(capability("rmcup"));
}

static bool open_terminal(void) {
    struct termios modes;
    const int copy = dup(STDOUT_FILENO);
    if (copy < 0) return false;
    c.to = fdopen(copy, "w");
    if (!c.to) {
        close(copy);
        return false;
    }
    if (tcgetattr(copy, &modes) != 0) return false;
    c.screen = newterm(NULL, c.to, stdin);
    if (!c.screen) return false;
    remember_restore();
    c.wake = screen_signals_begin(copy, &modes, c.restore, strlen(c.restore));
    return true;
}

bool screen_open(void) {
    static bool registered;
    setlocale(LC_CTYPE, "");
    fflush(stdout);
    if (!open_terminal()) {
        screen_close();
        return false;
    }
    if (!registered) registered = atexit(screen_close) == 0;
    choose_looks();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
    keep_messages();
    return true;
}

void screen_close(void) {
    if (c.screen) {
        endwin();
        delscreen(c.screen);
        c.screen = NULL;
    }
    screen_signals_end();
    if (c.to) fclose(c.to);
    c.to = NULL;
    print_messages();
}

/* ---- drawing */
void screen_size(int *rows, int *columns) { getmaxyx(stdscr, *rows, *columns); }

void screen_show(const grid *g) {
    int rows, columns;
    screen_size(&rows, &columns);
    if (g->rows < rows || g->columns < columns) erase();
    for (int r = 0; r < g->rows && r < rows; r++)
        for (int k = 0; k < g->columns && k < columns; k++) {
            const grid_cell *cell = &g->cells[r][k];
            const wchar_t text[2] = {(wchar_t)cell->code, 0};
            cchar_t out;
            setcchar(&out, text, c.attributes[cell->style], c.pairs[cell->style], NULL);
            mvadd_wch(r, k, &out);
        }
    refresh();
}

/* ---- keys */
static const struct {
    int code;
    view_key key;
} keys[] = {
    {KEY_UP, VIEW_KEY_UP},        {KEY_DOWN, VIEW_KEY_DOWN},     {KEY_LEFT, VIEW_KEY_LEFT},
    {KEY_RIGHT, VIEW_KEY_RIGHT},  {KEY_PPAGE, VIEW_KEY_PAGE_UP}, {KEY_NPAGE, VIEW_KEY_PAGE_DOWN},
    {KEY_HOME, VIEW_KEY_HOME},    {KEY_END, VIEW_KEY_END},       {KEY_ENTER, VIEW_KEY_ENTER},
    {'\r', VIEW_KEY_ENTER},       {'\n', VIEW_KEY_ENTER},        {KEY_BACKSPACE, VIEW_KEY_BACK},
    {127, VIEW_KEY_BACK},         {27, VIEW_KEY_BACK},           {'\t', VIEW_KEY_TAB},
    {KEY_BTAB, VIEW_KEY_TAB_BACK}};

static screen_event mouse_event(void) {
    MEVENT m;
    if (getmouse(&m) != OK) return (screen_event){.kind = SCREEN_KEY};
    const view_key key = m.bstate & BUTTON4_PRESSED   ? VIEW_KEY_WHEEL_UP
                         : m.bstate & BUTTON5_PRESSED ? VIEW_KEY_WHEEL_DOWN
                         : m.bstate & BUTTON1_PRESSED ? VIEW_KEY_CLICK
                                                      : VIEW_KEY_NONE;
    return (screen_event){SCREEN_KEY, key, m.y, m.x};
}

static screen_event event_of(int code) {
    if (code == KEY_RESIZE) return (screen_event){.kind = SCREEN_RESIZED};
    if (code == KEY_MOUSE) return mouse_event();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].code == code) return (screen_event){.kind = SCREEN_KEY, .key = keys[i].key};
    const view_key key = code > ' ' - 1 && code < 127 ? (view_key)code : VIEW_KEY_NONE;
    return (screen_event){.kind = SCREEN_KEY, .key = key};
}

/* ---- waiting */
static void take_size(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
}

static bool look(screen_event *out) {
    const screen_signs signs = screen_signals_look();
    *out = (screen_event){.kind = signs.end ? SCREEN_END : SCREEN_RESIZED};
    if (signs.end) return true;
    if (signs.stop) {
        endwin();
        screen_signals_stop();
    }
    if (signs.stop || signs.continued) {
        reset_prog_mode(); /* a shell has set its own */
        curs_set(0);
        clearok(curscr, TRUE);
    }
    if (signs.stop || signs.continued || signs.resized) take_size();
    return signs.stop || signs.continued || signs.resized;
}

screen_event screen_wait(double seconds) {
    screen_event event;
    struct pollfd files[2] = {{STDIN_FILENO, POLLIN, 0}, {c.wake, POLLIN, 0}};
    if (look(&event)) return event;
    int code = getch();
    if (code != ERR) return event_of(code);
    const int rest = seconds <= 0 ? 0 : seconds > 3600 ? 3600000 : (int)(seconds * 1000) + 1;
    const int ready = poll(files, 2, rest);
    if (look(&event)) return event;
    if (ready <= 0) return (screen_event){.kind = SCREEN_NOTHING};
    code = getch();
    if (code != ERR) return event_of(code);
    /* readable, and nothing to read: nobody is there any more */
    const bool gone = files[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL);
    return (screen_event){.kind = gone ? SCREEN_END : SCREEN_NOTHING};
}
