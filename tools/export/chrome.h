/* Tracks as a Chrome trace (JSON with traceEvents), which ui.perfetto.dev, chrome://tracing and PyTorch's
 * tools read. Times are as PyTorch's profiler (Kineto) writes them: `ts` in microseconds since
 * baseTimeNanoseconds, which is in nanoseconds since 1970. Arrows are not written. */
#ifndef SLUICE_CHROME_H
#define SLUICE_CHROME_H

#include "tools/export/tracks.h"

/* A trace of PyTorch's profiler, into which events are merged. */
struct chrome_file {
    FILE *from;
    uint64_t base_ns;  /* nanoseconds since 1970; 0 in older ones, whose ts begin there */
    long object, list; /* where the members of the whole and of traceEvents begin */
    bool empty;        /* traceEvents is */
};

/* Opens such a file and looks at all of it. NULL, or what is wrong with it, for a message; then nothing is
 * left open. */
const char *chrome_file_open(const char *path, struct chrome_file *out);
void chrome_file_close(struct chrome_file *file); /* accepts a zeroed one */

/* Copies the bytes from `begin` up to `end` (-1: the last one). False: it cannot be read. */
bool chrome_file_copy(const struct chrome_file *file, long begin, long end, FILE *to);

struct chrome_row {
    uint32_t process, thread;
    char *name; /* NULL: this is a process */
};

struct chrome {
    struct tracks tracks;
    const struct chrome_file *with;
    uint64_t base_ns, monotonic_ns, realtime_ns;
    struct chrome_row *rows; /* a track's id is its index + 1 */
    uint32_t row_count, row_room;
    bool begun, unread; /* an event was written; `with` could not be read */
};

/* How every file begins that chrome_open writes. */
#define CHROME_MARKER "{\"sluice\": \"trace export\""

/* `monotonic_ns` and `realtime_ns` are the same moment on both clocks. `with`: NULL, or a file to merge. */
void chrome_open(struct chrome *chrome, FILE *to, uint64_t monotonic_ns, uint64_t realtime_ns,
                 const struct chrome_file *with);

/* False: out of memory. *read: whether `with` could be read. Write errors are those of `to`. */
bool chrome_close(struct chrome *chrome, bool *read);

#endif
