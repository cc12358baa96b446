/* A progress bar on stderr. */
#ifndef SLUICE_PROGRESS_H
#define SLUICE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it before its first use. */
struct progress {
    const char *what; /* must live as long as this */
    uint64_t total, start_ns, next_ns;
    unsigned calls;
    bool wanted, shown;
};

/* Begins; `done` of progress_at goes up to `total`. Shows nothing during the first second, if stderr is not a
 * terminal, or if `total` is 0 (unknown). */
void progress_start(struct progress *progress, const char *what, uint64_t total);

/* The same with the size of the file `path` as the total. */
void progress_start_file(struct progress *progress, const char *path);

/* Cheap enough for every record: checks the clock only now and then. */
void progress_at(struct progress *progress, uint64_t done);

/* Removes the bar. Call it before other output to the terminal. */
void progress_end(struct progress *progress);

#endif
