#include "plan.h"

#include <stdlib.h>

#include "plan_internal.h"

/* Belady's choice copies least. Another must save at least a hundredth of the time, and half as large a part
 * of it as it copies more. */
#define LEAST_GAIN 0.01
#define GAIN_FOR_BYTES 0.5

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

/* How long each launch runs. One whose duration nobody knows is taken to go through its chunks at the speed
 * of the others, or, if there are none, at a few times the link's: rarely right, but it tells long launches
 * from short ones and lets none look free. Returns how many were guessed. */
static size_t estimate(const struct sl_plan_input *input, double *launch_ns)
{
    double bytes = 0, ns = 0;
    size_t guessed = 0;
    for (size_t t = 0; t < input->launch_count; t++) {
        const struct sl_plan_launch *launch = &input->launches[t];
        launch_ns[t] = (double)launch->duration_ns;
        guessed += !launch->duration_ns && launch->access_count;
        bytes += launch->duration_ns ? (double)used_bytes(input, launch) : 0;
        ns += launch_ns[t];
    }
    if (!guessed) return 0;
    double ns_per_byte = bytes > 0 ? ns / bytes : 1e9 / (4 * (double)input->in_bytes_per_s);
    for (size_t t = 0; t < input->launch_count; t++)
        if (!input->launches[t].duration_ns)
            launch_ns[t] = (double)used_bytes(input, &input->launches[t]) * ns_per_byte;
    return guessed;
}

struct attempt {
    struct sl_plan plan;
    uint64_t half_ns;
};

static enum sl_status plan_with(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_policy *policy, struct attempt *out)
{
    struct sl_choice choice;
    struct attempt attempt = {0};
    enum sl_status status = sl_plan_choose(input, launch_ns, policy, &choice);
    if (status) return status;
    sl_choice_hold_back(&choice, input->when);
    status = sl_plan_schedule(input, launch_ns, &choice, &attempt.plan, &attempt.half_ns);
    sl_choice_free(&choice);
    if (status == SL_OK)
        *out = attempt;
    else
        sl_plan_free(&attempt.plan);
    return status;
}

static bool waits(const struct sl_plan *plan)
{
    return (double)plan->stall_ns > LEAST_GAIN * (double)plan->seconds_ns;
}

/* The first half counts as well as the whole: a policy may only put its costs off, and what the end of the
 * window saves may be due right after it. */
static bool is_better(const struct attempt *a, const struct attempt *than)
{
    double bytes = (double)(a->plan.bytes_in + a->plan.bytes_out);
    double less = (double)(than->plan.bytes_in + than->plan.bytes_out);
    double wanted = LEAST_GAIN + (bytes > less ? GAIN_FOR_BYTES * (bytes / less - 1) : 0);
    return (double)a->plan.seconds_ns < (1 - wanted) * (double)than->plan.seconds_ns &&
           (double)a->half_ns < (1 - wanted) * (double)than->half_ns;
}

/* Guessed durations do not bear a comparison of policies. */
static enum sl_status plan_best(const struct sl_plan_input *input, const double *launch_ns, bool compare,
                                struct attempt *best)
{
    static const struct sl_policy policies[] = {{0, false}, {1, false}, {0, true}, {1, true}};
    size_t count = compare && input->when == SL_PLAN_AHEAD ? sizeof policies / sizeof *policies : 1;
    struct attempt other;
    enum sl_status status = plan_with(input, launch_ns, &policies[0], best);
    if (status) return status;
    for (size_t i = 1; i < count && waits(&best->plan); i++) {
        if (plan_with(input, launch_ns, &policies[i], &other)) break; /* no memory: what there is will do */
        bool better = is_better(&other, best);
        sl_plan_free(better ? &best->plan : &other.plan);
        if (better) *best = other;
    }
    return SL_OK;
}

enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan *out)
{
    struct attempt best;
    if (!valid(input)) return SL_ERR_INVALID;
    double *launch_ns = malloc((input->launch_count + 1) * sizeof *launch_ns);
    if (!launch_ns) return SL_ERR_NO_MEMORY;
    bool known = estimate(input, launch_ns) == 0;
    enum sl_status status = plan_best(input, launch_ns, known, &best);
    free(launch_ns);
    if (status == SL_OK) *out = best.plan;
    return status;
}

void sl_plan_free(struct sl_plan *plan)
{
    free(plan->actions);
    *plan = (struct sl_plan){0};
}
