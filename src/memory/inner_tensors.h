/* Where tensors begin and end in slots that hold several. The offsets that launches were given say where they
 * begin. In memory that the program maps piece by piece a tensor may extend into the next mapping. Caller
 * holds the order lock. */
#ifndef SLUICE_INNER_TENSORS_H
#define SLUICE_INNER_TENSORS_H

#include "memory/placement.h"

/* Whether the begins of the slot's inner tensors matter: an allocation of at most a chunk is used whole, but
 * a mapping may be a part of a larger tensor. */
static inline bool sl_slot_is_divided(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return slot->mapped || slot->bytes > placement->arena->chunk_bytes;
}

/* Notes that a launch was given `offset` into the slot. True: the offset is new and begins a tensor. At most
 * 65536 offsets are kept. */
bool sl_slot_learn(struct sl_slot *slot, uint64_t offset);
/* Upper bound of the end of the tensor that begins at `offset`: the next learned offset, or the allocation's
 * end. */
uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset);
/* The same where the tensor may extend into the mappings that follow. */
uint64_t sl_place_extent_end(const struct sl_placement *placement, const struct sl_slot *slot,
                             uint64_t offset);
/* `end`, an offset into the slot, limited to the end of the slot and the mappings that follow it. */
uint64_t sl_place_reach(const struct sl_placement *placement, const struct sl_slot *slot, uint64_t end);

/* The mapping that follows `slot` without a gap; NULL: none does. */
const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot);

#endif
