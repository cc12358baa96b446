/* How long launches take on the device, for the trace and for plans: some are put between two events, which
 * are read later, without waiting. Launches whose chunks are all resident, in the steady state, never while
 * anything is captured. Caller holds the order lock, but for the two functions that enqueue.
 *
 * For the trace every collective, whether or not its chunks are resident, and of other launches one in so
 * many: every symbol once, eight times as often as said, so that all are known soon; then round by round, so
 * that none is timed a second time in a round in which another was not. A fixed stride would meet the same
 * launches of each iteration again.
 *
 * For plans, from the moment when memory is short: every symbol once as soon as it comes, then, unless a
 * launch of the same shape took as long, twice more, in other iterations, then one launch in some thousand.
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

/* Launches are timed from now on, if they are not yet. Without memory they are not. `trace_sample`: of how
 * many launches the trace gets the duration of one, beside all collectives; 0: of none at all. */
void sl_sampler_open(struct sl_sampling *sampling, uint32_t trace_sample);
void sl_sampler_close(struct sl_sampling *sampling, bool device_gone); /* also where there is none */

/* The launch is about to be given to the driver, after all that it waits for. `resident`: its chunks are,
 * by the time that its stream gets there. Its sample, or NULL: it is not timed. */
struct sl_sample *sl_sample_begin(struct sl_sampling *sampling, const struct sl_launch *launch,
                                  sl_symbol symbol, uint32_t kernel, bool resident);
/* Notes when the launch began. Enqueues: the order lock must not be held. */
void sl_sample_record(struct sl_sampling *sampling, const struct sl_sample *sample, sl_stream stream);
/* The driver has it, or refused it. The same. */
void sl_sample_end(struct sl_sampling *sampling, struct sl_sample *sample, const struct sl_launch *launch,
                   bool ok);

/* Reads those that have run. */
void sl_samples_settle(struct sl_sampling *sampling);
/* Symbols mean something else from now on. */
void sl_samples_forget(struct sl_sampling *sampling);

#endif
