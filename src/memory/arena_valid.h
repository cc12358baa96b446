/* Whether the arena's structures are valid, for SL_CHECK_ALL and tests: each function says which invariants
 * it looks at. Nothing is changed. Caller holds the order lock throughout. */
#ifndef SLUICE_ARENA_VALID_H
#define SLUICE_ARENA_VALID_H

#include "memory/arena.h"

/* Each level of bits says which words of the one below are not zero; there are `count` stretches, none of
 * them empty, none reaching into the next or beyond the chunk's granules; `end` and `longest` are no more
 * than these. */
bool sl_chunk_bitmap_is_valid(const struct sl_chunk_bitmap *bitmap);

/* The chunk's address and kind are those of its place in the slab, its content is one that there is, and what
 * is in use and in its frame are whole blocks of it. Free: it is nobody's, and has a run of none. In use:
 * there is memory behind it; the run that it belongs to holds it, the others of a run that it begins say that
 * they belong to it, and only the last one of a run is not in use as a whole. Packed: it is a run by itself,
 * something lies in it, and as much is in use as its bitmap says. Pinned: it is resident as a whole. Of the
 * bitmap no more is looked at. pre: the arena has such a chunk. */
bool sl_chunk_is_valid(const struct sl_arena *arena, sl_chunk c);

/* Slabs are aligned, addresses lead to them (sl_slab_of), and they have no more chunks than there is room
 * for. Every chunk is valid. What is counted (free chunks of each slab, chunks and bytes in use, those of
 * them that are pinned) is what chunks add up to, and no peak is below it. */
bool sl_arena_is_valid(const struct sl_arena *arena);

#endif
