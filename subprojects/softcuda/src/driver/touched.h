/* SOFTCUDA_TOUCHED: what each operation read and wrote, exact to 512 bytes, as JSON lines. */
#ifndef SOFTCUDA_TOUCHED_H
#define SOFTCUDA_TOUCHED_H

#include "queue.h"

/* Before the first module is loaded: kernels tell what they touch only if the option asks for it. */
void sc_touched_init(void);
bool sc_touched_wanted(void);
/* Writes the line of an executed operation. Does nothing for kinds that touch no memory, and without the
 * option. pre: the driver's lock is held. */
void sc_touched_write(const struct sc_op *op);
void sc_touched_flush(void);
void sc_touched_close(void);

#endif
