#include "core/runtime.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/forked.h"
#include "base/log.h"
#include "core/core.h"
#include "core/learned.h"
#include "core/report.h"
#include "move/daemon.h"
#include "trace/python_frames.h"
#include "trace/stack_walk.h"
#include "trace/trace_write.h"

/* --- cores */

static struct sl_core *started[SL_MOST_CORES]; /* never freed: threads may still use one that stopped */
static _Atomic uint32_t count;
static uint32_t latest; /* number of the core that was added last */

static struct running {
    struct sl_core *_Atomic only; /* the only core ever started, or NULL; in a child all of this is NULL */
    struct sl_core *_Atomic at[SL_MOST_CORES];
    struct sl_core *_Atomic at_rest[SL_MOST_CORES]; /* stopped, but its memory exists */
} SL_OWN_PAGES running;

__thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

struct sl_core *sl_core_numbered(uint32_t number)
{
    return number < SL_MOST_CORES ? atomic_load_explicit(&running.at[number], memory_order_acquire) : NULL;
}

struct sl_core *sl_core_after(const struct sl_core *core)
{
    struct sl_core *next = NULL;
    for (uint32_t c = core ? core->number + 1 : 0; c < sl_cores_started() && !next; c++)
        next = sl_core_numbered(c);
    return next;
}

struct sl_core *sl_core_running(void)
{
    struct sl_core *only = atomic_load_explicit(&running.only, memory_order_acquire);
    return __builtin_expect(only != NULL, 1) ? only : sl_core_numbered(sl_thread_core);
}

bool sl_cores_owner(uint64_t address, uint32_t *number)
{
    uint32_t entry = sl_arena_entry(address);
    if (entry) *number = entry >> SL_OWNER_SHIFT;
    return entry != 0;
}

struct sl_core *sl_core_of(uint64_t address)
{
    struct sl_core *only = atomic_load_explicit(&running.only, memory_order_acquire);
    uint32_t number = sl_thread_core;
    if (__builtin_expect(only != NULL, 1)) return only;
    sl_cores_owner(address, &number);
    return sl_core_numbered(number);
}

struct sl_core *sl_core_at_rest(uint64_t address)
{
    uint32_t number = 0;
    sl_cores_owner(address, &number);
    return number < SL_MOST_CORES ? atomic_load(&running.at_rest[number]) : NULL;
}

bool sl_cores_are_several(void)
{
    return sl_cores_started() > 1;
}

uint32_t sl_cores_started(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

struct sl_core *sl_core_started(uint32_t number)
{
    return started[number];
}

uint32_t sl_cores_next(void)
{
    uint32_t next = sl_cores_started();
    if (next < SL_MOST_CORES) return next;
    for (uint32_t seen = 0, number = latest; seen < SL_MOST_CORES; seen++) {
        number = number % (SL_MOST_CORES - 1) + 1;
        if (!sl_core_numbered(number) && !atomic_load(&running.at_rest[number])) return number;
    }
    return SL_MOST_CORES;
}

/* The core runs from now on under its number, which sl_cores_next gave. With several cores, a call belongs to
 * the core that its thread turned to, at first number 0. Precondition: no other thread adds a core. */
static void add_core(struct sl_core *core)
{
    uint32_t number = latest = core->number;
    if (!number) sl_forget_in_children(&running, sizeof running);
    started[number] = core;
    atomic_store_explicit(&running.at[number], core, memory_order_release);
    atomic_store_explicit(&running.only, number ? NULL : core, memory_order_release);
    if (number == sl_cores_started()) atomic_store_explicit(&count, number + 1, memory_order_release);
}

/* --- the runtime */

static _Atomic bool tried;
/* Counts that are equal on all cores change on all of them at once, also while a core is added. */
static pthread_mutex_t everywhere = PTHREAD_MUTEX_INITIALIZER;
static int captures; /* captures under way that began after the first start */

void sl_runtime_load(void)
{
    sl_options_load();
    const struct sl_options *options = sl_options_in_force();
    sl_stack_walk_open();
    if (sl_framework_may_come()) {
        sl_python_frames_open();
        if (options->trace[0] && options->trace_names == SL_TRACE_NAMES_ON) sl_tensor_names_open();
    }
    if (options->verbose >= 2) sl_options_print_values(stderr, options);
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
const char *sl_runtime_sysfs(void)
{
    return sl_options_sysfs(sl_options_in_force());
}
bool sl_runtime_running(void)
{
    return __builtin_expect(sl_core_running() != NULL, 1) || sl_core_after(NULL);
}

void sl_runtime_seen(void)
{
    sl_report_open(sl_options_in_force());
}

void sl_runtime_unused(void)
{
    sl_report_end(NULL);
}

/* Makes and builds a core. */
static enum sl_status start_core(const struct sl_backend *backend, uint32_t number, struct sl_core **out)
{
    struct sl_core *core = number < SL_MOST_CORES ? sl_core_new(backend, number) : NULL;
    enum sl_status status = core ? sl_core_build(core) : SL_ERR_NO_MEMORY;
    *out = core;
    if (status == SL_OK) return status;
    sl_log(SL_LOG_WARN,
           number ? "a further context is not managed (%s)"
                  : "cannot start (%s); the program runs as without sluice",
           sl_status_text(status));
    if (!number) sl_report_end(NULL);
    if (core) sl_core_tear_down(core, false);
    sl_core_delete(core);
    return status;
}

enum sl_status sl_runtime_start(const struct sl_backend *backend)
{
    if (atomic_exchange(&tried, true)) return sl_runtime_running() ? SL_OK : SL_ERR_UNSUPPORTED;
    sl_report_open(sl_options_in_force());
    struct sl_core *core;
    enum sl_status status = start_core(backend, 0, &core);
    if (status) return status;
    sl_trace_emit_to(core->recorder.trace, &core->stats.tick);
    add_core(core);
    return SL_OK;
}

enum sl_status sl_runtime_start_another(const struct sl_backend *backend, uint32_t *number)
{
    uint32_t next = sl_cores_next();
    if (next < sl_cores_started()) sl_core_tear_down(sl_core_started(next), true);
    struct sl_core *core;
    enum sl_status status = start_core(backend, next, &core);
    if (status) return status;
    if (core->options->trace[0])
        sl_warn_once("the trace is that of the first context: what the program does in others is not in it");
    pthread_mutex_lock(&everywhere);
    atomic_store(&core->streams.captures, captures);
    atomic_store(&core->migrator.held, atomic_load(&sl_core_started(0)->migrator.held));
    add_core(core);
    pthread_mutex_unlock(&everywhere);
    *number = next;
    return SL_OK;
}

/* Locks if that takes at most a second. A program may call exit in a signal handler that interrupted one of
 * our calls, or may have killed a thread inside one. Then the lock is never released, and the program must
 * still end. */
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

/* The same for a direction's lock. Without it the trace lacks the times of the last movements. */
static void settle_movements(struct sl_core *core)
{
    struct sl_link_direction *directions[] = {&core->migrator.out, &core->migrator.in};
    for (int d = 0; d < 2; d++) {
        if (!lock_for_the_last_time(&directions[d]->lock)) continue;
        sl_migrator_settle_times(&core->migrator, directions[d]);
        sl_unlock(&directions[d]->lock);
    }
}

/* Ends the core's threads, its movements and its trace's file. Nothing is freed and no pointer changes until
 * the process ends: other threads may be inside a call, and our addresses stay ours as long as the device has
 * them. */
static void end_work(struct sl_core *core, bool device_gone)
{
    sl_planner_stop(core->planning.planner);
    sl_daemon_stop(core->schedule.daemon, !device_gone);
    atomic_store(&core->migrator.failed, true);
    if (core->recorder.trace) sl_trace_emit_to(NULL, NULL);
    sl_trace_close(core->recorder.trace);
    if (!device_gone) return;
    sl_arena_forget(&core->arena);
    if (core->backend.lost) core->backend.lost(core->backend.self);
}

void sl_runtime_stop_one(uint32_t number, bool device_gone)
{
    struct sl_core *core = sl_core_numbered(number), *only = core;
    int cancel_state;
    if (!core) return;
    atomic_compare_exchange_strong(&running.only, &only, NULL);
    if (!atomic_exchange(&running.at[number], NULL) || !lock_for_the_last_time(&core->order)) return;
    /* Rule 20 of docs/concurrency.md */
    core->over = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* files are written under the lock */
    if (!device_gone) sl_stalls_settle(&core->sampling);
    sl_schedule_cancel(&core->schedule);
    if (!device_gone) {
        sl_samples_settle(&core->sampling);
        settle_movements(core);
    }
    sl_monitor_observe(core);
    sl_shortage_say_moving(core);
    sl_record_end(&core->recorder, &core->stats, &core->migrator);
    if (sl_learned_something(core->learned)) sl_learned_write(core->learned);
    sl_report_end(core);
    if (!sl_runtime_running()) sl_monitor_page_close();
    if (device_gone) sl_late_frees_forget(number);
    end_work(core, device_gone);
    if (device_gone) sl_host_part_end(&core->host);
    sl_unlock(&core->order);
    pthread_setcancelstate(cancel_state, NULL);
    if (!device_gone) atomic_store(&running.at_rest[core->number], core);
}

void sl_runtime_stop(bool device_gone)
{
    for (uint32_t c = 0; c < sl_cores_started(); c++) sl_runtime_stop_one(c, device_gone);
    struct sl_core *first = sl_cores_started() ? sl_core_started(0) : NULL;
    if (!first || !lock_for_the_last_time(&first->order)) return;
    sl_host_share_end(&sl_process_share);
    sl_unlock(&first->order);
}

/* Frees nothing: in a child of clone() another thread may have held malloc's lock. */
void sl_runtime_after_fork(void)
{
    pthread_mutex_init(&everywhere, NULL);
    sl_late_frees_after_fork();
    sl_python_after_fork();
    atomic_store(&running.only, NULL);
    for (uint32_t c = 0; c < SL_MOST_CORES; c++) {
        atomic_store(&running.at[c], NULL);
        atomic_store(&running.at_rest[c], NULL);
    }
    sl_trace_emit_to(NULL, NULL);
    sl_report_leave();
    sl_node_forget(&sl_process_share.node); /* the parent's registration */
    for (uint32_t c = 0; c < sl_cores_started(); c++) {
        struct sl_core *core = sl_core_started(c);
        sl_monitor_leave(core);
        sl_trace_abandon(core->recorder.trace);
        core->recorder.trace = core->stats.trace = NULL;
        core->schedule.daemon = NULL;
        core->planning.planner = NULL;
    }
}

bool sl_runtime_device_bytes(uint64_t *bytes)
{
    if (sl_runtime_records_only()) return false;
    *bytes = sl_core_virtual_size();
    return true;
}

static void charge(struct sl_core *core, int64_t bytes)
{
    if (!core) return;
    if (bytes > 0) bytes -= (int64_t)sl_device_room_use((uint64_t)bytes);
    sl_budget_charge(&core->budget, bytes);
    if (bytes > 0 && core->policy->memory == SL_MEMORY_MOVED) atomic_store(&core->budget.lessened, true);
}

void sl_runtime_charge(int64_t bytes)
{
    charge(sl_core_running(), bytes);
}

void sl_runtime_charge_to(uint32_t number, int64_t bytes)
{
    charge(sl_core_numbered(number), bytes);
}

/* Also on cores that have stopped: other threads may still be inside calls. */
void sl_runtime_capture(int change)
{
    pthread_mutex_lock(&everywhere);
    if (sl_cores_started()) captures += change;
    for (uint32_t c = 0; c < sl_cores_started(); c++)
        atomic_fetch_add(&sl_core_started(c)->streams.captures, change);
    pthread_mutex_unlock(&everywhere);
}

void sl_runtime_capture_ends(void)
{
    pthread_mutex_lock(&everywhere);
    for (uint32_t c = 0; c < sl_cores_started(); c++)
        atomic_fetch_add(&sl_core_started(c)->streams.capture_ends, 1);
    pthread_mutex_unlock(&everywhere);
}

/* On all cores, because streams of one device may wait for streams of another. */
void sl_runtime_hold(int change)
{
    pthread_mutex_lock(&everywhere);
    for (uint32_t c = 0; c < sl_cores_started(); c++)
        atomic_fetch_add(&sl_core_started(c)->migrator.held, (uint32_t)change);
    pthread_mutex_unlock(&everywhere);
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
    for (struct sl_core *core = NULL; (core = sl_core_after(core));) {
        sl_lock(&core->order);
        sl_kernels_forget(&core->scanner.kernels);
        sl_unlock(&core->order);
    }
}

enum sl_status sl_runtime_save_profile(void)
{
    enum sl_status saved = SL_ERR_UNSUPPORTED;
    for (struct sl_core *core = NULL; (core = sl_core_after(core));) {
        sl_lock(&core->order);
        enum sl_status status = sl_learned_write(core->learned);
        sl_unlock(&core->order);
        if (saved == SL_ERR_UNSUPPORTED) saved = status;
    }
    return saved;
}

struct sl_view sl_runtime_view(void)
{
    const struct sl_core *core = sl_core_running();
    return (struct sl_view){&core->arena, &core->placement, &core->stats, &core->scanner.usage};
}

/* --- records of the shim */

bool sl_runtime_tracing(void)
{
    return sl_trace_emits();
}

uint64_t sl_runtime_wait_begins(void)
{
    return sl_runtime_tracing() ? sl_clock_ns(CLOCK_MONOTONIC) : 0;
}

void sl_runtime_wait_ended(uint64_t began_ns, enum sl_sync_kind kind, uint64_t handle)
{
    if (!began_ns) return;
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    sl_trace_emit((struct sl_event){
        .type = SL_EVENT_SYNC, .flags = (uint8_t)kind, .time_ns = now, .a = now - began_ns, .b = handle});
}

void sl_runtime_failed(enum sl_error_kind kind, uint32_t code, sl_tick tick, uint64_t bytes, uint64_t site)
{
    sl_trace_emit((struct sl_event){
        .type = SL_EVENT_ERROR, .flags = (uint8_t)kind, .id = code, .tick = tick, .a = bytes, .c = site});
}

void sl_runtime_mark(enum sl_mark_kind kind, enum sl_mark_source source, uint32_t domain, uint32_t range,
                     const char *name)
{
    sl_trace_emit((struct sl_event){.type = SL_EVENT_MARK,
                                    .flags = (uint8_t)kind,
                                    .id = range,
                                    .a = domain,
                                    .c = source,
                                    .text = sl_intern_some(name)});
}

void sl_runtime_mark_domain(uint32_t domain, const char *name)
{
    char text[256];
    snprintf(text, sizeof text, "nvtx_domain_%u=%s", domain, name);
    sl_trace_emit((struct sl_event){.type = SL_EVENT_METADATA, .text = sl_intern(text)});
}
