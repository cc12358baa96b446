#include "log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int descriptor = STDERR_FILENO;

/* Reads the environment itself, because sc_options logs its errors here. */
static void open_log(void)
{
    const char *pattern = getenv("SOFTCUDA_LOG");
    if (!pattern || !*pattern) return;
    if (!strcmp(pattern, "none")) {
        descriptor = -1;
        return;
    }
    char path[4096];
    sc_expand_path(pattern, path, sizeof path);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) descriptor = file;
}

void sc_log(const char *format, ...)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_log);
    if (descriptor < 0) return;
    char line[4096] = "softcuda: ";
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    used += (size_t)length;
    if (used > sizeof line - 2) used = sizeof line - 2;
    line[used++] = '\n';
    ssize_t written = write(descriptor, line, used);
    (void)written;
}

void sc_expand_path(const char *pattern, char *out, unsigned long out_bytes)
{
    unsigned long used = 0;
    while (*pattern && used + 1 < out_bytes) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            int length = snprintf(out + used, out_bytes - used, "%ld", (long)getpid());
            used += (unsigned long)length < out_bytes - used ? (unsigned long)length : out_bytes - used - 1;
            pattern += 2;
        } else {
            out[used++] = *pattern++;
        }
    }
    out[used] = 0;
}
