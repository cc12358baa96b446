/* What the trace says of the whole run: metadata, and where iterations end. Caller holds the order lock, or
 * is the only thread yet. */
#ifndef SLUICE_RUN_METADATA_H
#define SLUICE_RUN_METADATA_H

struct sl_backend;
struct sl_history;
struct sl_migrator;
struct sl_recorder;
struct sl_stats;

/* The program's arguments with spaces between them, cut where they are long; malloc's. NULL: not known. */
char *sl_run_metadata_command(void);
/* What is known at the start: of sluice, the device, the program. `policy`, `daemon`: by name. */
void sl_run_metadata_start(struct sl_recorder *recorder, const struct sl_backend *backend, const char *policy,
                           const char *daemon);
/* An iteration has ended, and was counted. */
void sl_run_metadata_iteration(struct sl_recorder *recorder, const struct sl_history *history,
                               const struct sl_migrator *migrator, const struct sl_stats *stats);
/* What came of it. */
void sl_run_metadata_end(struct sl_recorder *recorder, const struct sl_history *history,
                         const struct sl_migrator *migrator, const struct sl_stats *stats);

#endif
