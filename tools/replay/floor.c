#include "tools/replay/floor.h"

#include <stdlib.h>

enum { PERIODS = 8 };
#define NEVER UINT64_MAX

struct entry { /* of the heap; outdated unless it is the chunk's last one */
    uint64_t next;
    uint32_t chunk, number;
};

struct search {
    const struct floor_sequence *sequence;
    uint64_t *first; /* of each chunk: its first use in a period, if its content lives until then */
    uint64_t *next_of_use;
    uint64_t
        *next; /* of each chunk: its next use, counted over all periods, if its content lives until then */
    uint64_t *since; /* of each chunk: the last launch that used it, counted from 1 over all periods */
    uint32_t *held, *number; /* of each chunk: blocks on the device; number of its last entry in the heap */
    bool *live;
    struct entry *heap, *aside;
    size_t heap_count, heap_room;
    uint64_t held_blocks, budget, fetched;
};

/* --- the heap: the chunk that is used last is at the top */

static bool push(struct search *s, uint32_t chunk)
{
    if (s->heap_count == s->heap_room) {
        size_t room = 2 * s->heap_room + 64;
        struct entry *larger = realloc(s->heap, room * sizeof(*larger));
        if (!larger) return false;
        s->heap = larger;
        s->heap_room = room;
    }
    struct entry entry = {s->next[chunk], chunk, ++s->number[chunk]};
    size_t at = s->heap_count++;
    for (; at && s->heap[(at - 1) / 2].next < entry.next; at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = entry;
    return true;
}

static struct entry pop(struct search *s)
{
    struct entry top = s->heap[0], last = s->heap[--s->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->heap_count; at = child) {
        if (child + 1 < s->heap_count && s->heap[child + 1].next > s->heap[child].next) child++;
        if (s->heap[child].next <= last.next) break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return top;
}

/* --- when chunks are used next */

/* Goes through the period from its end, twice: what is first used in it is used next after its end. */
static bool find_next_uses(struct search *s)
{
    const struct floor_sequence *sequence = s->sequence;
    size_t uses = sequence->first_use[sequence->launch_count];
    uint64_t *coming = malloc((sequence->chunk_count + 1) * sizeof(*coming));
    if (!coming) return false;
    for (size_t c = 0; c < sequence->chunk_count; c++) coming[c] = NEVER;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t l = sequence->launch_count; l-- > 0;) {
            for (size_t d = sequence->first_death[l]; d < sequence->first_death[l + 1]; d++)
                coming[sequence->dead[d]] = NEVER;
            for (size_t u = sequence->first_use[l]; u < sequence->first_use[l + 1]; u++) {
                uint32_t chunk = sequence->used[u];
                s->next_of_use[u] = coming[chunk];
                coming[chunk] = u;
            }
        }
        for (size_t c = 0; c < sequence->chunk_count; c++) {
            s->first[c] = coming[c];
            if (coming[c] != NEVER) coming[c] += uses;
        }
    }
    free(coming);
    return true;
}

/* --- the iterations */

static void leave(struct search *s, uint32_t chunk, uint64_t blocks)
{
    s->held[chunk] -= (uint32_t)blocks;
    s->held_blocks -= blocks;
}

/* Evicts what is used last until the budget is kept: what `launch` uses only if nothing else is left. */
static bool make_room(struct search *s, uint64_t launch)
{
    size_t aside = 0;
    while (s->held_blocks > s->budget && s->heap_count) {
        struct entry entry = pop(s);
        uint32_t chunk = entry.chunk;
        if (!s->held[chunk] || entry.number != s->number[chunk]) continue;
        if (s->since[chunk] == launch) {
            s->aside[aside++] = entry;
            continue;
        }
        uint64_t more = s->held_blocks - s->budget;
        leave(s, chunk, more < s->held[chunk] ? more : s->held[chunk]);
        if (s->held[chunk] && !push(s, chunk)) return false;
    }
    for (size_t i = 0; i < aside; i++) { /* the one that is used last comes first */
        uint64_t more = s->held_blocks > s->budget ? s->held_blocks - s->budget : 0;
        uint32_t chunk = s->aside[i].chunk;
        leave(s, chunk, more < s->held[chunk] ? more : s->held[chunk]);
        if (s->held[chunk] && !push(s, chunk)) return false;
    }
    return true;
}

static bool begin(struct search *s)
{
    const struct floor_sequence *sequence = s->sequence;
    for (uint32_t c = 0; c < sequence->chunk_count; c++) {
        s->live[c] = sequence->alive[c];
        s->next[c] = s->first[c];
        if (!s->live[c]) continue;
        s->held[c] = sequence->blocks[c];
        s->held_blocks += s->held[c];
        if (!push(s, c)) return false;
    }
    return make_room(s, 1);
}

static bool launch(struct search *s, size_t l, uint64_t number, uint64_t before)
{
    const struct floor_sequence *sequence = s->sequence;
    uint64_t missing = 0, needed = 0;
    for (size_t u = sequence->first_use[l]; u < sequence->first_use[l + 1]; u++) {
        uint32_t chunk = sequence->used[u], blocks = sequence->blocks[chunk], more = blocks - s->held[chunk];
        if (s->live[chunk]) missing += more;
        needed += blocks;
        s->held_blocks += more;
        s->held[chunk] = blocks;
        s->live[chunk] = true;
        s->since[chunk] = number;
        s->next[chunk] = s->next_of_use[u] == NEVER ? NEVER : s->next_of_use[u] + before;
        if (!push(s, chunk)) return false;
    }
    uint64_t in_place = needed > s->budget ? needed - s->budget : 0;
    s->fetched += missing > in_place ? missing - in_place : 0;
    if (!make_room(s, number)) return false;
    for (size_t d = sequence->first_death[l]; d < sequence->first_death[l + 1]; d++) {
        leave(s, sequence->dead[d], s->held[sequence->dead[d]]);
        s->live[sequence->dead[d]] = false;
    }
    return true;
}

static bool go_through(struct search *s)
{
    const struct floor_sequence *sequence = s->sequence;
    if (!find_next_uses(s) || !begin(s)) return false;
    uint64_t number = 1;
    for (unsigned p = 0; p < PERIODS; p++)
        for (size_t l = 0; l < sequence->launch_count; l++)
            if (!launch(s, l, ++number, p * (uint64_t)sequence->first_use[sequence->launch_count]))
                return false;
    return true;
}

bool floor_blocks(const struct floor_sequence *sequence, uint64_t budget_blocks, uint64_t *out)
{
    size_t chunks = sequence->chunk_count + 1, uses = sequence->first_use[sequence->launch_count] + 1;
    struct search s = {.sequence = sequence, .budget = budget_blocks};
    s.first = malloc(chunks * sizeof(*s.first));
    s.next_of_use = malloc(uses * sizeof(*s.next_of_use));
    s.next = calloc(chunks, sizeof(*s.next));
    s.since = calloc(chunks, sizeof(*s.since));
    s.held = calloc(chunks, sizeof(*s.held));
    s.number = calloc(chunks, sizeof(*s.number));
    s.live = calloc(chunks, sizeof(*s.live));
    s.aside = calloc(uses, sizeof(*s.aside));
    bool good = s.first && s.next_of_use && s.next && s.since && s.held && s.number && s.live && s.aside;
    good = good && go_through(&s);
    if (good) *out = s.fetched / PERIODS;
    free(s.first);
    free(s.next_of_use);
    free(s.next);
    free(s.since);
    free(s.held);
    free(s.number);
    free(s.live);
    free(s.aside);
    free(s.heap);
    return good;
}
