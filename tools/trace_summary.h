/* What a trace says of its program, in figures. */
#ifndef SLUICE_TRACE_SUMMARY_H
#define SLUICE_TRACE_SUMMARY_H

#include "trace_text.h"

struct count_bytes {
    uint64_t count, bytes;
};

struct live_change {
    uint64_t time_ns;
    size_t order;
    int64_t bytes;
};

struct trace_summary {
    uint64_t records;
    uint64_t first_ns, last_ns; /* of the records */
    uint64_t budget_bytes, chunk_bytes, device_bytes;
    struct count_bytes launches[LAUNCH_KINDS]; /* bytes: of copies */
    uint64_t kernels, accesses;
    struct count_bytes allocations, frees;
    uint64_t peak_live_bytes, live_bytes;
    uint64_t iterations, iteration_symbols; /* symbols: of the last one */
    struct count_bytes moves[MOVE_KINDS][MOVE_CAUSES];
    uint64_t stalls, stall_ns, longest_stall_ns, longest_stall_tick;
    uint64_t gaps, lost;

    struct live_change *changes; /* while it is made */
    size_t change_count, change_room;
};

/* Adds one record. False when there is no memory. */
bool trace_summary_add(struct trace_summary *summary, const struct sl_event *event);

/* After the last record: computes the peak, and releases what was needed for it. */
void trace_summary_finish(struct trace_summary *summary);

#endif
