/* A device's core, private to src/.
 *
 * The lock `order` serialises the program's order: allocations, frees, and the beginnings and ends of
 * launches. Nothing is enqueued under it, and the daemon never takes it: rules 2 and 6 of
 * docs/concurrency.md.
 */
#ifndef SLUICE_CORE_H
#define SLUICE_CORE_H

#include "core/budget.h"
#include "core/demand.h"
#include "core/history.h"
#include "core/host_share.h"
#include "core/mapped.h"
#include "core/monitor.h"
#include "core/planning.h"
#include "core/policy.h"
#include "core/record.h"
#include "core/runtime.h"
#include "core/sample.h"
#include "launch/access.h"
#include "launch/symbols.h"
#include "memory/placement.h"
#include "move/reuse.h"
#include "move/schedule.h"
#include "move/stats.h"
#include "move/streams.h"

struct sl_learned;

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
