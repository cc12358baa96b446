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

/* sync.c: a launch that may wait for other ranks was enqueued. Enqueues. */
void sl_core_met_peers(struct sl_core *core, const struct sl_launch *launch);
/* launch_path.c: memory was freed. If the plan waited for that, issues the steps that the next launches need.
 * Enqueues; the order lock must not be held. */
void sl_core_issue_after_free(struct sl_core *core);

#endif
