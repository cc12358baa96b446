#include "plan/plan_content.h"

#include <string.h>

static enum sl_chunk_content carried_out(enum sl_action_kind kind, enum sl_chunk_content content)
{
    switch (kind) {
    case SL_ACTION_FETCH:
        return SL_CONTENT_RESIDENT;
    case SL_ACTION_POPULATE:
        return content == SL_CONTENT_RESIDENT ? content : SL_CONTENT_RESIDENT_DEAD;
    case SL_ACTION_DISCARD:
        return SL_CONTENT_DEAD;
    default:
        return SL_CONTENT_HOST;
    }
}

static void run(const struct sl_plan_input *input, size_t t, enum sl_chunk_content *content)
{
    const struct sl_plan_launch *launch = &input->launches[t];
    for (uint32_t k = 0; k < launch->access_count; k++) {
        enum sl_chunk_content *used = &content[input->accesses[launch->first_access + k].chunk];
        if (*used == SL_CONTENT_DEAD) *used = SL_CONTENT_HOST; /* written remotely */
        if (*used == SL_CONTENT_RESIDENT_DEAD) *used = SL_CONTENT_RESIDENT;
    }
    for (uint32_t k = 0; k < launch->death_count; k++) {
        enum sl_chunk_content *dead = &content[input->deaths[launch->first_death + k]];
        if (*dead == SL_CONTENT_HOST) *dead = SL_CONTENT_DEAD;
        if (*dead == SL_CONTENT_RESIDENT) *dead = SL_CONTENT_RESIDENT_DEAD;
    }
}

void sl_plan_content(const struct sl_plan_input *input, const struct sl_plan *plan, size_t launch,
                     enum sl_chunk_content *content)
{
    size_t a = 0;
    memcpy(content, input->content, input->chunk_count * sizeof *content);
    for (size_t t = 0; t < launch; t++) {
        for (; a < plan->action_count && plan->actions[a].after < input->first_tick + t; a++)
            content[plan->actions[a].chunk] =
                carried_out(plan->actions[a].kind, content[plan->actions[a].chunk]);
        run(input, t, content);
    }
}
