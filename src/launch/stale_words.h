/* Words of a kernel's parameters that only sometimes are addresses.
 *
 * A structure that is passed by value often has room that the program does not fill: of an array of strides,
 * say, as many entries as there are dimensions. What stands behind them is what the stack held there before,
 * and may look like an address of a live allocation in one launch and like anything else in the next. Such a
 * word is no part of what the launch is, and nothing is fetched for it. If it was an address after all, the
 * launch uses that memory remotely. Caller holds the order lock.
 */
#ifndef SLUICE_STALE_WORDS_H
#define SLUICE_STALE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* How often a word was an address of a live allocation, and how often something else but 0. */
struct sl_word_evidence {
    uint8_t live, other;
};

enum { SL_STALE_EVIDENCE = 1 }; /* of both: then the word is stale */

static inline bool sl_word_is_stale(const struct sl_word_evidence *evidence)
{
    return evidence->live >= SL_STALE_EVIDENCE && evidence->other >= SL_STALE_EVIDENCE;
}

/* The word was looked at. pre: it is not 0, and part of a parameter that is larger than an address. Returns
 * whether it is stale from now on, and was not before. */
bool sl_word_note(struct sl_word_evidence *evidence, bool live);

#endif
