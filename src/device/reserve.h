/* Host memory for a pinned slab. */
#ifndef SLUICE_RESERVE_H
#define SLUICE_RESERVE_H

#include "base/types.h"

/* Reserves `bytes` bytes, whole pages, from a multiple of 1 GiB on; the rest of their last GiB is reserved
 * too, and inaccessible. A child after fork does not have them. Thread-safe. SL_ERR_NO_MEMORY. */
enum sl_status sl_reserve(uint64_t bytes, uint64_t *address);
void sl_unreserve(uint64_t address, uint64_t bytes);

#endif
