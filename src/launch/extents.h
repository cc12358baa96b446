/* How far accesses of unknown length reach in allocations that hold several tensors.
 *
 * Where a tensor ends is guessed from the pointers that launches were given: the next one up begins another
 * tensor. That is wrong where views of one tensor interleave (the thirds of a matrix of queries, keys and
 * values), or where memory is divided otherwise at another time. Two things are learned from all launches
 * known so far:
 *   - a kernel that reaches equally far for each thread in most tensors that a parameter of it was given
 * reaches as far in the others, even if a pointer lies in between;
 *   - where there is no such rule, pointers that follow close upon the first one, before a gap 16 times as
 *     long, are views of what it begins.
 * Claiming too much costs frames, claiming too little an operand over the link: when in doubt, more.
 * Caller holds the order lock.
 */
#ifndef SLUICE_EXTENT_H
#define SLUICE_EXTENT_H

#include "base/types.h"

struct sl_scanner;

struct sl_extents {
    uint64_t version;         /* counts what was learned of where tensors end */
    uint64_t learned_version; /* the version and the symbols that sl_extents_learn saw last */
    uint32_t learned_symbols;
    uint64_t learned_at; /* the symbols fed when sl_extents_learn_if_due last did */
};

/* Sets what accesses cover at least (sl_access.at_least) from all that is known now. Does nothing if nothing
 * was learned since the last time, or without memory. */
void sl_extents_learn(struct sl_scanner *scanner);

/* The same, but not more often than the symbols fed since the last time pay for: a program that always does
 * something new would else look at all that it ever did, again and again. `fed`: symbols so far. */
void sl_extents_learn_if_due(struct sl_scanner *scanner, uint64_t fed);

#endif
