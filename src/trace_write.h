/* The trace's writing side. One ring for each thread; a writer thread of its own drains them into the file.
 * A full ring drops records and says so with SL_EVENT_GAP, or waits (SLUICE_TRACE_FULL=wait). */
#ifndef SLUICE_TRACE_WRITE_H
#define SLUICE_TRACE_WRITE_H

#include "event.h"
#include "options.h"
#include "trace_ring.h"

struct sl_trace;

/* Creates `path` (0600, never through a link) and starts the writer with all signals blocked. */
enum sl_status sl_trace_open(const char *path, enum sl_trace_full full, struct sl_trace **out);

/* Thread-safe, takes no lock in the steady state, about 20 ns. `trace` may be NULL: does nothing. False: the
 * record is lost. */
bool sl_trace_push(struct sl_trace *trace, const struct sl_event *event);

/* Drains, writes the end record, closes. Accepts NULL. */
void sl_trace_close(struct sl_trace *trace);

/* In the child after fork: forgets the parent's file and thread without touching them. */
void sl_trace_abandon(struct sl_trace *trace);

#endif
