/* A bar on stderr for what takes long. */
#ifndef SLUICE_PROGRESS_H
#define SLUICE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Zero it before its first use. */
struct progress {
    const char *what; /* lives as long as this */
    uint64_t total, start_ns, next_ns;
    unsigned calls;
    bool wanted, shown;
};

/* Begins: `done` of progress_at goes up to `total`; 0: unknown, and nothing is ever shown. Nothing is shown
 * either where stderr is no terminal, or before a second has passed. */
void progress_start(struct progress *progress, const char *what, uint64_t total);

/* The same with the size of the file `path` as the total. */
void progress_start_file(struct progress *progress, const char *path);

/* May be called for every record: looks at the clock now and then. */
void progress_at(struct progress *progress, uint64_t done);

/* Takes the bar away. Before anything else is written to the terminal. */
void progress_end(struct progress *progress);

#endif
