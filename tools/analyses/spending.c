#include "tools/analyses/spending.h"

#include <stdlib.h>

#include "tools/analyses/launch_times.h"

/* The measured or estimated time of a launch. */
static uint64_t time_of(struct spending *spending, const struct model_launch *launch,
                        const struct model_duration *duration, const uint64_t *shape_ns)
{
    if (duration) {
        spending->timed++;
        return duration->took_ns;
    }
    spending->estimated += shape_ns[launch->shape] != 0;
    return shape_ns[launch->shape];
}

static void add_transfer(struct spent *spent, const struct model_transfer *transfer)
{
    if (transfer->kind != SL_ACTION_FETCH) return;
    spent->transfer_ns += transfer->took_ns;
    spent->transfer_bytes += transfer->bytes;
}

/* The launch that stalled or, if unknown, the newest launch at that time. */
static uint64_t launch_of(const struct model_stall *stall)
{
    return stall->launch ? stall->launch : stall->tick;
}

static double find_pace(const struct model *model)
{
    struct spent all = {0};
    for (size_t i = 0; i < model->transfers.count; i++) add_transfer(&all, &model->transfers.at[i]);
    return all.transfer_bytes ? (double)all.transfer_ns / (double)all.transfer_bytes : 0;
}

/* Merges launches, durations, moves, transfers, stalls and collectives, all in the order of their ticks. */
static void sum_up(const struct model *model, const uint64_t *shape_ns, struct spending *spending)
{
    size_t move = 0, transfer = 0, stall = 0, duration = 0, collective = 0;
    struct spent spent = {0};
    for (size_t l = 0; l < model->launches.count && collective < model->collectives.count; l++) {
        const struct model_launch *launch = &model->launches.at[l];
        for (; move < model->moves.count && model->moves.at[move].tick <= launch->tick; move++)
            if (model->moves.at[move].kind == SL_ACTION_FETCH)
                spent.fetched_bytes += model->moves.at[move].bytes;
        for (; transfer < model->transfers.count && model->transfers.at[transfer].tick <= launch->tick;
             transfer++)
            add_transfer(&spent, &model->transfers.at[transfer]);
        for (; stall < model->stalls.count && launch_of(&model->stalls.at[stall]) <= launch->tick; stall++)
            spent.stall_ns += model->stalls.at[stall].took_ns;
        while (duration < model->durations.count && model->durations.at[duration].tick < launch->tick)
            duration++;
        bool timed = duration < model->durations.count && model->durations.at[duration].tick == launch->tick;
        for (;
             collective < model->collectives.count && model->collectives.at[collective].tick <= launch->tick;
             collective++)
            spending->until[collective] = spent;
        if (model_shape_of(model, launch)->kind == SL_LAUNCH_COLLECTIVE) continue;
        spent.work_ns += time_of(spending, launch, timed ? &model->durations.at[duration] : NULL, shape_ns);
    }
}

bool spending_make(const struct model *model, struct spending *spending)
{
    uint64_t *shape_ns = shape_times(model);
    spending->until = calloc(model->collectives.count + 1, sizeof(*spending->until));
    bool good = shape_ns && spending->until;
    if (good) sum_up(model, shape_ns, spending);
    spending->pace = find_pace(model);
    free(shape_ns);
    return good;
}

void spending_free(struct spending *spending)
{
    free(spending->until);
    *spending = (struct spending){0};
}
