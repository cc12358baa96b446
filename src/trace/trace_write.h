/* The trace's writing side. One ring for each thread; a writer thread of its own drains them into the file.
 * A full ring drops records and says so with SL_EVENT_GAP, or waits (SLUICE_TRACE_FULL=wait). */
#ifndef SLUICE_TRACE_WRITE_H
#define SLUICE_TRACE_WRITE_H

#include "base/options.h"
#include "trace/events.h"
#include "trace/trace_ring.h"

struct sl_trace;

struct sl_trace_options {
    enum sl_trace_full full;
    uint64_t limit_bytes; /* 0: none */
};

/* Creates `path` (0600, never through a link) and starts the writer with all signals blocked. */
enum sl_status sl_trace_open(const char *path, const struct sl_trace_options *options, struct sl_trace **out);

/* A file with a limit goes round: what was recorded once and is referred to by name (kernels, accesses,
 * allocations that live) must be written again when this number has changed. Any thread. */
uint32_t sl_trace_lap(const struct sl_trace *trace);

/* Thread-safe, takes no lock in the steady state, about 20 ns. `trace` may be NULL: does nothing. False: the
 * record is lost. */
bool sl_trace_push(struct sl_trace *trace, const struct sl_event *event);

/* Drains, writes the end record, closes. Accepts NULL. */
void sl_trace_close(struct sl_trace *trace);

/* In the child after fork: forgets the parent's file and thread without touching them. */
void sl_trace_abandon(struct sl_trace *trace);

#endif
