/* What an expected launch looked like the last time, so that the next one is recognised by comparing its
 * parameters word by word and its chunks need not be worked out: the path of almost every launch of a
 * program that repeats itself. Kernels only. Caller holds the order lock. */
#ifndef SLUICE_LAUNCH_CACHE_H
#define SLUICE_LAUNCH_CACHE_H

#include "base/types.h"

struct sl_scanner;
struct sl_launch;

struct sl_launch_cache_entry {
    uint64_t handles, extents; /* the core's versions of them when the entry was kept */
    uint64_t places;           /* the version of the placement for which it was last found true */
    uint64_t function;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t kernel, word_count, chunk_count;
    uint64_t pinned_bytes;
    uint64_t words[]; /* for each scanned word of the parameters: the address that it must be, or 0: none of
                         ours; behind them the chunks */
};

static inline const sl_chunk *sl_launch_cache_chunks(const struct sl_launch_cache_entry *entry)
{
    return (const sl_chunk *)(entry->words + entry->word_count);
}

/* The entry of `symbol` if the launch is the one that it stands for; NULL if it is not, or that cannot be
 * known this way. */
const struct sl_launch_cache_entry *sl_launch_cache_match(struct sl_scanner *scanner,
                                                          const struct sl_launch *launch, sl_symbol symbol);

/* Keeps the entry of the launch that was just scanned, is the one expected, and whose chunks are known. */
void sl_launch_cache_put(struct sl_scanner *scanner, const struct sl_launch *launch);

#endif
