/* What a key or the mouse changes. */
#include "cli/view/view.h"

static void turn_page(view *v, int by) {
    v->page = (view_page)(((int)v->page + by + VIEW_PAGES) % VIEW_PAGES);
    v->scroll = 0;
}

static void go_to(view *v, view_page page) {
    v->page = page;
    v->scroll = 0;
}

static void scroll_by(view *v, int lines) {
    v->scroll += lines;
    if (v->scroll > v->page_beyond) v->scroll = v->page_beyond;
    if (v->scroll < 0) v->scroll = 0;
}

static void choose_by(view *v, int by) {
    size_t order[VIEW_PROGRAMS];
    const size_t count = view_order(v, order);
    const eg_published *now = view_chosen(v);
    for (size_t i = 0; i < count; i++) {
        if (&v->sample->published[order[i]] != now) continue;
        const long to = (long)i + by;
        view_choose(v, order[to < 0 ? 0 : to >= (long)count ? count - 1 : (size_t)to]);
        return;
    }
}

/* Up and down: the chosen program or, on the other pages, lines. */
static void move(view *v, int by) {
    if (v->page == VIEW_OVERVIEW) choose_by(v, by);
    else scroll_by(v, by);
}

static void change_interval(view *v, int by) {
    static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
    enum { COUNT = sizeof steps / sizeof *steps };
    int i = 0;
    while (i < COUNT - 1 && steps[i] < v->interval * 0.99) i++;
    /* one between two of them goes to its neighbour */
    const bool between = steps[i] > v->interval * 1.01;
    i += by > 0 && between ? 0 : by;
    v->interval = steps[i < 0 ? 0 : i >= COUNT ? COUNT - 1 : i];
}

static void click(view *v, int row, int column) {
    if (row == 0) {
        for (int i = 0; i < VIEW_PAGES; i++)
            if (column >= v->tab_at[i] && column < v->tab_at[i + 1]) go_to(v, (view_page)i);
    } else if (row > 0 && row < GRID_ROWS && v->page == VIEW_OVERVIEW && v->program_at[row])
        view_choose(v, (size_t)v->program_at[row] - 1);
}

static void move_far(view *v, view_key key) {
    enum { FAR = 1 << 20 };
    const int rows = v->page == VIEW_OVERVIEW ? 5 : v->page_rows > 1 ? v->page_rows - 1 : 1;
    move(v, key == VIEW_KEY_PAGE_UP     ? -rows
            : key == VIEW_KEY_PAGE_DOWN ? rows
            : key == VIEW_KEY_HOME      ? -FAR
                                        : FAR);
}

bool view_press(view *v, view_key key, int row, int column) {
    if (key == 'q' || key == 'Q') return false;
    if (v->help) { /* any key closes it */
        v->help = key == VIEW_KEY_NONE;
        return true;
    }
    switch ((int)key) {
    case VIEW_KEY_UP:
    case VIEW_KEY_WHEEL_UP:
    case 'k': move(v, -1); break;
    case VIEW_KEY_DOWN:
    case VIEW_KEY_WHEEL_DOWN:
    case 'j': move(v, 1); break;
    case VIEW_KEY_PAGE_UP:
    case VIEW_KEY_PAGE_DOWN:
    case VIEW_KEY_HOME:
    case VIEW_KEY_END: move_far(v, key); break;
    case VIEW_KEY_TAB:
    case VIEW_KEY_RIGHT: turn_page(v, 1); break;
    case VIEW_KEY_TAB_BACK:
    case VIEW_KEY_LEFT: turn_page(v, -1); break;
    case '1':
    case '2':
    case '3': go_to(v, (view_page)(key - '1')); break;
    case VIEW_KEY_ENTER: go_to(v, VIEW_PROGRAM); break;
    case VIEW_KEY_BACK: go_to(v, VIEW_OVERVIEW); break;
    case '?':
    case 'h': v->help = true; break;
    case '+':
    case '=': change_interval(v, 1); break;
    case '-': change_interval(v, -1); break;
    case 'p':
    case ' ': v->paused = !v->paused; break;
    case 's': v->sort = (view_sort)((v->sort + 1) % VIEW_SORTS); break;
    case VIEW_KEY_CLICK: click(v, row, column); break;
    default: break;
    }
    return true;
}
