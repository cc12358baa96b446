/* How much of the device chunks may occupy: decided at the start, and less when others take of what was free
 * then. */
#ifndef SLUICE_BUDGET_H
#define SLUICE_BUDGET_H

#include <stdatomic.h>

#include "base/locks.h"
#include "memory/arena.h"

struct sl_backend;
struct sl_policy_traits;
struct sl_stats;
struct sl_streams;

#define SL_LEAST_BUDGET (4 * SL_BLOCK_BYTES)

struct sl_budget_watch {
    uint64_t free_at_start;
    _Atomic uint64_t lost_bytes; /* of the budget, to others; only grows */
    _Atomic sl_tick looked_at;   /* the last launch by then */
    _Atomic bool looking;        /* a thread does; the following are its own */
    bool refused;                /* the driver did not say, and is not asked again */
    uint64_t taken_before;       /* what others had taken at the last look */
    uint64_t looked_at_ns;
};

struct sl_budget {
    struct sl_lock *order;
    const struct sl_backend *backend;
    const struct sl_policy_traits *policy;
    const struct sl_arena *arena;
    const struct sl_stats *stats;
    const struct sl_streams *streams;
    uint64_t bytes; /* as decided at the start */
    struct sl_budget_watch watch;
    _Atomic int64_t charged_bytes; /* that the program took past us */
    _Atomic bool lessened;         /* since chunks last gave way to it */
    uint64_t virtual_size_bytes;
    bool pressure; /* it was too small at some time */
};

/* What chunks may occupy now: the budget less what the program took past us and others take. */
uint64_t sl_budget_bytes(const struct sl_budget *budget);

/* Whether chunks need more than they may occupy. Caller holds the order lock. */
bool sl_budget_is_short(const struct sl_budget *budget);

/* The program took or gave back memory past us. What leaves less than the least to chunks that need it makes
 * the device hold more than the budget: one line says so. Thread-safe. */
void sl_budget_charge(struct sl_budget *budget, int64_t bytes);
/* Says it, once, where that is so now. */
void sl_budget_say_exceeded(const struct sl_budget *budget);

/* Decides the budget: as `given_bytes` says, else `wanted_bytes`; both 0: by what is free. pre: the policy is
 * set, and nothing is on the device yet. */
void sl_budget_decide(struct sl_budget *budget, uint64_t free_bytes, uint64_t given_bytes,
                      uint64_t wanted_bytes);

/* At least the least, and no more than was free at the start where the core moves chunks; others took no more
 * of it than what is above the least. Caller holds the order lock, or nothing runs yet. */
bool sl_budget_is_valid(const struct sl_budget *budget);

/* What is left of a budget where of `free_bytes`, free at the start, others have taken `taken_bytes`. */
uint64_t sl_budget_beside(uint64_t budget_bytes, uint64_t free_bytes, uint64_t taken_bytes);

/* Looks whether others have taken memory since the start, `now` or when it was not looked at for a while.
 * What was taken counts when it is seen a second time: what the program has just taken past us is charged a
 * moment later. True: what is planned does not fit any more. Takes the order lock, and asks the driver
 * without it. pre: no lock of the core's is held. Thread-safe. */
bool sl_budget_look(struct sl_budget *budget, bool now);

#endif
