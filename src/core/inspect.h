/* Questions of a replay or a test to the running core. They change nothing.
 *
 * Precondition unless said otherwise: the core runs, and no other thread calls it meanwhile. With
 * SLUICE_DAEMON=inline the core has no threads of its own.
 */
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include "base/types.h"

/* The least possible budget, and the most bytes that the address table has room for. No precondition. */
uint64_t sl_inspect_least_budget(void);
uint64_t sl_inspect_most_bytes(void);

/* The chunk size for a budget, if the user sets none. No precondition. */
uint64_t sl_inspect_automatic_chunk(uint64_t budget_bytes);

uint64_t sl_inspect_demand_misses(void);      /* so far: chunks fetched on demand */
uint64_t sl_inspect_oversize_launches(void);  /* so far: launches whose own chunks exceed the budget */
uint64_t sl_inspect_virtual_bytes_used(void); /* of the chunks that hold allocations */

/* The slot of the live allocation that holds `address`, or SL_NONE. */
uint32_t sl_inspect_slot(uint64_t address);

/* Chunks are numbered from 0. */
size_t sl_inspect_chunk_count(void);
/* The chunk that holds `address`, or SL_NONE. */
sl_chunk sl_inspect_chunk(uint64_t address);

/* Precondition: chunk < sl_inspect_chunk_count(). */
uint64_t sl_inspect_chunk_bytes(sl_chunk chunk); /* in use; 0: the chunk holds no allocation */
bool sl_inspect_chunk_is_dead(sl_chunk chunk);   /* nothing may read its content */

/* The chunks that the launch may touch, each once. Valid until the next launch begins. Precondition: the
 * launch has begun and not ended. */
const sl_chunk *sl_inspect_launch_chunks(uint32_t *count);

#endif
