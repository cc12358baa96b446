/* Successor prefetch: what will be used soon, though the order of launches has chance in it and nothing is
 * planned. An expert that was taken by chance in the forward pass is needed again in the backward pass, and
 * then its moments are.
 *
 * A use is a tensor in one place of a kernel's parameters. Its successor is the use of the same tensor that
 * came next. Where that was the same one several times in a row, after about as many launches, it is expected
 * once the use comes again; so are its own successor, and the other tensors that its launches always used.
 * What is expected has a deadline: it is fetched while the link has nothing else to do, and evicted last
 * (demand.h). A prefetcher by correlation, as processors have them (Joseph, Grunwald 1997), with tensors for
 * addresses and launches for time. Caller holds the order lock. */
#ifndef SLUICE_SUCCESSORS_H
#define SLUICE_SUCCESSORS_H

#include "base/map.h"
#include "launch/symbols.h"
#include "memory/placement.h"
#include "predict/durations.h"

struct sl_successors {
    const struct sl_placement *placement;
    const struct sl_symbols *symbols;
    struct sl_durations *durations;
    struct sl_successor_use *uses;
    struct sl_successor_tensor *tensors;
    uint32_t use_count, use_capacity, tensor_count, tensor_capacity;
    struct sl_map use_of, tensor_of; /* by hash */
    struct sl_successor_item {
        sl_tick tick; /* at which it is expected */
        uint32_t use;
    } * heap; /* the earliest on top */
    uint32_t heap_count, heap_capacity;
    uint32_t mispredicted; /* part of the launches lately that were mispredicted, in steps of 2^-16 */
    uint64_t launch_ns;    /* that the launch being begun takes, as far as is known; or 0 */
    uint64_t idle_bytes;   /* that the link could have carried since a launch had to wait for it */
};

/* pre: zeroed. What it is given outlives it. */
void sl_successors_init(struct sl_successors *table, const struct sl_placement *placement,
                        const struct sl_symbols *symbols, struct sl_durations *durations);
/* Accepts a zeroed one. Slots or symbols mean something else from now on, or it is the end. */
void sl_successors_forget(struct sl_successors *table);

/* Whether launches are mispredicted so often that plans cannot be waited for. `fed`: symbols so far. */
bool sl_successors_are_needed(const struct sl_successors *table, uint64_t fed);

/* The launch being begun, `tick`, is `symbol`; `predicted`: it was. Where mispredictions are
 * frequent, the chunks of what follows it get their deadline. */
void sl_successors_note(struct sl_successors *table, sl_symbol symbol, sl_tick tick, bool predicted,
                        uint64_t fed);

/* A chunk of the earliest successor that is not on the device, or SL_NONE; *tick: when. `now`: the
 * launch being begun. */
sl_chunk sl_successors_next(struct sl_successors *table, sl_tick now, sl_tick *tick);

#endif
