#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"

enum { LINE_BYTES = 1024 };

static int shown_level;
static const char *_Atomic file_path; /* NULL: stderr */
static struct sl_output file = {.fd = -1};
static _Atomic int file_state; /* state of `file` */
enum { NOT_TRIED, OPENING, OPEN, REFUSED };

/* Descriptor 2 is written to only while it is the file that the process began with: a program that closed it
 * may have got the number for a file or connection of its own. */
static struct sl_output begun_with = {.fd = -1};

void sl_log_open(int verbose, const char *path)
{
    int kept = errno;
    struct stat at;
    atomic_store(&file_path, path && *path ? path : NULL);
    __atomic_store_n(&shown_level, verbose, __ATOMIC_RELAXED);
    sl_output_close(&file);
    atomic_store(&file_state, NOT_TRIED);
    begun_with.fd = -1;
    if (fstat(STDERR_FILENO, &at) == 0)
        begun_with = (struct sl_output){.fd = STDERR_FILENO, .device = at.st_dev, .inode = at.st_ino};
    errno = kept;
}

static void write_line(int fd, const char *line, size_t bytes)
{
    while (fd >= 0 && sl_output_put(fd, line, bytes) < 0 && errno == EINTR) {
    }
}

/* -1: none. The first message opens the file, since most processes log nothing. If two threads log at once,
 * one opens the file, and the other's line goes to stderr. */
static int descriptor(void)
{
    int not_tried = NOT_TRIED, on_stderr = sl_output_valid(&begun_with) ? STDERR_FILENO : -1;
    const char *path = atomic_load(&file_path);
    if (!path) return on_stderr;
    if (atomic_compare_exchange_strong(&file_state, &not_tried, OPENING)) {
        bool opened = sl_output_open(path, NULL, &file) == SL_OK;
        char line[512];
        int length = opened ? 0
                            : snprintf(line, sizeof line,
                                       "sluice: cannot write the log %.256s: %s; messages go to stderr\n",
                                       path, strerror(errno));
        atomic_store(&file_state, opened ? OPEN : REFUSED);
        if (length > 0) write_line(on_stderr, line, (size_t)length);
    }
    return atomic_load(&file_state) == OPEN && sl_output_valid(&file) ? file.fd : on_stderr;
}

bool sl_log_shows(enum sl_log_level level)
{
    return (int)level <= __atomic_load_n(&shown_level, __ATOMIC_RELAXED);
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
    static const char prefix[] = "sluice: ";
    if (!sl_log_shows(level)) return;
    int kept = errno, cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* locks of ours may be held */
    char line[LINE_BYTES];
    size_t used = sizeof(prefix) - 1, room = sizeof(line) - used - 1;
    memcpy(line, prefix, used);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(line + used, room, format, arguments);
    va_end(arguments);
    if (wanted > 0) {
        size_t length = (size_t)wanted < room ? (size_t)wanted : room - 1;
        if ((size_t)wanted >= room) memcpy(line + used + length - 3, "...", 3);
        sl_defuse(line + used); /* a name must not forge a second line */
        used += length;
    }
    line[used++] = '\n';
    write_line(descriptor(), line, used);
    pthread_setcancelstate(cancel_state, NULL);
    errno = kept;
}
