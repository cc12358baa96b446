#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan_parts.h"

#define MOST_GUESSED 0.5 /* of the time; with more, comparing attempts is pointless */

static bool valid(const struct sl_plan_input *input)
{
    if (!input->first_tick) return false;
    if (input->launch_count >= UINT32_MAX / 4 || input->chunk_count >= UINT32_MAX / 4) return false;
    if (input->budget_bytes > INT64_MAX || !input->in_bytes_per_s || !input->out_bytes_per_s) return false;
    if ((unsigned)input->when > SL_PLAN_ON_DEMAND) return false;
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

static uint64_t used_bytes(const struct sl_plan_input *input, const struct sl_plan_launch *launch)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++)
        bytes += input->chunk_bytes[input->accesses[launch->first_access + k].chunk];
    return bytes;
}

/* Sets each launch's duration. An unknown one is estimated from the bytes of its chunks, at the speed of the
 * other launches or, without any, at four times the link's speed. That is rarely right, but it tells long
 * launches from short ones, and none looks free. Returns the estimated share of the time. */
static double estimate(const struct sl_plan_input *input, double *launch_ns)
{
    double bytes = 0, known_ns = 0, guessed_ns = 0;
    for (size_t t = 0; t < input->launch_count; t++) {
        const struct sl_plan_launch *launch = &input->launches[t];
        launch_ns[t] = (double)launch->duration_ns;
        bytes += launch->duration_ns ? (double)used_bytes(input, launch) : 0;
        known_ns += launch_ns[t];
    }
    double ns_per_byte = bytes > 0 ? known_ns / bytes : 1e9 / (4 * (double)input->in_bytes_per_s);
    for (size_t t = 0; t < input->launch_count; t++) {
        if (input->launches[t].duration_ns) continue;
        launch_ns[t] = (double)used_bytes(input, &input->launches[t]) * ns_per_byte;
        guessed_ns += launch_ns[t];
    }
    return guessed_ns > 0 ? guessed_ns / (guessed_ns + known_ns) : 0;
}

enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan_lessons *lessons,
                            struct sl_plan *out)
{
    struct sl_plan_input in = *input;
    if (!valid(input)) return SL_ERR_INVALID;
    double *launch_ns = malloc((input->launch_count + 1) * sizeof *launch_ns);
    if (!launch_ns) return SL_ERR_NO_MEMORY;
    if (estimate(input, launch_ns) > MOST_GUESSED || input->when != SL_PLAN_AHEAD) in.attempts = 0;
    enum sl_status status = sl_plan_search(&in, launch_ns, lessons, out);
    free(launch_ns);
    if (status == SL_OK && input->believed) sl_plan_cut(out, input->first_tick + input->believed);
    return status;
}

void sl_plan_free(struct sl_plan *plan)
{
    free(plan->actions);
    free(plan->in_place);
    *plan = (struct sl_plan){0};
}

void sl_plan_lessons_free(struct sl_plan_lessons *lessons)
{
    free(lessons->rows);
    *lessons = (struct sl_plan_lessons){0};
}

/* --- of a plan that was made */

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
