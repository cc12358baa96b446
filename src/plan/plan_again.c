#include "plan/plan_again.h"

#include "base/ablation.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH_PLANS 64 /* of which the best is kept */
#define IDLE_PLANS 16   /* without a faster one */
#define MOST_AGAIN 63   /* then a better one is looked for */
#define FASTER 0.998    /* than the best so far */
#define SAME_SPEED 0.02 /* relative */

void sl_plan_memory_free(struct sl_plan_memory *memory)
{
    free((void *)memory->input.launches);
    free((void *)memory->input.accesses);
    free((void *)memory->input.deaths);
    free((void *)memory->input.chunk_bytes);
    free((void *)memory->input.content);
    sl_plan_free(&memory->plan);
    *memory = (struct sl_plan_memory){0};
}

struct sums {
    size_t accesses, deaths;
    uint64_t ns;
};

/* A launch's accesses and deaths lie behind those of the one before. */
static struct sums sum(const struct sl_plan_input *input)
{
    struct sums sums = {0};
    for (size_t t = 0; t < input->launch_count; t++) {
        const struct sl_plan_launch *launch = &input->launches[t];
        if (launch->access_count) sums.accesses = launch->first_access + launch->access_count;
        if (launch->death_count) sums.deaths = launch->first_death + launch->death_count;
        sums.ns += launch->duration_ns;
    }
    return sums;
}

static bool same_launches(const struct sl_plan_input *a, const struct sl_plan_input *b)
{
    for (size_t t = 0; t < a->launch_count; t++) {
        const struct sl_plan_launch *x = &a->launches[t], *y = &b->launches[t];
        if (x->first_access != y->first_access || x->access_count != y->access_count ||
            x->first_death != y->first_death || x->death_count != y->death_count)
            return false;
    }
    return true;
}

static bool same_array(const void *a, const void *b, size_t count, size_t size)
{
    return !count || !memcmp(a, b, count * size);
}

static bool same_input(const struct sl_plan_input *a, const struct sl_plan_input *b)
{
    struct sums of_a = sum(a), of_b = sum(b);
    return a->launch_count == b->launch_count && a->chunk_count == b->chunk_count &&
           a->budget_bytes == b->budget_bytes && a->believed == b->believed && a->when == b->when &&
           a->attempts == b->attempts && of_a.accesses == of_b.accesses &&
           of_a.deaths == of_b.deaths && same_launches(a, b) &&
           same_array(a->content, b->content, a->chunk_count, sizeof *a->content) &&
           same_array(a->chunk_bytes, b->chunk_bytes, a->chunk_count, sizeof *a->chunk_bytes) &&
           same_array(a->accesses, b->accesses, of_a.accesses, sizeof *a->accesses) &&
           same_array(a->deaths, b->deaths, of_a.deaths, sizeof *a->deaths);
}

static bool close_to(uint64_t a, uint64_t b)
{
    double difference = a > b ? (double)(a - b) : (double)(b - a);
    return difference <= SAME_SPEED * (double)a;
}

static bool same_speed(const struct sl_plan_memory *memory, const struct sl_plan_input *input)
{
    return close_to(memory->launches_ns, sum(input).ns) &&
           close_to(memory->input.in_bytes_per_s, input->in_bytes_per_s) &&
           close_to(memory->input.out_bytes_per_s, input->out_bytes_per_s);
}

static void *copy(const void *array, size_t count, size_t size, bool *complete)
{
    void *copied = malloc(count * size + 1);
    if (copied && count) memcpy(copied, array, count * size);
    *complete &= copied != NULL;
    return copied;
}

bool sl_plan_again(struct sl_plan_memory *memory, const struct sl_plan_input *input, bool hurried,
                   struct sl_plan *plan)
{
    bool searched = memory->idle >= IDLE_PLANS || memory->made >= ENOUGH_PLANS;
    if (!SL_HAS(AGAIN) || !memory->input.launches || (!searched && !hurried) ||
        (memory->again >= MOST_AGAIN && !hurried) || !same_speed(memory, input) ||
        !same_input(&memory->input, input))
        return false;
    struct sl_plan given = memory->plan;
    bool complete = true;
    given.actions = copy(given.actions, given.action_count, sizeof *given.actions, &complete);
    if (!complete) return false;
    sl_tick shift = input->first_tick - memory->input.first_tick;
    for (size_t a = 0; a < given.action_count; a++) {
        given.actions[a].after += shift;
        given.actions[a].deadline += shift;
    }
    memory->again++;
    *plan = given;
    return true;
}

void sl_plan_look_again(struct sl_plan_memory *memory)
{
    memory->made = memory->idle = 0;
}

static void replace(struct sl_plan_memory *memory, const struct sl_plan_input *input,
                    const struct sl_plan *plan, uint32_t made, uint32_t idle)
{
    struct sums sums = sum(input);
    struct sl_plan_memory kept = {
        .input = *input, .plan = *plan, .launches_ns = sums.ns, .made = made, .idle = idle};
    bool complete = true;
    kept.input.histories = NULL; /* the actions are the same, whoever's launches they are for */
    kept.input.launches = copy(input->launches, input->launch_count, sizeof *input->launches, &complete);
    kept.input.accesses = copy(input->accesses, sums.accesses, sizeof *input->accesses, &complete);
    kept.input.deaths = copy(input->deaths, sums.deaths, sizeof *input->deaths, &complete);
    kept.input.chunk_bytes =
        copy(input->chunk_bytes, input->chunk_count, sizeof *input->chunk_bytes, &complete);
    kept.input.content = copy(input->content, input->chunk_count, sizeof *input->content, &complete);
    kept.plan.actions = copy(plan->actions, plan->action_count, sizeof *plan->actions, &complete);
    sl_plan_memory_free(memory);
    if (complete)
        *memory = kept;
    else
        sl_plan_memory_free(&kept);
}

void sl_plan_keep(struct sl_plan_memory *memory, const struct sl_plan_input *input,
                  const struct sl_plan *plan, const enum sl_chunk_content *at_end)
{
    if (!same_array(input->content, at_end, input->chunk_count, sizeof *at_end)) return;
    bool same = memory->input.launches && same_input(&memory->input, input) && same_speed(memory, input);
    memory->again = 0;
    memory->made++;
    if (!same)
        replace(memory, input, plan, 1, 0);
    else if ((double)plan->seconds_ns < FASTER * (double)memory->plan.seconds_ns)
        replace(memory, input, plan, memory->made, 0);
    else if (plan->seconds_ns < memory->plan.seconds_ns)
        replace(memory, input, plan, memory->made, memory->idle + 1);
    else
        memory->idle++;
}
