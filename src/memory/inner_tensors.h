/* Where tensors begin and end in slots that hold several: what launches were given says where they begin. In
 * memory that the program maps piece by piece a tensor may go on from one mapping into the next. Caller holds
 * the order lock. */
#ifndef SLUICE_INNER_TENSORS_H
#define SLUICE_INNER_TENSORS_H

#include "memory/placement.h"

/* Whether it matters where the slot's inner tensors begin: an allocation up to the size of a chunk is taken
 * whole, but a mapping may be a part of a larger tensor. */
static inline bool sl_slot_is_divided(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return slot->mapped || slot->bytes > placement->arena->chunk_bytes;
}

/* Notes that a launch was given `offset` into the slot. True if that was new and says where a tensor begins.
 * Bounded: beyond 65536 offsets nothing is learned. */
bool sl_slot_learn(struct sl_slot *slot, uint64_t offset);
/* Where the tensor that begins at `offset` ends at the latest: the next learned offset, or the allocation's
 * end. */
uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset);
/* The same where the tensor may go on in mappings that follow. */
uint64_t sl_place_extent_end(const struct sl_placement *placement, const struct sl_slot *slot,
                             uint64_t offset);
/* `end`, an offset into the slot, or where it and the mappings that follow it end before that. */
uint64_t sl_place_reach(const struct sl_placement *placement, const struct sl_slot *slot, uint64_t end);

/* The mapping that follows `slot` without a gap where that is one; NULL: none does. */
const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot);

#endif
