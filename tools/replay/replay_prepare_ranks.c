/* Selects the part of the traces that is replayed for a job's ranks. Steps that are found on each rank
 * separately differ if the ranks own different parts of the model. So the steps of one rank are used; on the
 * other ranks they begin and end after the same meetings. */
#include <stdlib.h>

#include "tools/replay/replay_prepare.h"

/* The launch of each meeting on each rank. */
struct where {
    uint32_t
        *launch[REPLAY_RANKS]; /* by meeting: index of the launch after it; 0: the rank does not take part */
};

static bool find_launches(const struct model *model, const struct replay_meetings *meetings, size_t rank,
                          uint32_t **out)
{
    uint32_t *behind = calloc(meetings->count, sizeof(*behind));
    for (size_t i = 0; behind && i < model->collectives.count; i++)
        behind[meetings->of_rank[rank][i]] = model_launches_to_tick(model, model->collectives.at[i].tick);
    *out = behind;
    return behind;
}

/* The last meeting of all ranks before a launch of rank `rank`, or 0. */
static uint32_t last_meeting(const struct model *model, const struct replay_meetings *meetings, size_t rank,
                             uint32_t launch)
{
    uint64_t all = meetings->ranks == 64 ? UINT64_MAX : (UINT64_C(1) << meetings->ranks) - 1;
    uint32_t last = 0;
    for (size_t i = 0; i < model->collectives.count; i++) {
        uint32_t meeting = meetings->of_rank[rank][i];
        if (launch < model->launches.count &&
            model->collectives.at[i].tick >= model->launches.at[launch].tick)
            break;
        if (meetings->at[meeting].members == all) last = meeting;
    }
    return last;
}

/* The rank whose steps are used: the one with the most steps. */
static size_t leader_of(const struct replay_program *programs, size_t count)
{
    size_t leader = 0;
    for (size_t r = 1; r < count; r++) {
        const struct replay_program *known = &programs[leader], *other = &programs[r];
        if (other->steps != known->steps ? other->steps : other->border_count > known->border_count)
            leader = r;
    }
    return leader;
}

/* Adds a border after the meeting if that is after the previous border on all ranks. */
static bool add_border(const struct replay_meetings *meetings, const struct where *where,
                       struct replay_program *programs, uint32_t count, uint32_t meeting)
{
    for (size_t r = 0; r < meetings->ranks; r++)
        if (count && where->launch[r][meeting] <= programs[r].borders[count - 1]) return false;
    for (size_t r = 0; r < meetings->ranks; r++) programs[r].borders[count] = where->launch[r][meeting];
    return true;
}

/* Transfers the leader's borders to all ranks, except borders that follow the same meeting as the previous
 * one. */
static void share_borders(const struct replay_meetings *meetings, const struct where *where,
                          struct replay_program *programs, size_t leader)
{
    const struct replay_program *from = &programs[leader];
    uint32_t count = 0, found = from->border_count;
    for (uint32_t b = 0; b < found; b++) {
        uint32_t meeting = last_meeting(from->model, meetings, leader, from->borders[b]);
        if (meeting) count += add_border(meetings, where, programs, count, meeting);
    }
    for (size_t r = 0; r < meetings->ranks; r++) {
        programs[r].border_count = count;
        programs[r].steps = programs[leader].steps;
        programs[r].alike = programs[leader].alike;
    }
}

/* The number of borders that is enough for every rank. */
static uint32_t enough_borders(const struct replay_program *programs, size_t count)
{
    uint32_t most = 0;
    for (size_t r = 0; r < count; r++) {
        uint32_t enough = replay_enough_borders(&programs[r]);
        if (enough > most) most = enough;
    }
    return most;
}

bool replay_prepare_ranks(const struct model *const *models, size_t count,
                          const struct replay_meetings *meetings, struct replay_program *out)
{
    struct where where = {{0}};
    bool good = true;
    for (size_t r = 0; r < count; r++) out[r] = (struct replay_program){.model = models[r]};
    for (size_t r = 0; r < count && good; r++)
        good = replay_find_borders(&out[r]) && find_launches(models[r], meetings, r, &where.launch[r]);
    if (good) share_borders(meetings, &where, out, leader_of(out, count));
    for (size_t r = 0; r < count; r++) free(where.launch[r]);
    uint32_t enough = good ? enough_borders(out, count) : 0;
    for (size_t r = 0; r < count && good; r++) good = replay_complete(&out[r], enough);
    return good;
}
