/* The launch path: from sl_runtime_launch_begin to _end, and what stands between two launches. */
#include <time.h>

#include "access.h"
#include "core.h"
#include "daemon.h"
#include "demand.h"
#include "extent.h"
#include "forecast.h"
#include "log.h"
#include "text.h"

#define STREAK_TO_PLAN 4          /* symbols in a row that came true before a prediction is trusted */
#define LAUNCHES_BETWEEN_PLANS 16 /* while surprises are frequent */
#define LEAST_WINDOW 512
#define LARGEST_WINDOW ((size_t)1 << 18)

static void drop_schedule(struct sl_core *core)
{
    pthread_mutex_lock(&core->mover.out.lock);
    pthread_mutex_lock(&core->mover.in.lock);
    sl_schedule_clear(&core->schedule);
    pthread_mutex_unlock(&core->mover.in.lock);
    pthread_mutex_unlock(&core->mover.out.lock);
}

/* An iteration is one period of the predicted string; before anything is predicted, all is the first one. */
static void count_iterations(struct sl_core *core, bool hit)
{
    core->symbols_fed++;
    if (!hit || core->streak < STREAK_TO_PLAN) return;
    uint64_t period = sl_predictor_period(core->predictor);
    if (!period || core->symbols_fed < core->iteration_end) return;
    core->iteration_end =
        core->iteration_end ? core->symbols_fed + period : core->symbols_fed - core->streak + period;
    sl_core_settle_stalls(core);
    sl_extents_learn(core);
    sl_stats_next_iteration(&core->stats, period);
}

void sl_core_feed(struct sl_core *core, sl_symbol symbol)
{
    bool hit = sl_predictor_feed(core->predictor, symbol);
    core->streak = hit ? core->streak + 1 : 0;
    if (!hit && atomic_load_explicit(&core->schedule.active, memory_order_relaxed)) {
        atomic_fetch_add(&core->stats.surprises, 1);
        drop_schedule(core);
    }
    count_iterations(core, hit);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sl_core_trace(struct sl_core *core, struct sl_event event)
{
    if (!core->trace) return;
    event.tick = core->tick;
    event.time_ns = clock_ns(CLOCK_MONOTONIC);
    sl_trace_push(core->trace, &event);
}

sl_tick sl_core_submitted(const struct sl_core *core)
{
    sl_tick until = core->tick;
    for (int i = 0; i < SL_OPEN_LAUNCHES; i++) {
        sl_tick open = atomic_load_explicit(&core->open[i], memory_order_acquire);
        if (open && open <= until) until = open - 1;
    }
    return until;
}

void sl_core_plan(struct sl_core *core)
{
    struct sl_schedule *schedule = &core->schedule;
    if (!core->pressure || core->options->policy != SL_POLICY_PLAN || core->streak < STREAK_TO_PLAN) return;
    if (atomic_load(&schedule->active) && core->tick + 1 < schedule->end_tick) return;
    if (!atomic_load(&schedule->active) && core->tick < core->planned_at + LAUNCHES_BETWEEN_PLANS) return;
    size_t window = 2 * sl_predictor_period(core->predictor), serve = 0;
    if (window < LEAST_WINDOW) window = LEAST_WINDOW;
    if (window > LARGEST_WINDOW) window = LARGEST_WINDOW;
    core->planned_at = core->tick;
    sl_extents_learn(core);
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct sl_plan_input input;
    struct sl_plan plan = {0};
    pthread_mutex_lock(&core->mover.out.lock);
    pthread_mutex_lock(&core->mover.in.lock);
    enum sl_status status = sl_forecast(core, window, &input, &serve);
    if (status == SL_OK) status = sl_plan_make(&input, &plan);
    if (status == SL_OK)
        status = sl_schedule_install(schedule, &plan, input.first_tick, input.launch_count, serve,
                                     input.chunk_bytes);
    if (status) sl_schedule_clear(schedule);
    sl_schedule_submitted(schedule, sl_core_submitted(core));
    pthread_mutex_unlock(&core->mover.in.lock);
    pthread_mutex_unlock(&core->mover.out.lock);
    sl_plan_free(&plan);
    if (status && status != SL_ERR_UNSUPPORTED)
        sl_warn_once("no plan could be made (%s); chunks are fetched on demand", sl_status_text(status));
    atomic_fetch_add(&core->stats.plans, status == SL_OK);
    atomic_fetch_add(&core->stats.plan_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

static void settle(struct sl_core *core, struct sl_stall *stall)
{
    const struct sl_backend *backend = &core->backend;
    struct sl_direction *in = &core->mover.in;
    uint64_t sequence = stall->in_sequence;
    stall->in_sequence = 0;
    if (sequence + SL_EVENT_RING <= atomic_load(&in->issued))
        return; /* its event stands for a later fetch by now */
    uint64_t ns =
        backend->event_elapsed_ns(backend->self, stall->reached, in->events[sequence % SL_EVENT_RING]);
    if (!ns) return;
    struct sl_counts *counts[] = {&core->stats.total, &core->stats.iterations[stall->iteration]};
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&counts[i]->stall_ns, ns);
        atomic_fetch_add(&counts[i]->late_fetches, 1);
    }
    sl_core_trace(core, (struct sl_event){.type = SL_EVENT_STALL, .a = ns, .b = 1});
}

void sl_core_settle_stalls(struct sl_core *core)
{
    const struct sl_backend *backend = &core->backend;
    for (int i = 0; i < SL_STALLS; i++) {
        struct sl_stall *stall = &core->stalls[i];
        if (!stall->in_sequence) continue;
        if (backend->event_done(backend->self, stall->reached) &&
            sl_mover_done(&core->mover, &core->mover.in, stall->in_sequence))
            settle(core, stall);
    }
}

/* Makes the stream wait for fetch `sequence`, and notes when it got there. */
static void wait_for_fetch(struct sl_core *core, sl_stream stream, uint64_t sequence)
{
    const struct sl_backend *backend = &core->backend;
    struct sl_stall *stall = &core->stalls[core->stall_next % SL_STALLS];
    if (core->stall_next % SL_STALLS == 0 && stall->in_sequence) sl_core_settle_stalls(core);
    core->stall_next++;
    stall->in_sequence = 0;
    if ((stall->reached || backend->event_new(backend->self, &stall->reached) == SL_OK) &&
        backend->event_record(backend->self, stall->reached, stream) == SL_OK) {
        stall->in_sequence = sequence;
        stall->iteration = atomic_load(&core->stats.iteration);
    }
    sl_mover_wait(&core->mover, &core->mover.in, sequence, stream);
}

/* Memory that was freed and given out again: what other streams still do to it comes first. */
static void join_users(struct sl_core *core, uint64_t users, sl_stream stream)
{
    sl_core_record_fence(core, &core->demand_fence, users);
    for (uint64_t rest = atomic_load(&core->demand_fence.streams); rest; rest &= rest - 1)
        sl_wait_event(&core->backend, stream, core->demand_fence.events[__builtin_ctzll(rest)]);
}

/* Marks the launch's chunks as used where that is all there is to do: every one is resident, its stream has
 * used them since they came, and knows of their arrival. */
static bool use_plainly(struct sl_core *core, uint32_t s)
{
    uint64_t bit = (uint64_t)1 << s, own = s == SL_SHARED_STREAM ? 0 : bit;
    uint64_t joined = s == SL_SHARED_STREAM ? 0 : core->streams[s].joined_in;
    bool plain = true;
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        chunk->last_use = core->tick;
        plain &= atomic_load_explicit(&chunk->content, memory_order_relaxed) == SL_CONTENT_RESIDENT &&
                 atomic_load_explicit(&chunk->bytes, memory_order_relaxed) <=
                     atomic_load_explicit(&chunk->frame_bytes, memory_order_relaxed) &&
                 users & bit && !(chunk->recycled && users & ~own) &&
                 atomic_load_explicit(&chunk->in_sequence, memory_order_relaxed) <= joined;
    }
    return plain;
}

/* Marks the launch's chunks as used by its stream. Returns the last fetch that it has to wait for; adds up
 * what it will use in place. */
static uint64_t use_chunks(struct sl_core *core, uint32_t s, sl_stream stream, uint64_t *in_place_bytes)
{
    uint64_t bit = (uint64_t)1 << s, own = s == SL_SHARED_STREAM ? 0 : bit, latest = 0, joined = 0;
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, core->touched[i]);
        uint64_t users = atomic_load_explicit(&chunk->users, memory_order_relaxed);
        if (chunk->recycled && users & ~own) {
            joined |= users & ~own;
            atomic_store(&chunk->users, bit);
        } else if (!(users & bit)) {
            atomic_fetch_or(&chunk->users, bit);
        }
        if (atomic_load(&chunk->content) != SL_CONTENT_RESIDENT) {
            int dead = SL_CONTENT_DEAD;
            atomic_compare_exchange_strong(&chunk->content, &dead, SL_CONTENT_HOST); /* written in place */
            if (atomic_load(&chunk->content) == SL_CONTENT_HOST) *in_place_bytes += chunk->bytes;
        }
        uint64_t sequence = atomic_load(&chunk->in_sequence);
        if (sequence > latest) latest = sequence;
    }
    if (joined) join_users(core, joined, stream);
    return latest;
}

/* Whether the launch may touch memory that nobody knows of. */
static bool is_blind(const struct sl_core *core, const struct sl_launch *launch, uint32_t kernel)
{
    if (launch->kind == SL_LAUNCH_GRAPH) return !launch->footprint || launch->footprint->partial;
    if (launch->kind != SL_LAUNCH_KERNEL) return false;
    bool given = launch->parameters || launch->packed;
    return !kernel || (!given && core->kernels.kernels[kernel].parameter_count);
}

/* It may be the first to use memory that was given out again: all that others did before the memory was freed
 * comes first. */
static void join_retired(struct sl_core *core, uint32_t s, sl_stream stream)
{
    uint64_t own = s == SL_SHARED_STREAM ? 0 : (uint64_t)1 << s, others = core->retired_streams & ~own;
    if (others) join_users(core, others, stream);
}

void sl_runtime_hand_over(uint64_t address, sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    pthread_mutex_lock(&core->order);
    uint32_t slot = sl_place_find(&core->placement, address), s = sl_core_stream(core, stream);
    uint64_t bit = (uint64_t)1 << s, own = s == SL_SHARED_STREAM ? 0 : bit, joined = 0;
    if (slot != SL_MAP_NONE) {
        struct sl_chunk_range range = sl_slot_chunks(&core->placement, &core->placement.slots[slot], 0,
                                                     core->placement.slots[slot].bytes);
        for (uint32_t i = 0; i < range.count; i++) {
            struct sl_chunk_record *chunk = sl_arena_record(&core->arena, range.first + i);
            uint64_t others = chunk->recycled ? atomic_load(&chunk->users) & ~own : 0;
            if (others) atomic_store(&chunk->users, bit);
            joined |= others;
        }
    }
    if (joined) {
        join_users(core, joined, stream);
        core->active_streams |= bit; /* it stands for the others */
    }
    pthread_mutex_unlock(&core->order);
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
static void bring_lacking(struct sl_core *core, const struct sl_launch *launch, uint32_t kernel)
{
    uint64_t own = 0;
    for (uint32_t i = 0; i < core->touched_count; i++)
        own += sl_arena_record(&core->arena, core->touched[i])->bytes;
    bool oversize = own > sl_core_budget(core), planned = atomic_load(&core->schedule.active);
    if (oversize) {
        say_oversize(core, launch_name(core, launch, kernel), own);
        if (planned) return; /* the plan knows of it, and promised the frames to others */
    } else if (planned) {
        atomic_fetch_add(&core->stats.surprises, 1);
        drop_schedule(core); /* its frames are no longer where it believes them */
    }
    uint32_t missing = sl_demand_bring(core, core->tick);
    if (!oversize) SL_COUNT(&core->stats, demand_misses, missing);
}

static struct sl_event launch_event(const struct sl_core *core, const struct sl_launch *launch,
                                    uint32_t kernel)
{
    struct sl_event event = {.type = SL_EVENT_LAUNCH,
                             .flags = launch->kind,
                             .id = kernel,
                             .tick = core->tick,
                             .time_ns = clock_ns(CLOCK_MONOTONIC),
                             .a = (uint64_t)launch->stream,
                             .c = launch->span_count ? launch->spans[0].bytes : 0};
    if (launch->kind == SL_LAUNCH_KERNEL) {
        event.b = 1;
        for (int d = 0; d < 3; d++) event.b *= (uint64_t)launch->grid[d] * launch->block[d];
    }
    return event;
}

static struct sl_event access_event(const struct sl_core *core, const struct sl_access *access,
                                    uint64_t time_ns)
{
    return (struct sl_event){.type = SL_EVENT_ACCESS,
                             .id = access->slot,
                             .tick = core->tick,
                             .time_ns = time_ns,
                             .a = access->offset,
                             .b = sl_access_end(&core->placement.slots[access->slot], access) -
                                  access->offset};
}

/* One look at the clock serves the launch and its accesses. */
static void trace_launch(struct sl_core *core, const struct sl_launch *launch, uint32_t kernel)
{
    if (!core->trace) return;
    if (kernel && !core->kernels.kernels[kernel].announced) {
        core->kernels.kernels[kernel].announced = true;
        sl_core_trace(core, (struct sl_event){.type = SL_EVENT_KERNEL,
                                              .id = kernel,
                                              .text = core->kernels.kernels[kernel].name});
    }
    struct sl_event event = launch_event(core, launch, kernel);
    uint64_t time_ns = event.time_ns;
    struct sl_trace_run run;
    if (sl_trace_reserve(core->trace, core->access_count + 1, &run)) {
        *sl_trace_record(&run, 0) = event;
        for (uint32_t a = 0; a < core->access_count; a++)
            *sl_trace_record(&run, a + 1) = access_event(core, &core->accesses[a], time_ns);
        sl_trace_commit(core->trace, &run);
        return;
    }
    sl_trace_push(core->trace, &event);
    for (uint32_t a = 0; a < core->access_count; a++) {
        event = access_event(core, &core->accesses[a], time_ns);
        sl_trace_push(core->trace, &event);
    }
}

/* Sees to the launch's chunks. */
static void use(struct sl_core *core, const struct sl_launch *launch, uint32_t s, uint32_t kernel)
{
    uint64_t in_place = 0;
    if (use_plainly(core, s)) return;
    if (sl_demand_lacking(core)) bring_lacking(core, launch, kernel);
    uint64_t fetch = use_chunks(core, s, launch->stream, &in_place);
    if (sl_core_must_join(core, s, &core->mover.in, fetch)) wait_for_fetch(core, launch->stream, fetch);
    if (in_place) SL_COUNT(&core->stats, remote_bytes, in_place);
}

static void begin(struct sl_core *core, struct sl_launch *launch)
{
    uint32_t s = sl_core_stream(core, launch->stream), kernel = 0;
    launch->tick = ++core->tick;
    atomic_store_explicit(&core->open[launch->tick % SL_OPEN_LAUNCHES], launch->tick, memory_order_relaxed);
    atomic_store_explicit(&core->stats.tick, core->tick, memory_order_relaxed);
    core->active_streams |= (uint64_t)1 << s;
    sl_symbol symbol = sl_access_scan(core, launch, &kernel);
    sl_core_feed(core, symbol);
    sl_stats_launched(&core->stats);
    trace_launch(core, launch, kernel);
    sl_schedule_issue(&core->schedule, core->tick, core->daemon == NULL);
    if (sl_core_must_join(core, s, &core->mover.out, core->arena.join_out))
        sl_mover_wait(&core->mover, &core->mover.out, core->arena.join_out, launch->stream);
    if (is_blind(core, launch, kernel)) join_retired(core, s, launch->stream);
    sl_access_chunks(core, launch, symbol, kernel);
    if (core->touched_count) use(core, launch, s, kernel);
    sl_core_plan(core);
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
    if (!core) return;
    if (atomic_load_explicit(&core->captures, memory_order_relaxed) &&
        core->backend.stream_capturing(core->backend.self, launch->stream))
        return;
    pthread_mutex_lock(&core->order);
    begin(core, launch);
    pthread_mutex_unlock(&core->order);
}

/* A launch that was refused used nothing: its chunks are resident all the same. */
void sl_runtime_launch_end(struct sl_launch *launch, bool ok)
{
    struct sl_core *core = sl_core_running();
    (void)ok;
    if (!core || !launch->tick) return;
    _Atomic sl_tick *open = &core->open[launch->tick % SL_OPEN_LAUNCHES];
    sl_tick own = launch->tick;
    if (atomic_load_explicit(open, memory_order_relaxed) == own)
        atomic_store_explicit(open, 0, memory_order_release);
    if (!atomic_load_explicit(&core->schedule.active, memory_order_acquire)) return;
    pthread_mutex_lock(&core->order);
    uint64_t leaving = sl_schedule_leaving_users(&core->schedule, launch->tick);
    if (leaving) sl_core_record_fence(core, sl_schedule_fence(&core->schedule, launch->tick), leaving);
    sl_schedule_submitted(&core->schedule, sl_core_submitted(core));
    if (core->daemon) sl_daemon_wake(core->daemon);
    pthread_mutex_unlock(&core->order);
}
