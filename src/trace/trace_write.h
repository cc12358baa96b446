/* Writes traces. Each thread has a ring; one writer thread drains the rings into the file. A full ring drops
 * records and reports this with SL_EVENT_GAP, or waits (SLUICE_TRACE_FULL=wait). */
#ifndef SLUICE_TRACE_WRITE_H
#define SLUICE_TRACE_WRITE_H

#include "base/options.h"
#include "trace/events.h"
#include "trace/trace_ring.h"

struct sl_trace;

struct sl_trace_options {
    enum sl_trace_full full;
    uint64_t limit_bytes; /* 0: no limit */
};

/* Creates `path` (0600, never through a link) and starts the writer with all signals blocked. */
enum sl_status sl_trace_open(const char *path, const struct sl_trace_options *options, struct sl_trace **out);

/* The number of segments that a limited file has begun. When it has changed, records that others refer to
 * (kernels, accesses, live allocations) must be written again. Any thread. */
uint32_t sl_trace_lap(const struct sl_trace *trace);

/* Thread-safe; lock-free in the steady state, about 20 ns. Does nothing if `trace` is NULL. False: the record
 * is lost. */
bool sl_trace_push(struct sl_trace *trace, const struct sl_event *event);

/* Drains the rings, writes the end record and closes the file. Accepts NULL. */
void sl_trace_close(struct sl_trace *trace);

/* In the child after fork: abandons the parent's file and thread without touching them. */
void sl_trace_abandon(struct sl_trace *trace);

#endif
