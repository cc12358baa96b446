/* The properties of each policy (SLUICE_POLICY), in one table. */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "base/options.h"
#include "device/backend.h"
#include "plan/plan.h"

/* Which chunk is evicted if no plan decides. */
enum sl_victims {
    SL_VICTIMS_LEAST_RECENT, /* the least recently used */
    SL_VICTIMS_FIRST_IN,     /* the one that was fetched first */
};

struct sl_policy_traits {
    const char *name; /* as in the option table */
    enum sl_memory_use memory;
    enum sl_victims victims;
    bool plans; /* predicted launches are planned; without a prediction, chunks are fetched on demand */
    enum sl_plan_when when; /* for plans */
};

/* Whether chunks are moved before the launch that needs them begins, which is the daemon's work. */
static inline bool sl_policy_moves_ahead(const struct sl_policy_traits *traits)
{
    return traits->plans && traits->when != SL_PLAN_ON_DEMAND;
}

/* `policy`: enum sl_policy. Thread-safe. */
const struct sl_policy_traits *sl_policy_traits(int policy);

#endif
