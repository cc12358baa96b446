#include "demand.h"

#define DEAD_SEARCH 64 /* oldest chunks looked at for a dead one */

static void unlink_chunk(struct sl_core *core, sl_chunk c)
{
    struct sl_chunk_record *chunk = sl_arena_record(&core->arena, c);
    if (chunk->newer == c) return;
    if (chunk->newer == SL_NO_CHUNK)
        core->newest = chunk->older;
    else
        sl_arena_record(&core->arena, chunk->newer)->older = chunk->older;
    if (chunk->older == SL_NO_CHUNK)
        core->oldest = chunk->newer;
    else
        sl_arena_record(&core->arena, chunk->older)->newer = chunk->newer;
    chunk->newer = chunk->older = c;
}

void sl_demand_touch(struct sl_core *core, sl_chunk c)
{
    if (core->newest == c) return;
    unlink_chunk(core, c);
    struct sl_chunk_record *chunk = sl_arena_record(&core->arena, c);
    chunk->newer = SL_NO_CHUNK;
    chunk->older = core->newest;
    if (core->newest == SL_NO_CHUNK)
        core->oldest = c;
    else
        sl_arena_record(&core->arena, core->newest)->newer = c;
    core->newest = c;
}

static bool is_resident(const struct sl_chunk_record *chunk)
{
    int content = atomic_load(&chunk->content);
    return content == SL_CONTENT_RESIDENT || content == SL_CONTENT_RESIDENT_DEAD;
}

static uint64_t lacking_bytes(const struct sl_chunk_record *chunk)
{
    uint64_t held = is_resident(chunk) ? atomic_load(&chunk->frame_bytes) : 0,
             bytes = atomic_load(&chunk->bytes);
    return bytes > held ? bytes - held : 0;
}

bool sl_demand_lacking(const struct sl_core *core)
{
    for (uint32_t i = 0; i < core->touched_count; i++)
        if (lacking_bytes(sl_arena_record(&core->arena, core->touched[i]))) return true;
    return false;
}

/* The oldest resident chunk that launch `tick` does not use; a dead one among the oldest goes first. */
static sl_chunk find_victim(struct sl_core *core, sl_tick tick)
{
    sl_chunk victim = SL_NO_CHUNK, next;
    uint32_t looked = 0;
    for (sl_chunk c = core->oldest; c != SL_NO_CHUNK && looked < DEAD_SEARCH; c = next) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, c);
        next = chunk->newer;
        if (!is_resident(chunk)) {
            unlink_chunk(core, c); /* it comes back when it is used */
            continue;
        }
        if (chunk->last_use == tick) continue;
        if (atomic_load(&chunk->content) == SL_CONTENT_RESIDENT_DEAD) return c;
        if (victim == SL_NO_CHUNK) victim = c;
        looked++;
    }
    if (victim != SL_NO_CHUNK) return victim;
    /* What was brought and never used is in no list. */
    for (size_t c = 0; c < sl_arena_chunk_count(&core->arena); c++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, (sl_chunk)c);
        if (is_resident(chunk) && chunk->last_use != tick) return (sl_chunk)c;
    }
    return SL_NO_CHUNK;
}

/* Evicts until `bytes` more fit. False when only the launch's own chunks are left. */
static bool make_room(struct sl_core *core, sl_tick tick, uint64_t bytes)
{
    uint64_t budget = sl_core_budget(core);
    while (atomic_load(&core->mover.occupied_bytes) + bytes > budget) {
        sl_chunk victim = find_victim(core, tick);
        if (victim == SL_NO_CHUNK) return false;
        sl_core_record_fence(core, &core->demand_fence,
                             atomic_load(&sl_arena_record(&core->arena, victim)->users));
        if (!sl_mover_release(&core->mover, victim, &core->demand_fence, SL_CAUSE_DEMAND)) return false;
    }
    return true;
}

uint32_t sl_demand_bring(struct sl_core *core, sl_tick tick)
{
    struct sl_mover *mover = &core->mover;
    uint64_t own = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < core->touched_count; i++)
        own += sl_arena_record(&core->arena, core->touched[i])->bytes;
    bool fits = own <= sl_core_budget(core);
    pthread_mutex_lock(&mover->out.lock);
    pthread_mutex_lock(&mover->in.lock);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t bytes = lacking_bytes(chunk);
        if (!bytes) continue;
        if (atomic_load(&chunk->content) != SL_CONTENT_DEAD) missing++;
        bool room = fits ? make_room(core, tick, bytes)
                         : atomic_load(&mover->occupied_bytes) + bytes <= sl_core_budget(core);
        if (!room) continue;
        sl_mover_bring(mover, core->touched[i], chunk->bytes, atomic_load(&mover->out.issued),
                       SL_CAUSE_DEMAND);
    }
    pthread_mutex_unlock(&mover->in.lock);
    pthread_mutex_unlock(&mover->out.lock);
    return missing;
}
