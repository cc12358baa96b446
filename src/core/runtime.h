/* The core as the shim sees it: one instance for the process. The shim translates calls into these and
 * decides nothing. Addresses are device addresses. Unless said otherwise, functions are thread-safe and may
 * be called before the start and after the stop, when they own nothing and do nothing.
 */
#ifndef SLUICE_RUNTIME_H
#define SLUICE_RUNTIME_H

#include "base/options.h"
#include "device/backend.h"
#include "launch/footprint.h"
#include "launch/launch.h"
#include "trace/events.h"
#include "trace/sites.h"

/* Reads the options and opens the log. Called once from the shim's constructor; touches no CUDA, starts no
 * thread. */
void sl_runtime_load(void);
const struct sl_options *sl_runtime_options(void);

/* What the process needs of sluice at the first context: SL_POLICY_OFF without a trace wants nothing at all.
 */
bool sl_runtime_wanted(void);

/* Whether the core only records: SLUICE_POLICY=off with a trace. All memory stays the driver's then, and
 * sl_runtime_alloc is not for it: what the driver gave is noted. */
bool sl_runtime_records_only(void);

/* Whose the program's memory is: what the backend must be made for. */
enum sl_memory_use sl_runtime_memory(void);

/* CUDA is used, whether or not the core will start: the first thing to be said, and idempotent. And: it will
 * not start. */
void sl_runtime_seen(void);
void sl_runtime_unused(void);

/* Starts the core on `backend`, whose context is current. Idempotent: only the first call works, and a
 * failure is final (one warning line; the program runs as without sluice). The core owns *backend from then
 * on. */
enum sl_status sl_runtime_start(const struct sl_backend *backend);
bool sl_runtime_running(void);

/* Stops: moves nothing more, writes statistics and trace, ends its threads, prints the summary if asked for.
 * `device_gone`: the context is destroyed or about to be; memory is given back to nobody. Idempotent. */
void sl_runtime_stop(bool device_gone);

/* In the child after fork: drops all state without touching the device or the parent's files. */
void sl_runtime_after_fork(void);

/* --- memory
 * ------------------------------------------------------------------------------------------------- */

/* A live allocation. */
struct sl_allocation {
    uint64_t address, bytes;
    uint64_t number; /* no other allocation of the process has or had it */
    uint32_t tag;    /* the shim's own note about it */
};

/* An allocation of `bytes` > 0 bytes, aligned to at least 512. SL_ERR_NO_MEMORY becomes
 * CUDA_ERROR_OUT_OF_MEMORY; SL_ERR_UNSUPPORTED: not managed (stopped, policy off): the shim calls the driver
 * instead. `site` from sl_site_here. */
enum sl_status sl_runtime_alloc(uint64_t bytes, uint64_t site, uint32_t tag, uint64_t *address);

/* The same in the order of `stream`, which must take work: only what comes behind the call in that order may
 * use the memory, and the stream waits for whoever used it before. */
enum sl_status sl_runtime_alloc_async(uint64_t bytes, uint64_t site, uint32_t tag, sl_stream stream,
                                      uint64_t *address);

/* Frees what the two above gave; *freed (may be NULL) is what it was. Whoever gets the memory next does so
 * behind everything that was issued to any stream until now. SL_ERR_INVALID if `address` is in our arenas but
 * no allocation starts there. After the stop all succeeds and *freed stays as it was. pre:
 * sl_runtime_owns(address). */
enum sl_status sl_runtime_free(uint64_t address, struct sl_allocation *freed);
/* The same in the order of `stream`, which must take work: the memory is used again behind what was issued
 * to that stream until now, and behind nothing else. */
enum sl_status sl_runtime_free_async(uint64_t address, sl_stream stream, struct sl_allocation *freed);

/* Memory that the driver gave to the program, while the core only records; does nothing otherwise. To be told
 * of after the driver gave it; of its end before the driver takes it back, as another thread may get the same
 * address at once. */
struct sl_noted {
    uint64_t address, bytes, site;
};
void sl_runtime_note_alloc(uint64_t address, uint64_t bytes, uint64_t site);
/* False: no allocation starts at `address`. *noted (may be NULL): what it was. */
bool sl_runtime_note_free(uint64_t address, struct sl_noted *noted);
/* All that has a part in [address, address + bytes) is gone. */
void sl_runtime_note_unmap(uint64_t address, uint64_t bytes);

/* Whether `address` lies in one of our arenas: lock-free, a few nanoseconds. While the core only records:
 * whether it lies in an allocation that was noted. */
bool sl_runtime_owns(uint64_t address);

/* Whether any of [address, last] does. */
bool sl_runtime_owns_part(uint64_t address, uint64_t last);

/* The live allocation that holds `address`; also after the stop, while the device is there. */
bool sl_runtime_find(uint64_t address, struct sl_allocation *found);

/* Answers cuMemGetInfo with the virtual size, of which allocations of ours and what was charged take a part.
 * False: ask the driver. */
bool sl_runtime_memory_info(uint64_t *free_bytes, uint64_t *total_bytes);

/* The managed device's whole memory, as the program is told: cuMemGetInfo's total, before the start too.
 * False: ask the driver. */
bool sl_runtime_device_bytes(uint64_t *bytes);

/* Changes bits of the tag of the live allocation that holds `address`. False: there is none. */
bool sl_runtime_tag(uint64_t address, uint32_t clear, uint32_t set);

/* Device memory that the program takes past us (pass-through allocations: VMM, arrays, pools ...): +bytes,
 * -bytes. */
void sl_runtime_charge(int64_t bytes);

/* --- launches
 * ----------------------------------------------------------------------------------------------- */

/* Before the real call: sees to the launch's chunks. Never fails: the worst case is a slow launch.
 * After it: `ok` says whether the driver took the launch. Every begin has its end, in the same thread. */
void sl_runtime_launch_begin(struct sl_launch *launch);
void sl_runtime_launch_end(struct sl_launch *launch, bool ok);

/* What `launch`, which is not made now, may touch: for launches of graphs. Its stream means nothing, and its
 * parameters are read during the call only. May ask the driver for the kernel's parameters. NULL when the
 * core does not run or there is no memory. Freed with free(). */
struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch);

/* A stream capture is about to begin (+1), or ended, or did not begin (-1), anywhere in the process. While
 * any is under way, launches on capturing streams are left alone. */
void sl_runtime_capture(int change);
/* The program is about to begin a capture on the stream, or to make it wait for something while there is any
 * capture, which may draw it in. What it was given until now counts when memory is freed during the capture.
 */
void sl_runtime_capture_may_begin(sl_stream stream);

/* A stream was given work (+1) that waits for something else than the device's own work, or that is done
 * (-1). May be called where the driver's functions must not be. */
void sl_runtime_hold(int change);

/* The program is about to destroy a stream; what it submitted there may still run. */
void sl_runtime_stream_gone(sl_stream stream);

/* A variable of `module` is at `address`: kernels of that module may follow the pointers that are copied
 * there. */
void sl_runtime_variable(uint64_t address, uint64_t bytes, uint64_t module);

/* A function's module was unloaded: what was cached under any handle of it is forgotten. */
void sl_runtime_functions_changed(void);

/* Waits, on the host, for what the context's streams were given so far, but for those that capture: what the
 * driver does when memory is freed, without the wait for the context that a capture in another thread
 * forbids. pre: the context is current. */
void sl_runtime_finish(void);

/* The program waits for its whole context (cuCtxSynchronize): the first before the driver's call, the second,
 * with what the first returned, after it succeeded. Everything issued before is then done. */
struct sl_sync_mark {
    sl_tick tick;   /* the last launch that the wait covers, UINT64_MAX: not known */
    uint64_t frees; /* so many that it covers */
};
struct sl_sync_mark sl_runtime_synchronizing(void);
void sl_runtime_synchronized(struct sl_sync_mark before);

/* The program's thread has waited for the device, so it has time: now and then sees whether others took
 * memory of the device. pre: no lock of the core's is held. */
void sl_runtime_waited(void);

/* Writes what was learned so far to SLUICE_PROFILE. SL_ERR_UNSUPPORTED: the core does not run, no profile is
 * asked for, nothing repeated itself yet, or the file there is another program's. */
enum sl_status sl_runtime_save_profile(void);

/* --- the trace
 * --------------------------------------------------------------------------------------------------- */

/* Whether a trace is written; what follows does nothing otherwise. A few loads. */
bool sl_runtime_tracing(void);

/* Around a call that waits: the first before it; the second after it with what the first returned, which is 0
 * where no trace is written. `handle`: the stream or event. */
uint64_t sl_runtime_wait_begins(void);
void sl_runtime_wait_ended(uint64_t began_ns, enum sl_sync_kind kind, uint64_t handle);

/* The program marks what it does. `domain`: of NVTX, 0 for the default one; `range`: the number of one that
 * begins and ends by number; `name`: copied. */
void sl_runtime_mark(enum sl_mark_kind kind, enum sl_mark_source source, uint32_t domain, uint32_t range,
                     const char *name);
/* How a domain is called. */
void sl_runtime_mark_domain(uint32_t domain, const char *name);

/* A call of the program failed with the driver's error `code`. `tick`: the launch that did, or 0;
 * `bytes`: asked for, or 0; `site`: from sl_site_here, or 0. */
void sl_runtime_failed(enum sl_error_kind kind, uint32_t code, sl_tick tick, uint64_t bytes, uint64_t site);

#endif
