#include "core/core.h"

#include "move/steps.h"

/* Without a plan, a part of the budget is kept free once launches lacked chunks: at least 1/SPARE_PART,
 * enough for LAUNCHES_TO_SPARE_FOR launches, and at most 1/MOST_SPARE_PART. */
enum { SPARE_PART = 32, MOST_SPARE_PART = 8, LAUNCHES_TO_SPARE_FOR = 2 };

/* The part of a chunk's first `bytes` bytes that is not on the device. */
static uint64_t lacking_of(const struct sl_chunk_record *chunk, uint64_t bytes)
{
    uint64_t held = sl_chunk_is_resident(chunk) ? atomic_load(&chunk->frame_bytes) : 0;
    return bytes > held ? bytes - held : 0;
}

static uint64_t lacking_bytes(const struct sl_chunk_record *chunk)
{
    return lacking_of(chunk, atomic_load(&chunk->bytes));
}

bool sl_demand_lacking(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (lacking_bytes(sl_arena_record(&demand->core->arena, chunks[i]))) return true;
    return false;
}

uint64_t sl_demand_own_bytes(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count)
{
    uint64_t own = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(&demand->core->arena, chunks[i]);
        if (!chunk->pinned) own += chunk->bytes;
    }
    return own;
}

/* The order of eviction, lowest first. With a plan: dead chunks, then the furthest next use. Without: dead
 * chunks, then the policy's order. */
static uint64_t turn_of(const struct sl_demand *demand, sl_chunk c, sl_tick tick)
{
    const struct sl_chunk_record *chunk = sl_arena_record(&demand->core->arena, c);
    const struct sl_steps *steps = &demand->core->schedule.steps;
    bool dead = atomic_load(&chunk->content) == SL_CONTENT_RESIDENT_DEAD;
    if (atomic_load_explicit(&demand->core->schedule.active, memory_order_relaxed) && steps->uses.first) {
        size_t next = tick < steps->first_tick ? 0 : (size_t)(tick - steps->first_tick) + 1;
        return (uint64_t)!dead << 32 | (UINT32_MAX - sl_planned_uses_next(&steps->uses, c, next));
    }
    if (dead) return 0;
    switch (demand->core->policy->victims) {
    case SL_VICTIMS_FIRST_IN:
        return atomic_load(&chunk->in_sequence);
    default:
        return chunk->last_use;
    }
}

/* Searches all chunks for the first SL_VICTIMS to evict among those that launch `tick` does not use, by
 * insertion sort. One search serves that many evictions, so the launch path keeps no list. */
static void look_for_victims(struct sl_demand *demand, sl_tick tick)
{
    uint64_t resident = 0, candidates = 0;
    demand->victims.count = demand->victims.next = 0;
    size_t count = sl_arena_chunk_count(&demand->core->arena);
    for (size_t c = 0; (c = sl_arena_skip_unused(&demand->core->arena, c, count)) < count; c++) {
        const struct sl_chunk_record *chunk = sl_arena_record(&demand->core->arena, (sl_chunk)c);
        if (!sl_chunk_is_resident(chunk)) continue;
        resident++;
        if (chunk->pinned || chunk->last_use >= tick) continue;
        candidates++;
        uint64_t turn = turn_of(demand, (sl_chunk)c, tick);
        uint32_t at = demand->victims.count;
        if (at == SL_VICTIMS && turn >= demand->victims.at[at - 1].turn) continue;
        if (at == SL_VICTIMS) at--;
        for (; at > 0 && demand->victims.at[at - 1].turn > turn; at--)
            demand->victims.at[at] = demand->victims.at[at - 1];
        demand->victims.at[at] = (struct sl_victim){(sl_chunk)c, turn};
        if (demand->victims.count < SL_VICTIMS) demand->victims.count++;
    }
    sl_chunk first = candidates ? demand->victims.at[0].chunk : SL_NONE;
    sl_decision_victims(resident, candidates, tick, first,
                        candidates ? sl_arena_record(&demand->core->arena, first)->last_use : 0);
}

static sl_chunk next_victim(struct sl_demand *demand, sl_tick tick)
{
    while (demand->victims.next < demand->victims.count) {
        const struct sl_victim *victim = &demand->victims.at[demand->victims.next++];
        const struct sl_chunk_record *chunk = sl_arena_record(&demand->core->arena, victim->chunk);
        if (sl_chunk_is_resident(chunk) && turn_of(demand, victim->chunk, tick) == victim->turn &&
            chunk->last_use < tick)
            return victim->chunk;
    }
    return SL_NONE;
}

/* A fetch for a launch, and the evictions for it. */
struct fetching {
    struct sl_demand *demand;
    sl_tick tick;           /* the launch, whose own chunks stay */
    struct sl_fence *fence; /* behind all work so far; NULL: no eviction, or none that waits */
};

/* A fence behind all work so far if `bytes` bytes need evictions; else NULL. Enqueues. */
static struct sl_fence *fence_for(struct sl_demand *demand, uint64_t bytes)
{
    struct sl_fence_stream streams[SL_STREAMS];
    if (atomic_load(&demand->core->migrator.occupied_bytes) + bytes <= sl_budget_bytes(&demand->core->budget))
        return NULL;
    struct sl_fence *fence = sl_fences_new(&demand->core->schedule.fences, 0);
    if (!fence) return NULL;
    sl_lock(&demand->core->order);
    uint32_t count = sl_streams_to_fence(&demand->core->streams, demand->core->streams.active, streams);
    sl_unlock(&demand->core->order);
    sl_fence_record(&demand->core->streams, fence, streams, count);
    return fence;
}

static void end(const struct fetching *fetching)
{
    if (fetching->fence) sl_fences_give(&fetching->demand->core->schedule.fences, fetching->fence);
}

/* Evicts chunks until `bytes` more fit. False: only the launch's own are left. */
static bool make_room(const struct fetching *fetching, uint64_t bytes)
{
    struct sl_demand *demand = fetching->demand;
    uint64_t budget = sl_budget_bytes(&demand->core->budget);
    while (atomic_load(&demand->core->migrator.occupied_bytes) + bytes > budget) {
        sl_chunk victim = sl_schedule_take_back(&demand->core->schedule, fetching->tick);
        if (victim == SL_NONE) victim = next_victim(demand, fetching->tick);
        if (victim == SL_NONE) {
            look_for_victims(demand, fetching->tick);
            victim = next_victim(demand, fetching->tick);
        }
        if (victim == SL_NONE) return false;
        if (!sl_migrator_evict(&demand->core->migrator, victim, fetching->fence, SL_CAUSE_DEMAND))
            return false;
    }
    return true;
}

/* The bytes to keep free after a launch that fetched `fetched_bytes`. Room is then made while this launch
 * runs, instead of while the next one waits; the next one lacks about as much as this one. 0 if all chunks
 * fit the budget. */
static uint64_t spare_room(const struct sl_demand *demand, uint64_t fetched_bytes)
{
    uint64_t budget = sl_budget_bytes(&demand->core->budget), most = budget / MOST_SPARE_PART;
    uint64_t spare = budget / SPARE_PART;
    bool ahead = demand->core->policy->plans && demand->core->policy->when == SL_PLAN_AHEAD;
    if (!ahead || most < demand->core->arena.chunk_bytes ||
        sl_arena_moving_bytes(&demand->core->arena) <= budget)
        return 0;
    if (spare < LAUNCHES_TO_SPARE_FOR * fetched_bytes) spare = LAUNCHES_TO_SPARE_FOR * fetched_bytes;
    return spare < most ? spare : most;
}

uint32_t sl_demand_fetch(struct sl_demand *demand, const struct sl_demand_for *launch, bool *fetched)
{
    struct sl_migrator *migrator = &demand->core->migrator;
    uint64_t fetched_bytes = 0, lacking = 0, budget = sl_budget_bytes(&demand->core->budget);
    uint32_t missing = 0;
    for (uint32_t i = 0; i < launch->count; i++)
        lacking += lacking_bytes(sl_arena_record(&demand->core->arena, launch->chunks[i]));
    bool fits = sl_demand_own_bytes(demand, launch->chunks, launch->count) <= budget;
    struct fetching fetching = {demand, launch->tick,
                                fence_for(demand, lacking + spare_room(demand, lacking))};
    sl_migrator_lock(migrator);
    for (uint32_t i = 0; i < launch->count; i++) {
        sl_chunk c = launch->chunks[i];
        struct sl_chunk_record *chunk = sl_arena_record(&demand->core->arena, c);
        /* Read once: another thread may allocate in the chunk meanwhile, and room was made for these bytes
         * only. */
        uint64_t wanted = atomic_load(&chunk->bytes), bytes = lacking_of(chunk, wanted);
        if (!bytes) continue;
        if (atomic_load(&chunk->content) != SL_CONTENT_DEAD) missing++;
        bool room =
            fits ? make_room(&fetching, bytes) : atomic_load(&migrator->occupied_bytes) + bytes <= budget;
        if (!room) continue;
        sl_migrator_fetch(migrator, c, wanted, sl_migrator_room_after(migrator, c, wanted, budget),
                          SL_CAUSE_DEMAND);
        fetched_bytes += bytes;
    }
    if (fits && fetched_bytes && !atomic_load(&demand->core->schedule.active))
        make_room(&fetching, spare_room(demand, fetched_bytes));
    sl_migrator_unlock(migrator);
    end(&fetching);
    *fetched = fetched_bytes > 0;
    return missing;
}

void sl_demand_give_way(struct sl_demand *demand)
{
    struct sl_migrator *migrator = &demand->core->migrator;
    struct fetching fetching = {.demand = demand};
    sl_lock(&demand->core->order);
    fetching.tick = demand->core->history.ticks.now + 1;
    sl_unlock(&demand->core->order);
    fetching.fence = fence_for(demand, 0);
    sl_migrator_lock(migrator);
    make_room(&fetching, 0);
    sl_migrator_unlock(migrator);
    /* What takes the room comes with the driver's next call. */
    if (migrator->movers) sl_migrator_wait_host(migrator, &migrator->out, atomic_load(&migrator->out.given));
    end(&fetching);
}
