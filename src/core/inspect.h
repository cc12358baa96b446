/* What a replay or a test asks of the running core, beside what the program is told. Nothing is changed.
 *
 * pre, where nothing else is said: the core runs, and no other thread calls it meanwhile. With
 * SLUICE_DAEMON=inline it has no threads of its own.
 */
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include "base/types.h"

/* The least that the budget can be, and the most that there is room for addresses of. May be asked at any
 * time. */
uint64_t sl_inspect_least_budget(void);
uint64_t sl_inspect_most_bytes(void);

uint64_t sl_inspect_demand_misses(void);      /* so far: chunks that came on demand */
uint64_t sl_inspect_oversize_launches(void);  /* so far: launches whose own chunks exceed the budget */
uint64_t sl_inspect_virtual_bytes_used(void); /* of the chunks in which there are allocations */

/* The slot of the live allocation that holds `address`, or SL_NONE. */
uint32_t sl_inspect_slot(uint64_t address);

/* Chunks are numbered from 0. */
size_t sl_inspect_chunk_count(void);
/* The chunk that holds `address`, or SL_NONE. */
sl_chunk sl_inspect_chunk(uint64_t address);

/* pre: chunk < sl_inspect_chunk_count(). */
uint64_t sl_inspect_chunk_bytes(sl_chunk chunk); /* in use; 0: no allocation is placed there */
bool sl_inspect_chunk_is_dead(sl_chunk chunk);   /* nobody may read what is in it */

/* The chunks that a launch may touch, each once. pre: the launch has begun and not ended. Valid until the
 * next one begins. */
const sl_chunk *sl_inspect_launch_chunks(uint32_t *count);

#endif
