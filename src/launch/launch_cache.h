/* The last form of each expected launch. The next one is recognised by comparing its parameters word by word,
 * and its chunks are reused. In a program that repeats itself almost every launch takes this path. Kernels
 * only. Caller holds the order lock. */
#ifndef SLUICE_LAUNCH_CACHE_H
#define SLUICE_LAUNCH_CACHE_H

#include "base/types.h"

struct sl_scanner;
struct sl_launch;

struct sl_launch_cache_entry {
    uint64_t handles, extents; /* the core's versions of them when the entry was stored */
    uint64_t places;           /* the placement's version at the last match */
    uint64_t function;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t kernel, word_count, chunk_count;
    uint64_t pinned_bytes;
    uint64_t words[]; /* expected address of each scanned word, or 0: none of ours; followed by the chunks */
};

static inline const sl_chunk *sl_launch_cache_chunks(const struct sl_launch_cache_entry *entry)
{
    return (const sl_chunk *)(entry->words + entry->word_count);
}

/* The entry of `symbol` if the launch is the one that the symbol stands for; NULL: it is not, or the cache
 * cannot tell. */
const struct sl_launch_cache_entry *sl_launch_cache_match(struct sl_scanner *scanner,
                                                          const struct sl_launch *launch, sl_symbol symbol);

/* Stores the entry of the launch that was just scanned. Precondition: the launch is the expected one, and its
 * chunks are known. */
void sl_launch_cache_put(struct sl_scanner *scanner, const struct sl_launch *launch);

#endif
