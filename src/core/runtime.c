#include "core/runtime.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/forked.h"
#include "base/host_memory.h"
#include "base/log.h"
#include "base/options_path.h"
#include "base/options_text.h"
#include "core/core.h"
#include "core/demand.h"
#include "core/learned.h"
#include "core/planner.h"
#include "core/report.h"
#include "core/run_metadata.h"
#include "core/sample.h"
#include "launch/access.h"
#include "move/daemon.h"
#include "move/reuse.h"
#include "trace/emit.h"

#define HISTORY_SYMBOLS (((size_t)1 << 20) - 1) /* its ring: 28 MiB when full */

static struct sl_core *started; /* built once, kept until the process ends: threads may still look at it */
static struct running {
    struct sl_core *_Atomic core;    /* NULL before the start, after the stop and in a child */
    struct sl_core *_Atomic at_rest; /* stopped, with its memory still there; NULL in a child */
} SL_OWN_PAGES running;
static _Atomic bool tried;
static char
    path[PATH_MAX]; /* an expanded option, at the start and at the stop: a thread may have little stack */

struct sl_core *sl_core_running(void)
{
    return atomic_load_explicit(&running.core, memory_order_acquire);
}

struct sl_core *sl_core_at_rest(void)
{
    return atomic_load(&running.at_rest);
}

void sl_runtime_load(void)
{
    sl_options_load();
    if (sl_options_in_force()->verbose >= 2) sl_options_print_values(stderr, sl_options_in_force());
}

bool sl_runtime_wanted(void)
{
    return sl_options_in_force()->policy != SL_POLICY_OFF || sl_options_in_force()->trace[0];
}
bool sl_runtime_records_only(void)
{
    return sl_runtime_memory() == SL_MEMORY_NOTED;
}
enum sl_memory_use sl_runtime_memory(void)
{
    return sl_policy_traits(sl_options_in_force()->policy)->memory;
}
bool sl_runtime_running(void)
{
    return sl_core_running() != NULL;
}

/* Large enough that transfers run at full speed, small enough that the budget holds many. */
static uint64_t automatic_chunk(uint64_t budget_bytes)
{
    uint64_t chunk = SL_BLOCK_BYTES;
    while (chunk < 32 * SL_MIB && chunk * 256 <= budget_bytes) chunk *= 2;
    return chunk;
}

static enum sl_status open_trace(struct sl_core *core, uint64_t device_bytes)
{
    if (!core->options->trace[0]) return SL_OK;
    struct sl_trace_options how = {(enum sl_trace_full)core->options->trace_full, core->options->trace_limit};
    enum sl_status status = SL_ERR_INVALID;
    if (sl_options_expand(core->options->trace, path, sizeof path))
        status = sl_trace_open(path, &how, &core->recorder.trace);
    else
        sl_log(SL_LOG_WARN, "the name of the trace is too long; no trace is written");
    if (status) return sl_runtime_records_only() ? status : SL_OK;
    core->stats.trace = core->recorder.trace;
    sl_record(core, (struct sl_event){.type = SL_EVENT_BUDGET,
                                      .a = core->budget.bytes,
                                      .b = core->arena.chunk_bytes,
                                      .c = device_bytes});
    return SL_OK;
}

static uint64_t host_limit(void)
{
    struct sl_host_memory host;
    if (sl_options_in_force()->host_limit) return sl_options_in_force()->host_limit;
    sl_host_memory_read(&host);
    return sl_host_memory_limit(&host, sl_options_in_force()->host_reserve);
}

/* Decided when it is first asked for, by whichever question. */
static uint64_t virtual_size(void)
{
    static _Atomic uint64_t decided;
    uint64_t none = 0, size = atomic_load(&decided);
    if (size) return size;
    size = sl_options_in_force()->virtual_size ? sl_options_in_force()->virtual_size : host_limit();
    return atomic_compare_exchange_strong(&decided, &none, size) ? size : none;
}

static void decide_sizes(struct sl_core *core, uint64_t free_bytes, uint64_t *chunk_bytes)
{
    struct sl_profile_wanted wanted = sl_learned_wanted(core);
    sl_budget_decide(core, free_bytes, wanted.budget_bytes);
    *chunk_bytes = core->options->chunk ? core->options->chunk
                   : wanted.chunk_bytes ? wanted.chunk_bytes
                                        : automatic_chunk(core->budget.bytes);
    core->budget.host_limit_bytes = host_limit();
    core->budget.virtual_size_bytes = virtual_size();
}

/* The environment's rules were checked when they were read; a profile's were not. */
static void read_backing(struct sl_core *core)
{
    struct sl_profile_wanted wanted = sl_learned_wanted(core);
    bool given = core->options->backing[0];
    const char *rules = given ? core->options->backing : wanted.backing ? wanted.backing : "";
    if (!sl_backing_parse(rules, &core->placement.backing))
        sl_log(SL_LOG_WARN, "the profile's rules for pinned memory are not understood; there are none");
    if (!core->placement.backing.count || core->backend.pinned_new) return;
    sl_log(SL_LOG_WARN, "this device has no pinned memory: the rules for it are ignored");
    core->placement.backing.count = 0;
}

static enum sl_status build(struct sl_core *core)
{
    const struct sl_backend *backend = &core->backend;
    uint64_t free_bytes, device_bytes, chunk_bytes;
    enum sl_status status = backend->memory_info(backend->self, &free_bytes, &device_bytes);
    if (status) return status;
    sl_learned_read(core);
    decide_sizes(core, free_bytes, &chunk_bytes);
    if (!sl_lock_init(&core->order, SL_LOCK_ORDER, true)) return SL_ERR_NO_MEMORY;
    sl_arena_init(&core->arena, backend, chunk_bytes);
    uint64_t limit_bytes = core->budget.host_limit_bytes < core->budget.virtual_size_bytes
                               ? core->budget.host_limit_bytes
                               : core->budget.virtual_size_bytes;
    sl_placement_init(&core->placement, &core->arena, limit_bytes);
    core->placement.noted = sl_runtime_records_only();
    read_backing(core);
    core->streams.order = core->reuse.order = &core->order;
    core->streams.migrator = core->reuse.migrator = &core->migrator;
    core->streams.frees = &core->reuse.frees;
    core->reuse.streams = &core->streams;
    core->reuse.placement = &core->placement;
    sl_successors_init(&core->successors, &core->placement, &core->symbols, &core->sampling.durations);
    sl_scanner_init(&core->scanner, backend, &core->placement, &core->symbols);
    core->history.predictor = sl_predictor_new(HISTORY_SYMBOLS);
    if (!core->history.predictor || !sl_symbols_init(&core->symbols)) return SL_ERR_NO_MEMORY;
    status = sl_stats_init(&core->stats);
    if (status == SL_OK) sl_report_count(core);
    if (status == SL_OK) status = sl_frees_init(&core->reuse.frees, backend);
    if (status == SL_OK)
        status =
            sl_migrator_init(&core->migrator, backend, &core->arena, &core->stats, &core->streams.captures);
    core->migrator.frees = core->arena.frees = &core->reuse.frees;
    core->migrator.keeps_dead = core->options->discard == SL_DISCARD_OFF;
    if (status == SL_OK) status = sl_schedule_init(&core->schedule, &core->migrator);
    if (status == SL_OK) status = open_trace(core, device_bytes);
    if (status == SL_OK && (core->recorder.trace || core->policy->plans))
        sl_migrator_time(&core->migrator, core->recorder.trace);
    if (status == SL_OK && core->options->daemon == SL_DAEMON_THREAD && sl_policy_moves_ahead(core->policy) &&
        sl_daemon_start(&core->schedule, &core->daemon) != SL_OK)
        sl_log(SL_LOG_WARN, "no thread could be started; data is moved by the launching thread");
    core->planning.lead_eighths = SL_PLANNING_LEAD;
    if (core->daemon && sl_planner_start(&core->planning.planner) != SL_OK)
        sl_log(SL_LOG_WARN, "no thread could be started; plans are made by the launching thread");
    if (status == SL_OK) sl_learned_use(core);
    if (status == SL_OK) sl_run_metadata_start(core);
    if (status == SL_OK && core->recorder.trace) sl_sampler_open(core);
    return status;
}

/* One teardown for every stage of the build. The device's memory goes back only while the device is there. */
static void tear_down(struct sl_core *core, bool device_gone)
{
    sl_planner_stop(core->planning.planner);
    core->planning.planner = NULL;
    sl_daemon_stop(core->daemon, false);
    core->daemon = NULL;
    sl_trace_close(core->recorder.trace);
    core->recorder.trace = core->stats.trace = NULL;
    const struct sl_backend *backend = &core->backend;
    for (int s = 0; s < SL_SHARED_STREAM && !device_gone; s++)
        if (core->streams.before_capture[s])
            backend->event_delete(backend->self, core->streams.before_capture[s]);
    for (int i = 0; i < SL_STALLS && !device_gone; i++)
        if (core->stalls.at[i].reached) backend->event_delete(backend->self, core->stalls.at[i].reached);
    sl_sampler_close(core, device_gone);
    sl_durations_close(&core->sampling.durations);
    sl_schedule_close(&core->schedule, device_gone);
    if (core->reuse.frees.backend) {
        sl_joins_end(&core->reuse);
        sl_waits_end(&core->streams.gone, &core->reuse.frees);
    }
    sl_frees_close(&core->reuse.frees, device_gone);
    sl_migrator_close(&core->migrator, device_gone);
    sl_forecast_close(&core->planning.forecast);
    sl_successors_forget(&core->successors);
    sl_plan_lessons_free(&core->planning.lessons);
    sl_learned_close(core);
    sl_interleaver_delete(core->history.interleaver);
    sl_predictor_delete(core->history.predictor);
    sl_symbols_close(&core->symbols);
    sl_scanner_close(&core->scanner);
    sl_placement_close(&core->placement);
    sl_arena_close(&core->arena, device_gone);
    bool in_file = core->live != NULL;
    sl_report_leave(core);
    if (!in_file) sl_stats_close(&core->stats);
    free(core->streams.more);
    if (!device_gone) backend->close(backend->self);
}

/* With the counters at the beginning of a page and in pages of their own: see live.h. */
#define LEAD_BYTES                                                                                           \
    ((offsetof(struct sl_core, stats) + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * (size_t)SL_PAGE_BYTES)
_Static_assert(sizeof(struct sl_stats) <= SL_PAGE_BYTES && _Alignof(struct sl_core) <= 64,
               "one page, aligned");

static struct sl_core *new_core(void)
{
    char *block = aligned_alloc(SL_PAGE_BYTES, LEAD_BYTES + SL_PAGE_BYTES);
    if (!block) return NULL;
    memset(block, 0, LEAD_BYTES + SL_PAGE_BYTES);
    return (struct sl_core *)(block + LEAD_BYTES - offsetof(struct sl_core, stats));
}

static void delete_core(struct sl_core *core)
{
    if (core) free((char *)&core->stats - LEAD_BYTES);
}

void sl_runtime_seen(void)
{
    sl_report_open(sl_options_in_force());
}

void sl_runtime_unused(void)
{
    sl_report_end(NULL);
}

enum sl_status sl_runtime_start(const struct sl_backend *backend)
{
    if (atomic_exchange(&tried, true)) return sl_runtime_running() ? SL_OK : SL_ERR_UNSUPPORTED;
    sl_report_open(sl_options_in_force());
    struct sl_core *core = new_core();
    enum sl_status status = SL_ERR_NO_MEMORY;
    if (core) {
        core->backend = *backend;
        core->options = sl_options_in_force();
        core->policy = sl_policy_traits(sl_options_in_force()->policy);
        status = build(core);
    }
    if (status) {
        sl_log(SL_LOG_WARN, "cannot start (%s); the program runs as without sluice", sl_status_text(status));
        sl_report_end(NULL);
        if (core) tear_down(core, false);
        delete_core(core);
        return status;
    }
    started = core;
    sl_forget_in_children(&running, sizeof running);
    sl_trace_emit_to(core->recorder.trace, &core->stats.tick);
    atomic_store_explicit(&running.core, core, memory_order_release);
    return SL_OK;
}

/* A program may call exit in a signal handler that interrupted one of our calls, or have killed a thread
 * inside one: then the lock is never released, and the program must end all the same. */
static bool lock_for_the_last_time(struct sl_lock *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (pthread_mutex_timedlock(&lock->mutex, &until) == 0) {
        sl_check_locked(lock);
        return true;
    }
    sl_log(SL_LOG_INFO, "the program ended inside a call: not everything can be written");
    return false;
}

/* The same holds for a direction's lock: the trace then lacks the times of the last movements. */
static void settle_movements(struct sl_core *core)
{
    struct sl_link_direction *directions[] = {&core->migrator.out, &core->migrator.in};
    for (int d = 0; d < 2; d++) {
        if (!lock_for_the_last_time(&directions[d]->lock)) continue;
        sl_migrator_settle_times(&core->migrator, directions[d]);
        sl_unlock(&directions[d]->lock);
    }
}

void sl_runtime_stop(bool device_gone)
{
    struct sl_core *core = atomic_exchange(&running.core, NULL);
    int cancel_state;
    if (!core || !lock_for_the_last_time(&core->order)) return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* files are written with the lock held */
    if (!device_gone) sl_stalls_settle(core);
    sl_schedule_cancel(&core->schedule);
    if (!device_gone) {
        sl_samples_settle(core);
        settle_movements(core);
    }
    sl_run_metadata_end(core);
    if (sl_learned_something(core)) sl_learned_write(core);
    sl_report_end(core);
    /* The rest stays as it is until the process ends: another thread may be between begin and end, and
     * addresses in our arenas stay ours. */
    sl_planner_stop(core->planning.planner);
    core->planning.planner = NULL;
    sl_daemon_stop(core->daemon, !device_gone);
    core->daemon = NULL;
    sl_trace_emit_to(NULL, NULL);
    sl_trace_close(core->recorder.trace);
    core->recorder.trace = core->stats.trace = NULL;
    sl_unlock(&core->order);
    pthread_setcancelstate(cancel_state, NULL);
    if (!device_gone) atomic_store(&running.at_rest, core);
}

/* Nothing is freed: in a child of clone() another thread may have held the allocator's lock. */
void sl_runtime_after_fork(void)
{
    atomic_store(&running.core, NULL);
    atomic_store(&running.at_rest, NULL);
    sl_trace_emit_to(NULL, NULL);
    sl_report_leave(started);
    if (!started) return;
    sl_trace_abandon(started->recorder.trace);
    started->recorder.trace = started->stats.trace = NULL;
    started->daemon = NULL;
    started->planning.planner = NULL;
}

bool sl_runtime_device_bytes(uint64_t *bytes)
{
    if (sl_runtime_records_only()) return false;
    *bytes = virtual_size();
    return true;
}

void sl_runtime_charge(int64_t bytes)
{
    struct sl_core *core = sl_core_running();
    if (core) atomic_fetch_add(&core->budget.charged_bytes, bytes);
}

void sl_runtime_capture(int change)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    if (change < 0) atomic_fetch_add(&core->streams.captures_ended, 1);
    atomic_fetch_add(&core->streams.captures, change);
}

void sl_runtime_hold(int change)
{
    if (started) atomic_fetch_add(&started->migrator.held, (uint32_t)change);
}

void sl_runtime_variable(uint64_t address, uint64_t bytes, uint64_t module)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    sl_lock(&core->order);
    sl_tables_variable(&core->scanner.tables, address, bytes, module);
    sl_unlock(&core->order);
}

void sl_runtime_functions_changed(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    sl_lock(&core->order);
    sl_kernels_forget(&core->scanner.kernels);
    sl_unlock(&core->order);
}

enum sl_status sl_runtime_save_profile(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return SL_ERR_UNSUPPORTED;
    sl_lock(&core->order);
    enum sl_status status = sl_learned_write(core);
    sl_unlock(&core->order);
    return status;
}
