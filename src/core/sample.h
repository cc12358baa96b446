/* Measures times on the device by events that are read later without waiting: the durations of launches, for
 * the trace and for plans, and how long launches wait for fetches. Caller holds the order lock, except for
 * the functions that enqueue.
 *
 * Only launches whose chunks are all resident and which were predicted count, and none is timed while
 * anything is captured.
 *
 * For the trace, every collective is timed, even if chunks are missing, and one in so many of the other
 * launches: first every symbol once, every second launch, so that two steps suffice; then in rounds, each of
 * which times every symbol once. A fixed stride would time the same launches of each iteration.
 *
 * For plans, once memory is short: every symbol once as soon as it is launched; twice more in other
 * iterations, unless a launch of the same shape took as long; then about one launch in a thousand.
 */
#ifndef SLUICE_SAMPLE_H
#define SLUICE_SAMPLE_H

#include "core/record.h"
#include "device/backend.h"
#include "move/migrator.h"
#include "predict/durations.h"

struct sl_core;
struct sl_launch;
struct sl_sample;
struct sl_sampler;

#define SL_STALLS 256

struct sl_stalls {
    /* A launch that has to wait for a fetch. It stalls from `reached` to the fetch's event. */
    struct sl_stall {
        sl_event_handle reached;
        _Atomic uint64_t in_sequence; /* the fetch; 0: free, or the wait is not enqueued yet */
        _Atomic bool given;           /* a thread owns the entry and has not enqueued its wait yet */
        sl_stream stream;             /* the launch's */
        sl_tick tick;
        uint32_t iteration, step;
        bool first; /* of its step */
    } at[SL_STALLS];
    uint32_t next;
    uint32_t steps;      /* begun so far */
    uint32_t last_first; /* `steps` at the last stall that was the first of its step; 0: none yet */
    /* Where a stream got to the first stall of the newest step that is known to have got there. */
    struct sl_step_mark {
        sl_event_handle reached; /* NULL: none yet */
        uint32_t step;
        struct sl_counts total; /* of the run, about then */
    } mark;
    struct sl_counts recent; /* between marks; the older, the less it counts */
    uint64_t recent_ns;
    /* Between the last two marks, for each step: its duration, and the stalls of the launches between them;
     * 0: unknown. The stalls of one stream are no longer than the steps. */
    uint64_t step_ns, step_stall_ns;
    uint64_t behind_mark_ns; /* settled stalls of launches from the mark on */
};

struct sl_sampling {
    struct sl_core *core;
    struct sl_sampler *sampler; /* NULL: no launch is timed */
    struct sl_durations durations;
    struct sl_stalls stalls;
};

/* Starts timing launches, if that has not begun. Without memory, none is timed. `trace_sample`: the trace
 * gets one launch in so many, beside all collectives; 0: none. */
void sl_sampler_open(struct sl_sampling *sampling, uint32_t trace_sample);
void sl_sampler_close(struct sl_sampling *sampling, bool device_gone); /* accepts one without a sampler */

/* Begins a sample of a launch that is about to be enqueued behind everything it waits for. `resident`: its
 * chunks will be resident when its stream gets there. `in_place_bytes`: a plan has it use so many in host
 * memory. NULL: it is not timed. */
struct sl_sample *sl_sample_begin(struct sl_sampling *sampling, const struct sl_launch *launch,
                                  sl_symbol symbol, uint32_t kernel, bool resident, uint64_t in_place_bytes);
/* Records the begin event. Enqueues: the order lock must not be held. */
void sl_sample_record(struct sl_sampling *sampling, const struct sl_sample *sample, sl_stream stream);
/* The driver accepted the launch or refused it: records the end event. Enqueues: the order lock must not be
 * held. */
void sl_sample_end(struct sl_sampling *sampling, struct sl_sample *sample, const struct sl_launch *launch,
                   bool ok);

/* Reads the samples that are done. */
void sl_samples_settle(struct sl_sampling *sampling);
/* Symbols are numbered anew: detaches the samples from them. */
void sl_samples_forget(struct sl_sampling *sampling);

/* --- stalls: how long launches wait for fetches, and how long a step takes by the same clock
 *
 * The device's clock need not be the host's: a software device simulates its times. So the step is measured
 * by the events of stalls as well, and nothing more is recorded. */

/* An entry for the launch being begun, which has to wait. NULL: the stall is not measured. Caller holds the
 * order lock. */
struct sl_stall *sl_stall_new(struct sl_sampling *sampling);
/* Makes the stream wait for fetch `sequence`; `stall` (may be NULL) notes when the stream got there.
 * Enqueues: the order lock must not be held. */
void sl_stall_wait(struct sl_sampling *sampling, struct sl_stall *stall, sl_stream stream, uint64_t sequence);

/* Reads the stalls whose launches and fetches are done. Caller holds the order lock. */
void sl_stalls_settle(struct sl_sampling *sampling);
/* A step begins with the next launch. Caller holds the order lock. */
void sl_stalls_step(struct sl_sampling *sampling);
/* Deletes the events, unless the device is gone. Accepts a zeroed one. */
void sl_stalls_close(struct sl_sampling *sampling, bool device_gone);

#endif
