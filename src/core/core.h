/* The core's one instance, private to src/.
 *
 * `order` serialises what gives the program its order: allocations, frees and the beginnings and ends of
 * launches. Nothing is enqueued while it is held, and the daemon never takes it. docs/concurrency.md has all
 * locks.
 */
#ifndef SLUICE_CORE_H
#define SLUICE_CORE_H

#include "core/budget.h"
#include "core/demand.h"
#include "core/history.h"
#include "core/live.h"
#include "core/planning.h"
#include "core/policy.h"
#include "core/record.h"
#include "core/runtime.h"
#include "core/sample.h"
#include "core/stall.h"
#include "launch/access.h"
#include "launch/symbols.h"
#include "memory/placement.h"
#include "move/reuse.h"
#include "move/schedule.h"
#include "move/stats.h"
#include "move/streams.h"
#include "predict/successors.h"

#define SL_OPEN_LAUNCHES 64 /* launches between begin and end, one for each thread */
#define SL_LEAST_BUDGET (4 * SL_BLOCK_BYTES)

struct sl_daemon;
struct sl_learned;

/* The launches so far. */
struct sl_ticks {
    sl_tick now;                            /* of the last that has begun */
    _Atomic sl_tick open[SL_OPEN_LAUNCHES]; /* begun and not ended; 0: free */
};

struct sl_core {
    struct sl_lock order;
    struct sl_backend backend;
    const struct sl_options *options;
    const struct sl_policy_traits *policy;
    struct sl_recorder recorder;
    struct sl_sampling sampling;
    struct sl_learned *learned; /* NULL: no profile is asked for */
    struct sl_arena arena;
    struct sl_placement placement;
    struct sl_symbols symbols;
    struct sl_scanner scanner;
    struct sl_history history;
    struct sl_migrator migrator;
    struct sl_schedule schedule;
    struct sl_daemon *daemon; /* NULL: inline */
    struct sl_planning planning;
    struct sl_successors successors;
    struct sl_budget budget;
    struct sl_ticks ticks;
    struct sl_streams streams;
    struct sl_reuse reuse;
    struct sl_victim_list victims;
    struct sl_stalls stalls;
    struct sl_live *live;               /* NULL: no figures are kept for a sudden end */
    _Alignas(64) struct sl_stats stats; /* at the beginning of a page and last, as it may be a file's */
};

/* What chunks may occupy now: the budget less what the program took past us and others take. */
uint64_t sl_core_budget(const struct sl_core *core);

/* From now on there is something to plan, and it matters how long launches take. */
void sl_core_come_under_pressure(struct sl_core *core);

/* The program went other ways than the plan, which still holds: the next one is made soon, but not too soon
 * after it. */
void sl_core_plan_soon(struct sl_core *core);

/* Drops the schedule: what is planned is not issued any more. */
void sl_core_cancel_schedule(struct sl_core *core);

/* Sees to it that there is a plan for what is predicted. core->ticks.now is the launch being begun, whose
 * chunks are seen to. */
void sl_core_plan(struct sl_core *core);

/* For how many symbols what is predicted is believed; SIZE_MAX: no end is in sight. */
size_t sl_core_believed(struct sl_core *core);

/* The newest tick up to which every launch has ended. */
sl_tick sl_core_submitted(const struct sl_core *core);

/* What is said of the run beside the counts, as of now. Caller holds the order lock. */
void sl_core_summary(const struct sl_core *core, struct sl_run_summary *out);

/* The running core, or NULL. */
struct sl_core *sl_core_running(void);
/* The core after the stop, while its memory is still there; or NULL. */
struct sl_core *sl_core_at_rest(void);

#endif
