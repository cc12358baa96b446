/* The run's figures in a file that is mapped while the program runs, so that they outlive it however it ends:
 * the counters are counted in it, and what the summary says beside them is brought up to date from time to
 * time. Whoever is left when the program is gone reads it: the watcher of `sluice run`, or `sluice stats`.
 *
 * The file is all there before it is mapped, so that no access can fail for want of space. It is of one build
 * of sluice: its parts are structures as they lie in memory. A child process has none of it.
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
    SL_LIVE_SEEN,     /* CUDA is used; nothing is counted yet */
    SL_LIVE_COUNTED,  /* there is a core */
    SL_LIVE_REPORTED, /* the program has written its figures itself */
};

/* What the file begins with. */
struct sl_live {
    char magic[8];
    char version[24];
    uint32_t header_bytes, stats_bytes, iterations; /* of this build */
    uint32_t process;
    uint64_t process_began; /* in clock ticks since the machine started: distinguishes two of one number */
    _Atomic uint32_t state; /* enum sl_live_state */
    int32_t verbose;
    char program[16];
    char stats[PATH_MAX], log[PATH_MAX]; /* files, expanded; "": none */
    struct sl_run_summary summary;
};

/* Makes the file at `path` and maps it; one that is there is replaced if it is of this kind. NULL: there is
 * none, and the program runs as without it. `stats_path`: where the statistics go; "": nowhere. */
struct sl_live *sl_live_open(const char *path, const struct sl_options *options, const char *stats_path);

/* Lays the counters into the file: *stats, which has whole pages to itself, from then on is a part of it.
 * pre: sl_stats_init, and nothing is counted yet. False: they stay where they are. */
bool sl_live_count(struct sl_live *live, struct sl_stats *stats);

/* The program has written its figures, or has none: the file is removed. What is mapped stays. */
void sl_live_close(struct sl_live *live);

/* In a child, or before *stats is freed: what was mapped becomes memory of its own, all zeros. `stats` may be
 * NULL where nothing was counted. */
void sl_live_leave(struct sl_live *live, struct sl_stats *stats);

/* --- the reader */

struct sl_live_record {
    struct sl_live live;
    struct sl_stats stats; /* with iterations of its own */
    bool running;          /* the process is still there */
};

/* SL_ERR_IO with errno, SL_ERR_FORMAT: no such file, SL_ERR_VERSION: of another build. *out is malloc's, and
 * freed by sl_live_free. */
enum sl_status sl_live_read(const char *path, struct sl_live_record **out);
void sl_live_free(struct sl_live_record *record);

/* When the process began, as process_began; 0: it is not there, or only waits to be collected. */
uint64_t sl_process_began(pid_t process);

#endif
