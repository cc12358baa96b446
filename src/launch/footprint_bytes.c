#include "launch/footprint_bytes.h"

#include <stdlib.h>

struct chunk_list {
    sl_chunk *list;
    size_t count, capacity;
};

static bool add_range(struct chunk_list *chunks, struct sl_chunk_range range)
{
    if (chunks->count + range.count > chunks->capacity) {
        size_t wanted = 2 * chunks->capacity + range.count;
        sl_chunk *larger = realloc(chunks->list, wanted * sizeof *larger);
        if (!larger) return false;
        chunks->list = larger;
        chunks->capacity = wanted;
    }
    for (uint32_t i = 0; i < range.count; i++) chunks->list[chunks->count++] = range.first + i;
    return true;
}

static int compare(const void *a, const void *b)
{
    sl_chunk first = *(const sl_chunk *)a, second = *(const sl_chunk *)b;
    return (first > second) - (first < second);
}

static struct sl_access access_of(uint32_t s, const struct sl_slot *slot, const struct sl_word *word)
{
    return (struct sl_access){.slot = s,
                              .offset = word->address - slot->address,
                              .bytes = word->bytes,
                              .at_least = word->bytes ? 0 : word->threads * SL_BYTES_FOR_THREAD};
}

/* Lists the chunks of all words. The first pass learns all inner tensors, which determine the ends in the
 * second. */
static bool list_chunks(struct sl_scanner *scanner, const struct sl_usage *usage, struct chunk_list *chunks)
{
    struct sl_placement *placement = scanner->placement;
    for (int learned = 0; learned < 2; learned++)
        for (uint32_t w = 0; w < usage->word_count; w++) {
            uint32_t s = sl_place_find(placement, usage->words[w].address);
            if (s == SL_NONE) continue;
            struct sl_slot *slot = &placement->slots[s];
            struct sl_access access = access_of(s, slot, &usage->words[w]);
            if (!learned) {
                if (sl_slot_is_divided(placement, slot) && sl_slot_learn(slot, access.offset))
                    scanner->extents.version++;
                continue;
            }
            if (!add_range(chunks, sl_access_range(placement, &access))) return false;
        }
    return true;
}

uint64_t sl_footprint_bytes(struct sl_scanner *scanner, const struct sl_footprint *footprint)
{
    struct chunk_list chunks = {0};
    uint64_t bytes = 0;
    bool listed = list_chunks(scanner, sl_access_footprint_words(scanner, footprint), &chunks);
    if (chunks.count) qsort(chunks.list, chunks.count, sizeof *chunks.list, compare);
    for (size_t i = 0; i < chunks.count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(scanner->placement->arena, chunks.list[i]);
        if ((i == 0 || chunks.list[i] != chunks.list[i - 1]) && !chunk->pinned)
            bytes += atomic_load(&chunk->bytes);
    }
    free(chunks.list);
    return listed ? bytes : UINT64_MAX;
}
