/* What a run reports at its end: statistics in a file, a summary in the log. And the live file, which keeps
 * both if the program ends suddenly: copies of the figures are written to it from time to time, and after the
 * program's end the watcher of `sluice run` or `sluice stats` reads it.
 *
 * The program never reads the live file, nor maps it: whoever cuts or overwrites it destroys figures only.
 * Its parts are structures as they lie in memory, so only the same build of sluice can read it. A child after
 * fork does not use it. */
#ifndef SLUICE_REPORT_H
#define SLUICE_REPORT_H

#include <limits.h>
#include <sys/types.h>

#include "base/forked.h"
#include "base/options.h"
#include "move/stats.h"

struct sl_core;

/* --- for the program. Caller holds the order lock, or no other thread exists yet */

/* CUDA is used: decides where the statistics go, and makes the live file. Only the first call works. Logs a
 * warning if the statistics cannot be written. */
void sl_report_open(const struct sl_options *options);

/* Writes the core's figures to the live file from now on, by a thread that ends with sl_report_end or
 * sl_report_leave. Precondition: the core is built. */
void sl_report_count(struct sl_core *core);

/* The core has stopped, and its figures were observed for the last time (monitor.c); NULL: it could not
 * start. Removes the live file. */
void sl_report_end(const struct sl_core *core);

/* In a child after fork, or before the core is freed: leaves the live file as it is. */
void sl_report_leave(void);

/* --- the live file, for its readers (tools/command/live.h) */

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
    uint32_t state;         /* enum sl_live_state */
    int32_t verbose;
    char program[16];
    char stats[PATH_MAX], log[PATH_MAX]; /* paths after expansion; "": none */
};

/* Behind it, each at a whole page: the figures, and those of each iteration. */
#define SL_LIVE_PAGES(bytes) (((bytes) + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES)
#define SL_LIVE_STATS_AT SL_LIVE_PAGES(sizeof(struct sl_live))
#define SL_LIVE_ITERATIONS_AT (SL_LIVE_STATS_AT + SL_LIVE_PAGES(SL_FIGURES_BYTES))
#define SL_LIVE_ITERATIONS_BYTES SL_LIVE_PAGES(SL_MAX_ITERATIONS * sizeof(struct sl_counts))

/* When the process began, as process_began; 0: it does not exist, or is a zombie. */
uint64_t sl_process_began(pid_t process);

#endif
