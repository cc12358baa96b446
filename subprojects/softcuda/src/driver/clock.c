#include "clock.h"

#include <stdlib.h>

struct sc_clock *sc_clock_new(const struct sc_chains *chains)
{
    uint32_t count = chains->count + 1;
    struct sc_clock *clock = calloc(1, sizeof *clock + count * sizeof *clock->reached);
    if (!clock) return NULL;
    clock->refs = 1;
    clock->count = count;
    return clock;
}

void sc_clock_unref(struct sc_clock *clock)
{
    if (clock && !--clock->refs) free(clock);
}

bool sc_clock_join(struct sc_clock **clock, const struct sc_clock *other)
{
    if (!other) return true;
    uint32_t count = *clock ? (*clock)->count : 0;
    if (count < other->count) {
        struct sc_clock *larger = realloc(*clock, sizeof *larger + other->count * sizeof *larger->reached);
        if (!larger) return false;
        if (!*clock) larger->refs = 1;
        for (uint32_t i = count; i < other->count; i++) larger->reached[i] = 0;
        larger->count = other->count;
        *clock = larger;
    }
    for (uint32_t i = 0; i < other->count; i++)
        if ((*clock)->reached[i] < other->reached[i]) (*clock)->reached[i] = other->reached[i];
    return true;
}

static bool add_chain(struct sc_chains *chains)
{
    if (chains->count == chains->capacity) {
        uint32_t capacity = chains->capacity ? 2 * chains->capacity : 16;
        uint32_t *last = realloc(chains->last, capacity * sizeof *last);
        if (!last) return false;
        chains->last = last;
        chains->capacity = capacity;
    }
    chains->last[chains->count++] = 0;
    return true;
}

/* A chain whose last operation comes before the new one; chains->count if there is none. */
static uint32_t find_chain(const struct sc_chains *chains, const struct sc_clock *clock,
                           const struct sc_moment *before, size_t before_count)
{
    for (size_t i = 0; i < before_count; i++)
        if (chains->last[before[i].chain] == before[i].place) return before[i].chain;
    for (uint32_t chain = 0; chain < chains->count; chain++)
        if (clock->reached[chain] >= chains->last[chain]) return chain;
    return chains->count;
}

bool sc_chains_add(struct sc_chains *chains, struct sc_clock *clock, const struct sc_moment *before,
                   size_t before_count, struct sc_moment *out)
{
    uint32_t chain = find_chain(chains, clock, before, before_count);
    if (chain == chains->count && !add_chain(chains)) return false;
    uint32_t place = ++chains->last[chain];
    clock->reached[chain] = place;
    *out = (struct sc_moment){chain, place};
    return true;
}
