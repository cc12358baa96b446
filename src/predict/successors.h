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

struct sl_successors {
    const struct sl_placement *placement;
    const struct sl_symbols *symbols;
    struct sl_durations *durations;
    struct sl_successor_use *uses;
    struct sl_successor_tensor *tensors;
    uint32_t use_count, use_capacity, tensor_count, tensor_capacity;
    struct sl_map use_of, tensor_of; /* by hash */
    struct sl_successor_item {
        sl_tick tick; /* when it is expected */
        uint32_t use;
    } * heap; /* a binary heap, the earliest on top */
    uint32_t heap_count, heap_capacity;
    uint32_t mispredicted; /* recent share of mispredicted launches, in units of 2^-16 */
    uint64_t launch_ns;    /* duration of the launch being begun; 0: unknown */
    uint64_t idle_bytes;   /* bytes that the link could have carried since the last fetch on demand */
};

/* Precondition: *table is zeroed. The arguments must outlive it. */
void sl_successors_init(struct sl_successors *table, const struct sl_placement *placement,
                        const struct sl_symbols *symbols, struct sl_durations *durations);
/* Slots or symbols are numbered anew, or the core ends: frees everything. Accepts a zeroed one. */
void sl_successors_forget(struct sl_successors *table);

/* Whether mispredictions are too frequent for plans. `fed`: symbols so far. */
bool sl_successors_are_needed(const struct sl_successors *table, uint64_t fed);

/* Notes the launch being begun, `tick`, with its symbol; `predicted`: it was predicted. If mispredictions are
 * frequent, the chunks of its successors get deadlines. */
void sl_successors_note(struct sl_successors *table, sl_symbol symbol, sl_tick tick, bool predicted,
                        uint64_t fed);

/* A chunk of the earliest expected use that is not on the device, or SL_NONE; *tick: when it is expected.
 * `now`: the launch being begun. */
sl_chunk sl_successors_next(struct sl_successors *table, sl_tick now, sl_tick *tick);

#endif
