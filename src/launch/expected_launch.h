/* Whether a launch is the one that the predictor expects. In a program that repeats itself almost every
 * launch is, and need not be understood again. There are three ways to recognise it, each more patient than
 * the one before:
 * - The launch cache has the last form of each expected launch of a kernel. The parameters are compared with
 *   it word by word; if they are equal, the chunks are reused.
 * - The addresses among the parameters are compared with the accesses of the symbol. They may differ in words
 *   of which there is evidence, or a suspicion, that the program does not fill them (kernels.h).
 * - The launch uses the same tensors in another size.
 * Caller holds the order lock.
 */
#ifndef SLUICE_EXPECTED_LAUNCH_H
#define SLUICE_EXPECTED_LAUNCH_H

#include "launch/access.h"

/* How often in a row a symbol may stand for a launch that differs from it in the same words, which the
 * program may not have filled. After that, such a launch gets another symbol. */
enum { SL_MOST_DOUBTFUL = 3 };

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

/* Whether the words of scanner->usage make it the launch with this symbol. `shape`: a hash of everything else
 * about the launch. Differences are accepted in words that are stale (kernels.h) or that repeat an address.
 * Up to SL_MOST_DOUBTFUL times, a few words of structures may also be an address in only one of the two
 * launches: these words are likely to be stale, although they were only seen as addresses or 0. Memory that
 * only such words name does not count as used, and the launch uses it remotely. If true, sets the accesses of
 * scanner->usage, and sets came_as_expected if none is lacking. */
bool sl_accept_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape);

/* Whether the launch that was just resolved differs from this symbol in size only: it uses the same tensors,
 * and its grid, or the length of a copy, depends on the data. */
bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol expected);

/* Whether it uses tensors of the same names, some of which have any size. Then the kernel may differ, too,
 * since libraries choose it by the sizes. */
bool sl_is_expected_in_any_size(const struct sl_scanner *scanner, const struct sl_launch *launch,
                                sl_symbol expected);

#endif
