/* Memory that is freed while other devices have work that may use it.
 *
 * A free of one device's memory takes effect at points on that device's streams (memory/frees.h). A kernel of
 * another device may use the memory as well. No stream of the memory's device may wait for that kernel: it
 * may lie behind a collective that waits for work which this device gets only later, and cuCtxSynchronize
 * would then wait for it, too. So the memory stays allocated, but look-ups do not find it, until all work
 * that other devices had at the free is known to be over. Then it is freed. No thread waits for that; the
 * driver is asked when memory is allocated or freed, and after the program has waited. Thread-safe; no order
 * lock may be held.
 */
#ifndef SLUICE_LATE_FREES_H
#define SLUICE_LATE_FREES_H

#include "core/allocate.h"

struct sl_core;

/* As sl_runtime_free, for memory that the program did not map (SL_ERR_INVALID), and that work on any device
 * may use. `freed` must not be NULL. Enqueues. */
enum sl_status sl_runtime_free_everywhere(uint64_t address, enum sl_free_when when,
                                          struct sl_allocation *freed);

/* Whether events can be recorded on the core's streams now, and its work will end without further calls of
 * the program. */
bool sl_core_may_record(struct sl_core *core);
/* Frees the memory whose users' work is over. Enqueues. Reads a flag if there is no such memory. */
void sl_late_frees_look(void);
/* Memory is short: waits for work that is sure to end without further calls of the program. True:
 * something was freed. */
bool sl_late_frees_hurry(void);
/* The device is gone, with its work and its memory. */
void sl_late_frees_forget(uint32_t number);
/* In a child after fork. */
void sl_late_frees_after_fork(void);

#endif
