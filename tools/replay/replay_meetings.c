#include "tools/replay/replay_meetings.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEVERAL = 0, /* functions, as docs/trace-format.md numbers them */
    ALL_REDUCE = 1,
    BROADCAST = 2,
    BCAST = 3,
    REDUCE = 4,
    REDUCE_SCATTER = 5,
    ALL_GATHER = 6,
    ALL_TO_ALL = 7,
    GATHER = 8,
    SCATTER = 9,
    LAST_OF_ALL = 9,       /* in which all ranks of a communicator take part */
    LEAST_BYTES = 1 << 20, /* that pass for a meeting to tell how fast links are: others are mostly latency */
};

/* A collective of one rank that may be a meeting. */
struct entry {
    uint64_t communicator, tick, bytes, took_ns;
    uint32_t function, at; /* at: in the model */
    bool timed;
};

struct list {
    struct entry *at;
    size_t count;
    size_t next; /* that was not looked at yet */
};

static int by_communicator(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    if (a->communicator != b->communicator) return a->communicator < b->communicator ? -1 : 1;
    return a->tick < b->tick ? -1 : a->tick > b->tick;
}

/* The tick of the first record that is lost. */
static uint64_t first_lost(const struct model *model)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < model->gaps.count; i++)
        if (model->gaps.at[i].tick < first) first = model->gaps.at[i].tick;
    return first;
}

static bool collect(const struct model *model, struct list *out)
{
    uint64_t lost = first_lost(model);
    size_t duration = 0;
    *out = (struct list){.at = calloc(model->collectives.count + 1, sizeof(*out->at))};
    for (size_t i = 0; out->at && i < model->collectives.count; i++) {
        const struct model_collective *collective = &model->collectives.at[i];
        if (collective->tick >= lost) break; /* nobody knows how many are missing */
        if (!collective->communicator || collective->function > LAST_OF_ALL) continue;
        while (duration < model->durations.count && model->durations.at[duration].tick < collective->tick)
            duration++;
        const struct model_duration *timed =
            duration < model->durations.count ? &model->durations.at[duration] : NULL;
        struct entry entry = {.communicator = collective->communicator,
                              .tick = collective->tick,
                              .bytes = collective->bytes,
                              .function = collective->function,
                              .at = (uint32_t)i,
                              .timed = timed && timed->tick == collective->tick};
        if (entry.timed) entry.took_ns = timed->took_ns;
        out->at[out->count++] = entry;
    }
    if (out->at) qsort(out->at, out->count, sizeof(*out->at), by_communicator);
    return out->at;
}

/* What meetings of one kind have in common, and one of them. */
struct kind {
    uint64_t communicator, bytes, least_ns; /* bytes: that all ranks read and write */
    uint32_t function, meeting;
    unsigned members, timed; /* on how many ranks it was timed */
};

struct finding {
    struct replay_meetings *meetings;
    struct list lists[REPLAY_RANKS];
    struct kind *kinds; /* beside the meetings */
    uint32_t room;
};

static bool grow(struct finding *finding)
{
    struct replay_meetings *meetings = finding->meetings;
    if (meetings->count < finding->room) return true;
    uint32_t room = finding->room ? 2 * finding->room : 256;
    struct replay_meeting *larger = realloc(meetings->at, room * sizeof(*larger));
    if (larger) meetings->at = larger;
    struct kind *kinds = realloc(finding->kinds, room * sizeof(*kinds));
    if (kinds) finding->kinds = kinds;
    if (!larger || !kinds) return false;
    finding->room = room;
    return true;
}

/* The bytes that pass the link of a rank, of those that all ranks read and write (shim/nccl_api.def): those
 * of rings and direct messages, as NCCL's. Of a group it is not known; of sends and receives it is this. */
static uint64_t passed_bytes(uint32_t function, uint64_t all_bytes, unsigned members)
{
    double ranks = members, others = ranks - 1, part;
    switch (function) {
    case ALL_REDUCE:
        part = others / (ranks * ranks);
        break;
    case BROADCAST: /* one reads, all write */
    case REDUCE:
        part = 1 / (ranks + 1);
        break;
    case BCAST: /* one reads, the others write */
        part = 1 / ranks;
        break;
    case REDUCE_SCATTER:
    case ALL_GATHER:
        part = others / (ranks * (ranks + 1));
        break;
    case ALL_TO_ALL:
        part = others / (2 * ranks * ranks);
        break;
    case GATHER:
    case SCATTER:
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

/* The entries, one of each rank that has any, are one meeting. */
static bool add_meeting(struct finding *finding, struct entry *const *entries)
{
    struct replay_meetings *meetings = finding->meetings;
    if (!grow(finding)) return false;
    struct replay_meeting meeting = {0};
    struct kind kind = {.least_ns = UINT64_MAX, .meeting = meetings->count};
    for (size_t r = 0; r < meetings->ranks; r++) {
        const struct entry *entry = entries[r];
        if (!entry) continue;
        meeting.members |= UINT64_C(1) << r;
        meetings->of_rank[r][entry->at] = meetings->count;
        kind.communicator = entry->communicator;
        kind.function = entry->function;
        kind.members++;
        kind.timed += entry->timed;
        kind.bytes = add_bytes(kind.bytes, entry->bytes);
        if (entry->timed && entry->took_ns < kind.least_ns) kind.least_ns = entry->took_ns;
    }
    meeting.passed_bytes = passed_bytes(kind.function, kind.bytes, kind.members);
    finding->kinds[meetings->count] = kind;
    meetings->at[meetings->count++] = meeting;
    return true;
}

/* The communicator's next entry on the rank, or NULL. */
static struct entry *next_entry(struct list *list, uint64_t communicator, bool groups)
{
    while (list->next < list->count && list->at[list->next].communicator == communicator) {
        struct entry *entry = &list->at[list->next++];
        if (groups || entry->function != SEVERAL) return entry;
    }
    return NULL;
}

enum like { LIKE, UNLIKE, NO_MEMORY };

/* Goes through a communicator's collectives, with or without groups of several functions; where `adds`, they
 * become meetings. UNLIKE: they differ between ranks from some point on. */
static enum like walk(struct finding *finding, uint64_t communicator, uint64_t members, bool groups,
                      bool adds)
{
    size_t ranks = finding->meetings->ranks, begins[REPLAY_RANKS];
    struct entry *entries[REPLAY_RANKS];
    enum like like = LIKE;
    for (size_t r = 0; r < ranks; r++) begins[r] = finding->lists[r].next;
    for (bool all = true; all && like == LIKE;) {
        const struct entry *first = NULL;
        for (size_t r = 0; r < ranks; r++) {
            bool member = members >> r & 1;
            entries[r] = member ? next_entry(&finding->lists[r], communicator, groups) : NULL;
            all = all && (entries[r] || !member);
            if (entries[r] && !first) first = entries[r];
            if (entries[r] && entries[r]->function != first->function) like = UNLIKE;
        }
        if (all && like == LIKE && adds && !add_meeting(finding, entries)) like = NO_MEMORY;
    }
    for (size_t r = 0; r < ranks; r++) finding->lists[r].next = begins[r];
    return like;
}

static bool find_of_communicator(struct finding *finding, uint64_t communicator)
{
    size_t ranks = finding->meetings->ranks;
    uint64_t members = 0;
    for (size_t r = 0; r < ranks; r++) {
        const struct list *list = &finding->lists[r];
        if (list->next < list->count && list->at[list->next].communicator == communicator)
            members |= UINT64_C(1) << r;
    }
    enum like like = LIKE;
    if (members & (members - 1)) {
        bool groups = walk(finding, communicator, members, true, false) == LIKE;
        like = walk(finding, communicator, members, groups, true);
    }
    finding->meetings->unlike += like == UNLIKE;
    for (size_t r = 0; r < ranks; r++)
        while (next_entry(&finding->lists[r], communicator, true)) {
        }
    return like != NO_MEMORY;
}

static bool find_all(struct finding *finding)
{
    for (;;) {
        const struct entry *least = NULL;
        for (size_t r = 0; r < finding->meetings->ranks; r++) {
            const struct list *list = &finding->lists[r];
            if (list->next == list->count) continue;
            const struct entry *entry = &list->at[list->next];
            if (!least || entry->communicator < least->communicator) least = entry;
        }
        if (!least) return true;
        if (!find_of_communicator(finding, least->communicator)) return false;
    }
}

/* --- how long they take */

/* Within a kind, those that were timed on all ranks come first, and the shortest of them. */
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

/* Who came last to a meeting that was timed on all ranks waited for nobody: the median of what it took those.
 * Of others each rank may have waited: the least. */
static uint64_t time_of_kind(const struct kind *kinds, size_t count)
{
    size_t known = 0;
    while (known < count && kinds[known].timed == kinds[known].members) known++;
    return kinds[known / 2].least_ns;
}

static void set_times(struct finding *finding)
{
    struct replay_meetings *meetings = finding->meetings;
    struct kind *kinds = finding->kinds;
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

bool replay_meetings_find(const struct model *const *models, size_t ranks, struct replay_meetings *out)
{
    struct finding finding = {.meetings = out};
    *out = (struct replay_meetings){.ranks = ranks, .count = 1};
    bool good = grow(&finding);
    if (good) memset(out->at, 0, sizeof(*out->at));
    for (size_t r = 0; good && r < ranks; r++) {
        out->of_rank[r] = calloc(models[r]->collectives.count + 1, sizeof(*out->of_rank[r]));
        good = out->of_rank[r] && collect(models[r], &finding.lists[r]);
    }
    good = good && find_all(&finding);
    if (good) set_times(&finding);
    if (good) count_alone(out, models);
    for (size_t r = 0; r < ranks; r++) free(finding.lists[r].at);
    free(finding.kinds);
    if (!good) replay_meetings_free(out);
    return good;
}

void replay_meetings_free(struct replay_meetings *meetings)
{
    for (size_t r = 0; r < meetings->ranks; r++) free(meetings->of_rank[r]);
    free(meetings->at);
    *meetings = (struct replay_meetings){0};
}
