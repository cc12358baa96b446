#include "tools/text/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 4096 };

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

bool is_terminal(FILE *stream)
{
    int fd = fileno(stream);
    return fd >= 0 && isatty(fd);
}

bool has_colours(FILE *stream)
{
    return is_terminal(stream) && !is_set("NO_COLOR") && is_set("TERM") &&
           strcmp(getenv("TERM"), "dumb") != 0;
}

const char *style_text(FILE *stream, enum terminal_style style)
{
    static const char *const texts[] = {
        [STYLE_NONE] = "\033[0m",  [STYLE_BOLD] = "\033[1m",     [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m",  [STYLE_GREEN] = "\033[32m",   [STYLE_YELLOW] = "\033[33m",
        [STYLE_BLUE] = "\033[34m", [STYLE_MAGENTA] = "\033[35m", [STYLE_CYAN] = "\033[36m",
    };
    return has_colours(stream) ? texts[style] : "";
}

unsigned terminal_width(FILE *stream)
{
    if (is_set("COLUMNS")) {
        char *end;
        unsigned long columns = strtoul(getenv("COLUMNS"), &end, 10);
        if (!*end && columns > 0 && columns <= WIDTH_MAX) return (unsigned)columns;
    }
    struct winsize size;
    int fd = fileno(stream);
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return WIDTH_DEFAULT;
}

bool has_unicode(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"}; /* the first that is set is used */
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        if (!is_set(variables[i])) continue;
        const char *value = getenv(variables[i]);
        return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
    }
    return false;
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++) columns += starts_character(*text);
    return columns;
}

size_t text_prefix(const char *text, size_t columns)
{
    size_t bytes = 0;
    for (; text[bytes]; bytes++) {
        if (!starts_character(text[bytes])) continue;
        if (!columns--) break;
    }
    return bytes;
}
