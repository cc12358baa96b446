/* Who calls, where that decides whose the memory is. */
#ifndef SLUICE_SHIM_CALLER_H
#define SLUICE_SHIM_CALLER_H

#include <stdbool.h>

/* Whether the code at `caller` belongs to a library that makes memory in order to share it with other
 * processes, devices or network cards, as NCCL and NVSHMEM do. Takes the loader's lock for as long as it
 * reads its list. */
bool sl_caller_shares_memory(const void *caller);

#endif
