/* Successor prefetch: predicts which tensors are used soon, for programs whose order of launches is partly
 * random, so that no plan holds. Example: an expert that the forward pass happened to choose is needed again
 * in the backward pass, and then its moments.
 *
 * A use is a tensor at one place among a kernel's parameters. Its successor is the next use of the same
 * tensor. If that was the same one several times in a row, after about as many launches, it is expected when
 * the use comes again; so are its own successors, and the other tensors that its launches always used. Chunks
 * of expected uses get a deadline: they are prefetched while the link is idle, and evicted last (demand.h).
 * This is correlation prefetching, as in processors (Joseph, Grunwald 1997), with tensors instead of
 * addresses and launches instead of time. Caller holds the order lock. */
#ifndef SLUICE_SUCCESSORS_H
#define SLUICE_SUCCESSORS_H

#include "base/map.h"
#include "launch/symbols.h"
#include "memory/placement.h"
#include "predict/durations.h"

struct sl_successors;

/* The arguments must outlive it. NULL: no memory; nothing is predicted then. All others accept NULL. */
struct sl_successors *sl_successors_new(const struct sl_placement *placement,
                                        const struct sl_symbols *symbols, struct sl_durations *durations);
void sl_successors_delete(struct sl_successors *table);
/* Slots or symbols are numbered anew: forgets everything. */
void sl_successors_forget(struct sl_successors *table);

/* Whether mispredictions are too frequent for plans. `fed`: symbols so far. */
bool sl_successors_are_needed(const struct sl_successors *table, uint64_t fed);

/* Notes the launch being begun, `tick`, with its symbol; `predicted`: it was predicted. If mispredictions are
 * frequent, sets the deadline of the chunks that are expected to be used soon. */
void sl_successors_note(struct sl_successors *table, sl_symbol symbol, sl_tick tick, bool predicted,
                        uint64_t fed);

/* Whether any use is expected. */
bool sl_successors_any(const struct sl_successors *table);
/* The expected duration of the launch that was noted last; 0: unknown. */
uint64_t sl_successors_launch_ns(const struct sl_successors *table);

/* A chunk of the earliest expected use that is not on the device, or SL_NONE; *tick: when it is expected.
 * `now`: the launch being begun. */
sl_chunk sl_successors_next(struct sl_successors *table, sl_tick now, sl_tick *tick);

#endif
