/* The figures of a device's run, in one structure that is private to the process. What `sluice top`, `sluice
 * stats`, the JSON and the summary at the end and the trace say of a run are copies of it.
 *
 * Counters are added to where something happens, by any thread: relaxed atomics. All other figures are set by
 * core/monitor.c, under the order lock; numbers may be read without it, but not texts, `step` and `kinds`. */
#ifndef SLUICE_STATS_H
#define SLUICE_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "base/output.h"
#include "device/backend.h"
#include "plan/plan.h"
#include "trace/events.h"
#include "trace/trace_write.h"

#define SL_MAX_ITERATIONS 4096
#define SL_STATS_CAUSES 3 /* as enum sl_move_cause */
#define SL_STATS_NAME 64  /* of a kernel, cut */

extern const char *const sl_cause_names[SL_STATS_CAUSES];

/* Counters of the whole run, of an iteration, or of a step. */
struct sl_counts {
    _Atomic uint64_t launches;
    _Atomic uint64_t demand_misses;   /* needed chunks that were neither resident nor planned */
    _Atomic uint64_t late_prefetches; /* planned chunks that only the launch that needs them fetched */
    _Atomic uint64_t remote_bytes;    /* used remotely or zero-copy */
    _Atomic uint64_t pinned_bytes;    /* the pinned part of them */
    _Atomic uint64_t in_place_bytes;  /* the part of them for which plans chose that */
    _Atomic uint64_t bytes_in[SL_STATS_CAUSES], bytes_out[SL_STATS_CAUSES];
    _Atomic uint64_t stalls, stall_ns;  /* launches that waited for any fetch, and for how long */
    _Atomic uint64_t unmeasured_stalls; /* not among them: the device did not get there in time */
    _Atomic uint64_t mispredictions;    /* for which a plan was cancelled */
    /* Of movers in the driver's calls, on the device's clock, together: from samples. */
    _Atomic uint64_t call_ns[2]; /* by whether memory leaves the device */
};

/* What the plan is about. */
enum sl_plan_state {
    SL_PLAN_STATE_NOT_NEEDED, /* everything fits */
    SL_PLAN_STATE_LEARNING,   /* the program does not repeat itself yet, or not any more */
    SL_PLAN_STATE_MAKING,     /* a plan is being made, and none is followed */
    SL_PLAN_STATE_FOLLOWED,
    SL_PLAN_STATE_DEVIATED, /* the program deviates from the plan, which is kept for now */
    SL_PLAN_STATE_NOT_MADE, /* the policy makes none */
};

/* Kinds of allocations, or parts of them, by what the core sees of their use. */
enum sl_kind {
    SL_KIND_LASTING,   /* allocated before the last whole step */
    SL_KIND_IDLE,      /* the same, in chunks that no launch has used since that step began */
    SL_KIND_TEMPORARY, /* allocated later */
    SL_KIND_PINNED,    /* in pinned host memory, used in place */
    SL_KIND_UNKNOWN,   /* no whole step has ended yet */
    SL_KINDS,
};
extern const char *const sl_kind_names[SL_KINDS];

/* The bytes of a kind. allocated = resident + host + empty. */
struct sl_kind_bytes {
    uint64_t allocated_bytes;
    uint64_t resident_bytes; /* on the device, or on their way there */
    uint64_t arriving_bytes; /* of these: not known to have arrived */
    uint64_t host_bytes;     /* only in host memory */
    uint64_t empty_bytes;    /* without a content: not used since they were allocated */
};

struct sl_stats {
    struct sl_counts *iterations; /* SL_MAX_ITERATIONS; the last collects the rest */
    struct sl_trace *trace;       /* gets the movements; may be NULL */
    _Atomic sl_tick tick;         /* the newest launch, for their records */

    /* What follows is published. Counters: */
    _Atomic uint64_t iteration; /* index of the current one in `iterations` */
    struct sl_counts total;
    _Atomic uint64_t populated_bytes, dropped_bytes;
    _Atomic uint64_t unused_bytes; /* prefetched and evicted again without a use */
    _Atomic uint64_t peak_occupied_bytes;
    _Atomic uint64_t plans, plan_ns;
    _Atomic uint64_t plans_late;        /* finished after the plan that they follow had ended */
    _Atomic uint64_t plan_longest_ns;   /* longest time that a launch spent on planning */
    _Atomic uint64_t oversize_launches; /* launches whose chunks exceed the budget */

    /* Set by sl_monitor_observe: */
    _Atomic uint64_t memory;                          /* enum sl_memory_use */
    _Atomic uint64_t budget_bytes, budget_now_bytes;  /* decided at the start; what is left of that */
    _Atomic uint64_t taken_bytes;                     /* of the rest: by the program past sluice */
    _Atomic uint64_t lost_bytes;                      /* the same, by others since the start */
    _Atomic uint64_t occupied_bytes;                  /* of the device, by chunks */
    _Atomic uint64_t chunk_bytes, chunks;             /* size; the most that were in use */
    _Atomic uint64_t need_bytes, live_bytes;          /* peak of allocations; allocated now */
    _Atomic uint64_t placed_bytes, placed_live_bytes; /* peak of chunks in use, and live data then */
    _Atomic uint64_t pinned_live_bytes;               /* allocated in pinned host memory now */
    _Atomic uint64_t pinned_peak_bytes;               /* and the peak */
    _Atomic uint64_t host_bytes, host_limit_bytes;    /* taken by chunks; the most they may take */
    _Atomic uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* while both run, as plans use it */
    _Atomic uint64_t link_sharers;                              /* devices on its link to the host */
    _Atomic uint64_t link_alone_bytes_per_s; /* the best of a direction, by movements one at a time */
    _Atomic uint64_t movers;                 /* to the host; 0: there are none */
    struct sl_counts recent;                 /* of some of the last steps, in which launches waited */
    _Atomic uint64_t recent_ns;              /* their duration by the device's clock; 0: unknown */
    _Atomic uint64_t fed, predicted;         /* events: launches, allocations, frees */
    _Atomic uint64_t primed;                 /* symbols of a profile that were predicted at the start */
    _Atomic uint64_t checks_failed;          /* see base/check.h */
    char policy[16], daemon[16];

    /* Set by the rest of core/monitor.c, for `sluice top`: */
    _Atomic uint64_t updated_ns;    /* moments are by CLOCK_MONOTONIC */
    _Atomic uint64_t steps;         /* ended training steps, or other repetitions that the predictor found */
    _Atomic uint64_t step_began_ns; /* of the current step; 0: none has ended yet */
    _Atomic uint64_t step_time_ns;  /* duration of the last one, by the host's clock */
    struct sl_counts step;          /* of the last one */
    /* The duration by the device's clock, on which stalls are measured; a mean if steps end unseen. 0:
     * unknown. */
    _Atomic uint64_t device_step_ns, device_stall_ns;
    _Atomic uint64_t plan_state;         /* enum sl_plan_state */
    _Atomic uint64_t plan_taken_ns;      /* when the plan that is followed took over; 0: none is followed */
    _Atomic uint64_t mispredicted_ns;    /* when the last misprediction was seen; 0: never */
    _Atomic uint64_t mispredicted_event; /* its number among the events */
    char expected[SL_STATS_NAME], came[SL_STATS_NAME];
    /* Found by a scan of all allocations: */
    _Atomic uint64_t scanned_ns;   /* when it was complete; 0: never */
    _Atomic uint64_t scan_time_ns; /* from its begin; 0: all is of one moment */
    struct sl_kind_bytes kinds[SL_KINDS];
    _Atomic uint64_t unallocated_bytes; /* on the device, in no allocation: dead, or gaps */
};

enum sl_status sl_stats_init(struct sl_stats *stats);
void sl_stats_close(struct sl_stats *stats);

/* --- counting */

/* The counters of the current iteration; add to `total` as well. */
static inline struct sl_counts *sl_stats_now(struct sl_stats *stats)
{
    return &stats->iterations[atomic_load_explicit(&stats->iteration, memory_order_relaxed)];
}
#define SL_COUNT(stats, field, amount)                                                                       \
    do {                                                                                                     \
        atomic_fetch_add_explicit(&(stats)->total.field, (amount), memory_order_relaxed);                    \
        atomic_fetch_add_explicit(&sl_stats_now(stats)->field, (amount), memory_order_relaxed);              \
    } while (0)

/* Counts a launch. Callers hold the order lock, so no locked instruction is needed. */
static inline void sl_stats_launched(struct sl_stats *stats)
{
    struct sl_counts *counts[] = {&stats->total, sl_stats_now(stats)};
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&counts[i]->launches,
                              atomic_load_explicit(&counts[i]->launches, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* Counts a movement, records it in the trace if there is one, and returns its record. */
struct sl_event sl_stats_moved(struct sl_stats *stats, enum sl_action_kind kind, enum sl_move_cause cause,
                               sl_chunk chunk, uint64_t bytes);
void sl_stats_occupied(struct sl_stats *stats, uint64_t occupied_bytes);
void sl_stats_next_iteration(struct sl_stats *stats);

/* What moving memory takes of the host and of the link; arrays by whether memory leaves the device. */
struct sl_moving {
    uint64_t ns, stall_ns;         /* of some steps; what launches waited for fetches meanwhile */
    uint64_t bytes[2], call_ns[2]; /* moved; the time of threads in the driver's calls for that, together */
    uint64_t bytes_per_s[2];       /* of the link, if it does nothing else */
    uint64_t threads[2];           /* that may move memory in a direction; 0: none is needed */
    double cores, link[2]; /* threads at a time in such calls; speed reached, as a part of the link's */
    const char *limit;     /* "link", "threads", "neither" if launches hardly wait, or "unknown" */
};
/* Sets the last two lines. */
void sl_moving_judge(struct sl_moving *moving);
/* The same of the recent steps; and in words, false: unknown. */
void sl_stats_moving(const struct sl_stats *stats, struct sl_moving *out);
#define SL_MOVING_TEXT 96
bool sl_stats_moving_text(const struct sl_stats *stats, char out[SL_MOVING_TEXT]);

/* Of all causes together. */
static inline uint64_t sl_stats_bytes(const _Atomic uint64_t by_cause[SL_STATS_CAUSES])
{
    return by_cause[SL_CAUSE_PLAN] + by_cause[SL_CAUSE_DEMAND] + by_cause[SL_CAUSE_LATE];
}

/* --- copies */

/* The published part, whose words are SL_FIGURES_BYTES. A change of it changes SL_MONITOR_VERSION. */
#define SL_FIGURES_AT offsetof(struct sl_stats, iteration)
#define SL_FIGURES_BYTES (sizeof(struct sl_stats) - SL_FIGURES_AT)
static inline void *sl_figures_of(const struct sl_stats *stats)
{
    return (char *)stats + SL_FIGURES_AT;
}

/* Copies words that other threads may read or change meanwhile. Precondition: `bytes` is a multiple of 8. */
void sl_words_copy(void *to, const void *from, size_t bytes);
/* to = now - then, word by word; `to` may be one of them. */
void sl_counts_since(struct sl_counts *to, const struct sl_counts *now, const struct sl_counts *then);
/* Terminates the texts of a copy that may be damaged. */
void sl_stats_end_texts(struct sl_stats *stats);

/* A figure by its name in an output. */
struct sl_figure {
    const char *name;
    size_t at; /* in struct sl_stats or struct sl_counts */
    enum {
        SL_FIGURE_NUMBER,
        SL_FIGURE_NS,     /* shown in seconds */
        SL_FIGURE_CAUSES, /* shown as the sum of its causes */
    } form;
};
/* `of`: the structure in which it is. */
uint64_t sl_figure_value(const void *of, const struct sl_figure *figure);

/* --- at the end of a run */

/* The beginning of the JSON, and text near the beginning of a statistics file. */
#define SL_STATS_MARKER "{\"kind\": \"sluice statistics\""
extern const struct sl_file_kind sl_file_stats;

/* Prints the statistics of several devices as JSON: the first one's, with the others in `other_devices`.
 * `complete`: the program writes them itself, at its end. */
void sl_stats_print(FILE *to, const struct sl_stats *const devices[], uint32_t count, bool complete);
/* Writes that to a file, completely or not at all (see sl_output_replace). */
enum sl_status sl_stats_write(const struct sl_stats *const devices[], uint32_t count, bool complete,
                              const char *path);
/* Passes a summary of a few lines, without newlines, to `say`. */
void sl_stats_say(const struct sl_stats *stats, void (*say)(const char *line));

#endif
