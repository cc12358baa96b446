/* Happens-before among operations of the device and the host, by vector clocks.
 *
 * Operations form *chains*, in each of which every operation comes after the one before it: usually a chain
 * is a stream, and branches of a graph have chains of their own. An operation's *moment* is its chain and its
 * place there. An operation's *clock* holds, for each chain, the last place that comes before the operation.
 * So one operation comes before another exactly if the other's clock reaches its moment, whatever the order
 * of execution was.
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

/* Whether the operation of `moment` comes before the clock's operation, or is that operation. `clock` NULL:
 * false. */
static inline bool sc_clock_reaches(const struct sc_clock *clock, struct sc_moment moment)
{
    return clock && moment.chain < clock->count && clock->reached[moment.chain] >= moment.place;
}

/* A new clock that reaches nothing, with room for all chains and one more. NULL: no memory. */
struct sc_clock *sc_clock_new(const struct sc_chains *chains);
void sc_clock_unref(struct sc_clock *clock); /* accepts NULL */

/* Makes *clock reach everything that `other` reaches. *clock NULL is a clock that reaches nothing. pre:
 * *clock has no other reference. false: no memory. */
bool sc_clock_join(struct sc_clock **clock, const struct sc_clock *other);

/* Sets *out to the moment of a new operation, which comes after everything that `clock` reaches; the clock
 * then reaches the new operation, too. The operation continues a chain whose last operation comes before it,
 * preferably that of one of `before`, its direct predecessors; otherwise it begins a new chain. false: no
 * memory. pre: `clock` was made by sc_clock_new since the last call, and reaches all of `before`. */
bool sc_chains_add(struct sc_chains *chains, struct sc_clock *clock, const struct sc_moment *before,
                   size_t before_count, struct sc_moment *out);

#endif
