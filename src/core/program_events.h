/* Records of the shim beside allocations and launches. As in runtime.h, functions are thread-safe and may
 * be called before the start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_PROGRAM_EVENTS_H
#define SLUICE_PROGRAM_EVENTS_H

#include "trace/events.h"

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

#endif
