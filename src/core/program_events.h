/* What the shim records beside allocations and launches.
 * As in runtime.h, functions are thread-safe and may be called before the start and after the stop, when they
 * own nothing and do nothing. */
#ifndef SLUICE_PROGRAM_EVENTS_H
#define SLUICE_PROGRAM_EVENTS_H

#include "trace/events.h"

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
