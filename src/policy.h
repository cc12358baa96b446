/* What each policy (SLUICE_POLICY) has the core do: one table that the rest asks. */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "backend.h"
#include "options.h"

/* Which chunk leaves where no plan says it. */
enum sl_victims {
    SL_VICTIMS_LEAST_RECENT, /* the least recently used */
    SL_VICTIMS_FIRST_IN,     /* the one that came first */
};

struct sl_policy_facts {
    const char *name; /* as in the option table */
    enum sl_memory_use memory;
    enum sl_victims victims;
    bool plans; /* what is predicted is planned; until then, and after surprises, as without a plan */
    bool ahead; /* a plan may move chunks before the launch that needs it is there: the daemon's work */
};

/* `policy`: enum sl_policy. Thread-safe. */
const struct sl_policy_facts *sl_policy_facts(int policy);

#endif
