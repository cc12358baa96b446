/* The budget: the device memory that chunks may occupy. It is decided at the start and shrinks when others
 * take memory that was free then. */
#ifndef SLUICE_BUDGET_H
#define SLUICE_BUDGET_H

#include <stdatomic.h>

#include "base/locks.h"
#include "memory/arena.h"

struct sl_core;

#define SL_LEAST_BUDGET (4 * SL_BLOCK_BYTES)

struct sl_budget_watch {
    uint64_t free_at_start;
    _Atomic uint64_t lost_bytes; /* lost to others; only grows */
    _Atomic sl_tick looked_at;   /* the last launch at that time */
    _Atomic bool looking;        /* a thread runs look(); the members below are its own */
    bool refused;                /* the driver gave no answer and is not asked again */
    uint64_t taken_before;       /* taken by others at the last look */
    uint64_t looked_at_ns;
};

struct sl_budget {
    struct sl_core *core;
    uint64_t bytes; /* as decided at the start */
    bool automatic; /* from the memory that was free: neither the user nor a profile chose it */
    struct sl_budget_watch watch;
    _Atomic uint64_t part_bytes;   /* beside other programs (device_share.h); 0: there are none */
    _Atomic int64_t charged_bytes; /* that the program took past us */
    _Atomic bool lessened;         /* the budget shrank and chunks must be evicted */
    uint64_t virtual_size_bytes;
    bool pressure;           /* the budget was too small at some time */
    uint64_t most_own_bytes; /* of a launch beyond the budget, so far */
    unsigned lines;          /* that told the user of such launches */
};

/* The bytes that chunks may occupy now: the budget less what the program took past us and what others
 * took. */
uint64_t sl_budget_bytes(const struct sl_budget *budget);

/* Of the budget as decided at the start, what others have now. */
uint64_t sl_budget_lost(const struct sl_budget *budget);

/* Whether the chunks exceed that. Caller holds the order lock. */
bool sl_budget_is_short(const struct sl_budget *budget);

/* The program took (+) or gave back (-) memory past us. If chunks are left with less than the least budget,
 * the device holds more than the budget, and one warning says so. Thread-safe. */
void sl_budget_charge(struct sl_budget *budget, int64_t bytes);
/* Gives that warning, once, if it is true now. */
void sl_budget_say_exceeded(const struct sl_budget *budget);

/* What the user may do about a launch whose own chunks have `own_bytes`, more than the budget: the option to
 * give, or that the device has not so much. Returns `out`. */
#define SL_BUDGET_REMEDY 128
const char *sl_budget_remedy(const struct sl_budget *budget, uint64_t own_bytes, char out[SL_BUDGET_REMEDY]);

/* Decides the budget: `given_bytes`, else `wanted_bytes`; if both are 0, from the free memory. Precondition:
 * the policy is set, and nothing is on the device yet. */
void sl_budget_decide(struct sl_budget *budget, uint64_t free_bytes, uint64_t given_bytes,
                      uint64_t wanted_bytes);

/* The budget on a device with `free_bytes` free, if the user gives none: that, less a reserve. */
uint64_t sl_budget_automatic(uint64_t free_bytes);

/* The chunk size for a budget, if the user sets none: large enough for transfers at full speed, small enough
 * that the budget holds many chunks. Thread-safe. */
uint64_t sl_budget_chunk(uint64_t budget_bytes);

/* The budget is at least the least, and at most the memory free at the start if the core moves chunks. Others
 * have not taken it below the least. Caller holds the order lock, or nothing runs yet. */
bool sl_budget_is_valid(const struct sl_budget *budget);

/* The budget that remains if `free_bytes` were free at the start and others have taken `taken_bytes` of
 * them. */
uint64_t sl_budget_beside(uint64_t budget_bytes, uint64_t free_bytes, uint64_t taken_bytes);

/* Checks whether others have taken memory since the start: at once if `now`, else only if the last check is
 * old. Taken memory counts only if two checks in a row see it, because memory that the program just took past
 * us is charged a moment later. True: the chunks do not fit any more. Takes the order lock, and asks the
 * driver without it. Precondition: no lock of the core is held. Thread-safe. */
bool sl_budget_look(struct sl_budget *budget, bool now);

#endif
