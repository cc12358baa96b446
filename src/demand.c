#include "demand.h"

/* Parts of the budget that are kept free where nothing is planned, once something was lacking: at least, and
 * at most, where launches lack much. Less while something is due: part of what is lacking is known. */
enum { SPARE_PART = 32, SPARE_PART_WHILE_DUE = 64, MOST_SPARE_PART = 8, LAUNCHES_TO_SPARE_FOR = 2 };
/* Idle time of the link is not saved for longer than it takes to carry so many chunks. */
enum { MOST_IDLE_CHUNKS = 4 };

static uint64_t lacking_bytes(const struct sl_chunk_record *chunk)
{
    uint64_t held = sl_chunk_is_resident(chunk) ? atomic_load(&chunk->frame_bytes) : 0,
             bytes = atomic_load(&chunk->bytes);
    return bytes > held ? bytes - held : 0;
}

bool sl_demand_lacking(const struct sl_core *core)
{
    for (uint32_t i = 0; i < core->touched_count; i++)
        if (lacking_bytes(sl_arena_record(&core->arena, core->touched[i]))) return true;
    return false;
}

uint64_t sl_demand_own_bytes(const struct sl_core *core)
{
    uint64_t own = 0;
    for (uint32_t i = 0; i < core->touched_count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        if (!chunk->pinned) own += chunk->bytes;
    }
    return own;
}

/* The order in which chunks leave, the lowest first: dead ones, which nobody misses, then as the policy has
 * it, and last what is due, the latest first, unless a plan knows better. */
static uint64_t turn_of(const struct sl_core *core, const struct sl_chunk_record *chunk)
{
    if (atomic_load(&chunk->content) == SL_CONTENT_RESIDENT_DEAD) return 0;
    if (chunk->due > core->tick && !atomic_load_explicit(&core->schedule.active, memory_order_relaxed))
        return UINT64_MAX - chunk->due;
    switch (core->policy->victims) {
    case SL_VICTIMS_FIRST_IN:
        return atomic_load(&chunk->in_sequence);
    default:
        return chunk->last_use;
    }
}

/* Looks through all chunks for the first to leave of those that launch `tick` does not use: an insertion sort
 * that keeps the first SL_VICTIMS. Done once for that many victims, so that the launch path keeps no list. */
static void look_for_victims(struct sl_core *core, sl_tick tick)
{
    core->victim_count = core->victim_next = 0;
    for (size_t c = 0; c < sl_arena_chunk_count(&core->arena); c++) {
        const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, (sl_chunk)c);
        if (!sl_chunk_is_resident(chunk) || chunk->pinned || chunk->last_use == tick) continue;
        uint64_t turn = turn_of(core, chunk);
        uint32_t at = core->victim_count;
        if (at == SL_VICTIMS && turn >= core->victims[at - 1].turn) continue;
        if (at == SL_VICTIMS) at--;
        for (; at > 0 && core->victims[at - 1].turn > turn; at--) core->victims[at] = core->victims[at - 1];
        core->victims[at] = (struct sl_victim){(sl_chunk)c, turn};
        if (core->victim_count < SL_VICTIMS) core->victim_count++;
    }
}

static sl_chunk next_victim(struct sl_core *core, sl_tick tick)
{
    while (core->victim_next < core->victim_count) {
        const struct sl_victim *victim = &core->victims[core->victim_next++];
        const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, victim->chunk);
        if (sl_chunk_is_resident(chunk) && turn_of(core, chunk) == victim->turn && chunk->last_use != tick)
            return victim->chunk;
    }
    return SL_NO_CHUNK;
}

static sl_chunk find_victim(struct sl_core *core, sl_tick tick)
{
    sl_chunk victim = next_victim(core, tick);
    if (victim != SL_NO_CHUNK) return victim;
    look_for_victims(core, tick);
    return next_victim(core, tick);
}

/* Evicts until `bytes` more fit, but nothing that is due up to `until`. False when only that is left, or the
 * launch's own chunks. */
static bool make_room(struct sl_core *core, sl_tick tick, uint64_t bytes, sl_tick until)
{
    uint64_t budget = sl_core_budget(core);
    while (atomic_load(&core->mover.occupied_bytes) + bytes > budget) {
        sl_chunk victim = sl_schedule_take_back(&core->schedule, tick);
        if (victim == SL_NO_CHUNK) victim = find_victim(core, tick);
        if (victim == SL_NO_CHUNK) return false;
        const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, victim);
        if (chunk->due > tick && chunk->due <= until) {
            core->victim_next--; /* it stays the first */
            return false;
        }
        sl_core_record_fence(core, &core->demand_fence, atomic_load(&chunk->users));
        if (!sl_mover_release(&core->mover, victim, &core->demand_fence, SL_CAUSE_DEMAND)) return false;
    }
    return true;
}

/* What has to leave is copied out while this launch runs, instead of while the next one waits: nobody knows
 * what that will lack, but it is about as much as this one did. Not where all that lives has room. */
static void make_spare_room(struct sl_core *core, sl_tick tick, uint64_t brought_bytes)
{
    uint64_t budget = sl_core_budget(core), most = budget / MOST_SPARE_PART;
    uint64_t spare = budget / (core->due.heap_count ? SPARE_PART_WHILE_DUE : SPARE_PART);
    bool ahead = core->policy->plans && core->policy->when == SL_PLAN_AHEAD;
    if (!ahead || most < core->arena.chunk_bytes || sl_arena_moving_bytes(&core->arena) <= budget) return;
    if (spare < LAUNCHES_TO_SPARE_FOR * brought_bytes) spare = LAUNCHES_TO_SPARE_FOR * brought_bytes;
    make_room(core, tick, spare < most ? spare : most, tick);
}

uint32_t sl_demand_bring(struct sl_core *core, sl_tick tick)
{
    struct sl_mover *mover = &core->mover;
    uint64_t brought_bytes = 0;
    uint32_t missing = 0;
    bool fits = sl_demand_own_bytes(core) <= sl_core_budget(core);
    pthread_mutex_lock(&mover->out.lock);
    pthread_mutex_lock(&mover->in.lock);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t bytes = lacking_bytes(chunk);
        if (!bytes) continue;
        if (atomic_load(&chunk->content) != SL_CONTENT_DEAD) missing++;
        bool room = fits ? make_room(core, tick, bytes, tick)
                         : atomic_load(&mover->occupied_bytes) + bytes <= sl_core_budget(core);
        if (!room) continue;
        sl_mover_bring(mover, core->touched[i], chunk->bytes,
                       sl_mover_room_after(mover, core->touched[i], chunk->bytes, sl_core_budget(core)),
                       SL_CAUSE_DEMAND);
        brought_bytes += bytes;
    }
    if (brought_bytes) core->due.idle_bytes = 0;
    if (fits && brought_bytes && !atomic_load(&core->schedule.active))
        make_spare_room(core, tick, brought_bytes);
    pthread_mutex_unlock(&mover->in.lock);
    pthread_mutex_unlock(&mover->out.lock);
    return missing;
}

void sl_demand_bring_due(struct sl_core *core)
{
    struct sl_mover *mover = &core->mover;
    struct sl_due *due = &core->due;
    uint64_t most = MOST_IDLE_CHUNKS * core->arena.chunk_bytes;
    sl_tick tick;
    sl_chunk chunk;
    if (!due->heap_count) return;
    due->idle_bytes += (uint64_t)((double)due->launch_ns * (double)core->link_in_bytes_per_s / 1e9);
    if (due->idle_bytes > most) due->idle_bytes = most;
    pthread_mutex_lock(&mover->out.lock);
    pthread_mutex_lock(&mover->in.lock);
    while ((chunk = sl_due_next(core, &tick)) != SL_NO_CHUNK) {
        uint64_t bytes = atomic_load(&sl_arena_record(&core->arena, chunk)->bytes);
        if (bytes > due->idle_bytes || !make_room(core, core->tick, bytes, tick)) break;
        uint64_t after_out = sl_mover_room_after(mover, chunk, bytes, sl_core_budget(core));
        if (!sl_mover_bring(mover, chunk, bytes, after_out, SL_CAUSE_PLAN)) break;
        due->idle_bytes -= bytes;
    }
    pthread_mutex_unlock(&mover->in.lock);
    pthread_mutex_unlock(&mover->out.lock);
}

void sl_demand_leave_to_driver(struct sl_core *core)
{
    for (uint32_t i = 0; i < core->touched_count; i++) sl_mover_concede(&core->mover, core->touched[i]);
}
