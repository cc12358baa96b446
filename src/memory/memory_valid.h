/* Whether arena, suballocator and placement are valid, for SL_CHECK_ALL and tests. Each function states the
 * invariants that it checks. The functions change nothing. Caller holds the order lock throughout. */
#ifndef SLUICE_MEMORY_VALID_H
#define SLUICE_MEMORY_VALID_H

#include "memory/placement.h"

/* Each level of bits marks the nonzero words of the level below. There are `count` stretches; none is empty,
 * overlaps the next or exceeds the chunk's granules. `end` and `longest` are at most the chunk's granules. */
bool sl_chunk_bitmap_is_valid(const struct sl_chunk_bitmap *bitmap);

/* The chunk's address and kind match its place in the slab, its content is a valid value, and its bytes in
 * use and in its frame are whole blocks. Further, by the state of the chunk:
 * - free: it has no owner, and its run is empty;
 * - in use: memory backs it, its run contains it, all chunks of a run that it begins name it as their first,
 *   and only the last chunk of a run is used in part;
 * - packed: it is a run by itself, holds an allocation, and uses as many bytes as its bitmap says;
 * - pinned: it is resident as a whole.
 *
 * The rest of the bitmap is not checked. Precondition: the arena has such a chunk.
 */
bool sl_chunk_is_valid(const struct sl_arena *arena, sl_chunk c);

/* Slabs are aligned, their addresses lead to them (sl_slab_of), and they have at most as many chunks as fit.
 * Every chunk is valid. The counters (free chunks of each slab, chunks and bytes in use, pinned bytes) equal
 * the sums over the chunks, and no peak is below its counter. */
bool sl_arena_is_valid(const struct sl_arena *arena);

/* Each group names chunks of the arena, none twice, and at most as many as fit. Each packed chunk belongs to
 * a group: a pinned chunk to the pinned group, a reserved chunk to the mapped group, any other chunk to one
 * of the other groups; and its bitmap is valid. */
bool sl_suballocator_is_valid(const struct sl_suballocator *suballocator);

/* The key has the slot at its ordinal, and the slot has the key's site and size. A number of its site leads
 * back to it, as does the number for which it stands. Inner tensors begin within the slot, in rising order.
 * For a live slot: its first and its last byte lead to it, and its chunks are valid and of its kind.
 * Precondition: the slot is in use: not in the list of unused ones. */
bool sl_slot_is_valid(const struct sl_placement *placement, uint32_t s);

/* Every slot is valid or in the list of unused ones, and no key has a free slot below its lowest free
 * ordinal. The counters (slots, live slots, their bytes, their pinned bytes) equal the sums over the slots,
 * and no peak is below its counter. The suballocator and the arena are valid. */
bool sl_placement_is_valid(const struct sl_placement *placement);

/* About how many elements sl_placement_is_valid visits. */
size_t sl_placement_elements(const struct sl_placement *placement);

#endif
