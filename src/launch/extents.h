/* Where tensors begin and end, and how far accesses reach.
 *
 * A pointer has no length. The end of a tensor is guessed from the offsets that launches were given: the next
 * higher one begins another tensor. In memory that the program maps piece by piece a tensor may extend into
 * the next mapping. The guess fails where views of one tensor interleave (the thirds of a query-key-value
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

#include "launch/symbols.h"
#include "memory/placement.h"

#define SL_BYTES_FOR_THREAD 4 /* least bytes that a kernel reaches for each thread */

struct sl_scanner;

struct sl_extents {
    uint64_t version;         /* counts what was learned about the ends of tensors */
    uint64_t learned_version; /* version and symbols at the last sl_extents_learn */
    uint32_t learned_symbols;
    uint64_t learned_at; /* symbols fed at the last run of sl_extents_learn_if_due */
};

/* Whether the begins of the slot's inner tensors matter: an allocation of at most a chunk is used whole, but
 * a mapping may be a part of a larger tensor. */
static inline bool sl_slot_is_divided(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return slot->mapped || slot->bytes > placement->arena->chunk_bytes;
}

/* Notes that a launch was given `offset` into the slot. True: the offset is new and begins a tensor. At most
 * 65536 offsets are kept. */
bool sl_slot_learn(struct sl_slot *slot, uint64_t offset);

/* Notes that a launch has this access: a tensor begins at its offset. Sets the least bytes of one of unknown
 * length from its threads. */
static inline void sl_extents_note(struct sl_extents *extents, const struct sl_placement *placement,
                                   struct sl_access *access)
{
    struct sl_slot *slot = &placement->slots[access->slot];
    if (!access->bytes) access->at_least = access->threads * SL_BYTES_FOR_THREAD;
    if (sl_slot_is_divided(placement, slot) && sl_slot_learn(slot, access->offset)) extents->version++;
}

/* Sets the least length of accesses (sl_access.at_least) from all that is known. Does nothing if nothing was
 * learned since the last call, or if out of memory. */
void sl_extents_learn(struct sl_scanner *scanner);

/* The same, but only if the symbols fed since the last time justify the cost: otherwise a program that always
 * does something new would make it revisit all earlier launches again and again. `fed`: symbols so far. */
void sl_extents_learn_if_due(struct sl_scanner *scanner, uint64_t fed);

/* The end of an access: as the launch stated it, or else the end of the tensor that begins at its offset,
 * widened to the least that the grid covers. An access may continue from a mapping into those that follow. */
uint64_t sl_access_end(const struct sl_placement *placement, const struct sl_access *access);
/* The chunks that the access lies in. */
struct sl_chunk_range sl_access_range(const struct sl_placement *placement, const struct sl_access *access);

/* Upper bound of the end of the tensor that begins at `offset`: the next learned offset, or the allocation's
 * end. */
uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset);
/* The mapping that follows `slot` without a gap; NULL: none does. */
const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot);

#endif
