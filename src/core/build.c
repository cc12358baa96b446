#include "core/core.h"

#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/learned.h"
#include "core/report.h"
#include "core/room.h"
#include "move/daemon.h"

#define HISTORY_SYMBOLS (((size_t)1 << 20) - 1) /* size of the ring; 28 MiB when full */

static char path[PATH_MAX]; /* an expanded option; not on the stack, which may be small */

static enum sl_status open_trace(struct sl_core *core, uint64_t device_bytes)
{
    if (!core->options->trace[0] || core->number) return SL_OK;
    struct sl_trace_options how = {(enum sl_trace_full)core->options->trace_full, core->options->trace_limit,
                                   true};
    enum sl_status status = SL_ERR_INVALID;
    if (sl_options_expand(core->options->trace, path, sizeof path))
        status = sl_trace_open(path, &how, &core->recorder.trace);
    else
        sl_log(SL_LOG_WARN, "the name of the trace is too long; no trace is written");
    if (status) return sl_runtime_records_only() ? status : SL_OK;
    core->stats.trace = core->recorder.trace;
    sl_record(&core->recorder, (struct sl_event){.type = SL_EVENT_BUDGET,
                                                 .a = core->budget.bytes,
                                                 .b = core->arena.chunk_bytes,
                                                 .c = device_bytes});
    return SL_OK;
}

/* Decided at the first call, by whichever caller. */
uint64_t sl_core_virtual_size(void)
{
    static _Atomic uint64_t decided;
    const struct sl_options *options = sl_options_in_force();
    uint64_t none = 0, size = atomic_load(&decided);
    if (size) return size;
    size = options->virtual_size ? options->virtual_size : sl_host_share_foresee(options);
    return atomic_compare_exchange_strong(&decided, &none, size) ? size : none;
}

static void decide_sizes(struct sl_core *core, uint64_t free_bytes, uint64_t total_bytes,
                         uint64_t *chunk_bytes)
{
    struct sl_profile_wanted wanted = sl_learned_wanted(core->learned);
    core->budget.virtual_size_bytes = sl_core_virtual_size();
    core->host.share = &sl_process_share;
    if (!core->number)
        sl_host_share_begin(&sl_process_share, core->options, &core->backend,
                            core->budget.virtual_size_bytes);
    free_bytes = sl_device_share_begin(core, free_bytes, total_bytes);
    sl_budget_decide(&core->budget, free_bytes, core->options->device_budget, wanted.budget_bytes);
    *chunk_bytes = core->options->chunk ? core->options->chunk
                   : wanted.chunk_bytes ? wanted.chunk_bytes
                                        : sl_budget_chunk(sl_budget_bytes(&core->budget));
    sl_device_share_begun(core);
}

/* The options' rules were checked when they were read; the profile's are checked here. */
static void read_backing(struct sl_core *core)
{
    if (core->number) { /* the rules of the first device, with those that its allocations and the profile
                           added */
        struct sl_core *first = sl_core_started(0);
        sl_lock(&first->order);
        core->placement.backing = first->placement.backing;
        sl_unlock(&first->order);
        return;
    }
    struct sl_profile_wanted wanted = sl_learned_wanted(core->learned);
    bool given = core->options->backing[0];
    struct sl_backing *backing = &core->placement.backing, learned = {.count = 0};
    if (!sl_backing_parse(wanted.backing ? wanted.backing : "", &learned))
        sl_log(SL_LOG_WARN, "the profile's rules for memory are not understood; there are none");
    if (!given || !sl_backing_parse(core->options->backing, backing)) *backing = learned;
    /* The profile's rules for device memory always apply: exported memory must be device memory. */
    if (given) sl_backing_add_device(backing, &learned);
    bool pinned = false;
    for (uint32_t r = 0; r < backing->count && !core->backend.pinned_new; r++) {
        pinned |= backing->rules[r].kind == SL_BACKING_PINNED;
        if (backing->rules[r].kind == SL_BACKING_PINNED) backing->rules[r].kind = SL_BACKING_UNIFIED;
    }
    if (pinned) sl_log(SL_LOG_WARN, "this device has no pinned memory: the rules for it are ignored");
}

/* Sets the pointers between the parts, which are not initialised yet. */
static void wire(struct sl_core *core)
{
    core->budget.core = core->demand.core = core->sampling.core = core->recorder.core = core->planning.core =
        core->planning.forecast.core = core;
    core->streams.order = core->reuse.order = &core->order;
    core->streams.migrator = core->reuse.migrator = &core->migrator;
    core->streams.frees = &core->reuse.frees;
    core->reuse.streams = &core->streams;
    core->reuse.placement = &core->placement;
}

static bool is_at(const struct sl_core *core, const struct sl_device_place *place)
{
    struct sl_device_place at;
    return core->backend.place && core->backend.place(core->backend.self, &at) &&
           at.domain == place->domain && at.bus == place->bus && at.device == place->device;
}

/* The part of the profile for a further device. NULL: none, or an earlier core of the same device has it. */
static struct sl_learned *join_profile(struct sl_core *core)
{
    struct sl_device_place place;
    uint32_t device = 0;
    if (!core->backend.place || !core->backend.place(core->backend.self, &place)) return NULL;
    for (uint32_t c = 0; c < sl_cores_started(); c++) {
        const struct sl_core *other = sl_core_started(c);
        if (!other || !other->learned) continue;
        if (is_at(other, &place)) return NULL;
        device++;
    }
    return device ? sl_learned_join(sl_core_started(0)->learned, device, core) : NULL;
}

/* A quarter of the processors that the process may use, but no more than keep a link busy
 * (docs/driver-model.md). */
static uint32_t mover_count(const struct sl_options *options)
{
    enum { PART = 4, ENOUGH = 4 };
    cpu_set_t allowed;
    if (options->movers) return (uint32_t)options->movers;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed) / PART;
    return count < 1 ? 1 : count > ENOUGH ? ENOUGH : (uint32_t)count;
}

/* Each gets a slab to work on. A device that is simulated in one thread places memory in the same way. */
static void start_movers(struct sl_core *core)
{
    uint32_t movers = mover_count(core->options);
    sl_arena_spread(&core->arena, 2 * movers);
    if (core->backend.one_thread) return;
    if (sl_daemon_start(&core->schedule, movers, &core->schedule.daemon) == SL_OK)
        core->stats.movers = movers;
    else
        sl_log(SL_LOG_WARN, "no thread could be started; data is moved by the launching thread");
}

/* Without a planner, the launch that needs a plan makes it. */
static void start_planner(struct sl_core *core)
{
    struct sl_planner **planner = &core->planning.planner;
    if (sl_planner_start(!core->schedule.daemon, planner) == SL_OK || !core->schedule.daemon) return;
    sl_log(SL_LOG_WARN, "no thread could be started; plans are made by the launching thread");
    sl_planner_start(true, planner);
}

static void know_device(struct sl_core *core)
{
    struct sl_device_properties device = {0};
    core->backend.describe(core->backend.self, &device);
    core->sampling.durations.device_bytes_per_s = device.memory_bytes_per_s;
}

enum sl_status sl_core_build(struct sl_core *core)
{
    const struct sl_backend *backend = &core->backend;
    uint64_t free_bytes, device_bytes, chunk_bytes;
    bool threaded = core->options->daemon == SL_DAEMON_THREAD;
    wire(core);
    enum sl_status status = backend->memory_info(backend->self, &free_bytes, &device_bytes);
    if (status) return status;
    core->learned = core->number ? join_profile(core) : sl_learned_read(core->options->profile, core);
    decide_sizes(core, free_bytes, device_bytes, &chunk_bytes);
    if (!sl_lock_init(&core->order, SL_LOCK_ORDER, true)) return SL_ERR_NO_MEMORY;
    sl_arena_init(&core->arena, backend, chunk_bytes);
    core->arena.owner = core->number << SL_OWNER_SHIFT;
    sl_placement_init(&core->placement, &core->arena, core->host.share->most_bytes);
    core->placement.noted = sl_runtime_records_only();
    read_backing(core);
    sl_scanner_init(&core->scanner, backend, &core->placement, &core->symbols);
    core->history.predictor = sl_predictor_new(HISTORY_SYMBOLS);
    if (!core->history.predictor || !sl_symbols_init(&core->symbols)) return SL_ERR_NO_MEMORY;
    status = sl_stats_init(&core->stats);
    if (status == SL_OK) status = sl_frees_init(&core->reuse.frees, backend);
    if (status == SL_OK)
        status =
            sl_migrator_init(&core->migrator, backend, &core->arena, &core->stats, &core->streams.captures);
    core->migrator.frees = core->arena.frees = &core->reuse.frees;
    core->reuse.frees.behind = &core->migrator.behind;
    core->migrator.keeps_dead = core->options->discard == SL_DISCARD_OFF;
    if (status == SL_OK) status = sl_schedule_init(&core->schedule, &core->migrator);
    if (status == SL_OK) status = open_trace(core, device_bytes);
    if (status == SL_OK && (core->recorder.trace || core->policy->plans))
        sl_migrator_time(&core->migrator, core->recorder.trace);
    bool ahead = sl_policy_moves_ahead(core->policy);
    if (status == SL_OK && threaded && ahead) start_movers(core);
    core->planning.lead_eighths = threaded ? SL_PLANNING_LEAD : 0;
    core->planning.first_late = threaded && ahead ? backend->first_plan_late : 0;
    if (status == SL_OK && ahead) start_planner(core);
    if (status == SL_OK) know_device(core);
    if (status == SL_OK && core->learned) sl_learned_use(core->learned);
    sl_host_part_begin(&core->host, core->host.share, &core->placement, backend, !core->number);
    sl_migrator_share_link(&core->migrator, sl_host_room_link_sharers(core));
    if (status == SL_OK && core->budget.pressure) sl_core_under_pressure(core);
    if (status == SL_OK) sl_monitor_begin(core);
    if (status == SL_OK) sl_record_start(&core->recorder, &core->stats, backend);
    if (status == SL_OK && core->recorder.trace)
        sl_sampler_open(&core->sampling, (uint32_t)core->options->trace_sample);
    if (status == SL_OK && !core->number) sl_report_count(core);
    return status;
}

/* One teardown for every stage of the build. Frees device memory unless `device_gone`. */
void sl_core_tear_down(struct sl_core *core, bool device_gone)
{
    if (!core->number) sl_report_leave();
    sl_planner_delete(core->planning.planner);
    core->planning.planner = NULL;
    sl_daemon_delete(core->schedule.daemon, device_gone);
    core->schedule.daemon = NULL;
    sl_trace_close(core->recorder.trace);
    core->recorder.trace = core->stats.trace = NULL;
    const struct sl_backend *backend = &core->backend;
    for (int s = 0; s < SL_SHARED_STREAM && !device_gone; s++)
        if (core->streams.before_capture[s])
            backend->event_delete(backend->self, core->streams.before_capture[s]);
    sl_stalls_close(&core->sampling, device_gone);
    sl_sampler_close(&core->sampling, device_gone);
    sl_durations_close(&core->sampling.durations);
    sl_schedule_close(&core->schedule, device_gone);
    if (core->reuse.frees.backend) {
        sl_joins_end(&core->reuse);
        sl_waits_end(&core->streams.gone, &core->reuse.frees);
    }
    sl_frees_close(&core->reuse.frees, device_gone);
    sl_migrator_close(&core->migrator, device_gone);
    sl_relayout_close(&core->planning.relayout);
    sl_forecast_close(&core->planning.forecast);
    sl_plan_lessons_free(&core->planning.lessons);
    sl_learned_close(core->learned);
    core->learned = NULL;
    sl_interleaver_delete(core->history.interleaver);
    sl_predictor_delete(core->history.predictor);
    sl_symbols_close(&core->symbols);
    sl_scanner_close(&core->scanner);
    sl_blocks_close(&core->blocks);
    sl_host_part_end(&core->host);
    if (!core->number) sl_host_share_end(&sl_process_share);
    sl_placement_close(&core->placement);
    sl_arena_close(&core->arena, device_gone);
    sl_stats_close(&core->stats);
    free(core->streams.more);
    if (!device_gone) backend->close(backend->self);
}

struct sl_core *sl_core_new(const struct sl_backend *backend, uint32_t number)
{
    struct sl_core *core = aligned_alloc(_Alignof(struct sl_core), sizeof *core);
    if (!core) return NULL;
    memset(core, 0, sizeof *core);
    core->number = number;
    core->backend = *backend;
    core->options = sl_options_in_force();
    core->policy = sl_policy_traits(core->options->policy);
    return core;
}

void sl_core_delete(struct sl_core *core)
{
    free(core);
}
