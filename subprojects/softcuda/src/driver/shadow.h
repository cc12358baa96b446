/* The race detector's shadow memory: which operations used which byte last, and how.
 *
 * For every byte there is a list of *uses*: the last one that replaced the content, and those later ones that
 * do not come before another one in the list. Neighbouring bytes with equal lists share one, so memory and
 * time depend on the number of different ranges and not on their bytes.
 *
 * A new use is compared with those of the list. It is reported if a conflicting use does not come before it,
 * if it comes after a free, or if it reads discarded content.
 *
 * pre: the driver's lock is held, everywhere.
 */
#ifndef SOFTCUDA_SHADOW_H
#define SOFTCUDA_SHADOW_H

#include "clock.h"

enum sc_use_kind {
    SC_USE_READ,
    SC_USE_POLL, /* a read that may race with atomic accesses */
    SC_USE_ATOMIC,
    SC_USE_PREFETCH,
    /* From here on: uses that replace the content. */
    SC_USE_WRITE,
    SC_USE_DISCARD,
    SC_USE_ALLOCATE,
    SC_USE_FREE,
    SC_USE_ADVISE, /* for sc_shadow_check only: advice by the host that concerns every use */
};

struct sc_site;

/* One operation, kept as long as it is referenced. */
struct sc_actor {
    unsigned refs;
    struct sc_moment moment;
    uint64_t op;             /* the operation's id */
    uint64_t graph;          /* the graph launch that it is part of, or 0 */
    const char *kind, *name; /* static or interned strings; `name` may be "" */
    unsigned long long stream;
    bool by_host; /* of no stream: advice */
    const struct sc_site *site;
};

struct sc_use_range {
    uint64_t begin, end;
    enum sc_use_kind kind;
    bool content_read; /* the content was read before the operation wrote it; always true for reads */
};

enum sc_finding_kind { SC_FOUND_RACE, SC_FOUND_USE_AFTER_FREE, SC_FOUND_GARBAGE };

/* A conflict of one operation with an earlier one. */
struct sc_finding {
    enum sc_finding_kind kind;
    struct sc_actor *earlier; /* valid until sc_shadow_use returns */
    enum sc_use_kind earlier_use, use;
    uint64_t low, high; /* the bytes lie in [low, high) */
    uint64_t bytes;
};

/* Records that `actor`, an operation whose clock is `clock`, uses memory. Calls found(context, finding) for
 * each problem, once for each earlier operation and kind of use. false: no memory; some uses are not
 * recorded. pre: ranges are sorted and do not overlap. */
bool sc_shadow_use(struct sc_actor *actor, const struct sc_clock *clock, const struct sc_use_range *ranges,
                   size_t count, void (*found)(void *context, const struct sc_finding *finding),
                   void *context);

/* Reports as sc_shadow_use does, and records nothing: for what the host does at once, so that everything
 * submitted later comes after it. `clock`: what the host has waited for; NULL: nothing. */
void sc_shadow_check(struct sc_actor *actor, const struct sc_clock *clock, const struct sc_use_range *range,
                     void (*found)(void *context, const struct sc_finding *finding), void *context);

/* Forgets all uses of [begin, end): the memory is fresh. false: no memory. */
bool sc_shadow_forget(uint64_t begin, uint64_t end);

void sc_actor_unref(struct sc_actor *actor); /* accepts NULL */

#endif
