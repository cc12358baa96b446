#include "core/core.h"

static const struct sl_policy_traits policies[] = {
    [SL_POLICY_PLAN] = {"plan", SL_MEMORY_MOVED, SL_VICTIMS_LEAST_RECENT, true, SL_PLAN_AHEAD},
    [SL_POLICY_NEXT] = {"next", SL_MEMORY_MOVED, SL_VICTIMS_LEAST_RECENT, true, SL_PLAN_NEXT},
    [SL_POLICY_BELADY] = {"belady", SL_MEMORY_MOVED, SL_VICTIMS_LEAST_RECENT, true, SL_PLAN_ON_DEMAND},
    [SL_POLICY_LRU] = {"lru", SL_MEMORY_MOVED, SL_VICTIMS_LEAST_RECENT},
    [SL_POLICY_DEMAND] = {"demand", SL_MEMORY_MOVED, SL_VICTIMS_FIRST_IN},
    [SL_POLICY_DRIVER] = {"driver", SL_MEMORY_PAGED},
    [SL_POLICY_OFF] = {"off", SL_MEMORY_NOTED},
};

const struct sl_policy_traits *sl_policy_traits(int policy)
{
    return &policies[policy];
}
