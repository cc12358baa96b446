/* What comes before what, among operations of the device and the host.
 *
 * Operations are put into *chains*, in each of which every operation comes after the one before it: usually a
 * chain is a stream, and branches of a graph have their own. An operation's *moment* is its chain and its
 * place there. A *clock* says, for each chain, up to which place everything comes before. So one operation
 * comes before another exactly if the other's clock reaches its moment, whatever was executed in which order.
 *
 * pre: the driver's lock is held, everywhere.
 */
#ifndef SOFTCUDA_CLOCK_H
#define SOFTCUDA_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sc_moment {
    uint32_t chain, place; /* places count from 1 */
};

struct sc_clock {
    unsigned refs;
    uint32_t count;
    uint32_t reached[]; /* by chain */
};

struct sc_chains {
    uint32_t *last; /* by chain: the place of its last operation */
    uint32_t count, capacity;
};

/* Does the operation of `moment` come before what `clock` belongs to, or is it that? NULL: nothing does. */
static inline bool sc_clock_reaches(const struct sc_clock *clock, struct sc_moment moment)
{
    return clock && moment.chain < clock->count && clock->reached[moment.chain] >= moment.place;
}

/* A clock that reaches nothing, with room for all chains and one more; NULL: no memory. */
struct sc_clock *sc_clock_new(const struct sc_chains *chains);
void sc_clock_unref(struct sc_clock *clock); /* accepts NULL */

/* Makes *clock, NULL being one that reaches nothing, reach what `other` does. Nobody else may hold *clock.
 * false: no memory. */
bool sc_clock_join(struct sc_clock **clock, const struct sc_clock *other);

/* The moment of a new operation, which comes after what `clock` reaches; the clock then reaches it, too. It
 * continues the chain of one of `before`, its direct predecessors, where it can. false: no memory.
 * pre: the clock is of sc_clock_new since the last call, and reaches all of `before`. */
bool sc_chains_add(struct sc_chains *chains, struct sc_clock *clock, const struct sc_moment *before,
                   size_t before_count, struct sc_moment *out);

#endif
