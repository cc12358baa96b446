/* A device's core, private to src/.
 *
 * The lock `order` serialises the program's order: allocations, frees, and the beginnings and ends of
 * launches. Nothing is enqueued under it, and the daemon never takes it: rules 2 and 6 of
 * docs/concurrency.md.
 */
#ifndef SLUICE_CORE_H
#define SLUICE_CORE_H

#include "core/budget.h"
#include "core/device_share.h"
#include "core/history.h"
#include "core/host_share.h"
#include "core/mapped.h"
#include "core/monitor_page.h"
#include "core/planning.h"
#include "core/record.h"
#include "core/runtime.h"
#include "core/sample.h"
#include "core/shortage.h"
#include "launch/access.h"
#include "memory/placement.h"
#include "move/reuse.h"
#include "move/schedule.h"
#include "move/stats.h"
#include "move/streams.h"

/* --- demand.c: fetching on demand: the chunks that a launch needs and that were not prefetched. Without an
 * active plan, the victims are dead chunks, then the least recently used or first fetched ones, by policy,
 * and last the chunks to be prefetched; with one, dead chunks, then those with the furthest planned use. Used
 * while nothing is predicted, after mispredictions, and by the policies that do not plan. */

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

/* --- monitor.c: sets the figures of a core that are no counters (move/stats.h), and shows all of them to
 * `sluice top`. Caller holds the order lock, unless said otherwise. Nothing here makes a system call, except
 * where a page begins and ends, and the clock may be one.
 *
 * The figures are copied to shared memory (monitor_page.h) from time to time. About once a second all
 * allocations are visited once for what fills the budget: the allocations by kind, and where the bytes of
 * each are. A visit is done by the launches, a bounded part at a time, so none of them is held up for longer
 * if there are more allocations. If they fit in one part, the figures are of one moment, except for movements
 * that other threads issue meanwhile. */

/* How much one call visits: parts of allocations in chunks, of SL_SCAN_PART each, and slots without an
 * allocation, of 1 each. */
#define SL_SCAN_PART 8
#define SL_SCAN_WORK (512 * SL_SCAN_PART)

/* How far the visit is. Zeroed: none was begun. */
struct sl_scan {
    uint64_t allocations_at_step, allocations_before; /* when the current step and the last one began */
    sl_tick tick_at_step, tick_before;                /* the last launch before each of them */
    uint32_t steps;                                   /* noted ones, up to 2 */
    bool goes_on;
    uint32_t slot;                        /* the next one to visit */
    uint64_t number, offset;              /* of a slot that was visited in part: up to where */
    struct sl_kind_bytes kinds[SL_KINDS]; /* as visited so far */
    uint64_t begun_ns;
};

/* A core's part. Zeroed: nothing is shown. */
struct sl_monitor {
    bool shown;
    struct sl_counts at_step; /* stats.total when the current step began */
    struct sl_scan scan;
    uint64_t next_scan_ns;    /* when it is due, by CLOCK_MONOTONIC */
    uint64_t plan_generation; /* of the plan whose begin is known */
    sl_symbol expected, came; /* symbols of the last misprediction, if `differs` */
    bool differs;             /* they are not named in the figures yet */
};

/* The core's figures are complete from now on, and shown. The process's first core creates the page, unless
 * SLUICE_TOP=off; the core's number is set. Nothing else runs yet. */
void sl_monitor_begin(struct sl_core *core);
/* Sets the figures that outputs other than `sluice top` need, as of now. */
void sl_monitor_observe(struct sl_core *core);
/* Sets and shows all figures. */
void sl_monitor_update(struct sl_core *core);
/* A training step ended. Sets all figures, whether they are shown or not. */
void sl_monitor_step(struct sl_core *core);
/* Symbol `came` was fed last, instead of `expected`. */
void sl_monitor_mispredicted(struct sl_core *core, sl_symbol expected, sl_symbol came);

/* In a child after fork: the page is the parent's. No lock. */
void sl_monitor_leave(struct sl_core *core);

/* A step ended. `allocations`, `tick`: the number of allocations so far, and its last launch. */
void sl_scan_step(struct sl_scan *scan, uint64_t allocations, sl_tick tick);
/* Goes on with the visit, or begins one if none goes on and one is due: visits at most SL_SCAN_WORK. Sets the
 * figures that a scan finds when it is complete. `now_ns`: by CLOCK_MONOTONIC. */
void sl_scan_go_on(struct sl_scan *scan, const struct sl_core *core, bool due, uint64_t now_ns,
                   struct sl_stats *stats);

/* --- policy.c: the properties of each policy (SLUICE_POLICY), in one table. */

/* Which chunk is evicted if no plan decides. */
enum sl_victims {
    SL_VICTIMS_LEAST_RECENT, /* the least recently used */
    SL_VICTIMS_FIRST_IN,     /* the one that was fetched first */
};

struct sl_policy_traits {
    const char *name; /* as in the option table */
    enum sl_memory_use memory;
    enum sl_victims victims;
    bool plans; /* predicted launches are planned; without a prediction, chunks are fetched on demand */
    enum sl_plan_when when; /* for plans */
};

/* Whether chunks are moved before the launch that needs them begins, which is the daemon's work. */
static inline bool sl_policy_moves_ahead(const struct sl_policy_traits *traits)
{
    return traits->plans && traits->when != SL_PLAN_ON_DEMAND;
}

/* `policy`: enum sl_policy. Thread-safe. */
const struct sl_policy_traits *sl_policy_traits(int policy);

struct sl_learned;

/* --- the core */

struct sl_core {
    struct sl_lock order;
    bool over;       /* the core has stopped: calls that were under way finish without it. Under `order` */
    uint32_t number; /* see runtime.h */
    struct sl_backend backend;
    const struct sl_options *options;
    const struct sl_policy_traits *policy;
    struct sl_recorder recorder;
    struct sl_sampling sampling;
    struct sl_learned *learned; /* NULL: no profile is asked for */
    struct sl_arena arena;
    struct sl_placement placement;
    struct sl_blocks blocks;
    struct sl_symbols symbols;
    struct sl_scanner scanner;
    struct sl_history history;
    struct sl_migrator migrator;
    struct sl_schedule schedule;
    struct sl_planning planning;
    struct sl_budget budget;
    struct sl_shortage shortage;
    struct sl_device_share share;
    struct sl_host_part host;
    struct sl_streams streams;
    struct sl_reuse reuse;
    struct sl_demand demand;
    struct sl_monitor monitor;
    _Alignas(64) struct sl_stats stats;
};

/* --- build.c: allocates, builds and tears down a core. Not thread-safe, except sl_core_virtual_size. */

/* Returns a core with the options in force, and else zeroed; NULL: no memory. */
struct sl_core *sl_core_new(const struct sl_backend *backend, uint32_t number);
/* Initialises all parts. After an error, call sl_core_tear_down. */
enum sl_status sl_core_build(struct sl_core *core);
/* Works after every stage of the build. Frees device memory unless `device_gone`. */
void sl_core_tear_down(struct sl_core *core, bool device_gone);
void sl_core_delete(struct sl_core *core); /* accepts NULL */

/* The device memory that the program sees, decided at the first call. Thread-safe. */
uint64_t sl_core_virtual_size(void);

/* --- feed.c: passes a symbol of the program, an allocation and a free to all parts of the core. Caller holds
 * the order lock, except for sl_core_look and sl_core_give_way. */

/* Appends a symbol to the history, ends iterations, and handles mispredictions, which may cancel the plan.
 * `expected`: from sl_history_expected. `stream`: the number of the symbol's stream. */
void sl_core_feed(struct sl_core *core, sl_symbol symbol, sl_symbol expected, uint32_t stream);

/* Forgets the program's history, because a table is full. */
void sl_core_forget(struct sl_core *core);

/* Memory is short: from now on plans are made and launches timed. */
void sl_core_under_pressure(struct sl_core *core);

/* Checks the budget (sl_budget_look). If the chunks do not fit it any more, cancels the plan, and the next
 * launch evicts chunks. Precondition: no lock of the core is held. Thread-safe. */
void sl_core_look(struct sl_core *core, bool now);

/* If the budget shrank: cancels the plan if the chunks exceed the budget, and evicts chunks until the others
 * fit. Enqueues. Precondition: no lock of the core is held. Thread-safe. */
void sl_core_give_way(struct sl_core *core);

/* --- what an allocation or a free means for history and trace */

/* Forgets slots that only remember an earlier allocation's place, if there are too many. Call it before an
 * allocation is placed. */
void sl_slot_lives_forget(struct sl_core *core);

/* Prepares the placement of the predicted allocation: it gets the slot and, if there is room, the address
 * of one period ago, because plans rely on them. Call it before an allocation is placed. */
void sl_slot_life_expect(struct sl_core *core);

/* An allocation was just placed in the slot. `tag`: for the shim's own use. */
void sl_slot_life_begin(struct sl_core *core, uint32_t slot, uint32_t tag);

/* Ends the life of slot `s`. Precondition: it is live. */
void sl_slot_life_end(struct sl_core *core, uint32_t s);

/* --- sync.c and launch_path.c */

/* A launch that may wait for other ranks was enqueued. Enqueues. */
void sl_core_met_peers(struct sl_core *core, const struct sl_launch *launch);
/* Memory was freed. If the plan waited for that, issues the steps that the next launches need.
 * Enqueues; the order lock must not be held. */
void sl_core_issue_after_free(struct sl_core *core);

#endif
