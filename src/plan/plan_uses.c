#include "plan/plan_uses.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* --- future uses */

/* Goes through the launches from the end: what is known of a chunk so far is the future of earlier
 * accesses. */
static void look_back(const struct sl_plan_input *in, struct sl_outlook *o)
{
    uint32_t access = o->access_count;
    memset(o->first, 0xff, in->chunk_count * sizeof *o->first);
    memset(o->last, 0xff, in->chunk_count * sizeof *o->last);
    memset(o->first_death, 0xff, in->chunk_count * sizeof *o->first_death);
    for (uint32_t t = (uint32_t)in->launch_count; t-- > 0;) {
        const struct sl_plan_launch *launch = &in->launches[t];
        for (uint32_t k = 0; k < launch->death_count; k++)
            o->first_death[in->deaths[launch->first_death + k]] = t;
        for (uint32_t k = launch->access_count; k-- > 0;) {
            sl_chunk chunk = in->accesses[launch->first_access + k].chunk;
            access--;
            o->next[access] = o->first[chunk];
            o->death[access] = o->first_death[chunk];
            o->first[chunk] = t;
            o->first_death[chunk] = SL_NONE;
            if (o->last[chunk] == SL_NONE) o->last[chunk] = t;
        }
    }
}

enum sl_status sl_outlook_make(const struct sl_plan_input *in, const double *launch_ns,
                               struct sl_outlook *out)
{
    size_t accesses = 0;
    for (size_t t = 0; t < in->launch_count; t++) accesses += in->launches[t].access_count;
    size_t chunks = in->chunk_count;
    uint32_t *words = malloc((2 * accesses + 3 * chunks + 1) * sizeof *words);
    if (!words) return SL_ERR_NO_MEMORY;
    uint32_t *of_chunks = words + 2 * accesses;
    struct sl_outlook o = {.next = words,
                           .death = words + accesses,
                           .first = of_chunks,
                           .last = of_chunks + chunks,
                           .first_death = of_chunks + 2 * chunks,
                           .launch_ns = launch_ns,
                           .access_count = (uint32_t)accesses};
    look_back(in, &o);
    *out = o;
    return SL_OK;
}

void sl_outlook_free(struct sl_outlook *outlook)
{
    free(outlook->next);
    *outlook = (struct sl_outlook){0};
}

/* --- events of a period */

struct kind_of_use {
    uint64_t hash;
    sl_chunk chunk;
};

static const struct sl_plan_access *access_of(const struct sl_plan_input *in, const struct sl_plan_launch *l,
                                              uint32_t k)
{
    return &in->accesses[l->first_access + k];
}

/* A hash of the chunks that the launches from `first` on use or end. */
static uint64_t hash_of(const struct sl_plan_input *in, size_t first, size_t period)
{
    uint64_t hash = in->budget_bytes ^ in->chunk_count;
    for (size_t t = first; t < first + period; t++) {
        const struct sl_plan_launch *l = &in->launches[t];
        hash = sl_hash_word(hash, (uint64_t)l->access_count << 32 | l->death_count);
        for (uint32_t k = 0; k < l->access_count; k++) hash = sl_hash_word(hash, access_of(in, l, k)->chunk);
        for (uint32_t k = 0; k < l->death_count; k++)
            hash = sl_hash_word(hash, in->deaths[l->first_death + k]);
    }
    return hash;
}

bool sl_uses_fit(const struct sl_uses *uses, const struct sl_plan_input *in)
{
    return uses->period <= in->launch_count && in->chunk_count == uses->chunk_count &&
           hash_of(in, 0, uses->period) == uses->hash;
}

/* Deaths at the very end of the window may be unknown, so only the second period must equal the first. */
static bool repeats(const struct sl_plan_input *in, size_t period, uint64_t hash)
{
    return hash_of(in, period, period) == hash;
}

static void count_events(struct sl_uses *u, const struct sl_plan_input *in)
{
    for (size_t t = 0; t < u->period; t++) {
        const struct sl_plan_launch *l = &in->launches[t];
        for (uint32_t k = 0; k < l->access_count; k++) u->first_event[access_of(in, l, k)->chunk + 1]++;
        for (uint32_t k = 0; k < l->death_count; k++) u->first_event[in->deaths[l->first_death + k] + 1]++;
    }
    for (size_t c = 0; c < in->chunk_count; c++) u->first_event[c + 1] += u->first_event[c];
}

static void list_events(struct sl_uses *u, const struct sl_plan_input *in)
{
    uint32_t access = 0;
    for (uint32_t t = 0; t < u->period; t++) {
        const struct sl_plan_launch *l = &in->launches[t];
        for (uint32_t k = 0; k < l->access_count; k++, access++) {
            u->events[u->first_event[access_of(in, l, k)->chunk]++] =
                (struct sl_chunk_event){t, access, SL_EVENT_USE};
        }
        for (uint32_t k = 0; k < l->death_count; k++)
            u->events[u->first_event[in->deaths[l->first_death + k]]++] =
                (struct sl_chunk_event){t, SL_NONE, SL_EVENT_DEATH};
    }
    memmove(u->first_event + 1, u->first_event, in->chunk_count * sizeof *u->first_event);
    u->first_event[0] = 0;
}

static int by_hash(const void *a, const void *b)
{
    const struct kind_of_use *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static bool find_alike(struct sl_uses *u, const struct sl_plan_input *in)
{
    struct kind_of_use *kinds = malloc((in->chunk_count + 1) * sizeof *kinds);
    if (!kinds) return false;
    for (uint32_t c = 0; c < u->chunk_count; c++) {
        uint64_t hash = in->chunk_bytes[c];
        for (uint32_t e = u->first_event[c]; e < u->first_event[c + 1]; e++)
            hash = sl_hash_word(hash, (uint64_t)u->events[e].launch << 2 | u->events[e].kind);
        kinds[c] = (struct kind_of_use){hash, c};
    }
    qsort(kinds, u->chunk_count, sizeof *kinds, by_hash);
    for (uint32_t first = 0, end; first < u->chunk_count; first = end) {
        for (end = first; end < u->chunk_count && kinds[end].hash == kinds[first].hash; end++) {
            u->order[end] = kinds[end].chunk;
            u->rank_of[kinds[end].chunk] = end - first;
        }
        for (uint32_t i = first; i < end; i++) u->alike_count[kinds[i].chunk] = end - first;
    }
    free(kinds);
    return true;
}

void sl_uses_free(struct sl_uses *uses)
{
    free(uses->first_event);
    free(uses->events);
    free(uses->order);
    *uses = (struct sl_uses){0};
}

enum sl_status sl_uses_make(const struct sl_plan_input *in, size_t period, size_t most_accesses,
                            struct sl_uses *out)
{
    if (!period || in->launch_count < 2 * period) return SL_ERR_UNSUPPORTED;
    struct sl_uses u = {.period = period, .chunk_count = (uint32_t)in->chunk_count};
    size_t accesses = 0, events = 0, chunks = in->chunk_count;
    for (size_t t = 0; t < period; t++) {
        accesses += in->launches[t].access_count;
        events += in->launches[t].access_count + in->launches[t].death_count;
    }
    if (!accesses || accesses > most_accesses) return SL_ERR_UNSUPPORTED;
    u.hash = hash_of(in, 0, period);
    if (!repeats(in, period, u.hash)) return SL_ERR_UNSUPPORTED;
    u.access_count = (uint32_t)accesses;
    u.first_event = calloc(chunks + 2, sizeof *u.first_event);
    u.events = malloc((events + 1) * sizeof *u.events);
    u.order = calloc(3 * chunks + 1, sizeof *u.order);
    bool complete = u.first_event && u.events && u.order;
    if (complete) {
        u.rank_of = u.order + chunks;
        u.alike_count = u.rank_of + chunks;
        count_events(&u, in);
        list_events(&u, in);
        complete = find_alike(&u, in);
    }
    if (complete)
        *out = u;
    else
        sl_uses_free(&u);
    return complete ? SL_OK : SL_ERR_NO_MEMORY;
}
