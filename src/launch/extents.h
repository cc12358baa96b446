/* How far accesses of unknown length reach in allocations that hold several tensors.
 *
 * The end of a tensor is guessed from the pointers that launches were given: the next higher one begins
 * another tensor. The guess fails where views of one tensor interleave (the thirds of a query-key-value
 * matrix), and where memory is divided differently at different times. Two rules are learned from all known
 * launches:
 * - If a kernel reaches equally far for each thread in most tensors that one of its parameters was given, it
 *   does so in the others, even across other pointers.
 * - Without such a rule, pointers close after the first one, before a gap 16 times as long, are views of its
 *   tensor.
 *
 * An overestimate costs frames; an underestimate makes a kernel use an operand over the link. So in doubt the
 * estimate is high. Caller holds the order lock.
 */
#ifndef SLUICE_EXTENT_H
#define SLUICE_EXTENT_H

#include "base/types.h"

struct sl_scanner;

struct sl_extents {
    uint64_t version;         /* counts what was learned about the ends of tensors */
    uint64_t learned_version; /* version and symbols at the last sl_extents_learn */
    uint32_t learned_symbols;
    uint64_t learned_at; /* symbols fed at the last run of sl_extents_learn_if_due */
};

/* Sets the least length of accesses (sl_access.at_least) from all that is known. Does nothing if nothing was
 * learned since the last call, or if out of memory. */
void sl_extents_learn(struct sl_scanner *scanner);

/* The same, but only if the symbols fed since the last time justify the cost: otherwise a program that always
 * does something new would make it revisit all earlier launches again and again. `fed`: symbols so far. */
void sl_extents_learn_if_due(struct sl_scanner *scanner, uint64_t fed);

#endif
