#include "core/runtime.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/test_hooks.h"
#include "base/text.h"
#include "core/core.h"
#include "move/daemon.h"

enum { FEW_CHUNKS = 64 };
enum { MOST_LINES = 8 }; /* about launches beyond the budget */

/* A launch between the steps of its beginning: what was found out under the order lock, for the work that is
 * done without it. Private to the launching thread. */
struct launch_context {
    struct sl_launch *launch;
    sl_tick tick;
    uint32_t stream; /* the stream's number */
    uint32_t kernel;
    sl_symbol symbol;
    const sl_chunk *chunks; /* that the launch uses, each once: `few` or `many` */
    uint32_t chunk_count;
    sl_chunk few[FEW_CHUNKS], *many;
    struct sl_schedule_batch batch; /* steps of the schedule to issue */
    bool resident;                  /* all its chunks will be resident when its stream gets there */
    uint64_t in_sequence;           /* the fetch that its stream waits for; 0: none */
    struct sl_joining joining;      /* waits for freed memory; data depends on them */
    bool beside;                    /* its stream may capture: nothing is enqueued there */
    bool in_place;                  /* a plan has it use in host memory what it lacks */
    uint64_t in_place_bytes;        /* which are so many */
    struct sl_stall *stall;         /* measures the wait for `in_sequence`; or NULL */
};

/* Marks the launch's chunks as used. True: nothing else is to be done, because every chunk is resident, the
 * stream has used it since it was fetched, and has waited for that fetch. */
static bool use_plainly(struct sl_core *core, const struct sl_usage *usage, uint32_t s)
{
    uint64_t bit = (uint64_t)1 << s;
    uint64_t joined = s == SL_SHARED_STREAM ? 0 : core->streams.known[s].joined_in;
    bool plain = true;
    for (uint32_t i = 0; i < usage->chunk_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, usage->chunks[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        atomic_store_explicit(&chunk->last_use, core->history.ticks.now, memory_order_relaxed);
        plain &= atomic_load_explicit(&chunk->content, memory_order_relaxed) == SL_CONTENT_RESIDENT &&
                 atomic_load_explicit(&chunk->bytes, memory_order_relaxed) <=
                     atomic_load_explicit(&chunk->frame_bytes, memory_order_relaxed) &&
                 users & bit && atomic_load_explicit(&chunk->in_sequence, memory_order_relaxed) <= joined;
    }
    return plain;
}

/* Marks the launch's chunks as used by its stream, and finds the last fetch that the stream has to wait for.
 * Returns the bytes of chunks that are not on the device, which the launch uses remotely at least in part. */
static uint64_t use_chunks(struct sl_core *core, struct launch_context *context)
{
    uint64_t bit = (uint64_t)1 << context->stream, remote_bytes_used = 0;
    for (uint32_t i = 0; i < context->chunk_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, context->chunks[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        if (!(users & bit)) atomic_fetch_or(&chunk->users, bit);
        atomic_store_explicit(&chunk->unused, false, memory_order_relaxed);
        if (atomic_load(&chunk->content) != SL_CONTENT_RESIDENT) {
            sl_content_change(chunk, SL_CONTENT_DEAD, SL_CONTENT_HOST); /* may be written remotely */
            if (atomic_load(&chunk->content) == SL_CONTENT_HOST) remote_bytes_used += chunk->bytes;
        }
        uint64_t sequence = atomic_load(&chunk->in_sequence);
        if (sequence > context->in_sequence) context->in_sequence = sequence;
    }
    return remote_bytes_used;
}

/* A line for the first launch beyond the budget, and for each one that needs more than those before, up to
 * MOST_LINES: the last line's remedy is enough for all so far. Precondition: the order lock is held. */
static void say_oversize(struct sl_core *core, const char *name, uint64_t own)
{
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], remedy[SL_BUDGET_REMEDY];
    atomic_fetch_add(&core->stats.oversize_launches, 1);
    if (own <= core->budget.most_own_bytes || core->budget.lines == MOST_LINES) return;
    core->budget.most_own_bytes = own;
    core->budget.lines++;
    sl_log(SL_LOG_WARN,
           "%s uses %s, more than the budget of %s: it runs partly in host memory, which is slow; %s", name,
           sl_bytes_text(own, need), sl_bytes_text(sl_budget_bytes(&core->budget), budget),
           sl_budget_remedy(&core->budget, own, remedy));
}

/* Whether the chunks that the launch lacks have to be fetched on demand. Precondition: the order lock is
 * held. */
static bool is_to_fetch(struct sl_core *core, const struct launch_context *context, bool *oversize)
{
    if (core->policy->memory == SL_MEMORY_PAGED) {
        /* The driver moves memory: it fetches the chunks itself when the launch uses them. */
        for (uint32_t i = 0; i < context->chunk_count; i++)
            sl_migrator_hand_to_driver(&core->migrator, context->chunks[i]);
        return false;
    }
    uint64_t own = sl_demand_own_bytes(&core->demand, context->chunks, context->chunk_count);
    bool planned = atomic_load(&core->schedule.active);
    *oversize = own > sl_budget_bytes(&core->budget);
    if (*oversize) {
        say_oversize(core,
                     context->kernel ? core->scanner.kernels.kernels[context->kernel].name
                                     : sl_launch_kind_text(context->launch->kind),
                     own);
        return !planned; /* the plan provides for this launch and uses the frames for other chunks */
    }
    if (planned && core->schedule.steps.histories) {
        /* The launch came earlier than the predicted order of streams; the rest of the plan still fits. */
        sl_planning_hasten(&core->planning);
    } else if (planned) {
        sl_planning_lacks(&core->planning);
    }
    return true;
}

/* Fetches chunks that are neither resident nor fetched by the schedule. */
static void fetch_on_demand(struct sl_core *core, struct launch_context *context)
{
    const struct sl_demand_for launch = {context->tick, context->chunks, context->chunk_count};
    bool oversize = false, fetched = false;
    sl_lock(&core->order);
    context->in_place = sl_schedule_is_in_place(&core->schedule, context->tick, context->symbol);
    bool to_fetch = !context->in_place && is_to_fetch(core, context, &oversize);
    sl_unlock(&core->order);
    if (!to_fetch) return;
    uint32_t missing = sl_demand_fetch(&core->demand, &launch, &fetched);
    if (!oversize) SL_COUNT(&core->stats, demand_misses, missing);
    if (!fetched) return;
    sl_lock(&core->order);
    /* Live memory may fit the budget although chunks were missing: chunks that died behind a collective are
     * copied out instead of discarded, and fetched again. */
    if (missing && sl_stats_bytes(core->stats.total.bytes_out) && !core->budget.pressure)
        sl_core_under_pressure(core);
    sl_unlock(&core->order);
}

/* For statistics: the bytes that the launch uses of chunks that are not on the device; `most` if that is
 * unknown or more. May be inexact, because its symbol may have been forgotten and chunks fetched
 * meanwhile. */
static uint64_t bytes_in_place(struct sl_core *core, const struct launch_context *context, uint64_t most)
{
    uint64_t used = 0;
    sl_lock(&core->order);
    const struct sl_symbol_record *record =
        context->symbol < core->symbols.count ? &core->symbols.records[context->symbol] : NULL;
    for (uint32_t a = 0; record && record->kind == SL_SYMBOL_LAUNCH && a < record->access_count; a++) {
        const struct sl_access *access = &core->symbols.accesses[record->first_access + a];
        const struct sl_slot *slot = &core->placement.slots[access->slot];
        struct sl_chunk_range range = sl_access_range(&core->placement, access);
        uint64_t bytes = sl_access_end(&core->placement, access) - access->offset;
        for (uint32_t i = 0; i < range.count; i++)
            if (atomic_load(&sl_arena_record(&core->arena, range.first + i)->content) == SL_CONTENT_HOST)
                used += sl_part_in_chunk(&core->arena, slot->address + access->offset, bytes, i);
    }
    sl_unlock(&core->order);
    return used && used < most ? used : most;
}

static void count_in_place(struct sl_core *core, struct launch_context *context, uint64_t bytes)
{
    SL_COUNT(&core->stats, remote_bytes, bytes);
    if (!context->in_place) return;
    SL_COUNT(&core->stats, in_place_bytes, bytes);
    context->in_place_bytes = bytes;
}

/* Makes the launch's chunks resident as far as possible, and marks them as used. */
static void see_to_chunks(struct sl_core *core, struct launch_context *context)
{
    sl_schedule_issue(&core->schedule, &context->batch);
    if (context->resident) return;
    if (sl_demand_lacking(&core->demand, context->chunks, context->chunk_count))
        fetch_on_demand(core, context);
    uint64_t remote = use_chunks(core, context);
    if (remote) count_in_place(core, context, bytes_in_place(core, context, remote));
    context->resident = !remote && !sl_demand_lacking(&core->demand, context->chunks, context->chunk_count);
}

/* Inline mode: whether steps of the plan are issued after a launch, because the program may wait before its
 * next one. Policies that hardly look ahead have none then. If streams interleave by chance, the next launch
 * tells better which steps are needed. */
static bool moves_between_launches(const struct sl_core *core)
{
    return core->policy->when == SL_PLAN_AHEAD && !core->schedule.steps.histories;
}

/* Finds out what the launch uses, and feeds its symbol to history and schedule. Precondition: the order lock
 * is held until the result has been used. */
static const struct sl_usage *understand(struct sl_core *core, struct launch_context *context)
{
    struct sl_launch *launch = context->launch;
    uint32_t s = context->stream = sl_stream_number(&core->streams, launch->stream);
    launch->tick = context->tick = ++core->history.ticks.now;
    atomic_store_explicit(&core->history.ticks.open[launch->tick % SL_OPEN_LAUNCHES], launch->tick,
                          memory_order_relaxed);
    atomic_store_explicit(&core->stats.tick, context->tick, memory_order_relaxed);
    sl_stream_is_used(&core->streams, s);
    if (core->symbols.full) sl_core_forget(core);
    sl_symbol expected = sl_history_expected(&core->history, s);
    const struct sl_usage *usage = sl_access_scan(&core->scanner, launch, expected, s);
    context->symbol = usage->symbol;
    context->kernel = usage->kernel;
    sl_core_feed(core, usage->symbol, expected, s);
    sl_stats_launched(&core->stats);
    sl_record_launch(&core->recorder, launch, usage);
    sl_schedule_begin(&core->schedule, context->tick, !core->schedule.daemon && !moves_between_launches(core),
                      &context->batch);
    if (core->reuse.join_count || core->reuse.join_out) sl_joins_collect(&core->reuse, s, &context->joining);
    sl_access_chunks(&core->scanner, launch, context->tick);
    return usage;
}

/* Copies the launch's list of chunks, because the scanner's is overwritten by other threads' launches.
 * Without memory the chunks are used where they are. */
static void keep_chunks(const struct sl_usage *usage, struct launch_context *context)
{
    uint32_t count = usage->chunk_count;
    sl_chunk *chunks = context->few;
    if (count > FEW_CHUNKS) chunks = context->many = malloc(count * sizeof *chunks);
    if (!chunks) return;
    memcpy(chunks, usage->chunks, count * sizeof *chunks);
    context->chunks = chunks;
    context->chunk_count = count;
}

/* The last step under the order lock: decides what the stream waits for, advances planning, and takes a
 * sample. */
static void conclude(struct sl_core *core, struct launch_context *context)
{
    struct sl_launch *launch = context->launch;
    /* A graph's content is not examined: once any collective was captured, every graph may contain one. */
    launch->meets_peers =
        launch->kind == SL_LAUNCH_COLLECTIVE ||
        (context->kernel && core->scanner.kernels.kernels[context->kernel].meets_peers) ||
        (launch->kind == SL_LAUNCH_GRAPH && atomic_load(&core->streams.captured_collective));
    if (context->beside) context->in_sequence = 0; /* only for speed */
    if (context->in_sequence) {
        if (sl_stream_note_join(&core->streams, context->stream, context->in_sequence))
            context->stall = sl_stall_new(&core->sampling);
        else
            context->in_sequence = 0;
    }
    if (core->over) return;
    sl_planning_go_on(&core->planning);
    if (core->sampling.sampler && !context->beside)
        launch->state = sl_sample_begin(&core->sampling, launch, context->symbol, context->kernel,
                                        context->resident, context->in_place_bytes);
}

/* Makes the stream wait for freed memory and fetches, in front of the launch. */
static void enqueue_waits(struct sl_core *core, struct launch_context *context)
{
    struct sl_launch *launch = context->launch;
    if (sl_joins_any(&context->joining) &&
        sl_joins_wait(&core->reuse, context->stream, &context->joining, launch->stream, context->beside) &&
        sl_core_numbered(core->number) == core) /* else the driver has ended, and no kernel runs */
        sl_warn_once("the driver refuses every wait: a kernel may use memory before its last user is done");
    if (context->beside) return;
    if (context->in_sequence)
        sl_stall_wait(&core->sampling, context->stall, launch->stream, context->in_sequence);
    if (launch->state) sl_sample_record(&core->sampling, launch->state, launch->stream);
}

struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch)
{
    struct sl_core *core = sl_core_running();
    if (!core) return NULL;
    sl_lock(&core->order);
    struct sl_footprint *footprint = sl_access_footprint(&core->scanner, launch);
    sl_unlock(&core->order);
    return footprint;
}

struct sl_fit sl_runtime_fit(const struct sl_footprint *footprint)
{
    struct sl_core *core = sl_core_running();
    struct sl_fit fit = {.budget_bytes = UINT64_MAX};
    if (!core || core->policy->memory != SL_MEMORY_MOVED) return fit;
    sl_lock(&core->order);
    fit.budget_bytes = sl_budget_bytes(&core->budget);
    fit.bytes = sl_access_footprint_bytes(&core->scanner, footprint);
    sl_unlock(&core->order);
    return fit;
}

/* The order lock is released before anything is enqueued, so that a stream whose queue is full blocks only
 * the threads that launch on it: rule 2 of docs/concurrency.md. */
static void begin(struct sl_core *core, struct sl_launch *launch, bool beside)
{
    struct launch_context context;
    memset(&context, 0, offsetof(struct launch_context, few));
    memset(&context.many, 0, sizeof context - offsetof(struct launch_context, many));
    context.launch = launch;
    context.beside = beside;
    if (atomic_load_explicit(&core->budget.lessened, memory_order_relaxed)) sl_core_give_way(core);
    sl_lock(&core->order);
    if (core->over) {
        sl_unlock(&core->order);
        return;
    }
    const struct sl_usage *usage = understand(core, &context);
    context.resident = !usage->chunk_count || use_plainly(core, usage, context.stream);
    if (usage->pinned_bytes) {
        SL_COUNT(&core->stats, remote_bytes, usage->pinned_bytes);
        SL_COUNT(&core->stats, pinned_bytes, usage->pinned_bytes);
    }
    bool moves = !context.resident || context.batch.any;
    if (moves) {
        if (!context.resident) keep_chunks(usage, &context);
        sl_unlock(&core->order);
        see_to_chunks(core, &context);
        free(context.many);
        sl_lock(&core->order);
    }
    conclude(core, &context);
    sl_unlock(&core->order);
    if (context.batch.waited_for && core->schedule.daemon) sl_daemon_wake(core->schedule.daemon);
    enqueue_waits(core, &context);
}

void sl_runtime_launch_begin(struct sl_launch *launch)
{
    struct sl_core *core = sl_core_running();
    launch->core = core;
    launch->tick = 0;
    launch->meets_peers = false;
    launch->state = NULL;
    if (!core) return;
    /* Rule 10 of docs/concurrency.md */
    sl_frees_flush(&core->reuse.frees);
    struct sl_answer capturing = sl_answer_of(false);
    if (atomic_load_explicit(&core->streams.captures, memory_order_relaxed))
        capturing = core->backend.stream_capturing(core->backend.self, launch->stream);
    /* Rule 14: a launch of which it is not known whether it is captured may use memory. */
    if (!sl_is_no(capturing) && launch->kind == SL_LAUNCH_COLLECTIVE)
        atomic_store(&core->streams.captured_collective, true);
    if (sl_is_yes(capturing) || (!sl_is_no(capturing) && !SL_GUARD(UNKNOWN_IS_IN_USE))) return;
    begin(core, launch, !sl_is_no(capturing));
    if (launch->meets_peers) sl_behind_begins(&core->migrator.behind);
    SL_TEST_DELAY(LAUNCH_BEGUN);
}

/* From here on the launch counts as submitted. */
static void close_launch(struct sl_core *core, sl_tick tick)
{
    _Atomic sl_tick *open = &core->history.ticks.open[tick % SL_OPEN_LAUNCHES];
    if (atomic_load_explicit(open, memory_order_relaxed) == tick)
        atomic_store_explicit(open, 0, memory_order_release);
}

/* Records a fence behind the launch if chunks are evicted after it. True: there are steps to issue, by the
 * daemon or, in *batch, by the launching thread. */
static bool end_planned(struct sl_core *core, const struct sl_launch *launch, struct sl_schedule_batch *batch)
{
    struct sl_fence_stream streams[SL_STREAMS];
    struct sl_fence *fence = NULL;
    uint32_t count = 0, held = 0;
    sl_lock(&core->order);
    uint64_t leaving = sl_schedule_leaving_users(&core->schedule, launch->tick);
    if (leaving) {
        held = sl_frees_hold(&core->reuse.frees);
        count = sl_streams_to_fence(&core->streams, leaving, streams);
        if (count) fence = sl_schedule_fence(&core->schedule);
    }
    if (fence) {
        sl_unlock(&core->order);
        sl_fence_record(&core->streams, fence, streams, count);
        sl_fences_put(&core->schedule.fences, fence, launch->tick);
        sl_lock(&core->order);
    }
    if (leaving) sl_frees_let_go(&core->reuse.frees, held);
    close_launch(core, launch->tick);
    sl_schedule_submitted(&core->schedule, sl_ticks_submitted(&core->history.ticks));
    sl_schedule_go_on(&core->schedule, batch);
    bool moves = batch->any && (core->schedule.daemon || moves_between_launches(core));
    sl_unlock(&core->order);
    return moves;
}

/* A launch that the driver refused used nothing, but its chunks are resident. */
void sl_runtime_launch_end(struct sl_launch *launch, bool ok)
{
    struct sl_core *core = launch->core;
    if (!core || sl_core_numbered(core->number) != core || !launch->tick) return;
    SL_TEST_DELAY(LAUNCH_GIVEN);
    if (launch->state) sl_sample_end(&core->sampling, launch->state, launch, ok);
    if (launch->meets_peers && ok) sl_core_met_peers(core, launch);
    if (launch->meets_peers) sl_behind_ends(&core->migrator.behind);
    if (!atomic_load_explicit(&core->schedule.active, memory_order_acquire)) {
        close_launch(core, launch->tick);
        return;
    }
    struct sl_schedule_batch batch;
    if (!end_planned(core, launch, &batch)) return;
    if (core->schedule.daemon) {
        sl_schedule_issue_near(&core->schedule, &batch);
        sl_daemon_wake(core->schedule.daemon);
    } else {
        sl_schedule_issue(&core->schedule, &batch);
    }
}

void sl_core_issue_after_free(struct sl_core *core)
{
    struct sl_schedule_batch batch;
    if (!SL_HAS(AFTER_FREE) || !atomic_load_explicit(&core->schedule.active, memory_order_relaxed) ||
        atomic_load_explicit(&core->streams.captures, memory_order_relaxed))
        return;
    sl_lock(&core->order);
    sl_schedule_freed(&core->schedule, &batch);
    sl_unlock(&core->order);
    if (!batch.any || !(core->schedule.daemon ? batch.near_in > 0 : moves_between_launches(core))) return;
    sl_frees_flush(&core->reuse.frees);
    if (core->schedule.daemon)
        sl_schedule_issue_near(&core->schedule, &batch);
    else
        sl_schedule_issue(&core->schedule, &batch);
}
