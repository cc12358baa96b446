/* What a run says of itself at its end: statistics in a file, a summary in the log. Caller holds the order
 * lock, or is the only thread yet. */
#ifndef SLUICE_REPORT_H
#define SLUICE_REPORT_H

#include "base/options.h"
#include "move/stats.h"

struct sl_core;

/* CUDA is used: decides where figures go, and makes the file that keeps them for a sudden end (live.h), once.
 * Says if the statistics cannot be written. */
void sl_report_open(const struct sl_options *options);

/* The core's counters go into that file. */
void sl_report_count(struct sl_core *core);

/* The end: the core has stopped, or could not start (NULL). */
void sl_report_end(const struct sl_core *core);

/* In a child, or before the core is freed: nothing of that file is in use any more. `core` may be NULL. */
void sl_report_leave(struct sl_core *core);

/* What is said of the run beside the counts, as of now. */
void sl_report_summary(const struct sl_core *core, struct sl_run_summary *out);

#endif
