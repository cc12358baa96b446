/* Measures the durations of launches on the device, for the trace and for plans: events around some launches,
 * which are read later without waiting. Only launches whose chunks are all resident and which were predicted
 * count, and none is timed while anything is captured. Caller holds the order lock, except for the two
 * functions that enqueue.
 *
 * For the trace, every collective is timed, even if chunks are missing, and one in so many of the other
 * launches: first every symbol once, eight times as often, then in rounds, each of which times every symbol
 * once. A fixed stride would time the same launches of each iteration.
 *
 * For plans, once memory is short: every symbol once as soon as it is launched; twice more in other
 * iterations, unless a launch of the same shape took as long; then about one launch in a thousand.
 */
#ifndef SLUICE_SAMPLE_H
#define SLUICE_SAMPLE_H

#include "device/backend.h"
#include "predict/durations.h"

struct sl_demand;
struct sl_history;
struct sl_launch;
struct sl_lock;
struct sl_migrator;
struct sl_recorder;
struct sl_streams;
struct sl_symbols;
struct sl_ticks;

struct sl_sample;
struct sl_sampler;

struct sl_sampling {
    struct sl_lock *order;
    const struct sl_backend *backend;
    const struct sl_ticks *ticks;
    const struct sl_history *history;
    const struct sl_demand *demand;
    const struct sl_streams *streams;
    struct sl_symbols *symbols;
    struct sl_migrator *migrator;
    struct sl_recorder *recorder;
    struct sl_sampler *sampler; /* NULL: no launch is timed */
    struct sl_durations durations;
};

/* Starts timing launches, if that has not begun. Without memory, none is timed. `trace_sample`: the trace
 * gets one launch in so many, beside all collectives; 0: none. */
void sl_sampler_open(struct sl_sampling *sampling, uint32_t trace_sample);
void sl_sampler_close(struct sl_sampling *sampling, bool device_gone); /* accepts one without a sampler */

/* Begins a sample of a launch that is about to be enqueued behind everything it waits for. `resident`: its
 * chunks will be resident when its stream gets there. NULL: it is not timed. */
struct sl_sample *sl_sample_begin(struct sl_sampling *sampling, const struct sl_launch *launch,
                                  sl_symbol symbol, uint32_t kernel, bool resident);
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

#endif
