/* Who calls, where that decides whose the memory is. */
#ifndef SLUICE_SHIM_CALLER_H
#define SLUICE_SHIM_CALLER_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether an object of dl_iterate_phdr's has `address` in what is loaded of it. */
bool sl_object_holds(const struct dl_phdr_info *object, uintptr_t address);

/* Whether the code at `caller` belongs to a library that makes memory in order to share it with other
 * processes, devices or network cards, as NCCL and NVSHMEM do. Takes the loader's lock for as long as it
 * reads its list; not where the same caller asked lately. Any thread. */
bool sl_caller_shares_memory(const void *caller);

#endif
