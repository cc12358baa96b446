#include "tools/replay/replay_meetings.h"

#include <stdlib.h>

#include "tools/analyses/meetings.h"

enum {
    LEAST_BYTES = 1 << 20, /* minimum bytes of a meeting that is used to measure the link's speed: the time of
                              smaller ones is mostly latency */
};

/* The properties that meetings of one kind have in common, and one of these meetings. */
struct kind {
    uint64_t communicator, bytes, least_ns; /* bytes: read and written by all ranks */
    uint32_t function, meeting;
    unsigned members, timed; /* timed: number of ranks with a measured time */
};

/* The bytes that a rank sends over the link, given the bytes that all ranks read and write
 * (shim/nccl_api.def), for rings and direct messages as in NCCL. In a group each rank is taken to send and to
 * receive as much as every other. */
static uint64_t passed_bytes(uint32_t function, uint64_t all_bytes, unsigned members)
{
    double ranks = members, others = ranks - 1, part;
    switch (function) {
    case FUNCTION_ALL_REDUCE:
        part = others / (ranks * ranks);
        break;
    case FUNCTION_BROADCAST: /* one rank reads, all write */
    case FUNCTION_REDUCE:
        part = 1 / (ranks + 1);
        break;
    case FUNCTION_BCAST: /* one rank reads, the others write */
        part = 1 / ranks;
        break;
    case FUNCTION_REDUCE_SCATTER:
    case FUNCTION_ALL_GATHER:
        part = others / (ranks * (ranks + 1));
        break;
    case FUNCTION_ALL_TO_ALL:
        part = others / (2 * ranks * ranks);
        break;
    case FUNCTION_SEND: /* one rank reads, the other writes */
    case FUNCTION_RECEIVE:
        part = 0.5;
        break;
    case FUNCTION_GATHER:
    case FUNCTION_SCATTER:
        part = others / (2 * ranks);
        break;
    default:
        part = 1 / (2 * ranks);
        break;
    }
    return (uint64_t)(part * (double)all_bytes);
}

static uint64_t add_bytes(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void add_meeting(struct replay_meetings *out, const struct meetings *found, const struct meeting *from,
                        struct kind *kinds)
{
    struct replay_meeting meeting = {0};
    struct kind kind = {.least_ns = UINT64_MAX, .meeting = out->count, .members = from->count};
    for (uint32_t m = 0; m < from->count; m++) {
        const struct meeting_member *member = &found->members[from->first + m];
        const struct meeting_entry *entry = meeting_entry(found, member);
        meeting.members |= UINT64_C(1) << member->rank;
        out->of_rank[member->rank][entry->collective] = out->count;
        kind.communicator = entry->communicator;
        kind.function = entry->function;
        kind.timed += entry->timed;
        kind.bytes = add_bytes(kind.bytes, entry->bytes);
        if (entry->timed && entry->took_ns < kind.least_ns) kind.least_ns = entry->took_ns;
    }
    meeting.passed_bytes = passed_bytes(kind.function, kind.bytes, kind.members);
    kinds[out->count] = kind;
    out->at[out->count++] = meeting;
}

/* --- how long they take */

/* Groups by kind; within a kind, sorts by the number of timed ranks, and meetings timed on all ranks by
 * duration. */
static int by_kind(const void *one, const void *other)
{
    const struct kind *a = one, *b = other;
    if (a->communicator != b->communicator) return a->communicator < b->communicator ? -1 : 1;
    if (a->function != b->function) return a->function < b->function ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    bool all = a->timed == a->members, other_all = b->timed == b->members;
    if (all != other_all) return all ? -1 : 1;
    return a->least_ns < b->least_ns ? -1 : a->least_ns > b->least_ns;
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    return a->communicator == b->communicator && a->function == b->function && a->bytes == b->bytes;
}

/* In a meeting that was timed on all ranks, the last rank waited for no other: the time is the median over
 * such meetings. In other meetings every rank may have waited: the time is the minimum. */
static uint64_t time_of_kind(const struct kind *kinds, size_t count)
{
    size_t known = 0;
    while (known < count && kinds[known].timed == kinds[known].members) known++;
    return kinds[known / 2].least_ns;
}

static void set_times(struct replay_meetings *meetings, struct kind *kinds)
{
    qsort(kinds + 1, meetings->count - 1, sizeof(*kinds), by_kind);
    for (uint32_t k = 1, end; k < meetings->count; k = end) {
        for (end = k + 1; end < meetings->count && is_same_kind(&kinds[k], &kinds[end]);) end++;
        uint64_t took_ns = time_of_kind(kinds + k, end - k);
        for (uint32_t i = k; i < end; i++) {
            struct replay_meeting *meeting = &meetings->at[kinds[i].meeting];
            meeting->guessed = took_ns == UINT64_MAX;
            meeting->took_ns = meeting->guessed ? 0 : took_ns;
            if (meeting->passed_bytes < LEAST_BYTES || !meeting->took_ns) continue;
            double speed = (double)meeting->passed_bytes / (double)meeting->took_ns;
            if (speed > meetings->bytes_per_ns) meetings->bytes_per_ns = speed;
        }
    }
}

static void count_alone(struct replay_meetings *meetings, const struct model *const *models)
{
    for (size_t r = 0; r < meetings->ranks; r++)
        for (size_t i = 0; i < models[r]->collectives.count; i++)
            meetings->alone[r] += !meetings->of_rank[r][i];
}

/* Precondition: of_rank is allocated. */
static bool take_over(struct replay_meetings *out, const struct meetings *found)
{
    struct kind *kinds = calloc(found->shared + 1, sizeof(*kinds)); /* parallel to the meetings */
    out->at = calloc(found->shared + 1, sizeof(*out->at));
    bool good = kinds && out->at;
    for (size_t i = 0; good && i < found->count; i++)
        if (found->at[i].count > 1) add_meeting(out, found, &found->at[i], kinds);
    if (good) set_times(out, kinds);
    out->unlike = found->unlike;
    free(kinds);
    return good;
}

bool replay_meetings_find(const struct model *const *models, size_t ranks, struct replay_meetings *out)
{
    struct meetings found;
    *out = (struct replay_meetings){.ranks = ranks, .count = 1};
    bool good = meetings_find(models, ranks, true, &found);
    for (size_t r = 0; good && r < ranks; r++) {
        out->of_rank[r] = calloc(models[r]->collectives.count + 1, sizeof(*out->of_rank[r]));
        good = out->of_rank[r];
    }
    good = good && take_over(out, &found);
    if (good) count_alone(out, models);
    meetings_free(&found);
    if (!good) replay_meetings_free(out);
    return good;
}

void replay_meetings_free(struct replay_meetings *meetings)
{
    for (size_t r = 0; r < meetings->ranks; r++) free(meetings->of_rank[r]);
    free(meetings->at);
    *meetings = (struct replay_meetings){0};
}
