#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

enum { LINE_BYTES = 1024 };

static int shown_level;
static struct sl_output file = {.fd = -1};

static int descriptor(void)
{
    return sl_output_valid(&file) ? file.fd : STDERR_FILENO;
}

void sl_log_open(int verbose, const char *path)
{
    int kept = errno;
    __atomic_store_n(&shown_level, verbose, __ATOMIC_RELAXED);
    sl_output_close(&file);
    if (path && *path && sl_output_open(path, true, &file) != SL_OK)
        sl_log(SL_LOG_WARN, "cannot write the log %s: %s; messages go to stderr", path, strerror(errno));
    errno = kept;
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
    static const char prefix[] = "sluice: ";
    if ((int)level > __atomic_load_n(&shown_level, __ATOMIC_RELAXED)) return;
    int kept = errno;
    char line[LINE_BYTES];
    size_t used = sizeof(prefix) - 1, room = sizeof(line) - used - 1;
    memcpy(line, prefix, used);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(line + used, room, format, arguments);
    va_end(arguments);
    if (wanted > 0) {
        size_t length = (size_t)wanted < room ? (size_t)wanted : room - 1;
        /* Names come from the program: they must not forge a second line or reach a terminal's controls. */
        for (size_t i = used; i < used + length; i++)
            if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) line[i] = '?';
        if ((size_t)wanted >= room) memcpy(line + used + length - 3, "...", 3);
        used += length;
    }
    line[used++] = '\n';
    while (write(descriptor(), line, used) < 0 && errno == EINTR) {
    }
    errno = kept;
}
