/* Whether placement and suballocator are valid, for SL_CHECK_ALL and tests: each function says which
 * invariants it looks at. Nothing is changed. Caller holds the order lock throughout. */
#ifndef SLUICE_PLACEMENT_VALID_H
#define SLUICE_PLACEMENT_VALID_H

#include "memory/placement.h"

/* Each group names chunks of the arena, none twice, no more than there is room for. Each packed chunk belongs
 * to a group: that of pinned ones if it is pinned, that of mapped ones if it is reserved, and else to
 * another; and its bitmap is valid. */
bool sl_suballocator_is_valid(const struct sl_suballocator *suballocator);

/* The slot is the one that its key has by its ordinal, of the key's site and size; inner tensors begin within
 * it, in rising order. Live: its first and its last byte lead to it, and its chunks are valid and of its
 * kind. pre: it is somebody's: no entry of the list of free ones. */
bool sl_slot_is_valid(const struct sl_placement *placement, uint32_t s);

/* Every slot is valid or in the list of free ones, and no key has a slot free below its lowest free ordinal.
 * What is counted (slots, live ones, their bytes, those of them that are pinned) is what they add up to, and
 * no peak is below it. The suballocator and the arena are valid. */
bool sl_placement_is_valid(const struct sl_placement *placement);

/* So many elements sl_placement_is_valid goes through, about. */
size_t sl_placement_elements(const struct sl_placement *placement);

#endif
