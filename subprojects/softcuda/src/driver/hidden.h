/* SOFTCUDA_HIDE_WRITE=N: the Nth write to a block of which both sides have a copy (managed.h) goes unnoticed,
 * as if the driver had not seen it. The copies differ from then on, and where the device's is dropped, the
 * write is lost.
 *
 * There is one memory for both sides. That suffices as long as copies are equal, and all that can make them
 * differ is a hidden write: one that is noticed ends the host's copy. So nothing is kept but the host's bytes
 * of the one block, from before that write. Which write is the Nth is known when it gets its times, in
 * submission order; what was there before it, only while it is executed. So every operation that may be the
 * one saves, before it runs, what it may write to of memory that is read-mostly by then. Without the option
 * nothing is saved.
 *
 * Until the device's copy is dropped, the host reads what the device wrote; what the host writes to that
 * block meanwhile is lost with the device's copy.
 */
#ifndef SOFTCUDA_HIDDEN_H
#define SOFTCUDA_HIDDEN_H

#include "queue.h"

/* A block's bytes, before an operation that may write to it. */
struct sc_saved;

/* The program calls for read-mostly, or takes it back. Thread safety of this and the next two: any. */
void sc_hidden_advised(const struct sc_span *span, bool read_mostly);
/* The operation is about to be executed, or was. */
void sc_hidden_before(struct sc_op *op);
void sc_hidden_after(struct sc_op *op);
void sc_hidden_drop(struct sc_saved *saved); /* accepts NULL */

/* An entry got its times: keeps what it saved if it was the hidden write, and gives the host its bytes back
 * if it dropped the device's copy. pre: the driver's lock is held. */
void sc_hidden_timed(struct sc_op *op);

#endif
