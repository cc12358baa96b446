/* The core as the shim sees it: one for each device. The shim translates CUDA calls into these calls and
 * decides nothing. Addresses are device addresses. Unless said otherwise, functions are thread-safe
 * and may be called before the start and after the stop, when they own nothing and do nothing.
 */
#ifndef SLUICE_RUNTIME_H
#define SLUICE_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "core/allocate.h"
#include "core/late_frees.h"
#include "core/mapped.h"
#include "core/room.h"
#include "device/backend.h"
#include "launch/launch.h"
#include "trace/events.h"

struct sl_arena;
struct sl_core;
struct sl_placement;
struct sl_stats;
struct sl_usage;

/* Reads the options and opens the log. Called once, from the shim's constructor; does not call CUDA and
 * starts no thread. */
void sl_runtime_load(void);

/* Whether sluice has to start at the first context: not if the policy is off and no trace is asked for. */
bool sl_runtime_wanted(void);

/* Whether the core only records (SLUICE_POLICY=off with a trace). All memory then comes from the driver: use
 * sl_runtime_note_alloc instead of sl_runtime_alloc. */
bool sl_runtime_records_only(void);

/* Who manages the program's memory; the backend is made for that. */
enum sl_memory_use sl_runtime_memory(void);
/* The folder where the kernel lists devices. */
const char *sl_runtime_sysfs(void);

/* sl_runtime_seen: CUDA is used, whether or not the core will start. Call it first; idempotent.
 * sl_runtime_unused: the core will not start. */
void sl_runtime_seen(void);
void sl_runtime_unused(void);

/* Starts the core on `backend`, whose context is current. Only the first call works. A failure is final: one
 * warning, and the program runs as without sluice. The core owns *backend from then on. */
enum sl_status sl_runtime_start(const struct sl_backend *backend);
bool sl_runtime_running(void);
/* Starts a further core, for another device or for the next context of a device; *number is its number, that
 * sl_cores_next says before. It has no trace and no profile, and shares host memory with the first core
 * (host_share.h). Precondition: the first core started; one thread at a time. */
enum sl_status sl_runtime_start_another(const struct sl_backend *backend, uint32_t *number);

/* Stops all cores, or one. The core moves nothing more, writes statistics, profile and trace, ends its
 * threads, and logs the summary if asked for. `device_gone`: the context is destroyed or about to be, so no
 * device memory is freed. Idempotent. */
void sl_runtime_stop(bool device_gone);
void sl_runtime_stop_one(uint32_t number, bool device_gone);

/* In a child after fork: drops all state without touching the device or the parent's files. */
void sl_runtime_after_fork(void);

/* The managed device's memory as the program sees it, for cuMemGetInfo's total; works before the start, too.
 * False: ask the driver. */
bool sl_runtime_device_bytes(uint64_t *bytes);

/* The program took (+) or gave back (-) device memory past us: virtual memory management, arrays, pools and
 * so on. Chunks are evicted for it at the next launch. */
void sl_runtime_charge(int64_t bytes);
void sl_runtime_charge_to(uint32_t number, int64_t bytes); /* for another core than the thread's */
/* The driver was asked instead of sl_runtime_alloc (allocate.h), and what it gave
 * is charged. Usually reads one thread-local variable. */
void sl_runtime_driver_gave(void);

/* Anywhere in the process, a stream capture is about to begin (+1), or ended or failed to begin (-1). While
 * one is under way, launches on capturing streams are left alone. Counts after the stop, too. */
void sl_runtime_capture(int change);
/* A capture is about to end. An event recorded meanwhile may belong to it. */
void sl_runtime_capture_ends(void);
/* Work that waits for something other than the device's own work is given to a stream (+1), or has run (-1).
 * May be called where calls of the driver are forbidden. */
void sl_runtime_hold(int change);

/* The module has a variable at `address`: its kernels may follow pointers that are copied there. */
void sl_runtime_variable(uint64_t address, uint64_t bytes, uint64_t module);

/* A module was unloaded: forgets what was cached under handles of its functions. */
void sl_runtime_functions_changed(void);

/* A stream is about to get work that is no launch, or the program's thread is about to wait for the device:
 * records the points of frees, so that they lie in front of that. Enqueues. */
void sl_runtime_work_comes(void);

/* The program's thread has waited for the device, so it has time to check now and then whether others took
 * device memory. Precondition: no lock of the core is held. */
void sl_runtime_waited(void);

/* Writes the profile to SLUICE_PROFILE. SL_ERR_UNSUPPORTED: the core does not run, no profile is asked for,
 * no iteration has repeated yet, or the file is another program's. */
enum sl_status sl_runtime_save_profile(void);

/* What a replay looks at in the running core, as long as that runs. Precondition: no other thread calls the
 * core meanwhile. With SLUICE_DAEMON=inline the core has no threads of its own. */
struct sl_view {
    const struct sl_arena *arena;
    const struct sl_placement *placement;
    const struct sl_stats *stats;
    const struct sl_usage *usage; /* of the newest launch, until it ends */
};
struct sl_view sl_runtime_view(void);

/* --- launch_path.c: from before the driver gets a launch until after it has it */

/* Call the first before the real call: it fetches the launch's chunks. It never fails: the worst case is a
 * slow launch. Call the second after the real call in the same thread; `ok` says whether the driver accepted
 * the launch. Every begin needs its end. */
void sl_runtime_launch_begin(struct sl_launch *launch);
void sl_runtime_launch_end(struct sl_launch *launch, bool ok);

/* The accesses of `launch`, which is not launched now: for launches of graphs. Its stream is ignored, and its
 * parameters are read during the call only. May ask the driver for the kernel's parameters. NULL: the core
 * does not run, or there is no memory. Free it with free(). */
struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch);

/* The device memory that a launch with this footprint would take now, and the budget. Bytes beyond the budget
 * are partly used in place. If the core does not move memory, the budget is unlimited. */
struct sl_fit {
    uint64_t bytes, budget_bytes;
};
struct sl_fit sl_runtime_fit(const struct sl_footprint *footprint);

/* --- sync.c: the program's waits, and the ends of its streams */

/* The program is about to begin a capture on the stream, or to make the stream wait while a capture is under
 * way, which may draw the stream in. Notes the stream's work so far, which a free during the capture has to
 * wait for. */
void sl_runtime_capture_may_begin(sl_stream stream);

/* Around the driver's call behind that: no other thread waits for a stream meanwhile. The calling thread does
 * nothing else, and is not cancelled. */
struct sl_capture_begin {
    struct sl_core *core;
    int cancel_state;
};
struct sl_capture_begin sl_runtime_capture_begins(void);
void sl_runtime_capture_begun(struct sl_capture_begin begin);

/* The program is about to destroy a stream, whose work may still run. */
void sl_runtime_stream_gone(sl_stream stream);

/* Waits on the host for all work of the context's streams so far, except streams that capture. The driver
 * does the same when memory is freed, but by waiting for the context, which a capture in another thread
 * forbids. Precondition: the context is current. SL_ERR_DRIVER: some work may not be done. */
enum sl_status sl_runtime_finish(void);

/* Whether the thread's core knows that the program gave its context no work since it last waited for all of
 * it, and that this wait succeeded. Takes no lock. */
bool sl_runtime_is_quiet(void);

/* Makes the stream, or else the host, wait for the event; puts the event behind the stream's work, or else
 * waits for that. Events are cuEventCreate's. SL_ERR_DRIVER: nothing is in order. */
enum sl_status sl_runtime_order(sl_stream stream, sl_event_handle event);
enum sl_status sl_runtime_record(sl_event_handle event, sl_stream stream);

/* The program recorded the event on the stream, or makes the stream wait for it. This tells which work lies
 * behind a collective. Without collectives each costs a load. */
void sl_runtime_event_recorded(const void *event, sl_stream stream);
void sl_runtime_event_destroyed(const void *event); /* another one may get its handle */
void sl_runtime_stream_waits(sl_stream stream, const void *event);

/* Around the program's cuCtxSynchronize: call the first before the driver's call, and the second with its
 * result after the call succeeded. All work issued before is then done. */
struct sl_sync_mark {
    sl_tick tick;   /* the last launch that the wait covers; UINT64_MAX: unknown */
    uint64_t frees; /* the number of frees that it covers */
};
struct sl_sync_mark sl_runtime_synchronizing(void);
void sl_runtime_synchronized(struct sl_sync_mark before);

/* --- records of the shim beside allocations and launches */

/* Whether a trace is written; otherwise the functions below do nothing. Costs a few loads. */
bool sl_runtime_tracing(void);

/* Call the first before a call that waits, and the second after it with the first one's result, which is 0
 * if no trace is written. `handle`: the stream or event. */
uint64_t sl_runtime_wait_begins(void);
void sl_runtime_wait_ended(uint64_t began_ns, enum sl_sync_kind kind, uint64_t handle);

/* A mark of the program. `domain`: the NVTX domain; 0: the default one. `range`: the id of an NVTX range
 * that starts and ends by id. `name` is copied. */
void sl_runtime_mark(enum sl_mark_kind kind, enum sl_mark_source source, uint32_t domain, uint32_t range,
                     const char *name);
/* The name of a domain. */
void sl_runtime_mark_domain(uint32_t domain, const char *name);

/* A call of the program failed with the driver's error `code`. `tick`: the launch that failed, or 0.
 * `bytes`: the requested size, or 0. `site`: from sl_site_here, or 0. */
void sl_runtime_failed(enum sl_error_kind kind, uint32_t code, sl_tick tick, uint64_t bytes, uint64_t site);

/* --- the cores of the process
 *
 * One for each device that it uses, and another one for each context that follows on a device. They are
 * numbered from 0 in the order of their start.
 *
 * A call of the program belongs to the core of the calling thread's device; a call that names an address
 * belongs to the core whose memory that is. With only one core no look-up is made. */

#define SL_MOST_CORES 32

/* The number of the core for the calling thread's calls; initially 0. */
extern __thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

static inline void sl_cores_turn_to(uint32_t number)
{
    sl_thread_core = number;
}

/* The number of the next core: a new one or, if there is none left, that of a core that stopped with its
 * device, but never that of the first core. SL_MOST_CORES: none. One thread at a time. */
uint32_t sl_cores_next(void);

/* Whether a second core was ever started. */
bool sl_cores_are_several(void);

/* Finds the core whose memory `address` is, even if the core has stopped. False: no core's. */
bool sl_cores_owner(uint64_t address, uint32_t *number);

/* For src/core/: */

/* The running core of the calling thread's device; the running core whose memory `address` is, or, if it is
 * no core's, that of the thread's device; the running core with a number. NULL: it does not run. */
struct sl_core *sl_core_running(void);
struct sl_core *sl_core_of(uint64_t address);
struct sl_core *sl_core_numbered(uint32_t number);
/* The running core with the next higher number, or, after NULL, with the lowest. NULL: there is none. */
struct sl_core *sl_core_after(const struct sl_core *core);
/* The stopped core whose memory `address` is, as long as that memory exists; else NULL. */
struct sl_core *sl_core_at_rest(uint64_t address);

/* How many numbers are in use, and the latest core of each, running or not. They are kept, because other
 * threads may still use one that stopped. */
uint32_t sl_cores_started(void);
struct sl_core *sl_core_started(uint32_t number);

#endif
