/* What each policy (SLUICE_POLICY) has the core do: one table that the rest asks. */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "base/options.h"
#include "device/backend.h"
#include "plan/plan.h"

/* Which chunk leaves where no plan says it. */
enum sl_victims {
    SL_VICTIMS_LEAST_RECENT, /* the least recently used */
    SL_VICTIMS_FIRST_IN,     /* the one that came first */
};

struct sl_policy_traits {
    const char *name; /* as in the option table */
    enum sl_memory_use memory;
    enum sl_victims victims;
    bool plans; /* what is predicted is planned; until then, and after mispredictions, it is as without a plan
                 */
    enum sl_plan_when when; /* of plans */
};

/* Whether anything moves before the launch that needs it is there: what the daemon's threads are for. */
static inline bool sl_policy_moves_ahead(const struct sl_policy_traits *traits)
{
    return traits->plans && traits->when != SL_PLAN_ON_DEMAND;
}

/* `policy`: enum sl_policy. Thread-safe. */
const struct sl_policy_traits *sl_policy_traits(int policy);

#endif
