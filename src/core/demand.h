/* Fetching on demand: the chunks that a launch needs and that were not prefetched. Without an active plan,
 * the victims are dead chunks, then the least recently used or first fetched ones, by policy, and last the
 * chunks to be prefetched; with one, dead chunks, then those with the furthest planned use. Used while
 * nothing is predicted, after mispredictions, and by the policies that do not plan. */
#ifndef SLUICE_DEMAND_H
#define SLUICE_DEMAND_H

#include "memory/arena.h"

struct sl_core;

#define SL_VICTIMS 64

/* The first chunks to evict at the last search, in order: see demand.c. */
struct sl_victim_list {
    struct sl_victim {
        sl_chunk chunk;
        uint64_t turn;
    } at[SL_VICTIMS];
    uint32_t count, next;
};

struct sl_demand {
    struct sl_core *core;
    struct sl_victim_list victims;
};

/* A launch that lacks chunks. */
struct sl_demand_for {
    sl_tick tick;
    const sl_chunk *chunks; /* each once */
    uint32_t count;
};

/* Bytes of the chunks that need frames; pinned chunks need none. */
uint64_t sl_demand_own_bytes(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count);

/* Fetches the launch's chunks that are not resident, and evicts chunks that the launch does not use. If its
 * own chunks exceed the budget, it fetches the ones that fit without an eviction, and the launch uses the
 * others remotely. *fetched: whether anything was fetched. Returns the number of missing chunks with content.
 * Enqueues: the order lock must not be held. */
uint32_t sl_demand_fetch(struct sl_demand *demand, const struct sl_demand_for *launch, bool *fetched);

/* Evicts chunks until the resident ones fit the budget, even chunks that the next launch uses, and waits for
 * the movers that do it. Enqueues: the order lock must not be held. */
void sl_demand_give_way(struct sl_demand *demand);

/* Whether one of the chunks is not resident, at least in part. */
bool sl_demand_lacking(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count);

#endif
