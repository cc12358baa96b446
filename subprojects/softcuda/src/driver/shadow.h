/* Who used which byte last, and how: the memory of the race detector.
 *
 * For every byte there is a list of *uses*: the last one that replaced the content, and those since of which
 * none comes after the other. Neighbouring bytes with the same list share it, so what is kept and what a new
 * use costs depends on the number of ranges that programs treat alike, not on their bytes.
 *
 * A new use is compared with those of the list. It is reported if one of them conflicts with it and does not
 * come before it, if it comes after a free, and if it reads content that was discarded.
 *
 * pre: the driver's lock is held, everywhere.
 */
#ifndef SOFTCUDA_SHADOW_H
#define SOFTCUDA_SHADOW_H

#include "clock.h"

enum sc_use_kind {
    SC_USE_READ,
    SC_USE_POLL, /* a read that may happen beside atomic accesses */
    SC_USE_ATOMIC,
    SC_USE_PREFETCH,
    /* From here on: what was there is gone. */
    SC_USE_WRITE,
    SC_USE_DISCARD,
    SC_USE_ALLOCATE,
    SC_USE_FREE,
};

struct sc_site;

/* One operation, as long as somebody remembers it. */
struct sc_actor {
    unsigned refs;
    struct sc_moment moment;
    uint64_t op;             /* its number */
    uint64_t graph;          /* the launch of a graph that it is part of, or 0 */
    const char *kind, *name; /* live for ever; `name` may be "" */
    unsigned long long stream;
    const struct sc_site *site;
};

struct sc_use_range {
    uint64_t begin, end;
    enum sc_use_kind kind;
    bool content_read; /* before it was written; always true for reads */
};

enum sc_finding_kind { SC_FOUND_RACE, SC_FOUND_USE_AFTER_FREE, SC_FOUND_GARBAGE };

/* What one operation did wrong with regard to an earlier one. */
struct sc_finding {
    enum sc_finding_kind kind;
    struct sc_actor *earlier; /* valid until sc_shadow_use returns */
    enum sc_use_kind earlier_use, use;
    uint64_t low, high; /* the bytes lie in [low, high) */
    uint64_t bytes;
};

/* An operation, which reaches `clock`, uses memory. Calls found(context, finding) for what is wrong, once for
 * each earlier operation and way of using. false: no memory; something is not remembered then.
 * pre: ranges are sorted and do not overlap. */
bool sc_shadow_use(struct sc_actor *actor, const struct sc_clock *clock, const struct sc_use_range *ranges,
                   size_t count, void (*found)(void *context, const struct sc_finding *finding),
                   void *context);

/* Memory begins anew: nobody has used [begin, end). */
bool sc_shadow_forget(uint64_t begin, uint64_t end);

void sc_actor_unref(struct sc_actor *actor); /* accepts NULL */

#endif
