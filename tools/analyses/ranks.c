#include "tools/analyses/ranks.h"

#include <stdlib.h>
#include <string.h>

#define NOT_TIMED UINT64_MAX

/* The kind of a collective. Meetings are sorted by communicator, so this communicator's kinds are the
 * last. */
static struct rank_kind *kind_of(struct ranks *ranks, const struct meeting_entry *entry)
{
    uint32_t function = entry->function == FUNCTION_RECEIVE ? FUNCTION_SEND : entry->function;
    for (size_t k = ranks->kind_count; k-- > 0 && ranks->kinds[k].communicator == entry->communicator;)
        if (ranks->kinds[k].function == function) return &ranks->kinds[k];
    struct rank_kind *larger = realloc(ranks->kinds, (ranks->kind_count + 1) * sizeof(*larger));
    if (!larger) return NULL;
    ranks->kinds = larger;
    uint64_t *last = calloc(ranks->count, sizeof(*last));
    if (!last) return NULL;
    larger[ranks->kind_count] =
        (struct rank_kind){.communicator = entry->communicator, .function = function, .last_of_rank = last};
    return &larger[ranks->kind_count++];
}

static uint64_t excess(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The totals of work and fetches of all ranks at the last meeting at which a rank was level: it was not last,
 * or less late than before. It has fallen behind since then. */
struct level {
    uint64_t late_ns;      /* at the preceding meeting */
    struct spent *of_rank; /* in `spent` */
};

struct counting {
    const struct meetings *meetings;
    struct ranks *ranks;
    const struct meeting_entry *
        *entries;      /* for each rank, like the members below; NULL: the rank does not take part */
    uint64_t *took_ns; /* NOT_TIMED: unknown */
    struct spent *spent;
    struct level *levels;
};

static const struct spent *spent_until(const struct counting *counting, size_t rank)
{
    return &counting->ranks->books[rank].spending.until[counting->entries[rank]->collective];
}

/* The pace of the fetches of rank `other` or, if unknown, of the fastest rank other than the late one. 0: all
 * are unknown. */
static double pace_beside(const struct ranks *ranks, size_t late, size_t other)
{
    double pace = ranks->books[other].spending.pace;
    for (size_t r = 0; r < ranks->count && ranks->books[other].spending.pace <= 0; r++) {
        double its = r == late ? 0 : ranks->books[r].spending.pace;
        if (its > 0 && (pace <= 0 || its < pace)) pace = its;
    }
    return pace;
}

/* The time by which the late rank's fetches took longer than at that pace. Fetches over equal links also
 * differ, because of other traffic, so less than a quarter counts as 0. */
static uint64_t slow_link_ns(double pace, const struct spent *from, const struct spent *to)
{
    double took = (double)(to->transfer_ns - from->transfer_ns);
    double would = (double)(to->transfer_bytes - from->transfer_bytes) * pace;
    if (would <= 0 || took <= would * 1.25) return 0;
    return took - would < 9e18 ? (uint64_t)(took - would)
                               : (uint64_t)9e18; /* foreign files may have any figures */
}

/* Attributes the delay of the last rank relative to the one before it. First comes the extra time of its
 * launches since it was level with the others, then the extra time of its fetches due to a slower link. The
 * rest is waiting: for data, if it has fetched more since then, or to the extent that its launches stalled
 * longer; otherwise for its host. */
static void blame(const struct counting *counting, size_t last, size_t before, uint64_t late_ns)
{
    const struct level *level = &counting->levels[last];
    const struct spent *late = spent_until(counting, last), *other = spent_until(counting, before);
    const struct spent *level_late = &level->of_rank[last], *level_other = &level->of_rank[before];
    struct rank_books *books = &counting->ranks->books[last];
    uint64_t work = excess(late->work_ns - level_late->work_ns, other->work_ns - level_other->work_ns),
             fetched = excess(late->fetched_bytes - level_late->fetched_bytes,
                              other->fetched_bytes - level_other->fetched_bytes);
    if (work > late_ns) work = late_ns;
    books->last += late_ns > 0;
    books->late_ns += late_ns;
    uint64_t stalled = excess(late->stall_ns - level_late->stall_ns, other->stall_ns - level_other->stall_ns);
    uint64_t rest = late_ns - work,
             link = slow_link_ns(pace_beside(counting->ranks, last, before), level_late, late);
    if (link > rest) link = rest;
    books->by_work_ns += work;
    books->by_link_ns += link;
    rest -= link;
    uint64_t data = fetched || stalled > rest ? rest : stalled;
    books->by_data_ns += data;
    books->by_host_ns += rest - data;
}

/* Ranks that do not come last, or that are less late than before, are level at this meeting. `late_ns`: the
 * delay of rank `last`. */
static void note_levels(struct counting *counting, size_t last, uint64_t late_ns)
{
    size_t count = counting->ranks->count;
    for (size_t r = 0; r < count; r++) {
        struct level *level = &counting->levels[r];
        uint64_t now = r == last ? late_ns : 0;
        bool is_level = !now || now < level->late_ns;
        level->late_ns = now;
        for (size_t other = 0; is_level && other < count; other++)
            if (counting->entries[other]) level->of_rank[other] = *spent_until(counting, other);
    }
}

/* Finds the rank that came last and the one before it. All end together, so the last rank took the shortest
 * time. False: fewer than two ranks were timed. */
static bool find_last(const struct ranks *ranks, const uint64_t *took_ns, size_t *last, size_t *before)
{
    size_t timed = 0;
    for (size_t r = 0; r < ranks->count; r++) {
        if (took_ns[r] == NOT_TIMED) continue;
        if (!timed || took_ns[r] <= took_ns[*last]) {
            *before = *last;
            *last = r;
        } else if (timed == 1 || took_ns[r] <= took_ns[*before]) {
            *before = r;
        }
        timed++;
    }
    return timed >= 2;
}

static void place_members(struct counting *counting, const struct meeting *meeting)
{
    const struct meetings *meetings = counting->meetings;
    for (size_t r = 0; r < meetings->rank_count; r++) {
        counting->entries[r] = NULL;
        counting->took_ns[r] = NOT_TIMED;
    }
    for (size_t m = 0; m < meeting->count; m++) {
        const struct meeting_member *member = &meetings->members[meeting->first + m];
        const struct meeting_entry *entry = meeting_entry(meetings, member);
        counting->entries[member->rank] = entry;
        if (entry->timed) counting->took_ns[member->rank] = entry->took_ns;
    }
}

static bool count_meeting(struct counting *counting, const struct meeting *meeting)
{
    struct ranks *ranks = counting->ranks;
    uint64_t *took_ns = counting->took_ns;
    size_t last = 0, before = 0;
    const struct meeting_entry *any =
        meeting_entry(counting->meetings, &counting->meetings->members[meeting->first]);
    struct rank_kind *kind = kind_of(ranks, any);
    if (!kind) return false;
    kind->count++;
    kind->bytes += any->bytes;
    place_members(counting, meeting);
    if (!find_last(ranks, took_ns, &last, &before)) return true;
    uint64_t late_ns = took_ns[before] - took_ns[last];
    kind->compared++;
    kind->last_of_rank[last] += late_ns > 0;
    for (size_t r = 0; r < ranks->count; r++) {
        if (took_ns[r] == NOT_TIMED) continue;
        ranks->books[r].compared++;
        ranks->books[r].waited_ns += took_ns[r] - took_ns[last];
        kind->waited_ns += took_ns[r] - took_ns[last];
    }
    blame(counting, last, before, late_ns);
    note_levels(counting, last, late_ns);
    return true;
}

/* Resets the levels for a communicator: work before its first meeting counts for that meeting. */
static void forget_levels(struct counting *counting)
{
    size_t count = counting->ranks->count;
    memset(counting->spent, 0, count * count * sizeof(*counting->spent));
    for (size_t r = 0; r < count; r++)
        counting->levels[r] = (struct level){.of_rank = counting->spent + r * count};
}

static bool count_all(const struct meetings *meetings, struct ranks *ranks)
{
    size_t count = ranks->count;
    struct counting counting = {
        .meetings = meetings,
        .ranks = ranks,
        .entries = calloc(count, sizeof(*counting.entries)),
        .took_ns = calloc(count, sizeof(*counting.took_ns)),
        .spent = calloc(count * count, sizeof(*counting.spent)),
        .levels = calloc(count, sizeof(*counting.levels)),
    };
    bool good = counting.entries && counting.took_ns && counting.spent && counting.levels;
    uint64_t communicator = 0;
    for (size_t i = 0; good && i < meetings->count; i++) {
        const struct meeting *meeting = &meetings->at[i];
        uint64_t its = meeting_entry(meetings, &meetings->members[meeting->first])->communicator;
        if (its != communicator) forget_levels(&counting);
        communicator = its;
        good = count_meeting(&counting, meeting);
    }
    free(counting.entries);
    free(counting.took_ns);
    free(counting.spent);
    free(counting.levels);
    return good;
}

static int most_waited(const void *one, const void *other)
{
    const struct rank_kind *a = one, *b = other;
    if (a->waited_ns != b->waited_ns) return a->waited_ns > b->waited_ns ? -1 : 1;
    if (a->communicator != b->communicator) return a->communicator < b->communicator ? -1 : 1;
    return a->function < b->function ? -1 : 1;
}

bool ranks_compare(const struct meetings *meetings, struct ranks *out)
{
    struct ranks ranks = {.books = calloc(meetings->rank_count, sizeof(*ranks.books)),
                          .count = meetings->rank_count};
    bool good = ranks.books;
    for (size_t r = 0; r < ranks.count && good; r++)
        good = spending_make(meetings->ranks[r].model, &ranks.books[r].spending);
    good = good && count_all(meetings, &ranks);
    if (good && ranks.kind_count) qsort(ranks.kinds, ranks.kind_count, sizeof(*ranks.kinds), most_waited);
    if (!good) ranks_free(&ranks);
    *out = ranks;
    return good;
}

void ranks_free(struct ranks *ranks)
{
    for (size_t r = 0; ranks->books && r < ranks->count; r++) spending_free(&ranks->books[r].spending);
    for (size_t k = 0; k < ranks->kind_count; k++) free(ranks->kinds[k].last_of_rank);
    free(ranks->books);
    free(ranks->kinds);
    *ranks = (struct ranks){0};
}
