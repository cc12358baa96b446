/* A file that keeps the run's statistics if the program ends suddenly. Copies of the counters and the summary
 * are written to it from time to time. After the program's end, the watcher of `sluice run` or `sluice stats`
 * reads it.
 *
 * The program never reads the file, nor maps it: whoever cuts or overwrites it destroys figures only. Its
 * parts are structures as they lie in memory, so only the same build of sluice can read it. A child after
 * fork does not use it.
 */
#ifndef SLUICE_LIVE_H
#define SLUICE_LIVE_H

#include <limits.h>
#include <sys/types.h>

#include "base/forked.h"
#include "base/options.h"
#include "move/stats.h"

#define SL_LIVE_MAGIC "SLLIVE\r\n"

enum sl_live_state {
    SL_LIVE_SEEN,     /* CUDA is used, but nothing is counted yet */
    SL_LIVE_COUNTED,  /* a core exists and counts */
    SL_LIVE_REPORTED, /* the program has written its statistics itself */
};

/* The header of the file. */
struct sl_live {
    char magic[8];
    char version[24];
    uint32_t header_bytes, stats_bytes, iterations; /* sizes in this build */
    uint32_t process;
    uint64_t process_began; /* in clock ticks since boot: tells processes with the same id apart */
    _Atomic uint32_t state; /* enum sl_live_state */
    int32_t verbose;
    char program[16];
    char stats[PATH_MAX], log[PATH_MAX]; /* paths after expansion; "": none */
    struct sl_run_summary summary;
};

/* Creates the file at `path`. An existing file is replaced if it is of this kind.
 * `stats_path`: where the statistics go; "": nowhere. NULL: there is no file, and the program runs without
 * it. */
struct sl_live *sl_live_open(const char *path, const struct sl_options *options, const char *stats_path);

/* Writes the counters and the summary as they are. An error is not reported: the figures are then lost. One
 * thread at a time; others may count meanwhile. */
void sl_live_write(struct sl_live *live, const struct sl_stats *stats);

/* The program has written its statistics, or has none: removes the file. Accepts NULL. */
void sl_live_close(struct sl_live *live);

/* In a child after fork: the file is the parent's. Accepts NULL. */
void sl_live_leave(struct sl_live *live);

/* --- for the reader */

struct sl_live_record {
    struct sl_live live;
    struct sl_stats stats; /* its `iterations` are the record's own */
    bool running;          /* the process still exists */
};

/* Reads the file. *out is freed with sl_live_free. SL_ERR_IO with errno; SL_ERR_FORMAT: not a file of this
 * kind; SL_ERR_VERSION: another build's; SL_ERR_NO_MEMORY. */
enum sl_status sl_live_read(const char *path, struct sl_live_record **out);
void sl_live_free(struct sl_live_record *record);

/* When the process began, as process_began; 0: it does not exist, or is a zombie. */
uint64_t sl_process_began(pid_t process);

#endif
