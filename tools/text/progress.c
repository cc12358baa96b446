#include "tools/text/progress.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tools/text/terminal.h"

enum {
    CALLS_A_LOOK = 1024,     /* calls of progress_at per check of the clock */
    DELAY_NS = 1000000000,   /* before the bar is shown */
    INTERVAL_NS = 100000000, /* between two updates */
    BAR_MIN = 10,
    BAR_MAX = 50,
    BESIDE = 8, /* columns in addition to the name and the bar */
};

void progress_start(struct progress *progress, const char *what, uint64_t total)
{
    *progress = (struct progress){.what = what, .total = total, .start_ns = sl_clock_ns(CLOCK_MONOTONIC)};
    progress->next_ns = progress->start_ns + DELAY_NS;
    progress->wanted = total > 0 && is_terminal(stderr);
}

void progress_start_file(struct progress *progress, const char *path)
{
    struct stat file;
    bool regular = stat(path, &file) == 0 && S_ISREG(file.st_mode);
    progress_start(progress, path, regular ? (uint64_t)file.st_size : 0);
}

static void show(const struct progress *progress, double share)
{
    size_t width = terminal_width(stderr), name = text_columns(progress->what);
    if (width < BAR_MIN + BESIDE) return;
    size_t bar = name + BAR_MIN + BESIDE < width ? width - BESIDE - name : BAR_MIN;
    if (bar > BAR_MAX) bar = BAR_MAX;
    size_t room = width - BESIDE - bar, full = (size_t)(share * (double)bar);
    fprintf(stderr, "\r%.*s [", (int)text_prefix(progress->what, room), progress->what);
    for (size_t i = 0; i < bar; i++) fputc(i < full ? '=' : ' ', stderr);
    fprintf(stderr, "] %3.0f%%", share * 100);
    fflush(stderr);
}

void progress_at(struct progress *progress, uint64_t done)
{
    if (!progress->wanted || progress->calls++ % CALLS_A_LOOK) return;
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    if (now < progress->next_ns) return;
    progress->next_ns = now + INTERVAL_NS;
    progress->shown = true;
    show(progress, done < progress->total ? (double)done / (double)progress->total : 1);
}

void progress_end(struct progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = progress->wanted = false;
}
