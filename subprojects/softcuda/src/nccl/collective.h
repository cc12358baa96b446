/* Which messages make up a function of NCCL, on one rank. */
#ifndef SOFTCUDA_NCCL_COLLECTIVE_H
#define SOFTCUDA_NCCL_COLLECTIVE_H

#include "transfer.h"

/* Transfers that a work adds at most. */
static inline size_t sc_collective_most(const struct sc_work *work, unsigned ranks)
{
    return work->kind < SC_WORK_COLLECTIVES ? 3 * (size_t)ranks + 1 : 1;
}

/* Adds a work's transfers. pre: its memory is alive; there is room; what was added before is all sends and
 * receives if this is one, and else nothing. */
void sc_collective_add(struct sc_drive *drive, const struct sc_work *work);

#endif
