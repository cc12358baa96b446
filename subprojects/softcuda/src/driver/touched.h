/* SOFTCUDA_TOUCHED: what each operation read and wrote, exact to 512 bytes, as JSON lines. */
#ifndef SOFTCUDA_TOUCHED_H
#define SOFTCUDA_TOUCHED_H

#include "queue.h"

/* Call it before the first module is loaded: it makes kernels record their accesses if the option is set. */
void sc_touched_init(void);
bool sc_touched_wanted(void);
/* Writes the line of an executed operation. Does nothing for kinds that access no memory, or if the option is
 * not set. pre: the driver's lock is held. */
void sc_touched_write(const struct sc_op *op);
void sc_touched_flush(void);
void sc_touched_close(void);

#endif
