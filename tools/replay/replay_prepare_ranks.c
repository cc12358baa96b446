/* Selects the part of the traces that is replayed for a job's ranks. Steps that are found on each rank
 * separately differ if the ranks own different parts of the model. So the steps of one rank are used; on the
 * other ranks they begin and end after the same meetings. Where these are not of all ranks, as in a pipeline,
 * a step ends on each rank after its last meeting with one whose end is known. */
#include <stdlib.h>
#include <string.h>

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

/* Whether most of the leader's steps end after a meeting of all ranks of their own. */
static bool have_meetings_of_all(const struct replay_meetings *meetings, const struct replay_program *from,
                                 size_t leader)
{
    uint32_t count = 0, before = 0;
    for (uint32_t b = 0; b < from->border_count; b++) {
        uint32_t meeting = last_meeting(from->model, meetings, leader, from->borders[b]);
        count += meeting != before;
        before = meeting;
    }
    return 2 * count >= from->border_count;
}

/* Transfers the leader's borders to all ranks, except borders that follow the same meeting as the previous
 * one. Returns their number. */
static uint32_t share_by_meetings_of_all(const struct replay_meetings *meetings, const struct where *where,
                                         struct replay_program *programs, size_t leader)
{
    const struct replay_program *from = &programs[leader];
    uint32_t count = 0, found = from->border_count;
    for (uint32_t b = 0; b < found; b++) {
        uint32_t meeting = last_meeting(from->model, meetings, leader, from->borders[b]);
        if (meeting) count += add_border(meetings, where, programs, count, meeting);
    }
    return count;
}

/* For each other rank whose place is unknown (0), the place after its last meeting with `rank` before that
 * one's place. */
static void place_peers(const struct model *model, const struct replay_meetings *meetings,
                        const struct where *where, size_t rank, uint32_t places[REPLAY_RANKS])
{
    uint32_t last[REPLAY_RANKS] = {0};
    for (size_t i = 0; i < model->collectives.count; i++) {
        uint32_t meeting = meetings->of_rank[rank][i];
        if (meeting && where->launch[rank][meeting] > places[rank]) break;
        for (size_t r = 0; meeting && r < meetings->ranks; r++)
            if (meetings->at[meeting].members >> r & 1) last[r] = meeting;
    }
    for (size_t r = 0; r < meetings->ranks; r++)
        if (!places[r] && last[r]) places[r] = where->launch[r][last[r]];
}

/* The place on each rank at which a step ends that ends before the leader's launch. False: not every rank has
 * met one with a place. */
static bool place_all(const struct replay_meetings *meetings, const struct where *where,
                      const struct replay_program *programs, size_t leader, uint32_t launch,
                      uint32_t places[REPLAY_RANKS])
{
    bool asked[REPLAY_RANKS] = {false};
    memset(places, 0, REPLAY_RANKS * sizeof(*places));
    places[leader] = launch;
    for (size_t placed = 0; placed < meetings->ranks; placed++) {
        size_t rank = 0;
        while (rank < meetings->ranks && (asked[rank] || !places[rank])) rank++;
        if (rank == meetings->ranks) return false;
        asked[rank] = true;
        place_peers(programs[rank].model, meetings, where, rank, places);
    }
    return true;
}

/* The same by meetings of some ranks. */
static uint32_t share_by_any_meetings(const struct replay_meetings *meetings, const struct where *where,
                                      struct replay_program *programs, size_t leader)
{
    const struct replay_program *from = &programs[leader];
    uint32_t count = 0, found = from->border_count, places[REPLAY_RANKS];
    for (uint32_t b = 0; b < found; b++) {
        bool later = place_all(meetings, where, programs, leader, from->borders[b], places);
        for (size_t r = 0; r < meetings->ranks && count && later; r++)
            later = places[r] > programs[r].borders[count - 1];
        for (size_t r = 0; r < meetings->ranks && later; r++) programs[r].borders[count] = places[r];
        count += later;
    }
    return count;
}

static void share_borders(const struct replay_meetings *meetings, const struct where *where,
                          struct replay_program *programs, size_t leader)
{
    uint32_t count = have_meetings_of_all(meetings, &programs[leader], leader)
                         ? share_by_meetings_of_all(meetings, where, programs, leader)
                         : share_by_any_meetings(meetings, where, programs, leader);
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
