/* Memory that is freed while other devices have work that may use it.
 *
 * A free of one device's memory takes effect at points on that device's streams (memory/frees.h). A kernel of
 * another device may use the memory as well, and no stream of this one may wait for it: it may lie behind a
 * collective that waits for what this device is given only later, and cuCtxSynchronize would wait for it,
 * too. So the memory stays an allocation, which nobody finds any more, until all that other devices had been
 * given by then is known to be over, and is freed then. Nobody waits; the driver is asked when memory is
 * taken or freed, and when the program waited. Thread-safe; no order lock may be held.
 */
#ifndef SLUICE_LATE_FREES_H
#define SLUICE_LATE_FREES_H

#include "core/allocate.h"

struct sl_core;

/* As sl_runtime_free, of memory that work on any device until now may use. One core: that is all. Enqueues.
 */
enum sl_status sl_runtime_free_everywhere(uint64_t address, struct sl_allocation *freed);

/* Whether there is such memory. */
bool sl_late_frees_any(void);
/* Frees what nobody uses any more. Enqueues. */
void sl_late_frees_look(void);
/* There is no room: waits for what is certain to come. True: something was freed. */
bool sl_late_frees_hurry(void);
/* The device is gone, with its work and its memory. */
void sl_late_frees_forget(uint32_t number);
/* In a child. */
void sl_late_frees_after_fork(void);

#endif
