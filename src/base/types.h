/* The few types that every part shares. docs/words.md has every term.
 *
 * Invariants:
 *   address >> 30 names a slab, (address & (1 GiB - 1)) / chunk bytes a chunk in it
 *   sum of used bytes of chunks that are resident or on their way in, or not yet out  <=  budget
 */
#ifndef SLUICE_TYPES_H
#define SLUICE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SL_KIB ((uint64_t)1 << 10)
#define SL_MIB ((uint64_t)1 << 20)
#define SL_GIB ((uint64_t)1 << 30)
#define SL_NONE UINT32_MAX          /* no index: of a chunk, a slot, a symbol, an action */
#define SL_BLOCK_BYTES (2 * SL_MIB) /* the driver's own unit of residency */

typedef uint64_t sl_tick;
typedef uint32_t sl_chunk;  /* index into the chunk table */
typedef uint32_t sl_symbol; /* see launch/symbols.h */

/* What may be done with a chunk: plans choose it, the link carries it out, traces record it. */
enum sl_action_kind {
    SL_ACTION_EVICT,    /* copy out, then its frame is free */
    SL_ACTION_DISCARD,  /* dead content: its frame is free without a copy */
    SL_ACTION_FETCH,    /* copy in */
    SL_ACTION_POPULATE, /* a frame for a chunk with no content: nothing is copied */
    SL_ACTION_LEAVE,    /* the copy in host memory is still good: its frame is free without another. Only of
                           the simulated device: no driver can be trusted to keep such a copy */
};

#endif
