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

/* Thread-safe, takes no lock in the steady state, about 20 ns. `trace` may be NULL: does nothing. */
void sl_trace_push(struct sl_trace *trace, const struct sl_event *event);

/* `count` records of launches and accesses at once, filled in by the caller between the two calls: cheaper
 * than as many pushes. False: push them one by one. */
struct sl_trace_run {
    struct sl_ring *ring;
    uint64_t first, count;
};
bool sl_trace_reserve(struct sl_trace *trace, uint64_t count, struct sl_trace_run *run);
static inline struct sl_event *sl_trace_record(const struct sl_trace_run *run, uint64_t i)
{
    return &run->ring->slots[(run->first + i) % SL_RING_SLOTS];
}
void sl_trace_commit(struct sl_trace *trace, const struct sl_trace_run *run);

/* Drains, writes the end record, closes. Accepts NULL. */
void sl_trace_close(struct sl_trace *trace);

/* In the child after fork: forgets the parent's file and thread without touching them. */
void sl_trace_abandon(struct sl_trace *trace);

#endif
