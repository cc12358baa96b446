/* The screen of `sluice top`, by curses. */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "tools/top/top.h"

enum { LEAST_COLUMNS = 40, LEAST_LINES = 4 };

struct screen {
    struct top_lines lines;
    unsigned first; /* line at the top */
    bool paused, unicode, helps;
};

/* curses writes characters of several bytes only in a locale that has them. */
static bool can_write_unicode(void)
{
    return setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static attr_t attribute_of(enum terminal_style style)
{
    switch (style) {
    case STYLE_BOLD:
        return A_BOLD;
    case STYLE_DIM:
        return A_DIM;
    case STYLE_NONE:
        return A_NORMAL;
    default:
        return has_colors() ? (attr_t)COLOR_PAIR(style) : A_BOLD;
    }
}

static void start_colours(void)
{
    static const short colours[] = {
        [STYLE_RED] = COLOR_RED,   [STYLE_GREEN] = COLOR_GREEN,     [STYLE_YELLOW] = COLOR_YELLOW,
        [STYLE_BLUE] = COLOR_BLUE, [STYLE_MAGENTA] = COLOR_MAGENTA, [STYLE_CYAN] = COLOR_CYAN};
    if (!has_colours(stdout) || start_color() == ERR) return;
    use_default_colors();
    for (short style = STYLE_RED; style <= STYLE_CYAN; style++) init_pair(style, colours[style], -1);
}

static void draw_line(int row, unsigned column, enum terminal_style style, const char *text)
{
    if (column >= (unsigned)COLS) return;
    attrset(attribute_of(style));
    mvaddnstr(row, (int)column, text, (int)text_prefix(text, (size_t)COLS - column));
    attrset(A_NORMAL);
}

static const char *title_of(const struct screen *screen)
{
    if (screen->helps) return "sluice top, help   any key leaves";
    return screen->paused ? "sluice top, paused   q quit  space go on  arrows scroll  ? help"
                          : "sluice top   q quit  space pause  arrows scroll  ? help";
}

static void draw(struct screen *screen, const struct runs *runs)
{
    unsigned shown = LINES > 1 ? (unsigned)LINES - 1 : 0, width = (unsigned)COLS;
    if (width < LEAST_COLUMNS) width = LEAST_COLUMNS;
    if (screen->helps)
        top_write_keys(&screen->lines, width);
    else
        top_write_lines(&screen->lines, runs, width, screen->unicode);
    unsigned count = screen->lines.count, last = count > shown ? count - shown : 0;
    if (screen->first > last) screen->first = last;
    erase();
    attron(A_REVERSE);
    mvprintw(0, 0, "%-*.*s", COLS, COLS, title_of(screen));
    attroff(A_REVERSE);
    if (!count) mvaddnstr(2, 0, "No managed program of this user is running.", COLS);
    for (unsigned i = 0; i < shown && screen->first + i < count; i++) {
        const struct top_line *line = &screen->lines.all[screen->first + i];
        draw_line((int)i + 1, 0, line->style, line->text);
        if (line->right[0]) draw_line((int)i + 1, line->right_at, line->right_style, line->right);
    }
    refresh();
}

/* False: the user quits. */
static bool take_key(struct screen *screen, int key)
{
    if (screen->helps && key != ERR) {
        screen->helps = false;
        return true;
    }
    switch (key) {
    case '?':
    case 'h':
        screen->helps = true;
        screen->first = 0;
        break;
    case 'q':
    case 'Q':
    case 27: /* Escape */
        return false;
    case ' ':
    case 'p':
        screen->paused = !screen->paused;
        break;
    case KEY_DOWN:
    case 'j':
        screen->first++;
        break;
    case KEY_UP:
    case 'k':
        screen->first -= screen->first != 0;
        break;
    case KEY_NPAGE:
        screen->first += LINES > 1 ? (unsigned)LINES - 1 : 1;
        break;
    case KEY_PPAGE:
        screen->first = screen->first + 1 > (unsigned)LINES ? screen->first + 1 - (unsigned)LINES : 0;
        break;
    case KEY_HOME:
        screen->first = 0;
        break;
    default:
        break;
    }
    return true;
}

bool top_screen(struct runs *runs, unsigned interval_ms, bool (*look)(void *context), void *context)
{
    struct screen screen = {.unicode = can_write_unicode()};
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal) return false;
    start_colours();
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(25);
    timeout((int)interval_ms);
    for (bool goes_on = true; goes_on;) {
        draw(&screen, runs);
        int key = getch();
        goes_on = take_key(&screen, key);
        if (goes_on && key == ERR && !screen.paused) goes_on = look(context);
    }
    endwin();
    delscreen(terminal);
    top_lines_free(&screen.lines);
    return true;
}
