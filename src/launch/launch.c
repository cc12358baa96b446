#include "launch/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static struct sl_footprint *reserve(size_t words)
{
    if (words >= SL_NONE) return NULL;
    return malloc(sizeof(struct sl_footprint) + words * sizeof(struct sl_word));
}

struct sl_footprint *sl_footprint_new(uint64_t shape, const struct sl_word *words, uint32_t count)
{
    struct sl_footprint *footprint = reserve(count);
    if (!footprint) return NULL;
    footprint->shape = shape;
    footprint->in_any_size = 0;
    footprint->count = count;
    if (count) memcpy(footprint->words, words, count * sizeof *words);
    return footprint;
}

/* Of two words at one address the longer length counts, or it is unknown if either is. */
static bool add(struct sl_footprint *into, struct sl_map *seen, const struct sl_word *word)
{
    uint64_t key = sl_hash_word(word->address, word->parameter);
    uint32_t known = sl_map_get(seen, key);
    if (known != SL_NONE) {
        struct sl_word *same = &into->words[known];
        same->bytes = !same->bytes || !word->bytes ? 0
                      : same->bytes > word->bytes  ? same->bytes
                                                   : word->bytes;
        if (same->threads < word->threads) same->threads = word->threads;
        same->only_read &= word->only_read;
        return true;
    }
    if (!sl_map_put(seen, key, into->count)) return false;
    into->words[into->count] = *word;
    into->words[into->count].where = into->count;
    into->count++;
    return true;
}

struct sl_footprint *sl_footprint_join(const struct sl_footprint *const *parts, size_t count)
{
    size_t words = 0;
    for (size_t p = 0; p < count; p++) words += parts[p] ? parts[p]->count : 0;
    struct sl_footprint *joined = reserve(words);
    struct sl_map seen = {0};
    if (!joined) return NULL;
    joined->shape = count;
    joined->in_any_size = 0;
    joined->count = 0;
    bool ok = true;
    for (size_t p = 0; p < count && ok; p++) {
        const struct sl_footprint *part = parts[p];
        joined->shape = sl_hash_word(joined->shape, part ? part->shape : 0);
        for (uint32_t w = 0; part && w < part->count && ok; w++) ok = add(joined, &seen, &part->words[w]);
    }
    sl_map_free(&seen);
    if (ok) return joined;
    free(joined);
    return NULL;
}
