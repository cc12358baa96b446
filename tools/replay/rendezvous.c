#include "tools/replay/rendezvous.h"

#include <math.h>
#include <stdlib.h>

enum {
    PENDING = 64
}; /* maximum number of meetings at which a rank waits at once: it has a stream for
      each */

enum state { RUNS, ASKS, ENDED };

struct rank {
    enum state state;
    double now_ns, next_ns;     /* ASKS */
    uint32_t waits_at[PENDING]; /* meetings at which it has arrived and that have not begun for it */
    unsigned count;
};

struct progress_of_meeting {
    uint64_t arrived; /* bit mask of ranks */
    double first_ns, last_ns;
    bool called; /* it begins without the missing members */
};

struct rendezvous {
    const struct replay_meeting *at;
    uint32_t count;
    size_t ranks;
    uint64_t ended; /* bit mask of ranks */
    uint64_t missed;
    struct progress_of_meeting *progress;
    struct rank rank[REPLAY_RANKS];
};

struct rendezvous *rendezvous_new(const struct replay_meeting *at, uint32_t count, size_t ranks)
{
    struct rendezvous *rendezvous = calloc(1, sizeof(*rendezvous));
    if (!rendezvous) return NULL;
    rendezvous->at = at;
    rendezvous->count = count;
    rendezvous->ranks = ranks;
    rendezvous->progress = calloc(count + 1, sizeof(*rendezvous->progress));
    if (rendezvous->progress) return rendezvous;
    free(rendezvous);
    return NULL;
}

void rendezvous_delete(struct rendezvous *rendezvous)
{
    if (rendezvous) free(rendezvous->progress);
    free(rendezvous);
}

void rendezvous_arrive(struct rendezvous *rendezvous, size_t rank, uint32_t meeting, double now_ns)
{
    struct rank *own = &rendezvous->rank[rank];
    uint64_t bit = UINT64_C(1) << rank;
    if (!meeting || meeting >= rendezvous->count || own->count == PENDING) return;
    struct progress_of_meeting *progress = &rendezvous->progress[meeting];
    if (!(rendezvous->at[meeting].members & bit) || progress->arrived & bit) return;
    if (!progress->arrived) progress->first_ns = progress->last_ns = now_ns;
    if (now_ns < progress->first_ns) progress->first_ns = now_ns;
    if (now_ns > progress->last_ns) progress->last_ns = now_ns;
    progress->arrived |= bit;
    own->waits_at[own->count++] = meeting;
}

void rendezvous_ask(struct rendezvous *rendezvous, size_t rank, double now_ns, double next_ns)
{
    struct rank *own = &rendezvous->rank[rank];
    own->state = ASKS;
    own->now_ns = now_ns;
    own->next_ns = next_ns;
}

void rendezvous_end(struct rendezvous *rendezvous, size_t rank)
{
    rendezvous->rank[rank].state = ENDED;
    rendezvous->ended |= UINT64_C(1) << rank;
}

/* Whether no member is missing. */
static bool is_complete(const struct rendezvous *rendezvous, uint32_t meeting)
{
    const struct progress_of_meeting *progress = &rendezvous->progress[meeting];
    uint64_t missing = rendezvous->at[meeting].members & ~progress->arrived;
    return progress->called || !(missing & ~rendezvous->ended);
}

/* Finds a meeting that begins and at which the rank waits. */
static bool begin_one(struct rendezvous *rendezvous, size_t rank, struct rendezvous_answer *out)
{
    struct rank *own = &rendezvous->rank[rank];
    for (unsigned i = 0; i < own->count; i++) {
        uint32_t meeting = own->waits_at[i];
        if (!is_complete(rendezvous, meeting)) continue;
        double last_ns = rendezvous->progress[meeting].last_ns;
        own->waits_at[i] = own->waits_at[--own->count];
        *out = (struct rendezvous_answer){rank, meeting, last_ns > own->now_ns ? last_ns : own->now_ns};
        return true;
    }
    return false;
}

/* Lets the rank with the earliest next time continue, up to the second earliest. False: no rank can continue.
 * Precondition: all ranks that have not ended ask, and no meeting begins. */
static bool let_pass(const struct rendezvous *rendezvous, struct rendezvous_answer *out)
{
    double least = INFINITY, second = INFINITY;
    for (size_t r = 0; r < rendezvous->ranks; r++) {
        const struct rank *rank = &rendezvous->rank[r];
        if (rank->state != ASKS) continue;
        if (rank->next_ns < least) {
            second = least;
            least = rank->next_ns;
            out->rank = r;
        } else if (rank->next_ns < second) {
            second = rank->next_ns;
        }
    }
    out->meeting = 0;
    out->until_ns = second;
    return least < INFINITY;
}

/* Begins the meeting at which a rank arrived first, without its missing members. False: no rank waits. */
static bool call_one(struct rendezvous *rendezvous)
{
    uint32_t first = 0;
    for (size_t r = 0; r < rendezvous->ranks; r++) {
        const struct rank *rank = &rendezvous->rank[r];
        for (unsigned i = 0; rank->state == ASKS && i < rank->count; i++)
            if (!first ||
                rendezvous->progress[rank->waits_at[i]].first_ns < rendezvous->progress[first].first_ns)
                first = rank->waits_at[i];
    }
    if (!first) return false;
    rendezvous->progress[first].called = true;
    rendezvous->missed++;
    return true;
}

bool rendezvous_answer(struct rendezvous *rendezvous, struct rendezvous_answer *out)
{
    struct rendezvous_answer answer;
    bool asked = false, found = false;
    for (size_t r = 0; r < rendezvous->ranks && !found; r++) {
        asked |= rendezvous->rank[r].state == ASKS;
        found = rendezvous->rank[r].state == ASKS && begin_one(rendezvous, r, &answer);
    }
    for (size_t r = 0; r < rendezvous->ranks && !found; r++)
        if (rendezvous->rank[r].state == RUNS) return false;
    if (!asked) return false;
    if (!found && !let_pass(rendezvous, &answer)) {
        if (call_one(rendezvous)) return rendezvous_answer(rendezvous, out);
        /* No event can end the wait of a rank that asks: it continues as if the awaited event never came. */
        for (size_t r = 0; r < rendezvous->ranks; r++)
            if (rendezvous->rank[r].state == ASKS) answer.rank = r;
    }
    rendezvous->rank[answer.rank].state = RUNS;
    *out = answer;
    return true;
}

uint64_t rendezvous_missed(const struct rendezvous *rendezvous)
{
    return rendezvous->missed;
}
