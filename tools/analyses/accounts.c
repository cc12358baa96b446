#include "tools/analyses/accounts.h"

#include <stdlib.h>

#include "tools/analyses/launch_times.h"
#include "tools/analyses/residency.h"

struct accounting {
    const struct model *model;
    const struct phases *phases;
    uint32_t begin, end;
    struct accounts *out;
};

/* The account of events during which `tick` was the newest launch; NULL: outside of the range. */
static struct account *account_at(struct accounting *a, uint64_t tick)
{
    uint32_t behind = model_launches_to_tick(a->model, tick);
    if (!behind) return a->begin ? NULL : &a->out->of[PHASE_OTHER];
    if (behind - 1 < a->begin || behind - 1 >= a->end) return NULL;
    return &a->out->of[a->phases->of_launch[behind - 1]];
}

/* Counts the program's copies, if their direction is known. */
static void count_copy(struct account *account, const struct model_shape *shape)
{
    if (shape->kind != SL_LAUNCH_COPY) return;
    if (shape->direction == SL_COPY_IN) account->copied[TO_DEVICE] += shape->size;
    if (shape->direction == SL_COPY_OUT) account->copied[FROM_DEVICE] += shape->size;
}

static void count_launches(struct accounting *a, const uint64_t *times)
{
    const struct model *model = a->model;
    for (uint32_t l = a->begin; l < a->end; l++) {
        const struct model_launch *launch = &model->launches.at[l];
        struct account *account = &a->out->of[a->phases->of_launch[l]];
        account->launches++;
        count_copy(account, &model->shapes.at[launch->shape]);
        account->kernel_ns += times[launch->shape];
        account->timed += times[launch->shape] != 0;
        if (l + 1 < model->launches.count && launch[1].time_ns > launch->time_ns)
            account->host_ns += launch[1].time_ns - launch->time_ns;
    }
}

static void count_moves(struct accounting *a)
{
    const struct model *model = a->model;
    for (size_t i = 0; i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        struct account *account = account_at(a, move->tick);
        if (!account) continue;
        if (move->kind == SL_ACTION_FETCH) account->moved[TO_DEVICE][move->cause] += move->bytes;
        if (move->kind == SL_ACTION_EVICT) account->moved[FROM_DEVICE][move->cause] += move->bytes;
        if (move->kind == SL_ACTION_POPULATE) account->populated += move->bytes;
        if (move->kind == SL_ACTION_DISCARD) account->dropped += move->bytes;
    }
    for (size_t i = 0; i < model->transfers.count; i++) {
        const struct model_transfer *transfer = &model->transfers.at[i];
        struct account *account = account_at(a, transfer->tick);
        bool in = transfer->kind == SL_ACTION_FETCH;
        if (!account || (!in && transfer->kind != SL_ACTION_EVICT)) continue;
        enum direction direction = in ? TO_DEVICE : FROM_DEVICE;
        account->transfers[direction]++;
        account->transfer_bytes[direction] += transfer->bytes;
        account->transfer_ns[direction] += transfer->took_ns;
    }
    for (size_t i = 0; i < model->stalls.count; i++) {
        const struct model_stall *stall = &model->stalls.at[i];
        struct account *account = account_at(a, stall->launch ? stall->launch : stall->tick);
        if (!account) continue;
        account->stalls++;
        account->stall_ns += stall->took_ns;
    }
}

/* The resident chunks are constant between two movements, the phase between two launches. */
static bool count_idle(struct accounting *a)
{
    const struct model *model = a->model;
    struct residency residency;
    bool good = residency_start(model, &residency);
    for (uint32_t l = a->begin; good && l + 1 < model->launches.count && l < a->end; l++) {
        uint64_t from = model->launches.at[l].time_ns, to = model->launches.at[l + 1].time_ns;
        struct account *account = &a->out->of[a->phases->of_launch[l]];
        while (from < to) {
            uint64_t until = residency_step(&residency, from);
            if (until > to) until = to;
            if (residency.bytes < model->budget_bytes)
                account->idle_byte_ns +=
                    (double)(model->budget_bytes - residency.bytes) * (double)(until - from);
            from = until;
        }
    }
    good &= !residency.no_memory;
    residency_free(&residency);
    return good;
}

static void sum_up(struct accounts *accounts)
{
    struct account *all = &accounts->all;
    for (unsigned p = 0; p < PHASE_COUNT; p++) {
        const struct account *one = &accounts->of[p];
        all->launches += one->launches;
        all->host_ns += one->host_ns;
        all->kernel_ns += one->kernel_ns;
        all->timed += one->timed;
        all->populated += one->populated;
        all->dropped += one->dropped;
        all->stalls += one->stalls;
        all->stall_ns += one->stall_ns;
        all->idle_byte_ns += one->idle_byte_ns;
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            for (unsigned c = 0; c < MOVE_CAUSES; c++) all->moved[d][c] += one->moved[d][c];
            all->copied[d] += one->copied[d];
            all->transfers[d] += one->transfers[d];
            all->transfer_bytes[d] += one->transfer_bytes[d];
            all->transfer_ns[d] += one->transfer_ns[d];
        }
    }
}

bool accounts_make(const struct model *model, const struct phases *phases, uint32_t begin, uint32_t end,
                   struct accounts *out)
{
    *out = (struct accounts){.has_times = model->durations.count, .has_transfers = model->transfers.count};
    struct accounting a = {model, phases, begin, end, out};
    uint64_t *times = shape_times(model);
    if (!times) return false;
    count_launches(&a, times);
    free(times);
    count_moves(&a);
    bool good = count_idle(&a);
    sum_up(out);
    return good;
}
