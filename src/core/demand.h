/* Fetching on demand: what a launch needs and nobody fetched. Victims are dead chunks, then the least
 * recently used or those that came first, as the policy has it, and last what is to be prefetched. Used while
 * nothing is predicted, after mispredictions, and by the policies that plan nothing. */
#ifndef SLUICE_DEMAND_H
#define SLUICE_DEMAND_H

#include "memory/arena.h"

struct sl_successors;
struct sl_ticks;

#define SL_VICTIMS 64

/* The first to leave when last looked, in their order: see demand.c. */
struct sl_victim_list {
    struct sl_victim {
        sl_chunk chunk;
        uint64_t turn;
    } at[SL_VICTIMS];
    uint32_t count, next;
};

struct sl_demand {
    struct sl_lock *order;
    const struct sl_policy_traits *policy;
    const struct sl_arena *arena;
    const struct sl_budget *budget;
    const struct sl_ticks *ticks;
    struct sl_migrator *migrator;
    struct sl_schedule *schedule;
    struct sl_streams *streams;
    struct sl_successors *successors;
    struct sl_victim_list victims;
};

/* A launch, as far as it lacks something. */
struct sl_demand_for {
    sl_tick tick;
    const sl_chunk *chunks; /* each once */
    uint32_t count;
    bool prefetches; /* successors, though nothing is planned */
};

/* Bytes of the chunks that take frames: what is pinned takes none. */
uint64_t sl_demand_own_bytes(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count);

/* Brings those of the launch's chunks that are not resident, evicting what it does not use. A launch whose
 * own chunks exceed the budget gets what fits beside what is there, and uses the rest remotely. *fetched:
 * whether something came. Returns the number of chunks that were missing. Enqueues: the order lock must not
 * be held. */
uint32_t sl_demand_fetch(struct sl_demand *demand, const struct sl_demand_for *launch, bool *fetched);

/* Evicts until what is on the device fits the budget, whatever the next launch uses. Enqueues: the order lock
 * must not be held. */
void sl_demand_give_way(struct sl_demand *demand);

/* Whether memory is short, and the policy plans: then it matters how long launches take. */
bool sl_demand_is_short(const struct sl_demand *demand);

/* Whether launches are to be noted by successors.h: memory is short, and nothing is planned, or the program
 * has gone other ways (`astray`). */
bool sl_demand_learns_successors(const struct sl_demand *demand, bool astray);

/* Prefetches successors (successors.h), as much as the link has had the time for while launches had nothing
 * to wait for. The same. */
void sl_demand_prefetch_successors(struct sl_demand *demand);

/* Whether one of the chunks is not resident, or only in part. */
bool sl_demand_lacking(const struct sl_demand *demand, const sl_chunk *chunks, uint32_t count);

/* Where the driver moves memory: it fetches the chunks itself, as the launch uses them. Caller holds the
 * order lock. */
void sl_demand_leave_to_driver(struct sl_demand *demand, const sl_chunk *chunks, uint32_t count);

#endif
