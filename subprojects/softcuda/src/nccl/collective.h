/* The messages that make up a function of NCCL, on one rank. */
#ifndef SOFTCUDA_NCCL_COLLECTIVE_H
#define SOFTCUDA_NCCL_COLLECTIVE_H

#include "transfer.h"

/* Maximum number of transfers that a work adds */
static inline size_t sc_collective_most(const struct sc_work *work, unsigned ranks)
{
    return work->kind < SC_WORK_COLLECTIVES ? 3 * (size_t)ranks + 1 : 1;
}

/* Adds the transfers of a work. pre: its memory is alive; the drive has room; the drive is empty or, if the
 * work is a send or receive, holds only sends and receives. */
void sc_collective_add(struct sc_drive *drive, const struct sc_work *work);

#endif
