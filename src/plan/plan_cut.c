#include "plan/plan_cut.h"

#include "plan/plan.h"

static bool comes(const struct sl_plan_action *action)
{
    return action->kind == SL_ACTION_FETCH || action->kind == SL_ACTION_POPULATE;
}

/* Fetches are in the order of their deadlines and wait only for earlier actions. So evictions after the last
 * one that is waited for can be removed without changing indices. */
void sl_plan_cut(struct sl_plan *plan, sl_tick end)
{
    size_t until = 0, waited_for = 0, count = 0;
    for (; until < plan->action_count; until++) {
        const struct sl_plan_action *action = &plan->actions[until];
        if (!comes(action)) continue;
        if (action->deadline >= end) break;
        if (action->frame_from != SL_NONE && action->frame_from >= waited_for)
            waited_for = action->frame_from + 1;
    }
    for (size_t a = 0; a < until; a++) {
        struct sl_plan_action action = plan->actions[a];
        if (comes(&action) || a < waited_for || action.deadline < end) plan->actions[count++] = action;
    }
    plan->action_count = count;
}
