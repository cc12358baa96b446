/* The core as the shim sees it: one for each device (cores.h). The shim translates calls into these and
 * decides nothing. Addresses are device addresses. Unless said otherwise, functions are thread-safe and may
 * be called before the start and after the stop, when they own nothing and do nothing.
 */
#ifndef SLUICE_RUNTIME_H
#define SLUICE_RUNTIME_H

#include "base/options.h"
#include "core/allocate.h"
#include "core/blocks.h"
#include "core/cores.h"
#include "core/late_frees.h"
#include "core/launch_path.h"
#include "core/mapped.h"
#include "core/program_events.h"
#include "core/sync.h"
#include "device/backend.h"

/* Reads the options and opens the log. Called once from the shim's constructor; touches no CUDA, starts no
 * thread. */
void sl_runtime_load(void);

/* What the process needs of sluice at the first context: SL_POLICY_OFF without a trace wants nothing at all.
 */
bool sl_runtime_wanted(void);

/* Whether the core only records: SLUICE_POLICY=off with a trace. All memory stays the driver's then, and
 * sl_runtime_alloc is not for it: what the driver gave is noted. */
bool sl_runtime_records_only(void);

/* Whose the program's memory is: what the backend must be made for. */
enum sl_memory_use sl_runtime_memory(void);
/* The folder in which the kernel shows devices. */
const char *sl_runtime_sysfs(void);

/* CUDA is used, whether or not the core will start: the first thing to be said, and idempotent. And: it will
 * not start. */
void sl_runtime_seen(void);
void sl_runtime_unused(void);

/* Starts the core on `backend`, whose context is current. Idempotent: only the first call works, and a
 * failure is final (one warning line; the program runs as without sluice). The core owns *backend from then
 * on. */
enum sl_status sl_runtime_start(const struct sl_backend *backend);
bool sl_runtime_running(void);
/* The same for a further device, as often as there is one: *number is its core's. It has no trace and no
 * profile, and its host memory is lent by the first (host_share.h). pre: the first started; one thread. */
enum sl_status sl_runtime_start_another(const struct sl_backend *backend, uint32_t *number);

/* Stops all cores, or one: it moves nothing more, writes statistics and trace, ends its threads, prints the
 * summary if asked for. `device_gone`: the context is destroyed or about to be; memory is given back to
 * nobody. Idempotent. */
void sl_runtime_stop(bool device_gone);
void sl_runtime_stop_one(uint32_t number, bool device_gone);

/* In the child after fork: drops all state without touching the device or the parent's files. */
void sl_runtime_after_fork(void);

/* The managed device's whole memory, as the program sees it: cuMemGetInfo's total, before the start too.
 * False: ask the driver. */
bool sl_runtime_device_bytes(uint64_t *bytes);

/* Device memory that the program takes past us (pass-through allocations: VMM, arrays, pools ...): +bytes,
 * -bytes. Chunks give way to it at the next launch. */
void sl_runtime_charge(int64_t bytes);
void sl_runtime_charge_to(uint32_t number, int64_t bytes); /* another core than the thread's */
/* The driver was asked instead of sl_runtime_alloc or sl_runtime_alloc_async (allocate.h), and what it gave
 * is charged. Mostly looks at one variable of the thread's. */
void sl_runtime_driver_gave(void);

/* A stream capture is about to begin (+1), or ended, or did not begin (-1), anywhere in the process. While
 * any is under way, launches on capturing streams are left alone. */
void sl_runtime_capture(int change);
/* A stream was given work (+1) that waits for something else than the device's own work, or that is done
 * (-1). May be called where the driver's functions must not be. */
void sl_runtime_hold(int change);

/* A variable of `module` is at `address`: kernels of that module may follow the pointers that are copied
 * there. */
void sl_runtime_variable(uint64_t address, uint64_t bytes, uint64_t module);

/* A function's module was unloaded: what was cached under any handle of it is forgotten. */
void sl_runtime_functions_changed(void);

/* A stream is about to be given work that is no launch, or the program's thread to wait for the device: the
 * points of what was freed are recorded now, so that they lie in front of it. Enqueues. */
void sl_runtime_work_comes(void);

/* The program's thread has waited for the device, so it has time: now and then sees whether others took
 * memory of the device. pre: no lock of the core's is held. */
void sl_runtime_waited(void);

/* Writes what was learned so far to SLUICE_PROFILE. SL_ERR_UNSUPPORTED: the core does not run, no profile is
 * asked for, nothing repeated itself yet, or the file there is another program's. */
enum sl_status sl_runtime_save_profile(void);

#endif
