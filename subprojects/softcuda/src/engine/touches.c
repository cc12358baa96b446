#include "touches.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SHIFT 21
#define WORDS (1u << (BLOCK_SHIFT - SC_TOUCH_SHIFT - 6))
#define GRANULES (WORDS * 64)

struct sc_touched_block {
    uint64_t block; /* address >> BLOCK_SHIFT */
    uint64_t read[WORDS], written[WORDS];
};

static struct sc_touched_block **probe(struct sc_touched_block **blocks, uint32_t capacity, uint64_t block)
{
    uint32_t at = (uint32_t)((block * 0x9e3779b97f4a7c15ull) >> 32) & (capacity - 1);
    while (blocks[at] && blocks[at]->block != block) at = (at + 1) & (capacity - 1);
    return &blocks[at];
}

static bool grow(struct sc_touches *touches)
{
    uint32_t capacity = touches->capacity ? touches->capacity * 2 : 64;
    struct sc_touched_block **blocks = calloc(capacity, sizeof *blocks);
    if (!blocks) return false;
    for (uint32_t i = 0; i < touches->capacity; i++)
        if (touches->blocks[i]) *probe(blocks, capacity, touches->blocks[i]->block) = touches->blocks[i];
    free(touches->blocks);
    touches->blocks = blocks;
    touches->capacity = capacity;
    return true;
}

static struct sc_touched_block *block_for(struct sc_touches *touches, uint64_t block)
{
    if (touches->last && touches->last->block == block) return touches->last;
    bool room = touches->count * 2 < touches->capacity || grow(touches);
    struct sc_touched_block **place = room ? probe(touches->blocks, touches->capacity, block) : NULL;
    if (place && !*place) {
        *place = calloc(1, sizeof **place);
        if (*place) {
            (*place)->block = block;
            touches->count++;
        }
    }
    if (!place || !*place) {
        touches->failed = true;
        return NULL;
    }
    touches->last = *place;
    return *place;
}

void sc_touches_add(struct sc_touches *touches, uint64_t address, uint64_t bytes, bool write)
{
    if (!bytes) return;
    uint64_t last = (address + bytes - 1) >> SC_TOUCH_SHIFT;
    for (uint64_t granule = address >> SC_TOUCH_SHIFT; granule <= last; granule++) {
        struct sc_touched_block *block = block_for(touches, granule / GRANULES);
        if (!block) return;
        uint64_t *words = write ? block->written : block->read;
        words[granule % GRANULES / 64] |= UINT64_C(1) << (granule & 63);
    }
}

void sc_touches_merge(struct sc_touches *into, const struct sc_touches *from)
{
    into->failed |= from->failed;
    for (uint32_t i = 0; i < from->capacity; i++) {
        const struct sc_touched_block *source = from->blocks[i];
        struct sc_touched_block *block = source ? block_for(into, source->block) : NULL;
        for (uint32_t w = 0; block && w < WORDS; w++) {
            block->read[w] |= source->read[w];
            block->written[w] |= source->written[w];
        }
    }
}

static int by_address(const void *a, const void *b)
{
    const struct sc_touched_block *x = *(struct sc_touched_block *const *)a,
                                  *y = *(struct sc_touched_block *const *)b;
    return x->block < y->block ? -1 : x->block > y->block;
}

struct ranges {
    struct sc_touched *at;
    size_t count, capacity;
};

static bool add_granule(struct ranges *ranges, uint64_t begin, bool read, bool written)
{
    struct sc_touched *last = ranges->count ? &ranges->at[ranges->count - 1] : NULL;
    if (last && last->end == begin && last->read == read && last->written == written) {
        last->end += SC_TOUCH_BYTES;
        return true;
    }
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 16;
        struct sc_touched *larger = realloc(ranges->at, capacity * sizeof *larger);
        if (!larger) return false;
        ranges->at = larger;
        ranges->capacity = capacity;
    }
    ranges->at[ranges->count++] = (struct sc_touched){begin, begin + SC_TOUCH_BYTES, read, written};
    return true;
}

static bool add_block(struct ranges *ranges, const struct sc_touched_block *block)
{
    for (uint32_t g = 0; g < GRANULES; g++) {
        bool read = block->read[g / 64] >> (g & 63) & 1, written = block->written[g / 64] >> (g & 63) & 1;
        uint64_t begin = (block->block << BLOCK_SHIFT) + ((uint64_t)g << SC_TOUCH_SHIFT);
        if ((read || written) && !add_granule(ranges, begin, read, written)) return false;
    }
    return true;
}

bool sc_touches_ranges(const struct sc_touches *touches, struct sc_touched **out, size_t *count)
{
    struct ranges ranges = {0};
    struct sc_touched_block **sorted = touches->count ? malloc(touches->count * sizeof *sorted) : NULL;
    bool ok = !touches->failed && (sorted || !touches->count);
    uint32_t blocks = 0;
    for (uint32_t i = 0; ok && i < touches->capacity; i++)
        if (touches->blocks[i]) sorted[blocks++] = touches->blocks[i];
    if (blocks) qsort(sorted, blocks, sizeof *sorted, by_address);
    for (uint32_t i = 0; ok && i < blocks; i++) ok = add_block(&ranges, sorted[i]);
    free(sorted);
    if (!ok) {
        free(ranges.at);
        ranges = (struct ranges){0};
    }
    *out = ranges.at;
    *count = ranges.count;
    return ok;
}

void sc_touches_free(struct sc_touches *touches)
{
    for (uint32_t i = 0; i < touches->capacity; i++) free(touches->blocks[i]);
    free(touches->blocks);
    memset(touches, 0, sizeof *touches);
}
