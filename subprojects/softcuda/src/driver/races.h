/* SOFTCUDA_RACES: finds uses of memory that streams, events and waits do not order.
 *
 * It runs in submission order, when operations get their times (replay.c): by then all dependencies and all
 * accesses of an operation are known. So the findings do not depend on the order of execution.
 *
 * All host threads share one clock (clock.h): everything that any thread submits after one thread waited for
 * an operation comes after that operation. The detector does not see how threads wait for each other, so
 * separate clocks would report correct programs.
 *
 * pre: the driver's lock is held, everywhere. Without the option the functions do nothing.
 */
#ifndef SOFTCUDA_RACES_H
#define SOFTCUDA_RACES_H

#include "queue.h"

void sc_races_init(void);   /* call before the first module is loaded */
bool sc_races_wanted(void); /* the lock need not be held */

/* The calling thread added an entry to the queue. */
void sc_races_submitted(struct sc_op *op);
/* An executed entry got its times. */
void sc_races_timed(struct sc_op *op);

/* The calling thread knows that `op`, an operation or a SYNC, has completed. NULL: does nothing. */
void sc_races_waited(struct sc_op *op);
/* [address, address + bytes) is memory that was never used. */
void sc_races_fresh(uint64_t address, uint64_t bytes);
/* Later work of the stream may use memory that was allocated in stream order. May execute. */
CUresult sc_races_allocated(struct sc_stream *stream, uint64_t address, uint64_t bytes);

void sc_races_close(void); /* at exit: logs the number of races */

#endif
