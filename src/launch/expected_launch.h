/* Whether a launch that was scanned is the one that the predictor expects. Caller holds the order lock. */
#ifndef SLUICE_EXPECTED_LAUNCH_H
#define SLUICE_EXPECTED_LAUNCH_H

#include "launch/access.h"

/* How often in a row a symbol may stand for a launch that differs from it in the same words, which the
 * program may not have filled. After that, such a launch is another one. */
enum { SL_MOST_DOUBTFUL = 3 };

/* Whether the words of scanner->usage make the launch the one with this symbol. `shape`: a hash of everything
 * else about the launch. It may differ in words that are stale (stale_words.h) or that repeat an address. It
 * may also, SL_MOST_DOUBTFUL times, differ in a few words of structures that are an address in one of the two
 * launches and none in the other: these words are likely to be stale, but were not seen with anything but 0.
 * What only they say the launch uses is not counted as used, and the launch uses it remotely. If so,
 * sets the accesses of scanner->usage, and came_as_expected where none is lacking. */
bool sl_is_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape);

/* Whether the launch, which was just resolved, is the one with this symbol but for its size: it uses the same
 * tensors, and its grid, or how long a copy is, depends on the data. */
bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol expected);

#endif
