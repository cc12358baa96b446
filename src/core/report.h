/* What a run reports at its end: statistics in a file, a summary in the log. Caller holds the order lock,
 * or no other thread exists yet. */
#ifndef SLUICE_REPORT_H
#define SLUICE_REPORT_H

#include "base/options.h"
#include "move/stats.h"

struct sl_core;

/* CUDA is used: decides where the statistics go, and makes the file that survives a sudden end (live.h).
 * Only the first call works. Logs a warning if the statistics cannot be written. */
void sl_report_open(const struct sl_options *options);

/* Writes the core's figures to that file from now on, by a thread that ends with sl_report_end or
 * sl_report_leave. Precondition: the core is built. */
void sl_report_count(struct sl_core *core);

/* The core has stopped; NULL: it could not start. */
void sl_report_end(const struct sl_core *core);

/* In a child after fork, or before the core is freed: leaves that file as it is. */
void sl_report_leave(void);

/* The part of the summary that is not counters, as of now. */
void sl_report_summary(const struct sl_core *core, struct sl_run_summary *out);

#endif
