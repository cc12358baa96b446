/* Words of a kernel's parameters that are addresses only sometimes.
 *
 * A by-value structure often has room that the program does not fill: an array of strides, for example, has
 * as many entries as a tensor may have dimensions. The unused entries keep the stack's previous content. This
 * may look like an address of a live allocation in one launch and like anything else in the next. Such a word
 * is stale: it does not belong to the launch's identity, and nothing is fetched for it. If it was an address
 * after all, the launch uses that memory remotely. Caller holds the order lock.
 */
#ifndef SLUICE_STALE_WORDS_H
#define SLUICE_STALE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* How often a word was an address of a live allocation, and how often another nonzero value. */
struct sl_word_evidence {
    uint8_t live, other;
};

enum { SL_STALE_EVIDENCE = 1 }; /* of both: the word is stale */

static inline bool sl_word_is_stale(const struct sl_word_evidence *evidence)
{
    return evidence->live >= SL_STALE_EVIDENCE && evidence->other >= SL_STALE_EVIDENCE;
}

/* Notes a word's value. Precondition: the value is not 0, and the parameter is larger than an address.
 * Returns whether this made the word stale. */
bool sl_word_note(struct sl_word_evidence *evidence, bool live);

#endif
