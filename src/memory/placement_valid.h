/* Whether placement and suballocator are valid, for SL_CHECK_ALL and tests. Each function states the
 * invariants that it checks. The functions change nothing. Caller holds the order lock throughout. */
#ifndef SLUICE_PLACEMENT_VALID_H
#define SLUICE_PLACEMENT_VALID_H

#include "memory/placement.h"

/* Each group names chunks of the arena, none twice, and at most as many as fit. Each packed chunk belongs to
 * a group: a pinned chunk to the pinned group, a reserved chunk to the mapped group, any other chunk to one
 * of the other groups; and its bitmap is valid. */
bool sl_suballocator_is_valid(const struct sl_suballocator *suballocator);

/* The key has the slot at its ordinal, and the slot has the key's site and size. Inner tensors begin within
 * the slot, in rising order. For a live slot: its first and its last byte lead to it, and its chunks are
 * valid and of its kind. Precondition: the slot is in use: not in the list of unused ones. */
bool sl_slot_is_valid(const struct sl_placement *placement, uint32_t s);

/* Every slot is valid or in the list of unused ones, and no key has a free slot below its lowest free
 * ordinal. The counters (slots, live slots, their bytes, their pinned bytes) equal the sums over the slots,
 * and no peak is below its counter. The suballocator and the arena are valid. */
bool sl_placement_is_valid(const struct sl_placement *placement);

/* About how many elements sl_placement_is_valid visits. */
size_t sl_placement_elements(const struct sl_placement *placement);

#endif
