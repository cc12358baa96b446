/* The caller of a function, where it decides who owns the memory. */
#ifndef SLUICE_SHIM_CALLER_H
#define SLUICE_SHIM_CALLER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the code at `caller` belongs to a library that allocates memory in order to share it with other
 * processes, devices or network cards, such as NCCL and NVSHMEM. Takes the loader's lock while it reads its
 * list, unless the answer for this caller is cached. Any thread. */
bool sl_caller_shares_memory(const void *caller);

#endif
