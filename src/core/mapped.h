/* Memory that the program places itself: addresses that it reserves, memory that it makes without a place,
 * and mappings, which are allocations at such addresses. Thread-safe; as in runtime.h, functions may be
 * called before the start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_MAPPED_H
#define SLUICE_MAPPED_H

#include "base/types.h"

/* Addresses for what the program places itself: at least `bytes` > 0 of them, aligned to 1 GiB.
 * SL_ERR_UNSUPPORTED: not managed, or there are not so many: the shim asks the driver. */
enum sl_status sl_runtime_reserve(uint64_t bytes, uint64_t *address);
/* pre: sl_runtime_reserve gave them for as many bytes, and no allocation lies there. */
void sl_runtime_unreserve(uint64_t address, uint64_t bytes);

/* Memory that the program will place: sl_runtime_map uses it, or sl_runtime_unpromise gives it back.
 * SL_ERR_NO_MEMORY, SL_ERR_UNSUPPORTED: as for sl_runtime_alloc. */
enum sl_status sl_runtime_promise(uint64_t bytes);
void sl_runtime_unpromise(uint64_t bytes);

/* An allocation at an address of sl_runtime_reserve, in whole 2 MiB blocks, for which `promised_bytes` were
 * promised; these are used then. sl_runtime_free ends it. SL_ERR_INVALID: something lies there. */
enum sl_status sl_runtime_map(uint64_t address, uint64_t bytes, uint64_t promised_bytes, uint64_t site,
                              uint32_t tag);

#endif
