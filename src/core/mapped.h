/* Memory that the program places itself: reserved addresses, memory without an address, and mappings, which
 * are allocations at reserved addresses. Thread-safe; as in runtime.h, functions may be called before the
 * start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_MAPPED_H
#define SLUICE_MAPPED_H

#include "base/types.h"

/* Reserves at least `bytes` > 0 bytes of addresses, aligned to 1 GiB. SL_ERR_NO_MEMORY. SL_ERR_UNSUPPORTED:
 * not managed, or not enough addresses; then the shim asks the driver. */
enum sl_status sl_runtime_reserve(uint64_t bytes, uint64_t *address);
/* Precondition: sl_runtime_reserve returned `address` for as many bytes, and no allocation lies there. */
void sl_runtime_unreserve(uint64_t address, uint64_t bytes);

/* Gives the reservation's addresses up for ever, so that the driver can have them. Waits on the host for
 * movements. Enqueues. Precondition: as sl_runtime_unreserve; the context of the memory is current, and its
 * device has no work that uses the memory. */
void sl_runtime_give_up(uint64_t address, uint64_t bytes);

/* Promises memory that the program will map. sl_runtime_map uses it up, or sl_runtime_unpromise gives it
 * back. SL_ERR_NO_MEMORY, SL_ERR_UNSUPPORTED: as for sl_runtime_alloc. */
enum sl_status sl_runtime_promise(uint64_t bytes);
void sl_runtime_unpromise(uint64_t bytes);

/* Maps an allocation of whole 2 MiB blocks at an address of sl_runtime_reserve. `promised_bytes`: the part of
 * earlier promises that it uses up. sl_runtime_free ends it. SL_ERR_INVALID: something lies there. */
enum sl_status sl_runtime_map(uint64_t address, uint64_t bytes, uint64_t promised_bytes, uint64_t site,
                              uint32_t tag);

#endif
