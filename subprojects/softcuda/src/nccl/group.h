/* Groups of calls: what a thread has called since ncclGroupStart, executed at the outermost ncclGroupEnd. */
#ifndef SOFTCUDA_NCCL_GROUP_H
#define SOFTCUDA_NCCL_GROUP_H

#include "comm.h"

/* Adds to the calling thread's group, or forms a group of one call if there is none. Takes over the join. */
ncclResult_t sc_group_add_join(struct sc_join *join, ncclComm_t *out);
ncclResult_t sc_group_add_work(ncclComm_t comm, CUstream stream, const struct sc_work *work);

/* A call within a group failed, so the group fails as a whole. Returns `result`. */
ncclResult_t sc_group_fail(ncclResult_t result);

#endif
