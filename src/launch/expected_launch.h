/* Whether a scanned launch is the one that the predictor expects. Caller holds the order lock. */
#ifndef SLUICE_EXPECTED_LAUNCH_H
#define SLUICE_EXPECTED_LAUNCH_H

#include "launch/access.h"

/* How often in a row a symbol may stand for a launch that differs from it in the same words, which the
 * program may not have filled. After that, such a launch gets another symbol. */
enum { SL_MOST_DOUBTFUL = 3 };

/* Whether the words of scanner->usage make it the launch with this symbol. `shape`: a hash of everything else
 * about the launch. Differences are accepted in words that are stale (stale_words.h) or that repeat an
 * address. Up to SL_MOST_DOUBTFUL times, a few words of structures may also be an address in only one of the
 * two launches: these words are likely to be stale, although they were only seen as addresses or 0. Memory
 * that only such words name does not count as used, and the launch uses it remotely. If true, sets the
 * accesses of scanner->usage, and sets came_as_expected if none is lacking. */
bool sl_is_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape);

/* Whether the launch that was just resolved differs from this symbol in size only: it uses the same tensors,
 * and its grid, or the length of a copy, depends on the data. */
bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol expected);

#endif
