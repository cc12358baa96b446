/* What the trace says of the whole run: facts, and where iterations end. Caller holds the order lock, or is
 * the only thread yet. */
#ifndef SLUICE_RUN_METADATA_H
#define SLUICE_RUN_METADATA_H

struct sl_core;

/* The program's arguments with spaces between them, cut where they are long; malloc's. NULL: not known. */
char *sl_run_metadata_command(void);
/* What is known at the start: of sluice, the device, the program. */
void sl_run_metadata_start(struct sl_core *core);
/* An iteration has ended. */
void sl_run_metadata_iteration(struct sl_core *core);
/* What came of it. */
void sl_run_metadata_end(struct sl_core *core);

#endif
