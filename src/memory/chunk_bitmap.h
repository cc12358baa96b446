/* Which stretches of a packed chunk are taken, and by which slot: a set of disjoint stretches of whole
 * 512-byte granules. Looking up, taking and leaving cost the same however many there are (a bitmap of the
 * first granules with three smaller bitmaps above it, each saying which words of the one below are not zero).
 * Not thread-safe. */
#ifndef SLUICE_CHUNK_BITMAP_H
#define SLUICE_CHUNK_BITMAP_H

#include "base/types.h"

#define SL_GRANULE_BYTES 512u
#define SL_CHUNK_BITMAP_LEVELS 4

/* `bytes` up to the end of their last granule. */
static inline uint64_t sl_whole_granules(uint64_t bytes)
{
    return (bytes + SL_GRANULE_BYTES - 1) & ~(uint64_t)(SL_GRANULE_BYTES - 1);
}

struct sl_chunk_bitmap {
    uint32_t granules;
    uint32_t end;     /* of what is in use; stretches may be taken beyond it, gaps are looked for before it */
    uint32_t count;   /* stretches */
    uint32_t longest; /* free stretch before `end`, at most; in front of what was taken beyond that there may
                         be longer ones, which are not found before what lies beside them is left */
    uint64_t *starts[SL_CHUNK_BITMAP_LEVELS];
    struct sl_stretch {
        uint32_t granules, slot;
    } * stretches; /* by first granule */
};

/* For a chunk of `granules`, at most 2^24, nothing of it in use. NULL: out of memory. */
struct sl_chunk_bitmap *sl_chunk_bitmap_new(uint32_t granules);
void sl_chunk_bitmap_delete(struct sl_chunk_bitmap *bitmap); /* accepts NULL */

/* All before `end` is in use; 0: nothing is any more, pre: there are no stretches. */
void sl_chunk_bitmap_use(struct sl_chunk_bitmap *bitmap, uint32_t end);

/* The slot whose stretch holds `granule`, and where that begins; SL_NONE where none does. */
uint32_t sl_chunk_bitmap_find(const struct sl_chunk_bitmap *bitmap, uint32_t granule, uint32_t *first);

/* Whether [first, first + count) is free. */
bool sl_chunk_bitmap_is_free(const struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count);

/* A free stretch of `count` > 0 granules in what is in use, the last one first: after the newest neighbour is
 * where it usually is. False: there is none. */
bool sl_chunk_bitmap_gap(struct sl_chunk_bitmap *bitmap, uint32_t count, uint32_t *first);

/* The end of the last stretch. */
uint32_t sl_chunk_bitmap_last(const struct sl_chunk_bitmap *bitmap);

/* pre: the stretch is free. */
void sl_chunk_bitmap_take(struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count, uint32_t slot);

/* Frees the stretch that begins at `first`. pre: one does. */
void sl_chunk_bitmap_leave(struct sl_chunk_bitmap *bitmap, uint32_t first);

#endif
