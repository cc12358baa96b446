#include <stdatomic.h>

#include "base/map.h"
#include "base/options.h"
#include "base/test_hooks.h"
#include "plan/plan.h"

#define EARLIER 32 /* most ticks */

enum mistake { LEFT_OUT, WRONG_LIFE, TOO_EARLY, OTHER_CHUNK, MISTAKES };

static enum sl_action_kind of_other_life(enum sl_action_kind kind)
{
    switch (kind) {
    case SL_ACTION_FETCH:
        return SL_ACTION_POPULATE;
    case SL_ACTION_POPULATE:
        return SL_ACTION_FETCH;
    case SL_ACTION_DISCARD:
        return SL_ACTION_EVICT;
    default:
        return SL_ACTION_DISCARD;
    }
}

/* `least`: `after` of the previous action. */
static sl_tick earlier(sl_tick after, sl_tick least, uint64_t dice)
{
    sl_tick by = dice % EARLIER;
    return after > least + by ? after - by : least;
}

static bool frees_frame(const struct sl_plan_action *action)
{
    return action->kind != SL_ACTION_FETCH && action->kind != SL_ACTION_POPULATE;
}

/* Removes the action. If a later action's frame came from it, it takes the frame of the last action before it
 * that frees one. */
static void leave_out(struct sl_plan *plan, size_t a)
{
    plan->action_count--;
    for (size_t i = a; i < plan->action_count; i++) plan->actions[i] = plan->actions[i + 1];
    for (size_t i = a; i < plan->action_count; i++) {
        uint32_t *from = &plan->actions[i].frame_from;
        if (*from == SL_NONE || *from < a) continue;
        do *from = *from ? *from - 1 : SL_NONE;
        while (*from != SL_NONE && !frees_frame(&plan->actions[*from]));
    }
}

static void make_mistake(const struct sl_plan_input *input, struct sl_plan *plan, size_t a, uint64_t dice)
{
    struct sl_plan_action *action = &plan->actions[a];
    switch ((enum mistake)(dice % MISTAKES)) {
    case LEFT_OUT:
        leave_out(plan, a);
        break;
    case WRONG_LIFE:
        action->kind = of_other_life(action->kind);
        break;
    case TOO_EARLY:
        action->after = earlier(action->after, a ? action[-1].after : input->first_tick - 1, dice >> 8);
        break;
    default:
        action->chunk = (sl_chunk)((dice >> 8) % input->chunk_count);
    }
}

void sl_wrong_plan(const struct sl_plan_input *input, struct sl_plan *plan)
{
    static _Atomic uint64_t plans;
    uint64_t seed = (uint64_t)sl_options_in_force()->test_wrong_plans;
    if (!seed) return;
    uint64_t own = sl_hash_word(seed, atomic_fetch_add(&plans, 1));
    uint64_t one_in = (uint64_t)4 << own % 5;
    for (size_t a = plan->action_count; a-- > 0;) {
        uint64_t dice = sl_hash_word(own, a);
        if (dice >> 32 & (one_in - 1)) continue;
        make_mistake(input, plan, a, dice);
    }
}
