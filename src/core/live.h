/* A file that keeps the run's statistics if the program ends suddenly. It is mapped while the program runs:
 * the counters are incremented in it, and the rest of the summary is updated from time to time. After the
 * program's end, the watcher of `sluice run` or `sluice stats` reads it.
 *
 * All blocks of the file are written before it is mapped, so no access can fail because the disk is full. Its
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

/* Creates the file at `path` and maps it. An existing file is replaced if it is of this kind.
 * `stats_path`: where the statistics go; "": nowhere. NULL: there is no file, and the program runs without
 * it. */
struct sl_live *sl_live_open(const char *path, const struct sl_options *options, const char *stats_path);

/* Moves the counters into the file: from then on the pages of *stats are the file's. Precondition: *stats
 * has whole pages to itself, sl_stats_init was called, and nothing is counted yet. False: the counters
 * stay where they are. */
bool sl_live_count(struct sl_live *live, struct sl_stats *stats);

/* The program has written its statistics, or has none: removes the file. Its pages stay mapped. */
void sl_live_close(struct sl_live *live);

/* In a child after fork, or before *stats is freed: replaces what was mapped by private memory, all zeros.
 * `stats` may be NULL if nothing was counted. */
void sl_live_leave(struct sl_live *live, struct sl_stats *stats);

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
