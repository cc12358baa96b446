/* The launch path: from sl_runtime_launch_begin to _end, and what stands between two launches. */
#include "access.h"
#include "core.h"
#include "daemon.h"
#include "demand.h"
#include "log.h"
#include "record.h"
#include "reuse.h"
#include "sample.h"
#include "stall.h"
#include "test_delay.h"
#include "text.h"

/* Marks the launch's chunks as used where that is all there is to do: every one is resident, its stream has
 * used them since they came, and knows of their arrival. */
static bool use_plainly(struct sl_core *core, uint32_t s)
{
    uint64_t bit = (uint64_t)1 << s;
    uint64_t joined = s == SL_SHARED_STREAM ? 0 : core->streams[s].joined_in;
    bool plain = true;
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        chunk->last_use = core->tick;
        plain &= atomic_load_explicit(&chunk->content, memory_order_relaxed) == SL_CONTENT_RESIDENT &&
                 atomic_load_explicit(&chunk->bytes, memory_order_relaxed) <=
                     atomic_load_explicit(&chunk->frame_bytes, memory_order_relaxed) &&
                 users & bit && atomic_load_explicit(&chunk->in_sequence, memory_order_relaxed) <= joined;
    }
    return plain;
}

/* Marks the launch's chunks as used by its stream. Returns the last fetch that it has to wait for; adds up
 * what it will use in place. */
static uint64_t use_chunks(struct sl_core *core, uint32_t s, uint64_t *in_place_bytes)
{
    uint64_t bit = (uint64_t)1 << s, latest = 0;
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        if (!(users & bit)) atomic_fetch_or(&chunk->users, bit);
        atomic_store_explicit(&chunk->unused, false, memory_order_relaxed);
        if (atomic_load(&chunk->content) != SL_CONTENT_RESIDENT) {
            int dead = SL_CONTENT_DEAD;
            atomic_compare_exchange_strong(&chunk->content, &dead, SL_CONTENT_HOST); /* written in place */
            if (atomic_load(&chunk->content) == SL_CONTENT_HOST) *in_place_bytes += chunk->bytes;
        }
        uint64_t sequence = atomic_load(&chunk->in_sequence);
        if (sequence > latest) latest = sequence;
    }
    return latest;
}

static const char *launch_name(const struct sl_core *core, const struct sl_launch *launch, uint32_t kernel)
{
    if (kernel) return core->kernels.kernels[kernel].name;
    return launch->kind == SL_LAUNCH_GRAPH ? "a graph" : "a copy";
}

static void say_oversize(struct sl_core *core, const char *name, uint64_t own)
{
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
    sl_warn_once("%s uses %s, more than the budget of %s: it runs partly in host memory", name,
                 sl_bytes_text(own, need), sl_bytes_text(sl_core_budget(core), budget));
    atomic_fetch_add(&core->stats.oversize_launches, 1);
}

/* Sees to chunks that neither were resident nor came by the schedule. */
static void see_to_lacking(struct sl_core *core, const struct sl_launch *launch, uint32_t kernel)
{
    if (core->policy->memory == SL_MEMORY_PAGED) {
        sl_demand_leave_to_driver(core);
        return;
    }
    uint64_t own = sl_demand_own_bytes(core);
    bool oversize = own > sl_core_budget(core), planned = atomic_load(&core->schedule.active);
    if (oversize) {
        say_oversize(core, launch_name(core, launch, kernel), own);
        if (planned) return; /* the plan knows of it, and promised the frames to others */
    } else if (planned && core->schedule.steps.strands) {
        /* It came earlier than was thought; the rest of the plan is no worse for it. */
        sl_core_plan_soon(core);
    } else if (planned) {
        atomic_fetch_add(&core->stats.surprises, 1);
        sl_core_drop_schedule(core); /* its frames are no longer where it believes them */
    }
    uint32_t missing = sl_demand_bring(core, core->tick);
    if (!oversize) SL_COUNT(&core->stats, demand_misses, missing);
}

/* Which of its chunks the launch may write: what host memory has of them is old from then on. */
static void note_written(struct sl_core *core)
{
    for (uint32_t a = 0; a < core->access_count; a++) {
        const struct sl_access *access = &core->accesses[a];
        const struct sl_slot *slot = &core->placement.slots[access->slot];
        if (access->only_read) continue;
        struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, access->offset,
                                                     sl_access_end(slot, access) - access->offset);
        for (uint32_t i = 0; i < range.count; i++)
            atomic_store(&sl_arena_record(&core->arena, range.first + i)->written, true);
    }
}

/* Sees to the launch's chunks. True: all are on the device when its stream gets there. */
static bool use(struct sl_core *core, const struct sl_launch *launch, uint32_t s, uint32_t kernel)
{
    uint64_t in_place = 0;
    if (use_plainly(core, s)) return true;
    if (sl_demand_lacking(core)) see_to_lacking(core, launch, kernel);
    uint64_t fetch = use_chunks(core, s, &in_place);
    if (sl_core_must_join(core, s, &core->mover.in, fetch)) sl_stall_wait(core, launch->stream, fetch);
    if (in_place) SL_COUNT(&core->stats, remote_bytes, in_place);
    return !in_place && !sl_demand_lacking(core);
}

/* Without a daemon: whether what is due is issued behind a launch, as the program may wait before its next
 * one. Policies that hardly look ahead do nothing then, and where streams go their own ways it is better
 * known at the next launch what is due. */
static bool moves_between_launches(const struct sl_core *core)
{
    return core->policy->when == SL_PLAN_AHEAD && !core->schedule.steps.strands;
}

static void begin(struct sl_core *core, struct sl_launch *launch)
{
    uint32_t s = sl_core_stream(core, launch->stream), kernel = 0;
    core->stream = s;
    launch->tick = ++core->tick;
    atomic_store_explicit(&core->open[launch->tick % SL_OPEN_LAUNCHES], launch->tick, memory_order_relaxed);
    atomic_store_explicit(&core->stats.tick, core->tick, memory_order_relaxed);
    core->active_streams |= (uint64_t)1 << s;
    if (core->symbols.full) sl_core_forget(core);
    sl_symbol symbol = sl_access_scan(core, launch, &kernel);
    sl_core_feed(core, symbol, s);
    sl_stats_launched(&core->stats);
    sl_record_launch(core, launch, symbol, kernel);
    bool everything = !core->daemon && !moves_between_launches(core);
    if (sl_schedule_begin(&core->schedule, core->tick, everything) && core->daemon)
        sl_daemon_wake(core->daemon);
    if (core->join_count) sl_joins_wait(core, s, launch->stream);
    if (sl_core_must_join(core, s, &core->mover.out, core->join_out))
        sl_mover_wait(&core->mover, &core->mover.out, core->join_out, launch->stream);
    sl_access_chunks(core, launch, symbol, kernel);
    bool noted = sl_due_is_noted(core);
    if (noted) sl_due_note(core, symbol);
    bool resident = !core->touched_count || use(core, launch, s, kernel);
    if (core->backend.leave) note_written(core);
    if (core->pinned_bytes) {
        SL_COUNT(&core->stats, remote_bytes, core->pinned_bytes);
        SL_COUNT(&core->stats, pinned_bytes, core->pinned_bytes);
    }
    if (noted) sl_demand_bring_due(core);
    sl_core_plan(core);
    if (core->sampler) launch->state = sl_sample_begin(core, launch, symbol, kernel, resident);
}

struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch)
{
    struct sl_core *core = sl_core_running();
    if (!core) return NULL;
    pthread_mutex_lock(&core->order);
    struct sl_footprint *footprint = sl_access_footprint(core, launch);
    pthread_mutex_unlock(&core->order);
    return footprint;
}

void sl_runtime_launch_begin(struct sl_launch *launch)
{
    struct sl_core *core = sl_core_running();
    launch->tick = 0;
    launch->state = NULL;
    if (!core) return;
    if (atomic_load_explicit(&core->captures, memory_order_relaxed) &&
        core->backend.stream_capturing(core->backend.self, launch->stream))
        return;
    pthread_mutex_lock(&core->order);
    begin(core, launch);
    pthread_mutex_unlock(&core->order);
    SL_TEST_DELAY(LAUNCH_BEGUN);
}

static void end_sample(struct sl_core *core, const struct sl_launch *launch, bool ok)
{
    pthread_mutex_lock(&core->order);
    if (core->sampler) sl_sample_end(core, launch->state, launch, ok);
    pthread_mutex_unlock(&core->order);
}

/* From here on it counts as submitted. */
static void close_launch(struct sl_core *core, sl_tick tick)
{
    _Atomic sl_tick *open = &core->open[tick % SL_OPEN_LAUNCHES];
    if (atomic_load_explicit(open, memory_order_relaxed) == tick)
        atomic_store_explicit(open, 0, memory_order_release);
}

/* A launch that was refused used nothing: its chunks are resident all the same. */
void sl_runtime_launch_end(struct sl_launch *launch, bool ok)
{
    struct sl_core *core = sl_core_running();
    if (!core || !launch->tick) return;
    SL_TEST_DELAY(LAUNCH_GIVEN);
    if (launch->state) end_sample(core, launch, ok);
    if (!atomic_load_explicit(&core->schedule.active, memory_order_acquire)) {
        close_launch(core, launch->tick);
        return;
    }
    pthread_mutex_lock(&core->order);
    uint64_t leaving = sl_schedule_leaving_users(&core->schedule, launch->tick);
    struct sl_fence *fence = leaving ? sl_schedule_fence(&core->schedule) : NULL;
    if (fence) {
        sl_core_record_fence(core, fence, leaving);
        sl_fences_put(&core->schedule.fences, fence, launch->tick);
    }
    close_launch(core, launch->tick);
    sl_schedule_submitted(&core->schedule, sl_core_submitted(core));
    if (core->daemon)
        sl_daemon_wake(core->daemon);
    else if (moves_between_launches(core))
        sl_schedule_go_on(&core->schedule);
    pthread_mutex_unlock(&core->order);
}
