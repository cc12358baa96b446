#include "tools/analyses/ranks.h"

#include <stdlib.h>
#include <string.h>

#define NOT_TIMED UINT64_MAX

enum { FIRST_OF_ALL = 1, LAST_OF_ALL = 9 }; /* functions in which all ranks of a communicator take part */

static bool is_of_all(const struct model_collective *collective)
{
    return collective->communicator && collective->function >= FIRST_OF_ALL &&
           collective->function <= LAST_OF_ALL;
}

static int by_communicator(const void *one, const void *other)
{
    const struct rank_entry *a = one, *b = other;
    if (a->communicator != b->communicator) return a->communicator < b->communicator ? -1 : 1;
    return a->tick < b->tick ? -1 : a->tick > b->tick;
}

/* Goes through collectives, durations and moves side by side, in the order of their ticks. */
static bool collect(struct rank_books *books)
{
    const struct model *model = books->model;
    size_t move = 0, duration = 0;
    struct rank_entry entry = {0};
    books->entries = calloc(model->collectives.count + 1, sizeof(*books->entries));
    for (size_t i = 0; books->entries && i < model->collectives.count; i++) {
        const struct model_collective *collective = &model->collectives.at[i];
        entry.communicator = collective->communicator;
        entry.tick = collective->tick;
        entry.bytes = collective->bytes;
        entry.function = collective->function;
        entry.timed = false;
        for (; move < model->moves.count && model->moves.at[move].tick <= entry.tick; move++)
            if (model->moves.at[move].kind == SL_ACTION_FETCH)
                entry.fetched_bytes += model->moves.at[move].bytes;
        for (; duration < model->durations.count && model->durations.at[duration].tick <= entry.tick;
             duration++) {
            const struct model_duration *timed = &model->durations.at[duration];
            if (timed->tick < entry.tick) {
                entry.work_ns += timed->took_ns;
            } else {
                entry.timed = true;
                entry.took_ns = timed->took_ns;
            }
        }
        if (is_of_all(collective)) books->entries[books->entry_count++] = entry;
    }
    if (books->entries) qsort(books->entries, books->entry_count, sizeof(*books->entries), by_communicator);
    return books->entries;
}

/* A communicator's collectives on each rank; `rest`: how many of the rank's are left. */
struct walk {
    const struct rank_entry *at;
    size_t rest;
};

static bool is_here(const struct walk *walk, uint64_t communicator)
{
    return walk->rest && walk->at->communicator == communicator;
}

/* The next communicator, or 0. */
static uint64_t next_communicator(const struct walk *walks, size_t count)
{
    uint64_t least = 0;
    for (size_t r = 0; r < count; r++)
        if (walks[r].rest && (!least || walks[r].at->communicator < least)) least = walks[r].at->communicator;
    return least;
}

static struct rank_kind *kind_of(struct ranks *ranks, const struct rank_entry *entry)
{
    for (size_t k = 0; k < ranks->kind_count; k++)
        if (ranks->kinds[k].communicator == entry->communicator &&
            ranks->kinds[k].function == entry->function)
            return &ranks->kinds[k];
    struct rank_kind *larger = realloc(ranks->kinds, (ranks->kind_count + 1) * sizeof(*larger));
    if (!larger) return NULL;
    ranks->kinds = larger;
    uint64_t *last = calloc(ranks->count, sizeof(*last));
    if (!last) return NULL;
    larger[ranks->kind_count] = (struct rank_kind){
        .communicator = entry->communicator, .function = entry->function, .last_of_rank = last};
    return &larger[ranks->kind_count++];
}

static uint64_t excess(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What all ranks had worked and fetched when one rank was last no later than before: since then it has fallen
 * behind. */
struct level {
    uint64_t late_ns; /* at the meeting before */
    struct spent {
        uint64_t work_ns, fetched_bytes;
    } * of_rank;
};

struct counting {
    struct walk *walks;                /* of each rank, as all of these */
    const struct rank_entry **entries; /* NULL: it does not take part */
    uint64_t *took_ns;                 /* NOT_TIMED: nobody knows */
    struct spent *spent;               /* of the levels */
    struct level *levels;
};

/* Why the last rank came so much later than the one before it: what its launches took longer since it was
 * level with the others. The rest it waited, for data if it has fetched more since then, else for its host.
 */
static void blame(struct rank_books *last, const struct rank_entry *late, const struct spent *level_late,
                  const struct rank_entry *before, const struct spent *level_before, uint64_t late_ns)
{
    uint64_t work = excess(late->work_ns - level_late->work_ns, before->work_ns - level_before->work_ns),
             fetched = excess(late->fetched_bytes - level_late->fetched_bytes,
                              before->fetched_bytes - level_before->fetched_bytes);
    if (work > late_ns) work = late_ns;
    last->last++;
    last->late_ns += late_ns;
    last->by_work_ns += work;
    *(fetched ? &last->by_data_ns : &last->by_host_ns) += late_ns - work;
}

/* Ranks that do not come last, or less late than before, are level now. `late_ns`: of rank `last`. */
static void note_levels(const struct ranks *ranks, const struct rank_entry *const *entries,
                        struct counting *counting, size_t last, uint64_t late_ns)
{
    for (size_t r = 0; r < ranks->count; r++) {
        struct level *level = &counting->levels[r];
        uint64_t now = r == last ? late_ns : 0;
        bool is_level = !now || now < level->late_ns;
        level->late_ns = now;
        for (size_t other = 0; is_level && other < ranks->count; other++)
            if (entries[other])
                level->of_rank[other] =
                    (struct spent){entries[other]->work_ns, entries[other]->fetched_bytes};
    }
}

/* Which rank came last, and which before it; false: fewer than two were timed. They end together, so who
 * comes last takes least. */
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

static bool count_meeting(struct ranks *ranks, struct counting *counting)
{
    const struct rank_entry **entries = counting->entries;
    uint64_t *took_ns = counting->took_ns;
    size_t last = 0, before = 0, members = 0;
    const struct rank_entry *any = NULL;
    for (size_t r = 0; r < ranks->count; r++) {
        took_ns[r] = entries[r] && entries[r]->timed ? entries[r]->took_ns : NOT_TIMED;
        if (!entries[r]) continue;
        any = entries[r];
        members++;
    }
    ranks->shared += members > 1;
    struct rank_kind *kind = kind_of(ranks, any);
    if (!kind) return false;
    kind->count++;
    kind->bytes += any->bytes;
    if (!find_last(ranks, took_ns, &last, &before)) return true;
    kind->compared++;
    kind->last_of_rank[last]++;
    for (size_t r = 0; r < ranks->count; r++) {
        if (took_ns[r] == NOT_TIMED) continue;
        ranks->books[r].compared++;
        ranks->books[r].waited_ns += took_ns[r] - took_ns[last];
        kind->waited_ns += took_ns[r] - took_ns[last];
    }
    const struct level *level = &counting->levels[last];
    uint64_t late_ns = took_ns[before] - took_ns[last];
    blame(&ranks->books[last], entries[last], &level->of_rank[last], entries[before], &level->of_rank[before],
          late_ns);
    note_levels(ranks, entries, counting, last, late_ns);
    return true;
}

/* Takes the next collective of the communicator from each rank that has one. How many have; *alike: whether
 * all have the same one. */
static size_t next_meeting(struct ranks *ranks, struct counting *counting, uint64_t communicator, bool *alike)
{
    size_t here = 0;
    const struct rank_entry *first = NULL;
    for (size_t r = 0; r < ranks->count; r++) {
        struct walk *walk = &counting->walks[r];
        const struct rank_entry *entry = is_here(walk, communicator) ? walk->at : NULL;
        counting->entries[r] = entry;
        if (!entry) continue;
        walk->at++;
        walk->rest--;
        here++;
        if (!first) first = entry;
        *alike = *alike && entry->function == first->function;
    }
    return here;
}

/* The collectives that all ranks of the communicator have, one after the other. */
static bool count_communicator(struct ranks *ranks, struct counting *counting, uint64_t communicator)
{
    size_t members = 0, here;
    bool alike = true;
    for (size_t r = 0; r < ranks->count; r++) {
        members += is_here(&counting->walks[r], communicator);
        counting->levels[r] = (struct level){.of_rank = counting->spent + r * ranks->count};
    }
    memset(counting->spent, 0, ranks->count * ranks->count * sizeof(*counting->spent));
    while ((here = next_meeting(ranks, counting, communicator, &alike)) > 0)
        if (alike && here == members && !count_meeting(ranks, counting)) return false;
    ranks->unlike += !alike;
    return true;
}

static bool count_all(struct ranks *ranks)
{
    size_t count = ranks->count;
    struct counting counting = {
        .walks = calloc(count, sizeof(*counting.walks)),
        .entries = calloc(count, sizeof(*counting.entries)),
        .took_ns = calloc(count, sizeof(*counting.took_ns)),
        .spent = calloc(count * count, sizeof(*counting.spent)),
        .levels = calloc(count, sizeof(*counting.levels)),
    };
    bool good = counting.walks && counting.entries && counting.took_ns && counting.spent && counting.levels;
    for (size_t r = 0; good && r < count; r++)
        counting.walks[r] = (struct walk){ranks->books[r].entries, ranks->books[r].entry_count};
    for (uint64_t communicator; good && (communicator = next_communicator(counting.walks, count));)
        good = count_communicator(ranks, &counting, communicator);
    free(counting.walks);
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

bool ranks_compare(const struct model *const *models, size_t count, struct ranks *out)
{
    struct ranks ranks = {.books = calloc(count, sizeof(*ranks.books)), .count = count};
    bool good = ranks.books;
    for (size_t r = 0; r < count && good; r++) {
        ranks.books[r].model = models[r];
        good = collect(&ranks.books[r]);
    }
    good = good && count_all(&ranks);
    if (good && ranks.kind_count) qsort(ranks.kinds, ranks.kind_count, sizeof(*ranks.kinds), most_waited);
    if (!good) ranks_free(&ranks);
    *out = ranks;
    return good;
}

void ranks_free(struct ranks *ranks)
{
    for (size_t r = 0; ranks->books && r < ranks->count; r++) free(ranks->books[r].entries);
    for (size_t k = 0; k < ranks->kind_count; k++) free(ranks->kinds[k].last_of_rank);
    free(ranks->books);
    free(ranks->kinds);
    *ranks = (struct ranks){0};
}
