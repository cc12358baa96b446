/* What the trace says about the whole run: metadata, and where iterations end. Caller holds the order
 * lock, or no other thread exists yet. */
#ifndef SLUICE_RUN_METADATA_H
#define SLUICE_RUN_METADATA_H

struct sl_backend;
struct sl_history;
struct sl_migrator;
struct sl_recorder;
struct sl_stats;

/* The program's arguments, joined by spaces and cut to a limit, without what SLUICE_MASK hides. Allocated with
 * malloc. NULL: unknown, or all is hidden. */
char *sl_run_metadata_command(void);
/* Writes what is known at the start about sluice, the device and the program. `policy` and `daemon` are
 * names. */
void sl_run_metadata_start(struct sl_recorder *recorder, const struct sl_backend *backend, const char *policy,
                           const char *daemon);
/* An iteration has ended and was counted. */
void sl_run_metadata_iteration(struct sl_recorder *recorder, const struct sl_history *history,
                               const struct sl_migrator *migrator, const struct sl_stats *stats);
/* Writes the totals of the run. */
void sl_run_metadata_end(struct sl_recorder *recorder, const struct sl_history *history,
                         const struct sl_migrator *migrator, const struct sl_stats *stats);

#endif
