/* Which stretches of a packed chunk are taken, and by which slot: a set of disjoint stretches of whole
 * 512-byte granules. The cost of looking up, taking and leaving does not depend on their number: a bitmap
 * marks the first granule of each stretch, and three smaller bitmaps above it each mark the nonzero words of
 * the one below. Not thread-safe. */
#ifndef SLUICE_CHUNK_BITMAP_H
#define SLUICE_CHUNK_BITMAP_H

#include "base/types.h"

#define SL_GRANULE_BYTES 512u
#define SL_CHUNK_BITMAP_LEVELS 4

/* Rounds `bytes` up to whole granules. */
static inline uint64_t sl_whole_granules(uint64_t bytes)
{
    return (bytes + SL_GRANULE_BYTES - 1) & ~(uint64_t)(SL_GRANULE_BYTES - 1);
}

struct sl_chunk_bitmap {
    uint32_t granules;
    uint32_t end;   /* of the part in use; sl_chunk_bitmap_gap only searches before it */
    uint32_t count; /* of stretches */
    /* Bound on the free stretches before `end`, except for one in front of a stretch that was taken beyond
     * `end`: the search finds that one only after a neighbour of it is left. */
    uint32_t longest;
    uint64_t *starts[SL_CHUNK_BITMAP_LEVELS];
    struct sl_stretch {
        uint32_t granules, slot;
    } * stretches; /* by first granule */
};

/* For a chunk of `granules` granules, at most 2^24, none of them in use. NULL: out of memory. */
struct sl_chunk_bitmap *sl_chunk_bitmap_new(uint32_t granules);
void sl_chunk_bitmap_delete(struct sl_chunk_bitmap *bitmap); /* accepts NULL */

/* Marks all before `end` as in use. Precondition for 0: there are no stretches. */
void sl_chunk_bitmap_use(struct sl_chunk_bitmap *bitmap, uint32_t end);

/* The slot whose stretch holds `granule`, and the stretch's first granule; SL_NONE: no stretch does. */
uint32_t sl_chunk_bitmap_find(const struct sl_chunk_bitmap *bitmap, uint32_t granule, uint32_t *first);

/* Whether [first, first + count) is free. */
bool sl_chunk_bitmap_is_free(const struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count);

/* Finds `count` > 0 free granules within the part in use, from its end backwards: there is usually room after
 * the newest stretch. False: there is no such gap. */
bool sl_chunk_bitmap_gap(struct sl_chunk_bitmap *bitmap, uint32_t count, uint32_t *first);

/* The end of the last stretch. */
uint32_t sl_chunk_bitmap_last(const struct sl_chunk_bitmap *bitmap);

/* Precondition: the stretch is free. */
void sl_chunk_bitmap_take(struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count, uint32_t slot);

/* Frees the stretch that begins at `first`. Precondition: one does. */
void sl_chunk_bitmap_leave(struct sl_chunk_bitmap *bitmap, uint32_t first);

#endif
