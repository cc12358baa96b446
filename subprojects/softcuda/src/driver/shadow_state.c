#include "shadow_state.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define MEMOS 6
#define FINDINGS_MAX 64
#define NOTHING_FOUND SIZE_MAX

struct past_use {
    struct sc_actor *actor; /* a reference */
    uint8_t kind;           /* enum sc_use_kind */
};

/* Cache: what the list became for the current operation. */
struct memo {
    uint64_t serial;
    unsigned way;
    size_t finding;
    struct sc_state *to;
};

struct sc_state {
    struct sc_state *next; /* in its bucket */
    uint64_t hash;
    unsigned refs;
    uint32_t count;
    bool garbage; /* the content was discarded and not written since */
    struct memo memos[MEMOS];
    struct past_use list[];
};

static struct sc_state *buckets[BUCKETS];

/* The cache of the empty list. */
static struct memo empty_memos[MEMOS];

void sc_actor_unref(struct sc_actor *actor)
{
    if (actor && !--actor->refs) free(actor);
}

void sc_state_ref(struct sc_state *state)
{
    if (state) state->refs++;
}

void sc_state_unref(struct sc_state *state)
{
    if (!state || --state->refs) return;
    struct sc_state **at = &buckets[state->hash % BUCKETS];
    while (*at != state) at = &(*at)->next;
    *at = state->next;
    for (uint32_t i = 0; i < state->count; i++) sc_actor_unref(state->list[i].actor);
    free(state);
}

static bool replaces(enum sc_use_kind kind)
{
    return kind >= SC_USE_WRITE;
}

/* Whether the outcome is undefined if the two uses happen concurrently. */
static bool conflict(enum sc_use_kind a, enum sc_use_kind b)
{
    enum sc_use_kind low = a < b ? a : b, high = a < b ? b : a;
    if (high == SC_USE_ADVISE) return true;
    if (low == SC_USE_READ) return high >= SC_USE_WRITE || high == SC_USE_ATOMIC;
    if (low == SC_USE_POLL || low == SC_USE_ATOMIC) return high >= SC_USE_WRITE;
    if (low == SC_USE_PREFETCH) return high >= SC_USE_DISCARD;
    return !(low == SC_USE_DISCARD && high == SC_USE_DISCARD);
}

static bool same_list(const struct sc_state *state, const struct past_use *list, uint32_t count, bool garbage)
{
    if (state->count != count || state->garbage != garbage) return false;
    for (uint32_t i = 0; i < count; i++)
        if (state->list[i].actor != list[i].actor || state->list[i].kind != list[i].kind) return false;
    return true;
}

static bool remember(struct sc_step *step, struct sc_state *state)
{
    if (step->made_count == step->made_capacity) {
        size_t capacity = step->made_capacity ? 2 * step->made_capacity : 16;
        struct sc_state **made = realloc(step->made, capacity * sizeof *made);
        if (!made) return false;
        step->made = made;
        step->made_capacity = capacity;
    }
    step->made[step->made_count++] = state;
    state->refs++;
    return true;
}

/* The only state with this list; NULL: no memory. */
static struct sc_state *intern(struct sc_step *step, const struct past_use *list, uint32_t count,
                               bool garbage)
{
    uint64_t hash = garbage;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)list[i].actor ^ list[i].kind) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    struct sc_state **bucket = &buckets[hash % BUCKETS];
    for (struct sc_state *state = *bucket; state; state = state->next)
        if (state->hash == hash && same_list(state, list, count, garbage)) return state;
    struct sc_state *state = calloc(1, sizeof *state + count * sizeof *list);
    if (!state || !remember(step, state)) {
        free(state);
        return NULL;
    }
    state->next = *bucket;
    state->hash = hash;
    state->count = count;
    state->garbage = garbage;
    memcpy(state->list, list, count * sizeof *list);
    for (uint32_t i = 0; i < count; i++) list[i].actor->refs++;
    *bucket = state;
    return state;
}

static size_t find(struct sc_step *step, enum sc_finding_kind kind, const struct past_use *earlier,
                   enum sc_use_kind use)
{
    for (size_t i = 0; i < step->finding_count; i++) {
        const struct sc_finding *finding = &step->findings[i];
        if (finding->kind == kind && finding->earlier == earlier->actor &&
            finding->earlier_use == earlier->kind && finding->use == use)
            return i;
    }
    if (step->finding_count == FINDINGS_MAX) return NOTHING_FOUND;
    if (step->finding_count == step->finding_capacity) {
        size_t capacity = step->finding_capacity ? 2 * step->finding_capacity : 4;
        struct sc_finding *findings = realloc(step->findings, capacity * sizeof *findings);
        if (!findings) return NOTHING_FOUND;
        step->findings = findings;
        step->finding_capacity = capacity;
    }
    earlier->actor->refs++;
    step->findings[step->finding_count] = (struct sc_finding){
        .kind = kind, .earlier = earlier->actor, .earlier_use = earlier->kind, .use = use, .low = UINT64_MAX};
    return step->finding_count++;
}

/* What is wrong with the use; if several things are, the first. */
static size_t judge(struct sc_step *step, const struct sc_state *state, const struct sc_use_range *range)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct past_use *earlier = &state->list[i];
        bool ordered = sc_clock_reaches(step->clock, earlier->actor->moment);
        if (!ordered && conflict(earlier->kind, range->kind))
            return find(step, SC_FOUND_RACE, earlier, range->kind);
        if (ordered && earlier->kind == SC_USE_FREE && range->kind != SC_USE_ALLOCATE)
            return find(step, SC_FOUND_USE_AFTER_FREE, earlier, range->kind);
    }
    bool reads = range->content_read;
    for (uint32_t i = 0; reads && state->garbage && i < state->count; i++)
        if (state->list[i].kind == SC_USE_DISCARD)
            return find(step, SC_FOUND_GARBAGE, &state->list[i], SC_USE_READ);
    return NOTHING_FOUND;
}

/* Whether an earlier use stays in the list after the new one. It can be dropped only if every later use that
 * conflicts with it also conflicts with the new use: such a use comes after both, or is reported for the new
 * one. */
static bool stays(const struct sc_step *step, const struct past_use *earlier, enum sc_use_kind kind)
{
    bool ordered = sc_clock_reaches(step->clock, earlier->actor->moment);
    if (replaces(kind)) return !ordered && !conflict(earlier->kind, kind);
    return !ordered || earlier->kind != kind;
}

static struct sc_state *advance(struct sc_step *step, const struct sc_state *state,
                                const struct sc_use_range *range)
{
    uint32_t old = state ? state->count : 0, count = 0;
    struct past_use few[16], *list = old + 1 > 16 ? malloc((old + 1) * sizeof *list) : few;
    if (!list) return NULL;
    for (uint32_t i = 0; i < old; i++)
        if (stays(step, &state->list[i], range->kind)) list[count++] = state->list[i];
    list[count++] = (struct past_use){step->actor, (uint8_t)range->kind};
    bool kept = range->kind == SC_USE_READ || range->kind == SC_USE_POLL || range->kind == SC_USE_PREFETCH;
    bool garbage = range->kind == SC_USE_DISCARD || (kept && state && state->garbage);
    struct sc_state *next = intern(step, list, count, garbage);
    if (list != few) free(list);
    return next;
}

void sc_step_begin(struct sc_step *step, struct sc_actor *actor, const struct sc_clock *clock)
{
    static uint64_t serial;
    *step = (struct sc_step){.actor = actor, .clock = clock, .serial = ++serial};
}

static unsigned slot_of(const struct sc_use_range *range)
{
    unsigned slot = (unsigned)range->kind + (range->kind == SC_USE_WRITE && range->content_read);
    return slot < MEMOS ? slot : MEMOS - 1;
}

/* Adds the range to a finding. */
static void widen(struct sc_step *step, size_t number, const struct sc_use_range *range)
{
    if (number == NOTHING_FOUND) return;
    struct sc_finding *finding = &step->findings[number];
    if (range->begin < finding->low) finding->low = range->begin;
    if (range->end > finding->high) finding->high = range->end;
    finding->bytes += range->end - range->begin;
}

struct sc_state *sc_step_take(struct sc_step *step, struct sc_state *state, const struct sc_use_range *range)
{
    unsigned way = (unsigned)range->kind * 2 + range->content_read;
    struct memo *memo = &(state ? state->memos : empty_memos)[slot_of(range)];
    if (memo->serial != step->serial || memo->way != way) {
        size_t finding = state ? judge(step, state, range) : NOTHING_FOUND;
        *memo = (struct memo){step->serial, way, finding, advance(step, state, range)};
    }
    widen(step, memo->finding, range);
    step->failed |= !memo->to;
    return memo->to;
}

void sc_step_check(struct sc_step *step, const struct sc_state *state, const struct sc_use_range *range)
{
    if (state) widen(step, judge(step, state, range), range);
}

void sc_step_end(struct sc_step *step)
{
    for (size_t i = 0; i < step->finding_count; i++) sc_actor_unref(step->findings[i].earlier);
    for (size_t i = 0; i < step->made_count; i++) sc_state_unref(step->made[i]);
    free(step->findings);
    free(step->made);
}
