/* Counters for each iteration and for the whole run, and the summary at exit. Thread-safe: plain atomics. */
#ifndef SLUICE_STATS_H
#define SLUICE_STATS_H

#include <stdatomic.h>
#include <stdio.h>

#include "base/file_kind.h"
#include "device/backend.h"
#include "plan/plan.h"
#include "trace/events.h"
#include "trace/trace_write.h"

struct sl_counts {
    _Atomic uint64_t launches;
    _Atomic uint64_t demand_misses;   /* needed chunks that were neither resident nor planned */
    _Atomic uint64_t late_prefetches; /* planned chunks that only the launch that needs them fetched */
    _Atomic uint64_t remote_bytes;    /* used remotely or zero-copy */
    _Atomic uint64_t pinned_bytes;    /* the pinned part of them */
    _Atomic uint64_t bytes_in, bytes_out;
    _Atomic uint64_t stalls, stall_ns; /* launches that waited for any fetch, and for how long */
};

#define SL_MAX_ITERATIONS 4096

struct sl_stats {
    struct sl_counts total;
    struct sl_counts *iterations;                     /* SL_MAX_ITERATIONS; the last collects the rest */
    _Atomic uint32_t iteration;                       /* index of the current one */
    _Atomic uint64_t in_by_cause[3], out_by_cause[3]; /* by enum sl_move_cause */
    _Atomic uint64_t populated_bytes, dropped_bytes;
    _Atomic uint64_t unused_bytes; /* prefetched and evicted again without a use */
    _Atomic uint64_t peak_occupied_bytes;
    _Atomic uint64_t plans, mispredictions, oversize_launches, plan_ns;
    _Atomic uint64_t plans_late;      /* finished after the plan that they follow had ended */
    _Atomic uint64_t plan_longest_ns; /* longest time that a launch spent on planning */
    struct sl_trace *trace;           /* gets the movements; may be NULL */
    _Atomic sl_tick tick;             /* the newest launch, for their records */
};

enum sl_status sl_stats_init(struct sl_stats *stats);
void sl_stats_close(struct sl_stats *stats);

/* The counters of the current iteration; add to `total` as well. */
struct sl_counts *sl_stats_now(struct sl_stats *stats);
#define SL_COUNT(stats, field, amount)                                                                       \
    do {                                                                                                     \
        atomic_fetch_add_explicit(&(stats)->total.field, (amount), memory_order_relaxed);                    \
        atomic_fetch_add_explicit(&sl_stats_now(stats)->field, (amount), memory_order_relaxed);              \
    } while (0)

/* Counts a launch. Callers hold the order lock, so no locked instruction is needed. */
void sl_stats_launched(struct sl_stats *stats);

/* Counts a movement, records it in the trace if there is one, and returns its record. */
struct sl_event sl_stats_moved(struct sl_stats *stats, enum sl_action_kind kind, enum sl_move_cause cause,
                               sl_chunk chunk, uint64_t bytes);
void sl_stats_occupied(struct sl_stats *stats, uint64_t occupied_bytes);
void sl_stats_next_iteration(struct sl_stats *stats);

/* What the summary says beside the counters. */
struct sl_run_summary {
    uint64_t budget_bytes, chunk_bytes, need_bytes, live_bytes, chunks;
    char policy[16], daemon[16];
    uint64_t predicted, fed;
    enum sl_memory_use memory;
    uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* each direction while both run, as plans use it */
    uint64_t placed_bytes, placed_live_bytes;           /* peak of chunks in use, and live data then */
    uint64_t pinned_peak_bytes;                         /* peak of live pinned allocations */
    uint64_t host_limit_bytes;                          /* the most host memory that chunks may take */
    uint32_t link_sharers;                              /* devices on its link to the host */
    uint64_t primed;        /* symbols of a profile that were predicted at the start */
    uint64_t checks_failed; /* see base/check.h */
    bool complete;          /* the program wrote the statistics itself, at its end */
};
/* The beginning of the JSON. */
#define SL_STATS_MARKER "{\"kind\": \"sluice statistics\""

/* Writes JSON to a file, completely or not at all (see sl_output_replace). */
enum sl_status sl_stats_write(const struct sl_stats *stats, const struct sl_run_summary *summary,
                              const char *path);
/* The same for several devices: the first one's statistics, with the others in `other_devices`. */
struct sl_device_run {
    const struct sl_stats *stats;
    struct sl_run_summary summary;
};
enum sl_status sl_stats_write_devices(const struct sl_device_run *runs, uint32_t count, const char *path);
void sl_stats_print(FILE *to, const struct sl_stats *stats, const struct sl_run_summary *summary);
/* Passes a few lines, without newlines, to `say`. */
void sl_stats_say(const struct sl_stats *stats, const struct sl_run_summary *summary,
                  void (*say)(const char *line));

/* Text near the beginning of a statistics file. */
extern const struct sl_file_kind sl_file_stats;

#endif
