/* SOFTCUDA_RACES: finds uses of memory that streams, events and waits do not put in order.
 *
 * It works in the order of submission, when operations are timed (replay.c): all that an operation waits for
 * is known then, and all that it accessed. So what is found does not depend on the order of execution.
 *
 * The host has one clock (clock.h) for all its threads: what one thread has waited for, whatever is submitted
 * afterwards by any thread comes after. How threads wait for each other is not seen, so anything else would
 * report programs that are right.
 *
 * pre: the driver's lock is held, everywhere. Without the option nothing of this does anything.
 */
#ifndef SOFTCUDA_RACES_H
#define SOFTCUDA_RACES_H

#include "queue.h"

void sc_races_init(void);   /* before the first module is loaded */
bool sc_races_wanted(void); /* the lock need not be held */

/* An entry was put into the queue by the calling thread. */
void sc_races_submitted(struct sc_op *op);
/* An executed entry is timed. */
void sc_races_timed(struct sc_op *op);

/* The calling thread knows that `op`, an operation or a SYNC, is over. NULL: nothing. */
void sc_races_waited(struct sc_op *op);
/* Memory that nobody has used is there from now on. */
void sc_races_fresh(uint64_t address, uint64_t bytes);
/* The stream's later work may use memory that comes in stream order. May execute. */
CUresult sc_races_allocated(struct sc_stream *stream, uint64_t address, uint64_t bytes);

void sc_races_close(void); /* the last line */

#endif
