#include "plan.h"

#include <stdlib.h>

#include "plan_internal.h"

static bool valid(const struct sl_plan_input *input)
{
    if (!input->first_tick) return false;
    if (input->launch_count >= UINT32_MAX / 4 || input->chunk_count >= UINT32_MAX / 4) return false;
    if (input->budget_bytes > INT64_MAX || !input->in_bytes_per_s || !input->out_bytes_per_s) return false;
    for (size_t i = 0; i < input->chunk_count; i++)
        if ((unsigned)input->content[i] > SL_CONTENT_RESIDENT_DEAD ||
            input->chunk_bytes[i] > UINT32_MAX * SL_KIB)
            return false;
    uint64_t accesses = 0;
    for (size_t i = 0; i < input->launch_count; i++) {
        const struct sl_plan_launch *launch = &input->launches[i];
        accesses += launch->access_count;
        for (uint32_t k = 0; k < launch->access_count; k++)
            if (input->accesses[launch->first_access + k].chunk >= input->chunk_count) return false;
        for (uint32_t k = 0; k < launch->death_count; k++)
            if (input->deaths[launch->first_death + k] >= input->chunk_count) return false;
    }
    return accesses < UINT32_MAX / 4;
}

enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan *out)
{
    if (!valid(input)) return SL_ERR_INVALID;
    struct sl_choice choice = {0};
    struct sl_plan plan = {0};
    enum sl_status status = sl_plan_choose(input, &choice);
    if (status == SL_OK) status = sl_plan_schedule(input, &choice, &plan);
    sl_choice_free(&choice);
    if (status == SL_OK)
        *out = plan;
    else
        sl_plan_free(&plan);
    return status;
}

void sl_plan_free(struct sl_plan *plan)
{
    free(plan->actions);
    *plan = (struct sl_plan){0};
}
