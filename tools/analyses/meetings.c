#include "tools/analyses/meetings.h"

#include <stdlib.h>
#include <string.h>

#include "tools/analyses/exchanges.h"

static bool is_of_all(const struct model_collective *collective, bool groups)
{
    return collective->function <= FUNCTION_SCATTER && (groups || collective->function != FUNCTION_SEVERAL);
}

static int by_communicator(const void *one, const void *other)
{
    const struct meeting_entry *a = one, *b = other;
    if (!a->messages != !b->messages) return a->messages ? 1 : -1;
    if (a->communicator != b->communicator) return a->communicator < b->communicator ? -1 : 1;
    return a->tick < b->tick ? -1 : a->tick > b->tick;
}

/* The tick of the first lost record. */
static uint64_t first_lost(const struct model *model)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < model->gaps.count; i++)
        if (model->gaps.at[i].tick < first) first = model->gaps.at[i].tick;
    return first;
}

/* Merges collectives, messages and durations, all in the order of their ticks. */
static bool collect(struct meeting_rank *rank, bool groups)
{
    const struct model *model = rank->model;
    uint64_t lost = first_lost(model);
    size_t duration = 0, message = 0;
    rank->entries = calloc(model->collectives.count + 1, sizeof(*rank->entries));
    for (size_t i = 0; rank->entries && i < model->collectives.count; i++) {
        const struct model_collective *collective = &model->collectives.at[i];
        uint32_t messages = 0;
        while (message < model->messages.count && model->messages.at[message].tick < collective->tick)
            message++;
        while (message + messages < model->messages.count &&
               model->messages.at[message + messages].tick == collective->tick)
            messages++;
        if (!messages && !is_of_all(collective, groups)) continue;
        if (collective->tick >= lost) {
            rank->cut++;
            continue;
        }
        while (duration < model->durations.count && model->durations.at[duration].tick < collective->tick)
            duration++;
        struct meeting_entry entry = {.communicator = collective->communicator,
                                      .tick = collective->tick,
                                      .bytes = collective->bytes,
                                      .launched_ns = collective->time_ns,
                                      .function = collective->function,
                                      .collective = (uint32_t)i,
                                      .messages = messages,
                                      .message = message,
                                      .meeting = MEETING_NONE};
        if (duration < model->durations.count && model->durations.at[duration].tick == collective->tick) {
            entry.timed = true;
            entry.took_ns = model->durations.at[duration].took_ns;
            entry.began_ns = model->durations.at[duration].began_ns;
        }
        rank->entries[rank->count++] = entry;
        rank->silent += !messages;
    }
    if (rank->entries) qsort(rank->entries, rank->count, sizeof(*rank->entries), by_communicator);
    return rank->entries;
}

/* The state of the matching, with the progress on each rank. */
struct walk {
    struct meetings *meetings;
    size_t *next, *begin; /* begin: the first entry of the communicator */
    bool groups, skips_groups;
    bool alike; /* the communicator's collectives agree so far */
};

static bool is_here(const struct walk *walk, size_t rank, uint64_t communicator)
{
    const struct meeting_rank *r = &walk->meetings->ranks[rank];
    return walk->next[rank] < r->silent && r->entries[walk->next[rank]].communicator == communicator;
}

static void skip_groups(struct walk *walk, size_t rank, uint64_t communicator)
{
    const struct meeting_rank *r = &walk->meetings->ranks[rank];
    while (is_here(walk, rank, communicator) && r->entries[walk->next[rank]].function == FUNCTION_SEVERAL)
        walk->next[rank]++;
}

/* The next communicator, or 0. */
static uint64_t next_communicator(const struct walk *walk)
{
    const struct meetings *meetings = walk->meetings;
    uint64_t least = 0;
    for (size_t r = 0; r < meetings->rank_count; r++) {
        if (walk->next[r] == meetings->ranks[r].silent) continue;
        uint64_t communicator = meetings->ranks[r].entries[walk->next[r]].communicator;
        if (!least || communicator < least) least = communicator;
    }
    return least;
}

/* Takes the next collective of the communicator on each rank that has one, and returns their number. */
static uint32_t take(struct walk *walk, uint64_t communicator)
{
    struct meetings *meetings = walk->meetings;
    struct meeting_member *members = meetings->members + meetings->member_count;
    uint32_t here = 0;
    for (size_t r = 0; r < meetings->rank_count; r++) {
        if (walk->skips_groups) skip_groups(walk, r, communicator);
        if (!is_here(walk, r, communicator)) continue;
        members[here++] = (struct meeting_member){(uint32_t)r, (uint32_t)walk->next[r]++};
        if (meeting_entry(meetings, &members[here - 1])->function !=
            meeting_entry(meetings, &members[0])->function)
            walk->alike = false;
    }
    return here;
}

/* Whether the ranks' collectives are equal as far as all ranks have them. */
static bool is_alike(struct walk *walk, uint64_t communicator, uint32_t members)
{
    size_t bytes = walk->meetings->rank_count * sizeof(*walk->next);
    memcpy(walk->begin, walk->next, bytes);
    walk->alike = true;
    while (walk->alike && take(walk, communicator) == members) {
    }
    memcpy(walk->next, walk->begin, bytes);
    return walk->alike;
}

static void match(struct walk *walk, uint64_t communicator)
{
    struct meetings *meetings = walk->meetings;
    uint32_t members = 0, here;
    for (size_t r = 0; r < meetings->rank_count; r++) members += is_here(walk, r, communicator);
    walk->skips_groups = false;
    walk->skips_groups = walk->groups && !is_alike(walk, communicator, members);
    walk->alike = true;
    while ((here = take(walk, communicator)) > 0) {
        if (!walk->alike || here != members) continue;
        for (uint32_t m = 0; m < here; m++) {
            const struct meeting_member *member = &meetings->members[meetings->member_count + m];
            meetings->ranks[member->rank].entries[member->entry].meeting = meetings->count;
        }
        meetings->at[meetings->count++] = (struct meeting){meetings->member_count, here};
        meetings->member_count += here;
        meetings->shared += here > 1;
    }
    meetings->unlike += !walk->alike;
}

static bool match_all(struct meetings *meetings, bool groups)
{
    size_t entries = 0;
    for (size_t r = 0; r < meetings->rank_count; r++) entries += meetings->ranks[r].count;
    size_t *places = calloc(2 * meetings->rank_count, sizeof(*places));
    struct walk walk = {
        .meetings = meetings, .next = places, .begin = places + meetings->rank_count, .groups = groups};
    /* there is always room: a meeting that is discarded is after those that are kept */
    meetings->at = calloc(entries + 1, sizeof(*meetings->at));
    meetings->members = calloc(entries + 1, sizeof(*meetings->members));
    bool good = places && meetings->at && meetings->members;
    for (uint64_t communicator; good && (communicator = next_communicator(&walk));)
        match(&walk, communicator);
    free(places);
    return good;
}

bool meetings_find(const struct model *const *models, size_t count, bool groups, struct meetings *out)
{
    struct meetings meetings = {.ranks = calloc(count, sizeof(*meetings.ranks)), .rank_count = count};
    bool good = meetings.ranks;
    for (size_t r = 0; r < count && good; r++) {
        meetings.ranks[r].model = models[r];
        good = collect(&meetings.ranks[r], groups);
    }
    good = good && match_all(&meetings, groups) && exchanges_match(&meetings);
    if (!good) meetings_free(&meetings);
    *out = meetings;
    return good;
}

const struct meeting_entry *meeting_last(const struct meetings *meetings, const struct meeting *meeting,
                                         uint32_t *rank)
{
    const struct meeting_entry *last = NULL;
    uint32_t timed = 0;
    for (uint32_t m = 0; m < meeting->count; m++) {
        const struct meeting_member *member = &meetings->members[meeting->first + m];
        const struct meeting_entry *entry = meeting_entry(meetings, member);
        if (!entry->timed) continue;
        timed++;
        if (last && entry->took_ns >= last->took_ns) continue;
        last = entry;
        *rank = member->rank;
    }
    return timed >= 2 ? last : NULL;
}

void meetings_free(struct meetings *meetings)
{
    for (size_t r = 0; meetings->ranks && r < meetings->rank_count; r++) free(meetings->ranks[r].entries);
    free(meetings->ranks);
    free(meetings->at);
    free(meetings->members);
    *meetings = (struct meetings){0};
}
